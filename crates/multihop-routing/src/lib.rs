//! Routing agents: packets that need a next hop, messages and link news in; decisions and messages
//! out.
//!
//! No clock, no socket, no thread: `no_std` with `alloc`. Packets stay with the driver; an agent
//! holds tickets for them.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod agent;
pub mod aodv;
pub mod apdr;
pub mod dsr;
pub mod message;
pub mod network;
pub mod olsr;
mod settings;
