//! Which connection a datagram belongs to.

use core::net::SocketAddr;

/// How a datagram identifies its connection.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Destination {
    /// The connection with the peer at this address.
    Peer(SocketAddr),
    /// The connection with this index.
    Index(u32),
    /// The connection that the initiator at this address opened with this index.
    Hello(SocketAddr, u32),
}
