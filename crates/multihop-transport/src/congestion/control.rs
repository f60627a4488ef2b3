//! The interface of a congestion control, and its inputs.

use multihop_core::{Duration, Instant, Notice};

use super::window::Window;
/// Congestion control of one connection. Everything else belongs to the endpoint.
pub(crate) trait Policy {
    /// The connection is established after a handshake of this duration.
    fn on_handshake(&mut self, _now: Instant, _round_trip: Duration) {}

    /// New data was acknowledged.
    fn on_ack(&mut self, now: Instant, ack: &Ack);

    /// The arithmetic of windows that all variants share.
    fn base(&self) -> &Window;

    /// See [`base`](Self::base).
    fn base_mut(&mut self) -> &mut Window;

    /// One more duplicate ACK arrived during fast recovery without SACK.
    fn on_dup_ack(&mut self) {
        self.base_mut().inflate();
    }

    /// Fast retransmit: the third duplicate ACK arrived with `flight` bytes outstanding.
    fn on_triple_dup_ack(&mut self, _now: Instant, flight: u32) {
        self.base_mut().halve(flight);
    }

    /// The retransmission timer expired with `flight` bytes outstanding; `again` if it did so
    /// before for the same segment.
    fn on_rto(&mut self, _now: Instant, flight: u32, again: bool) {
        self.base_mut().collapse(flight, again);
    }

    /// Nothing has been sent for one retransmission timeout.
    fn on_idle(&mut self) {
        self.base_mut().restart();
    }

    /// Congestion without a loss to repair: a probe of the tail has repaired it, or the network has marked packets.
    fn on_congestion(&mut self, now: Instant, flight: u32) {
        self.on_triple_dup_ack(now, flight);
        let cwnd = self.cwnd();
        self.base_mut().release(cwnd);
    }

    /// An ACK, whatever it acknowledges, as a measurement of the path; only where transmissions are recorded.
    fn on_sample(&mut self, _now: Instant, _sample: &Sample) {}

    /// An ACK of `acked` bytes says whether they were marked, with `flight` bytes outstanding after it; only of a scalable
    /// control.
    fn on_marks(&mut self, _acked: u32, _marked: bool, _flight: u32) {}

    /// Data leaves again after a pause of the application.
    fn on_restart(&mut self, _now: Instant) {}

    /// Bytes per second at which data is to leave.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// The last reduction of the window was not necessary: before it the window and the threshold had these values.
    fn on_undo(&mut self, cwnd: u32, ssthresh: u32) {
        // DEVIATION tcp-10: the function of CUBIC is not restored.
        self.base_mut().restore(cwnd, ssthresh);
    }

    /// A notice from the layers below.
    fn on_notice(&mut self, _now: Instant, _notice: &Notice) {}

    /// Stand-by for a lost path is over.
    fn on_path_back(&mut self) {
        self.base_mut().resume();
    }

    /// Bytes that may be in flight, without what duplicate ACKs have added.
    fn cwnd(&self) -> u32 {
        self.base().cwnd()
    }

    /// Bytes that may be in flight.
    fn window(&self) -> u32 {
        self.base().total()
    }

    /// Where slow start ends, in bytes.
    fn ssthresh(&self) -> u32 {
        self.base().ssthresh()
    }

    /// Whether fast recovery continues until everything sent before it is acknowledged.
    fn outlasts_partial_acks(&self) -> bool;
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    /// Bytes newly acknowledged.
    pub(crate) acked: u32,
    /// Those by which the window may grow: without what SACK has reported before, where bytes are counted.
    pub(crate) counted: u32,
    /// Bytes still outstanding.
    pub(crate) flight: u32,
    pub(crate) kind: AckKind,
    /// The round-trip time that it ends, if it was measured: one for each round trip, or one for
    /// each ACK with timestamps.
    pub(crate) round_trip: Option<Duration>,
    /// The smoothed round trip.
    pub(crate) srtt: Option<Duration>,
}

/// What an ACK of new data means to fast recovery.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AckKind {
    /// There is no recovery.
    Normal,
    /// More of what was outstanding at the loss is missing.
    Partial,
    /// Recovery is over.
    Full,
}

/// What one ACK says about the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Bytes per second, if they could be measured.
    pub(crate) rate: Option<u64>,
    /// Bytes delivered in the time over which `rate` was measured.
    pub(crate) over: u64,
    /// Whether the application had too little to send when this rate was measured.
    pub(crate) limited: bool,
    /// Bytes delivered since the connection began: now, and when the newest segment delivered by this ACK left.
    pub(crate) delivered: u64,
    pub(crate) prior_delivered: Option<u64>,
    /// Bytes that this ACK delivered and that it showed to be lost.
    pub(crate) newly: u64,
    pub(crate) newly_lost: u64,
    /// Of the last segment that this ACK showed to be lost: bytes in flight when it left, and bytes lost since then.
    pub(crate) last_lost: Option<(u64, u64)>,
    /// Bytes in flight before this ACK, after it, and when the newest segment left.
    pub(crate) prior_in_flight: u64,
    pub(crate) in_flight: u64,
    pub(crate) sent_in_flight: u64,
    /// The round trip of the newest segment that left only once.
    pub(crate) round_trip: Option<Duration>,
    /// Whether losses are being repaired.
    pub(crate) recovers: bool,
}
