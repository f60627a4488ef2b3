//! Who hears whom, how loud and how late.

mod moving;
mod still;

use multihop_core::{BitRate, Duration, Instant, NodeId};

use self::moving::Moving;
use self::still::Still;
use crate::grid::Point;
use crate::mobility::Track;
use crate::params::{Model, PathLoss, RATES, RadioParams, Threshold};
use crate::propagation::{self, Propagation};

/// One direction of a pair of stations that can sense each other.
///
/// Small, for a frame in flight has one for each station that hears it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The station that hears.
    pub to: NodeId,
    /// Nanoseconds of flight times 16, and a bit for each of [`RATES`] that can be decoded at this
    /// distance (threshold model).
    delay_and_rates: u32,
    /// Received power without fading, mW.
    pub power_mw: f64,
}

const RATE_BITS: usize = 4;
const _: () = assert!(RATES.len() == RATE_BITS);

/// One of [`RATES`], as links know it: a bit.
#[derive(Clone, Copy, Debug)]
pub struct Rate(u32);

/// From where a frame is sent, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    place: Point,
    at: Instant,
}

/// The radio links of a network.
#[derive(Clone, Debug)]
pub struct Medium {
    hearing: Hearing,
    nodes: Nodes,
    /// Metres beyond which nothing is heard.
    reach: f64,
    /// No node moves faster, m/s.
    fastest: f64,
}

#[derive(Clone, Debug)]
enum Nodes {
    Still(Still),
    Moving(Moving),
}

/// What is heard at what distance.
#[derive(Clone, Debug)]
enum Hearing {
    Threshold { ranges: Threshold, farthest_decoded: f64 },
    Sinr { propagation: Propagation, weakest_mw: f64 },
}

impl From<BitRate> for Rate {
    fn from(rate: BitRate) -> Self {
        Self(RATES.iter().position(|&r| r == rate).map_or(0, |i| 1 << i))
    }
}

impl Origin {
    /// When the frame is sent.
    pub fn at(self) -> Instant {
        self.at
    }
}

impl Link {
    fn new(to: NodeId, distance: f64, power_mw: f64, rates: u32) -> Self {
        let longest = u64::from(u32::MAX >> RATE_BITS); // 268 ms, 80,000 km
        let nanos = propagation::delay(distance).as_nanos().min(longest);
        let nanos = u32::try_from(nanos).expect("at most the longest");
        Self { to, delay_and_rates: nanos << RATE_BITS | rates, power_mw }
    }

    /// Time of flight.
    #[inline]
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(u64::from(self.delay_and_rates >> RATE_BITS))
    }

    /// Whether a frame at `rate` can be decoded if nothing disturbs it.
    #[inline]
    pub fn decodes(&self, rate: Rate) -> bool {
        self.delay_and_rates & rate.0 != 0
    }

    /// Nearest first, ties to the lowest number.
    fn order(&self) -> u64 {
        u64::from(self.delay_and_rates >> RATE_BITS) << 32 | u64::from(self.to.0)
    }
}

impl Medium {
    /// The links of nodes on these tracks.
    pub fn new(radio: &RadioParams, mut tracks: Vec<Track>, seed: u64) -> Self {
        let hearing = Hearing::new(&radio.model, seed);
        let reach = hearing.reach();
        let fastest = tracks.iter().map(Track::speed_limit).fold(0.0, f64::max);
        let nodes = if fastest > 0.0 {
            Nodes::Moving(Moving::new(tracks, reach, fastest))
        } else {
            let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
            Nodes::Still(Still::new(&hearing, reach, places))
        };
        Self { hearing, nodes, reach, fastest }
    }

    /// Replaces `links` by those to the stations that hear `node` at `now`, nearest first.
    pub fn links_of(&mut self, node: NodeId, now: Instant, links: &mut Vec<Link>) -> Origin {
        links.clear();
        let place = match &mut self.nodes {
            Nodes::Still(still) => {
                links.extend_from_slice(still.links_of(node));
                still.place(node)
            }
            Nodes::Moving(moving) => moving.links_of(node, now, &self.hearing, links),
        };
        Origin { place, at: now }
    }

    /// Whether any station may hear two frames that were sent from there.
    pub fn may_share_hearers(&self, a: Origin, b: Origin) -> bool {
        let apart = a.at.max(b.at) - a.at.min(b.at);
        a.place.distance(b.place) <= 2.0 * self.reach + self.fastest * apart.as_secs_f64()
    }

    /// No frame takes longer to its farthest hearer.
    pub fn longest_delay(&self) -> Duration {
        propagation::delay(self.reach)
    }

    /// Power in mW of a frame sent at `at` from `from` over `link`, fading included.
    pub fn power_mw(&self, from: NodeId, link: &Link, at: Instant) -> f64 {
        match &self.hearing {
            Hearing::Sinr { propagation, .. } => link.power_mw * propagation.fade(from, link.to, at),
            Hearing::Threshold { .. } => link.power_mw,
        }
    }
}

impl Hearing {
    fn new(model: &Model, seed: u64) -> Self {
        match model {
            Model::Threshold(ranges) => Self::Threshold {
                ranges: ranges.clone(),
                farthest_decoded: ranges.range.into_iter().fold(0.0, f64::max),
            },
            Model::Sinr(sinr) => Self::Sinr {
                propagation: Propagation::new(sinr, seed),
                // A signal 10 dB below the noise raises it by 0.4 dB; weaker ones are left out.
                // DEVIATION sinr-2: what is left out is no interference either.
                weakest_mw: propagation::dbm_to_mw(sinr.noise_floor_dbm - 10.0),
            },
        }
    }

    /// Metres beyond which nothing is heard.
    fn reach(&self) -> f64 {
        match self {
            Self::Threshold { ranges, .. } => ranges.sense_range,
            Self::Sinr { propagation, weakest_mw } => propagation.reach(*weakest_mw),
        }
    }

    /// The link from `from` to `to`, if `to` hears anything.
    #[inline]
    fn link(&self, from: NodeId, to: NodeId, distance: f64) -> Option<Link> {
        let (power_mw, rates) = match self {
            // Only ratios of powers matter.
            // DEVIATION threshold-1: 250 and 550 m; ns-2's powers come to 250.01 and 550.02 m.
            Self::Threshold { ranges, farthest_decoded } => {
                if distance > ranges.sense_range {
                    return None;
                }
                let rates = if distance <= *farthest_decoded { rates(ranges, distance) } else { 0 };
                (PathLoss::NS2.gain(distance), rates)
            }
            Self::Sinr { propagation, weakest_mw } => {
                let power_mw = propagation.mean_power_mw(from, to, distance);
                if power_mw < *weakest_mw {
                    return None;
                }
                (power_mw, (1 << RATE_BITS) - 1)
            }
        };
        Some(Link::new(to, distance, power_mw, rates))
    }
}

fn rates(threshold: &Threshold, distance: f64) -> u32 {
    threshold.range.iter().rev().fold(0, |bits, &range| bits << 1 | u32::from(distance <= range))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::Movement;

    fn still(places: &[Point]) -> Vec<Track> {
        places.iter().map(|&place| Track::new(Movement::Still(place))).collect()
    }

    fn links(medium: &mut Medium, node: u32, now: Instant) -> Vec<Link> {
        let mut links = Vec::new();
        medium.links_of(NodeId(node), now, &mut links);
        links
    }

    #[test]
    fn a_chain_is_heard_two_hops_far_nearest_first() {
        let positions: Vec<_> = (0..6).map(|n| Point { x: 200.0 * f64::from(n), y: 0.0 }).collect();
        let mut medium = Medium::new(&RadioParams::default(), still(&positions), 1);
        let links = links(&mut medium, 2, Instant::ZERO);
        assert_eq!(links.iter().map(|link| link.to.0).collect::<Vec<_>>(), [1, 3, 0, 4]);
        assert_eq!(links[0].delay(), Duration::from_nanos(667));
        assert!(links[0].decodes(RATES[3].into()));
        assert!(!links[3].decodes(RATES[0].into()));
    }

    #[test]
    fn frames_from_within_twice_the_reach_may_meet_at_a_station() {
        let row: Vec<_> = [0.0, 1100.0, 1100.1].map(|x| Point { x, y: 0.0 }).to_vec();
        let mut medium = Medium::new(&RadioParams::default(), still(&row), 1);
        let [a, b, c] = [0, 1, 2].map(|n| medium.links_of(NodeId(n), Instant::ZERO, &mut Vec::new()));
        assert!(medium.may_share_hearers(a, b));
        assert!(!medium.may_share_hearers(a, c));
    }

    #[test]
    fn slow_frames_may_carry_farther() {
        let range = [300.0, 250.0, 200.0, 150.0];
        let model = Model::Threshold(Threshold { range, ..Threshold::default() });
        let radio = RadioParams { model, ..RadioParams::default() };
        let mut medium = Medium::new(&radio, still(&[Point::default(), Point { x: 260.0, y: 0.0 }]), 1);
        let links = links(&mut medium, 0, Instant::ZERO);
        assert!(links[0].decodes(RATES[0].into()));
        assert!(!links[0].decodes(RATES[1].into()));
    }
}
