//! The keys of rate control in scenario files.

use multihop_core::settings::{Allowed, Given, Settings, Value, Visitor};

use super::{LadderParams, MinstrelParams, RateControlParams};

impl RateControlParams {
    /// Reads the key `rate_control`: a name, or a table with a name and parameters.
    pub(crate) fn key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let words = KINDS.map(|(word, _)| word);
        let allowed = Allowed::of_words(&KINDS);
        let mut listed = self.clone();
        let given =
            keys.about(help).value_or_table(name, allowed, Some(Value::Word(self.word())), &mut |keys| {
                keys.kinds("kind", None, &KINDS, &mut |kind, keys| {
                    listed = Self::of_kind(kind);
                    listed.keys(keys);
                });
            });
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
            4 => Self::Kernel,
            _ => Self::Minstrel(MinstrelParams::default()),
        }
    }

    fn keys(&mut self, keys: &mut dyn Visitor) {
        match self {
            Self::Fixed | Self::Kernel => {}
            Self::Ladder(params) => params.keys(keys),
            Self::Minstrel(params) => params.keys(keys),
        }
    }
}

impl LadderParams {
    /// Whether both are parameters of the same rule.
    fn is_like(&self, other: &Self) -> bool {
        let rule = |params: &Self| (params.trial_fails_at_once, params.rts_after.is_some());
        let doubles = |params: &Self| params.most_successes > params.successes;
        rule(self) == rule(other) && doubles(self) == doubles(other)
    }

    /// Raises `most_successes` to at least `successes`, so that a failed trial never lowers the required
    /// number.
    pub(super) fn raise_most(&mut self, _: &mut dyn Visitor) {
        self.most_successes = self.most_successes.max(self.successes);
    }
}

const KINDS: [(&str, &str); 6] = [
    ("fixed", "radio.rate."),
    ("arf", "Up after ten successes, down after two failures (Kamerman, Monteban 1997)."),
    ("aarf", "ARF that waits twice as long after each failed trial (Lacage et al. 2004)."),
    (
        "cara",
        "ARF that sends an RTS after a failure, so that collisions do not lower the rate (Kim et al. 2006).",
    ),
    ("kernel", "Under multihop air, the choice of the kernel for each frame; otherwise radio.rate."),
    (
        "minstrel",
        "The highest throughput by statistics; a tenth of the packets tries other rates; Minstrel-HT with 802.11n (Linux).",
    ),
];

/// Allowed numbers of frames for a parameter.
pub(super) const COUNT: core::ops::RangeInclusive<u64> = 1..=10_000;
