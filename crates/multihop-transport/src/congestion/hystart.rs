//! HyStart++ (RFC 9406): slow start ends when round trips grow, before the queue overflows.

use multihop_core::Duration;

use super::signals::Ack;

/// State of slow start, which HyStart++ observes round by round.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// Bytes to acknowledge until the round is over.
    left: u32,
    /// Shortest round trip of the last and of the current round, and the number of samples in the current
    /// round.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    /// Conservative slow start (CSS), active since round trips have grown.
    conservative: Option<Conservative>,
}

/// The effect of one ACK on slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Number of bytes by which the window grows after the ACK.
    pub(super) growth: u32,
    /// Whether slow start ends with the resulting window.
    pub(super) is_over: bool,
}

#[derive(Clone, Debug)]
struct Conservative {
    /// Shortest round trip at the beginning of conservative slow start (`cssBaselineMinRtt`).
    baseline: Duration,
    rounds: u32,
}

impl HyStart {
    /// An ACK in slow start (section 4.2) of a connection with full segments of `mss` bytes.
    pub(super) fn on_ack(&mut self, ack: &Ack, mss: u32) -> Step {
        let steps = ack.counted.min(MOST * mss);
        let share = if self.conservative.is_some() { GROWTH_DIVISOR } else { 1 };
        self.left = self.left.saturating_sub(ack.acked);
        if let Some(round_trip) = ack.round_trip {
            self.samples += 1;
            self.current = Some(self.current.map_or(round_trip, |least| least.min(round_trip)));
        }
        self.judge();
        let is_over = self.left == 0 && self.end_round(ack.flight);
        Step { growth: steps / share, is_over }
    }

    fn judge(&mut self) {
        let Some(current) = self.current.filter(|_| self.samples >= SAMPLES) else { return };
        match &self.conservative {
            Some(one) if current < one.baseline => self.conservative = None,
            Some(_) => {}
            None => {
                let grown = |last: Duration| current >= last + (last / DIVISOR).clamp(MIN_GROWTH, MAX_GROWTH);
                if self.last.is_some_and(grown) {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
            }
        }
    }

    /// Returns whether slow start is over.
    fn end_round(&mut self, flight: u32) -> bool {
        self.left = flight;
        self.last = self.current.take().or(self.last);
        self.samples = 0;
        let Some(one) = &mut self.conservative else { return false };
        one.rounds += 1;
        let is_over = one.rounds >= ROUNDS;
        if is_over {
            *self = Self::default();
        }
        is_over
    }
}

/// Largest growth of the window for one ACK without pacing (L of RFC 9406), segments.
const MOST: u32 = 8;
/// Least growth of round trips that ends slow start (RFC 9406: `MIN_RTT_THRESH`).
const MIN_GROWTH: Duration = Duration::from_millis(4);
const MAX_GROWTH: Duration = Duration::from_millis(16);
const DIVISOR: u64 = 8;
/// Number of round trips that a round must have measured before they are compared (RFC 9406: `N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// Divisor of the window's growth in conservative slow start (RFC 9406: `CSS_GROWTH_DIVISOR`).
const GROWTH_DIVISOR: u32 = 4;
const ROUNDS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::super::tests::ack;
    use super::*;

    const MSS: u32 = 1000;

    /// One round of ten ACKs of 1000 bytes with this round trip. Returns by how much the window grows, and whether slow start ends.
    fn round(hystart: &mut HyStart, millis: u64) -> (u32, bool) {
        hystart.left = 10_000;
        let steps = [(); 10].map(|()| hystart.on_ack(&ack(1000, 10_000, Some(millis)), MSS));
        (steps.iter().map(|step| step.growth).sum(), steps.iter().any(|step| step.is_over))
    }

    #[test]
    fn growing_round_trips_end_slow_start_after_five_rounds() {
        let mut hystart = HyStart::default();
        assert_eq!(round(&mut hystart, 80), (10_000, false));
        // One eighth of 80 ms is 10 ms: 89 ms is below the threshold, 99 ms above it from the eighth ACK on.
        assert_eq!(round(&mut hystart, 89), (10_000, false));
        assert_eq!(round(&mut hystart, 101), (8 * 1000 + 2 * 250, false));
        for _ in 0..3 {
            assert_eq!(round(&mut hystart, 101), (2500, false));
        }
        assert_eq!(round(&mut hystart, 101), (2500, true));
    }

    #[test]
    fn round_trips_that_shrink_again_resume_slow_start() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 80);
        round(&mut hystart, 100);
        assert!(hystart.conservative.is_some());
        // The eighth sample shows that round trips are shorter than when conservative slow start began.
        assert_eq!(round(&mut hystart, 99), (8 * 250 + 2 * 1000, false));
        assert!(hystart.conservative.is_none());
    }

    #[test]
    fn the_threshold_lies_between_4_and_16_ms() {
        for (last, current, ends) in [(10, 13, false), (10, 14, true), (400, 415, false), (400, 416, true)] {
            let mut hystart = HyStart::default();
            round(&mut hystart, last);
            round(&mut hystart, current);
            assert_eq!(hystart.conservative.is_some(), ends, "{last} then {current} ms");
        }
    }

    #[test]
    fn one_ack_adds_eight_segments_at_most() {
        assert_eq!(HyStart::default().on_ack(&ack(20_000, 0, None), MSS).growth, 8000);
    }
}
