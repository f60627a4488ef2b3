//! Reliable streams over UDP, for paths of several wireless hops.
//!
//! A [`Listener`] accepts connections on one UDP socket. A [`Stream`] is one end of a connection: a tokio stream of bytes
//! in both directions, of which each can be closed by itself. Their [`Config`] selects the transport (TPA, `mesh` or a user-defined
//! one) and the [`Security`]: plain, a [`Token`] that both ends have, or keys like those of ssh ([`Identity`],
//! [`KnownPeers`], [`AuthorizedKeys`]).
//!
//! ```
//! use multihop_net::{Config, Listener, Security, Stream, Token};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main]
//! # async fn main() -> std::io::Result<()> {
//! let config = Config::new(Security::Token(Token::generate()?));
//! let listener = Listener::bind(([127, 0, 0, 1], 0).into(), config.clone()).await?;
//! let address = listener.local_addr();
//! tokio::spawn(async move {
//!     let mut stream = listener.accept().await?;
//!     stream.write_all(b"hello").await?;
//!     stream.shutdown().await
//! });
//!
//! let mut stream = Stream::connect(address, &config).await?;
//! let mut text = String::new();
//! stream.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # }
//! ```
//!
//! `examples/capitals.rs` in the repository is a complete program. Connections survive changes of the caller's address, and
//! loss of the path for as long as the transport's patience allows; [`Stream::stats`] returns the state and the statistics
//! of a connection.
//!
//! With `mesh`, a connection has [channels](Channel) of messages with classes and deadlines. There are no certificates, and
//! both ends must use multihop: its protocol is neither TCP nor QUIC. Files, tunnels and measurements over streams are in
//! `multihop-apps`; connections without sockets and tokio in [`multihop_hub`].

#[cfg(not(unix))]
compile_error!(
    "multihop-net and the commands for networks need a Unix system; `multihop-cli` with only the feature `simulate` works everywhere"
);

mod alarm;
mod channel;
mod config;
mod driver;
mod handle;
mod listener;
mod routes;
mod socket;
mod stream;

#[cfg(fuzzing)]
pub mod fuzzing;
pub mod keys;

pub use channel::Channel;
pub use config::{Config, Peers, Security, SocketOptions};
pub use keys::{AuthorizedKeys, GroupKey, Identity, KnownPeers, PublicKey, SecretFile, SharedKey, Token};
pub use listener::Listener;
pub use multihop_hub::{DeclaredCounters, Error, Limits, Reason, Stats, Transport, TransportName};
pub use multihop_transport::channel::{
    ChannelCounters, ChannelId, Content, Options as ChannelOptions, Received,
};
pub use multihop_transport::{lifecycle, mesh, tpa};
pub use stream::{StatsReader, Stream};

/// The name of [`Transport`] before version 0.3.
#[deprecated(since = "0.3.0", note = "use Transport, which also stands for TPA")]
pub type CustomTransport = Transport;

/// The name of [`Listener`] before version 0.3.
#[deprecated(since = "0.3.0", note = "use Listener, which has other transports than TPA as well")]
pub type TpaListener = Listener;

/// The name of [`Stream`] before version 0.3.
#[deprecated(since = "0.3.0", note = "use Stream, which has other transports than TPA as well")]
pub type TpaStream = Stream;
