//! The armour of one connection: how its segments become datagrams, and datagrams segments.

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::{Duration, Instant};
use multihop_wire::tpa::{Body, Segment};

use super::cookie::Cookie;
use super::message::{self, Data, Message, Reason};
use super::noise::{Ephemeral, Handshake, Keys, Proof};
use super::traffic::{Freshness, Opener, Rotation, Sealer};
use crate::config::Peers;
use crate::keys::{PublicKey, Verdict};

/// What all connections of a socket prove themselves with, and ask of their peers.
pub(crate) struct Terms {
    pub(crate) proof: Proof,
    /// Whose keys will do; with a token there are none.
    pub(crate) peers: Peers,
    pub(crate) rotation: Rotation,
}

/// The armour of one connection.
pub(crate) struct Seal {
    terms: Arc<Terms>,
    /// The index by which the peer names this connection.
    local: u32,
    peer_key: Option<PublicKey>,
    stage: Stage,
    /// Whole datagrams that are to leave before anything else.
    pending: VecDeque<Vec<u8>>,
}

/// What a datagram was.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Opened {
    /// Nothing that this connection takes.
    Nothing,
    /// A segment, and what else its datagram says if that was sealed.
    Segment(Segment, Option<Freshness>),
    /// A genuine datagram that has been taken before.
    Seen,
    /// The SYN must leave again at once, now that there is a cookie.
    Again,
    /// The peer has shown a key that will not do.
    WrongKey(PublicKey),
}

enum Stage {
    Calling(Calling),
    /// The caller has the answer, and confirms with the next segment.
    Answered {
        handshake: Handshake,
        remote: u32,
        early: Early,
    },
    Answering(Box<Answering>),
    Open(Box<Open>),
    /// Nothing can be said any more.
    Lost,
}

/// A caller that waits for an answer.
struct Calling {
    handshake: Handshake,
    /// The first Noise message: made when there is a cookie, and then the same for ever.
    hello: Vec<u8>,
    /// What the listener gave us; zeros ask for one.
    cookie: Cookie,
    /// Cookies taken.
    cookies: u8,
    refusal: Option<Reason>,
}

/// A listener that waits for a caller's proof.
struct Answering {
    handshake: Handshake,
    ephemeral: Ephemeral,
    remote: u32,
    hello: Vec<u8>,
    /// Bytes of the whole first datagram.
    room: usize,
    /// What the answer said; empty before there is a SYN ACK.
    payload: Vec<u8>,
    /// The second Noise message.
    answer: Vec<u8>,
}

struct Open {
    remote: u32,
    sealer: Sealer,
    opener: Opener,
    /// What may have to be said again: until the peer shows that it has the keys.
    early: Option<Early>,
    is_turned_away: bool,
}

enum Early {
    /// The listener's answer, and the caller's confirmation where there is one.
    Caller { answer: Vec<u8>, syn: Segment, confirm: Vec<u8>, confirmed: Option<Instant> },
    /// The answer.
    Listener { answer: Vec<u8> },
}

impl Seal {
    /// The armour of a connection that is opened here.
    pub(crate) fn call(terms: &Arc<Terms>, local: u32, ephemeral: &Ephemeral) -> Self {
        let handshake = Handshake::call(&terms.proof, local, ephemeral);
        let calling = Calling { handshake, hello: vec![], cookie: [0; 16], cookies: 0, refusal: None };
        Self::new(terms, local, Stage::Calling(calling))
    }

    /// The armour of a connection that `hello` of `room` bytes opens, and its SYN. `None` if the peer
    /// cannot prove who it is.
    pub(crate) fn answer(
        terms: &Arc<Terms>,
        local: u32,
        ephemeral: Ephemeral,
        (remote, hello, room): (u32, &[u8], usize),
        ports: (u16, u16),
    ) -> Option<(Self, Segment)> {
        let mut handshake = Handshake::answer(&terms.proof, remote, &ephemeral);
        let syn = parse(&handshake.read(hello)?, ports)?;
        let hello = hello.to_vec();
        let answering =
            Answering { handshake, ephemeral, remote, hello, room, payload: vec![], answer: vec![] };
        Some((Self::new(terms, local, Stage::Answering(Box::new(answering))), syn))
    }

    fn new(terms: &Arc<Terms>, local: u32, stage: Stage) -> Self {
        Self { terms: Arc::clone(terms), local, peer_key: None, stage, pending: VecDeque::new() }
    }

    /// The index by which the peer names this connection.
    pub(crate) fn local(&self) -> u32 {
        self.local
    }

    /// The key that the peer has proved to have.
    pub(crate) fn peer_key(&self) -> Option<PublicKey> {
        self.peer_key
    }

    /// Why the listener will not answer, by its own account.
    pub(crate) fn refusal(&self) -> Option<Reason> {
        match &self.stage {
            Stage::Calling(calling) => calling.refusal,
            _ => None,
        }
    }

    /// Whether the listener, to which our key is known now, has ended the connection with its first sealed
    /// words.
    pub(crate) fn is_turned_away(&self) -> bool {
        matches!(&self.stage, Stage::Open(open) if open.is_turned_away)
    }

    /// A whole datagram that is to leave before anything else.
    pub(crate) fn pop_pending(&mut self) -> Option<Vec<u8>> {
        self.pending.pop_front()
    }

    /// Appends the datagram that carries `segment`; nothing, if it cannot be said yet.
    pub(crate) fn seal(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        match &mut self.stage {
            Stage::Calling(calling) if matches!(segment.body, Body::Syn(_)) => {
                calling.say(&self.terms, self.local, segment, out);
            }
            Stage::Answered { .. } => self.confirm(now, segment, out),
            Stage::Answering(_) => self.say_answer(segment, out),
            Stage::Open(open) => open.seal(now, segment, &mut self.pending, out),
            Stage::Calling(_) | Stage::Lost => {}
        }
    }

    /// Takes a datagram between these ports, the peer's first. `is_there` says whether it comes from
    /// `peer`, where the peer was last.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        message: Message<'_>,
        peer: SocketAddr,
        is_there: bool,
        ports: (u16, u16),
    ) -> Opened {
        match (message, &mut self.stage) {
            (Message::Data(data), Stage::Open(open)) => open.open(now, &data, ports),
            // Only segments may come from another address.
            _ if !is_there => Opened::Nothing,
            (Message::CookieReply { cookie, .. }, Stage::Calling(calling)) => calling.take_cookie(cookie),
            (Message::Refusal { reason, .. }, Stage::Calling(calling)) => {
                calling.refusal = Some(reason);
                Opened::Nothing
            }
            (Message::Answer { sender, noise, .. }, Stage::Calling(_)) => {
                self.take_answer(sender, noise, peer, ports)
            }
            (Message::Answer { noise, .. }, Stage::Open(open)) => open.on_answer_again(noise),
            (Message::Hello { noise, .. }, Stage::Answering(_) | Stage::Open(_)) => {
                self.on_hello_again(noise);
                Opened::Nothing
            }
            (Message::Confirm { noise, .. }, Stage::Answering(_)) => self.take_confirm(noise, ports),
            _ => Opened::Nothing,
        }
    }

    /// The listener's first words to us.
    fn take_answer(&mut self, remote: u32, noise: &[u8], peer: SocketAddr, ports: (u16, u16)) -> Opened {
        let Stage::Calling(calling) = &mut self.stage else { return Opened::Nothing };
        let Some(payload) = calling.handshake.read(noise) else { return Opened::Nothing };
        // From here on the peer has proved who it is.
        let key = calling.handshake.peer();
        if let Some(key) = key
            && !self.terms.suits_caller(key, peer)
        {
            self.stage = Stage::Lost;
            return Opened::WrongKey(key);
        }
        self.peer_key = key;
        let Stage::Calling(Calling { handshake, .. }) = mem::replace(&mut self.stage, Stage::Lost) else {
            return Opened::Nothing;
        };
        let Some(segment) = parse(&payload, ports) else { return Opened::Nothing };
        let syn = segment.clone();
        let early = Early::Caller { answer: noise.to_vec(), syn, confirm: vec![], confirmed: None };
        self.stage = match self.terms.proof {
            Proof::Keys(_) => Stage::Answered { handshake, remote, early },
            Proof::Token(_) => match handshake.keys() {
                Some(keys) => Stage::open(keys, remote, Some(early), self.terms.rotation),
                None => Stage::Lost,
            },
        };
        Opened::Segment(segment, None)
    }

    /// The caller's last handshake message, around `segment` if that has no data.
    fn confirm(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        let Stage::Answered { mut handshake, remote, early } = mem::replace(&mut self.stage, Stage::Lost)
        else {
            return;
        };
        let Early::Caller { answer, syn, .. } = early else { return };
        let fits = segment.data_len() == 0;
        let mut payload = Vec::new();
        if fits {
            segment.emit_in_udp(&mut payload);
        }
        let mut confirm = Vec::new();
        Message::Confirm { receiver: remote, noise: &handshake.write(&payload) }.emit(&mut confirm);
        out.extend_from_slice(&confirm);
        let early = Early::Caller { answer, syn, confirm, confirmed: Some(now) };
        let Some(keys) = handshake.keys() else { return };
        self.stage = Stage::open(keys, remote, Some(early), self.terms.rotation);
        if !fits && let Stage::Open(open) = &mut self.stage {
            let mut datagram = Vec::new();
            open.seal(now, segment, &mut VecDeque::new(), &mut datagram);
            self.pending.push_back(datagram);
        }
    }

    /// The listener's first words to a caller: the same bytes each time.
    fn say_answer(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        let Stage::Answering(answering) = &mut self.stage else { return };
        if answering.answer.is_empty() {
            segment.emit_in_udp(&mut answering.payload);
            let noise = answering.handshake.write(&answering.payload);
            let (receiver, sender) = (answering.remote, self.local);
            Message::Answer { receiver, sender, noise: &noise }.emit(&mut answering.answer);
        } else if !matches!(segment.body, Body::Syn(_)) {
            return;
        }
        // Never more than was received.
        if answering.answer.len() <= answering.room {
            out.extend_from_slice(&answering.answer);
        }
        if matches!(self.terms.proof, Proof::Token(_)) {
            self.finish_answering();
        }
    }

    /// The caller has not heard the answer: it hears it again.
    fn on_hello_again(&mut self, noise: &[u8]) {
        let answer = match &self.stage {
            Stage::Answering(answering) if answering.hello == noise => &answering.answer,
            Stage::Open(open) => match &open.early {
                Some(Early::Listener { answer }) => answer,
                _ => return,
            },
            _ => return,
        };
        if !answer.is_empty() && self.pending.is_empty() {
            self.pending.push_back(answer.clone());
        }
    }

    /// The caller's last handshake message.
    fn take_confirm(&mut self, noise: &[u8], ports: (u16, u16)) -> Opened {
        let Stage::Answering(answering) = &mut self.stage else { return Opened::Nothing };
        if answering.answer.is_empty() {
            return Opened::Nothing;
        }
        let Some(payload) = answering.handshake.read(noise) else {
            answering.start_again(&self.terms.proof);
            return Opened::Nothing;
        };
        let key = answering.handshake.peer();
        self.peer_key = key;
        self.finish_answering();
        if let Stage::Open(open) = &mut self.stage {
            open.early = None;
        }
        match key {
            Some(key) if !self.terms.suits_listener(key) => Opened::WrongKey(key),
            _ => parse(&payload, ports).map_or(Opened::Nothing, |segment| Opened::Segment(segment, None)),
        }
    }

    fn finish_answering(&mut self) {
        let Stage::Answering(answering) = mem::replace(&mut self.stage, Stage::Lost) else { return };
        let Answering { handshake, remote, answer, .. } = *answering;
        if let Some(keys) = handshake.keys() {
            self.stage = Stage::open(keys, remote, Some(Early::Listener { answer }), self.terms.rotation);
        }
    }
}

impl Calling {
    /// The hello. Before there is a cookie it only asks for one.
    fn say(&mut self, terms: &Terms, local: u32, syn: &Segment, out: &mut Vec<u8>) {
        let noise = match self.cookies {
            0 => &[0; SHORTEST][..],
            _ if self.hello.is_empty() => {
                let mut payload = Vec::new();
                syn.emit_in_udp(&mut payload);
                // Options of type 0, as many as make it as long as its answer.
                payload.resize(payload.len().max(SHORTEST - KEY), 0);
                self.hello = self.handshake.write(&payload);
                &self.hello
            }
            _ => &self.hello,
        };
        let (pattern, cookie) = (terms.proof.pattern(), self.cookie);
        Message::Hello { pattern, sender: local, cookie, noise }.emit(out);
    }

    fn take_cookie(&mut self, cookie: Cookie) -> Opened {
        // Whoever forges them can keep us from connecting, but not busy.
        if self.cookie == cookie || self.cookies >= COOKIES {
            return Opened::Nothing;
        }
        (self.cookie, self.cookies) = (cookie, self.cookies + 1);
        // So it does answer.
        self.refusal = None;
        Opened::Again
    }
}

impl Answering {
    /// Back to where only the answer has been said. `snow` goes back after a bad message, but for the
    /// key of its cipher, which part of a good message has changed by then.
    fn start_again(&mut self, proof: &Proof) {
        let mut handshake = Handshake::answer(proof, self.remote, &self.ephemeral);
        if handshake.read(&self.hello).is_some() {
            handshake.write(&self.payload);
            self.handshake = handshake;
        }
    }
}

impl Stage {
    fn open(keys: Keys, remote: u32, early: Option<Early>, rotation: Rotation) -> Self {
        let (sealer, opener) = (Sealer::new(keys.outgoing, rotation), Opener::new(keys.incoming));
        Self::Open(Box::new(Open { remote, sealer, opener, early, is_turned_away: false }))
    }
}

impl Open {
    fn seal(&mut self, now: Instant, segment: &Segment, pending: &mut VecDeque<Vec<u8>>, out: &mut Vec<u8>) {
        if let Some(Early::Listener { answer }) = &self.early
            && matches!(segment.body, Body::Syn(_))
        {
            return out.extend_from_slice(answer);
        }
        let is_late = |confirmed: Option<Instant>| confirmed.is_none_or(|at| now >= at + CONFIRM_AGAIN);
        match &mut self.early {
            Some(Early::Caller { confirm, confirmed, .. }) if !confirm.is_empty() && is_late(*confirmed) => {
                *confirmed = Some(now);
                out.extend_from_slice(confirm);
                let mut datagram = Vec::new();
                self.seal_segment(now, segment, &mut datagram);
                pending.push_back(datagram);
            }
            _ => self.seal_segment(now, segment, out),
        }
    }

    fn seal_segment(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        self.opener.forget_before(now);
        let emit = |out: &mut Vec<u8>| segment.emit_in_udp(out);
        self.sealer.seal(now, self.remote, self.opener.number(), emit, out);
    }

    fn open(&mut self, now: Instant, data: &Data<'_>, ports: (u16, u16)) -> Opened {
        let mut bytes = Vec::with_capacity(data.sealed.len());
        let Some(freshness) = self.opener.open(now, data, &mut bytes) else { return Opened::Nothing };
        if freshness == Freshness::Again {
            return Opened::Seen;
        }
        self.sealer.on_seen(data.seen);
        let early = self.early.take();
        let Some(segment) = parse(&bytes, ports) else { return Opened::Nothing };
        let has_shown_key = matches!(early, Some(Early::Caller { confirm, .. }) if !confirm.is_empty());
        self.is_turned_away = has_shown_key && matches!(segment.body, Body::Reset);
        Opened::Segment(segment, Some(freshness))
    }

    /// The listener does not know that we have its answer: the endpoint sees its SYN ACK again.
    fn on_answer_again(&mut self, noise: &[u8]) -> Opened {
        match &mut self.early {
            Some(Early::Caller { answer, syn, confirmed, .. }) if answer == noise => {
                *confirmed = None;
                Opened::Segment(syn.clone(), None)
            }
            _ => Opened::Nothing,
        }
    }
}

impl Terms {
    /// Whether a caller wants to talk to whom it has found at `peer`.
    fn suits_caller(&self, key: PublicKey, peer: SocketAddr) -> bool {
        match &self.peers {
            Peers::Any => true,
            Peers::Exactly(wanted) => *wanted == key,
            Peers::Known(known) => !matches!(known.check(&peer.to_string(), key), Verdict::Changed { .. }),
        }
    }

    /// Whether a listener wants to talk to a caller.
    fn suits_listener(&self, key: PublicKey) -> bool {
        match &self.peers {
            Peers::Any => true,
            Peers::Exactly(wanted) => *wanted == key,
            Peers::Known(known) => known.contains(key),
        }
    }
}

fn parse(bytes: &[u8], (from, to): (u16, u16)) -> Option<Segment> {
    Segment::parse_in_udp(bytes, from, to).ok()
}

/// Cookies that a caller tries: the genuine ones of two minutes, and some that are forged.
const COOKIES: u8 = 8;
/// Bytes of a first Noise message at least, and of the key that it begins with.
const SHORTEST: usize = message::MIN_HELLO - message::HELLO_HEADER;
const KEY: usize = 32;
/// How soon a confirmation goes out again with more segments, if nothing shows that it has arrived.
const CONFIRM_AGAIN: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
