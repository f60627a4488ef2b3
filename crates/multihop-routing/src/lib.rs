//! Routing agents. Inputs: packets that need a next hop, messages and link failures. Outputs:
//! forwarding decisions, messages and notices.
//!
//! No clock, no socket, no thread: `no_std` with `alloc`. The driver stores the packets; an agent
//! holds tickets for them.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod agent;
pub mod aodv;
pub mod apdr;
pub mod babel;
pub mod batman;
pub mod dsr;
pub mod message;
pub mod network;
pub mod olsr;
pub mod protocol;
mod settings;
mod usage;
mod watch;
