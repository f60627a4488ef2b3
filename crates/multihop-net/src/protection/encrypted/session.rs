//! One encrypted connection, from the first datagram of its handshake on.

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::Instant;
use multihop_wire::tpa::{Body, Segment};

use super::credentials::Credentials;
use super::established::{Established, InitiatorCopies, Unconfirmed};
use super::message::{self, Reason, SecureDatagram};
use super::noise::{Ephemeral, NoiseHandshake, Proof};
use crate::keys::PublicKey;
use crate::protection::cookie::Cookie;
use crate::protection::outcome::Unprotected;
use crate::protection::syn;

/// The protection of one encrypted connection.
pub(crate) struct Session {
    credentials: Arc<Credentials>,
    /// The index by which the peer names this connection.
    index: u32,
    /// The address and index of the peer, if it is the initiator.
    initiator: Option<(SocketAddr, u32)>,
    peer_key: Option<PublicKey>,
    stage: Stage,
    /// Whole datagrams that must be sent before anything else.
    pending: VecDeque<Vec<u8>>,
}

/// A parsed hello: the first datagram of an initiator.
#[derive(Clone, Copy)]
pub(crate) struct Hello<'a> {
    pub(crate) from: SocketAddr,
    /// The initiator's index.
    pub(crate) sender: u32,
    pub(crate) noise: &'a [u8],
    /// Bytes of the whole datagram.
    pub(crate) len: usize,
}

enum Stage {
    Initiating(Initiating),
    /// The initiator has the answer, and confirms with its next segment.
    Confirming {
        handshake: NoiseHandshake,
        remote: u32,
        copies: InitiatorCopies,
    },
    Responding(Box<Responding>),
    Established(Box<Established>),
    /// The handshake has failed: nothing can be sent.
    Failed,
}

/// An initiator that waits for an answer.
struct Initiating {
    handshake: NoiseHandshake,
    /// The first Noise message: created when there is a cookie, and not changed afterwards.
    hello: Vec<u8>,
    /// The listener's cookie; zeros ask for one.
    cookie: Cookie,
    /// Cookies taken.
    cookies: u8,
    refusal: Option<Reason>,
}

/// A responder that waits for the initiator's proof.
struct Responding {
    handshake: NoiseHandshake,
    ephemeral: Ephemeral,
    remote: u32,
    hello: Vec<u8>,
    /// Bytes of the hello's datagram: the answer must not be longer.
    room: usize,
    /// The payload of the answer; empty before there is a SYN ACK.
    payload: Vec<u8>,
    /// The datagram with the second Noise message.
    answer: Vec<u8>,
}

impl Session {
    /// The session of a connection that this end opens.
    pub(crate) fn initiate(credentials: &Arc<Credentials>, index: u32, ephemeral: &Ephemeral) -> Self {
        let handshake = NoiseHandshake::initiate(&credentials.proof, index, ephemeral);
        let stage = Initiating { handshake, hello: vec![], cookie: [0; 16], cookies: 0, refusal: None };
        Self::new(credentials, index, None, Stage::Initiating(stage))
    }

    /// The session of a connection that `hello` opens, and its SYN. `None` if the peer cannot prove its
    /// identity.
    pub(crate) fn respond(
        credentials: &Arc<Credentials>,
        index: u32,
        ephemeral: Ephemeral,
        hello: Hello<'_>,
        port: u16,
    ) -> Option<(Self, Segment)> {
        let remote = hello.sender;
        let mut handshake = NoiseHandshake::respond(&credentials.proof, remote, &ephemeral);
        let syn = parse(&handshake.read(hello.noise)?, (hello.from.port(), port))?;
        let stage = Responding {
            handshake,
            ephemeral,
            remote,
            hello: hello.noise.to_vec(),
            room: hello.len,
            payload: vec![],
            answer: vec![],
        };
        let initiator = Some((hello.from, remote));
        Some((Self::new(credentials, index, initiator, Stage::Responding(Box::new(stage))), syn))
    }

    fn new(
        credentials: &Arc<Credentials>,
        index: u32,
        initiator: Option<(SocketAddr, u32)>,
        stage: Stage,
    ) -> Self {
        let credentials = Arc::clone(credentials);
        Self { credentials, index, initiator, peer_key: None, stage, pending: VecDeque::new() }
    }

    /// The index by which the peer names this connection.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The address and index of the peer's hello, if the peer is the initiator.
    pub(crate) fn initiator(&self) -> Option<(SocketAddr, u32)> {
        self.initiator
    }

    /// The key that the peer has proved to have.
    pub(crate) fn peer_key(&self) -> Option<PublicKey> {
        self.peer_key
    }

    /// The listener's reason for refusing the connection.
    pub(crate) fn refusal(&self) -> Option<Reason> {
        match &self.stage {
            Stage::Initiating(initiating) => initiating.refusal,
            _ => None,
        }
    }

    /// Whether the first encrypted segment from the listener, which knew our key by then, was a reset.
    pub(crate) fn is_key_rejected(&self) -> bool {
        matches!(&self.stage, Stage::Established(established) if established.is_key_rejected())
    }

    /// A whole datagram that must be sent before anything else.
    pub(crate) fn pop_pending(&mut self) -> Option<Vec<u8>> {
        self.pending.pop_front()
    }

    /// Appends the datagram that carries `segment`; nothing while the handshake does not allow it.
    pub(crate) fn send(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        match &mut self.stage {
            Stage::Initiating(initiating) if matches!(segment.body, Body::Syn(_)) => {
                initiating.send_hello(&self.credentials, self.index, segment, out);
            }
            Stage::Confirming { .. } => self.send_confirm(now, segment, out),
            Stage::Responding(_) => self.send_answer(segment, out),
            Stage::Established(established) => {
                established.send_segment(now, segment, &mut self.pending, out);
            }
            Stage::Initiating(_) | Stage::Failed => {}
        }
    }

    /// Takes a datagram. `ports` are the peer's and ours; `is_from_peer` says whether it comes from `peer`, the
    /// peer's last known address.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        message: SecureDatagram<'_>,
        peer: SocketAddr,
        is_from_peer: bool,
        ports: (u16, u16),
    ) -> Unprotected {
        match (message, &mut self.stage) {
            (SecureDatagram::Data(data), Stage::Established(established)) => {
                established.receive_data(now, &data, ports)
            }
            // Only encrypted segments may come from another address.
            _ if !is_from_peer => Unprotected::Ignored,
            (SecureDatagram::CookieReply { cookie, .. }, Stage::Initiating(initiating)) => {
                initiating.on_cookie(cookie)
            }
            (SecureDatagram::Refusal { reason, .. }, Stage::Initiating(initiating)) => {
                initiating.refusal = Some(reason);
                Unprotected::Ignored
            }
            (SecureDatagram::Answer { sender, noise, .. }, Stage::Initiating(_)) => {
                self.on_answer(sender, noise, peer, ports)
            }
            (SecureDatagram::Answer { noise, .. }, Stage::Established(established)) => {
                established.on_answer_retransmitted(noise)
            }
            (SecureDatagram::Hello { noise, .. }, Stage::Responding(_) | Stage::Established(_)) => {
                self.on_hello_retransmitted(noise);
                Unprotected::Ignored
            }
            (SecureDatagram::Confirm { noise, .. }, Stage::Responding(_)) => self.on_confirm(noise, ports),
            _ => Unprotected::Ignored,
        }
    }

    /// The listener's answer to our hello.
    fn on_answer(&mut self, remote: u32, noise: &[u8], peer: SocketAddr, ports: (u16, u16)) -> Unprotected {
        let Stage::Initiating(initiating) = &mut self.stage else { return Unprotected::Ignored };
        let Some(payload) = initiating.handshake.read(noise) else { return Unprotected::Ignored };
        // From here on the peer has proved its identity.
        let key = initiating.handshake.peer_key();
        if let Some(key) = key
            && !self.credentials.accepts_listener(key, peer)
        {
            self.stage = Stage::Failed;
            return Unprotected::WrongKey(key);
        }
        self.peer_key = key;
        let Stage::Initiating(Initiating { handshake, .. }) = mem::replace(&mut self.stage, Stage::Failed)
        else {
            return Unprotected::Ignored;
        };
        let Some(syn_ack) = parse(&payload, ports) else { return Unprotected::Ignored };
        let (ours, theirs) = (self.credentials.transport, syn::transport(&payload));
        let copies = InitiatorCopies {
            answer: noise.to_vec(),
            syn_ack: syn_ack.clone(),
            confirm: vec![],
            confirmed: None,
        };
        match self.credentials.proof {
            Proof::Keys(_) => self.stage = Stage::Confirming { handshake, remote, copies },
            Proof::Token(_) => self.establish(handshake, remote, Unconfirmed::Initiator(copies)),
        }
        Unprotected::answer(syn_ack, ours, theirs)
    }

    /// The initiator's last handshake message, around `segment` if that has no data.
    fn send_confirm(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        let Stage::Confirming { mut handshake, remote, copies } =
            mem::replace(&mut self.stage, Stage::Failed)
        else {
            return;
        };
        let fits = segment.data_len() == 0;
        let mut payload = Vec::new();
        if fits {
            segment.emit_in_udp(&mut payload);
        }
        let mut confirm = Vec::new();
        SecureDatagram::Confirm { receiver: remote, noise: &handshake.write(&payload) }.emit(&mut confirm);
        out.extend_from_slice(&confirm);
        let copies = InitiatorCopies { confirm, confirmed: Some(now), ..copies };
        self.establish(handshake, remote, Unconfirmed::Initiator(copies));
        if !fits && let Stage::Established(established) = &mut self.stage {
            let mut datagram = Vec::new();
            established.encrypt_segment(now, segment, &mut datagram);
            self.pending.push_back(datagram);
        }
    }

    /// The listener's answer: the same bytes each time.
    fn send_answer(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        let Stage::Responding(responding) = &mut self.stage else { return };
        if responding.answer.is_empty() {
            syn::emit(segment, self.credentials.transport, &mut responding.payload);
            let noise = responding.handshake.write(&responding.payload);
            let (receiver, sender) = (responding.remote, self.index);
            SecureDatagram::Answer { receiver, sender, noise: &noise }.emit(&mut responding.answer);
        } else if !matches!(segment.body, Body::Syn(_)) {
            return;
        }
        // No amplification: never more bytes than were received.
        if responding.answer.len() <= responding.room {
            out.extend_from_slice(&responding.answer);
        }
        if matches!(self.credentials.proof, Proof::Token(_)) {
            self.finish_responding();
        }
    }

    /// The initiator has not received the answer: it is retransmitted.
    fn on_hello_retransmitted(&mut self, noise: &[u8]) {
        let answer = match &self.stage {
            Stage::Responding(responding) if responding.hello == noise => Some(&responding.answer),
            Stage::Established(established) => established.unconfirmed_answer(),
            _ => None,
        };
        if let Some(answer) = answer
            && !answer.is_empty()
            && self.pending.is_empty()
        {
            self.pending.push_back(answer.clone());
        }
    }

    /// The initiator's last handshake message.
    fn on_confirm(&mut self, noise: &[u8], ports: (u16, u16)) -> Unprotected {
        let Stage::Responding(responding) = &mut self.stage else { return Unprotected::Ignored };
        if responding.answer.is_empty() {
            return Unprotected::Ignored;
        }
        let Some(payload) = responding.handshake.read(noise) else {
            responding.restart(&self.credentials.proof);
            return Unprotected::Ignored;
        };
        let key = responding.handshake.peer_key();
        self.peer_key = key;
        self.finish_responding();
        if let Stage::Established(established) = &mut self.stage {
            established.confirm();
        }
        match key {
            Some(key) if !self.credentials.accepts_initiator(key) => Unprotected::WrongKey(key),
            _ => parse(&payload, ports)
                .map_or(Unprotected::Ignored, |segment| Unprotected::Segment(segment, None)),
        }
    }

    fn finish_responding(&mut self) {
        let Stage::Responding(responding) = mem::replace(&mut self.stage, Stage::Failed) else { return };
        let Responding { handshake, remote, answer, .. } = *responding;
        self.establish(handshake, remote, Unconfirmed::Responder(answer));
    }

    fn establish(&mut self, handshake: NoiseHandshake, remote: u32, unconfirmed: Unconfirmed) {
        self.stage = handshake.into_keys().map_or(Stage::Failed, |keys| {
            let rotation = self.credentials.rotation;
            Stage::Established(Box::new(Established::new(keys, remote, Some(unconfirmed), rotation)))
        });
    }
}

impl Initiating {
    /// Appends the hello. Before there is a cookie it only asks for one.
    fn send_hello(&mut self, credentials: &Credentials, index: u32, syn: &Segment, out: &mut Vec<u8>) {
        let noise = match self.cookies {
            0 => &[0; SHORTEST][..],
            _ if self.hello.is_empty() => {
                let mut payload = Vec::new();
                syn::emit(syn, credentials.transport, &mut payload);
                // Padding options (type 0), so that the hello is as long as its answer.
                payload.resize(payload.len().max(SHORTEST - KEY_LEN), 0);
                self.hello = self.handshake.write(&payload);
                &self.hello
            }
            _ => &self.hello,
        };
        let (pattern, cookie) = (credentials.proof.pattern(), self.cookie);
        SecureDatagram::Hello { pattern, sender: index, cookie, noise }.emit(out);
    }

    fn on_cookie(&mut self, cookie: Cookie) -> Unprotected {
        // An attacker that forges cookies can prevent the connection, but cannot cause endless transmissions.
        if self.cookie == cookie || self.cookies >= MAX_COOKIES {
            return Unprotected::Ignored;
        }
        (self.cookie, self.cookies) = (cookie, self.cookies + 1);
        // The listener has answered: the refusal was forged, or is obsolete.
        self.refusal = None;
        Unprotected::NewCookie
    }
}

impl Responding {
    /// Restores the handshake as it was after the answer. `snow` restores its own state after a bad
    /// message, except for the cipher key, which part of a valid message may have changed.
    fn restart(&mut self, proof: &Proof) {
        let mut handshake = NoiseHandshake::respond(proof, self.remote, &self.ephemeral);
        if handshake.read(&self.hello).is_some() {
            handshake.write(&self.payload);
            self.handshake = handshake;
        }
    }
}

fn parse(bytes: &[u8], (from, to): (u16, u16)) -> Option<Segment> {
    Segment::parse_in_udp(bytes, from, to).ok()
}

/// Cookies that an initiator tries: the genuine ones of two minutes, and a few forged ones.
const MAX_COOKIES: u8 = 8;
/// Bytes of a first Noise message at least, and of the key that it begins with.
const SHORTEST: usize = message::MIN_HELLO - message::HELLO_HEADER;
const KEY_LEN: usize = 32;

#[cfg(test)]
mod tests;
