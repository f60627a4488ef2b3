use multihop_core::Instant;

use super::control::CongestionControl;
use super::signals::{Ack, AckKind};
use super::start::Start;
use super::window::Window;

/// Reno (RFC 5681): the first ACK of new data ends fast recovery.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    window: Window,
}

impl Reno {
    pub(super) fn new(start: &Start) -> Self {
        Self { window: Window::new(start) }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        match ack.kind {
            AckKind::Normal => self.window.grow(ack.counted),
            AckKind::Partial | AckKind::Full => self.window.leave_recovery(ack.acked, u32::MAX),
        }
    }

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn continues_after_partial_ack(&self) -> bool {
        false
    }
}
