//! TPA on real UDP sockets.
//!
//! A [`Hub`](hub::Hub) is the state machine of all connections of one socket: datagrams and time in, datagrams
//! out. A tokio task drives it ([`TpaListener`], [`TpaStream`]); tests drive it in virtual time.

mod alarm;
mod config;
mod datagram;
mod driver;
mod error;
mod listener;
mod primitives;
mod protection;
mod routes;
mod segment;
mod socket;
mod stats;
mod stream;
mod transport;
mod version;

#[cfg(fuzzing)]
pub mod fuzzing;
pub mod hub;
pub mod keys;

pub use config::{Config, Limits, Peers, Security, SocketOptions};
pub use error::{Error, Reason};
pub use keys::{AuthorizedKeys, Identity, KnownPeers, PublicKey, SecretFile, SharedKey, Token};
pub use listener::TpaListener;
pub use stats::Stats;
pub use stream::{StatsReader, TpaStream};
pub use transport::{CustomTransport, TransportName};
