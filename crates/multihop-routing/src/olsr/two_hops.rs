//! The 2-hop neighbour set (RFC 3626 §4.3.2) and the processing of HELLOs (§8.2.1).

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::Range;

use multihop_core::Instant;
use multihop_wire::olsr::NeighbourType;

use crate::table;

/// Symmetric neighbours of symmetric neighbours.
///
/// The RFC has a tuple for each pair of neighbour and 2-hop neighbour. Here the tuples that were
/// last confirmed by the same HELLO, which have the same expiry time, are stored as a group.
#[derive(Clone, Debug)]
pub(super) struct TwoHops {
    /// Sorted by neighbour; the groups of one neighbour, latest first.
    groups: Vec<Group>,
    /// The nodes of all groups in one list: many small lists would need half as much memory again.
    nodes: Vec<Ipv4Addr>,
    /// No group expires earlier. Not updated when groups are refreshed, but recomputed when it is
    /// reached.
    due: Instant,
}

/// Neighbours of a neighbour, sorted by address; never empty.
#[derive(Clone, Debug)]
struct Group {
    neighbour: Ipv4Addr,
    /// Index in `nodes` at which the next group begins.
    end: u32,
    until: Instant,
}

impl TwoHops {
    pub(super) const fn new() -> Self {
        Self { groups: Vec::new(), nodes: Vec::new(), due: Instant::FAR_FUTURE }
    }

    /// When [`expire`](Self::expire) may have something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.groups.is_empty()).then_some(self.due)
    }

    /// The number of pairs.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The neighbours of a neighbour; sorted by address if they are from one HELLO.
    pub(super) fn of(&self, neighbour: Ipv4Addr) -> impl Iterator<Item = Ipv4Addr> {
        self.nodes[self.span(self.range_of(neighbour))].iter().copied()
    }

    #[cfg(test)]
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr, Instant)> {
        self.groups.iter().enumerate().flat_map(|(at, group)| {
            self.nodes[self.span(at..at + 1)].iter().map(|&of| (group.neighbour, of, group.until))
        })
    }

    /// Processes the links in a neighbour's HELLO, without those to this node; returns whether
    /// anything has changed.
    pub(super) fn learn(
        &mut self,
        neighbour: Ipv4Addr,
        links: impl Iterator<Item = (Ipv4Addr, NeighbourType)> + Clone,
        until: Instant,
    ) -> bool {
        // The listed nodes, at the end for now.
        let start = self.nodes.len();
        for (of, kind) in links.clone() {
            match (kind, self.nodes[start..].binary_search(&of)) {
                (NeighbourType::Symmetric | NeighbourType::Mpr, Err(at)) => {
                    table::insert(&mut self.nodes, start + at, of);
                }
                (NeighbourType::Not, Ok(at)) => drop(self.nodes.remove(start + at)),
                _ => {}
            }
        }
        if self.nodes.len() > start {
            self.due = self.due.min(until);
        }
        let range = self.range_of(neighbour);
        if range.len() == 1 && self.nodes[self.span(range.clone())] == self.nodes[start..] {
            self.nodes.truncate(start);
            self.groups[range.start].until = until;
            return false;
        }
        let listed = self.nodes.split_off(start);
        self.learn_other(range, neighbour, &listed, links.map(|(of, _)| of), until)
    }

    /// Removes the named nodes from the groups, and stores the listed ones as a new group.
    fn learn_other(
        &mut self,
        range: Range<usize>,
        neighbour: Ipv4Addr,
        listed: &[Ipv4Addr],
        named: impl Iterator<Item = Ipv4Addr> + Clone,
        until: Instant,
    ) -> bool {
        let before = self.sorted(neighbour);
        for at in range.clone().rev() {
            let rest = self.nodes[self.span(at..at + 1)].iter().copied();
            let rest: Vec<_> = rest.filter(|of| !named.clone().any(|named| named == *of)).collect();
            self.put(at..at + 1, neighbour, &rest, self.groups[at].until);
        }
        self.put(range.start..range.start, neighbour, listed, until);
        self.sorted(neighbour) != before
    }

    /// Removes a neighbour.
    pub(super) fn forget(&mut self, neighbour: Ipv4Addr) {
        self.put(self.range_of(neighbour), neighbour, &[], Instant::ZERO);
        self.shrink();
    }

    /// Removes expired groups; returns whether there were any.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let before = self.groups.len();
        for at in (0..before).rev() {
            let Group { neighbour, until, .. } = self.groups[at];
            if until <= now {
                self.put(at..at + 1, neighbour, &[], until);
            }
        }
        self.shrink();
        self.due = self.groups.iter().map(|group| group.until).min().unwrap_or(Instant::FAR_FUTURE);
        self.groups.len() < before
    }

    /// Replaces groups by one of these nodes, if there are any.
    fn put(&mut self, range: Range<usize>, neighbour: Ipv4Addr, nodes: &[Ipv4Addr], until: Instant) {
        let span = self.span(range.clone());
        let end = |end: usize| u32::try_from(end).expect("a HELLO has at most 16,384 of 2^32 addresses");
        for group in &mut self.groups[range.end..] {
            group.end = end(group.end as usize - span.len() + nodes.len());
        }
        let group = Group { neighbour, end: end(span.start + nodes.len()), until };
        table::replace(&mut self.groups, range, (!nodes.is_empty()).then_some(group));
        table::replace(&mut self.nodes, span, nodes.iter().copied());
    }

    fn shrink(&mut self) {
        table::shrink(&mut self.groups);
        table::shrink(&mut self.nodes);
    }

    fn sorted(&self, neighbour: Ipv4Addr) -> Vec<Ipv4Addr> {
        let mut all: Vec<_> = self.of(neighbour).collect();
        all.sort_unstable();
        all
    }

    fn range_of(&self, neighbour: Ipv4Addr) -> Range<usize> {
        let from = self.groups.partition_point(|group| group.neighbour < neighbour);
        let len = self.groups[from..].iter().take_while(|group| group.neighbour == neighbour).count();
        from..from + len
    }

    /// The indices of the nodes of some groups.
    fn span(&self, range: Range<usize>) -> Range<usize> {
        let begin = |at: usize| at.checked_sub(1).map_or(0, |before| self.groups[before].end as usize);
        begin(range.start)..begin(range.end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn node(n: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, n)
    }

    proptest! {
        #[test]
        fn the_set_equals_the_tuples_of_the_rfc(
            heard in vec((1..3_u8, vec((1..6_u8, any::<bool>()), 0..5), 1..9_u64), 1..40),
        ) {
            let mut two_hops = TwoHops::new();
            let mut tuples = BTreeMap::new();
            for (now, (neighbour, links, validity)) in (1..).zip(heard) {
                let (at, until) = (Instant::from_nanos(now), Instant::from_nanos(now + validity));
                let before = tuples.len();
                tuples.retain(|_, &mut expires| at < expires);
                prop_assert_eq!(two_hops.expire(at), tuples.len() < before);
                let before: Vec<_> = tuples.keys().copied().collect();
                for &(of, symmetric) in &links {
                    if symmetric {
                        tuples.insert((node(neighbour), node(of)), until);
                    } else {
                        tuples.remove(&(node(neighbour), node(of)));
                    }
                }
                let kind = |symmetric| if symmetric { NeighbourType::Mpr } else { NeighbourType::Not };
                let hello = links.iter().map(|&(of, symmetric)| (node(of), kind(symmetric)));
                let changed = two_hops.learn(node(neighbour), hello, until);
                prop_assert_eq!(changed, !tuples.keys().copied().eq(before));
                for neighbour in [1, 2].map(node) {
                    let of = tuples.keys().filter(|pair| pair.0 == neighbour).map(|pair| pair.1);
                    prop_assert!(two_hops.sorted(neighbour).into_iter().eq(of));
                }
                let first = tuples.values().min();
                prop_assert!(two_hops.due() <= first.copied(), "every tuple expires on time");
                prop_assert_eq!(two_hops.due().is_none(), first.is_none());
            }
        }
    }
}
