//! For tests and benchmarks only: packet scripts for one state machine, pairs of state machines joined by lossy links,
//! networks with changing links, a counting allocator, impaired networks for real programs, and states of a disk after a
//! loss of power.
//!
//! State machines are tested as a [`Machine`](multihop_core::Machine), so this crate depends on no protocol.

mod allocations;
#[cfg(unix)]
pub mod disk;
#[cfg(unix)]
pub mod impaired;
mod link;
mod network;
mod pair;
mod script;

pub use allocations::CountingAllocator;
pub use link::{Fate, LinkConfig, LossyLink};
pub use network::{Action, Adapter, TestLink, TestNetwork};
pub use pair::{Pair, Port};
pub use script::Script;
