use alloc::collections::BTreeMap;

use multihop_core::{Duration, Instant};
use multihop_wire::tpa::{Ack, Body, Segment};

/// Resets for segments that belong to no connection: at most one per peer and second, so that two
/// endpoints cannot reset each other without end.
#[derive(Clone, Debug)]
pub struct Refusals<P> {
    recent: BTreeMap<P, Instant>,
}

impl<P: Copy + Ord> Refusals<P> {
    /// Without refused peers.
    pub const fn new() -> Self {
        Self { recent: BTreeMap::new() }
    }

    /// The reset for a segment of `peer` that belongs to no endpoint, if it gets one.
    pub fn answer(&mut self, now: Instant, peer: P, segment: &Segment) -> Option<Segment> {
        if segment.body == Body::Reset {
            return None;
        }
        if !self.recent.contains_key(&peer) && self.recent.len() >= PEERS {
            self.recent.retain(|_, last| *last + PAUSE > now);
        }
        let full = self.recent.len() >= PEERS && !self.recent.contains_key(&peer);
        if full || self.recent.get(&peer).is_some_and(|&last| last + PAUSE > now) {
            return None;
        }
        self.recent.insert(peer, now);
        Some(reset_for(segment))
    }
}

impl<P: Copy + Ord> Default for Refusals<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// A reset that the sender of `segment` accepts: it names the sender's own block.
pub fn reset_for(segment: &Segment) -> Segment {
    Segment {
        source: segment.destination,
        destination: segment.source,
        body: Body::Reset,
        ack: Some(Ack { block: segment.block, ..Ack::default() }),
        ..Segment::default()
    }
}

/// Between two answers to one peer.
const PAUSE: Duration = Duration::from_secs(1);
/// Peers that are remembered; beyond, there is no answer.
const PEERS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn one_reset_for_each_peer_and_second_and_none_for_resets() {
        let mut refusals = Refusals::new();
        let segment = Segment { source: 7, ..Segment::default() };
        let reset = refusals.answer(at_ms(0), 1, &segment).unwrap();
        assert_eq!((reset.destination, reset.body.clone()), (7, Body::Reset));
        assert_eq!(refusals.answer(at_ms(999), 1, &segment), None);
        assert!(refusals.answer(at_ms(999), 2, &segment).is_some());
        assert!(refusals.answer(at_ms(1000), 1, &segment).is_some());
        assert_eq!(refusals.answer(at_ms(5000), 1, &reset), None);
    }

    #[test]
    fn memory_is_bounded_and_comes_back() {
        let mut refusals = Refusals::new();
        let segment = Segment::default();
        let answered = (0..1000).filter(|peer| refusals.answer(at_ms(0), *peer, &segment).is_some());
        assert_eq!(answered.count(), PEERS);
        assert_eq!(refusals.recent.len(), PEERS);
        assert!(refusals.answer(at_ms(1000), 2000, &segment).is_some());
        assert_eq!(refusals.recent.len(), 1);
    }
}
