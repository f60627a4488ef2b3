use multihop_core::Instant;

use super::control::{Ack, AckKind, Policy};
use super::start::Start;
use super::window::Window;

/// RFC 5681: the first ACK of new data ends fast recovery.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    window: Window,
}

impl Reno {
    pub(super) fn new(start: &Start) -> Self {
        Self { window: Window::new(start) }
    }
}

impl Policy for Reno {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        match ack.kind {
            AckKind::Normal => self.window.grow(ack.counted),
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
