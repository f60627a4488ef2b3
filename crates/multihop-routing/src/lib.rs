//! Routing protocols as state machines: AODV, DSR, OLSR and APDR.
//!
//! An agent runs on one node. [`agent::Input`] brings it packets that need a next hop, messages of its protocol and
//! link failures. [`agent::Output`] is what its driver then does: forward or drop a packet, transmit a message, notify
//! the connections of the host. The driver keeps the packets; an agent holds [`agent::Ticket`]s for them.
//!
//! * [`agent::RoutingAgent`]: the interface of all agents, on top of [`multihop_core::Machine`].
//! * [`network::AgentConfig`]: a protocol's parameters, which create the agents of all nodes.
//! * [`protocol::PROTOCOLS`]: the table of built-in protocols. A user-defined protocol implements the same two traits.
//!
//! Two neighbours run AODV; the first one has a packet for the second.
//!
//! ```
//! use std::net::Ipv4Addr;
//!
//! use multihop_core::{Instant, Interface, Machine, Rng};
//! use multihop_routing::agent::{Input, NO_FLOW, Output, Routable, Ticket};
//! use multihop_routing::aodv::{Agent, Config};
//!
//! let [here, there] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
//! let mut now = Instant::ZERO;
//! let agent = |address| Agent::new(Config::default(), address, Instant::ZERO, Rng::stream(1, "aodv", 0));
//! let mut agents = [here, there].map(agent);
//! let (source, destination) = (here, there);
//! let (ticket, previous_hop) = (Ticket(7), None);
//! let packet = Routable { ticket, source, destination, previous_hop, hops: 0, flow: NO_FLOW, route: None };
//! agents[0].handle(now, Input::Packet(packet));
//! let next_hop = loop {
//!     match (0..2).find_map(|n| Some((n, agents[n].poll_output(now)?))) {
//!         Some((_, Output::Forward { ticket: Ticket(7), next_hop, .. })) => break next_hop,
//!         Some((n, Output::Message { ttl, message, .. })) => {
//!             let message = Input::Message { interface: Interface(0), from: [here, there][n], ttl, message };
//!             agents[1 - n].handle(now, message);
//!         }
//!         Some(_) => {}
//!         None => {
//!             now = agents.iter().filter_map(Machine::poll_timeout).min().expect("the search has a deadline");
//!             agents.iter_mut().for_each(|agent| agent.handle_timeout(now));
//!         }
//!     }
//! };
//! assert_eq!(next_hop, there);
//! ```
//!
//! The crate is `no_std` with `alloc`: it has no clock, no socket and no thread, and stores no packets.
//! `multihop-route` runs agents on real interfaces.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod addresses;
pub mod agent;
pub mod aodv;
pub mod apdr;
pub mod dsr;
pub mod forwarder;
pub mod host;
pub mod link_state;
pub mod message;
pub mod network;
pub mod olsr;
pub mod peers;
pub mod protocol;
pub mod settings;
mod sorted;
#[doc(hidden)]
pub mod steps;
mod usage;
pub mod watch;
