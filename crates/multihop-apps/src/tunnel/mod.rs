//! Forwards TCP over `mesh` or TPA between two hosts, as Indirect-TCP does at a gateway (TPA paper, section 6).
//!
//! The near end accepts TCP connections, for one target each ([`forward`]), for any ([`socks()`]), or those that the
//! firewall redirects to it ([`transparent()`]); the far end, the [`gateway()`], connects to the targets. Each TCP
//! connection has a connection of its own in the tunnel or, with [`Classes`], a channel of a shared connection. In both
//! cases there is no head-of-line blocking, and a close or reset affects no other connection. UDP datagrams of a SOCKS5
//! client, and the [`packets()`] of a TUN interface, share one connection each, or one channel for each class.

use std::io;
use std::time::Duration;

mod address;
mod channel_stream;
mod classes;
mod datagrams;
mod dialer;
mod entrance;
mod entry;
mod gateway;
mod gateway_stream;
mod interface;
mod packets;
#[cfg(target_os = "linux")]
mod redirected;
#[cfg(not(target_os = "linux"))]
#[path = "redirected_elsewhere.rs"]
mod redirected;
mod request;
mod rules;
mod socks;
mod splice;
mod targets;
mod trunk;

pub use address::{Address, Host};
pub use classes::{ClassRule, Classes};
pub use dialer::{Dialer, Gateway, Gateways};
pub use entrance::{Entrance, local};
pub use entry::{forward, socks, transparent};
pub use gateway::gateway;
pub use interface::{Interface, Net};
pub use multihop_linux::wait::raise_limit_of_descriptors;
pub use packets::packets;
pub use redirected::listen_for_redirected;
pub use rules::Rule;

/// Why a connection was not made, with the numbers of SOCKS5 (RFC 1928, section 6).
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("general failure")]
    General = 1,
    #[error("not allowed by the gateway's --allow rules")]
    NotAllowed = 2,
    #[error("network unreachable")]
    Network = 3,
    #[error("host unreachable or unknown")]
    Host = 4,
    #[error("connection refused")]
    Refused = 5,
    #[error("the gateway does not support this command")]
    Command = 7,
    #[error("the gateway does not support this type of address")]
    AddressType = 8,
}

impl Refusal {
    const ALL: [Self; 7] = [
        Self::General,
        Self::NotAllowed,
        Self::Network,
        Self::Host,
        Self::Refused,
        Self::Command,
        Self::AddressType,
    ];

    /// Parses the number; 0 means success.
    fn parse(number: u8) -> Result<(), Self> {
        if number == 0 {
            return Ok(());
        }
        Err(Self::ALL.into_iter().find(|&known| known as u8 == number).unwrap_or(Self::General))
    }

    /// The refusal that corresponds to a failed attempt to connect.
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::TimedOut => Self::Host,
            io::ErrorKind::NetworkUnreachable => Self::Network,
            _ => Self::General,
        }
    }
}

/// Limits the time of `work`.
async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        let text = format!("no result within {} s", limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    })
}

/// A parsed address emits the same bytes.
#[cfg(fuzzing)]
pub(crate) async fn check(bytes: &[u8]) {
    if let Ok(Ok(request)) = request::Request::read(&mut &*bytes).await {
        assert_eq!(request::Request::read(&mut &*request.emit()).await.ok(), Some(Ok(request)));
    }
    let _ = packets::Packet::parse(bytes);
    channel_stream::check(bytes);
    if let Ok(Ok(address)) = Address::read(&mut &*bytes).await {
        let mut out = Vec::new();
        address.emit(&mut out);
        assert_eq!(Address::read(&mut out.as_slice()).await.ok(), Some(Ok(address)));
    }
}

/// Checks that a client of SOCKS5 gets a method, and after an impossible request a reply of ten bytes, and that the
/// text of a requested target stays the same when it is parsed again.
#[cfg(fuzzing)]
pub(crate) async fn check_socks(bytes: &[u8]) {
    let mut replies = Vec::new();
    let wanted = socks::request(&mut tokio::io::join(bytes, &mut replies)).await;
    if let Ok(socks::Wanted::Connect(wanted)) = &wanted {
        let text = wanted.to_string();
        assert!(!text.contains(crate::text::is_unprintable), "{text:?}");
        assert_eq!(text.parse().as_ref(), Ok(wanted));
    }
    match replies.as_slice() {
        [] => assert!(wanted.is_err()),
        [5, 0xff] => assert!(wanted.is_err()),
        [5, 0] => {}
        [5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0] => assert!(*code != 0 && wanted.is_err()),
        other => panic!("{other:?}"),
    }
}

/// The start of a request, with the version.
const MAGIC: &[u8; 16] = b"multihop tunnel\x01";
/// Time for a request to arrive.
const REQUEST: Duration = Duration::from_secs(10);
/// Time for a TCP connection to be established.
const CONNECT: Duration = Duration::from_secs(20);
