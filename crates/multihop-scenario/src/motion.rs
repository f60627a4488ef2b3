//! From the movement of a scenario to that of each node.

use multihop_core::NodeId;
use multihop_radio::grid::Point;
use multihop_radio::mobility::{
    GaussMarkov, Group, Manhattan, Movement, RandomWalk, RandomWaypoint, Track, Walking,
};

use super::{Layout, Mobility, Scenario};

impl Scenario {
    /// The movement of each node of `layout`, which is a placement of the scenario's topology.
    ///
    /// Where a node begins is `at(Instant::ZERO)`; `layout` has it only for nodes that stand still
    /// or walk from there.
    pub fn tracks(&self, layout: &Layout) -> Vec<Track> {
        let movements = self.movements(layout);
        // `collect` would reuse the allocation of the movements, which is larger.
        let mut tracks = Vec::with_capacity(movements.len());
        tracks.extend(movements.into_iter().map(Track::new));
        tracks
    }

    /// The movement of each node of `layout`, from leg to leg.
    pub fn movements(&self, layout: &Layout) -> Vec<Movement> {
        let movement = |(node, &[x, y]): (NodeId, &[f64; 2])| match self.movement_of(node) {
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
        (0..).map(NodeId).zip(&layout.positions).map(movement).collect()
    }

    /// How a node moves.
    fn movement_of(&self, node: NodeId) -> &Mobility {
        self.single_movements.get(&node).unwrap_or(&self.mobility)
    }
}
