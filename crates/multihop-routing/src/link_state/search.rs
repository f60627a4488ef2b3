//! Paths of least cost by Dijkstra's algorithm.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;

use crate::addresses::Addresses;
use crate::steps;

/// Network graph from the information of one node, for the shortest-path search.
pub trait Graph {
    /// Address of the node at which the search begins.
    fn own(&self) -> Ipv4Addr;

    /// Calls `each` for each usable link of the node itself.
    fn each_neighbour(&self, each: impl FnMut(Neighbour));

    /// Calls `each` for the links of another node that forwards packets, with their costs.
    fn each_link(&self, from: Ipv4Addr, each: impl FnMut(Ipv4Addr, u64));
}

/// A neighbour of the node that searches.
pub struct Neighbour {
    /// Address that names the neighbour.
    pub address: Ipv4Addr,
    /// Interface of the neighbour on the link.
    pub via: Ipv4Addr,
    /// Cost of the link to the neighbour.
    pub cost: u64,
    /// Whether the neighbour forwards packets.
    pub relays: bool,
}

/// State of a search, whose memory the next search reuses.
#[derive(Clone, Debug, Default)]
pub struct Search {
    places: Addresses<u16>,
    nodes: Vec<Node>,
    open: BinaryHeap<Reverse<(Rank, u16)>>,
}

/// A node that has been reached.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Address of the node.
    pub address: Ipv4Addr,
    rank: Rank,
    /// Previous node on the path.
    pub last: Ipv4Addr,
    relays: bool,
}

/// Order of preference, lower first: by cost, then by hops, then by the address of the first hop.
type Rank = (u64, u8, Ipv4Addr);

impl Node {
    /// Sum of the costs along the path.
    pub const fn cost(&self) -> u64 {
        self.rank.0
    }

    /// Number of links of the path.
    pub const fn hops(&self) -> u8 {
        self.rank.1
    }

    /// Interface address of the neighbour that is the first hop of the path.
    pub const fn next_hop(&self) -> Ipv4Addr {
        self.rank.2
    }
}

impl Search {
    /// The nodes that can be reached, by address.
    pub fn run(&mut self, graph: &impl Graph) -> &[Node] {
        self.places.clear();
        self.nodes.clear();
        self.open.clear();
        let own = graph.own();
        graph.each_neighbour(|Neighbour { address, via, cost, relays }| {
            self.reach(address, (cost, 1, via), own, relays);
        });
        while let Some(Reverse((rank, at))) = self.open.pop() {
            let node = self.nodes[usize::from(at)];
            // A better path to the node has been found in the meantime.
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
