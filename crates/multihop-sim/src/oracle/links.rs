//! When links appear and break.

use multihop_core::{Instant, NodeId};
use multihop_radio::mobility::{Leg, Track, crossings};

/// The links of moving nodes.
#[derive(Debug)]
pub(super) struct Links {
    /// At time zero.
    pub(super) first: Vec<Link>,
    /// In the order of time.
    pub(super) changes: Vec<Change>,
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
    pub(super) fn of_tracks(tracks: &mut [Track], range: f64, until: Instant) -> Self {
        let movements: Vec<_> =
            (0..).map(NodeId).zip(tracks.iter_mut().map(|track| legs(track, until))).collect();
        let mut links = Self { first: Vec::new(), changes: Vec::new() };
        for (n, (a, a_legs)) in movements.iter().enumerate() {
            for (b, b_legs) in &movements[n + 1..] {
                links.add_pair([*a, *b], [a_legs, b_legs], range, until);
            }
        }
        links.changes.sort_unstable();
        links
    }

    /// One leg of each at a time, for as long as both last.
    fn add_pair(&mut self, link: Link, [a, b]: [&[Leg]; 2], range: f64, until: Instant) {
        let (mut i, mut j, mut now) = (0, 0, Instant::ZERO);
        if a[0].at(now).distance(b[0].at(now)) <= range {
            self.first.push(link);
        }
        while now < until {
            let end = a[i].end.min(b[j].end).min(until);
            let found = crossings(&a[i], &b[j], range, now, end);
            for (at, up) in [(found.enters, true), (found.leaves, false)] {
                if let Some(at) = at.filter(|&at| at < until) {
                    self.changes.push(Change { at, link, up });
                }
            }
            i += usize::from(a[i].end == end);
            j += usize::from(b[j].end == end);
            now = end;
        }
    }
}

/// From time zero on, each where the one before ended, until after `until`.
fn legs(track: &mut Track, until: Instant) -> Vec<Leg> {
    let mut legs = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        let leg = *track.leg(now);
        legs.push(leg);
        if leg.end >= until {
            return legs;
        }
        now = leg.end;
    }
}
