//! The routing table (RFC 3626 §10): fewest hops.
//!
//! A pure function of the sets, and the only place that knows what makes a route good.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;

use multihop_wire::olsr::Willingness;

use super::neighbours::{Neighbour, Neighbours, TwoHops};
use super::topology::Topology;

/// The way to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// The node's main address.
    pub destination: Ipv4Addr,
    /// The neighbour's interface.
    pub next_hop: Ipv4Addr,
    /// Links on the way.
    pub hops: u8,
}

/// What is known of the network.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) own: Ipv4Addr,
    pub(super) neighbours: &'a Neighbours,
    pub(super) two_hops: &'a TwoHops,
    pub(super) topology: &'a Topology,
}

/// Routes in the order of destinations.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    list: Vec<Route>,
    /// Destinations in the order in which they were found, the nearest first.
    found: Vec<Route>,
    /// Neighbours in the order of preference.
    order: Vec<usize>,
}

impl Routes {
    pub(super) fn list(&self) -> &[Route] {
        &self.list
    }

    pub(super) fn get(&self, destination: Ipv4Addr) -> Option<Route> {
        self.place(destination).ok().map(|at| self.list[at])
    }

    /// Finds all routes anew. Ties go to the most willing neighbour, then to the lowest address of
    /// the last hop but one: the RFC leaves the choice.
    pub(super) fn find(&mut self, known: &Known<'_>) {
        self.list.clear();
        self.found.clear();
        for neighbour in known.neighbours.list() {
            if let Some(next_hop) = neighbour.via {
                self.add(Route { destination: neighbour.main, next_hop, hops: 1 });
            }
        }
        self.found.clear();
        self.add_two_hops(known);
        let mut at = 0;
        // RFC 3626 §10, step 3: from two hops on, level by level.
        while let Some(&Route { destination: last, next_hop, hops }) = self.found.get(at) {
            at += 1;
            let Some(hops) = hops.checked_add(1) else { break };
            for link in known.topology.from(last) {
                if link.key.1 != known.own {
                    self.add(Route { destination: link.key.1, next_hop, hops });
                }
            }
        }
    }

    /// RFC 3626 §10, step 2: nodes that a willing neighbour has for a neighbour.
    fn add_two_hops(&mut self, known: &Known<'_>) {
        let neighbours = known.neighbours.list();
        let willing = |&at: &usize| neighbours[at].willingness > Willingness::NEVER;
        self.order.clear();
        self.order.extend((0..neighbours.len()).filter(willing));
        self.order.sort_unstable_by_key(|&at| (Reverse(neighbours[at].willingness), at));
        for turn in 0..self.order.len() {
            let Neighbour { main, via: Some(next_hop), .. } = neighbours[self.order[turn]] else { continue };
            for row in known.two_hops.between((main, Ipv4Addr::UNSPECIFIED), (main, Ipv4Addr::BROADCAST)) {
                if row.key.1 != known.own {
                    self.add(Route { destination: row.key.1, next_hop, hops: 2 });
                }
            }
        }
        self.found.sort_unstable_by_key(|route| route.destination);
    }

    /// Adds a route, unless one was found before.
    fn add(&mut self, route: Route) {
        if let Err(at) = self.place(route.destination) {
            self.list.insert(at, route);
            self.found.push(route);
        }
    }

    fn place(&self, destination: Ipv4Addr) -> Result<usize, usize> {
        self.list.binary_search_by_key(&destination, |route| route.destination)
    }
}
