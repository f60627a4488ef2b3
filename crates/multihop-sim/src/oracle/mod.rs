//! What no protocol knows: the true shortest path between two nodes, at every instant of a run.
//!
//! Two nodes have a link while they are no farther apart than the decode range. Movement is exact,
//! so the instants at which links appear and break are solved for, to the nanosecond, and the hop
//! counts between the ends of a flow are constant in between.

mod hops;
mod links;

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant, NodeId};

use self::hops::{Graph, Hops};
use self::links::Links;
use crate::scenario::{Layout, Scenario, Series};

/// The hops of the shortest path between two nodes, over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShortestPath {
    /// From when on it has so many hops; `None`: there is no path. The first from time zero, times
    /// ascending, no two in a row alike.
    changes: Vec<(Instant, Option<u32>)>,
}

/// For how long the shortest path had each number of hops; `None`: there was no path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TimeByHops(BTreeMap<Option<u32>, Duration>);

/// The shortest path between the ends of each flow, up to the end of the run.
///
/// `None` if nodes move and are more than [`MOST_MOVING`], unless the scenario asks for what follows
/// from it: the time this takes grows with their square. For 50 nodes it is below 1% of the run's.
pub(crate) fn shortest_paths(scenario: &Scenario, layout: &Layout) -> Option<Vec<ShortestPath>> {
    let mut tracks = scenario.tracks(layout);
    let moving = tracks.iter().any(|track| track.speed_limit() > 0.0);
    let asked = scenario.expected.is_some()
        || scenario.record.as_ref().is_some_and(|record| record.what.contains(&Series::Shortest));
    if moving && tracks.len() > MOST_MOVING && !asked {
        return None;
    }
    // Transfers that are drawn at random come last; there may be thousands in a run.
    let given = scenario.flows.iter().take_while(|flow| flow.drawn.is_none());
    let pairs: Vec<_> = given.map(|flow| (flow.from, flow.to)).collect();
    if pairs.is_empty() {
        return None;
    }
    let range = scenario.decode_range();
    if !moving {
        let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
        return Some(standing(&Graph::of_places(&places, range), &pairs));
    }
    let links = Links::of_tracks(&mut tracks, range, Instant::ZERO + scenario.duration);
    Some(moving_paths(tracks.len(), &links, &pairs))
}

impl ShortestPath {
    /// Its hops at `now`.
    pub(crate) fn at(&self, now: Instant) -> Option<u32> {
        let later = self.changes.partition_point(|&(at, _)| at <= now);
        self.changes[later - 1].1
    }

    /// From when on it has so many hops.
    pub(crate) fn changes(&self) -> &[(Instant, Option<u32>)] {
        &self.changes
    }

    /// How the time from `from` to `until` divides up.
    pub(crate) fn time_by_hops(&self, from: Instant, until: Instant) -> TimeByHops {
        let mut times = BTreeMap::new();
        let ends = self.changes[1..].iter().map(|&(at, _)| at).chain([Instant::FAR_FUTURE]);
        for (&(at, hops), end) in self.changes.iter().zip(ends) {
            let time = end.min(until).saturating_since(at.max(from));
            if time > Duration::ZERO {
                *times.entry(hops).or_default() += time;
            }
        }
        TimeByHops(times)
    }

    fn new(hops: Option<u32>) -> Self {
        Self { changes: vec![(Instant::ZERO, hops)] }
    }

    fn note(&mut self, at: Instant, hops: Option<u32>) {
        if self.changes.last().is_none_or(|&(_, before)| before != hops) {
            self.changes.push((at, hops));
        }
    }
}

impl TimeByHops {
    /// Mean hops over the time in which there was a path.
    pub(crate) fn mean(&self) -> Option<f64> {
        let connected = self.0.iter().filter_map(|(hops, time)| Some(((*hops)?, time.as_secs_f64())));
        let (sum, seconds) = connected
            .fold((0.0, 0.0), |(sum, seconds), (hops, time)| (sum + f64::from(hops) * time, seconds + time));
        (seconds > 0.0).then(|| sum / seconds)
    }

    /// Share of the time in which there was no path; `None` if there was no time.
    pub(crate) fn partitioned(&self) -> Option<f64> {
        let without = self.0.get(&None).map_or(0.0, |time| time.as_secs_f64());
        let seconds = self.seconds();
        (seconds > 0.0).then(|| without / seconds)
    }

    /// Holland & Vaidya's Equation 3.1: the goodput of a chain with as many hops, averaged over time;
    /// nothing while there is no path. `None` if there was no time.
    ///
    /// A path longer than every chain in the table counts as the longest.
    pub(crate) fn expected_kbps(&self, chain_kbps: &BTreeMap<u32, f64>) -> Option<f64> {
        let kilobits = self.0.iter().filter_map(|(hops, time)| {
            let (_, kbps) = chain_kbps.range(..=(*hops)?).next_back()?;
            Some(kbps * time.as_secs_f64())
        });
        let sum: f64 = kilobits.sum();
        let seconds = self.seconds();
        (seconds > 0.0).then(|| sum / seconds)
    }

    fn seconds(&self) -> f64 {
        self.0.values().map(|time| time.as_secs_f64()).sum()
    }
}

/// Moving nodes of which the shortest paths are found without being asked for.
const MOST_MOVING: usize = 1000;

/// Paths that stay as they are.
fn standing(graph: &Graph, pairs: &[(NodeId, NodeId)]) -> Vec<ShortestPath> {
    pairs.iter().map(|&(from, to)| ShortestPath::new(graph.hops_between(from, to))).collect()
}

/// Paths that change with the links of `nodes` nodes.
fn moving_paths(nodes: usize, links: &Links, pairs: &[(NodeId, NodeId)]) -> Vec<ShortestPath> {
    let mut graph = Graph::new(nodes, &links.first);
    let mut from_senders: BTreeMap<NodeId, Hops> =
        pairs.iter().map(|&(from, _)| (from, Hops::new(&graph, from))).collect();
    let mut paths: Vec<_> =
        pairs.iter().map(|&(from, to)| ShortestPath::new(from_senders[&from].to(to))).collect();
    for together in links.changes.chunk_by(|a, b| a.at == b.at) {
        let mut any = false;
        for change in together {
            graph.change(change.link, change.up);
            for hops in from_senders.values_mut() {
                any |= hops.follow(&graph, change.link, change.up);
            }
        }
        if any {
            for (path, &(from, to)) in paths.iter_mut().zip(pairs) {
                path.note(together[0].at, from_senders[&from].to(to));
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests;
