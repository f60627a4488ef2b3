//! Who hears whom, how loud and how late.

use multihop_core::{BitRate, Duration, Instant, NodeId};

use crate::grid::{Grid, Point};
use crate::params::{Model, PathLoss, RATES, RadioParams, Sinr, Threshold};
use crate::propagation::{self, Propagation};

/// One direction of a pair of stations that can sense each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The station that hears.
    pub to: NodeId,
    /// Time of flight.
    pub delay: Flight,
    /// Received power without fading, mW.
    pub power_mw: f64,
    /// The rates that can be decoded at this distance (threshold model), a bit for each of
    /// [`RATES`].
    decodable: u8,
}

/// A time of flight in nanoseconds: below 4 s, to keep links small.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Flight(u32);

/// The links of a network that stands still: for each station the stations that hear it, nearest
/// first.
#[derive(Clone, Debug)]
pub struct Medium {
    links: Vec<Link>,
    /// Where each station's links begin; one more than there are stations.
    first: Vec<u32>,
    /// Under the sinr model.
    propagation: Option<Propagation>,
}

impl From<Flight> for Duration {
    fn from(flight: Flight) -> Self {
        Self::from_nanos(u64::from(flight.0))
    }
}

impl Link {
    /// Whether a frame at `rate` can be decoded if nothing disturbs it.
    pub fn decodes(&self, rate: BitRate) -> bool {
        self.decodable & rate_bit(rate) != 0
    }
}

impl Medium {
    /// Works out all links.
    pub fn new(radio: &RadioParams, positions: &[Point], seed: u64) -> Self {
        match &radio.model {
            Model::Threshold(threshold) => {
                Self::build(positions, threshold.sense_range, None, |_, _, distance| {
                    within(threshold, distance)
                })
            }
            Model::Sinr(sinr) => {
                let propagation = Propagation::new(sinr, seed);
                let weakest = weakest_mw(sinr);
                let reach = propagation.reach(weakest);
                Self::build(positions, reach, Some(propagation.clone()), |from, to, distance| {
                    let power_mw = propagation.mean_power_mw(from, to, distance);
                    (power_mw >= weakest).then_some((power_mw, u8::MAX))
                })
            }
        }
    }

    /// `hears` gives power and decodable rates at a distance, or nothing if nothing is heard there.
    fn build(
        positions: &[Point],
        reach: f64,
        propagation: Option<Propagation>,
        hears: impl Fn(NodeId, NodeId, f64) -> Option<(f64, u8)>,
    ) -> Self {
        let grid = Grid::new(reach, positions);
        let mut links = Vec::new();
        let mut first = Vec::with_capacity(positions.len() + 1);
        let mut near = Vec::new();
        for (index, &place) in positions.iter().enumerate() {
            let from = NodeId(number(index));
            first.push(number(links.len()));
            grid.within(place, reach, &mut near);
            let begin = links.len();
            for &to in near.iter().filter(|&&to| to != from) {
                let distance = place.distance(positions[to.index()]);
                if let Some((power_mw, decodable)) = hears(from, to, distance) {
                    let nanos = propagation::delay(distance).as_nanos();
                    let delay = Flight(u32::try_from(nanos).unwrap_or(u32::MAX));
                    links.push(Link { to, delay, power_mw, decodable });
                }
            }
            links[begin..].sort_by_key(|link| (link.delay, link.to));
        }
        first.push(number(links.len()));
        Self { links, first, propagation }
    }

    /// Replaces `links` by those to the stations that hear `node`, nearest first.
    pub fn links_of(&self, node: NodeId, links: &mut Vec<Link>) {
        links.clear();
        let range = self.first[node.index()] as usize..self.first[node.index() + 1] as usize;
        links.extend_from_slice(&self.links[range]);
    }

    /// Power in mW of a frame sent at `at` from `from` over `link`, fading included.
    pub fn power_mw(&self, from: NodeId, link: &Link, at: Instant) -> f64 {
        match &self.propagation {
            Some(propagation) => link.power_mw * propagation.fade(from, link.to, at),
            None => link.power_mw,
        }
    }
}

/// Power and decodable rates under ns-2's rules; only ratios of powers matter.
fn within(threshold: &Threshold, distance: f64) -> Option<(f64, u8)> {
    // DEVIATION threshold-1: 250 and 550 m; ns-2's powers come to 250.01 and 550.02 m.
    let decodable =
        (0..RATES.len()).filter(|&i| distance <= threshold.range[i]).fold(0, |bits, i| bits | 1 << i);
    (distance <= threshold.sense_range).then(|| (PathLoss::NS2.gain(distance), decodable))
}

/// A signal 10 dB below the noise raises it by 0.4 dB; weaker ones are left out.
fn weakest_mw(sinr: &Sinr) -> f64 {
    // DEVIATION sinr-2: what is left out is no interference either.
    propagation::dbm_to_mw(sinr.noise_floor_dbm - 10.0)
}

fn rate_bit(rate: BitRate) -> u8 {
    RATES.iter().position(|&r| r == rate).map_or(0, |i| 1 << i)
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("fewer than 2^32 nodes and links")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Threshold;

    #[test]
    fn a_chain_is_heard_two_hops_far_nearest_first() {
        let positions: Vec<_> = (0..6).map(|n| Point { x: 200.0 * f64::from(n), y: 0.0 }).collect();
        let medium = Medium::new(&RadioParams::default(), &positions, 1);
        let mut links = Vec::new();
        medium.links_of(NodeId(2), &mut links);
        assert_eq!(links.iter().map(|link| link.to.0).collect::<Vec<_>>(), [1, 3, 0, 4]);
        assert_eq!(Duration::from(links[0].delay), Duration::from_nanos(667));
        assert!(links[0].decodes(RATES[3]));
        assert!(!links[3].decodes(RATES[0]));
    }

    #[test]
    fn slow_frames_may_carry_farther() {
        let range = [300.0, 250.0, 200.0, 150.0];
        let model = Model::Threshold(Threshold { range, ..Threshold::default() });
        let radio = RadioParams { model, ..RadioParams::default() };
        let medium = Medium::new(&radio, &[Point::default(), Point { x: 260.0, y: 0.0 }], 1);
        let mut links = Vec::new();
        medium.links_of(NodeId(0), &mut links);
        assert!(links[0].decodes(RATES[0]));
        assert!(!links[0].decodes(RATES[1]));
    }
}
