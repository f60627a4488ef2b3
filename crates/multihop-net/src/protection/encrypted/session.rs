//! One encrypted connection, from the first datagram of its handshake on.

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::Instant;
use multihop_transport::connection::Segment;

use super::credentials::{Credentials, ListenerKey};
use super::established::{Arrival, Established, InitiatorCopies, Unconfirmed};
use super::indices::GivenIndices;
use super::initiating::Initiating;
use super::message::{Content, SecureDatagram};
use super::noise::{Ephemeral, HandshakeHash, NoiseHandshake, Proof, Ticket};
use super::rekey::Terms;
use super::seal;
use crate::datagram::Entropy;
use crate::error::Error;
use crate::keys::PublicKey;
use crate::protection::cookie::Cookie;
use crate::protection::outcome::{Challenge, IndexChange, Path, Unprotected};
use crate::protection::syn;
use crate::segment::{is_opening, parse};
use crate::transport::TransportName;

/// The protection of one encrypted connection.
pub(crate) struct Session {
    credentials: Arc<Credentials>,
    /// The transport that our SYN named, or our answer chose.
    transport: TransportName,
    /// By which the peer names this connection.
    indices: GivenIndices,
    /// The address and index of the peer, if it is the initiator.
    initiator: Option<(SocketAddr, u32)>,
    peer_key: Option<PublicKey>,
    /// The hash of the handshake, once it is complete.
    binding: Option<HandshakeHash>,
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
    pub(crate) cookie: Cookie,
    /// The Noise message, and with keys the seal.
    pub(crate) noise: &'a [u8],
    /// The whole datagram.
    pub(crate) datagram: &'a [u8],
}

/// Why a hello opens no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rejection {
    /// It is not from somebody who knows our key.
    Unsealed,
    /// It is not from somebody who knows the token, or the shared key.
    Unreadable,
    /// It is from the owner of this key, which is not authorised.
    UnknownKey(PublicKey),
}

enum Stage {
    Initiating(Box<Initiating>),
    /// The responder has read the hello, and answers with the endpoint's SYN ACK.
    Responding(Box<Responding>),
    Established(Box<Established>),
    /// The handshake has failed: nothing can be sent.
    Failed,
}

/// A responder that has not answered yet.
struct Responding {
    handshake: NoiseHandshake,
    remote: u32,
    /// Bytes of the hello's datagram: the answer must not be longer.
    room: usize,
}

impl Session {
    /// The session of a connection that this end opens to a listener with one of these keys. `seed` is random.
    pub(crate) fn initiate(
        credentials: &Arc<Credentials>,
        listener: ListenerKey,
        index: u32,
        seed: Ephemeral,
    ) -> Self {
        let stage = Stage::Initiating(Box::new(Initiating::new(listener, index, seed)));
        Self::new(credentials, index, None, stage)
    }

    /// The session of a connection that `hello` opens, and its SYN.
    pub(crate) fn respond(
        credentials: &Arc<Credentials>,
        index: u32,
        ephemeral: &Ephemeral,
        hello: Hello<'_>,
        port: u16,
    ) -> Result<(Self, Segment), Rejection> {
        let remote = hello.sender;
        let ticket = Ticket::Hello { initiator: remote, cookie: hello.cookie };
        let noise = match &credentials.proof {
            Proof::Token(_) => hello.noise,
            Proof::Keys(identity, _) => {
                seal::open(&identity.public(), hello.datagram, hello.noise).ok_or(Rejection::Unsealed)?
            }
        };
        let mut handshake = NoiseHandshake::respond(&credentials.proof, ticket, ephemeral);
        let payload = handshake.read(noise).ok_or(Rejection::Unreadable)?;
        let key = handshake.peer_key();
        if let Some(key) = key.filter(|key| !credentials.peers.accept_caller(*key)) {
            return Err(Rejection::UnknownKey(key));
        }
        let syn = parse(&payload, (hello.from.port(), port), &mut None).ok_or(Rejection::Unreadable)?;
        let stage = Stage::Responding(Box::new(Responding { handshake, remote, room: hello.datagram.len() }));
        let session = Self::new(credentials, index, Some((hello.from, remote)), stage);
        let transport = syn::choose(credentials.transports, &payload);
        Ok((Self { peer_key: key, transport, ..session }, syn))
    }

    fn new(
        credentials: &Arc<Credentials>,
        index: u32,
        initiator: Option<(SocketAddr, u32)>,
        stage: Stage,
    ) -> Self {
        Self {
            transport: credentials.transports.named(),
            credentials: Arc::clone(credentials),
            indices: GivenIndices::new(index),
            initiator,
            peer_key: None,
            binding: None,
            stage,
            pending: VecDeque::new(),
        }
    }

    /// Takes memory for the data of the next segment.
    pub(crate) fn reuse(&mut self, memory: Vec<u8>) {
        if let Stage::Established(established) = &mut self.stage {
            established.reuse(memory);
        }
    }

    /// The transport that our SYN named, or our answer chose.
    pub(crate) fn transport(&self) -> TransportName {
        self.transport
    }

    /// The indices by which the peer may name this connection.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> {
        self.indices.all()
    }

    /// The address and index of the peer's hello, if the peer is the initiator.
    pub(crate) fn initiator(&self) -> Option<(SocketAddr, u32)> {
        self.initiator
    }

    /// The key that the peer has proved to have.
    pub(crate) fn peer_key(&self) -> Option<PublicKey> {
        self.peer_key
    }

    /// What both ends of this connection know, and those of every other connection do not have.
    pub(crate) fn binding(&self) -> Option<HandshakeHash> {
        self.binding
    }

    /// How often the keys of what this end sends have been replaced.
    pub(crate) fn key_changes(&self) -> u64 {
        match &self.stage {
            Stage::Established(established) => established.key_changes(),
            _ => 0,
        }
    }

    /// Why there will be no connection, as far as the listener says.
    pub(crate) fn refusal(&self) -> Option<Error> {
        match &self.stage {
            Stage::Initiating(initiating) => initiating.refusal(),
            _ => None,
        }
    }

    /// A whole datagram that must be sent before anything else.
    pub(crate) fn pop_pending(&mut self) -> Option<Vec<u8>> {
        self.pending.pop_front()
    }

    /// Appends the datagram that carries `segment`; nothing while the handshake does not allow it.
    pub(crate) fn send(&mut self, now: Instant, segment: &Segment, path: Path, out: &mut Vec<u8>) {
        match &mut self.stage {
            Stage::Initiating(initiating) if is_opening(segment) => {
                initiating.send_hello(&self.credentials, segment, out);
            }
            Stage::Responding(_) => self.send_answer(segment, out),
            Stage::Established(established) => established.send_segment(now, segment, path, out),
            Stage::Initiating(_) | Stage::Failed => {}
        }
    }

    /// The datagram that carries a challenge or the response to one, if the connection is established.
    pub(crate) fn probe(
        &mut self,
        now: Instant,
        content: Content,
        path: Path,
        number: &Challenge,
    ) -> Option<Vec<u8>> {
        let Stage::Established(established) = &mut self.stage else { return None };
        established.encrypt_message(now, content, path, number)
    }

    /// Offers new keys, and asks for a spare index, if it is time.
    pub(crate) fn refresh(&mut self, now: Instant, entropy: &mut Entropy) {
        if let Stage::Established(established) = &mut self.stage {
            self.pending.extend(established.refresh(now, entropy));
            self.pending.extend(established.request_index(now));
        }
    }

    /// The peer asks for the index after the one with this number; `fresh` is a random one.
    pub(crate) fn on_request(&mut self, now: Instant, number: u64, fresh: u32) -> IndexChange {
        let Stage::Established(established) = &mut self.stage else { return IndexChange::default() };
        let Some(change) = self.indices.on_request(number, fresh) else { return IndexChange::default() };
        // An answer that has not left yet is enough.
        if let Some(spare) = self.indices.spare().filter(|_| self.pending.is_empty()) {
            self.pending.extend(established.encrypt_message(now, Content::Spare, Path::Current, &spare));
        }
        change
    }

    /// From now on names the connection by another index, if the peer has given one.
    pub(crate) fn use_spare_index(&mut self) {
        if let Stage::Established(established) = &mut self.stage {
            established.use_spare_index();
        }
    }

    /// Takes a datagram. `ports` are the peer's and ours; `is_from_peer` says whether it comes from the peer's last
    /// known address.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        message: SecureDatagram<'_>,
        is_from_peer: bool,
        ports: (u16, u16),
        entropy: &mut Entropy,
    ) -> Unprotected {
        match (message, &mut self.stage) {
            (SecureDatagram::Data(data), Stage::Established(established)) => {
                let index = self.indices.number_of(data.receiver).filter(|_| is_from_peer);
                let arrival = Arrival { ports, index };
                established.receive_data(now, &data, arrival, entropy, &mut self.pending)
            }
            // Only encrypted segments may come from another address.
            _ if !is_from_peer => Unprotected::Ignored,
            (SecureDatagram::CookieReply { cookie, key, .. }, Stage::Initiating(initiating)) => {
                initiating.on_cookie(cookie, key)
            }
            (SecureDatagram::Refusal { reason, .. }, Stage::Initiating(initiating)) => {
                initiating.on_refusal(reason);
                Unprotected::Ignored
            }
            (SecureDatagram::Answer { sender, noise, .. }, Stage::Initiating(_)) => {
                self.on_answer(sender, noise, ports)
            }
            (SecureDatagram::Answer { noise, .. }, Stage::Established(established)) => {
                established.on_answer_retransmitted(noise)
            }
            (SecureDatagram::Hello { .. }, Stage::Established(_)) => {
                self.on_hello_retransmitted();
                Unprotected::Ignored
            }
            _ => Unprotected::Ignored,
        }
    }

    /// The listener's answer to our hello.
    fn on_answer(&mut self, remote: u32, noise: &[u8], ports: (u16, u16)) -> Unprotected {
        let Stage::Initiating(initiating) = &mut self.stage else { return Unprotected::Ignored };
        let Some((handshake, payload)) = initiating.on_answer(noise) else { return Unprotected::Ignored };
        // From here on the peer has proved its identity.
        self.peer_key = handshake.peer_key();
        self.stage = Stage::Failed;
        let Some(syn_ack) = parse(&payload, ports, &mut None) else { return Unprotected::Ignored };
        let copies = InitiatorCopies { answer: noise.to_vec(), syn_ack: syn_ack.clone() };
        self.establish(handshake, remote, Unconfirmed::Initiator(copies));
        Unprotected::Answer(syn_ack, syn::transport(&payload))
    }

    /// The listener's answer, which ends the handshake.
    fn send_answer(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        let Stage::Responding(responding) = mem::replace(&mut self.stage, Stage::Failed) else { return };
        let Responding { mut handshake, remote, room } = *responding;
        let mut payload = Vec::new();
        syn::emit(segment, self.transport, &mut payload);
        let noise = handshake.write(&payload);
        let mut answer = Vec::new();
        SecureDatagram::Answer { receiver: remote, sender: self.indices.current(), noise: &noise }
            .emit(&mut answer);
        // No amplification: never more bytes than were received.
        if answer.len() <= room {
            out.extend_from_slice(&answer);
        }
        self.establish(handshake, remote, Unconfirmed::Responder(answer));
    }

    /// The initiator has not received the answer: it is retransmitted.
    fn on_hello_retransmitted(&mut self) {
        let answer = match &self.stage {
            Stage::Established(established) => established.unconfirmed_answer(),
            _ => None,
        };
        if let Some(answer) = answer
            && self.pending.is_empty()
        {
            self.pending.push_back(answer.clone());
        }
    }

    fn establish(&mut self, handshake: NoiseHandshake, remote: u32, unconfirmed: Unconfirmed) {
        let binding = handshake.hash();
        self.binding = Some(binding);
        self.stage = handshake.into_keys().map_or(Stage::Failed, |keys| {
            let terms = Terms { credentials: Arc::clone(&self.credentials), peer: self.peer_key, binding };
            Stage::Established(Box::new(Established::new(keys, remote, unconfirmed, terms)))
        });
    }
}

#[cfg(test)]
mod tests;
