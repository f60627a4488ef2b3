//! The inputs of a congestion control: ACKs, measurements of the path, and the choice of optional signals.

use multihop_core::Duration;

/// Signals that an endpoint provides to its congestion control on request only.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Signals {
    /// Whether to provide rate samples: measurements of the path's delivery rate. The endpoint then records each transmission
    /// and requires SACK; the control reduces its window by itself, without proportional rate reduction.
    pub rates: bool,
    /// Whether to report the ECN mark of each segment, for scalable controls (L4S, RFC 9331).
    pub marks: bool,
    /// Whether to report segments lost at failed links. Simulated nodes then send ICMP errors to the sender.
    pub notices: bool,
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes that the ACK acknowledges cumulatively for the first time.
    pub acked: u32,
    /// Number of bytes by which the window may grow: `acked`, or with `byte_counting` the newly delivered
    /// bytes. Bytes that SACK reported earlier do not count again.
    pub counted: u32,
    /// Bytes still in flight after the ACK.
    pub flight: u32,
    /// Effect of the ACK on fast recovery.
    pub kind: AckKind,
    /// Round-trip time that the ACK completes, if measured: one sample per round trip, or one per ACK with
    /// timestamps.
    pub round_trip: Option<Duration>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
}

impl Ack {
    /// For tests: an ACK of `acked` bytes outside of fast recovery, with nothing outstanding afterwards and
    /// no round-trip sample.
    pub const fn of(acked: u32) -> Self {
        Self { acked, counted: acked, flight: 0, kind: AckKind::Normal, round_trip: None, srtt: None }
    }
}

/// Effect of an ACK of new data on fast recovery.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AckKind {
    /// The connection is not in fast recovery.
    Normal,
    /// Fast recovery continues: more of the data outstanding at the loss is missing.
    Partial,
    /// The ACK ends fast recovery.
    Full,
}

/// An ACK as a measurement of the path (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Delivery rate in bytes per second, if it could be measured.
    pub rate: Option<u64>,
    /// Bytes delivered in the interval over which `rate` was measured (`RS.delivered`).
    pub interval_delivered: u64,
    /// Whether the application had too little data to send during the measurement, so that the rate is a
    /// lower bound.
    pub is_app_limited: bool,
    /// Bytes delivered since the connection began (`C.delivered`).
    pub delivered: u64,
    /// Value of `delivered` when the newest of the segments that this ACK delivered was sent
    /// (`RS.prior_delivered`).
    pub prior_delivered: Option<u64>,
    /// Bytes that this ACK delivered.
    pub newly_delivered: u64,
    /// Bytes that this ACK showed to be lost.
    pub newly_lost: u64,
    /// The last segment that this ACK showed to be lost.
    pub last_lost: Option<LostFlight>,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: u64,
    /// Bytes in flight after this ACK, without those considered lost.
    pub in_flight: u64,
    /// Bytes in flight when the newest delivered segment was sent, including that segment
    /// (`RS.tx_in_flight`).
    pub sent_in_flight: u64,
    /// Round-trip time of the newest delivered segment that was sent only once.
    pub round_trip: Option<Duration>,
    /// Whether losses are being repaired.
    pub is_recovering: bool,
}

/// Bytes in flight when a lost segment was transmitted, and bytes lost since then.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LostFlight {
    /// Bytes in flight when the segment left.
    pub in_flight: u64,
    /// Bytes lost since the segment left.
    pub lost: u64,
}
