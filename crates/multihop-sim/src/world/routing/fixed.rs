//! Static routes: configured next hops, else shortest paths over a list of graphs.

use std::collections::BTreeMap;

use multihop_core::NodeId;
use multihop_radio::grid::{Grid, Point};

/// Shortest paths, ties to the lowest number; configured next hops take precedence.
pub(in crate::world) struct FixedRoutes {
    by_hand: BTreeMap<(NodeId, NodeId), NodeId>,
    nodes: usize,
    /// Graphs in the order in which they are searched for a route.
    graphs: Vec<Graph>,
}

/// Links, and the routes over them that have been needed so far.
struct Graph {
    neighbours: Neighbours,
    /// For each destination needed so far, the next hops of the nodes around it.
    towards: Vec<Option<Around>>,
    /// Position of each node in the current search, or [`NOWHERE`]. Between searches all are [`NOWHERE`].
    found: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl FixedRoutes {
    /// Routes without links: only the next hops set in the scenario.
    pub(super) fn new(by_hand: BTreeMap<(NodeId, NodeId), NodeId>) -> Self {
        Self { by_hand, nodes: 0, graphs: Vec::new() }
    }

    /// Adds links of at most `range` metres for which `reaches(from, to, metres)` holds. Only nodes without a
    /// route over earlier links use them.
    pub(super) fn add_links(
        &mut self,
        range: f64,
        places: &[Point],
        reaches: impl Fn(NodeId, NodeId, f64) -> bool,
    ) {
        let neighbours = Neighbours::within(range, places, reaches);
        self.nodes = neighbours.nodes();
        self.graphs.push(Graph {
            towards: vec![None; self.nodes],
            found: vec![NOWHERE; self.nodes],
            neighbours,
        });
    }

    /// Number of links of the route between two nodes.
    pub(super) fn hops(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        super::hops(from, to, self.nodes, |node| self.next_hop(node, to))
    }

    /// The next hop of `node` on the route to `destination`.
    pub(in crate::world) fn next_hop(&mut self, node: NodeId, destination: NodeId) -> Option<NodeId> {
        if !self.by_hand.is_empty()
            && let Some(&via) = self.by_hand.get(&(node, destination))
        {
            return Some(via);
        }
        // A neighbour with a route over earlier links uses only these up to the destination, so that no loop
        // arises.
        self.graphs.iter_mut().find_map(|graph| graph.next_hop(node, destination))
    }
}

impl Graph {
    fn next_hop(&mut self, node: NodeId, destination: NodeId) -> Option<NodeId> {
        let around = self.towards.get_mut(destination.index())?;
        if let Some(known) = around {
            let next = known.next_hop(node);
            if next.is_some() || known.is_whole {
                return next;
            }
        }
        around.insert(search(&self.neighbours, destination, node, &mut self.found)).next_hop(node)
    }
}

/// The next hops towards a destination, as far as they have been needed. A table of all nodes and
/// destinations would grow quadratically.
#[derive(Clone)]
struct Around {
    /// Nodes in ascending order, each with its next hop.
    next: Box<[(NodeId, NodeId)]>,
    /// Whether the nodes in `next` are all nodes that have a path.
    is_whole: bool,
}

impl Around {
    fn next_hop(&self, node: NodeId) -> Option<NodeId> {
        self.next.binary_search_by_key(&node, |&(node, _)| node).ok().map(|place| self.next[place].1)
    }
}

/// For each node, the neighbours whose frames it receives.
struct Neighbours {
    /// Neighbours of node 0, then of node 1, and so on; each list in ascending order.
    all: Vec<NodeId>,
    /// Index of each node's first neighbour, and one past the index of the last one.
    first: Vec<usize>,
}

impl Neighbours {
    fn within(range: f64, places: &[Point], reaches: impl Fn(NodeId, NodeId, f64) -> bool) -> Self {
        let grid = Grid::new(range, places);
        let (mut all, mut first, mut near) = (Vec::new(), vec![0], Vec::new());
        for (&place, node) in places.iter().zip((0..).map(NodeId)) {
            grid.within(place, range, &mut near);
            near.retain(|&from| reaches(from, node, places[from.index()].distance(place)));
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

/// A node that a search has found.
struct Found {
    node: NodeId,
    hops: u32,
    /// Lowest neighbour of the node that is one hop nearer to the destination.
    next: NodeId,
}

/// Breadth-first search from the destination, until all nodes as near as `until` are found.
fn search(neighbours: &Neighbours, destination: NodeId, until: NodeId, found: &mut [u32]) -> Around {
    let mut nodes = vec![Found { node: destination, hops: 0, next: destination }];
    found[destination.index()] = 0;
    let mut expanded = 0;
    while let Some(&Found { node, hops, .. }) = nodes.get(expanded) {
        if nodes.get(found[until.index()] as usize).is_some_and(|until| until.hops == hops) {
            break;
        }
        for &neighbour in neighbours.of(node) {
            let place = &mut found[neighbour.index()];
            match nodes.get_mut(*place as usize) {
                None => {
                    *place = u32::try_from(nodes.len()).expect("a checked number of nodes");
                    nodes.push(Found { node: neighbour, hops: hops + 1, next: node });
                }
                Some(known) if known.hops == hops + 1 => known.next = known.next.min(node),
                Some(_) => {}
            }
        }
        expanded += 1;
    }
    let is_whole = expanded == nodes.len();
    nodes.iter().for_each(|known| found[known.node.index()] = NOWHERE);
    let mut next: Vec<_> = nodes[1..].iter().map(|known| (known.node, known.next)).collect();
    next.sort_unstable();
    Around { next: next.into(), is_whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(places: &[(f64, f64)], by_hand: BTreeMap<(NodeId, NodeId), NodeId>) -> FixedRoutes {
        let points: Vec<_> = places.iter().map(|&(x, y)| Point { x, y }).collect();
        let mut routes = FixedRoutes::new(by_hand);
        routes.add_links(250.0, &points, |_, _, _| true);
        routes
    }

    #[test]
    fn routes_have_fewest_hops_and_the_lowest_neighbour() {
        // The nodes form a diamond: 0 - {1, 2} - 3.
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
    fn routes_use_links_in_the_direction_in_which_their_rates_reach() {
        // Node 0 has a range of 150 m, the other nodes of 250 m.
        let points: Vec<_> = [0.0, 120.0, 240.0].iter().map(|&x| Point { x, y: 0.0 }).collect();
        let reaches = |from, _, metres| metres <= if from == NodeId(0) { 150.0 } else { 250.0 };
        let mut r = FixedRoutes::new(BTreeMap::new());
        r.add_links(250.0, &points, reaches);
        assert_eq!(r.next_hop(NodeId(0), NodeId(2)), Some(NodeId(1)));
        assert_eq!(r.next_hop(NodeId(2), NodeId(0)), Some(NodeId(0)));
    }

    #[test]
    fn longer_links_are_used_where_there_is_no_route_over_shorter_ones() {
        let points: Vec<_> = [0.0, 100.0, 200.0, 400.0].iter().map(|&x| Point { x, y: 0.0 }).collect();
        let mut r = FixedRoutes::new(BTreeMap::new());
        r.add_links(120.0, &points, |_, _, _| true);
        r.add_links(250.0, &points, |_, _, _| true);
        assert_eq!(r.hops(NodeId(0), NodeId(2)), Some(2), "over short links");
        assert_eq!(r.next_hop(NodeId(0), NodeId(3)), Some(NodeId(2)));
        assert_eq!(r.hops(NodeId(3), NodeId(0)), Some(3), "a long link, then two short ones");
    }

    #[test]
    fn configured_next_hops_take_precedence() {
        let by_hand = BTreeMap::from([((NodeId(0), NodeId(2)), NodeId(2))]);
        let mut r = routes(&[(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)], by_hand);
        assert_eq!(r.next_hop(NodeId(0), NodeId(2)), Some(NodeId(2)));
        assert_eq!(r.next_hop(NodeId(2), NodeId(0)), Some(NodeId(1)));
    }
}
