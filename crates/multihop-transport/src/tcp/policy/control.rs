//! The interface of a congestion control, and its inputs.

use multihop_core::{Duration, Instant, Notice};

use super::window::Window;
use crate::tcp::transmissions::Sample;

/// Congestion control of one connection. Everything else belongs to the endpoint.
pub(in crate::tcp) trait Policy {
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
pub(in crate::tcp) struct Ack {
    /// Bytes newly acknowledged.
    pub(in crate::tcp) acked: u32,
    /// Those by which the window may grow: without what SACK has reported before, where bytes are counted.
    pub(in crate::tcp) counted: u32,
    /// Bytes still outstanding.
    pub(in crate::tcp) flight: u32,
    pub(in crate::tcp) kind: AckKind,
    /// The round-trip time that it ends, if it was measured: one for each round trip, or one for
    /// each ACK with timestamps.
    pub(in crate::tcp) round_trip: Option<Duration>,
    /// The smoothed round trip.
    pub(in crate::tcp) srtt: Option<Duration>,
}

/// What an ACK of new data means to fast recovery.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::tcp) enum AckKind {
    /// There is no recovery.
    Normal,
    /// More of what was outstanding at the loss is missing.
    Partial,
    /// Recovery is over.
    Full,
}
