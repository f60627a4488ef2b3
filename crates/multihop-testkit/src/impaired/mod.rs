//! Impaired networks for real programs, in user space. A seed decides the faults of each packet; the wall clock
//! decides when they happen. The example `impair` makes them for programs of any language.
//!
//! An [`ImpairedLink`] is a state machine in virtual time. Two drivers put it between programs: a [`Relay`] between
//! UDP sockets, which needs no privileges, and a [`Path`] between two network namespaces, which carries every
//! protocol and needs root.

mod clock;
mod link;
mod relay;

pub use link::{Cut, ImpairedLink, LinkCounters, Settings};
pub use relay::Relay;

#[cfg(target_os = "linux")]
mod chain;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
pub use self::{chain::Chain, path::Path};
