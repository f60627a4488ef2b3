//! The links of a network: which stations receive a frame, at what power and after what delay.

mod leakage;
mod moving;
mod still;

use std::collections::BTreeSet;

use multihop_core::{Duration, Instant, NodeId};

pub use self::leakage::Leakage;
use self::moving::Moving;
use self::still::Still;
use crate::decibels::dbm_to_mw;
use crate::grid::Point;
use crate::mobility::Track;
use crate::params::{Model, RadioParams, Threshold};
use crate::phy_profile::{MAX_RATES, RateIndex};
use crate::propagation::path_loss::TwoRay;
use crate::propagation::{self, Propagation, Site};

/// One direction of a link between two stations that can sense each other.
///
/// The struct is small, because a frame in flight has a link for each station in range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Station that receives the signal.
    pub to: NodeId,
    /// Propagation delay in ns times 64, plus the [`Zone`] of the receiver.
    delay_and_zone: u32,
    /// Received power without fading, mW.
    pub power_mw: f64,
}

const ZONE_BITS: usize = 6;
const _: () = assert!(MAX_RATES < 1 << ZONE_BITS, "a zone for each rate, and one beyond all");

/// A ring around a transmitter within which the same rates are decoded (threshold model), numbered from 0 at
/// the centre. A rate is decoded in all zones up to the zone in which its range ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Zone(u32);

impl Zone {
    /// Zone at the transmitter's own position. A rate whose range ends here is decoded nowhere else.
    pub const CENTRE: Self = Self(0);
}

/// Position and instant at which a frame is transmitted.
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
    /// Distance beyond which nothing is sensed, metres.
    reach: f64,
    /// Upper bound of the nodes' speed, m/s.
    fastest: f64,
    /// Pairs of nodes between which a wall blocks all signals, the lower number first.
    cuts: BTreeSet<(NodeId, NodeId)>,
}

#[derive(Clone, Debug)]
enum Nodes {
    Still(Still),
    Moving(Moving),
}

/// Reception as a function of distance.
#[derive(Clone, Debug)]
enum Hearing {
    Threshold(Ranges),
    Sinr { propagation: Propagation, weakest_mw: f64 },
}

/// Reception by fixed ranges: one distance for carrier sense, and one per rate for decoding.
#[derive(Clone, Debug)]
struct Ranges {
    /// Distance beyond which nothing is sensed, in metres.
    sense: f64,
    zones: Zones,
}

/// Zones between the decoding ranges of all rates.
#[derive(Clone, Debug)]
struct Zones {
    /// Outer radius of each zone, metres, ascending.
    ends: Vec<f64>,
    /// The zone where the range of each rate ends.
    of_rates: Vec<Zone>,
}

impl Origin {
    /// Instant at which the transmission starts.
    pub fn at(self) -> Instant {
        self.at
    }
}

impl Link {
    fn new(to: NodeId, distance: f64, power_mw: f64, zone: Zone) -> Self {
        let longest = u64::from(u32::MAX >> ZONE_BITS); // 67 ms, 20,000 km
        let nanos = propagation::delay(distance).as_nanos().min(longest);
        let nanos = u32::try_from(nanos).expect("at most the longest");
        Self { to, delay_and_zone: nanos << ZONE_BITS | zone.0, power_mw }
    }

    /// Propagation delay of a signal over this link.
    #[inline]
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(u64::from(self.delay_and_zone >> ZONE_BITS))
    }

    /// Whether the receiver of this link can decode a frame without interference, if its rate is decoded up
    /// to zone `farthest`.
    #[inline]
    pub fn is_within(&self, farthest: Zone) -> bool {
        self.delay_and_zone & ((1 << ZONE_BITS) - 1) <= farthest.0
    }

    /// Sort key: nearest first, then lowest number.
    fn order(&self) -> u64 {
        u64::from(self.delay_and_zone >> ZONE_BITS) << 32 | u64::from(self.to.0)
    }
}

impl Medium {
    /// Creates the medium for nodes on these tracks.
    pub fn new(radio: &RadioParams, tracks: Vec<Track>, seed: u64) -> Self {
        Self::with(Hearing::new(&radio.model, seed), tracks)
    }

    fn with(hearing: Hearing, mut tracks: Vec<Track>) -> Self {
        let reach = hearing.reach();
        let fastest = tracks.iter().map(Track::speed_limit).fold(0.0, f64::max);
        let nodes = if fastest > 0.0 {
            Nodes::Moving(Moving::new(tracks, (reach, hearing.is_reach_exact()), fastest))
        } else {
            let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
            Nodes::Still(Still::new(&hearing, reach, places))
        };
        Self { hearing, nodes, reach, fastest, cuts: BTreeSet::new() }
    }

    /// Replaces `links` by the links from `node` to the stations that hear it at `now`, nearest first.
    #[inline]
    pub fn links_of(&mut self, node: NodeId, now: Instant, links: &mut Vec<Link>) -> Origin {
        links.clear();
        let place = match &mut self.nodes {
            Nodes::Still(still) => {
                still.links_of(node, links);
                still.place(node)
            }
            Nodes::Moving(moving) => moving_links(moving, &self.hearing, node, now, links),
        };
        if !self.cuts.is_empty() {
            links.retain(|link| !self.cuts.contains(&pair(node, link.to)));
        }
        Origin { place, at: now }
    }

    /// Removes a sleeping node from the medium: it hears no other node, and no other node hears it.
    pub fn hide(&mut self, node: NodeId) {
        match &mut self.nodes {
            Nodes::Still(still) => still.hide(node),
            Nodes::Moving(moving) => moving.hide(node),
        }
    }

    /// Returns a node whose radio was asleep to the medium, from `now` on.
    pub fn show(&mut self, node: NodeId, now: Instant) {
        match &mut self.nodes {
            Nodes::Still(still) => still.show(node),
            Nodes::Moving(moving) => moving.show(node, now),
        }
    }

    /// Cuts or mends the link between two nodes. Over a cut link neither of them hears the other, nor senses its carrier.
    pub fn set_cut(&mut self, a: NodeId, b: NodeId, is_cut: bool) {
        if is_cut {
            self.cuts.insert(pair(a, b));
        } else {
            self.cuts.remove(&pair(a, b));
        }
    }

    /// Puts a node at a position, where it stays from `now` on. Frames in flight keep their receivers. Any
    /// distance is allowed, so that [`may_share_hearers`](Self::may_share_hearers) is no longer an upper
    /// bound.
    pub fn put(&mut self, node: NodeId, place: Point, now: Instant) {
        match &mut self.nodes {
            Nodes::Still(still) => still.put(&self.hearing, self.reach, node, place),
            Nodes::Moving(moving) => moving.put(node, place, now),
        }
    }

    /// Outermost zone in which a frame at `rate` is decoded.
    #[inline]
    pub fn farthest(&self, rate: RateIndex) -> Zone {
        match &self.hearing {
            Hearing::Threshold(ranges) => ranges.zones.of_rates[usize::from(rate.0)],
            Hearing::Sinr { .. } => Zone(0),
        }
    }

    /// Whether some station may be in the sensing range of both transmissions.
    pub fn may_share_hearers(&self, a: Origin, b: Origin) -> bool {
        let apart = a.at.max(b.at) - a.at.min(b.at);
        a.place.distance(b.place) <= 2.0 * self.reach + self.fastest * apart.as_secs_f64()
    }

    /// An upper bound of the propagation delay.
    pub fn longest_delay(&self) -> Duration {
        propagation::delay(self.reach)
    }

    /// Whether fading changes the power of links.
    pub fn fades(&self) -> bool {
        matches!(&self.hearing, Hearing::Sinr { propagation, .. } if propagation.fades())
    }

    /// Received power in mW over `link` at `at`, fading included.
    pub fn power_mw(&self, from: NodeId, link: &Link, at: Instant) -> f64 {
        match &self.hearing {
            Hearing::Sinr { propagation, .. } => link.power_mw * propagation.fade(from, link.to, at),
            Hearing::Threshold(_) => link.power_mw,
        }
    }
}

/// The key of a pair of nodes, independent of their order.
fn pair(a: NodeId, b: NodeId) -> (NodeId, NodeId) {
    (a.min(b), a.max(b))
}

/// Adds the links from a moving node to `links`; returns its place.
// Inlined, this function would prevent the inlining of the copy of a stationary node's links.
#[inline(never)]
fn moving_links(
    nodes: &mut Moving,
    hearing: &Hearing,
    node: NodeId,
    now: Instant,
    links: &mut Vec<Link>,
) -> Point {
    // The loops for power by distance alone have no branches for shadowing, antennas and obstacles.
    match (hearing, hearing.by_distance()) {
        (Hearing::Threshold(ranges), _) => nodes.links_of(node, now, links, |from, to| ranges.link(from, to)),
        (_, Some(link)) => nodes.links_of(node, now, links, link),
        (_, None) => nodes.links_of(node, now, links, |from, to| hearing.link(from, to)),
    }
}

impl Hearing {
    fn new(model: &Model, seed: u64) -> Self {
        match model {
            Model::Threshold(threshold) => {
                Self::Threshold(Ranges { sense: threshold.sense_range, zones: Zones::new(threshold) })
            }
            Model::Sinr(sinr) => Self::Sinr {
                propagation: Propagation::new(sinr, seed),
                // A signal 10 dB below the noise raises it by 0.4 dB; weaker ones are ignored.
                // DEVIATION sinr-2: Signals with a mean power more than 10 dB below the noise add no interference.
                // Each would raise the noise by less than 0.4 dB.
                weakest_mw: dbm_to_mw(sinr.noise_floor_dbm - 10.0),
            },
        }
    }

    /// Distance beyond which nothing is sensed, metres.
    fn reach(&self) -> f64 {
        match self {
            Self::Threshold(ranges) => ranges.sense,
            Self::Sinr { propagation, weakest_mw } => propagation.reach(*weakest_mw),
        }
    }

    /// Whether no station beyond the reach hears a transmission. Shadowing makes one link in a thousand longer than the reach.
    fn is_reach_exact(&self) -> bool {
        match self {
            Self::Threshold(_) => true,
            Self::Sinr { propagation, .. } => !propagation.is_shadowed(),
        }
    }

    /// Returns a faster equivalent of `link` if received power depends on distance alone, by the two-ray law.
    #[inline]
    fn by_distance(&self) -> Option<impl Fn(Site, Site) -> Option<Link>> {
        let Self::Sinr { propagation, weakest_mw } = self else { return None };
        let power_mw = propagation.two_ray_alone()?;
        Some(move |from: Site, to: Site| {
            let distance = from.place.distance(to.place);
            let power_mw = power_mw(distance);
            (power_mw >= *weakest_mw).then(|| Link::new(to.node, distance, power_mw, Zone(0)))
        })
    }

    /// The link from `from` to `to`; `None` if `to` is out of range.
    #[inline]
    fn link(&self, from: Site, to: Site) -> Option<Link> {
        match self {
            Self::Threshold(ranges) => ranges.link(from, to),
            Self::Sinr { propagation, weakest_mw } => {
                let distance = from.place.distance(to.place);
                let power_mw = propagation.mean_power_mw(from, to, distance);
                (power_mw >= *weakest_mw).then(|| Link::new(to.node, distance, power_mw, Zone(0)))
            }
        }
    }
}

impl Ranges {
    /// The link from `from` to `to`; `None` if `to` is out of range. The unit of its power is arbitrary,
    /// because only ratios matter.
    // DEVIATION threshold-1: Distances are compared with ranges of 250 and 550 m, inclusive. ns-2 compares powers,
    // which gives 250.01 and 550.02 m.
    #[inline]
    fn link(&self, from: Site, to: Site) -> Option<Link> {
        let distance = from.place.distance(to.place);
        let link = || Link::new(to.node, distance, TwoRay::NS2.gain(distance), self.zones.at(distance));
        (distance <= self.sense).then(link)
    }
}

impl Zones {
    fn new(threshold: &Threshold) -> Self {
        let mut ends = threshold.range.clone();
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let mut zones = Self { ends, of_rates: Vec::new() };
        zones.of_rates = threshold.range.iter().map(|&range| zones.at(range)).collect();
        zones
    }

    #[inline]
    fn at(&self, distance: f64) -> Zone {
        let mut zone = 0;
        for &end in &self.ends {
            if distance <= end {
                break;
            }
            zone += 1;
        }
        Zone(zone)
    }
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
    fn links_of_a_chain_reach_two_hops_nearest_first() {
        let positions: Vec<_> = (0..6).map(|n| Point { x: 200.0 * f64::from(n), y: 0.0 }).collect();
        let mut medium = Medium::new(&RadioParams::default(), still(&positions), 1);
        let links = links(&mut medium, 2, Instant::ZERO);
        assert_eq!(links.iter().map(|link| link.to.0).collect::<Vec<_>>(), [1, 3, 0, 4]);
        assert_eq!(links[0].delay(), Duration::from_nanos(667));
        assert!(links[0].is_within(medium.farthest(RateIndex(3))));
        assert!(!links[3].is_within(medium.farthest(RateIndex(0))));
    }

    #[test]
    fn who_sleeps_is_not_heard_and_does_not_hear() {
        let row: Vec<_> = [0.0, 100.0, 200.0].map(|x| Point { x, y: 0.0 }).to_vec();
        let path = [(0, 200.0), (1000, 300.0)].map(|(seconds, x)| crate::mobility::Waypoint {
            at: Instant::ZERO + Duration::from_secs(seconds),
            place: Point { x, y: 0.0 },
        });
        let path = crate::mobility::Path::new(&path).unwrap();
        let moving = [still(&row[..2]), vec![Track::new(Movement::along(path))]].concat();
        for tracks in [still(&row), moving] {
            let mut medium = Medium::new(&RadioParams::default(), tracks, 1);
            let heard = |medium: &mut Medium, node, seconds| {
                let now = Instant::ZERO + Duration::from_secs(seconds);
                links(medium, node, now).iter().map(|link| link.to.0).collect::<Vec<_>>()
            };
            assert_eq!(heard(&mut medium, 0, 1), [1, 2]);
            medium.hide(NodeId(1));
            assert_eq!(heard(&mut medium, 0, 2), [2]);
            assert_eq!(heard(&mut medium, 1, 2), [] as [u32; 0]);
            // The time is long enough that the positions of all nodes have been updated.
            assert_eq!(heard(&mut medium, 2, 900), [0]);
            medium.show(NodeId(1), Instant::ZERO + Duration::from_secs(901));
            assert_eq!(heard(&mut medium, 2, 902), [1, 0]);
            assert_eq!(heard(&mut medium, 1, 903).len(), 2);
        }
    }

    /// A network of four stationary nodes in a row, and an equal one with a slowly moving node.
    fn rows() -> [Medium; 2] {
        let row: Vec<_> = [0.0, 200.0, 400.0, 900.0].map(|x| Point { x, y: 0.0 }).to_vec();
        let path = [(0, 900.0), (1000, 901.0)].map(|(seconds, x)| crate::mobility::Waypoint {
            at: Instant::ZERO + Duration::from_secs(seconds),
            place: Point { x, y: 0.0 },
        });
        let path = crate::mobility::Path::new(&path).unwrap();
        let moving = [still(&row[..3]), vec![Track::new(Movement::along(path))]].concat();
        [still(&row), moving].map(|tracks| Medium::new(&RadioParams::default(), tracks, 1))
    }

    fn heard(medium: &mut Medium, node: u32, seconds: u64) -> Vec<u32> {
        let now = Instant::ZERO + Duration::from_secs(seconds);
        links(medium, node, now).iter().map(|link| link.to.0).collect()
    }

    #[test]
    fn nothing_crosses_a_cut_link_in_either_direction_until_it_is_mended() {
        for mut medium in rows() {
            medium.set_cut(NodeId(1), NodeId(0), true);
            assert_eq!(heard(&mut medium, 0, 1), [2]);
            assert_eq!(heard(&mut medium, 1, 1), [2]);
            assert_eq!(heard(&mut medium, 2, 1), [1, 0, 3]);
            medium.set_cut(NodeId(0), NodeId(1), false);
            assert_eq!(heard(&mut medium, 0, 2), [1, 2]);
        }
    }

    #[test]
    fn a_node_that_was_put_elsewhere_is_heard_there_and_sleeps_on() {
        for mut medium in rows() {
            assert_eq!(heard(&mut medium, 3, 1), [2]);
            medium.hide(NodeId(3));
            medium.put(NodeId(3), Point { x: -100.0, y: 0.0 }, Instant::ZERO + Duration::from_secs(2));
            assert_eq!(heard(&mut medium, 0, 3), [1, 2]);
            medium.show(NodeId(3), Instant::ZERO + Duration::from_secs(4));
            assert_eq!(heard(&mut medium, 3, 5), [0, 1, 2]);
            medium.put(NodeId(0), Point { x: 1e6, y: 0.0 }, Instant::ZERO + Duration::from_secs(6));
            assert_eq!(heard(&mut medium, 0, 7), [] as [u32; 0]);
            assert_eq!(heard(&mut medium, 3, 900), [1, 2]);
        }
    }

    #[test]
    fn transmitters_within_twice_the_reach_may_share_a_hearer() {
        let row: Vec<_> = [0.0, 1100.0, 1100.1].map(|x| Point { x, y: 0.0 }).to_vec();
        let mut medium = Medium::new(&RadioParams::default(), still(&row), 1);
        let [a, b, c] = [0, 1, 2].map(|n| medium.links_of(NodeId(n), Instant::ZERO, &mut Vec::new()));
        assert!(medium.may_share_hearers(a, b));
        assert!(!medium.may_share_hearers(a, c));
    }

    #[test]
    fn lower_rates_may_have_longer_ranges() {
        let range = vec![300.0, 250.0, 200.0, 150.0];
        let model = Model::Threshold(Threshold { range, ..Threshold::default() });
        let radio = RadioParams { model, ..RadioParams::default() };
        let mut medium = Medium::new(&radio, still(&[Point::default(), Point { x: 260.0, y: 0.0 }]), 1);
        let links = links(&mut medium, 0, Instant::ZERO);
        assert!(links[0].is_within(medium.farthest(RateIndex(0))));
        assert!(!links[0].is_within(medium.farthest(RateIndex(1))));
    }
}
