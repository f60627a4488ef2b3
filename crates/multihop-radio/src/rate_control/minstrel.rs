//! Minstrel and Minstrel-HT: the rate with the highest measured throughput, and a few packets at other rates
//! to keep the statistics current.

use multihop_core::{Duration, Instant, Rng};

use super::lookaround::{Groups, Lookaround, Shares};
use super::{Attempt, MinstrelParams, Rates};

/// Statistics and retry chain for one neighbour.
#[derive(Clone, Debug)]
pub(super) struct Minstrel {
    rates: Vec<Statistics>,
    /// Instant at which the statistics were last evaluated.
    evaluated: Instant,
    best: Best,
    /// The rates of the packet in service, each with its number of transmissions.
    chain: [Stage; 4],
    /// Whether the first rate of the chain is a sample for the statistics.
    is_trial: bool,
    lookaround: Lookaround,
    length: Length,
}

/// Number of MPDUs per frame: counters since the last evaluation, and their moving average.
#[derive(Clone, Copy, Debug)]
struct Length {
    /// Number of MPDUs in the frames since the last evaluation.
    mpdus: u32,
    /// Number of frames since the last evaluation.
    frames: u32,
    /// Moving average of the number of MPDUs per frame.
    average: f64,
}

/// The rates of packets that sample no other rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    /// Rate with the highest throughput.
    pub(super) fastest: usize,
    /// Rate with the second highest throughput.
    pub(super) second: usize,
    /// Rate with the highest probability of success.
    pub(super) surest: usize,
}

/// Measurements of one rate towards one neighbour.
#[derive(Clone, Copy, Debug, Default)]
struct Statistics {
    /// Number of transmissions since the last evaluation.
    transmissions: u32,
    /// Number of transmissions since the last evaluation that were acknowledged.
    successes: u32,
    /// Probability of success, a moving average; `None` before the first transmission.
    probability: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Stage {
    rate: usize,
    transmissions: u32,
}

impl Minstrel {
    pub(super) fn new(now: Instant, rates: &Rates) -> Self {
        Self {
            rates: vec![Statistics::default(); rates.list.len()],
            evaluated: now,
            best: Best { fastest: rates.first, second: rates.first, surest: rates.first },
            chain: [Stage::default(); 4],
            is_trial: false,
            lookaround: if rates.groups.is_empty() {
                Lookaround::Shares(Shares::default())
            } else {
                Lookaround::Groups(Groups::default())
            },
            length: Length { mpdus: 0, frames: 0, average: 1.0 },
        }
    }

    /// Index of the rate with the highest throughput.
    pub(super) const fn fastest(&self) -> usize {
        self.best.fastest
    }

    /// The rate for one transmission attempt.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        attempt: &Attempt,
        params: &MinstrelParams,
        rates: &Rates,
        rng: &mut Rng,
    ) -> usize {
        if attempt.number == 0 {
            if now >= self.evaluated + params.interval {
                self.evaluate(params, rates);
                self.evaluated = now;
            }
            let list = self.plan(now, params, rates, rng);
            self.set_chain(list, attempt.limit, rates);
        }
        let mut before = attempt.number;
        for stage in &self.chain {
            if before < stage.transmissions {
                return stage.rate;
            }
            before -= stage.transmissions;
        }
        self.chain[3].rate
    }

    /// Whether the packet in service tries a rate for the statistics.
    pub(super) const fn is_trial(&self) -> bool {
        self.is_trial
    }

    pub(super) fn note_length(&mut self, mpdus: u32) {
        self.length.mpdus += mpdus;
        self.length.frames += 1;
    }

    pub(super) fn report(&mut self, rate: usize, delivered: bool) {
        let statistics = &mut self.rates[rate];
        statistics.transmissions += 1;
        statistics.successes += u32::from(delivered);
    }

    /// Updates the moving averages and selects the best rates.
    fn evaluate(&mut self, params: &MinstrelParams, rates: &Rates) {
        for statistics in &mut self.rates {
            statistics.evaluate(params.weight);
        }
        self.length.evaluate(params.weight);
        let average = self.length.average;
        let throughput = |rate: usize| self.rates[rate].throughput(rates.seconds(rate, average));
        let fastest = highest(self.rates.len(), None, throughput);
        let second = highest(self.rates.len(), Some(fastest), throughput);
        let second = if throughput(second) > 0.0 { second } else { fastest };
        let sure = |rate: usize| self.rates[rate].probability.unwrap_or(0.0);
        // The surest rate is the fastest of the rates that hardly ever fail.
        let surest = highest(self.rates.len(), None, |rate| {
            if sure(rate) >= SURE { 1.0 + throughput(rate) } else { sure(rate) }
        });
        self.best = Best { fastest, second, surest };
    }

    /// Rates for the attempts of a packet. A sampled rate is first in the chain if it could be faster than the best
    /// rate; a slower one is used only if the best rate fails.
    fn plan(&mut self, now: Instant, params: &MinstrelParams, rates: &Rates, rng: &mut Rng) -> [usize; 4] {
        let Best { fastest, second, surest } = self.best;
        match &mut self.lookaround {
            Lookaround::Shares(shares) => match shares.next(params.lookaround, rates, rng) {
                Some(sample) if rates.times[sample] < rates.times[fastest] => [sample, fastest, surest, 0],
                Some(sample) if sample != fastest => [fastest, sample, surest, 0],
                Some(_) | None => [fastest, second, surest, 0],
            },
            Lookaround::Groups(groups) => {
                let sample = groups.next(now, &self.best, rates, rng);
                [sample.unwrap_or(fastest), second, surest, surest]
            }
        }
    }

    fn set_chain(&mut self, list: [usize; 4], limit: Option<u32>, rates: &Rates) {
        // DEVIATION rate-1: A rate of Minstrel's retry chain has at most a quarter of the retry limit, in addition to
        // the limit of 6 ms. Slower rates are thus tried before the limit of 7.
        let share = limit.map_or(u32::MAX, |limit| limit.div_ceil(4));
        self.chain = list.map(|rate| Stage { rate, transmissions: fitting(rates.times[rate]).min(share) });
        self.is_trial = list[0] != self.best.fastest;
        if self.is_trial {
            self.chain[0].transmissions = 1;
        }
    }
}

impl Statistics {
    fn evaluate(&mut self, weight: f64) {
        if self.transmissions > 0 {
            let latest = f64::from(self.successes) / f64::from(self.transmissions);
            self.probability = Some(match self.probability {
                Some(earlier) => weight * earlier + (1.0 - weight) * latest,
                None => latest,
            });
        }
        (self.transmissions, self.successes) = (0, 0);
    }

    /// Packets delivered per second, if each takes so many seconds.
    fn throughput(&self, seconds: f64) -> f64 {
        match self.probability {
            Some(probability) if probability >= HOPELESS => probability.min(GOOD) / seconds,
            _ => 0.0,
        }
    }
}

impl Length {
    fn evaluate(&mut self, weight: f64) {
        if self.frames > 0 {
            let latest = f64::from(self.mpdus) / f64::from(self.frames);
            self.average = weight * self.average + (1.0 - weight) * latest;
        }
        (self.mpdus, self.frames) = (0, 0);
    }
}

/// Number of transmissions of a stage that fit into its time.
fn fitting(time: Duration) -> u32 {
    u32::try_from(STAGE_TIME.whole(time)).unwrap_or(u32::MAX).max(1)
}

/// The rate with the highest score; among equal ones the lowest.
fn highest(rates: usize, except: Option<usize>, score: impl Fn(usize) -> f64) -> usize {
    let mut found = None;
    for rate in (0..rates).filter(|&rate| Some(rate) != except) {
        if found.is_none_or(|found| score(rate) > score(found)) {
            found = Some(rate);
        }
    }
    found.or(except).expect("a profile has rates")
}

/// Longest time of one stage of the retry chain.
const STAGE_TIME: Duration = Duration::from_millis(6);

/// A rate with a lower probability of success counts as useless.
const HOPELESS: f64 = 0.1;

/// Probability of success above which only the speed of a rate matters.
const GOOD: f64 = 0.9;

/// Probability of success from which a rate counts as hardly ever failing.
const SURE: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(probability: Option<f64>, successes: u32, transmissions: u32) -> Statistics {
        let mut statistics = Statistics { transmissions, successes, probability };
        statistics.evaluate(0.75);
        statistics
    }

    #[test]
    fn an_estimate_moves_by_a_quarter_in_each_interval_with_transmissions() {
        assert_eq!(evaluated(None, 1, 2).probability, Some(0.5), "the first one counts as it is");
        assert_eq!(evaluated(Some(0.5), 0, 3).probability, Some(0.375));
        assert_eq!(evaluated(Some(0.5), 3, 3).probability, Some(0.625));
        assert_eq!(evaluated(Some(0.5), 0, 0).probability, Some(0.5));
        assert_eq!(evaluated(Some(0.5), 3, 3).transmissions, 0);
    }

    #[test]
    fn below_a_tenth_a_rate_is_useless_and_above_nine_tenths_only_its_speed_counts() {
        let throughput = |probability| {
            let statistics = Statistics { probability, ..Statistics::default() };
            statistics.throughput(0.002)
        };
        let expected =
            [(None, 0.0), (Some(0.09), 0.0), (Some(0.1), 50.0), (Some(0.9), 450.0), (Some(1.0), 450.0)];
        for (probability, packets) in expected {
            assert!((throughput(probability) - packets).abs() < 1e-9, "{probability:?}");
        }
    }

    #[test]
    fn the_average_length_of_frames_moves_by_a_quarter_in_each_interval_with_frames() {
        let mut length = Length { mpdus: 60, frames: 3, average: 4.0 };
        length.evaluate(0.75);
        assert!((length.average - 8.0).abs() < 1e-9, "{length:?}");
        length.evaluate(0.75);
        assert!((length.average - 8.0).abs() < 1e-9, "{length:?}");
    }
}
