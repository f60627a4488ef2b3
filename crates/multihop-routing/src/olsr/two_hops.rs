//! The 2-hop neighbour set (RFC 3626 §4.3.2) and the processing of HELLOs (§8.2.1).

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::Range;

use multihop_core::Instant;
use multihop_wire::olsr::NeighbourType;

use crate::link_state::table;
use crate::steps;

/// Symmetric neighbours of symmetric neighbours.
///
/// The RFC has a tuple for each pair of neighbour and 2-hop neighbour. This implementation stores the tuples
/// that were last confirmed by the same HELLO, which have the same expiry time, as a group.
#[derive(Clone, Debug)]
pub(super) struct TwoHops {
    /// Groups sorted by neighbour; the groups of one neighbour latest first.
    groups: Vec<Group>,
    /// The nodes of all groups in one list, because many small lists would need half as much memory again.
    nodes: Vec<Ipv4Addr>,
    /// Lower bound of the instant at which a group expires. Not updated when groups are refreshed, but
    /// recomputed when that instant is reached.
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

    /// Instant before which [`expire`](Self::expire) has nothing to remove; `None` without groups.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.groups.is_empty()).then_some(self.due)
    }

    /// The number of pairs.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The neighbours of a neighbour; sorted by address if they come from one HELLO.
    pub(super) fn of(&self, neighbour: Ipv4Addr) -> impl Iterator<Item = Ipv4Addr> {
        self.nodes[self.span(self.range_of(neighbour))].iter().copied()
    }

    #[cfg(test)]
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr, Instant)> {
        self.groups.iter().enumerate().flat_map(|(at, group)| {
            self.nodes[self.span(at..at + 1)].iter().map(|&of| (group.neighbour, of, group.until))
        })
    }

    /// Processes the links in a neighbour's HELLO, except links to this node; returns whether anything has
    /// changed.
    pub(super) fn learn(
        &mut self,
        neighbour: Ipv4Addr,
        links: impl Iterator<Item = (Ipv4Addr, NeighbourType)> + Clone,
        until: Instant,
    ) -> bool {
        // The listed nodes are temporarily stored at the end.
        let start = self.nodes.len();
        links.clone().for_each(|(of, kind)| {
            steps::count(1);
            let listed = &self.nodes[start..];
            // A HELLO nearly always lists addresses in ascending order.
            let is_last = listed.last().is_none_or(|last| *last < of);
            let place = if is_last { Err(listed.len()) } else { listed.binary_search(&of) };
            match (kind, place) {
                (NeighbourType::Symmetric | NeighbourType::Mpr, Err(at)) => {
                    table::insert(&mut self.nodes, start + at, of);
                }
                (NeighbourType::Not, Ok(at)) => drop(self.nodes.remove(start + at)),
                _ => {}
            }
        });
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
        named: impl Iterator<Item = Ipv4Addr>,
        until: Instant,
    ) -> bool {
        let links = named;
        let mut named = Vec::new();
        links.for_each(|of| named.push(of));
        steps::count(named.len() + range.len() + self.span(range.clone()).len());
        named.sort_unstable();
        let mut groups = Vec::with_capacity(range.len() + 1);
        let mut nodes = Vec::with_capacity(self.span(range.clone()).len() + listed.len());
        let put = |groups: &mut Vec<Group>, nodes: &[Ipv4Addr], until| {
            if groups.last().map_or(0, |group| group.end as usize) < nodes.len() {
                groups.push(Group { neighbour, end: index(nodes.len()), until });
            }
        };
        nodes.extend_from_slice(listed);
        put(&mut groups, &nodes, until);
        let mut confirmed = 0;
        let mut lost = false;
        for at in range.clone() {
            for &of in &self.nodes[self.span(at..at + 1)] {
                if named.binary_search(&of).is_err() {
                    nodes.push(of);
                } else if listed.binary_search(&of).is_ok() {
                    confirmed += 1;
                } else {
                    lost = true;
                }
            }
            put(&mut groups, &nodes, self.groups[at].until);
        }
        self.replace(range, groups, &nodes);
        lost || confirmed < listed.len()
    }

    /// Removes a neighbour and the two-hop neighbours behind it.
    pub(super) fn forget(&mut self, neighbour: Ipv4Addr) {
        self.replace(self.range_of(neighbour), Vec::new(), &[]);
        self.shrink();
    }

    /// Removes the oldest groups of a neighbour until it has at most `max_nodes` nodes in at most
    /// `max_groups` groups.
    pub(super) fn limit(&mut self, neighbour: Ipv4Addr, max_nodes: usize, max_groups: usize) {
        let range = self.range_of(neighbour);
        let start = self.span(range.start..range.start).start;
        steps::count(range.len());
        let fits = |at: &usize| self.groups[*at].end as usize - start <= max_nodes;
        let kept = range.clone().take(max_groups).take_while(fits).count();
        if kept < range.len() {
            self.replace(range.start + kept..range.end, Vec::new(), &[]);
        }
    }

    /// Removes expired groups; returns whether there were any.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let before = self.groups.len();
        steps::count(before + self.nodes.len());
        let (mut kept, mut start, mut due) = (0, 0, Instant::FAR_FUTURE);
        for at in 0..before {
            let Group { end, until, .. } = self.groups[at];
            let span = core::mem::replace(&mut start, end as usize)..end as usize;
            if until > now {
                let to = self.groups[..kept].last().map_or(0, |group| group.end as usize);
                self.nodes.copy_within(span.clone(), to);
                self.groups.swap(kept, at);
                self.groups[kept].end = index(to + span.len());
                kept += 1;
                due = due.min(until);
            }
        }
        self.groups.truncate(kept);
        self.nodes.truncate(self.groups.last().map_or(0, |group| group.end as usize));
        self.shrink();
        self.due = due;
        kept < before
    }

    /// Replaces groups by others, whose ends are relative to the first of `nodes`.
    fn replace(&mut self, range: Range<usize>, mut groups: Vec<Group>, nodes: &[Ipv4Addr]) {
        let span = self.span(range.clone());
        steps::count(self.groups.len() - range.end);
        for group in &mut self.groups[range.end..] {
            group.end = index(group.end as usize - span.len() + nodes.len());
        }
        for group in &mut groups {
            group.end = index(span.start + group.end as usize);
        }
        table::replace(&mut self.groups, range, groups);
        table::replace(&mut self.nodes, span, nodes.iter().copied());
    }

    fn shrink(&mut self) {
        table::shrink(&mut self.groups);
        table::shrink(&mut self.nodes);
    }

    fn range_of(&self, neighbour: Ipv4Addr) -> Range<usize> {
        let from = self.groups.partition_point(|group| group.neighbour < neighbour);
        let len = self.groups[from..].iter().take_while(|group| group.neighbour == neighbour).count();
        steps::count(len);
        from..from + len
    }

    /// Range of indices of the nodes of some groups.
    fn span(&self, range: Range<usize>) -> Range<usize> {
        let begin = |at: usize| at.checked_sub(1).map_or(0, |before| self.groups[before].end as usize);
        begin(range.start)..begin(range.end)
    }
}

/// An index in the list of nodes.
fn index(at: usize) -> u32 {
    u32::try_from(at).expect("fewer pairs than addresses")
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

    fn sorted(two_hops: &TwoHops, neighbour: Ipv4Addr) -> Vec<Ipv4Addr> {
        let mut all: Vec<_> = two_hops.of(neighbour).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_neighbour_has_its_latest_nodes_up_to_the_limit() {
        let mut two_hops = TwoHops::new();
        let until = Instant::from_nanos(9);
        let learn = |two_hops: &mut TwoHops, neighbour, nodes: &[u8]| {
            let nodes = nodes.iter().map(|&n| (node(n), NeighbourType::Symmetric));
            two_hops.learn(node(neighbour), nodes, until);
        };
        for neighbour in [1, 2, 3] {
            for nodes in [[10, 11], [12, 13], [14, 15]] {
                learn(&mut two_hops, neighbour, &nodes);
            }
        }
        two_hops.limit(node(2), 5, 9);
        assert_eq!(sorted(&two_hops, node(2)), [12, 13, 14, 15].map(node));
        two_hops.limit(node(2), 9, 1);
        assert_eq!(sorted(&two_hops, node(2)), [14, 15].map(node));
        two_hops.limit(node(2), 9, 9);
        for neighbour in [1, 3] {
            assert_eq!(sorted(&two_hops, node(neighbour)).len(), 6, "others keep theirs");
        }
        assert_eq!(two_hops.len(), 14);
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
                    prop_assert_eq!(sorted(&two_hops, neighbour), of.collect::<Vec<_>>());
                }
                let first = tuples.values().min();
                prop_assert!(two_hops.due() <= first.copied(), "every tuple expires on time");
                prop_assert_eq!(two_hops.due().is_none(), first.is_none());
            }
        }
    }
}
