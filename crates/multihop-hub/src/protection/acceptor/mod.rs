//! The protection of a socket: plain or encrypted.

use alloc::boxed::Box;
use alloc::vec::Vec;
use multihop_core::Instant;
use multihop_transport::connection::Segment;

use self::encrypted::EncryptedAcceptor;
use self::plain::PlainAcceptor;
use super::connection::Protection;
use super::destination::Destination;
use super::encrypted::{Proof, ResetKey, ResetToken};
use super::outcome::FirstContact;
use crate::config::{Config, Peers, Security};
use crate::datagram::{Entropy, IncomingDatagram};
use crate::transport::TransportName;

mod encrypted;
pub(super) mod plain;

/// Opens connections for the application, and decides which peers may open one.
///
/// A [plain](PlainAcceptor) acceptor accepts every peer that has proved its address, an
/// [encrypted](EncryptedAcceptor) acceptor only peers that also prove their identity.
pub(crate) trait Acceptor: Send {
    /// Creates the protection of a connection with this transport that this end opens to the listener with
    /// this name.
    fn initiate(&self, name: &str, transport: TransportName, entropy: &mut Entropy) -> Protection;

    /// The connection of a datagram; `None` if the datagram belongs to none.
    fn destination(&self, now: Instant, datagram: &IncomingDatagram<'_>) -> Option<Destination>;

    /// Index and token in a datagram by which a peer reports that it no longer has a connection's state.
    fn reset_in(&self, _datagram: &IncomingDatagram<'_>) -> Option<(u32, ResetToken)> {
        None
    }

    /// Decides about a datagram that belongs to no connection. `ports` are the ports of the peer and of this
    /// end.
    fn first_contact(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        listening: bool,
    ) -> FirstContact;

    /// Whether [`accept`](Self::accept) distinguishes strangers from known peers without Diffie-Hellman.
    fn verifies_cheaply(&self) -> bool {
        false
    }

    /// Whether a hello may be from a genuine initiator: a check that costs one hash.
    fn may_be_genuine(&self, _datagram: &IncomingDatagram<'_>) -> bool {
        true
    }

    /// Cookie with which a silent listener answers a peer that proves its identity. Unless `has_turn`, the
    /// proof is checked without Diffie-Hellman.
    fn cookie_for_stranger(
        &self,
        _now: Instant,
        _datagram: &IncomingDatagram<'_>,
        _has_turn: bool,
        _entropy: &mut Entropy,
    ) -> Option<Vec<u8>> {
        None
    }

    /// Accepts a connection from a peer that has proved its address; returns its protection and the SYN. The
    /// error is the datagram to send back, if there is one.
    fn accept(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        entropy: &mut Entropy,
    ) -> Result<(Protection, Segment), Option<Vec<u8>>>;
}

/// Creates the acceptor of a socket with this port.
pub(crate) fn acceptor(config: &Config, port: u16, entropy: &mut Entropy) -> Box<dyn Acceptor> {
    let mut secret = [0; 32];
    entropy(&mut secret);
    let transports = config.transports();
    let (proof, peers) = match &config.security {
        Security::Plain => return Box::new(PlainAcceptor::new(transports, secret)),
        Security::Token(token) => (Proof::of_token(token), Peers::Any),
        Security::Keys { identity, peers } => {
            (Proof::Keys(identity.clone(), config.shared_key.clone()), peers.clone())
        }
    };
    let resets = config.resets.then(|| ResetKey::new(&proof, port));
    Box::new(EncryptedAcceptor::new(proof, peers, transports, config.silent, secret, resets))
}
