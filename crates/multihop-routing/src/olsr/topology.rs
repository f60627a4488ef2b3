//! The topology set (RFC 3626 §4.4) and what TCs do to it (§9.5).

use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::Tc;

use super::table::{Pair, Table};

/// Links that TCs tell of: last hop and destination, with the sequence number of the last TC.
pub(super) type Topology = Table<Pair, u16>;

/// What a TC has brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum News {
    /// It is older than what is known.
    Outdated,
    /// Nothing but confirmation.
    Confirmed,
    /// Links have come or gone.
    Changed,
}

impl Topology {
    /// Takes note of a TC.
    pub(super) fn learn(&mut self, originator: Ipv4Addr, tc: &Tc, until: Instant) -> News {
        let known = &self.values()[self.range_of(originator)];
        if known.iter().any(|&sequence| newer(sequence, tc.sequence)) {
            return News::Outdated;
        }
        let mut changed = false;
        for &neighbour in &tc.neighbours {
            changed |= self.put(Pair::new(originator, neighbour), tc.sequence, until);
        }
        let range = self.range_of(originator);
        changed |= self.keep_in(range, |&sequence, _| sequence == tc.sequence);
        if changed { News::Changed } else { News::Confirmed }
    }
}

/// RFC 3626 §19, with wrap-around.
fn newer(a: u16, b: u16) -> bool {
    match a.wrapping_sub(b) {
        0 => false,
        0x8000 => a > b,
        ahead => ahead < 0x8000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn tc(sequence: u16, neighbours: &[u8]) -> Tc {
        Tc { sequence, neighbours: neighbours.iter().map(|&n| Ipv4Addr::new(10, 0, 0, n)).collect() }
    }

    fn ends(topology: &Topology) -> Vec<u8> {
        topology.pairs_of(LAST).iter().map(|pair| pair.second().octets()[3]).collect()
    }

    #[test]
    fn sequence_numbers_wrap() {
        for (a, b) in [(1, 0), (0, 0xffff), (5, 0xfff0), (0x7fff, 0), (0x8000, 0)] {
            assert!(newer(a, b) && !newer(b, a), "{a} {b}");
        }
        assert!(!newer(7, 7));
    }

    #[test]
    fn a_newer_tc_replaces_and_an_older_one_is_ignored() {
        let mut topology = Topology::new();
        let until = Instant::from_nanos;
        assert_eq!(topology.learn(LAST, &tc(0xffff, &[4, 2]), until(10)), News::Changed);
        assert_eq!(topology.learn(LAST, &tc(0xffff, &[4]), until(20)), News::Confirmed);
        assert_eq!(ends(&topology), [2, 4]);
        assert!(topology.expire(until(10)));
        assert_eq!(ends(&topology), [4], "2 was not confirmed");
        // Wraps: 0 is newer than 0xffff.
        assert_eq!(topology.learn(LAST, &tc(0, &[3, 5]), until(30)), News::Changed);
        assert_eq!(ends(&topology), [3, 5]);
        assert_eq!(topology.learn(LAST, &tc(0xffff, &[9]), until(90)), News::Outdated);
        assert_eq!(ends(&topology), [3, 5]);
        assert_eq!(topology.learn(LAST, &tc(1, &[3, 5]), until(40)), News::Confirmed);
        assert_eq!(topology.learn(LAST, &tc(2, &[]), until(50)), News::Changed);
        assert_eq!(ends(&topology), []);
    }
}
