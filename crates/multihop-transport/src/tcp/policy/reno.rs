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

    fn base(&self) -> &Window {
        &self.window
    }

    fn base_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn outlasts_partial_acks(&self) -> bool {
        false
    }
}
