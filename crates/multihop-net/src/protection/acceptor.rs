//! The protection of a socket: plain or encrypted.

use std::fmt;

use multihop_core::Instant;
use multihop_wire::tpa::Segment;

use super::connection::Protection;
use super::destination::Destination;
use super::encrypted::acceptor::EncryptedAcceptor;
use super::encrypted::{OVERHEAD, Proof};
use super::outcome::FirstContact;
use super::plain::PlainAcceptor;
use crate::config::{Config, Peers, Security};
use crate::datagram::{Entropy, IncomingDatagram};

/// Opens connections for the application, and decides which peers may open one.
pub(crate) enum Acceptor {
    /// Accepts every peer that has proved its address.
    Plain(PlainAcceptor),
    /// Accepts peers that also prove their identity.
    Encrypted(EncryptedAcceptor),
}

impl Acceptor {
    pub(crate) fn new(config: &Config, entropy: &mut Entropy) -> Self {
        let mut secret = [0; 32];
        entropy(&mut secret);
        let transport = config.transport_name();
        let (proof, peers) = match &config.security {
            Security::Plain => return Self::Plain(PlainAcceptor::new(transport, secret)),
            Security::Token(token) => (Proof::of_token(token), Peers::Any),
            Security::Keys { identity, peers } => {
                (Proof::Keys(identity.clone(), config.shared_key.clone()), peers.clone())
            }
        };
        Self::Encrypted(EncryptedAcceptor::new(proof, peers, transport, config.silent, secret))
    }

    /// Bytes that the protection adds to a segment.
    pub(crate) fn overhead(&self) -> u16 {
        match self {
            Self::Plain(_) => 0,
            Self::Encrypted(_) => OVERHEAD,
        }
    }

    /// The protection of a connection that this end opens to the listener with this name.
    pub(crate) fn initiate(&self, name: &str, entropy: &mut Entropy) -> Protection {
        match self {
            Self::Plain(acceptor) => Protection::Plain(acceptor.session()),
            Self::Encrypted(acceptor) => Protection::Encrypted(Box::new(acceptor.initiate(name, entropy))),
        }
    }

    /// The connection that a datagram is for; `None` if it names none.
    pub(crate) fn destination(&self, now: Instant, datagram: &IncomingDatagram<'_>) -> Option<Destination> {
        match self {
            Self::Plain(_) => Some(Destination::Peer(datagram.from)),
            Self::Encrypted(acceptor) => acceptor.destination(now, datagram),
        }
    }

    /// What to do with a datagram that belongs to no connection. `ports` are the peer's and ours.
    pub(crate) fn first_contact(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        listening: bool,
    ) -> FirstContact {
        match self {
            Self::Plain(acceptor) => acceptor.first_contact(now, datagram, ports, listening),
            Self::Encrypted(acceptor) => acceptor.first_contact(now, datagram, ports, listening),
        }
    }

    /// Whether [`accept`](Self::accept) tells strangers from others without Diffie-Hellman.
    pub(crate) fn verifies_cheaply(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Encrypted(acceptor) => acceptor.verifies_cheaply(),
        }
    }

    /// Whether a hello may be from a genuine initiator: a check that costs one hash.
    pub(crate) fn may_be_genuine(&self, datagram: &IncomingDatagram<'_>) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Encrypted(acceptor) => acceptor.may_be_genuine(datagram),
        }
    }

    /// The answer of a silent listener to a stranger that proves its identity, without Diffie-Hellman unless
    /// `has_turn`.
    pub(crate) fn cookie_for_stranger(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        has_turn: bool,
        entropy: &mut Entropy,
    ) -> Option<Vec<u8>> {
        match self {
            Self::Plain(_) => None,
            Self::Encrypted(acceptor) => acceptor.cookie_for_stranger(now, datagram, has_turn, entropy),
        }
    }

    /// Accepts a connection from a peer that has proved its address: its protection, and the SYN. The error
    /// is the datagram to send back, if any.
    pub(crate) fn accept(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        entropy: &mut Entropy,
    ) -> Result<(Protection, Segment), Option<Vec<u8>>> {
        match self {
            Self::Plain(acceptor) => {
                let syn = Segment::parse_in_udp(datagram.bytes, ports.0, ports.1).map_err(|_| None)?;
                Ok((Protection::Plain(acceptor.session()), syn))
            }
            Self::Encrypted(acceptor) => {
                let (session, syn) = acceptor.accept(now, datagram, ports.1, entropy)?;
                Ok((Protection::Encrypted(Box::new(session)), syn))
            }
        }
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain"),
            Self::Encrypted(_) => f.write_str("Encrypted"),
        }
    }
}
