//! The types that every other crate uses: time, state machines and their timers, named
//! random streams, identities, cross-layer notices, payloads, units and the reasons for drops.
//!
//! No clock, no socket, no thread: `no_std` with `alloc`, and no dependencies.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod drop_reason;
pub use drop_reason::DropReason;

mod ids;
pub use ids::{FlowId, Interface, NodeId};

mod machine;
pub use machine::Machine;

mod notice;
pub use notice::{LostSegment, Notice, SegmentId};

mod payload;
pub use payload::Payload;

mod prefetch;
pub use prefetch::{MANY_NODES, prefetch};

mod rng;
pub use rng::Rng;

pub mod settings;

mod time;
pub use time::{Duration, Instant, earliest};

mod timers;
pub use timers::Timers;

mod units;
pub use units::BitRate;
