use multihop_core::{Duration, Instant};

use super::control::CongestionControl;
use super::signals::{Ack, AckKind};
use super::start::Start;
use super::window::{Share, Window};

/// CUBIC (RFC 9438): the window follows a cubic function of the time since the last loss, flat at the window
/// of that loss. This file counts windows in segments, as the RFC does.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    window: Window,
    /// The window at which the cubic function is flat (W_max); unknown before the first loss and after a
    /// timeout.
    w_max: Option<f64>,
    /// The window before the last loss (`cwnd_prior`).
    prior: f64,
    epoch: Option<Epoch>,
    /// Whether the window grows as Reno's once Reno's window would be back at `prior` (section 4.3).
    catches_up: bool,
}

/// Stage of congestion avoidance between two losses. Windows are in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    start: Instant,
    origin: f64,
    /// Seconds until the cubic function reaches its flat part (K of RFC 9438).
    k: f64,
    /// Window that Reno would have under the same conditions, in segments (section 4.3).
    w_est: f64,
}

impl Cubic {
    pub(super) fn new(start: &Start) -> Self {
        let catches_up = start.cubic_catches_up;
        Self { window: Window::new(start), w_max: None, prior: 0.0, epoch: None, catches_up }
    }

    fn segments(&self) -> f64 {
        let window = &self.window;
        f64::from(window.cwnd()) / f64::from(window.mss())
    }

    /// Grows the window in congestion avoidance (sections 4.2 to 4.5).
    fn avoid_congestion(&mut self, now: Instant, ack: &Ack) {
        let cwnd = self.segments();
        let mss = f64::from(self.window.mss());
        let acks = self.window.acks(ack.counted);
        // Sections 4.8 and 4.10: without an earlier loss, the function is flat at the current window.
        let w_max = *self.w_max.get_or_insert(cwnd);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, cwnd, w_max));
        let alpha = if epoch.w_est < self.prior || !self.catches_up { ALPHA } else { 1.0 };
        epoch.count(alpha, f64::from(ack.counted) / mss, cwnd);
        let next = epoch.grown(now, cwnd, acks, ack.srtt.unwrap_or(Duration::ZERO));
        self.window.set_cwnd(whole(next * mss));
    }

    /// Remembers the window before a loss (sections 4.6 and 4.7); does not change the window itself.
    fn remember(&mut self) {
        let cwnd = self.segments();
        self.prior = cwnd;
        self.w_max = match self.w_max {
            // Fast convergence: a falling window shows that another flow needs a share.
            Some(last) if cwnd < last => Some(cwnd * (1.0 + BETA) / 2.0),
            _ => Some(cwnd),
        };
        self.epoch = None;
    }
}

impl Epoch {
    /// Begins after a loss, or at a window without an earlier loss.
    pub(crate) fn new(start: Instant, cwnd: f64, w_max: f64) -> Self {
        let origin = w_max.max(cwnd);
        Self { start, origin, k: cube_root((origin - cwnd) / C), w_est: cwnd }
    }

    /// Adds acknowledged segments to the window of Reno.
    pub(crate) fn count(&mut self, alpha: f64, segments: f64, cwnd: f64) {
        self.w_est += alpha * segments / cwnd;
    }

    /// The next window after an ACK for so many segments (sections 4.2 to 4.5).
    pub(crate) fn grown(&self, now: Instant, cwnd: f64, segments: f64, round_trip: Duration) -> f64 {
        let t = now.saturating_since(self.start).as_secs_f64();
        if self.at(t) < self.w_est {
            return self.w_est.max(cwnd);
        }
        let target = self.at(t + round_trip.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) / cwnd * segments
    }

    /// Window in segments `t` seconds after the epoch began (RFC 9438, Figure 1).
    fn at(&self, t: f64) -> f64 {
        let from_origin = t - self.k;
        C * from_origin * from_origin * from_origin + self.origin
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if ack.kind == AckKind::Normal && !self.window.is_slow_start() {
            self.avoid_congestion(now, ack);
        } else {
            self.window.on_ack(ack);
        }
    }

    fn on_loss(&mut self, _now: Instant, flight: u32) {
        self.remember();
        self.window.reduce(flight, KEPT);
    }

    fn on_timeout(&mut self, _now: Instant, flight: u32, again: bool) {
        if !again {
            self.remember();
        }
        self.w_max = None;
        self.window.collapse(flight, again, KEPT);
    }

    fn on_idle(&mut self, _now: Instant) {
        // DEVIATION tcp-6: CUBIC's time restarts after an idle timeout under `rfc`, and otherwise includes idle
        // times. RFC 9438 (4.2) excludes all of them. The window is larger after a pause.
        self.epoch = None;
        self.window.restart();
    }

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

/// Cube root by Newton's method from above, with basic operations only: each step decreases the value until rounding
/// stops it.
fn cube_root(a: f64) -> f64 {
    if a <= 0.0 {
        return 0.0;
    }
    let mut root = a.max(1.0);
    for _ in 0..STEPS {
        let next = (2.0 * root + a / (root * root)) / 3.0;
        if next >= root {
            break;
        }
        root = next;
    }
    root
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(bytes: f64) -> u32 {
    bytes as u32
}

/// Factor on the window after a loss (RFC 9438 §4.6).
const BETA: f64 = 0.7;
const KEPT: Share = Share::thousandths(700);
/// Growth constant C of CUBIC, segments per second cubed (RFC 9438 §5.1).
const C: f64 = 0.4;
/// Additive increase that is as fair to Reno with `BETA` as Reno with a half (RFC 9438 §4.3).
pub(crate) const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Maximum number of steps: from the largest window, 65535 segments, the root is found in 31.
const STEPS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, ms, start};
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn cube_roots_by_hand() {
        for root in [0.0, 0.001, 0.5, 1.0, 3.0, 7.25, 54.7] {
            let found = cube_root(root * root * root);
            assert!(near(found, root), "{found} for {root}");
        }
        assert!(near(cube_root(-1.0), 0.0));
    }

    #[test]
    fn the_function_by_hand() {
        // The window shrinks from 40 to 28 segments, and K^3 = 12 / 0.4 = 30.
        let epoch = Epoch::new(ms(0), 28.0, 40.0);
        assert!(near(epoch.k * epoch.k * epoch.k, 30.0), "{}", epoch.k);
        assert!(near(epoch.at(0.0), 28.0) && near(epoch.at(epoch.k), 40.0));
        assert!(near(epoch.at(epoch.k + 5.0), 90.0));
    }

    /// CUBIC in congestion avoidance with a window of 40 segments, before any loss.
    fn cubic() -> Cubic {
        let mut cubic = Cubic::new(&start(200));
        cubic.window_mut().set_cwnd(40_000);
        cubic.window_mut().set_ssthresh(40_000);
        cubic
    }

    #[test]
    fn a_loss_leaves_seven_tenths() {
        let mut cubic = cubic();
        cubic.on_loss(ms(0), 40_000);
        assert_eq!((cubic.window().cwnd(), cubic.window().ssthresh()), (28_000, 28_000));
        assert_eq!((cubic.w_max, cubic.prior), (Some(40.0), 40.0));
    }

    #[test]
    fn a_loss_below_the_last_one_makes_room() {
        let mut cubic = cubic();
        cubic.on_loss(ms(0), 40_000);
        cubic.on_loss(ms(100), 28_000);
        // 28 * (1 + 0.7) / 2
        assert!(near(cubic.w_max.unwrap(), 23.8), "{:?}", cubic.w_max);
        assert_eq!(cubic.window().cwnd(), 19_600);
    }

    #[test]
    fn growth_by_one_ack_by_hand() {
        let mut cubic = cubic();
        cubic.on_loss(ms(0), 40_000);
        cubic.window_mut().release(28_000);
        // The epoch begins with the first ACK in congestion avoidance.
        cubic.on_ack(ms(0), &ack(1000, 27_000, None));
        let w_est = 28.0 + 9.0 / 17.0 / 28.0;
        assert!(near(cubic.epoch.as_ref().unwrap().w_est, w_est));
        assert_eq!(cubic.window().cwnd(), whole(w_est * 1000.0));
        // At 2 s, with a round trip of 0.1 s: the target is 0.4 * (2.1 - K)^3 + 40 = 39.587..
        cubic.window_mut().release(35_000);
        cubic.on_ack(ms(2000), &Ack { srtt: Some(Duration::from_millis(100)), ..ack(1000, 34_000, None) });
        let target = 0.4 * (2.1 - 30_f64.cbrt()).powi(3) + 40.0;
        assert_eq!(cubic.window().cwnd(), whole((35.0 + (target - 35.0) / 35.0) * 1000.0));
    }

    /// With 28 segments after the last loss, Reno's window is far above the 20 before it: only RFC 9438 then
    /// adds a whole segment.
    #[test]
    fn above_the_window_before_the_loss_linux_keeps_its_pace() {
        let grown = [true, false].map(|catches_up| {
            let mut cubic = Cubic::new(&Start { cubic_catches_up: catches_up, ..start(200) });
            cubic.window_mut().set_cwnd(28_000);
            cubic.window_mut().set_ssthresh(28_000);
            (cubic.w_max, cubic.prior) = (Some(28.0), 20.0);
            cubic.on_ack(ms(0), &ack(28_000, 0, None));
            cubic.epoch.unwrap().w_est
        });
        assert!(near(grown[0], 29.0) && near(grown[1], 28.0 + 9.0 / 17.0), "{grown:?}");
    }

    #[test]
    fn no_round_trip_grows_by_more_than_half() {
        let mut cubic = cubic();
        cubic.on_ack(ms(0), &ack(1000, 39_000, None));
        // After a long time the function is far above the window, the target is 1.5 windows, and an ACK adds
        // half a segment.
        let before = cubic.window().cwnd();
        cubic.on_ack(ms(60_000), &ack(1000, 39_000, None));
        assert!(
            (499..=500).contains(&(cubic.window().cwnd() - before)),
            "{}",
            cubic.window().cwnd() - before
        );
    }

    #[test]
    fn after_a_timeout_the_function_starts_flat() {
        let mut cubic = cubic();
        cubic.on_timeout(ms(0), 40_000, false);
        assert_eq!((cubic.window().cwnd(), cubic.window().ssthresh()), (1000, 28_000));
        cubic.window_mut().set_cwnd(28_000);
        cubic.on_ack(ms(500), &ack(1000, 27_000, None));
        let epoch = cubic.epoch.unwrap();
        assert_eq!((epoch.origin, epoch.k), (28.0, 0.0));
    }
}
