//! A limit for resets of segments that belong to no connection.

use alloc::collections::BTreeMap;

use multihop_core::{Duration, Instant};

/// Limits resets to one per peer and second, so that two ends cannot reset each other endlessly.
#[derive(Clone, Debug)]
pub struct Refusals<P> {
    recent: BTreeMap<P, Instant>,
}

impl<P: Copy + Ord> Refusals<P> {
    /// Creates an empty list of recently refused peers.
    pub const fn new() -> Self {
        Self { recent: BTreeMap::new() }
    }

    /// Whether a segment of `peer` that belongs to no connection may be answered now; the answer is counted.
    pub fn allow(&mut self, now: Instant, peer: P) -> bool {
        if !self.recent.contains_key(&peer) && self.recent.len() >= PEERS {
            self.recent.retain(|_, last| *last + PAUSE > now);
        }
        let full = self.recent.len() >= PEERS && !self.recent.contains_key(&peer);
        if full || self.recent.get(&peer).is_some_and(|&last| last + PAUSE > now) {
            return false;
        }
        self.recent.insert(peer, now);
        true
    }
}

impl<P: Copy + Ord> Default for Refusals<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Smallest interval between two resets to one peer.
const PAUSE: Duration = Duration::from_secs(1);
/// Largest number of remembered peers; further peers get no reset.
const PEERS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn one_answer_for_each_peer_and_second() {
        let mut refusals = Refusals::new();
        let allowed =
            [(0, 1), (999, 1), (999, 2), (1000, 1)].map(|(ms, peer)| refusals.allow(at_ms(ms), peer));
        assert_eq!(allowed, [true, false, true, true]);
    }

    #[test]
    fn memory_is_bounded_and_comes_back() {
        let mut refusals = Refusals::new();
        assert_eq!((0..1000).filter(|peer| refusals.allow(at_ms(0), *peer)).count(), PEERS);
        assert_eq!(refusals.recent.len(), PEERS);
        assert!(refusals.allow(at_ms(1000), 2000));
        assert_eq!(refusals.recent.len(), 1);
    }
}
