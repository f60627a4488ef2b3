//! The routing table (RFC 3626 §10) with the fewest hops; the module `cheapest` computes routes of least
//! cost.
//!
//! All functions depend on the information sets only.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;

use multihop_wire::olsr::Willingness;

use super::neighbours::{Neighbour, Neighbours};
use super::topology::Topology;
use super::two_hops::TwoHops;
use crate::addresses::Addresses;
use crate::link_state::table;
use crate::steps;

/// The route to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// The node's main address.
    pub destination: Ipv4Addr,
    /// The neighbour's interface address.
    pub next_hop: Ipv4Addr,
    /// Number of hops to the node.
    pub hops: u8,
}

/// Information from which routes are computed: neighbours, two-hop neighbours and topology.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) own: Ipv4Addr,
    pub(super) neighbours: &'a Neighbours,
    pub(super) two_hops: &'a TwoHops,
    pub(super) topology: &'a Topology,
}

/// Routes, sorted by destination.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    pub(super) list: Vec<Route>,
    /// Details in the order of `list` if routes are chosen by cost, otherwise empty.
    pub(super) details: Vec<Detail>,
}

/// Additional data of a route of least cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    pub(super) cost: u64,
    /// The last node before the destination.
    pub(super) last: Ipv4Addr,
}

/// Temporary data of a computation. Stored permanently at each node, they would need as much memory as all
/// routes.
struct Found<'a> {
    list: &'a mut Vec<Route>,
    /// Destinations that have a route.
    reached: Addresses<()>,
}

impl Routes {
    pub(super) fn list(&self) -> &[Route] {
        &self.list
    }

    pub(super) fn get(&self, destination: Ipv4Addr) -> Option<Route> {
        let found = self.list.binary_search_by_key(&destination, |route| route.destination);
        found.ok().map(|at| self.list[at])
    }

    /// Frees the memory of outdated routes: most nodes forward no packets for long periods.
    pub(super) fn forget(&mut self) {
        self.list = Vec::new();
    }

    /// Recomputes the routes to all destinations. Ties go to the first hop with the highest willingness, then to the
    /// lowest address; the RFC leaves the choice open.
    pub(super) fn find(&mut self, known: &Known<'_>) {
        // The estimate suffices because nearly every node sends TCs or is a neighbour.
        let originators = known.topology.keys().len();
        let reached = Addresses::with_room(originators + known.neighbours.list().len() + 1);
        self.list.clear();
        table::make_room(&mut self.list, originators);
        let mut found = Found { list: &mut self.list, reached };
        found.reached.insert(known.own);
        for neighbour in known.neighbours.list() {
            if let Some(next_hop) = neighbour.via {
                found.add(neighbour.main, next_hop, 1);
            }
        }
        let mut at = found.list.len();
        found.add_two_hops(known);
        // RFC 3626 §10, step 3: from two hops on, the search proceeds level by level.
        while let Some(&Route { destination: last, next_hop, hops }) = found.list.get(at) {
            at += 1;
            let Some(hops) = hops.checked_add(1) else { break };
            for to in known.topology.ends(last) {
                found.add(to, next_hop, hops);
            }
        }
        self.list.sort_unstable_by_key(|route| route.destination);
    }
}

impl Found<'_> {
    /// Adds routes over two hops, through neighbours that are willing to forward (RFC 3626 §10, step 2).
    fn add_two_hops(&mut self, known: &Known<'_>) {
        let mut order: Vec<&Neighbour> = known.neighbours.list().iter().collect();
        order.sort_by_key(|neighbour| Reverse(neighbour.willingness));
        for &Neighbour { main, willingness, via } in order {
            let Some(next_hop) = via.filter(|_| willingness > Willingness::NEVER) else { continue };
            for of in known.two_hops.of(main) {
                self.add(of, next_hop, 2);
            }
        }
    }

    /// Adds a route unless the destination has one already.
    fn add(&mut self, destination: Ipv4Addr, next_hop: Ipv4Addr, hops: u8) {
        steps::count(1);
        if self.reached.insert(destination) {
            table::push(self.list, Route { destination, next_hop, hops });
        }
    }
}
