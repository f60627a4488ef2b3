//! Messages that are remembered (RFC 3626 §3.4), and those that wait to leave, several in a packet.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::{Message, Packet};

use super::table::Table;

/// Flooded messages that were seen: originator and sequence number.
///
/// With one interface a message that is in the set has been dealt with in every respect, so that
/// the RFC's list of interfaces and its flag are not needed.
#[derive(Clone, Debug)]
pub(super) struct Duplicates {
    seen: Table<(Ipv4Addr, u16)>,
}

impl Duplicates {
    pub(super) const fn new() -> Self {
        Self { seen: Table::new() }
    }

    pub(super) fn contains(&self, now: Instant, message: &Message) -> bool {
        self.seen.get(key(message)).is_some_and(|row| now < row.expires)
    }

    /// Remembers a message. Room is made here, since no one else can tell whether an old entry is
    /// still there.
    pub(super) fn add(&mut self, now: Instant, message: &Message, until: Instant) {
        self.seen.expire(now);
        self.seen.put(key(message), (), until);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.seen.rows().len()
    }
}

fn key(message: &Message) -> (Ipv4Addr, u16) {
    (message.originator, message.sequence)
}

/// Messages that wait to leave.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    waiting: Vec<Message>,
    /// Of the next packet.
    sequence: u16,
}

impl Outbox {
    pub(super) fn put(&mut self, message: Message) {
        self.waiting.push(message);
    }

    /// The next packet, with at most so many messages.
    pub(super) fn take(&mut self, most: usize) -> Option<Arc<Packet>> {
        if self.waiting.is_empty() {
            return None;
        }
        let messages = self.waiting.drain(..most.clamp(1, self.waiting.len())).collect();
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        Some(Arc::new(Packet { sequence, messages }))
    }
}
