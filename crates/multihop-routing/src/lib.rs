//! Routing agents. Inputs: packets that need a next hop, messages and link failures. Outputs:
//! forwarding decisions, messages and notices.
//!
//! No clock, no socket, no thread: `no_std` with `alloc`. The driver stores the packets; an agent
//! holds tickets for them.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod addresses;
pub mod agent;
pub mod aodv;
pub mod apdr;
pub mod babel;
pub mod batman;
pub mod dsr;
mod duplicates;
pub mod hwmp;
pub mod message;
pub mod network;
pub mod olsr;
pub mod olsrv2;
mod peers;
pub mod protocol;
mod relays;
mod search;
mod settings;
#[doc(hidden)]
pub mod steps;
mod table;
mod usage;
mod watch;
