//! Feasibility distances, which keep Babel free of loops (RFC 8966, 2.4 and 3.5.1).

use alloc::collections::BTreeMap;

use multihop_core::{Duration, Instant};

use super::wire::{Prefix, RouterId, Seqno};

/// The best route that this node has ever announced for each destination and originator.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    best: BTreeMap<(Prefix, RouterId), Distance>,
}

#[derive(Clone, Copy, Debug)]
struct Distance {
    seqno: Seqno,
    metric: u16,
    announced: Instant,
}

impl Sources {
    /// Whether a route with this announced metric cannot form a loop: it is newer than this node's
    /// announcement, or equally new and shorter.
    pub(super) fn is_feasible(
        &self,
        destination: Prefix,
        router: RouterId,
        seqno: Seqno,
        metric: u16,
    ) -> bool {
        match self.best.get(&(destination, router)) {
            Some(best) => seqno.newer_than(best.seqno) || (seqno == best.seqno && metric < best.metric),
            // Without room for its distance, a route could form a loop.
            None => self.best.len() < MAX_SOURCES,
        }
    }

    /// The sequence number that makes a route feasible whatever its metric.
    pub(super) fn next_seqno(&self, destination: Prefix, router: RouterId) -> Option<Seqno> {
        self.best.get(&(destination, router)).map(|best| best.seqno.next())
    }

    /// Records that this node announces a route.
    pub(super) fn announce(
        &mut self,
        now: Instant,
        destination: Prefix,
        router: RouterId,
        seqno: Seqno,
        metric: u16,
    ) {
        let new = Distance { seqno, metric, announced: now };
        let best = self.best.entry((destination, router)).or_insert(new);
        best.announced = now;
        if seqno.newer_than(best.seqno) || (seqno == best.seqno && metric < best.metric) {
            *best = new;
        }
    }

    /// Number of remembered feasibility distances.
    pub(super) fn len(&self) -> usize {
        self.best.len()
    }

    /// Forgets distances that were announced long ago.
    pub(super) fn expire(&mut self, now: Instant) {
        self.best.retain(|_, best| now.saturating_since(best.announced) < MEMORY);
    }
}

/// The source garbage-collection time of RFC 8966, appendix B.
const MEMORY: Duration = Duration::from_secs(180);
/// Largest number of distances, a limit of memory.
const MAX_SOURCES: usize = 131_072;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_newer_or_shorter_routes_are_feasible() {
        let (to, router) = (Prefix::host([127, 0, 0, 1]), RouterId([7; 8]));
        let mut sources = Sources::default();
        assert!(sources.is_feasible(to, router, Seqno(5), 900), "nothing was announced");
        sources.announce(Instant::ZERO, to, router, Seqno(5), 500);
        sources.announce(Instant::ZERO, to, router, Seqno(5), 800);
        let feasible = |seqno, metric| sources.is_feasible(to, router, Seqno(seqno), metric);
        assert!(feasible(5, 499) && !feasible(5, 500) && !feasible(5, 700), "the least counts");
        assert!(feasible(6, 60_000) && !feasible(4, 1));
        assert!(sources.is_feasible(to, RouterId([8; 8]), Seqno(0), 900), "another originator");
        assert_eq!(sources.next_seqno(to, router), Some(Seqno(6)));
        sources.expire(Instant::ZERO + MEMORY);
        assert!(sources.is_feasible(to, router, Seqno(5), 900), "forgotten");
    }
}
