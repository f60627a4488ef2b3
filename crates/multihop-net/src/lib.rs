//! TPA on real UDP sockets.
//!
//! A [`Hub`](multihop_hub::Hub) is the state machine of all connections of one socket: datagrams and time in, datagrams
//! out. A tokio task drives it ([`TpaListener`], [`TpaStream`]); tests drive it in virtual time.

mod alarm;
mod config;
mod driver;
mod listener;
mod routes;
mod socket;
mod stream;

#[cfg(fuzzing)]
pub mod fuzzing;
pub mod keys;

pub use config::{Config, Peers, Security, SocketOptions};
pub use keys::{AuthorizedKeys, Identity, KnownPeers, PublicKey, SecretFile, SharedKey, Token};
pub use listener::TpaListener;
pub use multihop_hub::{CustomTransport, Error, Limits, Reason, Stats, TransportName};
pub use stream::{StatsReader, TpaStream};
