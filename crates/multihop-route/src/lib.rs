//! Routing agents on real interfaces: a daemon that finds routes with its neighbours and tells them to the kernel.
//!
//! [`Router`] is the part without sockets: an agent of `multihop-routing`, and which neighbour was heard over which
//! interface. [`run`] drives it.
#![cfg(target_os = "linux")]

mod budget;
mod catcher;
mod config;
mod daemon;
mod delay;
mod inbox;
mod kernel;
mod links;
mod parameters;
mod prefix;
mod router;
mod socket;
mod status;
mod usage;

pub use config::{Config, Routing};
pub use daemon::{Reload, RouteError, Stop, run};
pub use delay::Radio;
pub use kernel::{PROTOCOL, flush};
pub use links::QueueStatus;
pub use prefix::{Family, Prefix};
pub use router::{
    Arrival, Counters, Datagram, Fate, Key, NeighbourInterface, OnDemandCounts, Path, Port, Reason, Refusal,
    Router,
};
pub use status::{
    DelayStatus, InterfaceStatus, MessageCounts, Messages, NeighbourStatus, OnDemandStatus, RefusalStatus,
    RouteStatus, Status, control, status,
};
