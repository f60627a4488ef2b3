//! Neighbours, and how far they are from the source.

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant};

/// Neighbours that were heard lately.
#[derive(Debug, Default)]
pub(super) struct Neighbors {
    known: BTreeMap<u64, (Instant, u8)>,
}

impl Neighbors {
    /// Notes a packet of a neighbour at a distance from the source.
    pub(super) fn hear(&mut self, now: Instant, from: u64, distance: u8) {
        if self.known.len() >= MAX_NEIGHBORS && !self.known.contains_key(&from) {
            self.known.retain(|_, (heard, _)| now.saturating_since(*heard) < LIFETIME);
            if self.known.len() >= MAX_NEIGHBORS {
                return;
            }
        }
        self.known.insert(from, (now, distance));
    }

    /// Number of neighbours that were heard lately.
    pub(super) fn count(&self, now: Instant) -> u64 {
        self.known.values().filter(|(heard, _)| now.saturating_since(*heard) < LIFETIME).count() as u64
    }

    /// Whether a neighbour is farther from the source than this distance.
    pub(super) fn any_farther(&self, now: Instant, distance: u8) -> bool {
        let is_farther =
            |(heard, other): &(Instant, u8)| *other > distance && now.saturating_since(*heard) < LIFETIME;
        self.known.values().any(is_farther)
    }
}

/// Time after which a neighbour that was not heard any more counts as gone.
const LIFETIME: Duration = Duration::from_secs(5);
/// Largest number of neighbours that a node remembers.
const MAX_NEIGHBORS: usize = 256;
