//! Static routes over several radios with the least airtime. Consecutive hops on overlapping channels cost
//! more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use multihop_core::{Duration, Interface, NodeId};
use multihop_radio::airtime::Airtime;
use multihop_radio::grid::{Grid, Point};
use multihop_radio::link_budget::LinkBudgets;
use multihop_radio::propagation::Site;
use multihop_scenario::{Radio, Scenario};

use crate::world::ids::Neighbour;

/// Routes of least cost; configured next hops take precedence.
///
/// A hop costs the airtime of a data frame of [`PACKET`] bytes on its radio. It costs twice as much if the
/// receiver forwards on an overlapping channel, because the two transmissions then cannot be simultaneous.
pub(in crate::world) struct DiverseRoutes {
    by_hand: BTreeMap<(NodeId, NodeId), NodeId>,
    /// Neighbours from which each node receives, with the airtime of a frame.
    into: Vec<Vec<(Neighbour, Duration)>>,
    /// Whether the channels of two radios overlap.
    overlap: Vec<Vec<bool>>,
    /// Next hop of each node, for each destination needed so far.
    towards: Vec<Option<Box<[Option<Neighbour>]>>>,
}

/// The best known path from a node to the destination; ordered by preference.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
struct Path {
    cost: Duration,
    hops: u32,
    next: Neighbour,
}

impl DiverseRoutes {
    /// Creates the routes between nodes at these positions.
    pub(super) fn new(
        scenario: &Scenario,
        places: &[Point],
        by_hand: BTreeMap<(NodeId, NodeId), NodeId>,
    ) -> Self {
        let mut into = vec![Vec::new(); places.len()];
        for (interface, radio) in (0..).map(Interface).zip(&scenario.radios) {
            add_links(radio, interface, scenario.seed_of(interface), places, &mut into);
        }
        let overlaps = |a: &Radio, b: &Radio| {
            std::ptr::eq(a, b) || a.attenuation_db(b).is_some_and(|attenuation| attenuation < SEPARATE_DB)
        };
        let row = |a| scenario.radios.iter().map(|b| overlaps(a, b) || overlaps(b, a)).collect();
        let overlap = scenario.radios.iter().map(row).collect();
        Self { by_hand, overlap, towards: vec![None; places.len()], into }
    }

    /// Number of links of the route between two nodes.
    pub(super) fn hops(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        super::hops(from, to, self.into.len(), |node| self.next_hop(node, to).map(|next| next.node))
    }

    /// The next hop of `node` on the route to `destination`.
    pub(in crate::world) fn next_hop(&mut self, node: NodeId, destination: NodeId) -> Option<Neighbour> {
        if !self.by_hand.is_empty()
            && let Some(&via) = self.by_hand.get(&(node, destination))
        {
            return Some(self.neighbour(node, via));
        }
        if self.towards.get(destination.index())?.is_none() {
            let routes = self.search(destination);
            self.towards[destination.index()] = Some(routes);
        }
        self.towards[destination.index()].as_ref()?.get(node.index()).copied()?
    }

    /// A neighbour over the interface with the least airtime; over the first interface if the neighbour is
    /// out of range.
    pub(in crate::world) fn neighbour(&self, node: NodeId, neighbour: NodeId) -> Neighbour {
        let links = self.into.get(neighbour.index()).into_iter().flatten();
        let least = links.filter(|(from, _)| from.node == node).min_by_key(|(from, time)| (*time, *from));
        let interface = least.map_or(Interface(0), |(from, _)| from.interface);
        Neighbour { interface, node: neighbour }
    }

    /// The next hop of each node to the destination, by a search for least costs from the destination. A
    /// node's next hop is decided before those of the nodes that use it, because their costs depend on its
    /// radio.
    fn search(&self, destination: NodeId) -> Box<[Option<Neighbour>]> {
        let mut best: Vec<Option<Path>> = vec![None; self.into.len()];
        let mut decided = vec![false; self.into.len()];
        let mut queue = BinaryHeap::from([Reverse((Duration::ZERO, destination))]);
        while let Some(Reverse((cost, node))) = queue.pop() {
            if std::mem::replace(&mut decided[node.index()], true) {
                continue;
            }
            let way = best[node.index()];
            for &(from, time) in &self.into[node.index()] {
                let collides =
                    way.is_some_and(|way| self.overlap[from.interface.index()][way.next.interface.index()]);
                let cost = cost + time * if collides { 2 } else { 1 };
                let next = Neighbour { interface: from.interface, node };
                let found = Path { cost, hops: way.map_or(0, |way| way.hops) + 1, next };
                let known = &mut best[from.node.index()];
                if from.node != destination && known.is_none_or(|known| found < known) {
                    *known = Some(found);
                    queue.push(Reverse((cost, from.node)));
                }
            }
        }
        best.into_iter().map(|way| way.map(|way| way.next)).collect()
    }
}

/// Adds the links of one radio: those that work at the scenario's data rate, or at any rate under rate
/// control.
fn add_links(
    radio: &Radio,
    interface: Interface,
    seed: u64,
    places: &[Point],
    into: &mut [Vec<(Neighbour, Duration)>],
) {
    let params = &radio.params;
    let adapts = radio.mac.rate_control.adapts();
    let range = if adapts { params.longest_range() } else { params.decode_range() };
    let (airtime, budgets) = (Airtime::new(params, &radio.mac), LinkBudgets::new(params, seed));
    let (grid, mut near) = (Grid::new(range, places), Vec::new());
    for (&place, to) in places.iter().zip((0..).map(NodeId)).filter(|(_, node)| radio.is_at(*node)) {
        grid.within(place, range, &mut near);
        for &from in near.iter().filter(|node| **node != to && radio.is_at(**node)) {
            let site = |node: NodeId| Site { node, place: places[node.index()] };
            let rate = if adapts { budgets.of(site(from), site(to)).fastest } else { Some(params.rate) };
            if let Some(rate) = rate {
                into[to.index()].push((Neighbour { interface, node: from }, airtime.frame(rate, PACKET)));
            }
        }
    }
}

/// Bytes of the frame whose airtime is the cost of a hop.
const PACKET: u32 = 1500;
/// Attenuation in dB above which channels count as separate.
const SEPARATE_DB: f64 = 20.0;
