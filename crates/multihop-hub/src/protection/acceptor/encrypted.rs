//! Acceptor of encrypted connections: an initiator proves its address by a cookie, then its identity by the
//! Noise handshake.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use multihop_core::Instant;
use multihop_transport::connection::Segment;
use multihop_wire::control::Cause;
use zeroize::Zeroizing;

use super::Acceptor;
use crate::config::Peers;
use crate::datagram::{Entropy, IncomingDatagram};
use crate::protection::connection::Protection;
use crate::protection::cookie::CookieKey;
use crate::protection::destination::Destination;
use crate::protection::encrypted::credentials::Credentials;
use crate::protection::encrypted::message::{EncryptedSegment, Pattern, ResetToken, SecureDatagram};
use crate::protection::encrypted::noise::Proof;
use crate::protection::encrypted::reset::ResetKey;
use crate::protection::encrypted::seal;
use crate::protection::encrypted::session::{Hello, Rejection, Session};
use crate::protection::encrypted::traffic::Rotation;
use crate::protection::opening;
use crate::protection::outcome::FirstContact;
use crate::reason::Reason;
use crate::segment::{Format, Kind, kind};
use crate::transport::{TransportName, Transports};
use crate::version::VERSION;

/// Keys and rules that all encrypted connections of a socket share.
pub(crate) struct EncryptedAcceptor {
    credentials: Arc<Credentials>,
    cookies: CookieKey,
    /// Whether only peers that prove their identity are answered.
    is_silent: bool,
}

impl EncryptedAcceptor {
    /// Accepts peers that prove their identity like this end. `secret` is the key of the cookies.
    pub(crate) fn new(
        proof: Proof,
        peers: Peers,
        transports: Transports,
        is_silent: bool,
        secret: [u8; 32],
        resets: Option<ResetKey>,
    ) -> Self {
        let credentials =
            Arc::new(Credentials { transports, proof, peers, rotation: Rotation::DEFAULT, resets });
        Self { credentials, cookies: CookieKey::new(secret), is_silent }
    }

    fn wrong_pattern(&self, pattern: Pattern) -> Option<Reason> {
        match (pattern, self.credentials.proof.pattern()) {
            (found, wanted) if found == wanted => None,
            (_, Pattern::Token) => Some(Reason::WantsToken),
            (Pattern::Token, _) => Some(Reason::WantsKeys),
            (_, Pattern::KeysShared) => Some(Reason::WantsShared),
            (_, Pattern::Keys) => Some(Reason::WantsNoShared),
        }
    }

    /// Datagram with a fresh cookie for a peer whose Hello has no valid one; `None` if the cookie is valid, or if the message
    /// is no Hello.
    fn cookie_reply(&self, now: Instant, from: SocketAddr, message: &SecureDatagram<'_>) -> Option<Vec<u8>> {
        let SecureDatagram::Hello { sender, cookie, .. } = *message else { return None };
        (!self.cookies.verify(now, from, &cookie)).then(|| self.make_cookie(now, from, sender))
    }

    /// Answers a datagram with an unknown index by a reset, because this host has no state of the connection.
    fn reset_unknown(&self, data: &EncryptedSegment<'_>) -> FirstContact {
        let Some(key) = &self.credentials.resets else { return FirstContact::Ignore };
        let mut reset = Vec::new();
        let index = data.receiver;
        SecureDatagram::Reset { index, token: key.token(index) }.emit(&mut reset);
        FirstContact::Forgotten(reset)
    }

    /// Datagram with a cookie for this address, and this end's public key.
    fn make_cookie(&self, now: Instant, from: SocketAddr, receiver: u32) -> Vec<u8> {
        let key = match &self.credentials.proof {
            // A peer that has proved its identity to a silent listener already has the key.
            Proof::Keys(identity, _) => Some(identity.public()).filter(|_| !self.is_silent),
            Proof::Token(_) => None,
        };
        let mut reply = Vec::new();
        SecureDatagram::CookieReply { receiver, cookie: self.cookies.make(now, from), key }.emit(&mut reply);
        reply
    }
}

impl Acceptor for EncryptedAcceptor {
    fn initiate(&self, name: &str, transport: TransportName, entropy: &mut Entropy) -> Protection {
        let (index, seed) = draw(entropy);
        let key = self.credentials.listener_key(name);
        Protection::Encrypted(Box::new(Session::initiate(&self.credentials, transport, key, index, seed)))
    }

    /// Connection to which a datagram belongs. A hello without a valid cookie belongs to none.
    fn destination(&self, now: Instant, datagram: &IncomingDatagram<'_>) -> Option<Destination> {
        let message = SecureDatagram::parse(datagram.bytes)?;
        match message {
            SecureDatagram::Hello { sender, .. } => {
                let reply = self.cookie_reply(now, datagram.from, &message);
                reply.is_none().then_some(Destination::Hello(datagram.from, sender))
            }
            SecureDatagram::CookieReply { receiver, .. }
            | SecureDatagram::Answer { receiver, .. }
            | SecureDatagram::EarlierAnswer { receiver }
            | SecureDatagram::Refusal { receiver, .. } => Some(Destination::Index(receiver)),
            SecureDatagram::Data(data) => Some(Destination::Index(data.receiver)),
            SecureDatagram::OtherHello { .. }
            | SecureDatagram::VersionProbe { .. }
            | SecureDatagram::Reset { .. } => None,
        }
    }

    fn reset_in(&self, datagram: &IncomingDatagram<'_>) -> Option<(u32, ResetToken)> {
        match SecureDatagram::parse(datagram.bytes)? {
            SecureDatagram::Reset { index, token } => Some((index, token)),
            _ => None,
        }
    }

    fn first_contact(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        listening: bool,
    ) -> FirstContact {
        let message = SecureDatagram::parse(datagram.bytes);
        if self.is_silent && !matches!(message, Some(SecureDatagram::Hello { .. })) {
            return FirstContact::Ignore;
        }
        if let Some(SecureDatagram::OtherHello { sender, version }) = message {
            return if listening {
                refuse_version(datagram.from, sender, version)
            } else {
                FirstContact::Ignore
            };
        }
        if let Some(SecureDatagram::Data(data)) = message {
            return self.reset_unknown(&data);
        }
        let Some(message @ SecureDatagram::Hello { .. }) = message else {
            // A SYN of the plain protocol is answered with a reset, by which the peer learns of the refusal.
            let format = Format::of_syn(datagram.bytes, self.credentials.transports.format);
            let plain = format.unwrap_or(Format::Tpa).parse(datagram.bytes, ports, &mut None);
            let syn = plain.filter(|plain| kind(plain) == Kind::Syn);
            let refusal = syn
                .filter(|_| !opening::is_version_probe(datagram.bytes))
                .and_then(|syn| opening::refusal(&syn, Cause::NOT_PLAIN, self.credentials.transports));
            return refusal.map_or(FirstContact::Ignore, FirstContact::Refuse);
        };
        if !listening {
            return FirstContact::Ignore;
        }
        match self.cookie_reply(now, datagram.from, &message) {
            None => FirstContact::AddressProved,
            Some(_) if self.is_silent => FirstContact::Stranger,
            Some(reply) => FirstContact::Reply(reply),
        }
    }

    /// Creates a cookie for a peer without a connection. If the rate limit allows no Diffie-Hellman
    /// operation, possession of this listener's public key is a sufficient proof.
    fn cookie_for_stranger(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        has_turn: bool,
        entropy: &mut Entropy,
    ) -> Option<Vec<u8>> {
        let Some(SecureDatagram::Hello { pattern, sender, noise, .. }) =
            SecureDatagram::parse(datagram.bytes)
        else {
            return None;
        };
        let is_proved = match &self.credentials.proof {
            Proof::Keys(identity, _) if !has_turn => {
                pattern == self.credentials.proof.pattern()
                    && seal::open(&identity.public(), datagram.bytes, noise).is_some()
            }
            _ => self.accept(now, datagram, (0, 0), entropy).is_ok(),
        };
        is_proved.then(|| self.make_cookie(now, datagram.from, sender))
    }

    /// Whether the sender of a hello has this listener's public key, as its seal proves.
    fn may_be_genuine(&self, datagram: &IncomingDatagram<'_>) -> bool {
        match (&self.credentials.proof, SecureDatagram::parse(datagram.bytes)) {
            (Proof::Keys(identity, _), Some(SecureDatagram::Hello { noise, .. })) => {
                seal::open(&identity.public(), datagram.bytes, noise).is_some()
            }
            _ => true,
        }
    }

    fn verifies_cheaply(&self) -> bool {
        matches!(self.credentials.proof, Proof::Token(_))
    }

    fn accept(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        entropy: &mut Entropy,
    ) -> Result<(Protection, Segment), Option<Vec<u8>>> {
        let from = datagram.from;
        let Some(SecureDatagram::Hello { pattern, sender, cookie, noise }) =
            SecureDatagram::parse(datagram.bytes)
        else {
            return Err(None);
        };
        if let Some(reason) = self.wrong_pattern(pattern) {
            log_refusal(from, reason);
            return Err(Some(refusal(sender, reason)).filter(|_| !self.is_silent));
        }
        let (index, ephemeral) = draw(entropy);
        let hello = Hello { from, sender, cookie, noise, datagram: datagram.bytes };
        let session = Session::respond(&self.credentials, index, &ephemeral, hello, ports.1);
        let session = session.map_err(|rejection| {
            let reply = match rejection {
                Rejection::UnknownKey(key) => {
                    let reason = Reason::UnknownKey.name();
                    tracing::info!(limit = MAX_REFUSAL_LINES, peer = %from, reason, %key, "peer refused");
                    refusal(sender, Reason::UnknownKey)
                }
                Rejection::Unreadable => {
                    let reason = match pattern {
                        Pattern::Token => Reason::WrongToken,
                        Pattern::KeysShared => Reason::WrongShared,
                        Pattern::Keys => return None,
                    };
                    log_refusal(from, reason);
                    refusal(sender, reason)
                }
                // The initiator expects another key of this listener.
                Rejection::Unsealed => self.make_cookie(now, from, sender),
                Rejection::Transport(answer) => answer,
            };
            Some(reply).filter(|_| !self.is_silent)
        });
        session.map(|(session, syn)| (Protection::Encrypted(Box::new(session)), syn))
    }
}

/// Refuses a hello of another version. The answer to an earlier version has the format of that version.
fn refuse_version(from: SocketAddr, sender: u32, theirs: Option<u8>) -> FirstContact {
    let reason = Reason::OtherVersion;
    let theirs_text = theirs.map_or_else(|| "a later one".to_owned(), |version| version.to_string());
    tracing::info!(
        limit = MAX_REFUSAL_LINES,
        peer = %from,
        reason = reason.name(),
        ours = VERSION,
        theirs = theirs_text,
        "peer refused"
    );
    FirstContact::Reply(match theirs {
        None => refusal(sender, reason),
        Some(_) => {
            let mut out = Vec::new();
            SecureDatagram::EarlierAnswer { receiver: sender }.emit(&mut out);
            out
        }
    })
}

fn log_refusal(from: SocketAddr, reason: Reason) {
    tracing::info!(limit = MAX_REFUSAL_LINES, peer = %from, reason = reason.name(), "peer refused");
}

/// Largest number of log lines per minute for each reason of refusals.
pub(crate) const MAX_REFUSAL_LINES: u64 = 10;

/// Datagram by which a listener refuses an initiator, with the reason.
pub(crate) fn refusal(receiver: u32, reason: Reason) -> Vec<u8> {
    let mut out = Vec::new();
    SecureDatagram::Refusal { receiver, reason, version: VERSION }.emit(&mut out);
    out
}

/// Draws a random index and a random ephemeral secret.
fn draw(entropy: &mut Entropy) -> (u32, Zeroizing<[u8; 32]>) {
    let (mut index, mut ephemeral) = ([0; 4], Zeroizing::new([0; 32]));
    entropy(&mut index);
    entropy(&mut ephemeral[..]);
    (u32::from_be_bytes(index), ephemeral)
}
