//! What a socket does with sealed strangers, and whom its connections trust.

use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::Instant;
use multihop_wire::tpa::Segment;
use zeroize::Zeroizing;

use super::cookie::Baker;
use super::message::{Message, Pattern, Reason};
use super::noise::Proof;
use super::session::{Seal, Terms};
use super::traffic::Rotation;
use crate::config::Peers;
use crate::keys::{Identity, Token};

/// What all connections of a socket share.
pub(crate) struct Gate {
    terms: Arc<Terms>,
    baker: Baker,
}

/// What becomes of a hello.
pub(crate) enum Welcome {
    /// Nothing.
    Nothing,
    /// This datagram goes back.
    Answer(Vec<u8>),
    /// A connection begins with this segment.
    Enter(Box<Seal>, Segment),
}

/// A caller's first datagram, taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Hello<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) pattern: Pattern,
    pub(crate) sender: u32,
    pub(crate) noise: &'a [u8],
    /// Bytes of the whole datagram.
    pub(crate) len: usize,
}

impl Gate {
    /// For those who know the token. `secret` is for cookies.
    pub(crate) fn of_token(token: &Token, secret: [u8; 32]) -> Self {
        Self::new(Proof::of_token(token), Peers::Any, secret)
    }

    /// For those who have the right key. `secret` is for cookies.
    pub(crate) fn of_keys(identity: &Identity, peers: &Peers, secret: [u8; 32]) -> Self {
        Self::new(Proof::Keys(identity.clone()), peers.clone(), secret)
    }

    fn new(proof: Proof, peers: Peers, secret: [u8; 32]) -> Self {
        let terms = Arc::new(Terms { proof, peers, rotation: Rotation::DEFAULT });
        Self { terms, baker: Baker::new(secret) }
    }

    /// The armour of a connection that is opened here.
    pub(crate) fn call(&self, index: u32, ephemeral: [u8; 32]) -> Seal {
        Seal::call(&self.terms, index, &Zeroizing::new(ephemeral))
    }

    /// A cookie for a caller that has not shown a good one; `None` if it has.
    pub(crate) fn ask(&self, now: Instant, from: SocketAddr, message: &Message<'_>) -> Option<Vec<u8>> {
        let Message::Hello { sender, cookie, .. } = *message else { return None };
        if self.baker.accepts(now, from, &cookie) {
            return None;
        }
        let mut reply = Vec::new();
        Message::CookieReply { receiver: sender, cookie: self.baker.bake(now, from) }.emit(&mut reply);
        Some(reply)
    }

    /// A connection for a caller that has shown its cookie, if it can prove who it is.
    pub(crate) fn welcome(&self, hello: Hello<'_>, index: u32, ephemeral: [u8; 32], port: u16) -> Welcome {
        let reason = match (hello.pattern, self.terms.proof.pattern()) {
            (Pattern::Keys, Pattern::Token) => Some(Reason::WantsToken),
            (Pattern::Token, Pattern::Keys) => Some(Reason::WantsKeys),
            _ => None,
        };
        let ports = (hello.from.port(), port);
        let caller = (hello.sender, hello.noise, hello.len);
        let entered = match reason {
            None => Seal::answer(&self.terms, index, Zeroizing::new(ephemeral), caller, ports),
            Some(_) => None,
        };
        match (entered, reason, hello.pattern) {
            (Some((seal, syn)), ..) => Welcome::Enter(Box::new(seal), syn),
            (None, Some(reason), _) => Welcome::Answer(refusal(hello.sender, reason)),
            (None, None, Pattern::Token) => Welcome::Answer(refusal(hello.sender, Reason::WrongToken)),
            (None, None, Pattern::Keys) => Welcome::Nothing,
        }
    }
}

/// What tells a caller that it will not be answered.
pub(crate) fn refusal(receiver: u32, reason: Reason) -> Vec<u8> {
    let mut out = Vec::new();
    Message::Refusal { receiver, reason }.emit(&mut out);
    out
}
