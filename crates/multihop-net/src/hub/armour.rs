use std::fmt;
use std::net::SocketAddr;

use multihop_core::Instant;
use multihop_wire::tpa::Segment;

use super::Datagram;
use super::plain::Plain;
use super::routes::Route;
use super::sealed::Sealed;
use crate::keys::PublicKey;
use crate::seal::message::Reason;
use crate::seal::{Freshness, OVERHEAD};

/// How the segments of one connection become datagrams, and datagrams segments.
pub(super) enum Armour {
    /// As they are.
    Plain(Plain),
    /// Encrypted and authenticated.
    Sealed(Box<Sealed>),
}

/// What a datagram was.
#[derive(Debug)]
pub(super) enum Opened {
    /// A segment of this connection, and what else its datagram says if that was sealed.
    Segment(Segment, Option<Freshness>),
    /// A genuine datagram that has been taken before.
    Seen,
    /// The SYN must leave again at once, for the armour has learnt what was missing in it.
    Again,
    /// The peer has shown a key that will not do.
    WrongKey(PublicKey),
    /// Nothing that this connection takes.
    Nothing,
}

impl Armour {
    /// Bytes that a datagram has beside its segment.
    pub(super) fn overhead(&self) -> u16 {
        match self {
            Self::Plain(_) => 0,
            Self::Sealed(_) => OVERHEAD,
        }
    }

    /// Appends the datagram that carries `segment`; nothing, if it cannot be said yet.
    pub(super) fn seal(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        match self {
            Self::Plain(plain) => plain.seal(segment, out),
            Self::Sealed(sealed) => sealed.seal(now, segment, out),
        }
    }

    /// The segment in a datagram between these ports, the peer's first; the peer was last at `peer`.
    pub(super) fn open(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        peer: SocketAddr,
        ports: (u16, u16),
    ) -> Opened {
        match self {
            Self::Plain(plain) => plain.open(datagram.bytes, ports),
            Self::Sealed(sealed) => sealed.open(now, datagram, peer, ports),
        }
    }

    /// Takes a whole datagram that is to leave before anything else.
    pub(super) fn pop_pending(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Plain(_) => None,
            Self::Sealed(sealed) => sealed.pop_pending(),
        }
    }

    /// What datagrams for this connection say of it, whose peer is at `peer`.
    pub(super) fn routes(&self, peer: SocketAddr) -> [Option<Route>; 2] {
        match self {
            Self::Plain(_) => [Some(Route::Peer(peer)), None],
            Self::Sealed(sealed) => sealed.routes(),
        }
    }

    /// The key that the peer has proved to have.
    pub(super) fn peer_key(&self) -> Option<PublicKey> {
        match self {
            Self::Plain(_) => None,
            Self::Sealed(sealed) => sealed.peer_key(),
        }
    }

    /// Whether the peer has ended the connection with its first sealed words.
    pub(super) fn is_turned_away(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Sealed(sealed) => sealed.is_turned_away(),
        }
    }

    /// Why the listener will not answer, by its own account.
    pub(super) fn refusal(&self) -> Option<Reason> {
        match self {
            Self::Plain(_) => None,
            Self::Sealed(sealed) => sealed.refusal(),
        }
    }
}

impl fmt::Debug for Armour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(plain) => plain.fmt(f),
            Self::Sealed(_) => f.write_str("Sealed"),
        }
    }
}
