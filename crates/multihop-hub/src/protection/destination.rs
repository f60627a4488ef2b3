//! Identification of the connection of a datagram.

use core::net::SocketAddr;

/// Identification of a connection in a datagram.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Destination {
    /// The connection with the peer at this address.
    Peer(SocketAddr),
    /// The connection with this index.
    Index(u32),
    /// The connection that the initiator at this address opened with this index.
    Hello(SocketAddr, u32),
}
