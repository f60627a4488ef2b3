//! Instants at which links appear and break.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::grid::Grid;
use multihop_radio::mobility::{Leg, Track, crossings};

/// The link changes of moving nodes, computed interval by interval. Memory therefore does not grow with the
/// run, and only pairs that may meet within an interval are examined.
#[derive(Debug)]
pub(super) struct LinkChanges {
    tracks: Vec<Track>,
    range: f64,
    until: Instant,
    stretch: Duration,
    /// Distance at the beginning of an interval, m, from which two nodes cannot come into range before its end.
    reach: f64,
    /// Instant until which all changes have been found.
    found_to: Instant,
    /// Changes that have not been taken yet, in order of time.
    coming: VecDeque<Change>,
    /// Positions at the beginning of the interval.
    grid: Grid,
    /// Legs in the interval: first those of node 0, then those of node 1, and so on.
    legs: Vec<Leg>,
    /// Index of each node's first leg, and one past the index of the last leg.
    first: Vec<usize>,
}

/// Two nodes, the lower number first.
pub(super) type NodePair = [NodeId; 2];

/// Appearance or break of a link.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Change {
    /// Instant at which the link appears or breaks.
    pub(super) at: Instant,
    pub(super) link: NodePair,
    /// Whether the link appears; otherwise it breaks.
    pub(super) up: bool,
}

impl LinkChanges {
    /// Prepares the changes of links between nodes at most `range` apart, before `until`.
    pub(super) fn new(mut tracks: Vec<Track>, range: f64, until: Instant) -> Self {
        let fastest = tracks.iter().map(Track::speed_limit).fold(0.0, f64::max);
        let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
        let seconds = (range / (4.0 * fastest)).clamp(SHORTEST_STRETCH, LONGEST_STRETCH);
        // A millimetre allows for the rounding of positions and times.
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

    /// Links at time zero. Must be called before all other methods.
    pub(super) fn at_first(&self) -> Vec<NodePair> {
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

    /// Finds the changes in the next interval.
    fn find(&mut self) {
        let (begin, end) = (self.found_to, (self.found_to + self.stretch).min(self.until));
        self.legs.clear();
        self.first.clear();
        let mut places = Vec::with_capacity(self.tracks.len());
        for track in &mut self.tracks {
            let first = self.legs.len();
            self.first.push(first);
            add_legs(track, begin, end, &mut self.legs);
            places.push(self.legs[first].at(begin));
        }
        self.grid.move_all(&places);
        self.first.push(self.legs.len());
        let mut found = Vec::from(std::mem::take(&mut self.coming));
        self.each_near_pair(|link| self.find_pair(link, begin, end, &mut found));
        found.sort_unstable();
        self.coming = found.into();
        self.found_to = end;
    }

    /// Finds the changes of one link, for each pair of legs that overlap in time.
    fn find_pair(&self, link: NodePair, begin: Instant, end: Instant, found: &mut Vec<Change>) {
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

    /// Calls `what` for each pair of nodes that may come into range of each other before the end of the interval.
    fn each_near_pair(&self, mut what: impl FnMut(NodePair)) {
        let mut near = Vec::new();
        let nodes = u32::try_from(self.tracks.len()).expect("a checked number of nodes");
        for a in (0..nodes).map(NodeId) {
            self.grid.within(self.grid.place(a), self.reach, &mut near);
            near.iter().filter(|&&b| b > a).for_each(|&b| what([a, b]));
        }
    }
}

/// Adds the legs of a track that cover `begin` to `end`.
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

/// Shortest interval in which pairs of nodes are searched for changes, s. In shorter intervals each pair
/// would be examined more often; in longer ones more pairs may meet.
const SHORTEST_STRETCH: f64 = 1.0;
/// Longest interval in which pairs of nodes are searched for changes, s, because a node may turn often.
const LONGEST_STRETCH: f64 = 10.0;
