//! The parameters of `mesh`.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};
use multihop_wire::control::ChannelLimits;

use crate::lifecycle;
use crate::rtt::RtoConfig;
use crate::settings::{TIMEOUT, check_rto};

/// Everything about a connection that is not fixed by the protocol.
#[derive(Clone, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Number of segments that a sender keeps in queues along the path.
    #[key(0.01..=1000.0)]
    pub backlog: f64,
    /// Queueing delay that a sender allows in addition to the backlog, s.
    ///
    /// Fast paths need more than a few segments.
    #[key(0.0..=10.0)]
    pub delay: Duration,
    /// Share of its distance to the backlog by which the rate changes until the next ACK.
    #[key(0.001..=1.0)]
    pub gain: f64,
    /// Share of the distance to the backlog that the pace corrects at once, for as long as the distance lasts.
    #[key(0.0..=1.0)]
    pub correction: f64,
    /// Number of segments for which a receiver sends one ACK, on paths with few segments in a round trip.
    #[key(1..=64)]
    pub ack_every: u8,
    /// Longest delay of an ACK, s.
    #[key(0.0..=6.0)]
    pub ack_hold: Duration,
    /// Largest window, in segments.
    #[key(1..=65_535)]
    pub window_max: u32,
    /// Receive buffer, in segments.
    ///
    /// A receiver with a pool of memory has a larger buffer.
    #[key(1..=65_535)]
    pub recv_buffer: u16,
    /// Payload of a full segment, bytes.
    #[key(16..=2200)]
    pub mss: u16,
    /// Retransmission timeout before the first sample, s.
    #[key(TIMEOUT)]
    pub rto_initial: Duration,
    /// Shortest retransmission timeout, s.
    #[key(TIMEOUT)]
    pub rto_min: Duration,
    /// Longest retransmission timeout and time between probes, s.
    #[key(TIMEOUT)]
    pub rto_max: Duration,
    /// Largest number of copies of a message with a deadline, which travel in later segments where losses and the round trip
    /// require them; 0: none.
    #[key(0..=8)]
    pub copies: u8,
    /// Whether a second path may be opened. SYNs then say so, and both ends must.
    pub second_path: bool,
    /// Whether the connection may have channels. SYNs then say so, and both ends must.
    pub channels: bool,
    /// Largest number of channels that the peer may open, at most 1024.
    pub channel_count: u16,
    /// Credit of the peer in a new channel, bytes, at least 4096. Messages of up to half of it are delivered whole.
    pub channel_credit: u32,
    /// Bytes by which the credits of all channels together may grow.
    pub channel_growth: u32,
    /// Longest message that this end accepts, bytes.
    pub message_max: u64,
    /// How the connection is opened, watched and closed.
    #[key(flatten)]
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
            copies: 8,
            second_path: false,
            channels: false,
            channel_count: 64,
            channel_credit: 64 * 1024,
            channel_growth: 4 * 1024 * 1024,
            message_max: 1 << 40,
            lifecycle: lifecycle::Config::USUAL,
            initial_ttl: 64,
            sink: false,
        }
    }
}

impl Config {
    /// Configuration for real networks: a listener has many connections, so that buffers begin small.
    pub fn net() -> Self {
        let rto_min = Duration::from_millis(100);
        let lifecycle = lifecycle::Config { syn_retries: Some(30), ..lifecycle::Config::USUAL };
        Self { recv_buffer: 64, window_max: 8192, rto_min, second_path: true, lifecycle, ..Self::default() }
    }

    fn check(&self, keys: &mut dyn Visitor) {
        check_rto(self.rto_min, self.rto_max, keys);
    }

    /// Moves every number into the bounds of the protocol.
    pub(super) fn in_bounds(mut self) -> Self {
        self.mss = self.mss.max(1);
        self.ack_every = self.ack_every.max(1);
        self.window_max = self.window_max.max(1);
        self.recv_buffer = self.recv_buffer.max(1);
        self.rto_max = self.rto_max.max(self.rto_min);
        self.initial_ttl = self.initial_ttl.max(1);
        self.channel_count = self.channel_count.min(MAX_CHANNELS);
        self.channel_credit = self.channel_credit.max(MIN_CREDIT);
        self.lifecycle = self.lifecycle.in_bounds();
        self
    }

    /// Limits of channels that SYNs announce.
    pub(super) const fn channel_limits(&self) -> ChannelLimits {
        ChannelLimits { channels: self.channel_count, credit: self.channel_credit, message: self.message_max }
    }

    /// How connections are opened, watched and closed, with the longest timeout of a SYN.
    pub(super) fn lifecycle(&self) -> lifecycle::Config {
        self.lifecycle.with_longest(self.rto_max)
    }

    /// Configuration of the retransmission timer.
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

/// Largest number of channels that a peer may open.
const MAX_CHANNELS: u16 = 1024;
/// Smallest credit of a channel, bytes.
const MIN_CREDIT: u32 = 4096;
/// Upper bound of the timeout on slow paths; probes leave more often.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);
