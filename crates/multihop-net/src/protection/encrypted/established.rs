//! An encrypted connection after its handshake: data in both directions, and handshake messages that may
//! have to be retransmitted until the peer shows that it has the keys.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant};
use multihop_wire::tpa::{Body, Segment};

use super::message::EncryptedSegment;
use super::noise::TrafficKeys;
use super::traffic::{Decryptor, Encryptor, Freshness, Rotation};
use crate::protection::outcome::Unprotected;

pub(super) struct Established {
    /// The index by which we name the connection to the peer.
    remote: u32,
    encryptor: Encryptor,
    decryptor: Decryptor,
    /// The end of the handshake, until the peer shows that it has the keys.
    unconfirmed: Option<Unconfirmed>,
    is_key_rejected: bool,
}

/// What may have to be retransmitted until the peer shows that it has the keys.
pub(super) enum Unconfirmed {
    Initiator(InitiatorCopies),
    /// The answer.
    Responder(Vec<u8>),
}

/// The handshake messages that an initiator keeps.
pub(super) struct InitiatorCopies {
    /// The listener's answer: an equal one means that the confirmation was lost.
    pub(super) answer: Vec<u8>,
    /// The SYN ACK that it carried.
    pub(super) syn_ack: Segment,
    /// Our confirmation; empty with a token, which needs none.
    pub(super) confirm: Vec<u8>,
    /// When the confirmation was last transmitted.
    pub(super) confirmed: Option<Instant>,
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
        Self { remote, encryptor, decryptor, unconfirmed, is_key_rejected: false }
    }

    /// Whether the first segment after our key was known was a reset.
    pub(super) fn is_key_rejected(&self) -> bool {
        self.is_key_rejected
    }

    /// The answer that may have to be retransmitted.
    pub(super) fn unconfirmed_answer(&self) -> Option<&Vec<u8>> {
        match &self.unconfirmed {
            Some(Unconfirmed::Responder(answer)) => Some(answer),
            _ => None,
        }
    }

    /// The peer has shown that it has the keys.
    pub(super) fn confirm(&mut self) {
        self.unconfirmed = None;
    }

    /// Appends the datagram of `segment`. With a confirmation that may be lost, that comes first and the
    /// segment becomes pending.
    pub(super) fn send_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        pending: &mut VecDeque<Vec<u8>>,
        out: &mut Vec<u8>,
    ) {
        match &mut self.unconfirmed {
            Some(Unconfirmed::Responder(answer)) if matches!(segment.body, Body::Syn(_)) => {
                out.extend_from_slice(answer);
            }
            Some(Unconfirmed::Initiator(copies)) if copies.is_confirmation_due(now) => {
                copies.confirmed = Some(now);
                out.extend_from_slice(&copies.confirm);
                let mut datagram = Vec::new();
                self.encrypt_segment(now, segment, &mut datagram);
                pending.push_back(datagram);
            }
            _ => self.encrypt_segment(now, segment, out),
        }
    }

    /// Appends the encrypted datagram of `segment`.
    pub(super) fn encrypt_segment(&mut self, now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        self.decryptor.forget_previous_key(now);
        let emit = |out: &mut Vec<u8>| segment.emit_in_udp(out);
        self.encryptor.encrypt(now, self.remote, self.decryptor.key_number(), emit, out);
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
        let unconfirmed = self.unconfirmed.take();
        let Ok(segment) = Segment::parse_in_udp(&bytes, from, to) else { return Unprotected::Ignored };
        let has_shown_key =
            matches!(unconfirmed, Some(Unconfirmed::Initiator(copies)) if !copies.confirm.is_empty());
        self.is_key_rejected = has_shown_key && matches!(segment.body, Body::Reset);
        Unprotected::Segment(segment, Some(freshness))
    }

    /// A retransmitted answer: the confirmation was lost, and the endpoint sees the SYN ACK once more.
    pub(super) fn on_answer_retransmitted(&mut self, noise: &[u8]) -> Unprotected {
        match &mut self.unconfirmed {
            Some(Unconfirmed::Initiator(copies)) if copies.answer == noise => {
                copies.confirmed = None;
                Unprotected::Segment(copies.syn_ack.clone(), None)
            }
            _ => Unprotected::Ignored,
        }
    }
}

impl InitiatorCopies {
    fn is_confirmation_due(&self, now: Instant) -> bool {
        !self.confirm.is_empty() && self.confirmed.is_none_or(|at| now >= at + CONFIRM_INTERVAL)
    }
}

/// How soon a confirmation is retransmitted together with the next segment.
const CONFIRM_INTERVAL: Duration = Duration::from_millis(50);
