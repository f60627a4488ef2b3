//! The routing set (RFC 7181, section 17 and appendix C).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_routing::link_state::search::{Graph, Neighbour, Search};
use multihop_routing::link_state::table::Table;

use super::links::NeighbourLinks;
use super::two_hops::{self, TwoHops};
use super::wire::{Advertised, Willingness};

/// Announced links of each node, by originator.
pub(super) type Topology = Table<Ipv4Addr, Arc<Advertised>>;

/// The route to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// Address of the node at the end of the route.
    pub destination: Ipv4Addr,
    /// Address of the interface of the neighbour that is next.
    pub next_hop: Ipv4Addr,
    /// Number of hops to the node.
    pub hops: u8,
    /// Sum of the costs of the route's links.
    pub cost: u64,
}

/// Routes, sorted by destination.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    list: Vec<Route>,
    search: Search,
}

/// Information from which routes are computed: links, two-hop neighbours and topology.
pub(super) struct Known<'a> {
    pub(super) own: Ipv4Addr,
    pub(super) links: &'a NeighbourLinks,
    pub(super) two_hops: &'a TwoHops,
    pub(super) topology: &'a Topology,
}

impl Routes {
    pub(super) fn get(&self, destination: Ipv4Addr) -> Option<Route> {
        let found = self.list.binary_search_by_key(&destination, |route| route.destination);
        found.ok().map(|at| self.list[at])
    }

    pub(super) fn list(&self) -> &[Route] {
        &self.list
    }

    /// Recomputes the routes to all destinations.
    pub(super) fn find(&mut self, known: &Known<'_>) {
        let nodes = self.search.run(known);
        self.list.clear();
        self.list.extend(nodes.iter().map(|node| Route {
            destination: node.address,
            next_hop: node.next_hop(),
            hops: node.hops(),
            cost: node.cost(),
        }));
    }
}

impl Graph for Known<'_> {
    fn own(&self) -> Ipv4Addr {
        self.own
    }

    fn each_neighbour(&self, mut each: impl FnMut(Neighbour)) {
        for neighbour in self.links.neighbours() {
            if let Some(metric) = neighbour.metrics.outgoing {
                let cost = metric.value().into();
                let relays = neighbour.willingness.routing > Willingness::NEVER;
                each(Neighbour { address: neighbour.main, via: neighbour.via, cost, relays });
            }
        }
    }

    fn each_link(&self, from: Ipv4Addr, mut each: impl FnMut(Ipv4Addr, u64)) {
        let announced = self.topology.get(from).into_iter().flat_map(|tc| &tc.links);
        let announced = announced.map(|&(to, outgoing)| (to, outgoing));
        let heard = two_hops::of(self.two_hops, from).map(|hop| (hop.address, hop.metrics.outgoing));
        for (to, outgoing) in announced.chain(heard) {
            if let Some(metric) = outgoing {
                each(to, metric.value().into());
            }
        }
    }
}
