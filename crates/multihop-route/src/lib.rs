//! Routing agents on real interfaces: a daemon that finds routes with its neighbours and tells them to the kernel.
//!
//! [`Router`] is the part without sockets: an agent of `multihop-routing`, and which neighbour was heard over which
//! interface. [`run`] drives it.
#![cfg(target_os = "linux")]

mod config;
mod daemon;
mod kernel;
mod parameters;
mod privileges;
mod router;
mod socket;
mod status;

pub use config::{Config, Prefix};
pub use daemon::{Reload, RouteError, Stop, run};
pub use kernel::{PROTOCOL, flush};
pub use router::{Counters, Datagram, Heard, Key, Path, Port, Router};
pub use status::{CONTROL, InterfaceStatus, MessageCounts, NeighbourStatus, RouteStatus, Status, status};
