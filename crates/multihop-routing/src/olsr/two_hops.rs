//! The 2-hop neighbour set (RFC 3626 §4.3.2) and what HELLOs do to it (§8.2.1).

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::Range;

use multihop_core::Instant;
use multihop_wire::olsr::NeighbourType;

use super::table;

/// Symmetric neighbours of symmetric neighbours.
///
/// The RFC has a tuple for each pair of neighbour and 2-hop neighbour. Those that the same HELLO has
/// confirmed last have their deadline in common, and are kept together.
#[derive(Clone, Debug)]
pub(super) struct TwoHops {
    /// In the order of neighbours, each one's latest first.
    groups: Vec<Group>,
    /// Nothing expires earlier. Refreshed groups leave it behind, until it is reached and counted anew.
    due: Instant,
    /// Whom a HELLO tells of, while it is read.
    told: Vec<Ipv4Addr>,
}

#[derive(Clone, Debug)]
struct Group {
    neighbour: Ipv4Addr,
    until: Instant,
    /// Its neighbours, in the order of addresses; never empty.
    of: Vec<Ipv4Addr>,
}

impl TwoHops {
    pub(super) const fn new() -> Self {
        Self { groups: Vec::new(), due: Instant::FAR_FUTURE, told: Vec::new() }
    }

    /// When [`expire`](Self::expire) may have something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.groups.is_empty()).then_some(self.due)
    }

    /// The neighbours of a neighbour. Where one HELLO has confirmed them, in the order of addresses.
    pub(super) fn of(&self, neighbour: Ipv4Addr) -> impl Iterator<Item = Ipv4Addr> {
        self.groups[self.range_of(neighbour)].iter().flat_map(|group| group.of.iter().copied())
    }

    #[cfg(test)]
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr, Instant)> {
        self.groups.iter().flat_map(|group| group.of.iter().map(|&of| (group.neighbour, of, group.until)))
    }

    /// What a neighbour says of nodes that are not this one; says whether any of that is new.
    pub(super) fn learn(
        &mut self,
        neighbour: Ipv4Addr,
        links: impl Iterator<Item = (Ipv4Addr, NeighbourType)> + Clone,
        until: Instant,
    ) -> bool {
        self.told.clear();
        for (of, kind) in links.clone() {
            match (kind, self.told.binary_search(&of)) {
                (NeighbourType::Symmetric | NeighbourType::Mpr, Err(at)) => self.told.insert(at, of),
                (NeighbourType::Not, Ok(at)) => drop(self.told.remove(at)),
                _ => {}
            }
        }
        if !self.told.is_empty() {
            self.due = self.due.min(until);
        }
        let range = self.range_of(neighbour);
        match &mut self.groups[range.clone()] {
            [group] if group.of == self.told => {
                group.until = until;
                false
            }
            _ => self.replace(range, neighbour, links.map(|(of, _)| of), until),
        }
    }

    /// Takes those who are told of out of the groups, and puts the neighbours among them in one.
    fn replace(
        &mut self,
        range: Range<usize>,
        neighbour: Ipv4Addr,
        named: impl Iterator<Item = Ipv4Addr> + Clone,
        until: Instant,
    ) -> bool {
        let before = self.sorted(neighbour);
        for group in &mut self.groups[range.clone()] {
            group.of.retain(|&of| !named.clone().any(|named| named == of));
        }
        if !self.told.is_empty() {
            let group = Group { neighbour, until, of: self.told.clone() };
            table::insert(&mut self.groups, range.start, group);
        }
        self.groups.retain(|group| !group.of.is_empty());
        self.sorted(neighbour) != before
    }

    /// A neighbour is no more.
    pub(super) fn forget(&mut self, neighbour: Ipv4Addr) {
        let range = self.range_of(neighbour);
        self.groups.drain(range);
        table::shrink(&mut self.groups);
    }

    /// Removes what is not to be believed any more; says whether there was anything.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let before = self.groups.len();
        self.groups.retain(|group| now < group.until);
        table::shrink(&mut self.groups);
        self.due = self.groups.iter().map(|group| group.until).min().unwrap_or(Instant::FAR_FUTURE);
        self.groups.len() < before
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
        fn what_is_known_is_what_the_tuples_of_the_rfc_say(
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
                let said = links.iter().map(|&(of, symmetric)| (node(of), kind(symmetric)));
                let changed = two_hops.learn(node(neighbour), said, until);
                prop_assert_eq!(changed, !tuples.keys().copied().eq(before));
                for neighbour in [1, 2].map(node) {
                    let of = tuples.keys().filter(|pair| pair.0 == neighbour).map(|pair| pair.1);
                    prop_assert!(two_hops.sorted(neighbour).into_iter().eq(of));
                }
                let first = tuples.values().min();
                prop_assert!(two_hops.due() <= first.copied(), "nothing leaves late");
                prop_assert_eq!(two_hops.due().is_none(), first.is_none());
            }
        }
    }
}
