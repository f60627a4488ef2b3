//! Types that every other crate of multihop uses, without a clock, a socket or a thread.
//!
//! | type | for |
//! |---|---|
//! | [`Machine`] | a protocol as a state machine, which a driver moves on |
//! | [`Instant`], [`Duration`] | time in whole nanoseconds; nothing here reads a clock |
//! | [`Timers`] | the deadlines of one machine, at most one per kind |
//! | [`Rng`] | named streams of random numbers, the same on every machine |
//! | [`NodeId`], [`FlowId`], [`Interface`] | identities, with the addresses of simulated nodes |
//! | [`Notice`], [`DropReason`] | link failures that layers report to each other, and reasons for drops |
//! | [`Payload`], [`BitRate`] | application data, and bits per second |
//! | [`settings`] | the keys of a configuration, with bounds and help |
//!
//! A machine takes input and time, and returns outputs and its next deadline:
//!
//! ```
//! use multihop_core::{Duration, Instant, Timers};
//!
//! #[derive(Clone, Copy, PartialEq)]
//! enum Timer {
//!     Hello,
//!     Retry,
//! }
//!
//! let mut timers = Timers::new([Timer::Hello, Timer::Retry]);
//! timers.set(Timer::Retry, Instant::ZERO + Duration::from_millis(300));
//! timers.set(Timer::Hello, Instant::ZERO + Duration::from_secs(1));
//! let now = timers.next().unwrap();
//! assert_eq!(now, Instant::ZERO + Duration::from_millis(300));
//! assert!(timers.pop_expired(now) == Some(Timer::Retry));
//! assert!(timers.pop_expired(now).is_none(), "the HELLO is not due yet");
//! ```
//!
//! The crate is `no_std` with `alloc` and has no dependencies. Protocols, radio models and drivers are in other crates.
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
pub use prefetch::{MANY_NODES, prefetch_at, prefetch_start};

mod rng;
pub use rng::Rng;

pub mod settings;

mod time;
pub use time::{Duration, Instant, earliest};

mod timers;
pub use timers::Timers;

mod units;
pub use units::BitRate;
