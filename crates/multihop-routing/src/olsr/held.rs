//! The stamp was sent at 1000, arrived there at 900_000, stayed for 40_000, and returned at 44_000.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use super::config::Metric;

/// Paths to recently used destinations, sorted by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    list: Vec<Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    destination: Ipv4Addr,
    /// Addresses of the path from the first hop to the destination.
    path: Vec<Ipv4Addr>,
    since: Instant,
    used: Instant,
    /// Number of packets of this node in the interval that began at `counted_from`.
    packets: u32,
    counted_from: Instant,
    /// Packets per second in the previous interval.
    rate: u32,
}

impl Held {
    /// Path for a packet: the kept path while all of its links exist, otherwise the best path.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        metric: &Metric,
        best_cost: u64,
        best: impl FnOnce() -> Option<Vec<Ipv4Addr>>,
        cost: impl Fn(&[Ipv4Addr]) -> Option<u64>,
    ) -> Option<&[Ipv4Addr]> {
        let at = match self.list.binary_search_by_key(&destination, |kept| kept.destination) {
            Ok(at) => {
                let kept = &mut self.list[at];
                kept.used = now;
                let young = now.saturating_since(kept.since) < metric.switching.hold;
                let stays = |cost: u64| young || !metric.is_better(best_cost, cost);
                if !cost(&kept.path).is_some_and(stays) {
                    (kept.path, kept.since) = (best()?, now);
                }
                at
            }
            Err(_) => {
                self.list.retain(|kept| now.saturating_since(kept.used) < MEMORY);
                let at = self.list.partition_point(|kept| kept.destination < destination);
                let kept = Kept {
                    destination,
                    path: best()?,
                    since: now,
                    used: now,
                    packets: 0,
                    counted_from: now,
                    rate: 0,
                };
                self.list.insert(at, kept);
                at
            }
        };
        Some(&self.list[at].path)
    }

    /// Counts a packet of this node; returns whether its rate has changed.
    pub(super) fn count(&mut self, now: Instant, destination: Ipv4Addr) -> bool {
        let Ok(at) = self.list.binary_search_by_key(&destination, |kept| kept.destination) else {
            return false;
        };
        let kept = &mut self.list[at];
        kept.packets += 1;
        let passed = now.saturating_since(kept.counted_from);
        if passed < INTERVAL {
            return false;
        }
        let seconds = passed.as_nanos().div_ceil(1_000_000_000);
        let rate = u64::from(kept.packets) / seconds;
        (kept.packets, kept.counted_from) = (0, now);
        core::mem::replace(&mut kept.rate, u32::try_from(rate).unwrap_or(u32::MAX)) != kept.rate
    }

    /// Packets per second of this node on each link, sorted by link.
    pub(super) fn own_load(&self, own: Ipv4Addr) -> Vec<([Ipv4Addr; 2], u32)> {
        let mut load: Vec<([Ipv4Addr; 2], u32)> = Vec::new();
        for kept in self.list.iter().filter(|kept| kept.rate > 0) {
            let from = core::iter::once(own).chain(kept.path.iter().copied());
            load.extend(from.zip(&kept.path).map(|(from, &to)| ([from, to], kept.rate)));
        }
        load.sort_unstable();
        load.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            if same {
                sum.1 = sum.1.saturating_add(next.1);
            }
            same
        });
        load
    }
}

impl Metric {
    /// Whether a path of cost `best` is sufficiently better than one of cost `now`.
    const fn is_better(&self, best: u64, now: u64) -> bool {
        best.saturating_mul(1_000_000) < now.saturating_mul(1_000_000 - self.switching.hysteresis as u64)
    }
}

/// Time without use after which a path is forgotten.
const MEMORY: Duration = Duration::from_secs(30);
/// Interval over which packets are counted, equal to the HELLO interval.
const INTERVAL: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::super::config::Switching;
    use super::*;

    fn node(n: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, n)
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_path_is_replaced_after_the_hold_time_for_a_sufficient_gain() {
        let switching = Switching { hysteresis: 200_000, hold: Duration::from_secs(5), own_load: false };
        let metric = Metric { switching, ..Metric::default() };
        let mut held = Held::default();
        let mut first = |seconds, best: u8, best_cost, kept_cost: Option<u64>| {
            let best = || Some(alloc::vec![node(best), node(9)]);
            held.choose(at(seconds), node(9), &metric, best_cost, best, |_| kept_cost).unwrap()[0]
        };
        assert_eq!(first(0, 2, 100, None), node(2));
        assert_eq!(first(1, 3, 10, Some(100)), node(2), "too soon");
        assert_eq!(first(5, 3, 80, Some(100)), node(2), "not better by more than a fifth");
        assert_eq!(first(6, 3, 79, Some(100)), node(3));
        assert_eq!(first(7, 2, 79, None), node(2), "a link is lost");
        assert_eq!(first(38, 4, 100, Some(100)), node(2));
        assert_eq!(first(70, 4, 100, Some(100)), node(2), "still in use");
    }

    #[test]
    fn own_packets_are_counted_on_each_link() {
        let mut held = Held::default();
        let metric = Metric::default();
        for (destination, path) in [(9, [2, 9]), (8, [2, 8])] {
            let path = || Some(path.map(node).to_vec());
            held.choose(at(0), node(destination), &metric, 1, path, |_| None);
            let changed = (0..101).filter(|n| held.count(at(n / 50), node(destination))).count();
            assert_eq!(changed, 1);
        }
        let load = held.own_load(node(1));
        let link = |from, to| [from, to].map(node);
        assert_eq!(load, [(link(1, 2), 100), (link(2, 8), 50), (link(2, 9), 50)]);
    }
}
