//! ARF, AARF and CARA: the next higher rate after successes, the next lower rate after failures.

use super::LadderParams;

/// State of the ladder for one neighbour.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    /// Index of the rate.
    rate: usize,
    /// Number of consecutive successes at the current rate.
    successes: u16,
    /// Number of consecutive failures at the current rate.
    failures: u16,
    /// Transmissions since the rate last changed.
    transmissions: u16,
    /// Consecutive successes that lead to a trial.
    needed: u16,
    /// Whether the next transmission is the first one at a higher rate.
    on_trial: bool,
}

impl Ladder {
    pub(super) fn new(params: &LadderParams, rate: usize) -> Self {
        let needed = params.successes;
        Self { rate, successes: 0, failures: 0, transmissions: 0, needed, on_trial: false }
    }

    pub(super) const fn rate(&self) -> usize {
        self.rate
    }

    /// The rate, and whether an RTS must precede the frame.
    pub(super) fn choose(&self, params: &LadderParams) -> (usize, bool) {
        (self.rate, params.rts_after.is_some_and(|failures| self.failures >= failures))
    }

    pub(super) fn report(&mut self, delivered: bool, params: &LadderParams, top: usize) {
        self.transmissions = self.transmissions.saturating_add(1);
        if delivered {
            self.succeeded(params, top);
        } else {
            self.failed(params);
        }
    }

    fn succeeded(&mut self, params: &LadderParams, top: usize) {
        self.failures = 0;
        self.successes = self.successes.saturating_add(1);
        self.on_trial = false;
        let expired = u32::from(self.transmissions) * u32::from(params.successes)
            >= u32::from(params.timer) * u32::from(self.needed);
        if self.rate < top && (self.successes >= self.needed || expired) {
            self.move_to(self.rate + 1);
            self.on_trial = params.trial_fails_at_once;
        }
    }

    fn failed(&mut self, params: &LadderParams) {
        self.successes = 0;
        self.failures = self.failures.saturating_add(1);
        if self.on_trial {
            self.needed = self.needed.saturating_mul(2).min(params.most_successes);
            self.move_to(self.rate - 1);
        } else if self.failures >= params.failures {
            self.needed = params.successes;
            self.move_to(self.rate.saturating_sub(1));
        }
    }

    fn move_to(&mut self, rate: usize) {
        *self = Self { rate, successes: 0, failures: 0, transmissions: 0, on_trial: false, ..*self };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: usize = 3;

    /// Rates of transmissions with these outcomes: `+` for a delivered frame, `-` for a lost one.
    fn rates(ladder: &mut Ladder, params: &LadderParams, outcomes: &str) -> Vec<usize> {
        let after = |outcome| {
            ladder.report(outcome == '+', params, TOP);
            ladder.choose(params).0
        };
        outcomes.chars().map(after).collect()
    }

    fn last_rate(ladder: &mut Ladder, params: &LadderParams, outcomes: &str) -> usize {
        *rates(ladder, params, outcomes).last().expect("some outcome")
    }

    fn successes_until_a_trial(ladder: &mut Ladder, params: &LadderParams) -> usize {
        let before = ladder.rate;
        1 + (0..100).take_while(|_| last_rate(ladder, params, "+") == before).count()
    }

    #[test]
    fn arf_goes_up_after_ten_successes_and_down_after_two_failures() {
        let (mut arf, params) = (Ladder::new(&LadderParams::ARF, 1), &LadderParams::ARF);
        assert_eq!(rates(&mut arf, params, "++++++++++"), [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(rates(&mut arf, params, "+-+--"), [2, 2, 2, 2, 1]);
        assert_eq!(rates(&mut arf, params, "----"), [1, 0, 0, 0], "there is no rate below the lowest");
        assert_eq!(last_rate(&mut arf, params, &"+".repeat(40)), TOP, "nor one above the highest");
    }

    #[test]
    fn the_first_failure_after_a_rise_takes_arf_back_at_once() {
        let (mut arf, params) = (Ladder::new(&LadderParams::ARF, 1), &LadderParams::ARF);
        assert_eq!(successes_until_a_trial(&mut arf, params), 10);
        assert_eq!(rates(&mut arf, params, "-"), [1]);
        assert_eq!(successes_until_a_trial(&mut arf, params), 10, "ARF does not learn from it");
        assert_eq!(rates(&mut arf, params, "+-"), [2, 2], "once the trial has passed it takes two failures");
    }

    #[test]
    fn the_timer_leads_to_a_trial_although_single_frames_are_lost() {
        let (mut arf, params) = (Ladder::new(&LadderParams::ARF, 1), &LadderParams::ARF);
        let expected = [[1; 14].as_slice(), &[2]].concat();
        assert_eq!(rates(&mut arf, params, "+-+-+-+-+-+-+-+"), expected, "after 15 transmissions");
    }

    #[test]
    fn a_failed_trial_doubles_what_aarf_needs_for_the_next_up_to_fifty() {
        let (mut aarf, params) = (Ladder::new(&LadderParams::AARF, 1), &LadderParams::AARF);
        for needed in [10, 20, 40, 50, 50] {
            assert_eq!(successes_until_a_trial(&mut aarf, params), needed);
            assert_eq!(rates(&mut aarf, params, "-"), [1]);
        }
        assert_eq!(rates(&mut aarf, params, "--"), [1, 0]);
        assert_eq!(successes_until_a_trial(&mut aarf, params), 10, "a fall resets it");
    }

    #[test]
    fn cara_sends_an_rts_after_a_failure_and_falls_only_if_data_fails_behind_it() {
        let (mut cara, params) = (Ladder::new(&LadderParams::CARA, 2), &LadderParams::CARA);
        assert_eq!(cara.choose(params), (2, false));
        cara.report(false, params, TOP);
        assert_eq!(cara.choose(params), (2, true), "the first failure may be a collision");
        cara.report(true, params, TOP);
        assert_eq!(cara.choose(params), (2, false), "it was one");
        cara.report(false, params, TOP);
        cara.report(false, params, TOP);
        assert_eq!(cara.choose(params), (1, false), "data behind an RTS does not collide");
        assert_eq!(last_rate(&mut cara, params, &"+".repeat(10)), 2);
        cara.report(false, params, TOP);
        assert_eq!(cara.choose(params), (2, true), "nor does a rate on trial fall without an RTS");
    }
}
