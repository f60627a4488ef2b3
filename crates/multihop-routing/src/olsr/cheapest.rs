//! Routing table with the routes of least cost.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_wire::olsr::{Costs, Tc, Willingness};

use super::config::Metric;
use super::gauges::{ASSUMED, Gauges};
use super::routes::{Detail, Known, Route, Routes};
use crate::link_state::search::{self, Graph, Search};
use crate::link_state::table::{self, Table};

/// The link costs announced with each node's last TC, by originator.
pub(super) type Prices = Table<Ipv4Addr, Arc<Costs>>;

/// The order of neighbours in the last TC of each originator, for TCs not sorted by address.
pub(super) type Orders = Table<Ipv4Addr, Order>;

/// Order in which a TC lists its neighbours and their costs.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The sequence number of the TC.
    sequence: u16,
    /// Index of each neighbour in the TC, for the neighbours sorted by address.
    places: Vec<usize>,
}

impl Order {
    /// Order in which a TC lists its links; `None` if they are sorted.
    pub(super) fn of(tc: &Tc) -> Option<Self> {
        if tc.neighbours.is_sorted() {
            return None;
        }
        let mut places: Vec<_> = (0..tc.neighbours.len()).collect();
        places.sort_by_key(|place| tc.neighbours[*place]);
        Some(Self { sequence: tc.sequence, places })
    }
}

/// Costs of links during one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priced<'a> {
    pub(super) metric: &'a Metric,
    pub(super) gauges: &'a Gauges,
    pub(super) prices: &'a Prices,
    pub(super) orders: &'a Orders,
    /// Packets per second of this node on each link.
    pub(super) own_load: &'a [([Ipv4Addr; 2], u32)],
}

impl Routes {
    /// Recomputes the routes of least cost.
    pub(super) fn find_cheapest(&mut self, known: &Known<'_>, priced: Priced<'_>, search: &mut Search) {
        let nodes = search.run(&CostGraph { known, priced });
        self.list.clear();
        self.details.clear();
        table::make_room(&mut self.list, nodes.len());
        for node in nodes {
            let (destination, next_hop, hops) = (node.address, node.next_hop(), node.hops());
            self.list.push(Route { destination, next_hop, hops });
            self.details.push(Detail { cost: node.cost(), last: node.last });
        }
    }

    pub(super) fn cost(&self, destination: Ipv4Addr) -> Option<u64> {
        let place = self.list.binary_search_by_key(&destination, |route| route.destination).ok()?;
        self.details.get(place).map(|detail| detail.cost)
    }

    /// The nodes from the first hop to a destination.
    pub(super) fn path(&self, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        let mut path = Vec::new();
        let mut at = destination;
        loop {
            let place = self.list.binary_search_by_key(&at, |route| route.destination).ok()?;
            path.push(at);
            if self.list[place].hops == 1 {
                path.reverse();
                return Some(path);
            }
            at = self.details.get(place)?.last;
        }
    }
}

/// The information sets with the costs of links.
struct CostGraph<'a> {
    known: &'a Known<'a>,
    priced: Priced<'a>,
}

impl Graph for CostGraph<'_> {
    fn own(&self) -> Ipv4Addr {
        self.known.own
    }

    fn each_neighbour(&self, mut each: impl FnMut(search::Neighbour)) {
        for neighbour in self.known.neighbours.list() {
            if let Some(via) = neighbour.via {
                let cost = self.priced.neighbour(self.known.own, neighbour.main, via);
                let relays = neighbour.willingness > Willingness::NEVER;
                each(search::Neighbour { address: neighbour.main, via, cost, relays });
            }
        }
    }

    fn each_link(&self, from: Ipv4Addr, each: impl FnMut(Ipv4Addr, u64)) {
        self.known.each_link(self.priced, from, each);
    }
}

impl Priced<'_> {
    /// The cost of the link to a neighbour.
    fn neighbour(&self, own: Ipv4Addr, main: Ipv4Addr, via: Ipv4Addr) -> u64 {
        self.without_own(own, main, self.gauges.cost(via, self.metric))
    }

    /// A delay without the part caused by this node's own packets, if they cross the link. In an M/M/1 queue
    /// the inverse of the delay is the unused service rate, which would be higher by the rate of these
    /// packets.
    fn without_own(&self, from: Ipv4Addr, to: Ipv4Addr, cost: u32) -> u64 {
        let cost = u64::from(cost);
        if self.own_load.is_empty() {
            return cost;
        }
        let found = self.own_load.binary_search_by_key(&[from, to], |&(link, _)| link);
        let rate = found.map_or(0, |at| u64::from(self.own_load[at].1));
        cost * 1_000_000 / (1_000_000 + cost * rate)
    }
}

impl Known<'_> {
    /// Calls `each` for the links from a node, with their costs. Links known from HELLOs count if there is no
    /// TC.
    fn each_link(&self, priced: Priced<'_>, from: Ipv4Addr, mut each: impl FnMut(Ipv4Addr, u64)) {
        let mut each = |to, cost| each(to, priced.without_own(from, to, cost));
        match self.topology.of(from) {
            [] => self.two_hops.of(from).for_each(|to| each(to, ASSUMED)),
            [tc] => {
                let costs = priced.prices.get(from).filter(|costs| {
                    costs.sequence == tc.sequence && costs.costs.len() == tc.neighbours.len()
                });
                let order = priced.orders.get(from).filter(|order| {
                    order.sequence == tc.sequence && order.places.len() == tc.neighbours.len()
                });
                let place = |n: usize| order.map_or(n, |order| order.places[n]);
                for (n, &to) in tc.neighbours.iter().enumerate() {
                    each(to, costs.map_or(ASSUMED, |costs| costs.costs[place(n)]));
                }
            }
            parts => parts.iter().flat_map(|tc| &tc.neighbours).for_each(|&to| each(to, ASSUMED)),
        }
    }

    /// The cost of a path that begins with a neighbour; `None` unless all of its links exist.
    pub(super) fn cost_of(&self, path: &[Ipv4Addr], priced: Priced<'_>) -> Option<u64> {
        let first = *path.first()?;
        let via = self.neighbours.get(first)?.via?;
        Some(priced.neighbour(self.own, first, via) + self.cost_beyond(path, priced)?)
    }

    /// The cost of a path after its first node.
    pub(super) fn cost_beyond(&self, path: &[Ipv4Addr], priced: Priced<'_>) -> Option<u64> {
        let mut sum = 0;
        for link in path.windows(2) {
            let mut cost = None;
            self.each_link(priced, link[0], |to, price| {
                if to == link[1] {
                    cost = Some(price);
                }
            });
            sum += cost?;
        }
        Some(sum)
    }
}
