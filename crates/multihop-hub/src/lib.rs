//! Many connections on one socket, without the socket.
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
pub use error::{Error, Reason};
pub use hub::{Environment, Hub, HubEvent, Id};
pub use keys::{Identity, PublicKey, SharedKey, TextError, Token};
pub use stats::Stats;
pub use transport::{CustomTransport, TransportName};
