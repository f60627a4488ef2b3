//! For tests only: packet scripts for one machine, pairs of machines joined by bad links, and meshes
//! of machines whose links come and go.
//!
//! Everything is generic over [`Machine`](multihop_core::Machine), so that no protocol crate is
//! needed to build this one.

mod link;
mod mesh;
mod pair;
mod script;

pub use link::{Link, LinkConfig};
pub use mesh::{Action, Adapter, Mesh, MeshLink};
pub use pair::{Pair, Port};
pub use script::Script;
