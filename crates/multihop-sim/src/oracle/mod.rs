//! The true shortest path between two nodes at every instant of a run, computed from positions that no
//! protocol has.
//!
//! Two nodes have a link while their distance is at most the decode range. Movement is exact, so the instants at which
//! links appear and break are computed to the nanosecond. Between them, the hop counts of flows are constant.

mod hops;
mod links;

use std::collections::BTreeMap;

use multihop_core::{Duration, FlowId, Instant, NodeId};

use self::hops::{Graph, Hops};
use self::links::LinkChanges;
use multihop_scenario::{Layout, Scenario, Series};

/// The shortest-path metrics of results.
#[derive(Debug)]
pub(crate) struct Oracle {
    paths: ShortestPaths,
    /// Current shortest path of each flow.
    spells: Vec<Spell>,
}

/// The shortest path between the ends of each flow over time.
#[derive(Debug)]
pub(crate) struct ShortestPaths {
    flows: Vec<(NodeId, NodeId)>,
    /// Hops of the shortest path to each node; `None` without a path.
    hops: Vec<Option<u32>>,
    /// Flows whose path changed in the last step.
    changed: Vec<FlowId>,
    begun: bool,
    moving: Option<Moving>,
}

/// Changing links, and the resulting hop counts.
#[derive(Debug)]
struct Moving {
    links: LinkChanges,
    graph: Graph,
    from_senders: BTreeMap<NodeId, Hops>,
}

/// A flow's current shortest path with its start, and the duration of earlier paths by their hops.
#[derive(Debug)]
struct Spell {
    hops: Option<u32>,
    since: Instant,
    /// Instant at which the measurement ends.
    until: Instant,
    before: TimeByHops,
}

/// Total time for which the shortest path had each number of hops; `None`: no path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TimeByHops(BTreeMap<Option<u32>, Duration>);

impl Oracle {
    /// Follows the shortest paths of a scenario's flows; `None` if [`ShortestPaths::of`] returns none.
    pub(crate) fn new(scenario: &Scenario, layout: &Layout) -> Option<Self> {
        let paths = ShortestPaths::of(scenario, layout)?;
        let flows = scenario.flows.iter().take(paths.flows.len());
        let spells = flows.map(|flow| Spell::new(Instant::ZERO + flow.start)).collect();
        Some(Self { paths, spells })
    }

    /// Whether the path of a flow is computed.
    pub(crate) fn knows(&self, flow: FlowId) -> bool {
        flow.index() < self.spells.len()
    }

    /// Hops between the ends of a flow at `now`, which must not decrease. `None`: no path exists, or it is
    /// unknown.
    pub(crate) fn hops(&mut self, now: Instant, flow: FlowId) -> Option<u32> {
        self.catch_up(now);
        self.paths.hops(flow)
    }

    /// Discards all times measured so far, at the end of the warm-up.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.catch_up(now);
        self.spells.iter_mut().for_each(|spell| spell.restart(now));
    }

    /// Ends the measurement of a flow.
    pub(crate) fn flow_ended(&mut self, now: Instant, flow: FlowId) {
        self.catch_up(now);
        if let Some(spell) = self.spells.get_mut(flow.index()) {
            spell.until = spell.until.min(now);
        }
    }

    /// For each flow with a known path, its time by hops, from its start to its end or to `now`.
    pub(crate) fn times(mut self, now: Instant) -> Vec<TimeByHops> {
        self.catch_up(now);
        self.spells.iter_mut().for_each(|spell| spell.turn(now, None));
        self.spells.into_iter().map(|spell| spell.before).collect()
    }

    fn catch_up(&mut self, now: Instant) {
        while let Some(at) = self.paths.step(now) {
            for &flow in self.paths.changed() {
                self.spells[flow.index()].turn(at, self.paths.hops(flow));
            }
        }
    }
}

impl ShortestPaths {
    /// The shortest paths of a scenario's flows until the end of the run.
    ///
    /// `None` if there are more than [`MAX_MOVING`] moving nodes, unless the scenario asks for a metric that needs the
    /// paths.
    pub(crate) fn of(scenario: &Scenario, layout: &Layout) -> Option<Self> {
        // For measured links, distances are irrelevant.
        if scenario.radio().measured().is_some() {
            return None;
        }
        let moving = scenario.each_movement(layout).any(|movement| movement.speed_limit() > 0.0);
        let asked = scenario.expected.is_some()
            || scenario.record.as_ref().is_some_and(|record| record.what.contains(&Series::Shortest));
        if moving && layout.positions.len() > MAX_MOVING && !asked {
            return None;
        }
        // Randomly drawn transfers come last in the list; a run may have thousands of them.
        let given = scenario.flows.iter().take_while(|flow| flow.drawn.is_none());
        let flows: Vec<_> =
            given.map(|flow| (scenario.in_mesh(flow.from), scenario.in_mesh(flow.to))).collect();
        if flows.is_empty() {
            return None;
        }
        let range = scenario.decode_range();
        let mut tracks = scenario.tracks(layout);
        if moving {
            let links = LinkChanges::new(tracks, range, Instant::ZERO + scenario.duration);
            return Some(Self::moving(layout.positions.len(), links, flows));
        }
        let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
        Some(Self::standing(&Graph::of_places(&places, range), flows))
    }

    /// Hops between the ends of a flow since the last step. `None`: no path exists, or it is unknown.
    pub(crate) fn hops(&self, flow: FlowId) -> Option<u32> {
        self.hops.get(flow.index()).copied().flatten()
    }

    /// The number of flows with known paths, which are the first ones in the list.
    pub(crate) fn len(&self) -> usize {
        self.hops.len()
    }

    /// Advances to the next instant, not after `now`, at which a path changes. The first such instant is time
    /// zero, for all flows. After `None` the paths are those at `now`.
    pub(crate) fn step(&mut self, now: Instant) -> Option<Instant> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(Instant::ZERO);
        }
        self.changed.clear();
        let moving = self.moving.as_mut()?;
        while let Some(at) = moving.step(now) {
            let paths = (0..).map(FlowId).zip(&self.flows).zip(&mut self.hops);
            for ((flow, &(from, to)), hops) in paths {
                let found = moving.from_senders[&from].to(to);
                if std::mem::replace(hops, found) != found {
                    self.changed.push(flow);
                }
            }
            if !self.changed.is_empty() {
                return Some(at);
            }
        }
        None
    }

    /// Flows whose path changed in the last step.
    pub(crate) fn changed(&self) -> &[FlowId] {
        &self.changed
    }

    /// Paths in a network without movement.
    fn standing(graph: &Graph, flows: Vec<(NodeId, NodeId)>) -> Self {
        let hops = flows.iter().map(|&(from, to)| graph.hops_between(from, to)).collect();
        Self::new(flows, hops, None)
    }

    /// Paths that change with the links of `nodes` nodes.
    fn moving(nodes: usize, links: LinkChanges, flows: Vec<(NodeId, NodeId)>) -> Self {
        let graph = Graph::new(nodes, &links.at_first());
        let from_senders: BTreeMap<_, _> =
            flows.iter().map(|&(from, _)| (from, Hops::new(&graph, from))).collect();
        let hops = flows.iter().map(|&(from, to)| from_senders[&from].to(to)).collect();
        Self::new(flows, hops, Some(Moving { links, graph, from_senders }))
    }

    fn new(flows: Vec<(NodeId, NodeId)>, hops: Vec<Option<u32>>, moving: Option<Moving>) -> Self {
        let changed = (0..).map(FlowId).take(flows.len()).collect();
        Self { flows, hops, changed, begun: false, moving }
    }
}

impl Moving {
    /// Advances to the next instant, not after `now`, at which a hop count may change.
    fn step(&mut self, now: Instant) -> Option<Instant> {
        loop {
            let first = self.links.next_change(now)?;
            let mut next = Some(first);
            let mut any = false;
            while let Some(change) = next {
                self.graph.change(change.link, change.up);
                for hops in self.from_senders.values_mut() {
                    any |= hops.follow(&self.graph, change.link, change.up);
                }
                next = self.links.next_change(first.at);
            }
            if any {
                return Some(first.at);
            }
        }
    }
}

impl Spell {
    fn new(since: Instant) -> Self {
        Self { hops: None, since, until: Instant::FAR_FUTURE, before: TimeByHops::default() }
    }

    fn restart(&mut self, now: Instant) {
        self.since = self.since.max(now);
        self.before = TimeByHops::default();
    }

    /// Records that the path has this many hops from `at` on.
    fn turn(&mut self, at: Instant, hops: Option<u32>) {
        let time = at.min(self.until).saturating_since(self.since);
        if time > Duration::ZERO {
            *self.before.0.entry(self.hops).or_default() += time;
        }
        self.since = self.since.max(at);
        self.hops = hops;
    }
}

impl TimeByHops {
    /// Mean hops over the time with a path.
    pub(crate) fn mean(&self) -> Option<f64> {
        let connected = self.0.iter().filter_map(|(hops, time)| Some(((*hops)?, time.as_secs_f64())));
        let (sum, seconds) = connected
            .fold((0.0, 0.0), |(sum, seconds), (hops, time)| (sum + f64::from(hops) * time, seconds + time));
        (seconds > 0.0).then(|| sum / seconds)
    }

    /// Fraction of the time without a path; `None` if the time is zero.
    pub(crate) fn partitioned(&self) -> Option<f64> {
        let without = self.0.get(&None).map_or(0.0, |time| time.as_secs_f64());
        let seconds = self.seconds();
        (seconds > 0.0).then(|| without / seconds)
    }

    /// Holland & Vaidya's Equation 3.1: the goodput of a chain with as many hops, averaged over time; 0 while there is no
    /// path. `None` if the time is zero.
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

/// Largest number of moving nodes for which shortest paths are always computed; with more nodes only on
/// request.
const MAX_MOVING: usize = 1000;

#[cfg(test)]
mod tests;
