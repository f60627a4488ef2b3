//! Routing daemon for Linux: runs an agent of `multihop-routing` on real interfaces and installs its routes in the
//! kernel.
//!
//! * [`run`] is the daemon: it talks to the neighbours over UDP and updates the kernel's routes until [`Stop`] ends
//!   it. [`Config`] has its interfaces, protocol, key and routing table.
//! * [`Router`] is the daemon without sockets: datagrams and time go in; datagrams and routes come out.
//! * [`status()`] asks a running daemon for its [`Status`], [`flush()`] removes the routes of a daemon that was killed.
//!
//! Two routers on one link find each other:
//!
//! ```
//! use std::net::Ipv4Addr;
//!
//! use multihop_core::{Duration, Instant};
//! use multihop_route::{Arrival, Config, Port, Prefix, Router};
//!
//! let addresses = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
//! let mut now = Instant::ZERO;
//! let mut routers = [0, 1].map(|n| {
//!     let mut router = Router::new(Config::default(), n, 0);
//!     router.set_ports(now, &[Port::new(2, addresses[n as usize])]);
//!     router
//! });
//! for _ in 0..200 {
//!     now = now + Duration::from_millis(100);
//!     for n in [0, 1] {
//!         routers[n].handle_timeout(now);
//!         for datagram in routers[n].take_datagrams(now) {
//!             let (to_all, ttl) = (datagram.to.is_none(), datagram.ttl);
//!             let arrival = Arrival { interface: 2, from: addresses[n].into(), to_all, ttl, ago: Duration::ZERO };
//!             routers[1 - n].receive(now, arrival, &datagram.bytes);
//!         }
//!     }
//! }
//! assert_eq!(routers[0].routes(now)[&Prefix::host(addresses[1])].hops, Some(1));
//! ```
//!
//! The daemon does not forward packets (the kernel does), assigns no addresses and configures no Wi-Fi. It runs OLSR,
//! APDR and AODV, and the protocols that a program registers ([`Protocols`]) and that run on hosts.
#![cfg(target_os = "linux")]

mod budget;
mod catcher;
mod config;
mod daemon;
mod delay;
mod filter;
mod flows;
mod flush;
mod inbox;
mod kernel;
mod links;
mod observer;
mod parameters;
mod paths;
mod prefix;
mod router;
mod socket;
mod status;
mod usage;

pub use config::{Config, HostProtocol, Protocols, Routing};
pub use daemon::{Reload, RouteError, Stop, run};
pub use delay::Radio;
pub use flows::Flow;
pub use flush::flush;
pub use kernel::PROTOCOL;
pub use links::QueueStatus;
pub use paths::segment;
pub use prefix::{Family, Prefix};
pub use router::{
    Arrival, Counters, Datagram, Key, NeighbourInterface, OnDemandCounts, PacketOutcome, Path, Port, Reason,
    Refusal, ReservedPath, Router,
};
pub use status::{
    DelayStatus, InterfaceStatus, MessageCounts, Messages, NeighbourStatus, OnDemandStatus, RefusalStatus,
    ReservedStatus, RouteStatus, Status, control, status,
};
