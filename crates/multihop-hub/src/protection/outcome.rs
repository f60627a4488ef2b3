//! How the protection classifies a datagram.

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
    /// The second path of the connection, with an index and counters of its own.
    Second,
    /// Path to an address to which the peer may have moved, or from a new address of this end.
    New,
}

/// Indices by which datagrams name a connection from now on, and no longer.
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
    /// A segment of this connection, and its place among the sender's datagrams if it was encrypted.
    Segment(Segment, Option<Freshness>),
    /// The answer to our SYN, and the transport that it names.
    Answer(Segment, TransportName),
    /// The listener refuses our SYN.
    Refused(Refusal),
    /// Challenge of a peer that validates the address from which this end seems to send.
    Challenge(Challenge),
    /// The peer shows that it received a challenge.
    Response(Challenge, Freshness),
    /// A message about new keys or indices, which has been processed.
    Processed(Freshness),
    /// Request of the peer for the index after the one with this number.
    Request(u64, Freshness),
    /// An authentic datagram that has arrived before.
    Duplicate,
    /// A cookie: the SYN must be retransmitted at once, with the cookie in it.
    NewCookie,
    /// Forged, malformed or of no use in this state.
    Ignored,
}

/// Decision about a datagram that belongs to no connection.
#[derive(Debug)]
pub(crate) enum FirstContact {
    /// Drop the datagram without an answer.
    Ignore,
    /// Send this datagram to the address from which the peer's datagram came.
    Reply(Vec<u8>),
    /// Send this reset back, within the limit for each peer.
    Refuse(Vec<u8>),
    /// Reset to be sent back, within the limit for resets: it reports that the connection is forgotten.
    Forgotten(Vec<u8>),
    /// The sender wants to connect and the listener is silent: it answers only if the sender proves its identity.
    Stranger,
    /// The sender wants to connect and has proved its address.
    AddressProved,
}

/// The order of an authentic datagram among those of its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Freshness {
    /// The datagram is newer than all that have arrived.
    Newest,
    /// A datagram that was sent later has arrived before.
    Late,
    /// The datagram has arrived before.
    Duplicate,
}
