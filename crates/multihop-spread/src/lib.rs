//! Protocol that distributes one file to all nodes of a mesh by broadcasts, as a state machine.
//!
//! A [`Node`] is sender, relay and receiver in one. It has no clock, no socket and no access to files. A driver passes in packets
//! of neighbours ([`Node::handle`]) and time ([`Node::handle_timeout`]). After either it drains [`Node::poll_output`], whose
//! events ask for work on files, and calls [`Node::poll_transmit`] whenever the radio can take one more packet. Packets that
//! wait in the node can still be cancelled when they are no longer needed, so a driver must not queue many.
//!
//! The driver seals packets, and verifies the signature of each offer before the node gets it. `docs/models/spread.md`
//! describes the protocol, and `docs/wire.md` the bytes of packets. In this example, one node sends a file to another:
//!
//! ```
//! use multihop_core::{Duration, Instant};
//! use multihop_spread::{Config, Event, Header, Input, Node, SYMBOL, SYMBOLS, manifest};
//!
//! let file = vec![7; 100_000];
//! let (manifest, sha256, manifest_sha256) = manifest(&file[..], SYMBOL, SYMBOLS)?;
//! let header = Header {
//!     name: "map".to_owned(), size: 100_000, sha256, manifest: manifest_sha256,
//!     symbol: SYMBOL, symbols: SYMBOLS, source: [0; 32],
//! };
//! let mut nodes = [Node::new(Config::new(1, "post"), 1), Node::new(Config::new(2, "car"), 2)];
//! let (mut now, mut received) = (Instant::ZERO, Vec::new());
//! nodes[0].offer(now, header, [0; 64], manifest, 1);
//! while received.len() < file.len() {
//!     now += Duration::from_millis(1);
//!     for this in 0..2 {
//!         nodes[this].handle_timeout(now);
//!         while let Some(event) = nodes[this].poll_output() {
//!             let answer = match event {
//!                 Event::Offered { transfer, .. } => Input::Accept(transfer),
//!                 Event::Survey { transfer } => Input::Surveyed { transfer, whole: Vec::new() },
//!                 Event::Read { transfer, block } => Input::Contents { transfer, block, contents: Some(file.clone()) },
//!                 Event::Store { contents, .. } => { received.extend(contents); continue }
//!                 _ => continue,
//!             };
//!             nodes[this].handle(now, answer);
//!         }
//!         while let Some(packet) = nodes[this].poll_transmit(now) {
//!             nodes[1 - this].handle(now, Input::Packet { from: this as u64, packet });
//!         }
//!     }
//! }
//! assert_eq!(received, file);
//! # Ok::<(), std::io::Error>(())
//! ```

mod block;
mod config;
mod header;
mod manifest;
mod node;
mod packet;
mod schedule;

pub use config::Config;
pub use header::{HASH, Header, InvalidHeader, MAX_SYMBOL, SYMBOL, SYMBOLS, TransferId};
pub use manifest::manifest;
pub use node::{Counters, Event, Input, Node, Receiver};
pub use packet::{Body, MAX_NAME, MAX_PACKET, Offer, Packet, Progress, REFUSED, Symbol, UNKNOWN};
