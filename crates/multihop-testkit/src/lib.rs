//! For tests only: packet scripts for one machine, and pairs of machines joined by bad links.
//!
//! Everything is generic over [`Machine`](multihop_core::Machine), so that no protocol crate is
//! needed to build this one.

mod link;
mod pair;
mod script;

pub use link::{Link, LinkConfig};
pub use pair::{Pair, Port};
pub use script::Script;
