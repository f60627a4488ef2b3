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
    proved: Option<(Vec<u8>, [Option<u32>; 2])>,
    heard: Instant,
    /// Nonce of the latest challenge.
    challenge: Option<([u8; NONCE], Instant)>,
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
    /// sent to all neighbours.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        place: (Interface, Ipv6Addr),
        to_all: bool,
        proof: &Proof<'_>,
    ) -> Checked {
        let reply = proof.request.map(<[u8]>::to_vec);
        let mut checked = Checked { refusal: Some(HostRefusal::Unproven), reply, challenge: None };
        let counter = proof.counter.and_then(|value| value.split_first_chunk());
        let Some((counter, index)) = counter.filter(|(_, index)| index.len() <= MAX_INDEX) else {
            checked.refusal = Some(HostRefusal::Unsigned);
            return checked;
        };
        let counter = u32::from_be_bytes(*counter);
        if !self.senders.contains_key(&place) && self.senders.len() >= MAX_SENDERS {
            let oldest = self.senders.iter().min_by_key(|(_, sender)| sender.heard).map(|(place, _)| *place);
            self.senders.remove(&oldest.expect("a full table has entries"));
        }
        let sender =
            self.senders.entry(place).or_insert(Sender { proved: None, heard: now, challenge: None });
        let which = usize::from(to_all);
        if let Some((known, counters)) = &mut sender.proved
            && *known == index
        {
            if counters[which].is_some_and(|last| counter <= last) {
                checked.refusal = Some(HostRefusal::Replayed);
            } else {
                (counters[which], sender.heard, checked.refusal) = (Some(counter), now, None);
            }
            return checked;
        }
        let valid = sender.challenge.filter(|(_, sent)| now.saturating_since(*sent) <= MAX_CHALLENGE);
        if valid.is_some_and(|(nonce, _)| proof.replies.iter().any(|reply| **reply == nonce)) {
            let mut counters = [None; 2];
            counters[which] = Some(counter);
            *sender = Sender { proved: Some((index.to_vec(), counters)), heard: now, challenge: None };
            checked.refusal = None;
        } else if sender.challenge.is_none_or(|(_, sent)| now.saturating_since(sent) >= CHALLENGE_INTERVAL) {
            let mut nonce = [0; NONCE];
            nonce[..8].copy_from_slice(&self.rng.next_u64().to_be_bytes());
            nonce[8..].copy_from_slice(&self.rng.next_u64().to_be_bytes());
            (sender.challenge, checked.challenge) = (Some((nonce, now)), Some(nonce));
        }
        checked
    }
}

/// Length of this host's indices, bytes.
const INDEX: usize = 8;
/// Longest index that RFC 8967 allows, bytes.
const MAX_INDEX: usize = 32;
/// Length of this host's nonces, bytes.
pub(crate) const NONCE: usize = 16;
/// Time within which a challenge must be answered (RFC 8967, section 6).
const MAX_CHALLENGE: Duration = Duration::from_secs(30);
/// Shortest time between two challenges of a neighbour (RFC 8967, section 4.3.1.1).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(300);
/// Largest number of neighbours, a limit of memory.
const MAX_SENDERS: usize = 1024;
