//! Summary of a connection for programs on real networks.

use multihop_core::Duration;

use super::Connection;
use crate::observe::{self, Value};

/// State of one end, for displays of programs on real networks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// State of the sender, for example `normal` or `freeze`.
    pub phase: &'static str,
    /// Smoothed round-trip time; `None` before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// The newest round-trip sample.
    pub latest_rtt: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Segments that may be in flight: the smaller of congestion window and the peer's window.
    pub window: u32,
    /// Number of segments in flight.
    pub flight: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Slow-start threshold, bytes; `None` for a transport without one.
    pub ssthresh: Option<u64>,
    /// Gap between two data segments; `None` without pacing or before the first measurement.
    pub pacing_gap: Option<Duration>,
    /// Counters of both directions.
    pub counters: StreamCounters,
}

/// Counters of both directions of a stream. A counter that a transport does not have is 0.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct StreamCounters {
    /// Segments of any kind sent.
    pub segments_sent: u64,
    /// Segments with data sent, retransmissions included.
    pub data_sent: u64,
    /// Number of retransmitted segments.
    pub retransmitted: u64,
    /// Number of segments sent without data.
    pub acks_sent: u64,
    /// Number of retransmission timers that expired.
    pub timeouts: u64,
    /// Number of times that the sender entered the freeze state.
    pub freezes: u64,
    /// Link-failure notices that concerned a segment in flight.
    pub notices: u64,
    /// Number of probes sent.
    pub probes: u64,
    /// Number of segments received with data.
    pub data_received: u64,
    /// Segments with new data received: each counts once, even if it was retransmitted.
    pub delivered: u64,
    /// Segments with data that arrived while earlier data was missing.
    pub out_of_order: u64,
    /// Segments with data that had arrived before.
    pub duplicates: u64,
    /// Segments dropped because they were invalid, or because the buffer was full.
    pub dropped: u64,
    /// Bytes that the peer acknowledged.
    pub bytes_acked: u64,
    /// Bytes received in order.
    pub bytes_delivered: u64,
}

impl Summary {
    /// Makes the summary of an end from its declared counters. The driver adds the bytes of both directions.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates")]
    pub fn of<C: Connection + ?Sized>(end: &C) -> Self {
        let latest = end.round_trip().map(|round_trip| round_trip.latest);
        let phase = match end.observed(observe::STATE) {
            Some(Value::State(name)) => name,
            _ => "",
        };
        Self {
            phase,
            smoothed_rtt: latest,
            latest_rtt: latest,
            cwnd: end.observed(observe::CWND).and_then(Value::number).map_or(0, |segments| segments as u32),
            counters: StreamCounters::of(end),
            ..Self::default()
        }
    }
}

impl StreamCounters {
    fn of<C: Connection + ?Sized>(end: &C) -> Self {
        let counters = end.counters();
        let declared = |name| match end.observed(name) {
            Some(Value::Count(count)) => count,
            _ => 0,
        };
        let [acks, unwanted] = ["acks", "unwanted"].map(declared);
        Self {
            segments_sent: counters.sent + acks,
            data_sent: counters.sent,
            retransmitted: counters.retransmitted,
            acks_sent: acks,
            timeouts: counters.timeouts,
            freezes: declared("freezes"),
            notices: declared("notices"),
            probes: declared("probes"),
            data_received: counters.delivered + unwanted,
            delivered: counters.delivered,
            out_of_order: counters.out_of_order,
            duplicates: unwanted,
            ..Self::default()
        }
    }
}
