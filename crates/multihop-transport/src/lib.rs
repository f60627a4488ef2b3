//! End-to-end state machines: packets and time in, packets and events out.
//!
//! No clock, no socket, no thread: `no_std` with `alloc`. A driver passes in what arrives, sends
//! the outputs, and comes back at the endpoint's deadline.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod bytes;
mod event;
mod named;
mod pool;
mod sendq;
mod settings;

pub mod congestion;
pub mod connection;
pub mod lifecycle;
pub mod mesh;
pub mod observe;
pub mod pacing;
pub mod refusals;
pub mod rtt;
pub mod tcp;
pub mod tpa;

pub use bytes::ByteQueue;
pub use event::Output;
pub use pool::Pool;
pub use sendq::SendQueue;
