//! The protection of a connection: plain or encrypted.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use multihop_core::Instant;
use multihop_transport::connection::Segment;

use super::destination::Destination;
use super::encrypted::message::Content;
use super::encrypted::session::Session;
use super::encrypted::{OVERHEAD, Pending, ResetToken, SecureDatagram};
use super::outcome::{Challenge, IndexChange, Path, Unprotected};
use super::plain::PlainSession;
use crate::datagram::{Entropy, IncomingDatagram};
use crate::error::Error;
use crate::keys::PublicKey;
use crate::transport::TransportName;

/// Converts the segments of one connection into datagrams, and datagrams into segments.
pub(crate) enum Protection {
    /// No protection: segments are sent unchanged.
    Plain(PlainSession),
    /// Segments are encrypted and authenticated.
    Encrypted(Box<Session>),
}

impl Protection {
    /// Bytes that the protection adds to a segment.
    pub(crate) fn overhead(&self) -> u16 {
        match self {
            Self::Plain(_) => 0,
            Self::Encrypted(_) => OVERHEAD,
        }
    }

    /// Takes over the proof of this end's address from an earlier connection to the same listener.
    pub(crate) fn take_cookie(&mut self, earlier: &Self) {
        if let (Self::Plain(plain), Self::Plain(earlier)) = (self, earlier) {
            plain.take_cookie(earlier);
        }
    }

    /// Accepts a buffer for the data of the next received segment.
    pub(crate) fn reuse(&mut self, memory: Vec<u8>) {
        match self {
            Self::Plain(plain) => plain.reuse(memory),
            Self::Encrypted(session) => session.reuse(memory),
        }
    }

    /// The transport in this end's SYN, or in its answer to the peer's SYN.
    pub(crate) fn transport(&self) -> TransportName {
        match self {
            Self::Plain(plain) => plain.transport(),
            Self::Encrypted(session) => session.transport(),
        }
    }

    /// Appends the datagram with the protected `segment`. Appends nothing while the handshake has no key for
    /// the segment.
    pub(crate) fn protect(&mut self, now: Instant, segment: &Segment, path: Path, out: &mut Vec<u8>) {
        match self {
            Self::Plain(plain) => plain.emit(segment, out),
            Self::Encrypted(session) => session.send(now, segment, path, out),
        }
    }

    /// Reads a datagram. `ports` are the ports of the peer and of this end; `peer` is the peer's last known
    /// address.
    pub(crate) fn unprotect(
        &mut self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        peer: SocketAddr,
        ports: (u16, u16),
        entropy: &mut Entropy,
    ) -> Unprotected {
        match self {
            Self::Plain(plain) => plain.parse(datagram.bytes, ports),
            Self::Encrypted(session) => match SecureDatagram::parse(datagram.bytes) {
                Some(message) => session.receive(now, message, datagram.from == peer, ports, entropy),
                None => Unprotected::Ignored,
            },
        }
    }

    /// Datagram with a challenge that the peer must return, to validate a new address or the second path.
    pub(crate) fn challenge(&mut self, now: Instant, path: Path, number: &Challenge) -> Option<Vec<u8>> {
        self.probe(now, Content::Challenge, path, number)
    }

    /// Datagram that returns the challenge which has just arrived, on the same path.
    pub(crate) fn respond(&mut self, now: Instant, number: &Challenge) -> Option<Vec<u8>> {
        let path = if self.is_on_second() { Path::Second } else { Path::First };
        self.probe(now, Content::Response, path, number)
    }

    fn probe(&mut self, now: Instant, content: Content, path: Path, number: &Challenge) -> Option<Vec<u8>> {
        match self {
            Self::Plain(_) => None,
            Self::Encrypted(session) => session.probe(now, content, path, number),
        }
    }

    /// Answers the peer's request for the connection index after the one with this number; `fresh` is a
    /// random index for it.
    pub(crate) fn on_request(&mut self, now: Instant, number: u64, fresh: u32) -> IndexChange {
        match self {
            Self::Plain(_) => IndexChange::default(),
            Self::Encrypted(session) => session.on_request(now, number, fresh),
        }
    }

    /// Whether the newest authentic datagram arrived on the second path.
    pub(crate) fn is_on_second(&self) -> bool {
        matches!(self, Self::Encrypted(session) if session.is_on_second())
    }

    /// Whether the newest datagram of the peer arrived on the second path, so that answers leave there.
    pub(crate) fn heard_on_second(&self) -> bool {
        matches!(self, Self::Encrypted(session) if session.heard_on_second())
    }

    /// Whether a connection index is available for a second path. Always false for plain connections, which have no
    /// second path.
    pub(crate) fn has_second_index(&self) -> bool {
        matches!(self, Self::Encrypted(session) if session.has_second_index())
    }

    /// Switches to another index for the connection, because the path to the peer has changed.
    pub(crate) fn use_spare_index(&mut self) {
        if let Self::Encrypted(session) = self {
            session.use_spare_index();
        }
    }

    /// Begins an exchange of new keys and requests a spare index, if either is due.
    pub(crate) fn refresh(&mut self, now: Instant, entropy: &mut Entropy) {
        if let Self::Encrypted(session) = self {
            session.refresh(now, entropy);
        }
    }

    /// Removes and returns a complete datagram that must be sent before any segment.
    pub(crate) fn pop_pending(&mut self) -> Option<Pending> {
        match self {
            Self::Plain(plain) => plain.pop_pending().map(Pending::first),
            Self::Encrypted(session) => session.pop_pending(),
        }
    }

    /// Destinations in datagrams of the peer at `peer` that identify this connection.
    pub(crate) fn destinations(&self, peer: SocketAddr) -> Vec<Destination> {
        match self {
            Self::Plain(_) => vec![Destination::Peer(peer)],
            Self::Encrypted(session) => {
                let hello = session.initiator().map(|(from, index)| Destination::Hello(from, index));
                session.indices().map(Destination::Index).chain(hello).collect()
            }
        }
    }

    /// The key that the peer has proved to have.
    pub(crate) fn peer_key(&self) -> Option<PublicKey> {
        match self {
            Self::Plain(_) => None,
            Self::Encrypted(session) => session.peer_key(),
        }
    }

    /// Identifier of an encrypted connection, equal at both ends and different for all other connections; `None` for a
    /// plain one.
    pub(crate) fn binding(&self) -> Option<[u8; 32]> {
        match self {
            Self::Plain(_) => None,
            Self::Encrypted(session) => session.binding(),
        }
    }

    /// Number of times that the keys of outgoing datagrams were replaced.
    pub(crate) fn key_changes(&self) -> u64 {
        match self {
            Self::Plain(_) => 0,
            Self::Encrypted(session) => session.key_changes(),
        }
    }

    /// Whether a reset with this index and token ends the connection: the peer gave the index, and the token
    /// is valid.
    pub(crate) fn is_reset_by(&self, index: u32, token: &ResetToken) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Encrypted(session) => session.is_reset_by(index, token),
        }
    }

    /// Reason for which the listener refuses the connection; `None` if it states none.
    pub(crate) fn refusal(&self) -> Option<Error> {
        match self {
            Self::Plain(_) => None,
            Self::Encrypted(session) => session.refusal(),
        }
    }
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(plain) => plain.fmt(f),
            Self::Encrypted(_) => f.write_str("Encrypted"),
        }
    }
}
