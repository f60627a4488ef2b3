//! The parameters of `mesh`.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::lifecycle;
use crate::rtt::RtoConfig;
use crate::settings::{TIMEOUT, check_rto};

/// Everything about a connection that is not fixed by the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Largest payload of a segment in bytes.
    pub mss: u16,
    /// Segments that the sender keeps in queues along the path.
    pub backlog: f64,
    /// Queueing delay that is allowed besides: fast paths need more than a few segments.
    pub delay: Duration,
    /// Share of its distance to the backlog by which the rate changes until the next ACK.
    pub gain: f64,
    /// Share of the distance to the backlog that the pace makes good at once, for as long as it lasts.
    pub correction: f64,
    /// Segments for which a receiver sends one ACK, on paths with few segments in a round trip.
    pub ack_every: u8,
    /// The longest time that an ACK may wait.
    pub ack_hold: Duration,
    /// Largest window, in segments.
    pub window_max: u32,
    /// Segments that a receiver keeps for the application; more if it has a pool.
    pub recv_buffer: u16,
    /// Timeout before the first sample.
    pub rto_initial: Duration,
    /// Shortest timeout.
    pub rto_min: Duration,
    /// Longest time between two probes.
    pub rto_max: Duration,
    /// How the connection is opened, watched and closed.
    pub lifecycle: lifecycle::Config,
    /// The initial TTL of packets that the driver sends.
    pub initial_ttl: u8,
    /// Whether data counts as read when it arrives in order.
    pub sink: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            backlog: 0.4,
            delay: Duration::from_millis(5),
            gain: 0.05,
            correction: 0.5,
            ack_every: 8,
            ack_hold: Duration::from_millis(400),
            window_max: 4096,
            recv_buffer: 4096,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(1),
            lifecycle: lifecycle::Config::USUAL,
            initial_ttl: 64,
            sink: false,
        }
    }
}

impl Config {
    /// For real networks: a listener has many connections, so that buffers begin small. They grow where they must.
    /// A path that was silent for a moment is tried soon: losses of many segments at once are common on radio.
    pub fn net() -> Self {
        let rto_min = Duration::from_millis(100);
        let lifecycle = lifecycle::Config { syn_retries: Some(30), ..lifecycle::Config::USUAL };
        Self { recv_buffer: 64, window_max: 8192, rto_min, lifecycle, ..Self::default() }
    }

    /// The same with every number within the bounds of the protocol.
    pub(super) fn in_bounds(mut self) -> Self {
        self.mss = self.mss.max(1);
        self.ack_every = self.ack_every.max(1);
        self.window_max = self.window_max.max(1);
        self.recv_buffer = self.recv_buffer.max(1);
        self.rto_max = self.rto_max.max(self.rto_min);
        self.initial_ttl = self.initial_ttl.max(1);
        self.lifecycle = self.lifecycle.in_bounds();
        self
    }

    /// How connections are opened, watched and closed, with the longest timeout of a SYN.
    pub(super) fn lifecycle(&self) -> lifecycle::Config {
        self.lifecycle.with_longest(self.rto_max)
    }

    /// The retransmission timer.
    pub(super) const fn rto(&self) -> RtoConfig {
        RtoConfig {
            initial: self.rto_initial,
            min: self.rto_min,
            max: LONGEST_TIMEOUT,
            granularity: Duration::from_nanos(1000),
            margin: Duration::ZERO,
            backoff_limit: 1 << 16,
            forget_above: None,
            after_lost_syn: None,
        }
    }
}

/// Of slow paths; probes leave more often.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Segments that a sender keeps in queues along the path.").number(
            "backlog",
            &mut self.backlog,
            0.01..=1000.0,
        );
        keys.about("Queueing delay that a sender allows besides the backlog, s.").seconds(
            "delay",
            &mut self.delay,
            0.0..=10.0,
        );
        keys.about("Share of its distance to the backlog by which the rate changes until the next ACK.")
            .number("gain", &mut self.gain, 0.001..=1.0);
        keys.about(
            "Share of the distance to the backlog that the pace makes good at once, for as long as it lasts.",
        )
        .number("correction", &mut self.correction, 0.0..=1.0);
        keys.about("Segments for which there is one ACK where a round trip has few segments.").whole(
            "ack_every",
            &mut self.ack_every,
            1..=64,
        );
        keys.about("The longest time that an ACK may wait, s.").seconds(
            "ack_hold",
            &mut self.ack_hold,
            0.0..=6.0,
        );
        keys.about("Largest window, in segments.").whole("window_max", &mut self.window_max, 1..=65_535);
        keys.about("Receive buffer, in segments.").whole("recv_buffer", &mut self.recv_buffer, 1..=65_535);
        keys.about("Payload of a full segment, bytes.").whole("mss", &mut self.mss, 16..=2200);
        keys.about("Retransmission timeout before the first sample, s.").seconds(
            "rto_initial",
            &mut self.rto_initial,
            TIMEOUT,
        );
        keys.about("Shortest retransmission timeout, s.").seconds("rto_min", &mut self.rto_min, TIMEOUT);
        keys.about("Longest retransmission timeout and time between probes, s.").seconds(
            "rto_max",
            &mut self.rto_max,
            TIMEOUT,
        );
        check_rto(self.rto_min, self.rto_max, keys);
        self.lifecycle.keys(keys);
    }
}
