//! For tests and benchmarks only: packet scripts for one state machine, pairs of state machines joined by lossy links,
//! meshes with changing links, a counting allocator, impaired networks for real programs, and states of a disk after a
//! loss of power.
//!
//! State machines are tested as a [`Machine`](multihop_core::Machine), so this crate depends on no protocol.

mod allocations;
#[cfg(unix)]
pub mod disk;
#[cfg(unix)]
pub mod impaired;
mod link;
mod mesh;
mod pair;
mod script;

pub use allocations::CountingAllocator;
pub use link::{Fate, Link, LinkConfig};
pub use mesh::{Action, Adapter, Mesh, MeshLink};
pub use pair::{Pair, Port};
pub use script::Script;
