//! The event queue: the next deadline of everything that can have one.
//!
//! Everything that can have a deadline (a station's MAC, a frame in flight, a connection) owns a *slot* with at most
//! one deadline, which can be moved or removed. Removal is immediate, so the queue holds no stale entries. The queue is
//! a 4-ary heap of slots, with the position of each slot in it.

use multihop_core::{Duration, Instant, NodeId};

/// The order of simultaneous events.
///
/// Two stations whose backoff ends in the same slot must both transmit and collide, so timers come before the starts of
/// signals. A frame that ends as another starts is not disturbed by it, so ends come first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Rank {
    SignalEnd = 0,
    Timer = 1,
    SignalStart = 2,
    Application = 3,
}

/// A key in the total order of events: instant, rank, node, time of flight (the longest first), slot.
///
/// One number, because the queue mostly compares keys. From the most significant bit: 64 bits of nanoseconds, 2 of
/// rank, 20 of node, 12 of time of flight, 30 of slot.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key(u128);

const SLOT_BITS: u32 = 30;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Times of flight are told apart up to 4095 ns, which is 1.2 km.
const FLIGHT_BITS: u32 = 12;
const LONGEST_FLIGHT: u64 = (1 << FLIGHT_BITS) - 1;
const NODE_SHIFT: u32 = SLOT_BITS + FLIGHT_BITS;
const NODE_MASK: u32 = (1 << (62 - NODE_SHIFT)) - 1;

impl Key {
    pub(crate) fn new(at: Instant, rank: Rank, node: NodeId, slot: u32) -> Self {
        debug_assert!(slot <= SLOT_MASK && node.0 <= NODE_MASK);
        let order = (rank as u64) << 62 | u64::from(node.0) << NODE_SHIFT | u64::from(slot);
        Self(u128::from(at.as_nanos()) << 64 | u128::from(order))
    }

    /// Of two bits that reach a node at one instant, the one that left first comes first.
    pub(crate) fn of_arrival(at: Instant, rank: Rank, node: NodeId, flight: Duration, slot: u32) -> Self {
        let remaining = LONGEST_FLIGHT - flight.as_nanos().min(LONGEST_FLIGHT);
        Self(Self::new(at, rank, node, slot).0 | u128::from(remaining << SLOT_BITS))
    }

    pub(crate) fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the node is in the lowest bits after the shift")]
    pub(crate) fn node(self) -> NodeId {
        NodeId((self.0 >> NODE_SHIFT) as u32 & NODE_MASK)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the slot is in the lowest bits")]
    pub(crate) fn slot(self) -> u32 {
        self.0 as u32 & SLOT_MASK
    }
}

/// Deadlines by slot, earliest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    heap: Vec<Key>,
    /// Position of each slot's key in the heap.
    place: Vec<u32>,
    version: u64,
}

const ABSENT: u32 = u32::MAX;
const CHILDREN: usize = 4;

impl Deadlines {
    /// A queue without deadlines, with capacity for `slots` slots.
    pub(crate) fn with_slots(slots: usize) -> Self {
        Self { heap: Vec::with_capacity(slots), place: vec![ABSENT; slots], version: 0 }
    }

    /// Adds a slot.
    pub(crate) fn add_slot(&mut self) -> u32 {
        self.place.push(ABSENT);
        u32::try_from(self.place.len() - 1).expect("there are fewer than 2^30 slots")
    }

    /// The earliest deadline.
    #[inline]
    pub(crate) fn first(&self) -> Option<Key> {
        self.heap.first().copied()
    }

    /// Sets or moves the deadline of the slot in the key.
    pub(crate) fn set(&mut self, key: Key) {
        let place = self.place[key.slot() as usize];
        if place == ABSENT {
            self.heap.push(key);
            self.sift_up(self.heap.len() - 1, key);
            return;
        }
        let place = place as usize;
        let before = self.heap[place];
        if key == before {
            return;
        }
        if key < before {
            self.sift_up(place, key);
        } else {
            self.sift_down(place, key);
        }
    }

    /// Changes whenever the earliest deadline changes.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Removes the deadline of `slot`, if it has one.
    pub(crate) fn clear(&mut self, slot: u32) {
        let place = std::mem::replace(&mut self.place[slot as usize], ABSENT);
        if place == ABSENT {
            return;
        }
        let last = self.heap.pop().expect("the slot's own key is in the heap");
        let place = place as usize;
        self.version += u64::from(place == 0);
        if place < self.heap.len() {
            if place > 0 && last < self.heap[(place - 1) / CHILDREN] {
                self.sift_up(place, last);
            } else {
                self.sift_down(place, last);
            }
        }
    }

    /// The number of deadlines.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are no more places than slots")]
    fn put(&mut self, place: usize, key: Key) {
        self.version += u64::from(place == 0);
        self.heap[place] = key;
        self.place[key.slot() as usize] = place as u32;
    }

    fn sift_up(&mut self, mut place: usize, key: Key) {
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent] <= key {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, key);
    }

    fn sift_down(&mut self, mut place: usize, key: Key) {
        while let Some((child, least)) = self.least_child(place) {
            if key < least {
                break;
            }
            self.put(place, least);
            place = child;
        }
        self.put(place, key);
    }

    #[inline]
    fn least_child(&self, place: usize) -> Option<(usize, Key)> {
        let first = place * CHILDREN + 1;
        let children = self.heap.get(first..)?;
        if let Some(&[a, b, c, d]) = children.first_chunk::<CHILDREN>() {
            let one = if b < a { (first + 1, b) } else { (first, a) };
            let other = if d < c { (first + 3, d) } else { (first + 2, c) };
            return Some(if other.1 < one.1 { other } else { one });
        }
        let (&least, others) = children.split_first()?;
        let mut child = (first, least);
        for (place, &key) in (first + 1..).zip(others) {
            if key < child.1 {
                child = (place, key);
            }
        }
        Some(child)
    }
}

#[cfg(test)]
mod tests {
    use multihop_core::Rng;
    use std::collections::BTreeMap;

    use super::*;

    fn key(at: u64, rank: Rank, node: u32, slot: u32) -> Key {
        Key::new(Instant::from_nanos(at), rank, NodeId(node), slot)
    }

    #[test]
    fn simultaneous_events_have_the_documented_order() {
        let mut d = Deadlines::with_slots(6);
        let order = [
            key(5, Rank::Application, 9, 0),
            key(7, Rank::SignalEnd, 3, 1),
            key(7, Rank::Timer, 0, 2),
            key(7, Rank::Timer, 1, 3),
            key(7, Rank::SignalStart, 0, 4),
            key(7, Rank::SignalStart, 0, 5),
        ];
        for key in order.iter().rev() {
            d.set(*key);
        }
        for expected in order {
            let key = d.first().unwrap();
            assert_eq!(key, expected);
            d.clear(key.slot());
        }
        assert_eq!(d.first(), None);
    }

    #[test]
    fn of_two_arrivals_at_one_instant_the_one_that_left_first_comes_first() {
        let arrival = |flight, slot| {
            let at = Instant::from_nanos(7);
            Key::of_arrival(at, Rank::SignalStart, NodeId(3), Duration::from_nanos(flight), slot)
        };
        assert!(arrival(1334, 9) < arrival(667, 8));
        assert!(arrival(667, 8) < arrival(667, 9));
        assert!(arrival(5000, 8) < arrival(6000, 9), "above 1.2 km the slot decides");
        assert!(arrival(6000, 8) < arrival(5000, 9), "above 1.2 km the slot decides");
        assert!(key(7, Rank::SignalStart, 2, 0) < arrival(1334, 0));
        assert_eq!((arrival(1334, 9).node(), arrival(1334, 9).slot()), (NodeId(3), 9));
    }

    #[test]
    fn agrees_with_a_sorted_map_under_any_operations() {
        let mut rng = Rng::stream(3, "test", 0);
        let mut d = Deadlines::with_slots(40);
        let mut model = BTreeMap::new();
        for _ in 0..20_000 {
            let before = (d.version(), d.first());
            let slot = rng.below(40);
            if rng.below(3) == 0 {
                d.clear(slot);
                model.remove(&slot);
            } else {
                let key = key(u64::from(rng.below(50)), Rank::Timer, rng.below(3), slot);
                d.set(key);
                model.insert(slot, key);
            }
            assert_eq!(d.first(), model.values().min().copied());
            assert_eq!(d.len(), model.len());
            assert!(d.version() != before.0 || d.first() == before.1);
        }
    }
}
