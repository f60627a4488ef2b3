//! The half-open connections of a listener: their number is limited, and a flood displaces its own entries.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;

use super::crowd::Crowd;
use super::slots::Id;

/// The half-open connections in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct HalfOpen {
    entries: BTreeMap<u64, (Id, SocketAddr)>,
    crowd: Crowd,
    opened: u64,
}

impl HalfOpen {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a connection from this address; returns its number for [`remove`](Self::remove).
    pub(super) fn insert(&mut self, id: Id, from: SocketAddr) -> u64 {
        self.opened += 1;
        self.entries.insert(self.opened, (id, from));
        self.crowd.add(from);
        self.opened
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some((_, from)) = self.entries.remove(&number) {
            self.crowd.remove(from);
        }
    }

    /// The oldest connection of the most crowded address, within the most crowded of the wider prefixes.
    pub(super) fn most_crowded(&self) -> Option<Id> {
        let oldest_last = self.entries.values().rev();
        oldest_last.max_by_key(|(_, from)| self.crowd.counts(*from)).map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::slots::Slots;
    use super::*;

    #[test]
    fn a_flood_displaces_its_own_oldest_entry() {
        let mut slots = Slots::new();
        let mut table = HalfOpen::default();
        let mut add = |table: &mut HalfOpen, text: &str| {
            let id = slots.insert(());
            (id, table.insert(id, text.parse().unwrap()))
        };
        add(&mut table, "192.0.2.1:1");
        let (neighbour, _) = add(&mut table, "203.0.113.7:1");
        let flood: Vec<_> = (1..4).map(|port| add(&mut table, &format!("203.0.113.9:{port}"))).collect();
        for (id, number) in flood.into_iter().take(2) {
            assert_eq!(table.most_crowded(), Some(id));
            table.remove(number);
        }
        assert_eq!(table.len(), 3);
        assert_eq!(table.most_crowded(), Some(neighbour), "the oldest of the most crowded prefix");
    }
}
