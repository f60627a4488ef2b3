//! Work that waits for its time.

use std::collections::BTreeMap;

use multihop_core::Instant;

/// Entries with a deadline each, in the order of their deadlines.
#[derive(Clone, Debug)]
pub(crate) struct Schedule<T> {
    entries: BTreeMap<(Instant, u64), T>,
    /// Number of entries so far: entries with one deadline keep their order.
    added: u64,
}

impl<T> Schedule<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: BTreeMap::new(), added: 0 }
    }

    pub(crate) fn add(&mut self, at: Instant, entry: T) {
        self.added += 1;
        self.entries.insert((at, self.added), entry);
    }

    /// Removes and returns the earliest entry that is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<T> {
        let first = self.entries.first_entry().filter(|entry| entry.key().0 <= now);
        first.map(|entry| entry.remove())
    }

    /// The earliest deadline of all entries.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.entries.keys().next().map(|(at, _)| *at)
    }

    /// Number of entries that wait.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
