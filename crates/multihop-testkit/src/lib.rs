//! Tools for tests and benchmarks of state machines and of real programs.
//!
//! | item | for |
//! |---|---|
//! | [`Script`] | one state machine, driven by packets with times |
//! | [`Pair`] | two state machines, joined by lossy links in virtual time |
//! | [`TestNetwork`] | any number of state machines with changing links |
//! | [`LossyLink`] | a link that delays, loses, duplicates and reorders |
//! | [`CountingAllocator`] | the allocations of a piece of code |
//! | `impaired` | networks for real programs (Unix) |
//! | [`every_key_changes`] | keys of a configuration |
//! | `damage`, `capture` | formats of packets, also as tshark reads them (feature `formats`) |
//! | `disk` | states that a disk may have after a loss of power (Unix) |
//!
//! ```
//! use multihop_core::{Duration, Instant, Machine, Rng};
//! use multihop_testkit::{LinkConfig, LossyLink};
//!
//! let config = LinkConfig { delay: Duration::from_millis(20), loss: 0.5, ..LinkConfig::default() };
//! let mut link = LossyLink::new(config, Rng::stream(1, "test/link", 0));
//! for packet in 0..1000 {
//!     link.handle(Instant::ZERO, packet);
//! }
//! let late = Instant::ZERO + Duration::from_millis(20);
//! let arrived = core::iter::from_fn(|| link.poll_output(late)).count();
//! assert!((400..600).contains(&arrived));
//! ```
//!
//! State machines are tested as a [`Machine`](multihop_core::Machine), so this crate depends on no protocol. It has no
//! radio model: links lose packets independently of each other, without interference. No crate uses it outside of tests and
//! benchmarks.

mod allocations;
#[cfg(feature = "formats")]
pub mod capture;
#[cfg(feature = "formats")]
pub mod damage;
#[cfg(unix)]
pub mod disk;
#[cfg(unix)]
pub mod impaired;
mod keys;
mod link;
mod network;
mod pair;
mod script;

pub use allocations::CountingAllocator;
pub use keys::every_key_changes;
pub use link::{Fate, LinkConfig, LossyLink};
pub use network::{Action, Adapter, TestLink, TestNetwork};
pub use pair::{Pair, Port};
pub use script::Script;
