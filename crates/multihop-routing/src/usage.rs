//! Counts changes of the routes in use, and oscillations between them.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use crate::steps;

/// Next hops to recently used destinations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    list: BTreeMap<Ipv4Addr, Use>,
    /// Instant before which no search for unused destinations begins.
    sweep_at: Instant,
}

#[derive(Clone, Debug)]
struct Use {
    next_hop: Ipv4Addr,
    used: Instant,
    /// The previous next hop, and the instant of its last use.
    before: Option<(Ipv4Addr, Instant)>,
}

/// Comparison of a packet's next hop with the previous packet's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Turn {
    /// The next hop is the same, or there was no recent packet.
    Same,
    /// The next hop differs from the previous one.
    Other,
    /// The next hop is again the one before the previous one, which was in use less than [`LATELY`] ago: an
    /// oscillation.
    Back,
}

impl Usage {
    /// Records a packet to a destination.
    pub(crate) fn note(&mut self, now: Instant, destination: Ipv4Addr, next_hop: Ipv4Addr) -> Turn {
        self.sweep(now);
        let new = Use { next_hop, used: now, before: None };
        let usage = self.list.entry(destination).or_insert_with(|| new.clone());
        let idle = now.saturating_since(usage.used) >= LATELY;
        if idle {
            *usage = new;
        }
        usage.used = now;
        if usage.next_hop == next_hop {
            return Turn::Same;
        }
        let left = core::mem::replace(&mut usage.next_hop, next_hop);
        match usage.before.replace((left, now)) {
            Some((before, since)) if before == next_hop && now.saturating_since(since) <= LATELY => {
                Turn::Back
            }
            _ => Turn::Other,
        }
    }

    /// Forgets unused destinations from time to time.
    fn sweep(&mut self, now: Instant) {
        if now >= self.sweep_at {
            steps::count(self.list.len());
            self.list.retain(|_, usage| now.saturating_since(usage.used) < LATELY);
            self.sweep_at = now + SWEEP_INTERVAL;
        }
    }
}

/// Time within which a change from A to B and back to A counts as an oscillation. A route that is unused for
/// longer no longer counts as in use.
pub(crate) const LATELY: Duration = Duration::from_secs(10);
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_oscillations_are_counted() {
        let node = |n| Ipv4Addr::new(10, 0, 0, n);
        let mut usage = Usage::default();
        let mut note = |seconds, destination, next_hop| {
            usage.note(Instant::ZERO + Duration::from_secs(seconds), node(destination), node(next_hop))
        };
        assert_eq!(note(0, 9, 1), Turn::Same);
        assert_eq!(note(1, 9, 2), Turn::Other);
        assert_eq!(note(2, 8, 1), Turn::Same, "another destination");
        assert_eq!(note(3, 9, 1), Turn::Back);
        assert_eq!(note(4, 9, 3), Turn::Other);
        assert_eq!(note(13, 9, 3), Turn::Same);
        assert_eq!(note(15, 9, 1), Turn::Other, "1 was left 11 s ago");
        assert_eq!(note(25, 9, 3), Turn::Same, "not in use for 10 s");
        assert_eq!(note(26, 7, 3), Turn::Same);
        assert_eq!(usage.list.len(), 2, "8 is forgotten");
    }
}
