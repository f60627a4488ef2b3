//! The event queue: the next deadline of everything that can have one.
//!
//! Everything that can have a deadline (a station's MAC, a frame in flight, a connection) owns a *slot* with at most
//! one deadline, which can be moved or removed. Removal is immediate, so the queue holds no stale entries.
//!
//! The earliest deadlines are in a short sorted list, because most new deadlines are near and expire first. Small networks
//! have no other deadlines. In large networks, time is divided into *slices*: the list has the deadlines up to the end of
//! some slice, each of the next slices has an unsorted list of its own, and all later deadlines are in a 4-ary heap. If a slice
//! has more deadlines than the list may have, the heap has the rest of them. A table has the position of each slot.

use multihop_core::Instant;

use super::Key;

/// Deadlines by slot, earliest first.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    /// The deadlines before `near_end` in reverse order: the first to expire is last. Empty only if there are no
    /// deadlines.
    near: Vec<Key>,
    /// Key before which deadlines are in `near`; [`Key::NEVER`] if all are.
    near_end: Key,
    /// Deadlines of the slices from `first_slice` on, by slice modulo [`SLICES`], unsorted.
    slices: Vec<Vec<Key>>,
    /// The lists of `slices` that are not empty, a bit for each.
    filled: u128,
    /// First slice that has a list; at most `SLICES - 1` later slices have one, too.
    first_slice: u64,
    /// Heap of the other deadlines.
    far: Vec<Key>,
    /// Position of each slot's key: [`ABSENT`], [`NEAR`], its index in the heap, or [`IN_SLICE`] with the number of the
    /// list and the index in the list.
    place: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;
const NEAR: u32 = u32::MAX - 1;
/// Bit that marks a position in the list of a slice. Positions in the heap never have this bit: there are at most 2^30 slots.
const IN_SLICE: u32 = 1 << 31;
/// Number of bits of an index in the list of a slice.
const INDEX_BITS: u32 = 24;
/// Number of slices with a list, one for each bit of `filled`. They cover 4.2 ms: a frame with 1000 bytes at 2 Mb/s.
const SLICES: u64 = 128;
/// Length of a slice, 32.8 us, as a power of two in ns. 10,000 busy stations have about 30 deadlines in that time.
const SLICE_SHIFT: u32 = 15;
/// Slice after all deadlines.
const NO_SLICE: u64 = u64::MAX;
/// Number of deadlines above which the sorted list becomes shorter. In longer lists a search takes more time than
/// the other structures do.
const MAX_NEAR: usize = 40;
/// Number of deadlines that remain in the sorted list when it becomes too long, and that the list gets at least from the
/// heap if it is empty.
const FEWEST_NEAR: usize = 12;
const CHILDREN: usize = 4;

fn slice(key: Key) -> u64 {
    key.at().as_nanos() >> SLICE_SHIFT
}

/// Key that sorts before the keys of all events from this slice on.
fn start_of(slice: u64) -> Key {
    if slice > u64::MAX >> SLICE_SHIFT {
        return Key::NEVER;
    }
    Key::earliest(Instant::from_nanos(slice << SLICE_SHIFT))
}

impl Deadlines {
    /// A queue without deadlines, with capacity for `slots` slots.
    pub(crate) fn with_slots(slots: usize) -> Self {
        Self {
            near: Vec::with_capacity(MAX_NEAR + 1),
            near_end: Key::NEVER,
            slices: (0..SLICES).map(|_| Vec::new()).collect(),
            filled: 0,
            first_slice: 0,
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

    /// The `ahead`-th deadline after the earliest one; `None` if it is not in the sorted list.
    pub(crate) fn ahead(&self, ahead: usize) -> Option<Key> {
        self.near.iter().nth_back(ahead).copied()
    }

    /// Sets or moves the deadline of the slot in the key.
    pub(crate) fn set(&mut self, key: Key) {
        match self.place[key.slot() as usize] {
            ABSENT => self.insert(key),
            NEAR => self.move_near(key),
            place => self.move_later(place, key),
        }
    }

    /// Removes the deadline of `slot`, if it has one.
    pub(crate) fn clear(&mut self, slot: u32) {
        match std::mem::replace(&mut self.place[slot as usize], ABSENT) {
            ABSENT => {}
            NEAR => self.take_near(self.place_near(slot)),
            place => self.remove_later(place),
        }
    }

    /// The number of deadlines.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.slices.iter().map(Vec::len).sum::<usize>() + self.far.len()
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
        if key >= self.near_end {
            self.postpone(place, key);
            return;
        }
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
    }

    /// Moves the near deadline at a position of the list to a later slice.
    #[inline(never)]
    fn postpone(&mut self, place: usize, key: Key) {
        // The list may be refilled with this key.
        self.insert_later(key);
        self.take_near(place);
    }

    /// Removes the near deadline at a position of the list.
    #[inline]
    fn take_near(&mut self, place: usize) {
        let last = self.near.len() - 1;
        for place in place..last {
            self.near[place] = self.near[place + 1];
        }
        self.near.pop();
        if last == 0 && self.near_end != Key::NEVER {
            self.refill();
        }
    }

    /// Adds the deadline of a slot that has none.
    #[inline]
    fn insert(&mut self, key: Key) {
        if key >= self.near_end {
            self.insert_later(key);
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
        if last >= MAX_NEAR {
            self.shorten();
        }
    }

    /// Moves late deadlines out of the list, so that [`FEWEST_NEAR`] remain, and with them the rest of their slice if it
    /// is short.
    #[inline(never)]
    fn shorten(&mut self) {
        let fewest = self.near.len() - FEWEST_NEAR;
        let next_slice = slice(self.near[fewest]) + 1;
        let end = start_of(next_slice);
        let whole = self.near.iter().position(|&key| key < end).expect("at least the kept ones");
        let is_crowded = self.near.len() - whole >= MAX_NEAR;
        let moved = if is_crowded { fewest } else { whole };
        if self.near_end == Key::NEVER {
            // No slice has deadlines.
            self.first_slice = next_slice;
        }
        self.near_end = if is_crowded { self.near[fewest - 1] } else { end.min(self.near_end) };
        for place in 0..moved {
            self.insert_later(self.near[place]);
        }
        self.near.drain(..moved);
    }

    /// Fills the empty list with all deadlines up to the slice of the next one, and with more from the heap if no slice has
    /// a list; if that slice has too many deadlines, with the first of them.
    #[inline(never)]
    fn refill(&mut self) {
        let next_far = self.far.first().copied().map_or(NO_SLICE, slice);
        let last = self.first_filled().min(next_far);
        self.near_end = Key::NEVER;
        if last == NO_SLICE {
            return;
        }
        if self.first_filled() == last {
            self.take_slice(last);
        }
        let at_least = if self.filled == 0 { FEWEST_NEAR } else { 0 };
        let mut end = last + 1;
        while let Some(&first) = self.far.first() {
            if slice(first) >= end {
                if self.near.len() >= at_least {
                    break;
                }
                end = slice(first) + 1;
            }
            if self.near.len() > MAX_NEAR {
                break;
            }
            self.remove_far(0);
            self.near.push(first);
        }
        let is_crowded = self.near.len() > MAX_NEAR;
        if is_crowded {
            self.keep_first();
        }
        for key in &self.near {
            self.place[key.slot() as usize] = NEAR;
        }
        self.near.sort_unstable_by(|a, b| b.cmp(a));
        if self.filled != 0 || !self.far.is_empty() {
            self.near_end = if is_crowded { self.far[0] } else { start_of(end) };
            self.first_slice = self.first_slice.max(end);
        }
    }

    /// Exchanges the deadlines of the list for the first [`FEWEST_NEAR`] of the list and the heap together.
    fn keep_first(&mut self) {
        while let Some(key) = self.near.pop() {
            self.insert_far(key);
        }
        for _ in 0..FEWEST_NEAR {
            self.near.push(self.far[0]);
            self.remove_far(0);
        }
    }
}

/// Operations on the lists of slices.
impl Deadlines {
    /// Whether a deadline belongs into the heap.
    #[inline]
    fn is_far(&self, key: Key) -> bool {
        key >= self.near_end && slice(key).wrapping_sub(self.first_slice) >= SLICES
    }

    /// Adds a deadline that is not near.
    #[expect(clippy::cast_possible_truncation, reason = "there are 128 lists, and fewer keys than slots")]
    #[inline(never)]
    fn insert_later(&mut self, key: Key) {
        if self.is_far(key) {
            self.insert_far(key);
            return;
        }
        let list = (slice(key) % SLICES) as u32;
        let keys = &mut self.slices[list as usize];
        if keys.len() == keys.capacity() {
            self.lengthen(list as usize, key);
            return;
        }
        let index = keys.len() as u32;
        keys.push(key);
        self.place[key.slot() as usize] = IN_SLICE | list << INDEX_BITS | index;
        self.filled |= 1 << list;
    }

    /// Adds a deadline to a list of a slice whose memory is full.
    // Only this function allocates. If `insert_later` did, it would save seven registers at every call.
    #[cold]
    #[inline(never)]
    fn lengthen(&mut self, list: usize, key: Key) {
        let keys = &mut self.slices[list];
        keys.reserve(keys.len().max(4));
        self.insert_later(key);
    }

    /// Moves a deadline at a position in a list of a slice, or in the heap.
    // In small networks all deadlines are near; inlined, this function makes `set` slower for them.
    #[inline(never)]
    fn move_later(&mut self, place: u32, key: Key) {
        if place & IN_SLICE != 0 || !self.is_far(key) {
            self.remove_later(place);
            self.insert(key);
        } else if key < self.far[place as usize] {
            self.sift_up(place as usize, key);
        } else {
            self.sift_down(place as usize, key);
        }
    }

    /// Removes the deadline at a position in a list of a slice, or in the heap.
    #[inline(never)]
    fn remove_later(&mut self, place: u32) {
        if place & IN_SLICE == 0 {
            self.remove_far(place as usize);
            return;
        }
        let list = (place & !IN_SLICE) >> INDEX_BITS;
        let index = place & ((1 << INDEX_BITS) - 1);
        let keys = &mut self.slices[list as usize];
        keys.swap_remove(index as usize);
        if let Some(moved) = keys.get(index as usize) {
            self.place[moved.slot() as usize] = place;
        } else if keys.is_empty() {
            self.filled &= !(1 << list);
        }
    }

    /// The first slice whose list is not empty, or [`NO_SLICE`].
    fn first_filled(&self) -> u64 {
        if self.filled == 0 {
            return NO_SLICE;
        }
        let first = u32::try_from(self.first_slice % SLICES).expect("less than 128");
        self.first_slice + u64::from(self.filled.rotate_right(first).trailing_zeros())
    }

    /// Moves the deadlines of a slice into the empty sorted list, unsorted.
    fn take_slice(&mut self, slice: u64) {
        let list = slice % SLICES;
        self.near.append(&mut self.slices[usize::try_from(list).expect("less than 128")]);
        self.filled &= !(1 << list);
    }
}

/// Operations on the heap of later deadlines.
impl Deadlines {
    #[inline(never)]
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

    use multihop_core::{NodeId, Rng};

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
        // All in one slice, in some slices, and in more slices than have lists.
        for (slots, latest) in
            [10, 50, 200].into_iter().flat_map(|n| [50, 500_000, 50_000_000].map(|at| (n, at)))
        {
            let mut rng = Rng::stream(3, "test", 0);
            let mut d = Deadlines::with_slots(slots as usize);
            let mut model = BTreeMap::new();
            for _ in 0..20_000 {
                let slot = rng.below(slots);
                if rng.below(3) == 0 {
                    d.clear(slot);
                    model.remove(&slot);
                } else {
                    let key = key(u64::from(rng.below(latest)), Rank::Timer, rng.below(3), slot);
                    d.set(key);
                    model.insert(slot, key);
                }
                assert_eq!(d.first(), model.values().min().copied().unwrap_or(Key::NEVER));
                assert_eq!(d.len(), model.len());
            }
        }
    }

    #[test]
    fn the_sorted_list_stays_short_however_many_deadlines_one_instant_has() {
        let mut d = Deadlines::with_slots(10_000);
        for slot in 0..10_000 {
            d.set(key(u64::from(slot % 3), Rank::Timer, 0, slot));
            assert!(d.near.len() <= MAX_NEAR + 1);
        }
        let mut before = Key::earliest(Instant::ZERO);
        for slot in 0..10_000 {
            let first = d.first();
            assert!(first > before && d.near.len() <= MAX_NEAR + 1);
            before = first;
            d.clear(first.slot());
            if slot % 2 == 0 {
                d.set(key(first.at().as_nanos() + 100_000, Rank::Timer, 0, first.slot()));
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
            assert!(d.ahead(1).is_none_or(|second| Some(&second) == model.keys().nth(1)));
            model.remove(&first);
            let wait = [10, 1000, 1_000_000, 100_000_000][rng.below(4) as usize];
            let next = key(first.at().as_nanos() + u64::from(rng.below(wait)), Rank::Timer, 0, slot);
            if rng.below(2) == 0 {
                d.clear(slot);
            }
            d.set(next);
            model.insert(next, slot);
        }
    }
}
