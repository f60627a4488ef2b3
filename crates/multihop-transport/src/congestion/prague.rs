use multihop_core::Instant;

use super::control::CongestionControl;
use super::signals::{Ack, AckKind};
use super::start::Start;
use super::window::Window;

/// A scalable control for L4S (RFC 9331 §4), like TCP Prague and DCTCP (RFC 8257): the window shrinks by half
/// the share of marked segments. Losses are handled as in NewReno.
// DEVIATION prague-2: TCP Prague has no pacing, no RTT independence, and no fallback for queues that mark as in RFC
// 3168. Flows with short round trips get more.
#[derive(Clone, Debug)]
pub(crate) struct Prague {
    window: Window,
    /// The average share of marked bytes (`DCTCP.Alpha`), in parts of [`WHOLE`].
    alpha: u32,
    /// Bytes acknowledged and marked in this round trip, and number of bytes that ends it.
    acked: u32,
    marked: u32,
    left: u32,
    /// Whether the window has already shrunk in this round trip.
    answered: bool,
    /// Whether the current ACK reports a mark and therefore does not increase the window.
    holds: bool,
}

impl Prague {
    pub(super) fn new(start: &Start) -> Self {
        // RFC 8257 §3.3: alpha starts at 1, so that the first mark halves the window.
        Self {
            window: Window::new(start),
            alpha: WHOLE,
            acked: 0,
            marked: 0,
            left: 0,
            answered: false,
            holds: false,
        }
    }

    /// Updates the moving average of the share of marked bytes at the end of a round trip (RFC 8257 §3.3, steps 3 to
    /// 8).
    fn end_round(&mut self, flight: u32) {
        if self.acked > 0 {
            let share = u64::from(self.marked) * u64::from(WHOLE) / u64::from(self.acked);
            let share = u32::try_from(share).unwrap_or(WHOLE);
            self.alpha = self.alpha - self.alpha / GAIN + share / GAIN;
        }
        (self.acked, self.marked, self.left, self.answered) = (0, 0, flight, false);
    }

    fn shrink(&mut self) {
        let window = &mut self.window;
        let cwnd = u64::from(window.cwnd());
        let mss = window.mss();
        let less = cwnd * u64::from(self.alpha) / u64::from(2 * WHOLE);
        let cwnd = u32::try_from(cwnd - less).unwrap_or(u32::MAX).max(2 * mss);
        let window = &mut self.window;
        window.set_cwnd(cwnd);
        window.set_ssthresh(cwnd);
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        if ack.kind != AckKind::Normal || !self.holds {
            self.window.on_ack(ack);
        }
    }

    fn on_marks(&mut self, _now: Instant, acked: u32, marked: bool, flight: u32) {
        self.holds = marked;
        self.acked = self.acked.saturating_add(acked);
        if marked {
            self.marked = self.marked.saturating_add(acked);
            if !self.answered {
                self.answered = true;
                self.shrink();
            }
        }
        self.left = self.left.saturating_sub(acked);
        if self.left == 0 {
            self.end_round(flight);
        }
    }

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

/// Value of `alpha` for a share of 1.
const WHOLE: u32 = 1 << 20;
/// The inverse of the weight of a round trip (g of RFC 8257).
const GAIN: u32 = 16;

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, ms, start};
    use super::*;

    /// A round trip of ten ACKs of 1000 bytes, the last `marked` of them with a mark. Returns the window in bytes.
    fn round(prague: &mut Prague, marked: u32) -> u32 {
        prague.left = 10_000;
        for n in 1..=10 {
            prague.on_marks(ms(0), 1000, n > 10 - marked, 10_000);
            prague.on_ack(ms(0), &ack(1000, 10_000, None));
        }
        prague.window().cwnd()
    }

    fn prague() -> Prague {
        let mut prague = Prague::new(&start(200));
        prague.window_mut().set_cwnd(100_000);
        prague.window_mut().set_ssthresh(100_000);
        prague
    }

    #[test]
    fn the_share_of_marks_by_hand() {
        let mut prague = prague();
        round(&mut prague, 0);
        assert_eq!(prague.alpha, WHOLE - WHOLE / 16);
        let alpha = prague.alpha;
        round(&mut prague, 5);
        assert_eq!(prague.alpha, alpha - alpha / 16 + WHOLE / 2 / 16);
    }

    #[test]
    fn the_window_shrinks_by_half_that_share_once_in_a_round_trip() {
        let mut prague = prague();
        // The average falls to the actual share of marks: one in ten.
        for _ in 0..200 {
            prague.window_mut().set_cwnd(100_000);
            round(&mut prague, 1);
        }
        let share = f64::from(prague.alpha) / f64::from(WHOLE);
        assert!((0.099..0.101).contains(&share), "{share}");
        prague.window_mut().set_cwnd(100_000);
        // Nine ACKs increase the window by 10 bytes each; the mark then reduces it by 5%.
        let after = round(&mut prague, 1);
        assert!((95_000..95_150).contains(&after), "{after}");
    }

    #[test]
    fn without_marks_it_grows_as_newreno() {
        let mut prague = prague();
        // Each ACK adds MSS^2 / cwnd, in whole bytes.
        assert_eq!(round(&mut prague, 0), 100_000 + 10 + 9 * 9);
    }
}
