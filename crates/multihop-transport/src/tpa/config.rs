//! The parameters of a TPA connection: profiles and keys.

use alloc::format;

use multihop_core::settings::{Field, Settings, Visitor};
use multihop_core::{BitRate, Duration};
use multihop_wire::tpa::{AckPolicy, Framing};

use super::rtt::RtoConfig;
use crate::lifecycle;
use crate::pacing::PacingConfig;
use crate::settings::TIMEOUT;

/// Everything about a connection that is not fixed by the protocol.
///
/// Start from a profile and change fields. The two ends need not agree: each announces in its SYN
/// what the other must know.
#[derive(Clone, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// The encoding of segments, which determines the range of numbers and windows.
    pub framing: Framing,
    /// Largest number of segments in flight in the normal state (`cwnd_max`), at most `block_size`.
    #[key(1..=12)]
    pub cwnd_max: u8,
    /// Number of segments in a block (K).
    #[key(1..=12)]
    pub block_size: u8,
    /// Rule for the data that fills a block: once there is enough for all of it (block), or segment by segment (segment).
    #[key]
    pub fill: Fill,
    /// Time for which data waits for more to fill a segment or a block, s; 0 does not wait.
    #[key(0.0..=1e9)]
    pub block_fill: Duration,
    /// Payload of a full segment, bytes.
    #[key(16..=2200)]
    pub mss: u16,
    /// Receive buffer besides the current block, bytes; if not given, room for 64 segments.
    #[key(1..=1_000_000_000)]
    pub recv_buffer: Option<u32>,
    /// ACK rule that the sender asks of its peer: one ACK for every other segment (every-2, TPA), or for every window of
    /// `cwnd_max` (every-cwnd, TPA*).
    #[key]
    pub ack_policy: AckPolicy,
    /// Longest delay of an ACK, s; without `ack_interval_min` at most half of `rto_min`.
    #[key(TIMEOUT)]
    pub ack_interval: Duration,
    /// Shortest time for which an ACK may wait where it waits for one round-trip time, at most for `ack_interval` and 255 ms,
    /// s; off: an ACK may always wait for `ack_interval`. Needs `rto_covers_hold`.
    #[key(TIMEOUT, off)]
    pub ack_interval_min: Option<Duration>,
    /// Whether the segment that completes a block is acknowledged at once.
    #[key]
    pub ack_block_end: bool,
    /// Whether segments are acknowledged at once while one before them is missing.
    #[key]
    pub ack_gaps: bool,
    /// Whether an ACK that comes after the timeout of its segment is a round-trip sample, of at most twice that timeout.
    #[key]
    pub late_samples: bool,
    /// Round-trip samples that contain the time for which the peer held the ACK: those of the timeout, those of the pacer too
    /// (both), or neither.
    #[key]
    pub hold_in: HoldIn,
    /// Number of later transmissions whose ACKs show that a segment is lost; off: its timer alone does.
    #[key(1..=127, off)]
    pub loss_by_txseq: Option<u8>,
    /// Whether notices of link failures reach the sender; timeouts alone then mean congestion.
    ///
    /// A notice always freezes the sender.
    #[key]
    pub notices: bool,
    /// Whether notices of lost and restored routes reach the sender; a frozen sender is then silent in between.
    #[key]
    pub route_notices: bool,
    /// Whether a frozen sender sends a probe at once when a notice says that its route is restored.
    pub probe_restored: bool,
    /// Number of timeouts in a row that mean congestion, with notices (`th_CONG`).
    #[key(1..=255)]
    pub th_cong: u8,
    /// Number of timeouts in a row that mean a broken route, without notices (`th_ROUTE`).
    #[key(1..=255)]
    pub th_route: u8,
    /// Number of ACKs in a row that end congestion (`th_ACK`).
    #[key(1..=255)]
    pub th_ack: u8,
    /// Time after which a frozen sender that waits for a notice about its route sends a probe, s.
    #[key(TIMEOUT)]
    pub silence_max: Duration,
    /// Parameters of the retransmission timer.
    #[key(flatten)]
    pub rto: RtoConfig,
    /// How the connection is opened, watched and closed.
    #[key(flatten)]
    pub lifecycle: lifecycle::Config,
    /// Pacing of data segments by the measured round-trip times (TPA-AP).
    #[key(with = Self::pacing_keys)]
    pub pacing: Option<PacingConfig>,
    /// Whether in-order data counts as read when it arrives, so that the window never closes.
    pub sink: bool,
    /// The initial TTL of packets that the driver sends.
    pub initial_ttl: u8,
}

/// Estimators whose round-trip samples include the time for which the peer held an ACK. In §3.4 and §5.2 of the paper
/// one sample serves both.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum HoldIn {
    /// The time is included neither in the samples of the retransmission timeout nor in those of the pacer.
    Neither,
    /// The time for which the peer held the ACK is included in samples of the retransmission timeout only.
    Timeout,
    /// The time is included in samples of the retransmission timeout and in those of the pacer.
    Both,
}

/// Rule for the data that fills a block.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Fill {
    /// A block starts once there is data for all of it, or the fill timer ends (§3.2).
    Block,
    /// Full segments leave at once, and the block stays open for more.
    Segment,
}

impl Config {
    /// Default number of segments that the receive buffer holds.
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
                g: 125,
                h: 250,
                g1: 250,
                h1: 500,
            },
            pacing: None,
            recv_buffer: None,
            sink: false,
            initial_ttl: 64,
            lifecycle: lifecycle::Config { syn_retries: Some(4), ..lifecycle::Config::USUAL },
        }
    }

    /// Configuration for real networks: shorter timers, loss detection by transmission numbers, and data that
    /// does not wait for a whole block.
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
            // On a path without notices, every failure would otherwise count as congestion, and `freeze_max`
            // would have no effect.
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

    /// Clamps every parameter to the bounds of the protocol.
    pub(super) fn in_bounds(mut self) -> Self {
        self.mss = self.mss.max(1);
        self.block_size = self.block_size.clamp(1, multihop_wire::tpa::MAX_BLOCK);
        self.cwnd_max = self.cwnd_max.clamp(1, self.block_size);
        self.initial_ttl = self.initial_ttl.max(1);
        // A timer of zero would expire endlessly at one instant.
        let at_least = |wait: Duration| wait.max(Duration::from_micros(1));
        for wait in [&mut self.ack_interval, &mut self.silence_max] {
            *wait = at_least(*wait);
        }
        self.lifecycle = self.lifecycle.in_bounds();
        self
    }

    /// Parameters for opening, watching and closing connections, with the longest timeout of a SYN.
    pub fn lifecycle(&self) -> lifecycle::Config {
        self.lifecycle.with_longest(self.rto.max)
    }

    /// Bytes that may wait to be read: at least one segment, otherwise the window would never open.
    pub(crate) fn recv_capacity(&self) -> u64 {
        let segments = u64::from(Self::DEFAULT_BUFFER) * u64::from(self.mss);
        self.recv_buffer.map_or(segments, u64::from).max(u64::from(self.mss))
    }
}

/// Name of a profile, and the function that creates its configuration.
pub type Profile = (&'static str, fn() -> Config);

/// The profiles by their names.
pub const PROFILES: &[Profile] = &[("paper", Config::paper), ("net", Config::net)];

impl Config {
    fn pacing_keys(&mut self, _: &'static str, _: &str, keys: &mut dyn Visitor) {
        match &mut self.pacing {
            Some(pacing) => pacing.keys(keys),
            None => {
                keys.unavailable(PacingConfig::REASON, &mut |keys| PacingConfig::new(BitRate(0)).keys(keys))
            }
        }
    }

    fn check(&self, keys: &mut dyn Visitor) {
        if self.cwnd_max > self.block_size {
            let (found, least) = (self.block_size, self.cwnd_max);
            keys.refuse("block_size", format!("found {found}, allowed: at least cwnd_max, {least}"));
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::paper()
    }
}
