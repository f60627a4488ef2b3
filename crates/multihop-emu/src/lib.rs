//! Emulated networks for real programs, in user space. A seed decides the faults of each packet; the wall clock
//! decides when they happen.
//!
//! An [`EmulatedLink`] is a state machine in virtual time. Two drivers put it between programs: a [`Relay`] between
//! UDP sockets, which needs no privileges, and a [`Path`] between two network namespaces, which carries every
//! protocol and needs root.

mod clock;
mod link;
mod relay;

pub use link::{Cut, EmulatedLink, LinkCounters, Settings};
pub use relay::Relay;

#[cfg(target_os = "linux")]
mod linux {
    pub(crate) mod chain;
    pub(crate) mod path;
}
#[cfg(target_os = "linux")]
pub use linux::{chain::Chain, path::Path};
#[cfg(target_os = "linux")]
pub use multihop_linux::netns::Namespace;
