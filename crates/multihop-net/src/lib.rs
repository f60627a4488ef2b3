//! TPA on real UDP sockets.
//!
//! A [`Hub`](hub::Hub) is the state machine of all connections of one socket: datagrams and time in, datagrams
//! out. A tokio task drives it ([`TpaListener`], [`TpaStream`]); tests drive it in virtual time.

mod alarm;
mod config;
mod datagram;
mod dial;
mod driver;
mod error;
mod frames;
mod interfaces;
mod listener;
mod primitives;
mod protection;
mod routes;
mod socket;
mod stats;
mod stream;
mod transport;

#[cfg(unix)]
pub mod bridge;
pub mod code;
pub mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod hub;
pub mod keys;
pub mod perf;
pub mod text;
pub mod tunnel;

pub use config::{Config, Limits, Peers, Security, SocketOptions};
pub use dial::dial;
pub use error::{Error, Reason};
pub use interfaces::reachable_at;
pub use keys::{AuthorizedKeys, Identity, KnownPeers, PublicKey, SharedKey, Token};
pub use listener::TpaListener;
pub use stats::Stats;
pub use stream::TpaStream;
pub use transport::{CustomTransport, TransportName};
