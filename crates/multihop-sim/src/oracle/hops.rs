//! Hop counts from one node to all others, updated as links appear and break.

use std::collections::VecDeque;

use multihop_core::NodeId;
use multihop_radio::grid::{Grid, Point};

use super::links::NodePair;

/// Adjacency lists: the neighbours of each node.
#[derive(Debug)]
pub(super) struct Graph {
    neighbours: Vec<Vec<NodeId>>,
}

/// Hop counts from one node to each other.
#[derive(Debug)]
pub(super) struct Hops {
    /// Hop count to each node; [`UNREACHED`] if there is no path.
    to: Vec<u32>,
    /// Nodes whose neighbours are examined next.
    frontier: VecDeque<NodeId>,
    /// Nodes that have lost their paths, during the search for new ones.
    lost: Vec<NodeId>,
}

impl Graph {
    pub(super) fn new(nodes: usize, links: &[NodePair]) -> Self {
        let mut graph = Self { neighbours: vec![Vec::new(); nodes] };
        for &link in links {
            graph.change(link, true);
        }
        graph
    }

    /// Creates the graph of links between nodes at most `range` apart.
    pub(super) fn of_places(places: &[Point], range: f64) -> Self {
        let grid = Grid::new(range, places);
        let mut near = Vec::new();
        let neighbours = (0..).map(NodeId).zip(places).map(|(node, &place)| {
            grid.within(place, range, &mut near);
            near.iter().copied().filter(|&other| other != node).collect()
        });
        Self { neighbours: neighbours.collect() }
    }

    /// Adds or removes a link.
    pub(super) fn change(&mut self, [a, b]: NodePair, up: bool) {
        for (node, other) in [(a, b), (b, a)] {
            let neighbours = &mut self.neighbours[node.index()];
            if up {
                neighbours.push(other);
            } else {
                neighbours.retain(|&neighbour| neighbour != other);
            }
        }
    }

    /// Number of hops between two nodes. The search ends at `to`, and does not visit nodes farther away.
    pub(super) fn hops_between(&self, from: NodeId, to: NodeId) -> Option<u32> {
        let mut hops = Hops::nowhere(self.nodes(), from);
        hops.frontier.push_back(from);
        hops.spread(self, Some(to));
        hops.to(to)
    }

    fn nodes(&self) -> usize {
        self.neighbours.len()
    }

    fn of(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[node.index()]
    }
}

impl Hops {
    pub(super) fn new(graph: &Graph, from: NodeId) -> Self {
        let mut hops = Self::nowhere(graph.nodes(), from);
        hops.frontier.push_back(from);
        hops.spread(graph, None);
        hops
    }

    pub(super) fn to(&self, node: NodeId) -> Option<u32> {
        Some(self.to[node.index()]).filter(|&hops| hops != UNREACHED)
    }

    /// Updates the counts after one link of `graph` has appeared or broken. Must be called for every change; true if a
    /// count has changed.
    pub(super) fn follow(&mut self, graph: &Graph, [a, b]: NodePair, up: bool) -> bool {
        let (near, far) = if self.to[a.index()] <= self.to[b.index()] { (a, b) } else { (b, a) };
        let (near_hops, far_hops) = (self.to[near.index()], self.to[far.index()]);
        if up {
            let shorter = far_hops > near_hops.saturating_add(1);
            if shorter {
                self.to[far.index()] = near_hops + 1;
                self.frontier.push_back(far);
                self.spread(graph, None);
            }
            return shorter;
        }
        // The hop counts of a link's ends differ by at most one. Shortest paths cross the link from its
        // nearer to its farther end. They have the same length through any other neighbour as near as the
        // nearer end.
        let lost = near_hops < far_hops && graph.of(far).iter().all(|n| self.to[n.index()] != near_hops);
        if lost {
            self.repair(graph, far);
        }
        lost
    }

    /// Repairs the counts after `start` has lost its last nearer neighbour.
    fn repair(&mut self, graph: &Graph, start: NodeId) {
        // Nodes are examined in order of distance, so that all lost nodes before a node are known.
        self.frontier.push_back(start);
        while let Some(node) = self.frontier.pop_front() {
            let hops = self.to[node.index()];
            if hops == UNREACHED || graph.of(node).iter().any(|n| self.to[n.index()] == hops - 1) {
                continue;
            }
            self.to[node.index()] = UNREACHED;
            self.lost.push(node);
            self.frontier.extend(graph.of(node).iter().filter(|n| self.to[n.index()] == hops + 1));
        }
        for &node in &self.lost {
            let nearest = graph.of(node).iter().map(|n| self.to[n.index()]).min();
            self.to[node.index()] = nearest.map_or(UNREACHED, |hops| hops.saturating_add(1));
        }
        self.lost.retain(|node| self.to[node.index()] != UNREACHED);
        self.lost.sort_unstable_by_key(|node| self.to[node.index()]);
        self.frontier.extend(self.lost.drain(..));
        self.spread(graph, None);
    }

    fn nowhere(nodes: usize, from: NodeId) -> Self {
        let mut to = vec![UNREACHED; nodes];
        to[from.index()] = 0;
        Self { to, frontier: VecDeque::new(), lost: Vec::new() }
    }

    /// Breadth-first search from the frontier over nodes whose counts decrease, ended early at `goal`.
    fn spread(&mut self, graph: &Graph, goal: Option<NodeId>) {
        while let Some(node) = self.frontier.pop_front() {
            if Some(node) == goal {
                return;
            }
            let further = self.to[node.index()] + 1;
            for &neighbour in graph.of(node) {
                if further < self.to[neighbour.index()] {
                    self.to[neighbour.index()] = further;
                    self.frontier.push_back(neighbour);
                }
            }
        }
    }
}

const UNREACHED: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use multihop_core::Rng;

    use super::*;

    #[test]
    fn updated_hop_counts_equal_recomputed_ones() {
        let mut rng = Rng::stream(1, "test", 0);
        let mut differences = [0, 0];
        // The networks range from sparse and partitioned to dense.
        for (nodes, chance) in [(2, 0.5), (6, 0.3), (12, 0.12), (12, 0.3), (20, 0.15)] {
            let pairs: Vec<_> =
                (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| [NodeId(a), NodeId(b)])).collect();
            let mut present = vec![false; pairs.len()];
            let mut graph = Graph::new(nodes as usize, &[]);
            let mut hops = Hops::new(&graph, NodeId(0));
            for _ in 0..4000 {
                let n = rng.below(u32::try_from(pairs.len()).unwrap()) as usize;
                let up = rng.chance(chance);
                if std::mem::replace(&mut present[n], up) == up {
                    continue;
                }
                let before = hops.to.clone();
                graph.change(pairs[n], up);
                let differs = hops.follow(&graph, pairs[n], up);
                let anew = Hops::new(&graph, NodeId(0));
                assert_eq!(hops.to, anew.to, "{pairs:?}\n{present:?}");
                assert_eq!(differs, before != hops.to);
                differences[usize::from(differs)] += 1;
                for to in (0..nodes).map(NodeId) {
                    assert_eq!(graph.hops_between(NodeId(0), to), anew.to(to));
                }
            }
        }
        assert!(differences[0] > 2000 && differences[1] > 1000, "{differences:?}");
    }

    #[test]
    fn nodes_are_linked_up_to_the_range() {
        let places = [0.0, 250.0, 500.1, 700.0].map(|x| Point { x, y: 0.0 });
        let graph = Graph::of_places(&places, 250.0);
        assert_eq!(graph.neighbours, [vec![NodeId(1)], vec![NodeId(0)], vec![NodeId(3)], vec![NodeId(2)]]);
    }
}
