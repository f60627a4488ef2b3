//! Results of the classification of datagrams by the protection.

use alloc::vec::Vec;
use multihop_transport::connection::Segment;

use super::opening::Refusal;
use crate::transport::TransportName;

/// Path on which a datagram leaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Path {
    /// The path on which the newest datagram of the peer arrived; the first path if there is no second one.
    Current,
    /// Path to the peer's current address.
    First,
    /// The second path of the connection, with a separate index and separate counters.
    Second,
    /// Path to an address to which the peer may have moved, or from a new address of this end.
    New,
}

/// Indices that identify a connection in datagrams from now on, and indices that no longer do.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct IndexChange {
    pub(crate) added: Option<u32>,
    pub(crate) retired: Option<u32>,
}

/// A random number that the other end must return.
pub(crate) type Challenge = [u8; 8];

/// The classification of a datagram for a connection.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Unprotected {
    /// A segment of this connection and, if encrypted, its order among the sender's datagrams.
    Segment(Segment, Option<Freshness>),
    /// The answer to this end's SYN, and the transport in it.
    Answer(Segment, TransportName),
    /// Refusal of this end's SYN by the listener.
    Refused(Refusal),
    /// Challenge of a peer that validates the address from which this end seems to send.
    Challenge(Challenge),
    /// Response of the peer, which shows that it received a challenge.
    Response(Challenge, Freshness),
    /// A message about new keys or indices, which has been processed.
    Processed(Freshness),
    /// Request of the peer for the index after the one with this number.
    Request(u64, Freshness),
    /// An authentic datagram that has arrived before.
    Duplicate,
    /// A cookie: the SYN must be retransmitted at once and include the cookie.
    NewCookie,
    /// The datagram is forged, malformed or useless in this state.
    Ignored,
}

/// Decision about a datagram that belongs to no connection.
#[derive(Debug)]
pub(crate) enum FirstContact {
    /// Drop the datagram without an answer.
    Ignore,
    /// Send this datagram to the address from which the peer's datagram came.
    Reply(Vec<u8>),
    /// Send this reset back, within the limit per peer.
    Refuse(Vec<u8>),
    /// Send this reset back, within the limit for resets: it reports that this host no longer has the
    /// connection's state.
    Forgotten(Vec<u8>),
    /// The sender wants to connect, and the silent listener answers only if the sender proves its identity.
    Stranger,
    /// The sender wants to connect and has proved its address.
    AddressProved,
}

/// Order of an authentic datagram among all datagrams of its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Freshness {
    /// The datagram is newer than all that have arrived before.
    Newest,
    /// A datagram that was sent later has arrived before.
    Late,
    /// The datagram has arrived before.
    Duplicate,
}
