//! The parameters of a TPA connection: profiles and keys.

use alloc::format;

use multihop_core::settings::{Settings, Visitor};
use multihop_core::{BitRate, Duration};
use multihop_wire::tpa::{AckPolicy, Framing};

use super::rtt::{RtoConfig, Weights};
use crate::lifecycle;
use crate::pacing::PacingConfig;
use crate::settings::{TIMEOUT, check_rto};

/// Everything about a connection that is not fixed by the protocol.
///
/// Start from a profile and change fields. The two ends need not agree: each announces in its SYN
/// what the other must know.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Config {
    /// The encoding of segments, which determines the range of numbers and windows.
    pub framing: Framing,
    /// Largest payload of a segment in bytes.
    pub mss: u16,
    /// Segments in a block (K), 1 to 12.
    pub block_size: u8,
    /// Segments in flight in the normal state (`cwnd_max`), 1 to `block_size`.
    pub cwnd_max: u8,
    /// How the peer is asked to acknowledge our data: `EveryTwo` is TPA, `EveryWindow` TPA*.
    pub ack_policy: AckPolicy,
    /// The longest time that an ACK of our data may wait (ACK interval). Without `ack_interval_min` it
    /// is also at most half of our shortest timeout.
    pub ack_interval: Duration,
    /// An ACK of our data may wait for one round-trip time, but at least this long; `None` is always
    /// the interval, and so is a timeout that does not cover it.
    pub ack_interval_min: Option<Duration>,
    /// The peer is asked to acknowledge the segment that completes a block at once.
    pub ack_block_end: bool,
    /// The peer is asked to acknowledge at once what leaves a gap, or comes while there is one.
    pub ack_gaps: bool,
    /// Whether an ACK that comes after the timeout is a sample: of at most twice the timeout.
    pub late_samples: bool,
    /// Which round-trip samples contain the time for which the peer held the ACK.
    pub hold_in: HoldIn,
    /// When data fills a block.
    pub fill: Fill,
    /// How long data waits for more to fill a segment, or a block; zero does not wait.
    pub block_fill: Duration,
    /// Count a segment as lost once this many later transmissions are acknowledged; `None` waits
    /// for its timer.
    pub loss_by_txseq: Option<u8>,
    /// Whether link-failure notices can be expected: then timeouts alone mean congestion. A notice
    /// always freezes the sender.
    pub notices: bool,
    /// Whether there are notices of lost and restored routes: a frozen sender is then silent in between.
    pub route_notices: bool,
    /// Whether a frozen sender sends a probe at once when a notice says that its route is restored.
    pub probe_restored: bool,
    /// Timeouts in a row that mean congestion (`th_CONG`).
    pub th_cong: u8,
    /// Timeouts in a row that mean a broken route, without notices (`th_ROUTE`).
    pub th_route: u8,
    /// ACKs in a row that end congestion (`th_ACK`).
    pub th_ack: u8,
    /// A frozen sender that waits for a notice sends a probe after this time.
    pub silence_max: Duration,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// Pace data segments by the measured round-trip times (TPA-AP).
    pub pacing: Option<PacingConfig>,
    /// Receive buffer in bytes, besides the block that is under way; `None` has room for
    /// [`DEFAULT_BUFFER`](Self::DEFAULT_BUFFER) segments.
    pub recv_buffer: Option<u32>,
    /// Whether in-order data counts as read when it arrives, so that the window never closes.
    pub sink: bool,
    /// The initial TTL of packets that the driver sends.
    pub initial_ttl: u8,
    /// How the connection is opened, watched and closed.
    pub lifecycle: lifecycle::Config,
}

/// Where the time counts for which the peer held an ACK (§3.4 and §5.2 have one sample for both).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HoldIn {
    /// None.
    Neither,
    /// Those of the timeout.
    Timeout,
    /// Those of the timeout and those of the pacer.
    Both,
}

/// When data fills a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fill {
    /// A block starts once there is data for all of it, or the fill timer ends (§3.2).
    Block,
    /// Full segments leave at once, and the block stays open for more.
    Segment,
}

impl Config {
    /// Segments that the receive buffer holds by default.
    pub const DEFAULT_BUFFER: u32 = 64;

    /// The values of the paper's prototype and simulations (Table 1): TPA with a window of 2.
    pub const fn paper() -> Self {
        Self {
            framing: Framing::Udp,
            mss: 1460,
            block_size: 12,
            cwnd_max: 2,
            ack_policy: AckPolicy::EveryTwo,
            ack_interval: Duration::from_millis(100),
            ack_interval_min: None,
            ack_block_end: false,
            ack_gaps: false,
            late_samples: false,
            hold_in: HoldIn::Timeout,
            fill: Fill::Block,
            block_fill: Duration::from_millis(10),
            loss_by_txseq: None,
            notices: false,
            route_notices: false,
            probe_restored: false,
            th_cong: 1,
            th_route: 1,
            th_ack: 1,
            silence_max: Duration::from_secs(10),
            rto: RtoConfig {
                initial: Duration::from_secs(3),
                min: Duration::from_millis(200),
                max: Duration::from_secs(60),
                freeze_max: None,
                covers_hold: false,
                short_samples: true,
                th_rc: 3,
                n_rc: 3,
                usual: Weights { g: 125, h: 250 },
                quick: Weights { g: 250, h: 500 },
            },
            pacing: None,
            recv_buffer: None,
            sink: false,
            initial_ttl: 64,
            lifecycle: lifecycle::Config { syn_retries: Some(4), ..lifecycle::Config::USUAL },
        }
    }

    /// For real networks: shorter timers, loss found by transmission numbers, data that does not
    /// wait for a whole block.
    pub const fn net() -> Self {
        let paper = Self::paper();
        Self {
            cwnd_max: 3,
            ack_policy: AckPolicy::EveryWindow,
            ack_interval_min: Some(Duration::from_millis(20)),
            ack_block_end: true,
            ack_gaps: true,
            late_samples: true,
            fill: Fill::Segment,
            block_fill: Duration::from_millis(2),
            loss_by_txseq: Some(3),
            // On a path without notices, every failure would count as congestion, and `freeze_max` would have no effect.
            notices: false,
            rto: RtoConfig {
                min: Duration::from_millis(50),
                max: Duration::from_secs(10),
                freeze_max: Some(Duration::from_secs(1)),
                covers_hold: true,
                short_samples: false,
                ..paper.rto
            },
            ..paper
        }
    }

    /// The same with every number within the bounds of the protocol.
    pub(super) fn in_bounds(mut self) -> Self {
        self.mss = self.mss.max(1);
        self.block_size = self.block_size.clamp(1, multihop_wire::tpa::MAX_BLOCK);
        self.cwnd_max = self.cwnd_max.clamp(1, self.block_size);
        self.initial_ttl = self.initial_ttl.max(1);
        // A timer of zero would expire again and again at one instant.
        let at_least = |wait: Duration| wait.max(Duration::from_micros(1));
        for wait in [&mut self.ack_interval, &mut self.silence_max] {
            *wait = at_least(*wait);
        }
        self.lifecycle = self.lifecycle.in_bounds();
        self
    }

    /// How connections are opened, watched and closed, with the longest timeout of a SYN.
    pub fn lifecycle(&self) -> lifecycle::Config {
        self.lifecycle.with_longest(self.rto.max)
    }

    /// Bytes that may wait to be read: at least one segment, otherwise the window would never open.
    pub(super) fn recv_capacity(&self) -> u64 {
        let segments = u64::from(Self::DEFAULT_BUFFER) * u64::from(self.mss);
        self.recv_buffer.map_or(segments, u64::from).max(u64::from(self.mss))
    }
}

/// A name, and what makes the configuration.
pub type Profile = (&'static str, fn() -> Config);

/// The profiles by their names.
pub const PROFILES: &[Profile] = &[("paper", Config::paper), ("net", Config::net)];

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.window_keys(keys);
        self.ack_keys(keys);
        self.state_keys(keys);
        self.rto.keys(keys);
        self.lifecycle.keys(keys);
        match &mut self.pacing {
            Some(pacing) => pacing.keys(keys),
            None => {
                keys.unavailable(PacingConfig::REASON, &mut |keys| PacingConfig::new(BitRate(0)).keys(keys))
            }
        }
    }
}

impl Config {
    fn window_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Largest number of segments in flight.").whole("cwnd_max", &mut self.cwnd_max, 1..=12);
        keys.about("Segments in a block (K).").whole("block_size", &mut self.block_size, 1..=12);
        if self.cwnd_max > self.block_size {
            let (found, least) = (self.block_size, self.cwnd_max);
            keys.refuse("block_size", format!("found {found}, allowed: at least cwnd_max, {least}"));
        }
        let fills = [("block", Fill::Block), ("segment", Fill::Segment)];
        keys.about("When data fills a block: once there is enough for all of it, or segment by segment.")
            .word("fill", &mut self.fill, &fills);
        keys.about("How long data waits for more to fill a segment or a block, s; 0 does not wait.").seconds(
            "block_fill",
            &mut self.block_fill,
            0.0..=1e9,
        );
        keys.about("Payload of a full segment, bytes.").whole("mss", &mut self.mss, 16..=2200);
        keys.about("Receive buffer besides the current block, bytes; if not given, room for 64 segments.")
            .whole_if_set("recv_buffer", &mut self.recv_buffer, 1..=1_000_000_000);
    }

    fn ack_keys(&mut self, keys: &mut dyn Visitor) {
        let policies = [("every-2", AckPolicy::EveryTwo), ("every-cwnd", AckPolicy::EveryWindow)];
        keys.about("What is acknowledged: every other segment (TPA), or every window of cwnd_max (TPA*).")
            .word("ack_policy", &mut self.ack_policy, &policies);
        keys.about("Longest delay of an ACK, s; without ack_interval_min at most half of rto_min.").seconds(
            "ack_interval",
            &mut self.ack_interval,
            TIMEOUT,
        );
        keys.about(
            "An ACK may wait for one round-trip time, but at least this long and at most for ack_interval and \
             255 ms, s; off: always ack_interval. Needs rto_covers_hold.",
        )
        .seconds_or_off("ack_interval_min", &mut self.ack_interval_min, TIMEOUT);
        keys.about("Whether the segment that completes a block is acknowledged at once.")
            .switch("ack_block_end", &mut self.ack_block_end);
        keys.about("Whether segments are acknowledged at once while one before them is missing.")
            .switch("ack_gaps", &mut self.ack_gaps);
        keys.about(
            "Whether an ACK that comes after the timeout of its segment is a round-trip sample, of at most twice \
             that timeout.",
        )
        .switch("late_samples", &mut self.late_samples);
        let samples = [("neither", HoldIn::Neither), ("timeout", HoldIn::Timeout), ("both", HoldIn::Both)];
        keys.about(
            "Which round-trip samples contain the time for which the peer held the ACK: those of the timeout, \
             those of the pacer too (both), or neither.",
        )
        .word("hold_in", &mut self.hold_in, &samples);
        keys.about("A segment counts as lost once this many later transmissions are acknowledged.")
            .whole_or_off("loss_by_txseq", &mut self.loss_by_txseq, 1..=127);
    }

    fn state_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about(
            "Whether notices of link failures reach the sender; timeouts alone then mean \
             congestion.",
        )
        .switch("notices", &mut self.notices);
        keys.about(
            "Whether notices of lost and restored routes reach the sender; a frozen sender is \
             then silent in between.",
        )
        .switch("route_notices", &mut self.route_notices);
        keys.about("Timeouts in a row that mean congestion, with notices (th_CONG).").whole(
            "th_cong",
            &mut self.th_cong,
            1..=255,
        );
        keys.about("Timeouts in a row that mean a broken route, without notices (th_ROUTE).").whole(
            "th_route",
            &mut self.th_route,
            1..=255,
        );
        keys.about("ACKs in a row that end congestion (th_ACK).").whole("th_ack", &mut self.th_ack, 1..=255);
        keys.about(
            "A frozen sender that waits for a notice about its route sends a probe after this \
             time, s.",
        )
        .seconds("silence_max", &mut self.silence_max, TIMEOUT);
    }
}

impl Settings for RtoConfig {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Round-trip times in a row, all longer or all shorter than usual, that mean a route change (th_RC).")
            .whole("th_rc", &mut self.th_rc, 1..=255);
        keys.about("Number of round-trip times that weigh more after a change of route (n_RC).").whole(
            "n_rc",
            &mut self.n_rc,
            0..=255,
        );
        keys.about("Weight of a round-trip time in the mean.").thousandths(
            "g",
            &mut self.usual.g,
            0.001..=1.0,
        );
        keys.about("Weight of a round-trip time's distance from the mean in the deviation.").thousandths(
            "h",
            &mut self.usual.h,
            0.001..=1.0,
        );
        keys.about("The value of g after a change of route.").thousandths(
            "g1",
            &mut self.quick.g,
            0.001..=1.0,
        );
        keys.about("The value of h after a change of route.").thousandths(
            "h1",
            &mut self.quick.h,
            0.001..=1.0,
        );
        keys.about("Retransmission timeout before the first sample, s.").seconds(
            "rto_initial",
            &mut self.initial,
            TIMEOUT,
        );
        keys.about("Shortest retransmission timeout, s.").seconds("rto_min", &mut self.min, TIMEOUT);
        keys.about("Longest retransmission timeout, s.").seconds("rto_max", &mut self.max, TIMEOUT);
        check_rto(self.min, self.max, keys);
        keys.about("Longest retransmission timeout while frozen, s.").seconds_or_off(
            "freeze_rto_max",
            &mut self.freeze_max,
            TIMEOUT,
        );
        keys.about(
            "Whether the longest time for which the peer may hold an ACK is added to the timeout, and left \
             out of its samples.",
        )
        .switch("rto_covers_hold", &mut self.covers_hold);
        keys.about(
            "Whether round trips of the handshake and of segments shorter than half of mss are samples as any \
             other from the start; otherwise the timeout is nine times as long until the first of a longer one.",
        )
        .switch("rto_short_samples", &mut self.short_samples);
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::paper()
    }
}
