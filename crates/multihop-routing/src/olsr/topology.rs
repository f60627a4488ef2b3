//! The topology set (RFC 3626 §4.4) and the processing of TCs (§9.5).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::Tc;

use crate::link_state::table::Table;
use crate::steps;

/// The links that TCs announce, by originator.
///
/// The RFC has a tuple for each link. This implementation stores the links of one TC, which have the same
/// number and expiry time, together. A neighbour that is listed again under the same number is removed from
/// the earlier TC. The TCs of an originator are sorted by their first neighbours.
pub(super) type Topology = Table<Ipv4Addr, Arc<Tc>>;

/// Effect of a TC on the topology set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum News {
    /// The TC has an outdated sequence number.
    Outdated,
    /// The TC contains no new links.
    Confirmed,
    /// Links were added or removed.
    Changed,
}

impl Topology {
    /// The stored TCs of a node.
    pub(super) fn of(&self, last: Ipv4Addr) -> &[Arc<Tc>] {
        &self.values()[self.range_of(last)]
    }

    /// The far ends of the links from a node; sorted by address if they come from one TC.
    pub(super) fn ends(&self, last: Ipv4Addr) -> impl Iterator<Item = Ipv4Addr> {
        self.of(last).iter().flat_map(|tc| tc.neighbours.iter().copied())
    }

    /// Learns the links that a TC lists.
    pub(super) fn learn(&mut self, originator: Ipv4Addr, tc: &Arc<Tc>, until: Instant) -> News {
        let known = self.of(originator);
        steps::count(known.len() + tc.neighbours.len());
        if known.iter().any(|before| newer(before.sequence, tc.sequence)) {
            return News::Outdated;
        }
        let tc = in_order(tc);
        match known {
            [before] if before.neighbours == tc.neighbours => {
                self.put(originator, tc, until);
                News::Confirmed
            }
            _ => self.replace(originator, tc, until),
        }
    }

    fn replace(&mut self, originator: Ipv4Addr, tc: Arc<Tc>, until: Instant) -> News {
        let before = self.sorted_ends(originator);
        let range = self.range_of(originator);
        let stored = self.values()[range.clone()].iter().zip(&self.expiries()[range.clone()]);
        let mut kept: Vec<_> = stored
            .filter(|(before, _)| before.sequence == tc.sequence)
            .map(|(before, &until)| (without(before, &tc), until))
            .chain([(tc.clone(), until)])
            .filter(|(tc, _)| !tc.neighbours.is_empty())
            .collect();
        kept.sort_unstable_by_key(|(tc, _)| tc.neighbours[0]);
        self.keep_in(range, |_, _| false);
        for (tc, until) in kept {
            self.add(originator, tc, until);
        }
        if self.sorted_ends(originator) == before { News::Confirmed } else { News::Changed }
    }

    fn sorted_ends(&self, last: Ipv4Addr) -> Vec<Ipv4Addr> {
        let mut ends: Vec<_> = self.ends(last).collect();
        steps::count(ends.len());
        ends.sort_unstable();
        ends
    }
}

/// Copy of a TC without duplicates, sorted by address.
fn in_order(tc: &Arc<Tc>) -> Arc<Tc> {
    if tc.neighbours.is_sorted_by(|a, b| a < b) {
        return tc.clone();
    }
    let mut neighbours = tc.neighbours.clone();
    neighbours.sort_unstable();
    neighbours.dedup();
    Arc::new(Tc { neighbours, ..**tc })
}

/// The neighbours that `before` lists and `tc` does not. Both TCs are sorted.
fn without(before: &Tc, tc: &Tc) -> Arc<Tc> {
    let neighbours = before.neighbours.iter().copied();
    let neighbours = neighbours.filter(|to| tc.neighbours.binary_search(to).is_err()).collect();
    Arc::new(Tc { neighbours, ..*before })
}

/// Whether sequence number `a` is newer than `b`, with wrap-around (RFC 3626 §19).
fn newer(a: u16, b: u16) -> bool {
    match a.wrapping_sub(b) {
        0 => false,
        0x8000 => a > b,
        ahead => ahead < 0x8000,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const LAST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn tc(sequence: u16, neighbours: &[u8]) -> Arc<Tc> {
        let neighbours = neighbours.iter().map(|&n| Ipv4Addr::new(10, 0, 0, n)).collect();
        Arc::new(Tc { sequence, neighbours })
    }

    fn ends(topology: &Topology) -> Vec<u8> {
        topology.sorted_ends(LAST).iter().map(|to| to.octets()[3]).collect()
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
        // The sequence number wraps around: 0 is newer than 0xffff.
        assert_eq!(topology.learn(LAST, &tc(0, &[3, 5]), until(30)), News::Changed);
        assert_eq!(ends(&topology), [3, 5]);
        assert_eq!(topology.learn(LAST, &tc(0xffff, &[9]), until(90)), News::Outdated);
        assert_eq!(ends(&topology), [3, 5]);
        assert_eq!(topology.learn(LAST, &tc(1, &[3, 5]), until(40)), News::Confirmed);
        assert_eq!(topology.learn(LAST, &tc(2, &[]), until(50)), News::Changed);
        assert_eq!(ends(&topology), []);
    }

    /// Tuples as in the RFC: last hop and destination; sequence number and expiry time.
    type Tuples = BTreeMap<(Ipv4Addr, Ipv4Addr), (u16, Instant)>;

    /// Processes a TC literally by RFC 3626 §9.5. Returns whether the TC was accepted, and whether it changed
    /// the links.
    fn by_tuples(tuples: &mut Tuples, last: Ipv4Addr, tc: &Tc, until: Instant) -> News {
        let of_last = |key: &(Ipv4Addr, Ipv4Addr)| key.0 == last;
        if tuples.iter().any(|(key, tuple)| of_last(key) && newer(tuple.0, tc.sequence)) {
            return News::Outdated;
        }
        let before: Vec<_> = tuples.keys().copied().collect();
        tuples.retain(|key, tuple| !of_last(key) || !newer(tc.sequence, tuple.0));
        tuples.extend(tc.neighbours.iter().map(|&to| ((last, to), (tc.sequence, until))));
        if tuples.keys().copied().eq(before) { News::Confirmed } else { News::Changed }
    }

    proptest! {
        #[test]
        fn the_set_equals_the_tuples_of_the_rfc(
            heard in vec((1..3_u8, 0..3_u16, vec(1..6_u8, 0..5), 1..9_u64), 1..40),
        ) {
            let (mut topology, mut tuples) = (Topology::new(), Tuples::new());
            let mut now = Instant::ZERO;
            for (last, sequence, neighbours, validity) in heard {
                now = Instant::from_nanos(now.as_nanos() + 1);
                let until = Instant::from_nanos(now.as_nanos() + validity);
                let before = tuples.len();
                tuples.retain(|_, tuple| now < tuple.1);
                prop_assert_eq!(topology.expire(now), tuples.len() < before);
                let (last, tc) = (Ipv4Addr::new(10, 0, 0, last), tc(0xffff_u16.wrapping_add(sequence), &neighbours));
                prop_assert_eq!(topology.learn(last, &tc, until), by_tuples(&mut tuples, last, &tc, until));
                let known = topology.keys().iter().zip(topology.values()).zip(topology.expiries());
                let mut links: Vec<_> = known
                    .flat_map(|((key, tc), &until)| {
                        tc.neighbours.iter().map(move |&to| ((*key, to), (tc.sequence, until)))
                    })
                    .collect();
                links.sort_unstable();
                prop_assert!(links.into_iter().eq(tuples.clone()), "after {:?} of {}", tc, last);
            }
        }
    }
}
