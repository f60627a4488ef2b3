//! New keys for an open connection, by a new handshake inside it: the initiator offers, the responder accepts.
//!
//! New keys are derived from fresh ephemeral keys and not from the old keys, so that neither reveal the
//! other. With keys both ends also prove their identity again. Only the initiator offers, so the two ends
//! never offer at once.
//!
//! # Bytes
//!
//! Keys are numbered from 0; byte 1 is the number modulo 256. A handshake inside the connection makes new
//! keys, with the connection's Noise pattern and secrets:
//!
//! ```text
//! caller, keys n                        listener, keys n
//!    offer: n + 1, first Noise message   -->           decrypts n + 1 from now on
//!    <--   accept: n + 1, second Noise message
//!    encrypts with n + 1, decrypts n + 1
//!    data, key n + 1  -------------------->            encrypts with n + 1
//!    <--------------------  data, key n + 1            the exchange has ended
//! ```
//!
//! | | rule |
//! |---|---|
//! | offer and accept | number of the new keys (8) and a Noise message with empty payload. The prologue is `multihop rekey 3` (16), the number (8), and the hash `h` of the first handshake (32). The first key of `Split()` is for what the caller sends |
//! | time | The caller offers keys 120 s after the last ones, or after 2^20 datagrams sent and received, once the previous exchange has ended |
//! | repeated offer | The caller repeats an offer unchanged after 1 s, when it has something to send or has received something. The listener repeats its answer |
//! | refused offer | The listener accepts only the number after the current one, and with keys only the same static key. It ignores other offers until the exchange has ended. Data goes on under the old keys |
//! | decryption | A receiver tries its current, next and previous key; the previous one for 10 s. The next key becomes current when a datagram decrypts under it |

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use multihop_core::{Duration, Instant};
use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::noise::{Ephemeral, HandshakeHash, NoiseHandshake, Ticket, TrafficKeys};
use super::traffic::TrafficKey;
use crate::datagram::Entropy;
use crate::keys::PublicKey;

/// Credentials and hashes that are the same in all handshakes of one connection.
pub(super) struct Terms {
    pub(super) credentials: Arc<Credentials>,
    /// Public key of the peer, if the connection uses keys.
    pub(super) peer: Option<PublicKey>,
    /// The hash of the first handshake.
    pub(super) binding: HandshakeHash,
}

/// This end's part in exchanges of new keys.
pub(super) enum Rekey {
    Initiator(Offering),
    Responder(Accepting),
}

/// Initiator's state of key exchanges: it decides when new keys are due and sends the offers.
#[derive(Default)]
pub(super) struct Offering {
    /// Time at which the current keys came into use.
    since: Option<Instant>,
    /// Number of datagrams sent and received before the current keys came into use.
    datagrams: u64,
    /// The offer that was not answered yet.
    offer: Option<Box<Offer>>,
}

struct Offer {
    handshake: NoiseHandshake,
    number: u64,
    message: Vec<u8>,
    /// Time of the latest transmission of the offer.
    sent: Instant,
}

/// Responder's state of key exchanges: it answers the offers.
#[derive(Default)]
pub(super) struct Accepting {
    /// The accepted offer with its answer, kept until the initiator uses the new keys.
    accepted: Option<Accepted>,
}

struct Accepted {
    offer: Vec<u8>,
    answer: Vec<u8>,
    outgoing: TrafficKey,
}

impl Terms {
    fn ticket(&self, number: u64) -> Ticket {
        Ticket::Rekey { number, binding: self.binding }
    }
}

impl Offering {
    /// Offer of new keys with this number; `None` if none must be sent now. `datagrams` is the number of
    /// datagrams sent and received so far.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        terms: &Terms,
        number: u64,
        datagrams: u64,
        entropy: &mut Entropy,
    ) -> Option<Vec<u8>> {
        if let Some(offer) = &mut self.offer {
            let is_due = now >= offer.sent + RETRY;
            offer.sent = if is_due { now } else { offer.sent };
            return is_due.then(|| offer.message.clone());
        }
        let since = *self.since.get_or_insert(now);
        let rotation = terms.credentials.rotation;
        if datagrams - self.datagrams < rotation.datagrams && now < since + rotation.age {
            return None;
        }
        let (proof, ephemeral) = (&terms.credentials.proof, draw(entropy));
        let mut handshake =
            NoiseHandshake::initiate(proof, terms.ticket(number), terms.peer.as_ref(), &ephemeral);
        let message = emit(number, &handshake.write(&[]));
        self.offer = Some(Box::new(Offer { handshake, number, message: message.clone(), sent: now }));
        Some(message)
    }

    /// Handles the responder's answer; returns the new keys.
    pub(super) fn on_accept(&mut self, now: Instant, message: &[u8], datagrams: u64) -> Option<TrafficKeys> {
        let (number, noise) = parse(message)?;
        let offer = self.offer.as_mut().filter(|offer| offer.number == number)?;
        offer.handshake.read(noise)?;
        (self.since, self.datagrams) = (Some(now), datagrams);
        let offer = *self.offer.take()?;
        offer.handshake.into_keys()
    }
}

impl Accepting {
    /// Handles an offer of keys with the number `next`: returns the answer, and at the first time the key of the peer's
    /// later datagrams.
    pub(super) fn on_offer(
        &mut self,
        message: &[u8],
        terms: &Terms,
        next: u64,
        entropy: &mut Entropy,
    ) -> Option<(Vec<u8>, Option<TrafficKey>)> {
        if let Some(accepted) = &self.accepted {
            return (accepted.offer == message).then(|| (accepted.answer.clone(), None));
        }
        let (number, noise) = parse(message).filter(|(number, _)| *number == next)?;
        let mut handshake =
            NoiseHandshake::respond(&terms.credentials.proof, terms.ticket(number), &draw(entropy));
        handshake.read(noise)?;
        if handshake.peer_key() != terms.peer {
            return None;
        }
        let answer = emit(number, &handshake.write(&[]));
        let TrafficKeys { outgoing, incoming } = handshake.into_keys()?;
        self.accepted = Some(Accepted { offer: message.to_vec(), answer: answer.clone(), outgoing });
        Some((answer, Some(incoming)))
    }

    /// Completes the exchange when the initiator uses the new keys; returns this end's sending key.
    pub(super) fn complete(&mut self) -> Option<TrafficKey> {
        self.accepted.take().map(|accepted| accepted.outgoing)
    }
}

/// The number of the new keys, and the Noise message.
fn emit(number: u64, noise: &[u8]) -> Vec<u8> {
    [&number.to_be_bytes(), noise].concat()
}

fn parse(message: &[u8]) -> Option<(u64, &[u8])> {
    message.split_first_chunk().map(|(number, noise)| (u64::from_be_bytes(*number), noise))
}

fn draw(entropy: &mut Entropy) -> Ephemeral {
    let mut ephemeral = Zeroizing::new([0; 32]);
    entropy(&mut ephemeral[..]);
    ephemeral
}

/// Time without an answer after which an offer is sent again.
const RETRY: Duration = Duration::from_secs(1);
