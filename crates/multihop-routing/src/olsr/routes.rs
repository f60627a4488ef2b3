//! The routing table (RFC 3626 §10) with the fewest hops. `cheapest` has the routes of least cost.
//!
//! Pure functions of the information sets.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;

use multihop_wire::olsr::Willingness;

use super::neighbours::{Neighbour, Neighbours};
use super::table;
use super::topology::Topology;
use super::two_hops::TwoHops;

/// The route to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// The node's main address.
    pub destination: Ipv4Addr,
    /// The neighbour's interface address.
    pub next_hop: Ipv4Addr,
    /// Hops to the node.
    pub hops: u8,
}

/// The information sets.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) own: Ipv4Addr,
    pub(super) neighbours: &'a Neighbours,
    pub(super) two_hops: &'a TwoHops,
    pub(super) topology: &'a Topology,
}

/// Routes, sorted by destination.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    pub(super) list: Vec<Route>,
    /// In the order of `list` if routes are chosen by cost, otherwise empty.
    pub(super) details: Vec<Detail>,
}

/// Additional data of a route of least cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    pub(super) cost: u64,
    /// The node before the destination.
    pub(super) last: Ipv4Addr,
}

/// Temporary data of a computation. Stored permanently at each node, it would need as much memory
/// as all routes.
struct Found<'a> {
    list: &'a mut Vec<Route>,
    /// Destinations that have a route.
    reached: Addresses<()>,
}

impl Routes {
    pub(super) fn list(&self) -> &[Route] {
        &self.list
    }

    pub(super) fn get(&self, destination: Ipv4Addr) -> Option<Route> {
        let found = self.list.binary_search_by_key(&destination, |route| route.destination);
        found.ok().map(|at| self.list[at])
    }

    /// Frees the memory of outdated routes: most nodes forward no packets for long periods.
    pub(super) fn forget(&mut self) {
        self.list = Vec::new();
    }

    /// Recomputes all routes. Ties go to the first hop with the highest willingness, then to the
    /// lowest address; the RFC leaves the choice open.
    pub(super) fn find(&mut self, known: &Known<'_>) {
        // Nearly every node sends TCs or is a neighbour.
        let originators = known.topology.keys().len();
        let reached = Addresses::with_room(originators + known.neighbours.list().len() + 1);
        self.list.clear();
        table::make_room(&mut self.list, originators);
        let mut found = Found { list: &mut self.list, reached };
        found.reached.insert(known.own);
        for neighbour in known.neighbours.list() {
            if let Some(next_hop) = neighbour.via {
                found.add(neighbour.main, next_hop, 1);
            }
        }
        let mut at = found.list.len();
        found.add_two_hops(known);
        // RFC 3626 §10, step 3: from two hops on, level by level.
        while let Some(&Route { destination: last, next_hop, hops }) = found.list.get(at) {
            at += 1;
            let Some(hops) = hops.checked_add(1) else { break };
            for to in known.topology.ends(last) {
                found.add(to, next_hop, hops);
            }
        }
        self.list.sort_unstable_by_key(|route| route.destination);
    }
}

impl Found<'_> {
    /// RFC 3626 §10, step 2: neighbours of neighbours that are willing to forward.
    fn add_two_hops(&mut self, known: &Known<'_>) {
        let mut order: Vec<&Neighbour> = known.neighbours.list().iter().collect();
        order.sort_by_key(|neighbour| Reverse(neighbour.willingness));
        for &Neighbour { main, willingness, via } in order {
            let Some(next_hop) = via.filter(|_| willingness > Willingness::NEVER) else { continue };
            for of in known.two_hops.of(main) {
                self.add(of, next_hop, 2);
            }
        }
    }

    /// Adds a route unless the destination has one already.
    fn add(&mut self, destination: Ipv4Addr, next_hop: Ipv4Addr, hops: u8) {
        if self.reached.insert(destination) {
            table::push(self.list, Route { destination, next_hop, hops });
        }
    }
}

/// A hash table without removal, with addresses as keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses<V> {
    /// A power of two. More than half of the slots are free, which is the value zero: 0.0.0.0 is
    /// not an address of a node.
    slots: Vec<(u32, V)>,
    len: usize,
}

impl Addresses<()> {
    /// Returns whether the address is new.
    fn insert(&mut self, address: Ipv4Addr) -> bool {
        let before = self.len;
        self.at_or(address, ());
        self.len > before
    }
}

impl<V: Copy + Default> Addresses<V> {
    /// With room for this many addresses.
    fn with_room(len: usize) -> Self {
        let slots = FEWEST.max((2 * len + 1).next_power_of_two());
        Self { slots: alloc::vec![(FREE, V::default()); slots], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill((FREE, V::default()));
        self.len = 0;
    }

    /// The value of an address; a new address gets `value`.
    pub(super) fn at_or(&mut self, address: Ipv4Addr, value: V) -> V {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let bits = address.to_bits();
        let slot = self.slot(bits);
        if self.slots[slot].0 != bits {
            self.slots[slot] = (bits, value);
            self.len += 1;
        }
        self.slots[slot].1
    }

    /// The slot of an address, or the free slot for it.
    fn slot(&self, bits: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (bits.wrapping_mul(GOLDEN) >> 8) as usize & mask;
        while self.slots[at].0 != FREE && self.slots[at].0 != bits {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let len = FEWEST.max(self.slots.len() * 2);
        let before = core::mem::replace(&mut self.slots, alloc::vec![(FREE, V::default()); len]);
        for (bits, value) in before.into_iter().filter(|&(bits, _)| bits != FREE) {
            let slot = self.slot(bits);
            self.slots[slot] = (bits, value);
        }
    }
}

const FREE: u32 = 0;
/// Slots of the smallest non-empty table.
const FEWEST: usize = 16;
/// 2^32 divided by the golden ratio: distributes consecutive addresses.
const GOLDEN: u32 = 0x9e37_79b1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_exactly_what_was_inserted() {
        let mut set = Addresses::default();
        for round in 0..3 {
            for n in 1..500_u32 {
                let address = Ipv4Addr::from_bits(0x0a00_0000 + n * n * 7919);
                assert!(set.insert(address), "{n} in round {round}");
                assert!(!set.insert(address));
            }
            set.clear();
        }
        assert_eq!(set.slots.len(), 1024);
    }
}
