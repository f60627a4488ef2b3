//! One encrypted connection, from the first datagram of its handshake on.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

use multihop_core::Instant;
use multihop_transport::connection::Segment;
use multihop_wire::control::Cause;

use super::credentials::{Credentials, ListenerKey};
use super::established::{Arrival, Established, InitiatorCopies, Pending, Unconfirmed};
use super::indices::{GivenIndices, TakenIndex};
use super::initiating::Initiating;
use super::message::{Content, ResetToken, SecureDatagram};
use super::noise::{Ephemeral, HandshakeHash, NoiseHandshake, Proof, Ticket};
use super::rekey::Terms;
use super::reset;
use super::seal;
use crate::datagram::Entropy;
use crate::error::Error;
use crate::keys::PublicKey;
use crate::protection::cookie::Cookie;
use crate::protection::opening;
use crate::protection::outcome::{Challenge, IndexChange, Path, Unprotected};
use crate::reason::Reason;
use crate::segment::{Format, is_opening};
use crate::transport::TransportName;
use crate::version::EARLIER;

/// The protection of one encrypted connection.
pub(crate) struct Session {
    credentials: Arc<Credentials>,
    /// The transport in this end's SYN, or in its answer to the peer's SYN.
    transport: TransportName,
    /// Indices by which the peer identifies this connection.
    indices: GivenIndices,
    /// The address and index of the peer, if it is the initiator.
    initiator: Option<(SocketAddr, u32)>,
    peer_key: Option<PublicKey>,
    /// Hash of the handshake, once the handshake is complete.
    binding: Option<HandshakeHash>,
    stage: Stage,
    /// Complete datagrams that must be sent before all others.
    pending: VecDeque<Pending>,
}

/// A parsed hello: the first datagram of an initiator.
#[derive(Clone, Copy)]
pub(crate) struct Hello<'a> {
    pub(crate) from: SocketAddr,
    /// Index that the initiator has chosen for the connection.
    pub(crate) sender: u32,
    pub(crate) cookie: Cookie,
    /// The Noise message and, with keys, the seal.
    pub(crate) noise: &'a [u8],
    /// Bytes of the whole datagram.
    pub(crate) datagram: &'a [u8],
}

/// Reason for which a hello opens no connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Rejection {
    /// The seal of the hello is wrong: its sender does not have this listener's public key.
    Unsealed,
    /// The Noise message of the hello cannot be decrypted: its sender does not have the token or the shared key.
    Unreadable,
    /// The hello is from the owner of this key, which is not authorised.
    UnknownKey(PublicKey),
    /// The hello requests a transport that this end does not support; contains the datagram with the refusal.
    Transport(Vec<u8>),
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
    remote: TakenIndex,
    /// Largest length of the answer, bytes: the length of the hello, to prevent amplification.
    room: usize,
}

impl Session {
    /// Session of a connection that this end opens to a listener with one of these keys. `seed` is random.
    pub(crate) fn initiate(
        credentials: &Arc<Credentials>,
        transport: TransportName,
        listener: ListenerKey,
        index: u32,
        seed: Ephemeral,
    ) -> Self {
        let stage = Stage::Initiating(Box::new(Initiating::new(listener, index, seed)));
        Self::new(credentials, transport, index, None, stage)
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
        let (&token, payload) = payload.split_first_chunk().ok_or(Rejection::Unreadable)?;
        let format = Format::of_syn(payload, credentials.transports.format).unwrap_or(Format::Tpa);
        let syn = format.parse(payload, (hello.from.port(), port), &mut None).ok_or(Rejection::Unreadable)?;
        let Some(transport) = opening::choose(credentials.transports, &syn) else {
            return Err(refuse_transport(credentials, handshake, &hello, &syn));
        };
        let index_and_token = TakenIndex { index: remote, token };
        let responding = Responding { handshake, remote: index_and_token, room: hello.datagram.len() };
        let stage = Stage::Responding(Box::new(responding));
        let session = Self::new(credentials, transport, index, Some((hello.from, remote)), stage);
        Ok((Self { peer_key: key, ..session }, syn))
    }

    fn new(
        credentials: &Arc<Credentials>,
        transport: TransportName,
        index: u32,
        initiator: Option<(SocketAddr, u32)>,
        stage: Stage,
    ) -> Self {
        Self {
            transport,
            credentials: Arc::clone(credentials),
            indices: GivenIndices::new(index),
            initiator,
            peer_key: None,
            binding: None,
            stage,
            pending: VecDeque::new(),
        }
    }

    /// Accepts a buffer for the data of the next received segment.
    pub(crate) fn reuse(&mut self, memory: Vec<u8>) {
        if let Stage::Established(established) = &mut self.stage {
            established.reuse(memory);
        }
    }

    /// The transport in this end's SYN, or in its answer to the peer's SYN.
    pub(crate) fn transport(&self) -> TransportName {
        self.transport
    }

    /// Indices by which the peer may identify this connection.
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

    /// Hash of the first handshake: equal at both ends, and different for every other connection.
    pub(crate) fn binding(&self) -> Option<HandshakeHash> {
        self.binding
    }

    /// Number of times that the keys of outgoing datagrams were replaced.
    pub(crate) fn key_changes(&self) -> u64 {
        match &self.stage {
            Stage::Established(established) => established.key_changes(),
            _ => 0,
        }
    }

    /// Whether a reset with this index and token ends the connection: the peer gave the index, and the token
    /// is valid.
    pub(crate) fn is_reset_by(&self, index: u32, token: &ResetToken) -> bool {
        matches!(&self.stage, Stage::Established(established) if established.is_reset_by(index, token))
    }

    /// Reason for which the listener refuses the connection; `None` if it states none.
    pub(crate) fn refusal(&self) -> Option<Error> {
        match &self.stage {
            Stage::Initiating(initiating) => initiating.refusal(),
            _ => None,
        }
    }

    /// Takes the next complete datagram that must be sent before all others.
    pub(crate) fn pop_pending(&mut self) -> Option<Pending> {
        self.pending.pop_front()
    }

    /// Appends the datagram with the encrypted `segment`. Appends nothing while the handshake has no key for
    /// the segment.
    pub(crate) fn send(&mut self, now: Instant, segment: &Segment, path: Path, out: &mut Vec<u8>) {
        match &mut self.stage {
            Stage::Initiating(initiating) if is_opening(segment) => {
                initiating.send_hello(&self.credentials, segment, out);
                let probe = initiating.version_probe();
                self.pending.extend(probe.map(Pending::first));
            }
            Stage::Responding(_) => self.send_answer(segment, out),
            Stage::Established(established) => established.send_segment(now, segment, path, out),
            Stage::Initiating(_) | Stage::Failed => {}
        }
    }

    /// Datagram with a challenge or the response to one; `None` unless the connection is established.
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

    /// Offers new keys and requests a spare index, if either is due.
    pub(crate) fn refresh(&mut self, now: Instant, entropy: &mut Entropy) {
        if let Stage::Established(established) = &mut self.stage {
            let offer = established.refresh(now, entropy);
            let request = established.request_index(now);
            let messages = offer.into_iter().chain(request);
            self.pending.extend(messages.map(|bytes| established.pending(bytes)));
        }
    }

    /// Answers the peer's request for the connection index after the one with this number; `fresh` is a
    /// random index for it.
    pub(crate) fn on_request(&mut self, now: Instant, number: u64, fresh: u32) -> IndexChange {
        let Stage::Established(established) = &mut self.stage else { return IndexChange::default() };
        let Some(change) = self.indices.on_request(number, fresh) else { return IndexChange::default() };
        // One waiting answer is enough.
        let spare = self.indices.spare(|index| self.credentials.reset_token(index));
        if let Some(spare) = spare.filter(|_| self.pending.is_empty()) {
            let message = established.encrypt_message(now, Content::Spare, Path::Current, &spare);
            self.pending.extend(message.map(|bytes| established.pending(bytes)));
        }
        change
    }

    /// Whether the newest authentic datagram arrived on the second path.
    pub(crate) fn is_on_second(&self) -> bool {
        matches!(&self.stage, Stage::Established(established) if established.is_on_second())
    }

    /// Whether the newest datagram of the peer arrived on the second path, so that answers leave there.
    pub(crate) fn heard_on_second(&self) -> bool {
        matches!(&self.stage, Stage::Established(established) if established.heard_on_second())
    }

    /// Whether a connection index is available for a second path.
    pub(crate) fn has_second_index(&self) -> bool {
        matches!(&self.stage, Stage::Established(established) if established.has_second_index())
    }

    /// Switches to another index for the connection, if the peer has given one.
    pub(crate) fn use_spare_index(&mut self) {
        if let Stage::Established(established) = &mut self.stage {
            established.use_spare_index();
        }
    }

    /// Processes a datagram. `ports` are the ports of the peer and of this end; `is_from_peer`: the datagram
    /// comes from the peer's last known address.
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
                let received = established.receive_data(now, &data, arrival, entropy, &mut self.pending);
                if received != Unprotected::Ignored && established.is_on_second() {
                    self.indices.keep_for_second(data.receiver);
                }
                received
            }
            // Only encrypted segments may come from another address.
            _ if !is_from_peer => Unprotected::Ignored,
            (SecureDatagram::CookieReply { cookie, key, .. }, Stage::Initiating(initiating)) => {
                initiating.on_cookie(cookie, key)
            }
            (SecureDatagram::Refusal { reason, version, .. }, Stage::Initiating(initiating)) => {
                initiating.on_refusal(reason, version);
                Unprotected::Ignored
            }
            (SecureDatagram::EarlierAnswer { .. }, Stage::Initiating(initiating)) => {
                initiating.on_refusal(Reason::OtherVersion, EARLIER);
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

    /// Handles the listener's answer to this end's hello.
    fn on_answer(&mut self, remote: u32, noise: &[u8], ports: (u16, u16)) -> Unprotected {
        let Stage::Initiating(initiating) = &mut self.stage else { return Unprotected::Ignored };
        let number = initiating.number();
        let Some((handshake, payload)) = initiating.on_answer(noise) else { return Unprotected::Ignored };
        // From here on the peer has proved its identity.
        self.peer_key = handshake.peer_key();
        self.stage = Stage::Failed;
        let Some((&token, payload)) = payload.split_first_chunk() else { return Unprotected::Ignored };
        let format = self.credentials.transports.format_of(self.transport);
        if let Some(refusal) = number.and_then(|number| opening::refusal_in(format, number, payload)) {
            return Unprotected::Refused(refusal);
        }
        let Some(syn_ack) = format.parse(payload, ports, &mut None) else { return Unprotected::Ignored };
        let name = opening::choose(self.credentials.transports, &syn_ack).unwrap_or(TransportName::UNKNOWN);
        let copies = InitiatorCopies { answer: noise.to_vec(), syn_ack: syn_ack.clone() };
        let remote = TakenIndex { index: remote, token };
        self.establish(handshake, remote, Unconfirmed::Initiator(copies));
        Unprotected::Answer(syn_ack, name)
    }

    /// Sends the listener's answer, which ends the handshake.
    fn send_answer(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        let Stage::Responding(responding) = mem::replace(&mut self.stage, Stage::Failed) else { return };
        let Responding { mut handshake, remote, room } = *responding;
        let mut payload = self.credentials.reset_token(self.indices.current()).to_vec();
        opening::emit(segment, &[self.transport], None, &mut payload);
        let noise = handshake.write(&payload);
        let mut answer = Vec::new();
        SecureDatagram::Answer { receiver: remote.index, sender: self.indices.current(), noise: &noise }
            .emit(&mut answer);
        // Never more bytes are sent than were received (no amplification).
        if answer.len() <= room {
            out.extend_from_slice(&answer);
        }
        self.establish(handshake, remote, Unconfirmed::Responder(answer));
    }

    /// Retransmits the answer, which the initiator has not received.
    fn on_hello_retransmitted(&mut self) {
        let answer = match &self.stage {
            Stage::Established(established) => established.unconfirmed_answer(),
            _ => None,
        };
        if let Some(answer) = answer
            && self.pending.is_empty()
        {
            self.pending.push_back(Pending::first(answer.clone()));
        }
    }

    fn establish(&mut self, handshake: NoiseHandshake, remote: TakenIndex, unconfirmed: Unconfirmed) {
        let binding = handshake.hash();
        self.binding = Some(binding);
        self.stage = handshake.into_keys().map_or(Stage::Failed, |keys| {
            let terms = Terms { credentials: Arc::clone(&self.credentials), peer: self.peer_key, binding };
            let format = self.credentials.transports.format_of(self.transport);
            Stage::Established(Box::new(Established::new(format, keys, remote, unconfirmed, terms)))
        });
    }
}

/// Rejects a hello whose transport this end does not support, with an encrypted answer. No state of the
/// handshake is kept.
fn refuse_transport(
    credentials: &Credentials,
    mut handshake: NoiseHandshake,
    hello: &Hello<'_>,
    syn: &Segment,
) -> Rejection {
    let mut payload = reset::NO_TOKEN.to_vec();
    payload.extend(opening::refusal(syn, Cause::TRANSPORT, credentials.transports).unwrap_or_default());
    let noise = handshake.write(&payload);
    let mut answer = Vec::new();
    SecureDatagram::Answer { receiver: hello.sender, sender: 0, noise: &noise }.emit(&mut answer);
    // Never more bytes are sent than were received (no amplification).
    if answer.len() <= hello.datagram.len() { Rejection::Transport(answer) } else { Rejection::Unreadable }
}

#[cfg(test)]
mod tests;
