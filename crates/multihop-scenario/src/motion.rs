//! Movement of each node, derived from the movements in a scenario.

use multihop_core::NodeId;
use multihop_radio::grid::Point;
use multihop_radio::mobility::{
    GaussMarkov, Group, Manhattan, Movement, RandomWalk, RandomWaypoint, Track, Walking,
};

use super::{Layout, Mobility, Scenario};

impl Scenario {
    /// Movement of each node from its initial position.
    ///
    /// `layout` is a placement of the scenario's topology, and contains initial positions only of nodes that
    /// are static or walk from their position. Other nodes begin at `at(Instant::ZERO)`.
    pub fn tracks(&self, layout: &Layout) -> Vec<Track> {
        self.each_movement(layout).map(Track::new).collect()
    }

    /// The movements of all nodes of `layout`.
    pub fn movements(&self, layout: &Layout) -> Vec<Movement> {
        self.each_movement(layout).collect()
    }

    /// Iterator over the movements of the nodes of `layout`.
    pub fn each_movement(&self, layout: &Layout) -> impl Iterator<Item = Movement> {
        let movement = move |(node, &[x, y]): (NodeId, &[f64; 2])| match self.movement_of(node) {
            Mobility::Static => Movement::Still(Point { x, y }),
            Mobility::RandomWaypoint { params, pattern } => {
                Movement::RandomWaypoint(RandomWaypoint::new(*params, pattern.unwrap_or(self.seed), node))
            }
            Mobility::RandomWalk(params) => Movement::RandomWalk(RandomWalk::new(*params, self.seed, node)),
            Mobility::GaussMarkov(params) => {
                Movement::GaussMarkov(GaussMarkov::new(*params, self.seed, node))
            }
            Mobility::Manhattan(params) => Movement::Manhattan(Manhattan::new(*params, self.seed, node)),
            Mobility::Group { params, members } => {
                Movement::Group(Group::new(*params, self.seed, members.first(node), node))
            }
            Mobility::Paths(paths) => Movement::along(paths[node.index()].clone()),
            Mobility::Path(path) => Movement::along(path.clone()),
            Mobility::Walk(walk) => Movement::Walk(Walking::new(walk.clone(), Point { x, y })),
        };
        (0..).map(NodeId).zip(&layout.positions).map(movement)
    }

    /// Movement parameters of a node.
    fn movement_of(&self, node: NodeId) -> &Mobility {
        self.single_movements.get(&node).unwrap_or(&self.mobility)
    }
}
