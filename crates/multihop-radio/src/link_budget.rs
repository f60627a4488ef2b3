//! Link budgets: power, signal-to-noise ratio and fastest rate of a link, without interference and fading.

use crate::decibels::mw_to_dbm;
use crate::params::{Model, RadioParams};
use crate::phy_profile::RateIndex;
use crate::propagation::{Propagation, Site};

/// Computes the budgets of the links of one network.
#[derive(Debug)]
pub struct LinkBudgets<'a> {
    radio: &'a RadioParams,
    /// Propagation between the stations; `None` under the threshold model, which has ranges instead of powers.
    propagation: Option<Propagation>,
    /// Weakest mean signal, for each rate, at which half of the frames of typical length are received, in
    /// dBm.
    weakest_dbm: Vec<f64>,
    /// The usable rates, the fastest first.
    fastest_first: Vec<RateIndex>,
}

/// Budget of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkBudget {
    /// Distance of the antennas' places, metres.
    pub distance: f64,
    /// Mean received power, dBm; `None` under the threshold model.
    pub power_dbm: Option<f64>,
    /// Ratio of the mean signal to noise, dB; `None` under the threshold model.
    pub snr_db: Option<f64>,
    /// Fastest rate at which at least half of the frames of typical length are received; `None` if there is
    /// no such rate.
    pub fastest: Option<RateIndex>,
    /// Whether frames are received at the rate at which the sender transmits data to the receiver in this
    /// scenario.
    pub carries_data: bool,
    /// Whether frames are received at the rate of broadcasts.
    pub carries_broadcasts: bool,
}

impl<'a> LinkBudgets<'a> {
    /// Prepares the budgets of a radio; `seed` is the seed of the run, which determines the shadowing.
    pub fn new(radio: &'a RadioParams, seed: u64) -> Self {
        let mut fastest_first: Vec<RateIndex> = radio.usable_rates().collect();
        fastest_first.sort_by_key(|&rate| std::cmp::Reverse(radio.phy.rate(rate).bit_rate));
        let (propagation, weakest_dbm) = match &radio.model {
            Model::Threshold(_) => (None, Vec::new()),
            Model::Sinr(sinr) => {
                let weakest = radio.phy.rate_indices().map(|rate| radio.weakest_dbm(rate, sinr));
                (Some(Propagation::new(sinr, seed)), weakest.collect())
            }
        };
        Self { radio, propagation, weakest_dbm, fastest_first }
    }

    /// Budget of the link from one station to another.
    pub fn of(&self, from: Site, to: Site) -> LinkBudget {
        let distance = from.place.distance(to.place);
        let power = self.propagation.as_ref().map(|law| mw_to_dbm(law.power_at_start_mw(from, to, distance)));
        let receives = |rate: RateIndex| match (&self.radio.model, power) {
            (Model::Threshold(threshold), _) => distance <= threshold.range[usize::from(rate.0)],
            (Model::Sinr(_), power) => power.is_some_and(|dbm| dbm >= self.weakest_dbm[usize::from(rate.0)]),
        };
        let noise = match &self.radio.model {
            Model::Sinr(sinr) => Some(sinr.noise_floor_dbm),
            Model::Threshold(_) => None,
        };
        let data = self.radio.link_rates.of(from.node, to.node).unwrap_or(self.radio.rate);
        LinkBudget {
            distance,
            power_dbm: power,
            snr_db: power.zip(noise).map(|(power, noise)| power - noise),
            fastest: self.fastest_first.iter().copied().find(|&rate| receives(rate)),
            carries_data: receives(data),
            carries_broadcasts: receives(self.radio.basic_rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use multihop_core::NodeId;

    use super::*;
    use crate::grid::Point;
    use crate::params::Sinr;
    use crate::phy_profile::DOT11B;

    fn sites(metres: f64) -> [Site; 2] {
        [(0, 0.0), (1, metres)].map(|(node, x)| Site { node: NodeId(node), place: Point { x, y: 0.0 } })
    }

    #[test]
    fn a_link_under_the_threshold_model_has_ranges_and_no_power() {
        let radio = RadioParams::new(&DOT11B);
        let budgets = LinkBudgets::new(&radio, 1);
        let [a, b] = sites(250.0);
        let budget = budgets.of(a, b);
        assert_eq!((budget.distance, budget.power_dbm, budget.carries_data), (250.0, None, true));
        assert_eq!(budget.fastest.map(|rate| DOT11B.rate(rate).name), Some("11M"));
        let [a, b] = sites(250.1);
        assert_eq!(budgets.of(a, b).fastest, None);
    }

    #[test]
    fn rates_of_a_link_end_at_their_ranges() {
        let any_rate = RadioParams { model: Model::Sinr(Sinr::default()), ..RadioParams::new(&DOT11B) };
        let budgets = LinkBudgets::new(&any_rate, 1);
        for rate in DOT11B.rate_indices() {
            let radio = RadioParams { rate, ..any_rate.clone() };
            let range = radio.decode_range();
            let is_fast_enough = |metres: f64| {
                let [a, b] = sites(metres);
                let fastest = budgets.of(a, b).fastest;
                fastest.is_some_and(|found| DOT11B.rate(found).bit_rate >= DOT11B.rate(rate).bit_rate)
            };
            assert!(is_fast_enough(range * 0.999) && !is_fast_enough(range * 1.001), "{range}");
        }
    }
}
