//! Many connections behind one UDP socket, without the socket: `no_std` with `alloc`.
//!
//! A [`Hub`] has the connections, their transports, and their protection (plain, or encrypted with a [`Token`] or keys). It
//! has no clock, no socket and no randomness of its own. A driver passes in datagrams ([`Hub::receive`]) and time
//! ([`Hub::handle_timeout`]). After either, and after every call of an application, it drains [`Hub::poll_transmit`] and
//! [`Hub::poll_event`], then asks [`Hub::poll_timeout`] when to come back.
//!
//! ```
//! use core::net::SocketAddr;
//! use multihop_core::{Duration, Instant};
//! use multihop_hub::{Config, Environment, Hub, IncomingDatagram, Security};
//!
//! fn hub(port: u16) -> Hub {
//!     let mut random = u32::from(port);
//!     let entropy = move |bytes: &mut [u8]| {
//!         for byte in bytes {
//!             random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223); // A real source is unpredictable.
//!             *byte = random.to_be_bytes()[0];
//!         }
//!     };
//!     let (path_mtu, local_address) = (Box::new(|_, _| Some(1500)), Box::new(|_| None));
//!     let environment = Environment { entropy: Box::new(entropy), path_mtu, local_address };
//!     Hub::new(&Config::new(Security::Plain), port, environment).unwrap()
//! }
//!
//! let addresses = [7000, 7001].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
//! let (mut hubs, mut now, mut text) = (addresses.map(|address| hub(address.port())), Instant::ZERO, [0; 5]);
//! hubs[1].listen();
//! let caller = hubs[0].connect(addresses[1]).unwrap();
//! let (mut written, mut answerer) = (0, None);
//! for _ in 0..100 {
//!     now += Duration::from_millis(1);
//!     for end in [0, 1] {
//!         let mut bytes = Vec::new();
//!         while let Some(sent) = hubs[end].poll_transmit(now, &mut bytes) {
//!             let datagram = &bytes[bytes.len() - sent.len..];
//!             let datagram = IncomingDatagram { from: addresses[end], local: None, ttl: None, bytes: datagram };
//!             hubs[1 - end].receive(now, datagram);
//!         }
//!         hubs[end].handle_timeout(now);
//!     }
//!     if written == 0 && hubs[0].is_connected(caller).unwrap() {
//!         written = hubs[0].write(now, caller, b"hello").unwrap();
//!     }
//!     answerer = answerer.or_else(|| hubs[1].accept());
//!     if answerer.is_some_and(|id| hubs[1].read(id, &mut text).unwrap() == Some(5)) {
//!         break;
//!     }
//! }
//! assert_eq!(&text, b"hello");
//! ```
//!
//! The feature `std` makes [`Error`] an error of `std::io`, makes keys from the system's random numbers, and encrypts by ring. Sockets
//! and files of keys are in `multihop-net`.
#![cfg_attr(not(test), no_std)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod config;
mod datagram;
mod error;
mod hub;
mod keys;
mod primitives;
mod protection;
mod reason;
mod segment;
mod stats;
mod transport;
mod version;

#[cfg(fuzzing)]
pub mod fuzzing;

pub use config::{Config, Limits, PeerKeys, Peers, Security};
pub use datagram::{
    DeliveryFailure, Entropy, FailureCause, IncomingDatagram, LocalAddressTo, PathMtu, RouteChange, Transmit,
};
pub use error::Error;
pub use hub::{Environment, Hub, HubEvent, Id};
pub use keys::{GroupKey, Identity, PublicKey, SIGNATURE, SharedKey, TextError, Token};
pub use reason::Reason;
pub use stats::{DeclaredCounters, Stats};
pub use transport::{Transport, TransportName};
