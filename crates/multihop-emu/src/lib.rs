//! Bad networks for real programs, in user space and repeatable: what happens to a packet is drawn from a
//! seed, when it happens is up to the wall clock.
//!
//! A [`Link`] is a machine in virtual time and decides everything. Two drivers put it between real
//! programs: a [`Relay`] between UDP sockets, which needs no rights, and a [`Path`] between two network
//! namespaces, which carries every protocol and needs root.

mod clock;
mod link;
mod relay;

pub use link::{Counters, Cut, Link, Settings};
pub use relay::Relay;

#[cfg(target_os = "linux")]
mod linux {
    pub(crate) mod chain;
    pub(crate) mod namespace;
    pub(crate) mod path;
    pub(crate) mod tun;
}
#[cfg(target_os = "linux")]
pub use linux::{chain::Chain, namespace::Namespace, path::Path};
