//! Paths of least cost, by Dijkstra's algorithm.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;

use crate::addresses::Addresses;
use crate::steps;

/// A network as one node knows it.
pub(crate) trait Graph {
    /// The node.
    fn own(&self) -> Ipv4Addr;

    /// Each usable link of the node itself.
    fn each_neighbour(&self, each: impl FnMut(Neighbour));

    /// The links of another node that forwards packets, with their costs.
    fn each_link(&self, from: Ipv4Addr, each: impl FnMut(Ipv4Addr, u64));
}

/// A neighbour of the node that searches.
pub(crate) struct Neighbour {
    pub(crate) address: Ipv4Addr,
    /// Its interface on the link.
    pub(crate) via: Ipv4Addr,
    pub(crate) cost: u64,
    /// Whether it forwards packets.
    pub(crate) relays: bool,
}

/// A search, with storage that the next one reuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    places: Addresses<u16>,
    nodes: Vec<Node>,
    open: BinaryHeap<Reverse<(Rank, u16)>>,
}

/// A node that has been reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) address: Ipv4Addr,
    rank: Rank,
    /// The node before it.
    pub(crate) last: Ipv4Addr,
    relays: bool,
}

/// The lower rank wins: by cost, then by hops, then by the address of the first hop.
type Rank = (u64, u8, Ipv4Addr);

impl Node {
    /// What the path costs.
    pub(crate) const fn cost(&self) -> u64 {
        self.rank.0
    }

    /// Links of the path.
    pub(crate) const fn hops(&self) -> u8 {
        self.rank.1
    }

    /// The interface of the neighbour at which the path begins.
    pub(crate) const fn next_hop(&self) -> Ipv4Addr {
        self.rank.2
    }
}

impl Search {
    /// The nodes that can be reached, by address.
    pub(crate) fn run(&mut self, graph: &impl Graph) -> &[Node] {
        self.places.clear();
        self.nodes.clear();
        self.open.clear();
        let own = graph.own();
        graph.each_neighbour(|Neighbour { address, via, cost, relays }| {
            self.reach(address, (cost, 1, via), own, relays);
        });
        while let Some(Reverse((rank, at))) = self.open.pop() {
            let node = self.nodes[usize::from(at)];
            // A better path to the node has been found since.
            if node.rank != rank || !node.relays {
                continue;
            }
            let (cost, hops, next_hop) = rank;
            let Some(hops) = hops.checked_add(1) else { continue };
            graph.each_link(node.address, |to, price| {
                if to != own {
                    self.reach(to, (cost + price, hops, next_hop), node.address, true);
                }
            });
        }
        self.nodes.sort_unstable_by_key(|node| node.address);
        &self.nodes
    }

    fn reach(&mut self, address: Ipv4Addr, rank: Rank, last: Ipv4Addr, relays: bool) {
        steps::count(1);
        let Ok(new) = u16::try_from(self.nodes.len()) else { return };
        if address.is_unspecified() {
            return;
        }
        let at = self.places.at_or(address, new);
        if at == new {
            self.nodes.push(Node { address, rank, last, relays });
        } else {
            let node = &mut self.nodes[usize::from(at)];
            if rank >= node.rank {
                return;
            }
            (node.rank, node.last) = (rank, last);
        }
        self.open.push(Reverse((rank, at)));
    }
}
