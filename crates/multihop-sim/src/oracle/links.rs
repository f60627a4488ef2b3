//! When links appear and break.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::grid::Grid;
use multihop_radio::mobility::{Leg, Track, crossings};

/// The links of moving nodes, found for a stretch of time after another: what is known of them does
/// not grow with the run, and only nodes that may meet within a stretch are looked at.
#[derive(Debug)]
pub(super) struct Links {
    tracks: Vec<Track>,
    range: f64,
    until: Instant,
    stretch: Duration,
    /// No nodes farther apart at the beginning of a stretch come within range before its end.
    reach: f64,
    /// All changes up to then have been found.
    found_to: Instant,
    /// Those that have not been taken, in the order of time.
    coming: VecDeque<Change>,
    /// Where everyone was at the beginning of the stretch.
    grid: Grid,
    /// What each node does in the stretch: the legs of node 0, those of node 1, ...
    legs: Vec<Leg>,
    /// Where each node's legs begin; one more than there are nodes.
    first: Vec<usize>,
}

/// Two nodes, the lower number first.
pub(super) type Link = [NodeId; 2];

/// A link appears or breaks.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Change {
    /// From when on.
    pub(super) at: Instant,
    pub(super) link: Link,
    /// Whether it appears.
    pub(super) up: bool,
}

impl Links {
    /// Those between nodes no farther apart than `range`, before `until`.
    pub(super) fn new(mut tracks: Vec<Track>, range: f64, until: Instant) -> Self {
        let fastest = tracks.iter().map(Track::speed_limit).fold(0.0, f64::max);
        let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
        let seconds = (range / (4.0 * fastest)).clamp(SHORTEST_STRETCH, LONGEST_STRETCH);
        // A millimetre for the rounding of places and times.
        let reach = range + 2.0 * fastest * seconds + 1e-3;
        Self {
            range,
            until,
            stretch: Duration::from_secs_f64(seconds),
            reach,
            found_to: Instant::ZERO,
            coming: VecDeque::new(),
            grid: Grid::new(reach, &places),
            legs: Vec::new(),
            first: Vec::new(),
            tracks,
        }
    }

    /// Links at time zero; before anything else is asked.
    pub(super) fn at_first(&self) -> Vec<Link> {
        let mut links = Vec::new();
        self.each_near_pair(|link @ [a, b]| {
            if self.grid.place(a).distance(self.grid.place(b)) <= self.range {
                links.push(link);
            }
        });
        links
    }

    /// Takes the next change that is not later than `now`.
    pub(super) fn next_change(&mut self, now: Instant) -> Option<Change> {
        while self.coming.is_empty() && self.found_to < now.min(self.until) {
            self.find();
        }
        self.coming.pop_front_if(|change| change.at <= now)
    }

    /// Finds the changes of the next stretch.
    fn find(&mut self) {
        let (begin, end) = (self.found_to, (self.found_to + self.stretch).min(self.until));
        self.legs.clear();
        self.first.clear();
        for (node, track) in (0..).map(NodeId).zip(&mut self.tracks) {
            self.first.push(self.legs.len());
            add_legs(track, begin, end, &mut self.legs);
            self.grid.move_to(node, self.legs[self.first[node.index()]].at(begin));
        }
        self.first.push(self.legs.len());
        let mut found = Vec::from(std::mem::take(&mut self.coming));
        self.each_near_pair(|link| self.find_pair(link, begin, end, &mut found));
        found.sort_unstable();
        self.coming = found.into();
        self.found_to = end;
    }

    /// One leg of each at a time, for as long as both last.
    fn find_pair(&self, link: Link, begin: Instant, end: Instant, found: &mut Vec<Change>) {
        let [mut a, mut b] = link.map(|node| self.first[node.index()]);
        let mut now = begin;
        while now < end {
            let both = self.legs[a].end.min(self.legs[b].end).min(end);
            let crossings = crossings(&self.legs[a], &self.legs[b], self.range, now, both);
            for (at, up) in [(crossings.enters, true), (crossings.leaves, false)] {
                if let Some(at) = at.filter(|&at| at < self.until) {
                    found.push(Change { at, link, up });
                }
            }
            a += usize::from(self.legs[a].end == both);
            b += usize::from(self.legs[b].end == both);
            now = both;
        }
    }

    /// Pairs that may meet before the end of the stretch.
    fn each_near_pair(&self, mut what: impl FnMut(Link)) {
        let mut near = Vec::new();
        let nodes = u32::try_from(self.tracks.len()).expect("a checked number of nodes");
        for a in (0..nodes).map(NodeId) {
            self.grid.within(self.grid.place(a), self.reach, &mut near);
            near.iter().filter(|&&b| b > a).for_each(|&b| what([a, b]));
        }
    }
}

/// From `begin` on, each where the one before ended, until `end` or after it.
fn add_legs(track: &mut Track, begin: Instant, end: Instant, legs: &mut Vec<Leg>) {
    let mut now = begin;
    loop {
        let leg = *track.leg(now);
        legs.push(leg);
        if leg.end >= end {
            return;
        }
        now = leg.end;
    }
}

/// Seconds. In longer stretches more pairs may meet; in shorter ones each is looked at more often.
const SHORTEST_STRETCH: f64 = 1.0;
/// Seconds, whatever the speed: a node may turn often.
const LONGEST_STRETCH: f64 = 10.0;
