use multihop_core::Instant;

use super::control::{Ack, AckKind, Policy};
use super::hystart::HyStart;
use super::start::{NewRenoConfig, Start};
use super::window::Window;

/// RFC 6582: a partial ACK shows the next hole, and recovery continues.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    window: Window,
    config: NewRenoConfig,
    hystart: Option<HyStart>,
}

impl NewReno {
    pub(super) fn new(start: &Start) -> Self {
        let hystart = start.hystart.then(HyStart::default);
        Self { window: Window::new(start), config: start.newreno, hystart }
    }
}

impl Policy for NewReno {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        let mss = self.window.mss();
        match ack.kind {
            AckKind::Normal => match &mut self.hystart {
                Some(hystart) if self.window.cwnd() < self.window.ssthresh() => {
                    hystart.on_ack(ack, &mut self.window)
                }
                _ => self.window.grow(ack.counted),
            },
            AckKind::Partial if self.config.deflate => {
                // RFC 6582 §3.2 step 5: subtract what was acknowledged, add one segment.
                let back = if ack.acked >= mss { mss } else { 0 };
                self.window.deflate(ack.acked - back);
            }
            AckKind::Partial => {}
            AckKind::Full => {
                // RFC 6582 §3.2 step 3, option 1
                let limit = ack.flight.max(mss).saturating_add(mss);
                self.window.leave_recovery(ack.acked, limit);
            }
        }
    }

    fn base(&self) -> &Window {
        &self.window
    }

    fn base_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn outlasts_partial_acks(&self) -> bool {
        true
    }
}
