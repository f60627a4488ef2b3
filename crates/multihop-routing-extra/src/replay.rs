//! Freshness of authenticated packets (RFC 8967, section 4): packet counters under random indices, and challenges.
//!
//! A host numbers its packets with a counter under a random index. A neighbour proves a new index by returning a nonce.
//! Counters of multicast and unicast packets are checked separately (RFC 9467), because a radio may delay multicast
//! packets.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

use multihop_core::{Duration, Instant, Interface, Rng};
use multihop_routing::host::HostRefusal;

/// The packet counter of this host, and the counters of neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    index: [u8; INDEX],
    counter: u32,
    senders: BTreeMap<(Interface, Ipv6Addr), Sender>,
    rng: Rng,
}

/// State of a neighbour whose packets have a valid signature.
#[derive(Clone, Debug)]
struct Sender {
    /// Index, and the counters of the latest unicast and multicast packets; `None` until a challenge is
    /// answered.
    proved: Option<(Vec<u8>, [u32; 2])>,
    heard: Instant,
    /// Nonce of the latest challenge.
    challenge: Option<([u8; NONCE], Instant)>,
    /// Instant at which this host returned a nonce last.
    replied: Option<Instant>,
}

/// Fields of a received packet that prove its freshness.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proof<'a> {
    /// Counter and index of the packet.
    pub(crate) counter: Option<&'a [u8]>,
    /// Nonce that the sender wants to be returned.
    pub(crate) request: Option<&'a [u8]>,
    /// Nonces that the sender returns.
    pub(crate) replies: Vec<&'a [u8]>,
}

/// Result for a received packet with a valid signature.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Checked {
    /// Reason for not using the packet further; `None` if it is used.
    pub(crate) refusal: Option<HostRefusal>,
    /// Nonce that this host must return to the sender.
    pub(crate) reply: Option<Vec<u8>>,
    /// Nonce of a challenge that this host sends.
    pub(crate) challenge: Option<[u8; NONCE]>,
}

impl Counters {
    pub(crate) fn new(mut rng: Rng) -> Self {
        Self { index: rng.next_u64().to_be_bytes(), counter: 0, senders: BTreeMap::new(), rng }
    }

    /// Counter and index of the next packet of this host.
    pub(crate) fn next(&mut self) -> [u8; 4 + INDEX] {
        if self.counter == u32::MAX {
            (self.index, self.counter) = (self.rng.next_u64().to_be_bytes(), 0);
        }
        self.counter += 1;
        let mut value = [0; 4 + INDEX];
        value[..4].copy_from_slice(&self.counter.to_be_bytes());
        value[4..].copy_from_slice(&self.index);
        value
    }

    /// Checks the counter of a packet with a valid signature, and answers challenges. `to_all`: the packet was
    /// sent to all neighbours, which the signature must cover: otherwise a multicast packet could be repeated as unicast.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        place: (Interface, Ipv6Addr),
        to_all: bool,
        proof: &Proof<'_>,
    ) -> Checked {
        let mut checked = Checked { refusal: Some(HostRefusal::Unsigned), reply: None, challenge: None };
        let counter = proof.counter.and_then(|value| value.split_first_chunk());
        let Some((counter, index)) = counter.filter(|(_, index)| index.len() <= MAX_INDEX) else {
            return checked;
        };
        let counter = u32::from_be_bytes(*counter);
        let sender = Self::sender(&mut self.senders, now, place);
        checked.reply = proof.request.and_then(|nonce| sender.reply(now, nonce)).map(<[u8]>::to_vec);
        let which = usize::from(to_all);
        if let Some((known, counters)) = &mut sender.proved
            && *known == index
        {
            if counter <= counters[which] {
                checked.refusal = Some(HostRefusal::Replayed);
            } else {
                (counters[which], sender.heard, checked.refusal) = (counter, now, None);
            }
            return checked;
        }
        checked.refusal = Some(HostRefusal::Unproven);
        let valid = sender.challenge.filter(|(_, sent)| now.saturating_since(*sent) <= MAX_CHALLENGE);
        if valid.is_some_and(|(nonce, _)| proof.replies.iter().any(|reply| **reply == nonce)) {
            // Earlier packets of both kinds may have been recorded (RFC 9467, section 3.1).
            (sender.proved, sender.challenge) = (Some((index.to_vec(), [counter; 2])), None);
            (sender.heard, checked.refusal) = (now, None);
        } else if has_passed(now, sender.challenge.map(|(_, sent)| sent)) {
            let mut nonce = [0; NONCE];
            nonce[..8].copy_from_slice(&self.rng.next_u64().to_be_bytes());
            nonce[8..].copy_from_slice(&self.rng.next_u64().to_be_bytes());
            (sender.challenge, checked.challenge) = (Some((nonce, now)), Some(nonce));
        }
        checked
    }

    /// State of a neighbour, in place of the one that was silent for longest if the table is full.
    fn sender(
        senders: &mut BTreeMap<(Interface, Ipv6Addr), Sender>,
        now: Instant,
        place: (Interface, Ipv6Addr),
    ) -> &mut Sender {
        if !senders.contains_key(&place) && senders.len() >= MAX_SENDERS {
            let oldest = senders.iter().min_by_key(|(_, sender)| sender.heard).map(|(place, _)| *place);
            senders.remove(&oldest.expect("a full table has entries"));
        }
        let new = Sender { proved: None, heard: now, challenge: None, replied: None };
        senders.entry(place).or_insert(new)
    }
}

impl Sender {
    /// The nonce of a challenge if this host returns it now: a repeated challenge must not cause many replies.
    fn reply<'a>(&mut self, now: Instant, nonce: &'a [u8]) -> Option<&'a [u8]> {
        let may_reply = nonce.len() <= MAX_NONCE && has_passed(now, self.replied);
        may_reply.then(|| {
            self.replied = Some(now);
            nonce
        })
    }
}

/// Whether [`CHALLENGE_INTERVAL`] has passed since an instant, if there is one.
fn has_passed(now: Instant, since: Option<Instant>) -> bool {
    since.is_none_or(|since| now.saturating_since(since) >= CHALLENGE_INTERVAL)
}

/// Length of this host's indices, bytes.
const INDEX: usize = 8;
/// Longest index that RFC 8967 allows, bytes.
const MAX_INDEX: usize = 32;
/// Length of this host's nonces, bytes.
pub(crate) const NONCE: usize = 16;
/// Time within which a challenge must be answered (RFC 8967, section 6).
const MAX_CHALLENGE: Duration = Duration::from_secs(30);
/// Longest nonce that RFC 8967 allows, bytes.
const MAX_NONCE: usize = 192;
/// Shortest time between two challenges of a neighbour, and between two replies to its challenges (RFC 8967, section 4.3.1).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(300);
/// Largest number of neighbours, a limit of memory.
const MAX_SENDERS: usize = 1024;
