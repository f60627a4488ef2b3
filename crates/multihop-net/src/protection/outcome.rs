//! What the protection makes of a datagram.

use multihop_wire::tpa::Segment;

use super::encrypted::Freshness;
use crate::keys::PublicKey;

/// What a datagram for a connection turned out to be.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Unprotected {
    /// A segment of this connection, and its place among the sender's datagrams if it was encrypted.
    Segment(Segment, Option<Freshness>),
    /// An authentic datagram that has arrived before.
    Duplicate,
    /// A cookie: the SYN must be retransmitted at once, with the cookie in it.
    NewCookie,
    /// The peer has proved a key that this end does not accept.
    WrongKey(PublicKey),
    /// Forged, malformed or of no use in this state.
    Ignored,
}

/// What to do with a datagram that belongs to no connection.
#[derive(Debug)]
pub(crate) enum FirstContact {
    /// Drop it.
    Ignore,
    /// Send this datagram back.
    Reply(Vec<u8>),
    /// Answer this segment with a reset, within the limits for resets.
    Reset(Segment),
    /// The sender wants to connect and has proved its address.
    AddressProved,
}
