//! Models of how nodes move. A node moves along straight legs, one after another, so that its position is known exactly
//! at every instant.

mod area;
pub mod bonnmotion;
mod gauss_markov;
pub mod gpx;
mod group;
mod leg;
mod manhattan;
mod movement;
pub mod netanim;
pub mod ns2;
mod path;
mod plane;
mod random_walk;
mod random_waypoint;
mod roaming;
pub mod sumo;
mod text;
mod walk;
mod xml;

pub use area::Area;
pub use gauss_markov::{GaussMarkov, GaussMarkovParams};
pub use group::{Group, GroupParams};
pub use leg::{Crossings, Leg, crossings};
pub use manhattan::{Manhattan, ManhattanParams};
pub use movement::{Movement, Track};
pub use path::{BadWaypoint, FASTEST, Follow, Path, Waypoint};
pub use plane::Plane;
pub use random_walk::{RandomWalk, RandomWalkParams};
pub use random_waypoint::{RandomWaypoint, RandomWaypointParams, Start};
pub use roaming::roaming;
pub use text::{FARTHEST, LATEST, LONGEST_FILE, MAX_NODES, Problem};
pub use walk::{Walk, Walking};

#[cfg(test)]
mod tests;
