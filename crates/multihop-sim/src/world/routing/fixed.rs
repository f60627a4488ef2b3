//! Static routes.

use std::collections::{BTreeMap, VecDeque};

use multihop_core::NodeId;
use multihop_radio::grid::{Grid, Point};

/// Shortest paths over links within decode range, ties to the lowest number; configured next hops take precedence.
pub(in crate::world) struct FixedRoutes {
    neighbours: Neighbours,
    by_hand: BTreeMap<(NodeId, NodeId), NodeId>,
    /// For each destination needed so far: the next hop of every node.
    towards: Vec<Option<Box<[u32]>>>,
}

const NOWHERE: u32 = u32::MAX;

impl FixedRoutes {
    pub(super) fn new(range: f64, places: &[Point], by_hand: BTreeMap<(NodeId, NodeId), NodeId>) -> Self {
        let neighbours = Neighbours::within(range, places);
        let nodes = neighbours.nodes();
        Self { neighbours, by_hand, towards: vec![None; nodes] }
    }

    /// Links between two nodes.
    pub(super) fn hops(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        let mut node = from;
        let limit = u32::try_from(self.towards.len()).expect("a checked number of nodes");
        // Configured next hops may form a loop.
        for hops in 0..limit {
            if node == to {
                return Some(hops);
            }
            node = self.next_hop(node, to)?;
        }
        None
    }

    /// The next hop of `node` to `destination`.
    pub(in crate::world) fn next_hop(&mut self, node: NodeId, destination: NodeId) -> Option<NodeId> {
        if !self.by_hand.is_empty()
            && let Some(&via) = self.by_hand.get(&(node, destination))
        {
            return Some(via);
        }
        let table = self.towards.get_mut(destination.index())?;
        let table = table.get_or_insert_with(|| shortest_paths(&self.neighbours, destination));
        Some(table[node.index()]).filter(|&next| next != NOWHERE).map(NodeId)
    }
}

/// The neighbours of each node.
struct Neighbours {
    /// Neighbours of node 0, of node 1, and so on; each list in ascending order.
    all: Vec<NodeId>,
    /// Index of each node's first neighbour, and one past the last neighbour.
    first: Vec<usize>,
}

impl Neighbours {
    fn within(range: f64, places: &[Point]) -> Self {
        let grid = Grid::new(range, places);
        let (mut all, mut first, mut near) = (Vec::new(), vec![0], Vec::new());
        for &place in places {
            grid.within(place, range, &mut near);
            all.append(&mut near);
            first.push(all.len());
        }
        Self { all, first }
    }

    fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    fn of(&self, node: NodeId) -> &[NodeId] {
        &self.all[self.first[node.index()]..self.first[node.index() + 1]]
    }
}

/// Breadth-first search from the destination; a node's next hop is its lowest neighbour that is one hop nearer.
fn shortest_paths(neighbours: &Neighbours, destination: NodeId) -> Box<[u32]> {
    let mut hops = vec![NOWHERE; neighbours.nodes()];
    let mut next = vec![NOWHERE; neighbours.nodes()];
    let mut queue = VecDeque::from([destination]);
    hops[destination.index()] = 0;
    while let Some(node) = queue.pop_front() {
        let further = hops[node.index()] + 1;
        for &neighbour in neighbours.of(node) {
            if hops[neighbour.index()] == NOWHERE {
                hops[neighbour.index()] = further;
                next[neighbour.index()] = node.0;
                queue.push_back(neighbour);
            } else if hops[neighbour.index()] == further {
                next[neighbour.index()] = next[neighbour.index()].min(node.0);
            }
        }
    }
    next.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(places: &[(f64, f64)], by_hand: BTreeMap<(NodeId, NodeId), NodeId>) -> FixedRoutes {
        let points: Vec<_> = places.iter().map(|&(x, y)| Point { x, y }).collect();
        FixedRoutes::new(250.0, &points, by_hand)
    }

    #[test]
    fn routes_have_fewest_hops_and_the_lowest_neighbour() {
        // A diamond: 0 - {1, 2} - 3.
        let mut r = routes(&[(0.0, 0.0), (150.0, 150.0), (150.0, -150.0), (300.0, 0.0)], BTreeMap::new());
        assert_eq!(r.next_hop(NodeId(0), NodeId(3)), Some(NodeId(1)));
        assert_eq!(r.next_hop(NodeId(3), NodeId(0)), Some(NodeId(1)));
        assert_eq!(r.next_hop(NodeId(1), NodeId(3)), Some(NodeId(3)));
    }

    #[test]
    fn there_is_no_route_to_a_node_out_of_range() {
        let mut r = routes(&[(0.0, 0.0), (251.0, 0.0)], BTreeMap::new());
        assert_eq!(r.next_hop(NodeId(0), NodeId(1)), None);
        assert_eq!(r.next_hop(NodeId(0), NodeId(9)), None, "no such node");
    }

    #[test]
    fn configured_next_hops_take_precedence() {
        let by_hand = BTreeMap::from([((NodeId(0), NodeId(2)), NodeId(2))]);
        let mut r = routes(&[(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)], by_hand);
        assert_eq!(r.next_hop(NodeId(0), NodeId(2)), Some(NodeId(2)));
        assert_eq!(r.next_hop(NodeId(2), NodeId(0)), Some(NodeId(1)));
    }
}
