use std::net::SocketAddr;

/// What a datagram says about the connection that it is for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Destination {
    /// The connection with the peer at this address.
    Peer(SocketAddr),
    /// The connection with this index.
    Index(u32),
    /// The connection that the initiator at this address opened with this index.
    Hello(SocketAddr, u32),
}
