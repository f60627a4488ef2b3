//! An encrypted connection after its handshake: data in both directions, and handshake messages that may
//! have to be retransmitted until the peer shows that it has the keys.

use multihop_core::Instant;
use multihop_wire::tpa::{Body, Segment};

use super::message::{Content, EncryptedSegment};
use super::noise::TrafficKeys;
use super::traffic::{Decryptor, Encryptor, Freshness, Rotation};
use crate::protection::outcome::{Challenge, Unprotected};

pub(super) struct Established {
    /// The index by which we name the connection to the peer.
    remote: u32,
    encryptor: Encryptor,
    decryptor: Decryptor,
    /// The end of the handshake, until the peer shows that it has the keys.
    unconfirmed: Option<Unconfirmed>,
}

/// What may have to be retransmitted until the peer shows that it has the keys.
pub(super) enum Unconfirmed {
    /// The listener's answer: an equal one means that it has not received anything since.
    Initiator(InitiatorCopies),
    /// The answer.
    Responder(Vec<u8>),
}

/// What an initiator keeps of the handshake.
pub(super) struct InitiatorCopies {
    /// The listener's answer.
    pub(super) answer: Vec<u8>,
    /// The SYN ACK that it carried.
    pub(super) syn_ack: Segment,
}

impl Established {
    pub(super) fn new(
        keys: TrafficKeys,
        remote: u32,
        unconfirmed: Option<Unconfirmed>,
        rotation: Rotation,
    ) -> Self {
        let encryptor = Encryptor::new(keys.outgoing, rotation);
        let decryptor = Decryptor::new(keys.incoming);
        Self { remote, encryptor, decryptor, unconfirmed }
    }

    /// The answer that may have to be retransmitted.
    pub(super) fn unconfirmed_answer(&self) -> Option<&Vec<u8>> {
        match &self.unconfirmed {
            Some(Unconfirmed::Responder(answer)) => Some(answer),
            _ => None,
        }
    }

    /// Appends the datagram of `segment`.
    pub(super) fn send_segment(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        match &self.unconfirmed {
            Some(Unconfirmed::Responder(answer)) if matches!(segment.body, Body::Syn(_)) => {
                out.extend_from_slice(answer);
            }
            _ => self.encrypt_segment(now, segment, out),
        }
    }

    fn encrypt_segment(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        self.encrypt(now, Content::Segment, |out| segment.emit_in_udp(out), out);
    }

    /// Appends an encrypted datagram.
    pub(super) fn encrypt(
        &mut self,
        now: Instant,
        content: Content,
        emit: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        self.decryptor.forget_previous_key(now);
        self.encryptor.encrypt(now, content, self.remote, self.decryptor.key_number(), emit, out);
    }

    pub(super) fn receive_data(
        &mut self,
        now: Instant,
        data: &EncryptedSegment<'_>,
        (from, to): (u16, u16),
    ) -> Unprotected {
        let mut bytes = Vec::with_capacity(data.ciphertext.len());
        let Some(freshness) = self.decryptor.decrypt(now, data, &mut bytes) else {
            return Unprotected::Ignored;
        };
        if freshness == Freshness::Duplicate {
            return Unprotected::Duplicate;
        }
        self.encryptor.on_key_seen(data.seen);
        self.unconfirmed = None;
        let number: Result<Challenge, _> = bytes.as_slice().try_into();
        match (data.content, number) {
            (Content::Segment, _) => Segment::parse_in_udp(&bytes, from, to)
                .map_or(Unprotected::Ignored, |segment| Unprotected::Segment(segment, Some(freshness))),
            (Content::Challenge, Ok(number)) => Unprotected::Challenge(number),
            (Content::Response, Ok(number)) => Unprotected::Response(number, freshness),
            (_, Err(_)) => Unprotected::Ignored,
        }
    }

    /// A retransmitted answer: our acknowledgement was lost, and the endpoint sees the SYN ACK once more.
    pub(super) fn on_answer_retransmitted(&self, noise: &[u8]) -> Unprotected {
        match &self.unconfirmed {
            Some(Unconfirmed::Initiator(copies)) if copies.answer == noise => {
                Unprotected::Segment(copies.syn_ack.clone(), None)
            }
            _ => Unprotected::Ignored,
        }
    }
}
