//! Choice of the rates that Minstrel samples.

use core::ops::Range;

use multihop_core::{Duration, Instant, Rng};

use super::Rates;
use super::minstrel::Best;

/// Method by which Minstrel samples the rates of one neighbour.
#[derive(Clone, Debug)]
pub(super) enum Lookaround {
    /// Minstrel: a share of the packets samples each rate in turn.
    Shares(Shares),
    /// Minstrel-HT: fifty packets a second sample rates by groups with equal numbers of streams.
    Groups(Groups),
}

/// Sampling of Minstrel: a share of the packets tries other rates.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    packets: u64,
    samples: u64,
    /// Rates to sample, in random order; the last one is next.
    waiting: Vec<usize>,
}

/// Sampling of Minstrel-HT, which tries rates by groups of streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// Instant of the next sample.
    due: Instant,
    /// Position in the cycle [`TURNS`].
    turn: usize,
    /// Group of rates that each kind of sample uses next.
    groups: [usize; 3],
}

/// Purpose of a sample, which decides the rate to sample.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Sample the next faster rate of a group.
    Step,
    /// Sample any faster rate of a group, because the channel may have improved considerably.
    Jump,
    /// Sample a rate between the best rate and the most reliable one, for the second stage of the retry chain.
    Between,
}

const TURNS: [Kind; 6] = [Kind::Step, Kind::Jump, Kind::Step, Kind::Jump, Kind::Step, Kind::Between];

/// Shortest time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);

impl Shares {
    /// Rate that the next packet samples; `None` if it samples no rate.
    pub(super) fn next(&mut self, share: f64, rates: &Rates, rng: &mut Rng) -> Option<usize> {
        self.packets += 1;
        if self.samples as f64 >= share * self.packets as f64 {
            return None;
        }
        self.samples += 1;
        if self.waiting.is_empty() {
            self.waiting.extend(0..rates.list.len());
            shuffle(&mut self.waiting, rng);
        }
        self.waiting.pop()
    }
}

impl Groups {
    /// Rate that the next packet samples; `None` if it samples no rate.
    pub(super) fn next(&mut self, now: Instant, best: &Best, rates: &Rates, rng: &mut Rng) -> Option<usize> {
        if now < self.due {
            return None;
        }
        self.due = now + SAMPLE_INTERVAL;
        let kind = TURNS[self.turn];
        self.turn = (self.turn + 1) % TURNS.len();
        let at = &mut self.groups[kind as usize];
        (0..rates.groups.len()).find_map(|_| {
            let group = rates.groups[*at].clone();
            *at = (*at + 1) % rates.groups.len();
            of_group(kind, group, best, &rates.times, rng)
        })
    }
}

/// Rate of a group to sample for this purpose; `None` if the group has no suitable rate.
fn of_group(
    kind: Kind,
    group: Range<usize>,
    best: &Best,
    times: &[Duration],
    rng: &mut Rng,
) -> Option<usize> {
    let faster = group.clone().filter(|&rate| times[rate] < times[best.fastest]);
    match kind {
        Kind::Step => faster.max_by_key(|&rate| times[rate]),
        Kind::Jump => any(&faster.collect::<Vec<_>>(), rng),
        Kind::Between => {
            let between = |&rate: &usize| {
                rate != best.second && times[best.fastest] < times[rate] && times[rate] < times[best.surest]
            };
            any(&group.filter(between).collect::<Vec<_>>(), rng)
        }
    }
}

fn any(list: &[usize], rng: &mut Rng) -> Option<usize> {
    let bound = u32::try_from(list.len()).expect("a profile has few rates");
    (bound > 0).then(|| list[rng.below(bound) as usize])
}

/// Shuffles a list in place (Fisher-Yates): every order is equally likely.
fn shuffle(list: &mut [usize], rng: &mut Rng) {
    for end in (2..=list.len()).rev() {
        let bound = u32::try_from(end).expect("a profile has few rates");
        list.swap(end - 1, rng.below(bound) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MinstrelParams, RateControlParams};
    use super::*;
    use crate::phy_profile::RateIndex;

    /// Rates in two groups: rates 0 to 3 take 10, 8, 6 and 4 us, rates 4 to 7 take 9, 7, 5 and 3 us.
    fn rates() -> Rates {
        Rates {
            params: RateControlParams::Minstrel(MinstrelParams::default()),
            list: (0..8).map(RateIndex).collect(),
            groups: vec![0..4, 4..8],
            first: 0,
            bodies: [0; 8].map(Duration::from_micros).to_vec(),
            times: [10, 8, 6, 4, 9, 7, 5, 3].map(Duration::from_micros).to_vec(),
        }
    }

    /// The rates of the next samples, 20 ms apart.
    fn samples(groups: &mut Groups, best: &Best, count: usize) -> Vec<Option<usize>> {
        let rates = rates();
        let mut rng = Rng::stream(1, "test", groups.due.as_nanos());
        let from = groups.due;
        let at = |n: usize| from + SAMPLE_INTERVAL * n as u64;
        (0..count)
            .map(|n| {
                let sample = groups.next(at(n), best, &rates, &mut rng);
                let soon = at(n) + Duration::from_millis(19);
                assert_eq!(groups.next(soon, best, &rates, &mut rng), None, "one in 20 ms");
                sample
            })
            .collect()
    }

    #[test]
    fn of_six_samples_three_are_a_step_two_a_jump_and_one_between_the_best_and_the_surest() {
        let best = Best { fastest: 1, second: 0, surest: 0 };
        let mut jumps = [(); 2].map(|()| std::collections::BTreeSet::new());
        let mut groups = Groups::default();
        for _ in 0..20 {
            let found = samples(&mut groups, &best, 12);
            // Groups are sampled in turn.
            let steps = [0, 2, 4, 6, 8, 10].map(|n| found[n]);
            assert_eq!(steps, [2, 5, 2, 5, 2, 5].map(Some));
            assert_eq!([found[5], found[11]], [Some(4); 2], "the first group has none");
            jumps[0].extend([found[1], found[7]]);
            jumps[1].extend([found[3], found[9]]);
        }
        let jumps = jumps.map(|found| found.into_iter().flatten().collect::<Vec<_>>());
        assert_eq!(jumps, [vec![2, 3], vec![5, 6, 7]]);
    }

    #[test]
    fn a_group_without_such_a_rate_passes_its_turn_on() {
        let best = Best { fastest: 3, second: 2, surest: 6 };
        // Only rate 7 is faster than 4 us, and nothing lies between 4 and 5 us.
        assert_eq!(
            samples(&mut Groups::default(), &best, 6),
            [Some(7), Some(7), Some(7), Some(7), Some(7), None]
        );
        let best = Best { fastest: 7, second: 3, surest: 0 };
        let found = samples(&mut Groups::default(), &best, 6);
        assert_eq!(found[..5], [None; 5], "nothing is faster");
        assert!(found[5].is_some_and(|rate| ![0, 3, 7].contains(&rate)), "{found:?}");
    }
}
