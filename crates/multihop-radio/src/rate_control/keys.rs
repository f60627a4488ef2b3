//! The keys of rate control in scenario files.

use multihop_core::settings::{Allowed, Given, Value, Visitor};

use super::{LadderParams, MinstrelParams, RateControlParams};

impl RateControlParams {
    /// `rate_control`: a name, or a table with a name and parameters.
    pub(crate) fn key(&mut self, keys: &mut dyn Visitor) {
        let about = "How the rate of unicast data is chosen. All but fixed begin with radio.rate, Minstrel-HT with MCS 0. Default: fixed; \
                     with the budget of a device minstrel, unless radio.rate or data_rate is given.";
        let words = KINDS.map(|(word, _)| word);
        let allowed = Allowed::Words(&words);
        let mut listed = self.clone();
        let given = keys.about(about).value_or_table(
            "rate_control",
            allowed,
            Some(Value::Word(self.word())),
            &mut |keys| {
                keys.kinds("kind", None, &KINDS, &mut |kind, keys| {
                    listed = Self::of_kind(kind);
                    listed.keys(keys);
                });
            },
        );
        match given {
            Some(Given::Value(Value::Word(word))) => {
                let kind = words.iter().position(|known| *known == word).expect("an allowed word");
                *self = Self::of_kind(kind);
            }
            Some(_) => *self = listed,
            None => {}
        }
    }

    /// The name of the rule.
    pub fn word(&self) -> &'static str {
        let known = (0..KINDS.len()).find(|&kind| match (self, Self::of_kind(kind)) {
            (Self::Minstrel(_), Self::Minstrel(_)) => true,
            (Self::Ladder(one), Self::Ladder(other)) => one.is_like(&other),
            (one, other) => *one == other,
        });
        KINDS[known.expect("every rule has a word")].0
    }

    fn of_kind(kind: usize) -> Self {
        match kind {
            0 => Self::Fixed,
            1 => Self::Ladder(LadderParams::ARF),
            2 => Self::Ladder(LadderParams::AARF),
            3 => Self::Ladder(LadderParams::CARA),
            _ => Self::Minstrel(MinstrelParams::default()),
        }
    }

    fn keys(&mut self, keys: &mut dyn Visitor) {
        match self {
            Self::Fixed => {}
            Self::Ladder(params) => params.keys(keys),
            Self::Minstrel(params) => params.keys(keys),
        }
    }
}

impl LadderParams {
    /// Whether these are parameters of one rule.
    fn is_like(&self, other: &Self) -> bool {
        let rule = |params: &Self| (params.trial_fails_at_once, params.rts_after.is_some());
        let doubles = |params: &Self| params.most_successes > params.successes;
        rule(self) == rule(other) && doubles(self) == doubles(other)
    }

    fn keys(&mut self, keys: &mut dyn Visitor) {
        let doubles = self.most_successes > self.successes;
        let about = "Consecutive successes after which the next higher rate is tried.";
        keys.about(about).whole("successes", &mut self.successes, COUNT);
        if doubles {
            let about = "A failed trial doubles successes, up to this.";
            keys.about(about).whole("most_successes", &mut self.most_successes, COUNT);
        }
        // A failed trial never lowers the number.
        self.most_successes = self.most_successes.max(self.successes);
        let about = "Consecutive failures after which the next lower rate is used.";
        keys.about(about).whole("failures", &mut self.failures, COUNT);
        let about = "Transmissions at one rate after which any success leads to a trial of the next higher one; \
                     under aarf it grows in proportion to successes.";
        keys.about(about).whole("timer", &mut self.timer, COUNT);
        if let Some(failures) = &mut self.rts_after {
            let about = "Consecutive failures after which an RTS precedes data of any length.";
            keys.about(about).whole("rts_after", failures, COUNT);
        }
    }
}

impl MinstrelParams {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Time between two evaluations of the statistics, s.";
        keys.about(about).seconds("interval", &mut self.interval, 0.001..=1000.0);
        let about = "Weight of the earlier estimate of a probability against the last interval.";
        keys.about(about).number("weight", &mut self.weight, 0.0..=1.0);
        let about = "Share of packets that try another rate; of 802.11n, fifty a second do.";
        keys.about(about).number("lookaround", &mut self.lookaround, 0.0..=1.0);
    }
}

const KINDS: [(&str, &str); 5] = [
    ("fixed", "radio.rate."),
    ("arf", "Up after ten successes, down after two failures (Kamerman, Monteban 1997)."),
    ("aarf", "ARF that waits twice as long after each failed trial (Lacage et al. 2004)."),
    (
        "cara",
        "ARF that sends an RTS after a failure, so that collisions do not lower the rate (Kim et al. 2006).",
    ),
    (
        "minstrel",
        "The highest throughput by statistics; a tenth of the packets tries other rates; Minstrel-HT with 802.11n (Linux).",
    ),
];

const COUNT: core::ops::RangeInclusive<u64> = 1..=10_000;
