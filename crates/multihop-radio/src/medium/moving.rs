//! Links between moving nodes: positions are exact for each frame, and only nodes that may be near are examined.

use std::collections::BTreeMap;
use std::mem;

use multihop_core::{Duration, Instant, MANY_NODES, NodeId, prefetch_at};

use super::Link;
use crate::grid::{Grid, Point};
use crate::mobility::{Movement, Track};
use crate::propagation::Site;

/// During an *epoch* no node can move farther than half of `slack`. A node that hears another one during the epoch
/// was therefore within reach + slack of it when the epoch began.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    tracks: Vec<Track>,
    reach: f64,
    /// Whether no link is longer than the reach.
    is_reach_exact: bool,
    slack: f64,
    /// Positions of all nodes at the beginning of the epoch.
    grid: Grid,
    /// Positions of all nodes in order, valid only at the start of an epoch. Stored to reuse the memory.
    places: Vec<Point>,
    epoch: Duration,
    epoch_ends: Instant,
    /// For each node, the candidates that may hear it in this epoch.
    near: Vec<Candidates>,
    /// Tracks of nodes whose radio is asleep; meanwhile their position is far away.
    asleep: BTreeMap<NodeId, Track>,
}

/// Candidates that may hear a node in an epoch.
#[derive(Clone, Debug, Default)]
struct Candidates {
    /// The nodes that heard the last frame of the node, in its order, then the others, and at the end the node itself; empty
    /// before the first frame of the epoch.
    nodes: Vec<NodeId>,
    /// Number of candidates that may hear the node before `far_until`. They are the first of `nodes`.
    close: usize,
    /// Instant before which no candidate behind the first `close` can come into reach.
    far_until: Instant,
}

/// Number of nodes by which prefetching of tracks runs ahead. Prefetching all at once would exceed what a processor
/// fetches in parallel.
const AHEAD: usize = 8;

/// Slack of the lists of candidates, as a share of the reach. A larger value makes epochs longer, and also
/// the lists of candidates.
const SLACK: f64 = 0.1;

impl Moving {
    /// Nodes on these tracks, with speeds of at most `fastest`, m/s. `is_reach_exact` is whether no link is longer than
    /// `reach`, metres.
    pub(super) fn new(mut tracks: Vec<Track>, (reach, is_reach_exact): (f64, bool), fastest: f64) -> Self {
        let slack = SLACK * reach;
        let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
        let epoch = Duration::from_secs_f64(slack / (2.0 * fastest));
        Self {
            near: vec![Candidates::default(); tracks.len()],
            // Cells of half the radius yield fewer candidates outside the circle.
            grid: Grid::new((reach + slack) / 2.0, &places),
            places,
            tracks,
            reach,
            is_reach_exact,
            slack,
            epoch,
            epoch_ends: Instant::ZERO + epoch,
            asleep: BTreeMap::new(),
        }
    }

    pub(super) fn hide(&mut self, node: NodeId) {
        let track = mem::replace(&mut self.tracks[node.index()], Track::new(Movement::Still(FAR_AWAY)));
        self.asleep.entry(node).or_insert(track);
    }

    pub(super) fn show(&mut self, node: NodeId, now: Instant) {
        if let Some(track) = self.asleep.remove(&node) {
            self.tracks[node.index()] = track;
            self.begin_epoch(now);
        }
    }

    /// Puts a node at a position, where it stays.
    pub(super) fn put(&mut self, node: NodeId, place: Point, now: Instant) {
        let track = Track::new(Movement::Still(place));
        if let Some(asleep) = self.asleep.get_mut(&node) {
            *asleep = track;
        } else {
            self.tracks[node.index()] = track;
            self.begin_epoch(now);
        }
    }

    /// Fills the empty list `links` with the links from `from`, and returns the position of `from`. `link_between`
    /// computes the link to a node, or `None` if it is out of range.
    #[inline]
    pub(super) fn links_of(
        &mut self,
        from: NodeId,
        now: Instant,
        links: &mut Vec<Link>,
        link_between: impl Fn(Site, Site) -> Option<Link>,
    ) -> Point {
        if now >= self.epoch_ends {
            self.begin_epoch(now);
        }
        let Candidates { nodes, close, far_until } = &mut self.near[from.index()];
        let is_first = nodes.is_empty();
        if is_first {
            // The node itself is put at the end, so that a list that was computed is never empty.
            self.grid.near(self.grid.place(from), self.reach + self.slack, nodes);
            let itself = nodes.iter().position(|&node| node == from).expect("it is 0 m away");
            let last = nodes.len() - 1;
            nodes.swap(itself, last);
        }
        let (_, others) = nodes.split_last_mut().expect("at least the node itself");
        let examines_all = is_first || now >= *far_until;
        let others = if examines_all { others } else { &mut others[..*close] };
        let is_large = self.tracks.len() >= MANY_NODES;
        if is_large {
            others.iter().take(AHEAD).for_each(|to| prefetch_at(&self.tracks, to.index()));
        }
        let place = self.tracks[from.index()].at(now);
        let mut in_order = true;
        let mut last = 0;
        let mut nearest_beyond = f64::INFINITY;
        for index in 0..others.len() {
            let to = others[index];
            if is_large && let Some(later) = others.get(index + AHEAD) {
                prefetch_at(&self.tracks, later.index());
            }
            let hears = Site { node: to, place: self.tracks[to.index()].at(now) };
            let Some(link) = link_between(Site { node: from, place }, hears) else {
                nearest_beyond = nearest_beyond.min(place.distance_squared(hears.place));
                continue;
            };
            let order = link.order();
            others.swap(links.len(), index);
            links.push(link);
            // Nodes move little between two frames, so the link nearly always belongs at the end. The first
            // list of an epoch is unsorted.
            if order >= last {
                last = order;
            } else {
                in_order = false;
                if !is_first {
                    put_last_in_order(links);
                }
            }
        }
        if !in_order {
            if is_first {
                links.sort_unstable_by_key(Link::order);
            }
            for (slot, link) in others.iter_mut().zip(links.iter()) {
                *slot = link.to;
            }
        }
        if examines_all && !self.is_reach_exact {
            // A link that is longer than the reach may begin at any distance.
            *far_until = now;
        } else if examines_all {
            // Each of two nodes moves no farther than half of the slack in an epoch, and rounding adds micrometres.
            let epochs = (nearest_beyond.sqrt() - self.reach - MARGIN) / self.slack;
            let seconds = self.epoch.as_secs_f64() * epochs.clamp(0.0, 1.0);
            *far_until = now + Duration::from_secs_f64(seconds);
            *close = links.len();
        }
        place
    }

    fn begin_epoch(&mut self, now: Instant) {
        self.places.clear();
        self.places.extend(self.tracks.iter_mut().map(|track| track.at(now)));
        self.grid.move_all(&self.places);
        self.near.iter_mut().for_each(|near| near.nodes.clear());
        self.epoch_ends = now + self.epoch;
    }
}

/// Distance in metres that exceeds all errors of rounded positions.
const MARGIN: f64 = 1e-3;

/// Position of sleeping nodes, out of range of all others.
const FAR_AWAY: Point = Point { x: 1e12, y: 1e12 };

/// Moves the last link to its sorted place among the other links, which are in order.
#[cold]
fn put_last_in_order(links: &mut [Link]) {
    let (last, others) = links.split_last().expect("a link was added");
    let before = others.iter().rposition(|other| other.order() < last.order());
    links[before.map_or(0, |before| before + 1)..].rotate_right(1);
}

#[cfg(test)]
mod tests {
    use multihop_core::Rng;

    use super::*;
    use crate::medium::{Medium, Nodes};
    use crate::mobility::{Area, Movement, Path, RandomWalk, RandomWalkParams, Waypoint};
    use crate::params::{Model, RadioParams, Sinr};

    fn tracks() -> Vec<Track> {
        let area = Area { width: 2000.0, height: 1500.0 };
        let params = RandomWalkParams { area, max_speed: 30.0, mean_spell: Duration::from_secs(5) };
        (0..60)
            .map(|n| RandomWalk::new(params, 4, NodeId(n)))
            .map(|walk| Track::new(Movement::RandomWalk(walk)))
            .collect()
    }

    #[test]
    fn links_are_exactly_those_within_reach() {
        let mut medium = Medium::new(&RadioParams::default(), tracks(), 1);
        let mut truth = tracks();
        let mut rng = Rng::stream(9, "test", 0);
        let mut now = Instant::ZERO;
        let mut links = Vec::new();
        let (mut from, mut in_part) = (NodeId(0), 0);
        for _ in 0..5_000 {
            now += Duration::from_millis(u64::from(rng.below(60)));
            if rng.below(10) == 0 {
                from = NodeId(rng.below(60));
            }
            let Nodes::Moving(moving) = &medium.nodes else { panic!("nodes that move") };
            let near = &moving.near[from.index()];
            in_part += u32::from(now < moving.epoch_ends && !near.nodes.is_empty() && now < near.far_until);
            medium.links_of(from, now, &mut links);
            let places: Vec<Point> = truth.iter_mut().map(|track| track.at(now)).collect();
            let mut heard: Vec<_> = links.iter().map(|link| link.to).collect();
            heard.sort_unstable();
            let near =
                |&to: &NodeId| to != from && places[from.index()].distance(places[to.index()]) <= 550.0;
            assert_eq!(heard, (0..60).map(NodeId).filter(near).collect::<Vec<_>>());
            assert!(links.is_sorted_by_key(|link| (link.delay(), link.to)));
        }
        assert!(in_part > 1000, "candidates far away were left out {in_part} times");
    }

    /// One pair of nodes in a thousand has a link that is longer than the reach.
    #[test]
    fn a_shadowed_link_beyond_the_reach_exists_in_both_directions() {
        let model = Model::Sinr(Sinr { shadowing_db: 8.0, ..Sinr::default() });
        let radio = RadioParams { model, ..RadioParams::default() };
        let still = |x| Track::new(Movement::Still(Point { x, y: 0.0 }));
        let reach = Medium::new(&radio, vec![still(0.0)], 0).reach;
        let hears = |medium: &mut Medium, from, seconds| {
            let mut links = Vec::new();
            medium.links_of(NodeId(from), Instant::ZERO + Duration::from_secs(seconds), &mut links);
            !links.is_empty()
        };
        let along = |distances: [(u64, f64); 2]| {
            let path = distances.map(|(seconds, distance)| Waypoint {
                at: Instant::ZERO + Duration::from_secs(seconds),
                place: Point { x: distance * reach, y: 0.0 },
            });
            Track::new(Movement::along(Path::new(&path).expect("a path")))
        };
        let hears_from = |seed, distance| {
            let tracks = vec![still(0.0), along([(0, distance), (90, distance + 1e-6)])];
            hears(&mut Medium::new(&radio, tracks, seed), 0, 0)
        };
        let seed = (0..100_000).find(|&seed| hears_from(seed, 1.06) && !hears_from(seed, 1.09));
        let tracks = vec![still(0.0), along([(0, 1.09), (90, 1.0)])];
        let mut medium = Medium::new(&radio, tracks, seed.expect("a link beyond the reach"));
        assert!(!hears(&mut medium, 0, 0));
        // The distance is 1.059 of the reach.
        assert_eq!([0, 1].map(|from| hears(&mut medium, from, 31)), [true, true]);
    }

    #[test]
    fn transmissions_with_a_common_hearer_may_share_hearers() {
        let mut medium = Medium::new(&RadioParams::default(), tracks(), 1);
        let mut rng = Rng::stream(9, "test", 1);
        let (mut now, mut before) = (Instant::ZERO, Vec::new());
        let mut sent = medium.links_of(NodeId(0), now, &mut before);
        let mut apart = 0;
        for _ in 0..5_000 {
            now += Duration::from_millis(u64::from(rng.below(20)));
            let mut links = Vec::new();
            let next = medium.links_of(NodeId(rng.below(60)), now, &mut links);
            let shared = links.iter().any(|link| before.iter().any(|other: &Link| other.to == link.to));
            let may_share = medium.may_share_hearers(sent, next);
            assert!(may_share || !shared);
            apart += u32::from(!may_share);
            (sent, before) = (next, links);
        }
        assert!(apart > 500, "{apart}");
    }
}
