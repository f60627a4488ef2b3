//! Transport protocols for paths of several wireless hops, as state machines: packets and time in, packets and events out.
//!
//! | module | for |
//! |---|---|
//! | [`tcp`] | TCP with its variants for multi-hop networks, among them ADTCP and pacing |
//! | [`congestion`] | the congestion controls of TCP, built-in or your own |
//! | [`tpa`] | TPA, which sends in blocks and pauses while a route is broken |
//! | [`mesh`] | `mesh`, whose rate follows the queueing delay |
//! | [`channel`] | messages of several classes over one connection |
//! | [`connection`] | one interface to all of them, and to transports of your own |
//! | [`observe`] | counters and time series that a transport declares |
//!
//! A driver passes in the segments that arrive, transmits the outputs, and calls `handle_timeout` at the deadline of the
//! endpoint (`poll_timeout`). This driver of two endpoints calls it every 5 ms:
//!
//! ```
//! use multihop_core::{Duration, Instant, Machine, Payload};
//! use multihop_transport::Output;
//! use multihop_transport::tcp::{Config, Data, Input, Ports, TcpEnd};
//! use multihop_wire::tcp::SeqNumber;
//!
//! let mut now = Instant::ZERO;
//! let mut ends = [(4000, 80), (80, 4000)]
//!     .map(|(local, remote)| TcpEnd::new(Config::rfc(), Ports { local, remote }, SeqNumber(7)));
//! ends[1].listen();
//! ends[0].connect();
//! ends[0].send(Data::Bytes(b"hello".to_vec())).unwrap();
//! for _ in 0..10 {
//!     now += Duration::from_millis(5);
//!     for end in [0, 1] {
//!         ends[end].handle_timeout(now);
//!         while let Some(output) = ends[end].poll_output(now) {
//!             if let Output::Segment(segment) = output {
//!                 ends[1 - end].handle(now, Input::Segment(segment));
//!             }
//!         }
//!     }
//! }
//! assert_eq!(ends[1].read(100), Payload::Bytes(b"hello".to_vec()));
//! ```
//!
//! The crate has no clock, no socket, no thread and no encryption, and is `no_std` with `alloc`. `multihop-hub` runs many
//! connections behind one UDP socket, plain or encrypted.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod bytes;
mod event;
mod named;
mod pool;
mod sendq;
mod settings;

pub mod channel;
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
