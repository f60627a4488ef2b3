//! Who may open an encrypted connection: an initiator proves its address by a cookie, then its identity by
//! the Noise handshake.

use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::Instant;
use multihop_wire::tpa::{Body, Segment};
use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::message::{Pattern, Reason, SecureDatagram};
use super::noise::Proof;
use super::session::{Hello, Rejection, Session};
use super::traffic::Rotation;
use crate::config::Peers;
use crate::datagram::{Entropy, IncomingDatagram};
use crate::keys::{Identity, Token};
use crate::protection::cookie::CookieKey;
use crate::protection::destination::Destination;
use crate::protection::outcome::FirstContact;
use crate::transport::TransportName;

/// What all encrypted connections of a socket share.
pub(crate) struct EncryptedAcceptor {
    credentials: Arc<Credentials>,
    cookies: CookieKey,
}

impl EncryptedAcceptor {
    /// Accepts peers that know the token. `secret` is the key of the cookies.
    pub(crate) fn with_token(token: &Token, transport: TransportName, secret: [u8; 32]) -> Self {
        Self::new(Proof::of_token(token), Peers::Any, transport, secret)
    }

    /// Accepts peers with an authorised key. `secret` is the key of the cookies.
    pub(crate) fn with_keys(
        identity: &Identity,
        peers: &Peers,
        transport: TransportName,
        secret: [u8; 32],
    ) -> Self {
        Self::new(Proof::Keys(identity.clone()), peers.clone(), transport, secret)
    }

    fn new(proof: Proof, peers: Peers, transport: TransportName, secret: [u8; 32]) -> Self {
        let credentials = Arc::new(Credentials { transport, proof, peers, rotation: Rotation::DEFAULT });
        Self { credentials, cookies: CookieKey::new(secret) }
    }

    /// The session of a connection that this end opens to the listener with this name.
    pub(crate) fn initiate(&self, name: &str, entropy: &mut Entropy) -> Session {
        let (index, seed) = draw(entropy);
        Session::initiate(&self.credentials, self.credentials.listener_key(name), index, seed)
    }

    /// The connection that a datagram is for. A hello without a valid cookie is for none.
    pub(crate) fn destination(&self, now: Instant, datagram: &IncomingDatagram<'_>) -> Option<Destination> {
        let message = SecureDatagram::parse(datagram.bytes)?;
        match message {
            SecureDatagram::Hello { sender, .. } => {
                let reply = self.cookie_reply(now, datagram.from, &message);
                reply.is_none().then_some(Destination::Hello(datagram.from, sender))
            }
            SecureDatagram::CookieReply { receiver, .. }
            | SecureDatagram::Answer { receiver, .. }
            | SecureDatagram::Refusal { receiver, .. } => Some(Destination::Index(receiver)),
            SecureDatagram::Data(data) => Some(Destination::Index(data.receiver)),
            SecureDatagram::OtherHello { .. } => None,
        }
    }

    /// What to do with a datagram that belongs to no connection.
    pub(crate) fn first_contact(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        listening: bool,
    ) -> FirstContact {
        let message = SecureDatagram::parse(datagram.bytes);
        if let Some(SecureDatagram::OtherHello { sender }) = message {
            let refusal = refusal(sender, Reason::OtherVersion);
            return if listening { FirstContact::Reply(refusal) } else { FirstContact::Ignore };
        }
        let Some(message @ SecureDatagram::Hello { .. }) = message else {
            // A SYN of the plain protocol gets a reset, from which the peer learns that it is refused.
            let plain = Segment::parse_in_udp(datagram.bytes, ports.0, ports.1);
            let syn = plain.ok().filter(|plain| matches!(plain.body, Body::Syn(_)) && plain.ack.is_none());
            return syn.map_or(FirstContact::Ignore, FirstContact::Reset);
        };
        if !listening {
            return FirstContact::Ignore;
        }
        self.cookie_reply(now, datagram.from, &message)
            .map_or(FirstContact::AddressProved, FirstContact::Reply)
    }

    /// Whether a hello is verified without Diffie-Hellman.
    pub(crate) fn verifies_cheaply(&self) -> bool {
        matches!(self.credentials.proof, Proof::Token(_))
    }

    /// Accepts a connection from an initiator that has proved its address. The error is the datagram to send
    /// back, if any.
    pub(crate) fn accept(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        port: u16,
        entropy: &mut Entropy,
    ) -> Result<(Session, Segment), Option<Vec<u8>>> {
        let from = datagram.from;
        let Some(SecureDatagram::Hello { pattern, sender, cookie, noise }) =
            SecureDatagram::parse(datagram.bytes)
        else {
            return Err(None);
        };
        if let Some(reason) = self.wrong_pattern(pattern) {
            return Err(Some(refusal(sender, reason)));
        }
        let (index, ephemeral) = draw(entropy);
        let hello = Hello { from, sender, cookie, noise, len: datagram.bytes.len() };
        Session::respond(&self.credentials, index, &ephemeral, hello, port).map_err(|rejection| {
            Some(match rejection {
                Rejection::UnknownKey(key) => {
                    tracing::info!(%from, %key, "connection refused: the key is not authorised");
                    refusal(sender, Reason::UnknownKey)
                }
                Rejection::Unreadable if pattern == Pattern::Token => refusal(sender, Reason::WrongToken),
                // The initiator expects another key of ours.
                Rejection::Unreadable => self.make_cookie(now, from, sender),
            })
        })
    }

    fn wrong_pattern(&self, pattern: Pattern) -> Option<Reason> {
        match (pattern, self.credentials.proof.pattern()) {
            (Pattern::Keys, Pattern::Token) => Some(Reason::WantsToken),
            (Pattern::Token, Pattern::Keys) => Some(Reason::WantsKeys),
            _ => None,
        }
    }

    /// A cookie for an initiator that has not shown a valid one; `None` if it has.
    fn cookie_reply(&self, now: Instant, from: SocketAddr, message: &SecureDatagram<'_>) -> Option<Vec<u8>> {
        let SecureDatagram::Hello { sender, cookie, .. } = *message else { return None };
        (!self.cookies.verify(now, from, &cookie)).then(|| self.make_cookie(now, from, sender))
    }

    /// A cookie for this address, and our key.
    fn make_cookie(&self, now: Instant, from: SocketAddr, receiver: u32) -> Vec<u8> {
        let key = match &self.credentials.proof {
            Proof::Keys(identity) => Some(identity.public()),
            Proof::Token(_) => None,
        };
        let mut reply = Vec::new();
        SecureDatagram::CookieReply { receiver, cookie: self.cookies.make(now, from), key }.emit(&mut reply);
        reply
    }
}

/// The datagram that tells an initiator why it is refused.
pub(crate) fn refusal(receiver: u32, reason: Reason) -> Vec<u8> {
    let mut out = Vec::new();
    SecureDatagram::Refusal { receiver, reason }.emit(&mut out);
    out
}

/// A random index and a random ephemeral secret.
fn draw(entropy: &mut Entropy) -> (u32, Zeroizing<[u8; 32]>) {
    let (mut index, mut ephemeral) = ([0; 4], Zeroizing::new([0; 32]));
    entropy(&mut index);
    entropy(&mut ephemeral[..]);
    (u32::from_be_bytes(index), ephemeral)
}
