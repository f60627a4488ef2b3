use multihop_core::Instant;

use super::{Ack, AckKind, Policy, Window};

/// RFC 5681: the first ACK of new data ends fast recovery.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Reno {
    window: Window,
}

impl Reno {
    pub(super) fn new(window: Window) -> Self {
        Self { window }
    }
}

impl Policy for Reno {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        match ack.kind {
            AckKind::Normal => self.window.grow(ack.acked),
            AckKind::Partial | AckKind::Full => self.window.leave_recovery(ack.acked, u32::MAX),
        }
    }

    fn on_dup_ack(&mut self) {
        self.window.inflate();
    }

    fn on_triple_dup_ack(&mut self, _now: Instant, flight: u32) {
        self.window.halve(flight);
    }

    fn on_rto(&mut self, _now: Instant, flight: u32, again: bool) {
        self.window.collapse(flight, again);
    }

    fn on_idle(&mut self) {
        self.window.restart();
    }

    fn cwnd(&self) -> u32 {
        self.window.cwnd()
    }

    fn window(&self) -> u32 {
        self.window.total()
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh()
    }

    fn outlasts_partial_acks(&self) -> bool {
        false
    }
}
