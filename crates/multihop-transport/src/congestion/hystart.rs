//! HyStart++ (RFC 9406): slow start ends when round trips grow, before the queue overflows.

use multihop_core::Duration;

use super::control::Ack;
use super::window::Window;

/// Slow start, round by round.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// Bytes to be acknowledged before the round is over.
    left: u32,
    /// Shortest round trips of the last and the current round, and how many the current one has.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    /// Conservative slow start (CSS), since round trips have grown.
    conservative: Option<Conservative>,
}

#[derive(Clone, Debug)]
struct Conservative {
    /// The shortest round trip when it began (`cssBaselineMinRtt`).
    baseline: Duration,
    rounds: u32,
}

impl HyStart {
    /// An ACK in slow start (section 4.2).
    pub(super) fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        let steps = ack.counted.min(MOST * window.mss());
        let share = if self.conservative.is_some() { GROWTH_DIVISOR } else { 1 };
        window.add(steps / share);
        self.left = self.left.saturating_sub(ack.acked);
        if let Some(round_trip) = ack.round_trip {
            self.samples += 1;
            self.current = Some(self.current.map_or(round_trip, |least| least.min(round_trip)));
        }
        self.judge();
        if self.left == 0 {
            self.end_round(ack.flight, window);
        }
    }

    fn judge(&mut self) {
        let Some(current) = self.current.filter(|_| self.samples >= SAMPLES) else { return };
        match &self.conservative {
            Some(one) if current < one.baseline => self.conservative = None,
            Some(_) => {}
            None => {
                let grown =
                    |last: Duration| current >= last + (last / DIVISOR).clamp(LEAST_GROWTH, MOST_GROWTH);
                if self.last.is_some_and(grown) {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
            }
        }
    }

    fn end_round(&mut self, flight: u32, window: &mut Window) {
        self.left = flight;
        self.last = self.current.take().or(self.last);
        self.samples = 0;
        if let Some(one) = &mut self.conservative {
            one.rounds += 1;
            if one.rounds >= ROUNDS {
                window.set_ssthresh(window.cwnd());
                *self = Self::default();
            }
        }
    }
}

/// L: segments by which the window grows at most for one ACK, where nothing spaces segments.
const MOST: u32 = 8;
/// `MIN_RTT_THRESH`, `MAX_RTT_THRESH`, `MIN_RTT_DIVISOR`
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
const DIVISOR: u64 = 8;
/// `N_RTT_SAMPLE`
const SAMPLES: u32 = 8;
/// `CSS_GROWTH_DIVISOR`, `CSS_ROUNDS`
const GROWTH_DIVISOR: u32 = 4;
const ROUNDS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, start};
    use super::*;

    /// One round of ten ACKs of 1000 bytes with this round trip. Returns by how much the window grew.
    fn round(hystart: &mut HyStart, window: &mut Window, millis: u64) -> u32 {
        let before = window.cwnd();
        hystart.left = 10_000;
        for _ in 0..10 {
            hystart.on_ack(&ack(1000, 10_000, Some(millis)), window);
        }
        window.cwnd() - before
    }

    fn window() -> Window {
        let mut window = Window::new(&start(1000));
        window.set_cwnd(10_000);
        window
    }

    #[test]
    fn growing_round_trips_end_slow_start_after_five_rounds() {
        let (mut hystart, mut window) = (HyStart::default(), window());
        assert_eq!(round(&mut hystart, &mut window, 80), 10_000);
        // An eighth of 80 ms is 10 ms: 89 ms is not enough, 99 ms is, from the eighth ACK on.
        assert_eq!(round(&mut hystart, &mut window, 89), 10_000);
        assert_eq!(round(&mut hystart, &mut window, 101), 8 * 1000 + 2 * 250);
        for _ in 0..3 {
            assert_eq!(round(&mut hystart, &mut window, 101), 2500);
        }
        assert_eq!(window.ssthresh(), 1_000_000);
        round(&mut hystart, &mut window, 101);
        assert_eq!(window.ssthresh(), window.cwnd());
    }

    #[test]
    fn round_trips_that_shrink_again_resume_slow_start() {
        let (mut hystart, mut window) = (HyStart::default(), window());
        round(&mut hystart, &mut window, 80);
        round(&mut hystart, &mut window, 100);
        assert!(hystart.conservative.is_some());
        // Shorter than when it began, known with the eighth sample.
        assert_eq!(round(&mut hystart, &mut window, 99), 8 * 250 + 2 * 1000);
        assert!(hystart.conservative.is_none());
    }

    #[test]
    fn the_threshold_lies_between_4_and_16_ms() {
        for (last, current, ends) in [(10, 13, false), (10, 14, true), (400, 415, false), (400, 416, true)] {
            let (mut hystart, mut window) = (HyStart::default(), window());
            round(&mut hystart, &mut window, last);
            round(&mut hystart, &mut window, current);
            assert_eq!(hystart.conservative.is_some(), ends, "{last} then {current} ms");
        }
    }

    #[test]
    fn one_ack_adds_eight_segments_at_most() {
        let (mut hystart, mut window) = (HyStart::default(), window());
        hystart.on_ack(&ack(20_000, 0, None), &mut window);
        assert_eq!(window.cwnd(), 18_000);
    }
}
