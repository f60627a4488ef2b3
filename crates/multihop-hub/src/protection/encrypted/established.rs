//! An encrypted connection after its handshake: data in both directions, and handshake messages that may have
//! to be retransmitted until the peer shows that it has the keys.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use multihop_core::Instant;
use multihop_transport::connection::Segment;

use super::indices::{TakenIndex, TakenIndices};
use super::message::{Content, EncryptedSegment, ResetToken};
use super::noise::TrafficKeys;
use super::rekey::{Accepting, Offering, Rekey, Terms};
use super::traffic::{Decryptor, Encryptor};
use crate::datagram::Entropy;
use crate::protection::outcome::{Challenge, Freshness, Path, Unprotected};
use crate::segment::{Format, emit, is_opening};

pub(super) struct Established {
    /// Format of the segments of the connection's transport.
    format: Format,
    /// Indices of the peer by which this end identifies the connection in datagrams.
    indices: TakenIndices,
    encryptor: Encryptor,
    decryptor: Decryptor,
    /// Last handshake message, kept until the peer shows that it has the keys.
    unconfirmed: Option<Unconfirmed>,
    terms: Terms,
    rekey: Rekey,
    /// Buffer for decrypted text.
    text: Vec<u8>,
    /// Buffer for the data of the next segment, to save an allocation.
    memory: Option<Vec<u8>>,
    /// Whether the newest datagram of the peer came on the second path.
    heard_on_second: bool,
}

/// A complete datagram that must be sent before all others.
pub(crate) struct Pending {
    pub(crate) bytes: Vec<u8>,
    /// Whether the datagram leaves on the second path.
    pub(crate) on_second: bool,
}

impl Pending {
    /// A datagram for the first path.
    pub(crate) const fn first(bytes: Vec<u8>) -> Self {
        Self { bytes, on_second: false }
    }
}

/// Content of a datagram after decryption.
#[derive(Clone, Copy)]
struct Decrypted<'a> {
    content: Content,
    bytes: &'a [u8],
    freshness: Freshness,
}

/// Ports and index with which a datagram arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Ports of the peer and of this end.
    pub(super) ports: (u16, u16),
    /// Number of this end's index in the datagram; `None` if the datagram does not come from the peer's address.
    pub(super) index: Option<u64>,
}

/// End of a handshake that may have to be retransmitted until the peer shows that it has the keys.
pub(super) enum Unconfirmed {
    /// Copies that an initiator needs to recognise a repetition of the listener's answer, which shows that
    /// the listener has received nothing since.
    Initiator(InitiatorCopies),
    /// Bytes of the listener's answer, retransmitted until the initiator confirms it.
    Responder(Vec<u8>),
}

/// Parts of the handshake that an initiator keeps until the listener shows that it has the keys.
pub(super) struct InitiatorCopies {
    /// Bytes of the listener's answer.
    pub(super) answer: Vec<u8>,
    /// SYN ACK in the listener's answer.
    pub(super) syn_ack: Segment,
}

impl Established {
    pub(super) fn new(
        format: Format,
        keys: TrafficKeys,
        remote: TakenIndex,
        unconfirmed: Unconfirmed,
        terms: Terms,
    ) -> Self {
        let (encryptor, decryptor) = (Encryptor::new(keys.outgoing), Decryptor::new(keys.incoming));
        let rekey = match unconfirmed {
            Unconfirmed::Initiator(_) => Rekey::Initiator(Offering::default()),
            Unconfirmed::Responder(_) => Rekey::Responder(Accepting::default()),
        };
        let indices = TakenIndices::new(remote);
        Self {
            format,
            indices,
            encryptor,
            decryptor,
            unconfirmed: Some(unconfirmed),
            terms,
            rekey,
            text: Vec::new(),
            memory: None,
            heard_on_second: false,
        }
    }

    /// Whether messages leave on the second path, because the peer's last datagram arrived there.
    pub(super) const fn heard_on_second(&self) -> bool {
        self.heard_on_second
    }

    /// Whether the newest authentic datagram came on the second path.
    pub(super) const fn is_on_second(&self) -> bool {
        self.decryptor.is_second()
    }

    /// Whether a connection index is available for the second path.
    pub(super) const fn has_second_index(&self) -> bool {
        self.indices.has_second()
    }

    /// Number of times that the keys of outgoing datagrams were replaced.
    pub(super) fn key_changes(&self) -> u64 {
        self.encryptor.number()
    }

    /// The answer that may have to be retransmitted; `None` if there is none.
    pub(super) fn unconfirmed_answer(&self) -> Option<&Vec<u8>> {
        match &self.unconfirmed {
            Some(Unconfirmed::Responder(answer)) => Some(answer),
            _ => None,
        }
    }

    /// Accepts a buffer for the data of the next received segment.
    pub(super) fn reuse(&mut self, memory: Vec<u8>) {
        self.memory = Some(memory);
    }

    /// Appends the datagram of `segment`.
    pub(super) fn send_segment(&mut self, now: Instant, segment: &Segment, path: Path, out: &mut Vec<u8>) {
        match &self.unconfirmed {
            Some(Unconfirmed::Responder(answer)) if is_opening(segment) => {
                out.extend_from_slice(answer);
            }
            _ => self.encrypt(now, Content::Segment, path, |out| emit(segment, out), out),
        }
    }

    /// Appends an encrypted datagram.
    fn encrypt(
        &mut self,
        now: Instant,
        content: Content,
        path: Path,
        emit: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        self.decryptor.forget_previous_key(now);
        let on_second = match path {
            Path::Current => self.heard_on_second,
            Path::Second => true,
            Path::First | Path::New => false,
        };
        let path = if on_second { Path::Second } else { path };
        if on_second {
            self.indices.use_second();
        }
        self.encryptor.encrypt(content, self.indices.on(path), on_second, emit, out);
    }

    /// Datagram that offers new keys; `None` unless the current keys are old.
    pub(super) fn refresh(&mut self, now: Instant, entropy: &mut Entropy) -> Option<Vec<u8>> {
        // Only one exchange is in progress at a time: the last one ends with the first datagram under its
        // keys.
        if self.unconfirmed.is_some() || self.decryptor.awaits_next() {
            return None;
        }
        let (next, datagrams) = (self.encryptor.number() + 1, self.datagrams());
        let Rekey::Initiator(offering) = &mut self.rekey else { return None };
        let offer = offering.poll(now, &self.terms, next, datagrams, entropy)?;
        self.encrypt_message(now, Content::Offer, Path::Current, &offer)
    }

    /// Datagram that requests a spare connection index; `None` if one is left or the last request is recent.
    pub(super) fn request_index(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.unconfirmed.is_some() {
            return None;
        }
        let request = self.indices.request(now)?;
        self.encrypt_message(now, Content::Request, Path::Current, &request)
    }

    /// Switches to another index for the connection, if the peer has given one.
    pub(super) fn use_spare_index(&mut self) {
        self.indices.use_spare();
    }

    /// Whether a reset with this index and token ends the connection: the peer gave the index, and the token
    /// is valid.
    pub(super) fn is_reset_by(&self, index: u32, token: &ResetToken) -> bool {
        self.indices.is_reset_by(index, token)
    }

    fn datagrams(&self) -> u64 {
        self.encryptor.sent().saturating_add(self.decryptor.received())
    }

    /// Encrypts a message into a datagram.
    pub(super) fn encrypt_message(
        &mut self,
        now: Instant,
        content: Content,
        path: Path,
        message: &[u8],
    ) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.encrypt(now, content, path, |out| out.extend_from_slice(message), &mut out);
        Some(out).filter(|out| !out.is_empty())
    }

    /// Decrypts a datagram and processes its content; appends answers to `replies`.
    pub(super) fn receive_data(
        &mut self,
        now: Instant,
        data: &EncryptedSegment<'_>,
        arrival: Arrival,
        entropy: &mut Entropy,
        replies: &mut VecDeque<Pending>,
    ) -> Unprotected {
        let mut text = mem::take(&mut self.text);
        text.clear();
        let taken = match self.decryptor.decrypt(now, data, &mut text) {
            None => Unprotected::Ignored,
            Some(Freshness::Duplicate) => Unprotected::Duplicate,
            Some(freshness) => {
                let decrypted = Decrypted { content: data.content, bytes: &text, freshness };
                self.on_decrypted(now, decrypted, arrival, entropy, replies)
            }
        };
        if text.capacity() <= KEPT {
            self.text = text;
        }
        taken
    }

    fn on_decrypted(
        &mut self,
        now: Instant,
        Decrypted { content, bytes, freshness }: Decrypted<'_>,
        Arrival { ports, index }: Arrival,
        entropy: &mut Entropy,
        replies: &mut VecDeque<Pending>,
    ) -> Unprotected {
        let is_second = self.is_on_second();
        if freshness == Freshness::Newest {
            self.heard_on_second = is_second;
        }
        if let Some(number) = index.filter(|_| freshness == Freshness::Newest && !is_second) {
            self.indices.follow(number);
        }
        self.unconfirmed = None;
        if let Rekey::Responder(accepting) = &mut self.rekey
            && self.decryptor.number() > self.encryptor.number()
            && let Some(key) = accepting.complete()
        {
            self.encryptor.replace(key);
        }
        let number: Result<Challenge, _> = bytes.try_into();
        match (content, number) {
            (Content::Request, Ok(number)) => Unprotected::Request(u64::from_be_bytes(number), freshness),
            (Content::Spare, _) => {
                self.indices.on_spare(bytes);
                Unprotected::Processed(freshness)
            }
            (Content::Segment, _) => self
                .format
                .parse(bytes, ports, &mut self.memory)
                .map_or(Unprotected::Ignored, |segment| Unprotected::Segment(segment, Some(freshness))),
            (Content::Challenge, Ok(number)) => Unprotected::Challenge(number),
            (Content::Response, Ok(number)) => Unprotected::Response(number, freshness),
            (Content::Challenge | Content::Response | Content::Request, Err(_)) => Unprotected::Ignored,
            (Content::Offer, _) => {
                // One waiting answer is enough.
                let answer = self.on_offer(now, bytes, entropy).filter(|_| replies.is_empty());
                replies.extend(answer.map(|bytes| self.pending(bytes)));
                Unprotected::Processed(freshness)
            }
            (Content::Accept, _) => {
                self.on_accept(now, bytes);
                Unprotected::Processed(freshness)
            }
        }
    }

    /// Marks a datagram as made for [`Path::Current`].
    pub(super) const fn pending(&self, bytes: Vec<u8>) -> Pending {
        Pending { bytes, on_second: self.heard_on_second }
    }

    fn on_offer(&mut self, now: Instant, offer: &[u8], entropy: &mut Entropy) -> Option<Vec<u8>> {
        let next = self.decryptor.number() + 1;
        let Rekey::Responder(accepting) = &mut self.rekey else { return None };
        let (answer, incoming) = accepting.on_offer(offer, &self.terms, next, entropy)?;
        if let Some(incoming) = incoming {
            self.decryptor.expect(incoming);
        }
        self.encrypt_message(now, Content::Accept, Path::Current, &answer)
    }

    /// Starts to use the new keys, which the responder has.
    fn on_accept(&mut self, now: Instant, answer: &[u8]) {
        let datagrams = self.datagrams();
        let Rekey::Initiator(offering) = &mut self.rekey else { return };
        if let Some(keys) = offering.on_accept(now, answer, datagrams) {
            self.decryptor.expect(keys.incoming);
            self.encryptor.replace(keys.outgoing);
        }
    }

    /// Acknowledges a retransmitted answer again, because the first acknowledgement was lost.
    pub(super) fn on_answer_retransmitted(&self, noise: &[u8]) -> Unprotected {
        match &self.unconfirmed {
            Some(Unconfirmed::Initiator(copies)) if copies.answer == noise => {
                Unprotected::Segment(copies.syn_ack.clone(), None)
            }
            _ => Unprotected::Ignored,
        }
    }
}

/// Largest capacity of a buffer kept for the next segment, bytes.
const KEPT: usize = 4096;

#[cfg(test)]
impl Established {
    pub(super) fn outgoing_key(&self) -> [u8; 32] {
        self.encryptor.reveal()
    }

    /// Replaces the credentials of this end.
    pub(super) fn become_another(&mut self, credentials: &alloc::sync::Arc<super::credentials::Credentials>) {
        self.terms.credentials = alloc::sync::Arc::clone(credentials);
    }
}
