//! Interference between channels: which stations hear a transmission on another channel, and at what power.

use multihop_core::{Instant, NodeId};

use super::{Hearing, Link, Medium, Ranges, Zones};
use crate::decibels::from_db;
use crate::mobility::Track;
use crate::params::{Model, RadioParams, Sinr, Threshold};
use crate::propagation::path_loss::TwoRay;

/// Power that stations on one channel receive from transmissions on another channel.
#[derive(Clone, Debug)]
pub struct Leakage {
    medium: Medium,
    /// Factor by which the attenuation between the channels reduces the power of links.
    gain: f64,
}

impl Leakage {
    /// Interference from stations with radio `sender` at stations with radio `receiver`, with this
    /// attenuation.
    ///
    /// # Panics
    ///
    /// If the models of reception differ: their powers cannot be compared.
    pub fn new(
        sender: &RadioParams,
        receiver: &RadioParams,
        attenuation_db: f64,
        tracks: Vec<Track>,
        seed: u64,
    ) -> Self {
        match (&sender.model, &receiver.model) {
            (Model::Threshold(_), Model::Threshold(threshold)) => {
                let gain = from_db(-attenuation_db);
                let sense = sensed_up_to(threshold.sense_range, gain);
                // No frame is decoded, not even at the position of the transmitter.
                let zones = Zones::new(&Threshold { range: vec![-1.0], ..Threshold::default() });
                let hearing = Hearing::Threshold(Ranges { sense, zones });
                Self { medium: Medium::with(hearing, tracks), gain }
            }
            (Model::Sinr(sender), Model::Sinr(receiver)) => {
                let leaking = Sinr {
                    tx_power_dbm: sender.tx_power_dbm - attenuation_db,
                    noise_floor_dbm: receiver.noise_floor_dbm,
                    ..sender.clone()
                };
                let hearing = Hearing::new(&Model::Sinr(leaking), seed);
                Self { medium: Medium::with(hearing, tracks), gain: 1.0 }
            }
            _ => panic!("both have the same model of reception"),
        }
    }

    /// Medium on which the interference propagates.
    pub fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// Replaces `links` by the links from `node` to the stations that hear it, fading included, nearest first.
    pub fn links_of(&mut self, node: NodeId, now: Instant, links: &mut Vec<Link>) -> super::Origin {
        let origin = self.medium.links_of(node, now, links);
        for link in links {
            link.power_mw = self.gain * self.medium.power_mw(node, link, now);
        }
        origin
    }
}

/// Distance in metres at which a signal weakened by `gain` has the power of unweakened signals at `sense_range`
/// metres.
fn sensed_up_to(sense_range: f64, gain: f64) -> f64 {
    let law = TwoRay::NS2;
    let weakest = law.gain(sense_range);
    let (mut sensed, mut beyond) = (0.0, sense_range);
    if gain >= 1.0 {
        return sense_range;
    }
    for _ in 0..HALVINGS {
        let middle = (sensed + beyond) / 2.0;
        if gain * law.gain(middle) >= weakest { sensed = middle } else { beyond = middle }
    }
    sensed
}

/// Number of bisections that narrow an interval of up to 10,000 km down to less than a millimetre.
const HALVINGS: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Point;
    use crate::mobility::Movement;

    fn heard(radio: &RadioParams, attenuation_db: f64, metres: f64) -> Vec<Link> {
        let places = [0.0, metres].map(|x| Track::new(Movement::Still(Point { x, y: 0.0 })));
        let mut leakage = Leakage::new(radio, radio, attenuation_db, places.to_vec(), 1);
        let mut links = Vec::new();
        leakage.links_of(NodeId(0), Instant::ZERO, &mut links);
        links
    }

    #[test]
    fn without_attenuation_the_sense_range_holds_but_nothing_is_decoded() {
        let radio = RadioParams::default();
        assert_eq!(heard(&radio, 0.0, 551.0), []);
        let link = heard(&radio, 0.0, 200.0)[0];
        assert!((link.power_mw / TwoRay::NS2.gain(200.0) - 1.0).abs() < 1e-12);
        assert!(!link.is_within(super::super::Zone::CENTRE));
        assert!(!heard(&radio, 0.0, 0.0)[0].is_within(super::super::Zone::CENTRE));
    }

    #[test]
    fn attenuation_shortens_the_sense_range_by_the_two_ray_law() {
        let radio = RadioParams::default();
        // Beyond the crossover power falls with the fourth power of distance: 24 dB are a factor of 3.98.
        let reach = 550.0 / libm::pow(10.0, 24.0 / 40.0);
        assert_eq!(heard(&radio, 24.0, reach * 1.01).len(), 0);
        let link = heard(&radio, 24.0, reach * 0.99)[0];
        assert!((link.power_mw / TwoRay::NS2.gain(550.0) - 1.04).abs() < 0.01);
    }

    #[test]
    fn attenuation_lowers_the_power_of_the_sinr_model() {
        let radio = RadioParams { model: Model::Sinr(Sinr::default()), ..RadioParams::default() };
        let [whole, weaker] = [0.0, 20.0].map(|db| heard(&radio, db, 100.0)[0].power_mw);
        assert!((whole / weaker - 100.0).abs() < 1e-6, "{whole} {weaker}");
    }
}
