//! The energy of a radio: powers of its states, real cards, batteries.

use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Field, Settings, Value, Visitor};
use multihop_core::{Duration, NodeId};

/// Electrical powers and batteries.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct Energy {
    /// Powers of the states.
    #[key(
        name = "card",
        help = "Card whose measured powers take the place of the defaults.",
        with = Self::card_key
    )]
    #[key(flatten)]
    pub powers: Powers,
    /// Energy of each node at the start, J; or a list with one for each node. A node whose battery is empty stays silent. Default: no
    /// limit.
    #[key(JOULES)]
    pub battery: Battery,
}

/// Electrical powers of a radio, W.
#[derive(Clone, Copy, Debug, PartialEq, Settings)]
pub struct Powers {
    /// Power while transmitting, W.
    #[key(WATTS)]
    pub transmit: f64,
    /// Power while receiving, W.
    #[key(WATTS)]
    pub receive: f64,
    /// Power while awake, but neither transmitting nor receiving, W.
    #[key(WATTS)]
    pub idle: f64,
    /// Power while asleep, W.
    #[key(WATTS)]
    pub sleep: f64,
}

/// Energy of the nodes at the start, J.
#[derive(Clone, Debug, PartialEq)]
pub enum Battery {
    /// Every node has unlimited energy.
    Mains,
    /// Every node starts with this energy, in joules.
    All(f64),
    /// One value for each node, in joules.
    Each(Vec<f64>),
}

/// Time that a radio spent in each state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Times {
    /// Total time that the card spent transmitting.
    pub transmit: Duration,
    /// Total time that the card spent receiving.
    pub receive: Duration,
    /// Total time that the card was awake without transmitting or receiving.
    pub idle: Duration,
    /// Total time that the card spent asleep.
    pub sleep: Duration,
}

/// A wireless card with measured powers.
pub struct Card {
    /// Name of the card in scenarios.
    pub name: &'static str,
    /// Power that the card draws in each state.
    pub powers: Powers,
}

/// Cards with measured powers. Sources: L. M. Feeney, M. Nilsson, INFOCOM 2001: Lucent `WaveLAN` cards at
/// 4.74 V, 284, 190, 156 and 10 mA at 11 Mb/s, and 280, 204, 178 and 14 mA at 2 Mb/s. D. Halperin and others,
/// `HotPower` 2010: Intel 5300 with one antenna, transmitting at 0 dBm.
pub const CARDS: [Card; 3] = [
    Card { name: "wavelan-11", powers: Powers::of(1.346, 0.9006, 0.7394, 0.0474) },
    Card { name: "wavelan-2", powers: Powers::of(1.3272, 0.967, 0.8437, 0.0664) },
    Card { name: "intel-5300", powers: Powers::of(1.14, 0.94, 0.82, 0.1) },
];

impl Powers {
    const fn of(transmit: f64, receive: f64, idle: f64, sleep: f64) -> Self {
        Self { transmit, receive, idle, sleep }
    }

    /// The energy of each state, J: transmit, receive, idle, sleep.
    pub fn joules(&self, times: &Times) -> [f64; 4] {
        [
            self.transmit * times.transmit.as_secs_f64(),
            self.receive * times.receive.as_secs_f64(),
            self.idle * times.idle.as_secs_f64(),
            self.sleep * times.sleep.as_secs_f64(),
        ]
    }

    /// Highest power of all states, W.
    pub fn highest(&self) -> f64 {
        self.transmit.max(self.receive).max(self.idle).max(self.sleep)
    }
}

impl Battery {
    /// Energy of a node at the start, in joules; `None` means that it has no limit.
    pub fn of(&self, node: NodeId) -> Option<f64> {
        match self {
            Self::Mains => None,
            Self::All(joules) => Some(*joules),
            Self::Each(joules) => joules.get(node.index()).copied(),
        }
    }
}

impl Times {
    /// Splits `whole` into the time of each state. Overlapping states count once: transmitting first, then
    /// receiving, then sleep.
    pub fn within(whole: Duration, transmitting: Duration, receiving: Duration, asleep: Duration) -> Self {
        let mut left = whole;
        let mut take = |time: Duration| {
            let time = time.min(left);
            left = left.saturating_sub(time);
            time
        };
        let (transmit, receive, sleep) = (take(transmitting), take(receiving), take(asleep));
        Self { transmit, receive, idle: left, sleep }
    }
}

impl Default for Energy {
    fn default() -> Self {
        Self { powers: Powers::of(1.4, 0.9, 0.05, 0.0), battery: Battery::Mains }
    }
}

impl Energy {
    fn card_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let cards = CARDS.map(|card| (card.name, card.powers));
        if let Some(powers) = keys.about(help).choice(name, None, &cards) {
            self.powers = powers;
        }
    }
}

impl Field for Battery {
    type Bounds = RangeInclusive<f64>;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        f64::allowed(bounds).or(Vec::<f64>::allowed(bounds))
    }

    fn value(&self) -> Option<Value> {
        match self {
            Self::Mains => None,
            Self::All(joules) => joules.value(),
            Self::Each(joules) => joules.value(),
        }
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::List(_) => Self::Each(Vec::of_value(value)),
            all => Self::All(f64::of_value(all)),
        }
    }
}

const WATTS: RangeInclusive<f64> = 0.0..=1e6;
const JOULES: RangeInclusive<f64> = 1e-6..=1e12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_share_the_time() {
        let ms = Duration::from_millis;
        let times = Times::within(ms(100), ms(20), ms(30), ms(10));
        assert_eq!(times, Times { transmit: ms(20), receive: ms(30), idle: ms(40), sleep: ms(10) });
        let full = Times::within(ms(100), ms(90), ms(30), ms(10));
        assert_eq!(full, Times { transmit: ms(90), receive: ms(10), idle: ms(0), sleep: ms(0) });
        let joules = Powers::of(2.0, 1.0, 0.5, 0.1).joules(&times);
        for (found, expected) in joules.into_iter().zip([0.04, 0.03, 0.02, 0.001]) {
            assert!((found - expected).abs() < 1e-12, "{joules:?}");
        }
    }

    #[test]
    fn cards_have_the_currents_that_were_published() {
        for (card, milliamperes) in
            CARDS.iter().zip([[284.0, 190.0, 156.0, 10.0], [280.0, 204.0, 178.0, 14.0]])
        {
            let Powers { transmit, receive, idle, sleep } = card.powers;
            for (watts, current) in [transmit, receive, idle, sleep].into_iter().zip(milliamperes) {
                assert!((watts - 4.74e-3 * current).abs() < 1e-3, "{}: {watts}", card.name);
            }
        }
    }
}
