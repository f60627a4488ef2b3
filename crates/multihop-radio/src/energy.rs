//! The energy of a radio: powers of its states, real cards, batteries.

use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Settings, Value, Visitor};
use multihop_core::{Duration, NodeId};

/// Electrical powers and batteries.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Powers of the states.
    pub powers: Powers,
    /// What the nodes have.
    pub battery: Battery,
}

/// Electrical powers of a radio, W.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Powers {
    /// While transmitting.
    pub transmit: f64,
    /// While receiving.
    pub receive: f64,
    /// While doing neither.
    pub idle: f64,
    /// While asleep.
    pub sleep: f64,
}

/// Energy that nodes have at the start, J.
#[derive(Clone, Debug, PartialEq)]
pub enum Battery {
    /// No limit.
    Mains,
    /// The same for all.
    All(f64),
    /// One for each node.
    Each(Vec<f64>),
}

/// How long a radio was in each state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Times {
    /// Transmitting.
    pub transmit: Duration,
    /// Receiving.
    pub receive: Duration,
    /// Awake, and neither.
    pub idle: Duration,
    /// Asleep.
    pub sleep: Duration,
}

/// A card whose powers have been measured.
pub struct Card {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its powers.
    pub powers: Powers,
}

/// L. M. Feeney, M. Nilsson, INFOCOM 2001: Lucent `WaveLAN` cards at 4.74 V, 284, 190, 156 and 10 mA at 11 Mb/s, and 280,
/// 204, 178 and 14 mA at 2 Mb/s. D. Halperin and others, `HotPower` 2010: Intel 5300 with one antenna, transmitting at
/// 0 dBm.
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

    /// The power of the state that takes most, W.
    pub fn highest(&self) -> f64 {
        self.transmit.max(self.receive).max(self.idle).max(self.sleep)
    }
}

impl Battery {
    /// What a node has at the start, J; `None`: no limit.
    pub fn of(&self, node: NodeId) -> Option<f64> {
        match self {
            Self::Mains => None,
            Self::All(joules) => Some(*joules),
            Self::Each(joules) => joules.get(node.index()).copied(),
        }
    }
}

impl Times {
    /// The time of each state out of `whole`. Frames count as transmitted or received even if that overlaps another state;
    /// transmitting counts before receiving, receiving before sleep.
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

impl Settings for Energy {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let cards = CARDS.map(|card| (card.name, card.powers));
        let about = "A card whose measured powers take the place of the defaults.";
        if let Some(powers) = keys.about(about).choice("card", None, &cards) {
            self.powers = powers;
        }
        let powers = &mut self.powers;
        keys.about("Power while transmitting, W.").number("transmit", &mut powers.transmit, WATTS);
        keys.about("Power while receiving, W.").number("receive", &mut powers.receive, WATTS);
        keys.about("Power while doing neither, W.").number("idle", &mut powers.idle, WATTS);
        keys.about("Power while asleep, W.").number("sleep", &mut powers.sleep, WATTS);
        let each = Allowed::from(JOULES);
        let (one, list) = (Allowed::from(JOULES), Allowed::List(&each, None));
        let about = "Energy of each node at the start, J; or a list with one for each node. A node whose battery is \
                     empty stays silent. Default: no limit.";
        self.battery = match keys.about(about).value("battery", Allowed::Either(&one, &list), None) {
            None => Battery::Mains,
            Some(Value::List(each)) => Battery::Each(each.into_iter().map(Value::into_number).collect()),
            Some(all) => Battery::All(all.into_number()),
        };
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
