//! A hash table with addresses as keys.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// A hash table without removal, with addresses as keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses<V> {
    /// A power of two. More than half of the slots are free, which is the value zero: 0.0.0.0 is
    /// not an address of a node.
    slots: Vec<(u32, V)>,
    len: usize,
}

impl Addresses<()> {
    /// Returns whether the address is new.
    pub(crate) fn insert(&mut self, address: Ipv4Addr) -> bool {
        let before = self.len;
        self.at_or(address, ());
        self.len > before
    }
}

impl<V: Copy + Default> Addresses<V> {
    /// Creates an empty list with room for this many addresses.
    pub(crate) fn with_room(len: usize) -> Self {
        let slots = FEWEST.max((2 * len + 1).next_power_of_two());
        Self { slots: alloc::vec![(FREE, V::default()); slots], len: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.slots.fill((FREE, V::default()));
        self.len = 0;
    }

    /// The value of an address; inserts `value` if the address is new.
    pub(crate) fn at_or(&mut self, address: Ipv4Addr, value: V) -> V {
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

    /// The slot of an address, or the free slot where it belongs.
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
/// Number of slots of the smallest non-empty table.
const FEWEST: usize = 16;
/// Multiplier 2^32 divided by the golden ratio, which distributes consecutive addresses.
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
