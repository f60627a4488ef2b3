//! The routing table (RFC 3626 §10): fewest hops. That of least cost is in `cheapest`.
//!
//! Pure functions of the sets, and the only places that know what makes a route good.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;

use multihop_wire::olsr::Willingness;

use super::neighbours::{Neighbour, Neighbours};
use super::table;
use super::topology::Topology;
use super::two_hops::TwoHops;

/// The way to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// The node's main address.
    pub destination: Ipv4Addr,
    /// The neighbour's interface.
    pub next_hop: Ipv4Addr,
    /// Links on the way.
    pub hops: u8,
}

/// What is known of the network.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) own: Ipv4Addr,
    pub(super) neighbours: &'a Neighbours,
    pub(super) two_hops: &'a TwoHops,
    pub(super) topology: &'a Topology,
}

/// Routes in the order of destinations.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    pub(super) list: Vec<Route>,
    /// In the order of `list`, where routes are chosen by cost; none where they are by hops.
    pub(super) details: Vec<Detail>,
}

/// Additional data of a route of least cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    pub(super) cost: u64,
    /// The node before the destination.
    pub(super) last: Ipv4Addr,
}

/// What a search for routes needs while it lasts: it would take as much room as all routes, at every
/// node.
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

    /// Gives back the room of routes that are out of date: most nodes are in no packet's way for long.
    pub(super) fn forget(&mut self) {
        self.list = Vec::new();
    }

    /// Finds all routes anew. Ties go to the most willing first hop, among those to the lowest
    /// address; the RFC leaves the choice.
    pub(super) fn find(&mut self, known: &Known<'_>) {
        // Nearly everybody sends TCs, or is a neighbour.
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
    /// RFC 3626 §10, step 2: nodes that a willing neighbour has for a neighbour.
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

    /// Adds a route, unless one was found before.
    fn add(&mut self, destination: Ipv4Addr, next_hop: Ipv4Addr, hops: u8) {
        if self.reached.insert(destination) {
            table::push(self.list, Route { destination, next_hop, hops });
        }
    }
}

/// Addresses with something to each: a hash table without removal.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses<V> {
    /// A power of two, more than half of them free, which is zero: 0.0.0.0 is nobody's address.
    slots: Vec<(u32, V)>,
    len: usize,
}

impl Addresses<()> {
    /// Says whether the address is new.
    fn insert(&mut self, address: Ipv4Addr) -> bool {
        let before = self.len;
        self.at_or(address, ());
        self.len > before
    }
}

impl<V: Copy + Default> Addresses<V> {
    /// For so many addresses.
    fn with_room(len: usize) -> Self {
        let slots = FEWEST.max((2 * len + 1).next_power_of_two());
        Self { slots: alloc::vec![(FREE, V::default()); slots], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill((FREE, V::default()));
        self.len = 0;
    }

    /// What belongs to an address; it is `value` if the address is new.
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

    /// Where an address is, or could be.
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
/// Slots of a table that is used.
const FEWEST: usize = 16;
/// 2^32 over the golden ratio: spreads addresses that follow each other.
const GOLDEN: u32 = 0x9e37_79b1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_what_it_has_seen() {
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
