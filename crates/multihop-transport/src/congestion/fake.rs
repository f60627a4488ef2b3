use multihop_core::{Instant, Notice};

use super::control::{Ack, Policy};
use super::window::Window;

/// A policy for tests: fixed windows, and a record of the notices.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub(crate) window: u32,
    pub(crate) notices: Vec<Notice>,
}

impl Policy for Fake {
    fn on_ack(&mut self, _now: Instant, _ack: &Ack) {}

    fn base(&self) -> &Window {
        unreachable!("its windows are fixed")
    }

    fn base_mut(&mut self) -> &mut Window {
        unreachable!("its windows are fixed")
    }

    fn on_dup_ack(&mut self) {}

    fn on_triple_dup_ack(&mut self, _now: Instant, _flight: u32) {}

    fn on_rto(&mut self, _now: Instant, _flight: u32, _again: bool) {}

    fn on_idle(&mut self) {}

    fn on_undo(&mut self, _cwnd: u32, _ssthresh: u32) {}

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        self.notices.push(*notice);
    }

    fn cwnd(&self) -> u32 {
        self.window
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.window
    }

    fn outlasts_partial_acks(&self) -> bool {
        false
    }
}
