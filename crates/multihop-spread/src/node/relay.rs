//! Forwarding of offers and content symbols, with counter-based suppression.

use std::collections::{BTreeMap, VecDeque};

use multihop_core::{Duration, Instant};

use super::transfer::Transfer;
use super::{Event, MAX_TRANSFERS, Node};
use crate::header::{Header, TransferId};
use crate::packet::{Body, Offer, Symbol};
use crate::schedule::Schedule;

/// Packets that this node may repeat.
#[derive(Debug)]
pub(super) struct Relays {
    /// Contents by identification; absent once a neighbour has repeated the packet.
    pending: BTreeMap<Key, Body>,
    waiting: Schedule<Key>,
    /// Packets whose delay has passed, and which wait for the radio.
    due: VecDeque<Key>,
}

/// Identification of a packet that is forwarded.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Key {
    Offer(TransferId, u64, u32),
    Symbol(TransferId, u32, u32),
}

impl Default for Relays {
    fn default() -> Self {
        Self { pending: BTreeMap::new(), waiting: Schedule::new(), due: VecDeque::new() }
    }
}

impl Relays {
    /// Moves packets whose delay has passed to those that wait for the radio.
    pub(super) fn become_due(&mut self, now: Instant) {
        while let Some(key) = self.waiting.pop_due(now) {
            self.due.push_back(key);
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.next()
    }

    pub(super) fn has_due(&self) -> bool {
        self.due.iter().any(|key| self.pending.contains_key(key))
    }

    /// Number of packets that wait for the radio.
    pub(super) fn due(&self) -> usize {
        self.due.iter().filter(|key| self.pending.contains_key(key)).count()
    }

    /// Drops a packet that a neighbour has repeated; returns whether it waited.
    fn suppress(&mut self, key: Key) -> bool {
        self.pending.remove(&key).is_some()
    }

    fn add(&mut self, at: Instant, key: Key, body: Body) {
        if self.pending.len() < MAX_PENDING && self.pending.insert(key, body).is_none() {
            self.waiting.add(at, key);
        }
    }
}

impl Node {
    /// The next packet to repeat.
    pub(super) fn next_relay(&mut self) -> Option<Body> {
        while let Some(key) = self.relays.due.pop_front() {
            let Some(body) = self.relays.pending.remove(&key) else { continue };
            match body {
                Body::Symbol(_) => self.counters.relayed += 1,
                _ => self.counters.offers += 1,
            }
            return Some(body);
        }
        None
    }

    /// Forwards a content symbol that this node has heard for the first time, unless a node no closer to the source has.
    pub(super) fn relay_symbol(
        &mut self,
        now: Instant,
        transfer: &mut Transfer,
        distance: u8,
        symbol: &Symbol,
    ) {
        let key = Key::Symbol(symbol.transfer, symbol.block, symbol.id);
        let is_first = transfer.is_first(symbol.block, symbol.id);
        if distance >= transfer.distance {
            self.suppress(key);
        } else if is_first && transfer.source.is_none() && self.neighbors.any_farther(now, transfer.distance)
        {
            // Among many neighbours several would choose nearly the same time, and could not suppress each other.
            let longest = self.config.relay_delay.max(DELAY_PER_NEIGHBOR * self.neighbors.count(now));
            let at = now + self.rng.duration_below(longest);
            self.relays.add(at, key, Body::Symbol(symbol.clone()));
        }
    }

    /// Drops a packet that a node no closer to the source has sent: it has come as far as this node could bring it.
    fn suppress(&mut self, key: Key) {
        if self.relays.suppress(key) {
            self.counters.suppressed += 1;
        }
    }

    /// Handles an offer: of a new transfer, of a new round, or a copy.
    pub(super) fn receive_offer(&mut self, now: Instant, distance: u8, offer: Offer) {
        let Ok(header) = Header::parse(&offer.header) else {
            self.counters.ignored += 1;
            return;
        };
        let id = header.id();
        let key = Key::Offer(id, offer.start, offer.round);
        if !self.transfers.contains_key(&id) {
            if !self.make_room() {
                self.counters.ignored += 1;
                return;
            }
            let number = self.random_number();
            self.transfers.insert(id, Transfer::new(now, header.clone(), offer.clone(), distance, number));
            self.events.push_back(Event::Offered { transfer: id, header });
            self.relay_offer(now, key, offer);
            return;
        }
        self.with(id, |node, transfer| {
            if transfer.source.is_some() {
                return;
            }
            let known = (transfer.offer.start, transfer.offer.round);
            transfer.offered = now;
            if (offer.start, offer.round) > known {
                if offer.start > transfer.offer.start {
                    node.restart(now, transfer);
                }
                transfer.distance = distance.saturating_add(1);
                transfer.begun = transfer.begun.max(offer.begun.min(transfer.header.blocks()));
                transfer.offer = offer.clone();
                node.relay_offer(now, key, offer);
            } else if (offer.start, offer.round) == known {
                if distance >= transfer.distance {
                    node.suppress(key);
                }
                transfer.distance = transfer.distance.min(distance.saturating_add(1));
            }
        });
    }

    /// Sends the newest offer of a transfer to a neighbour that seeks, unless another node has just done so.
    pub(super) fn reply(&mut self, now: Instant, transfer: &mut Transfer) {
        if transfer.source.is_none() && now.saturating_since(transfer.offered) >= REPLY_INTERVAL {
            transfer.offered = now;
            self.push(Body::Offer(transfer.offer.clone()));
        }
    }

    /// Repeats an offer after a random delay. Every node repeats it, even without neighbours farther from the source: mobile
    /// nodes may soon have such neighbours.
    fn relay_offer(&mut self, now: Instant, key: Key, offer: Offer) {
        let at = now + self.rng.duration_below(self.config.relay_delay);
        self.relays.add(at, key, Body::Offer(offer));
    }

    /// Makes room for one more transfer, if necessary by forgetting the ended transfer with the oldest offer. Returns whether
    /// there is room.
    fn make_room(&mut self) -> bool {
        if self.transfers.len() < MAX_TRANSFERS {
            return true;
        }
        let done = self.transfers.iter().filter(|(_, transfer)| transfer.is_over());
        let oldest = done.min_by_key(|(_, transfer)| transfer.offered).map(|(id, _)| *id);
        oldest.is_some_and(|id| self.transfers.remove(&id).is_some())
    }

    fn random_number(&mut self) -> u32 {
        self.rng.below(1 << 23)
    }
}

/// Least longest delay of a repetition for each neighbour: about the time of a frame of 1.4 kB at 6 Mb/s.
const DELAY_PER_NEIGHBOR: Duration = Duration::from_micros(1500);
/// Largest number of packets that may be repeated and wait: 300 kB.
const MAX_PENDING: usize = 256;
/// Time for which one answer to a search counts for all.
const REPLY_INTERVAL: Duration = Duration::from_millis(500);
