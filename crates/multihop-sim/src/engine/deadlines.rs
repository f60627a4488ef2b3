//! The event queue: the next deadline of everything that can have one.
//!
//! Everything that can have a deadline (a station's MAC, a frame in flight, a connection) owns a *slot* with at most
//! one deadline, which can be moved or removed. Removal is immediate, so the queue holds no stale entries.
//!
//! The earliest deadlines are in a short sorted list, because most new deadlines are near and expire first.
//! All later deadlines are in a 4-ary heap; a table has the position of each slot.

use super::Key;

/// Deadlines by slot, earliest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    /// The earliest deadlines in reverse order: the first to expire is last. Empty only if there are no
    /// deadlines.
    near: Vec<Key>,
    /// Heap of the later deadlines.
    far: Vec<Key>,
    /// Position of each slot's key: [`ABSENT`], [`NEAR`], or its index in the heap.
    place: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;
const NEAR: u32 = u32::MAX - 1;
/// Largest number of deadlines in the sorted list. Small networks have no more deadlines; in longer lists a
/// search takes more time than the heap does.
const MAX_NEAR: usize = 40;
/// Number of deadlines that remain in the near list when it becomes too long, or that are moved into it when
/// it is empty.
const FEWEST_NEAR: usize = 12;
const CHILDREN: usize = 4;

impl Deadlines {
    /// A queue without deadlines, with capacity for `slots` slots.
    pub(crate) fn with_slots(slots: usize) -> Self {
        Self {
            near: Vec::with_capacity(MAX_NEAR + 1),
            far: Vec::with_capacity(slots),
            place: vec![ABSENT; slots],
        }
    }

    /// Adds a slot without a deadline and returns its number.
    pub(crate) fn add_slot(&mut self) -> u32 {
        self.place.push(ABSENT);
        u32::try_from(self.place.len() - 1).expect("there are fewer than 2^30 slots")
    }

    /// The earliest deadline, or [`Key::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Key {
        self.near.last().copied().unwrap_or(Key::NEVER)
    }

    /// Sets or moves the deadline of the slot in the key.
    pub(crate) fn set(&mut self, key: Key) {
        match self.place[key.slot() as usize] {
            ABSENT => self.insert(key),
            NEAR => self.move_near(key),
            place if key < self.near[0] => {
                self.remove_far(place as usize);
                self.insert(key);
            }
            place if key < self.far[place as usize] => self.sift_up(place as usize, key),
            place => self.sift_down(place as usize, key),
        }
    }

    /// Removes the deadline of `slot`, if it has one.
    pub(crate) fn clear(&mut self, slot: u32) {
        match std::mem::replace(&mut self.place[slot as usize], ABSENT) {
            ABSENT => {}
            NEAR => {
                self.take_near(self.place_near(slot));
            }
            place => self.remove_far(place as usize),
        }
    }

    /// The number of deadlines.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }
}

/// Operations on the list of near deadlines.
impl Deadlines {
    #[inline]
    fn place_near(&self, slot: u32) -> usize {
        self.near.iter().rposition(|key| key.slot() == slot).expect("a slot that is marked as near")
    }

    /// Moves one of the near deadlines to another instant.
    #[inline]
    fn move_near(&mut self, key: Key) {
        let mut place = self.place_near(key.slot());
        let near = &mut self.near[..];
        let last = near.len() - 1;
        while place < last && near[place + 1] > key {
            near[place] = near[place + 1];
            place += 1;
        }
        while place > 0 && near[place - 1] < key {
            near[place] = near[place - 1];
            place -= 1;
        }
        near[place] = key;
        if place == 0 && self.far.first().is_some_and(|&first| first < key) {
            self.take_near(0);
            self.insert(key);
        }
    }

    /// Removes the near deadline at a position of the list.
    #[inline]
    fn take_near(&mut self, place: usize) {
        let last = self.near.len() - 1;
        for place in place..last {
            self.near[place] = self.near[place + 1];
        }
        self.near.pop();
        if last == 0 && !self.far.is_empty() {
            self.fetch();
        }
    }

    /// Adds the deadline of a slot that has none.
    #[inline]
    fn insert(&mut self, key: Key) {
        if !self.far.is_empty() && self.near.first().is_some_and(|&last| last < key) {
            self.insert_far(key);
            return;
        }
        self.place[key.slot() as usize] = NEAR;
        self.near.push(key);
        let near = &mut self.near[..];
        let last = near.len() - 1;
        let mut place = last;
        while place > 0 && near[place - 1] < key {
            near[place] = near[place - 1];
            place -= 1;
        }
        near[place] = key;
        if last == MAX_NEAR {
            self.send_away();
        }
    }

    /// Moves the later near deadlines to the heap, so that [`FEWEST_NEAR`] of them remain.
    #[inline(never)]
    fn send_away(&mut self) {
        for place in 0..self.near.len() - FEWEST_NEAR {
            self.insert_far(self.near[place]);
        }
        self.near.drain(..self.near.len() - FEWEST_NEAR);
    }

    /// Moves the earliest deadlines from the heap to the empty list.
    #[inline(never)]
    fn fetch(&mut self) {
        for _ in 0..FEWEST_NEAR {
            let Some(&first) = self.far.first() else { break };
            self.remove_far(0);
            self.place[first.slot() as usize] = NEAR;
            self.near.push(first);
        }
        self.near.reverse();
    }
}

/// Operations on the heap of later deadlines.
impl Deadlines {
    fn insert_far(&mut self, key: Key) {
        self.far.push(key);
        self.sift_up(self.far.len() - 1, key);
    }

    fn remove_far(&mut self, place: usize) {
        let last = self.far.pop().expect("a slot that is in the heap");
        if place < self.far.len() {
            if place > 0 && last < self.far[(place - 1) / CHILDREN] {
                self.sift_up(place, last);
            } else {
                self.sift_down(place, last);
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are no more places than slots")]
    #[inline]
    fn put(&mut self, place: usize, key: Key) {
        self.far[place] = key;
        self.place[key.slot() as usize] = place as u32;
    }

    fn sift_up(&mut self, mut place: usize, key: Key) {
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.far[parent] <= key {
                break;
            }
            self.put(place, self.far[parent]);
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
        let children = self.far.get(first..)?;
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
    use std::collections::BTreeMap;

    use multihop_core::{Instant, NodeId, Rng};

    use super::*;
    use crate::engine::Rank;

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
            let key = d.first();
            assert_eq!(key, expected);
            d.clear(key.slot());
        }
        assert_eq!(d.first(), Key::NEVER);
    }

    #[test]
    fn agrees_with_a_sorted_map_under_any_operations() {
        for slots in [10, 50, 200] {
            let mut rng = Rng::stream(3, "test", 0);
            let mut d = Deadlines::with_slots(slots as usize);
            let mut model = BTreeMap::new();
            for _ in 0..20_000 {
                let slot = rng.below(slots);
                if rng.below(3) == 0 {
                    d.clear(slot);
                    model.remove(&slot);
                } else {
                    let key = key(u64::from(rng.below(50)), Rank::Timer, rng.below(3), slot);
                    d.set(key);
                    model.insert(slot, key);
                }
                assert_eq!(d.first(), model.values().min().copied().unwrap_or(Key::NEVER));
                assert_eq!(d.len(), model.len());
            }
        }
    }

    #[test]
    fn deadlines_come_in_order_as_time_goes_on() {
        let mut rng = Rng::stream(4, "test", 0);
        let mut d = Deadlines::with_slots(100);
        let mut model: BTreeMap<Key, u32> = BTreeMap::new();
        for slot in 0..100 {
            let key = key(u64::from(rng.below(1000)), Rank::Timer, 0, slot);
            d.set(key);
            model.insert(key, slot);
        }
        // Each deadline that expires is set again, for a near or a distant instant.
        for _ in 0..20_000 {
            let (&first, &slot) = model.first_key_value().unwrap();
            assert_eq!(d.first(), first);
            model.remove(&first);
            let wait = if rng.below(4) == 0 { 1000 } else { 10 };
            let next = key(first.at().as_nanos() + u64::from(rng.below(wait)), Rank::Timer, 0, slot);
            if rng.below(2) == 0 {
                d.clear(slot);
            }
            d.set(next);
            model.insert(next, slot);
        }
    }
}
