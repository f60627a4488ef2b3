//! A table with expiry times: the form of most information sets (RFC 3626 §4).

use alloc::vec::Vec;
use core::ops::Range;

use multihop_core::Instant;

use crate::steps;

/// Tuples sorted by key, each with an expiry time.
///
/// Stored by columns: searches read only keys.
#[derive(Clone, Debug)]
pub struct Table<K, V = ()> {
    keys: Vec<K>,
    values: Vec<V>,
    expiries: Vec<Instant>,
    /// Lower bound of the instant at which a tuple expires. Not updated when tuples are refreshed, but
    /// recomputed when that instant is reached.
    due: Instant,
}

impl<K: Copy + Ord, V> Default for Table<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Copy + Ord, V> Table<K, V> {
    /// A table without tuples.
    pub const fn new() -> Self {
        Self { keys: Vec::new(), values: Vec::new(), expiries: Vec::new(), due: Instant::FAR_FUTURE }
    }

    /// Instant before which [`expire`](Self::expire) has nothing to remove; `None` without tuples.
    pub fn due(&self) -> Option<Instant> {
        (!self.keys.is_empty()).then_some(self.due)
    }

    /// The keys of all tuples, sorted.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Keys and values, in the order of keys.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut V)> {
        self.keys.iter().copied().zip(&mut self.values)
    }

    /// Expiries of all entries, in the order of their keys.
    pub fn expiries(&self) -> &[Instant] {
        &self.expiries
    }

    /// Value of the tuple with a key.
    pub fn get(&self, key: K) -> Option<&V> {
        self.keys.binary_search(&key).ok().map(|at| &self.values[at])
    }

    /// Indices of the tuples with a key, of which there should be few.
    pub fn range_of(&self, key: K) -> Range<usize> {
        let from = self.keys.partition_point(|&other| other < key);
        let len = self.keys[from..].iter().take_while(|&&other| other == key).count();
        steps::count(len);
        from..from + len
    }

    /// Adds or replaces the tuple with a key; returns whether it was added.
    pub fn put(&mut self, key: K, value: V, expires: Instant) -> bool {
        self.due = self.due.min(expires);
        match self.keys.binary_search(&key) {
            Ok(at) => {
                self.values[at] = value;
                self.expiries[at] = expires;
                false
            }
            Err(at) => {
                self.insert(at, key, value, expires);
                true
            }
        }
    }

    /// Adds a tuple after those with the same key.
    pub fn add(&mut self, key: K, value: V, expires: Instant) {
        self.due = self.due.min(expires);
        let at = self.keys.partition_point(|&other| other <= key);
        self.insert(at, key, value, expires);
    }

    fn insert(&mut self, at: usize, key: K, value: V, expires: Instant) {
        insert(&mut self.keys, at, key);
        insert(&mut self.values, at, value);
        insert(&mut self.expiries, at, expires);
    }

    /// Removes the tuple with a key; returns whether there was one.
    pub fn remove(&mut self, key: K) -> bool {
        match self.keys.binary_search(&key) {
            Ok(at) => self.keep_in(at..at + 1, |_, _| false),
            Err(_) => false,
        }
    }

    /// Removes the tuples in a range that `keep` rejects; returns whether there were any.
    pub fn keep_in(&mut self, range: Range<usize>, keep: impl Fn(&V, Instant) -> bool) -> bool {
        steps::count(range.len());
        let mut kept = range.start;
        for at in range.clone() {
            if keep(&self.values[at], self.expiries[at]) {
                self.keys.swap(kept, at);
                self.values.swap(kept, at);
                self.expiries.swap(kept, at);
                kept += 1;
            }
        }
        let gone = kept..range.end;
        self.keys.drain(gone.clone());
        self.values.drain(gone.clone());
        self.expiries.drain(gone.clone());
        shrink(&mut self.keys);
        shrink(&mut self.values);
        shrink(&mut self.expiries);
        !gone.is_empty()
    }

    /// Removes expired tuples; returns whether there were any.
    pub fn expire(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let removed = self.keep_in(0..self.keys.len(), |_, expires| now < expires);
        self.due = self.expiries.iter().min().copied().unwrap_or(Instant::FAR_FUTURE);
        removed
    }
}

pub(crate) fn insert<T>(column: &mut Vec<T>, at: usize, item: T) {
    make_room(column, column.len() + 1);
    steps::count(column.len() + 1 - at);
    column.insert(at, item);
}

pub(crate) fn push<T>(column: &mut Vec<T>, item: T) {
    make_room(column, column.len() + 1);
    column.push(item);
}

/// Replaces a range of items.
pub(crate) fn replace<T>(
    column: &mut Vec<T>,
    range: Range<usize>,
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) {
    let items = items.into_iter();
    steps::count(column.len() - range.start + items.len());
    make_room(column, column.len() - range.len() + items.len());
    column.splice(range, items);
}

/// Ensures a capacity of at least `len`.
pub(crate) fn make_room<T>(column: &mut Vec<T>, len: usize) {
    if len > column.capacity() {
        resize(column, room_for::<T>(len));
    }
}

/// Frees most of the memory of a column that has become much shorter. Each node has many neighbours at some
/// time, but not all nodes at the same time.
pub(crate) fn shrink<T>(column: &mut Vec<T>) {
    let room = room_for::<T>(column.len() + 1);
    if column.capacity() > room_for::<T>(room + 1) {
        resize(column, room);
    }
}

/// Moves the items to a new allocation: growing or shrinking in place would leave free blocks of
/// all sizes, which are rarely reused.
fn resize<T>(column: &mut Vec<T>, room: usize) {
    let mut before = core::mem::replace(column, Vec::with_capacity(room));
    column.append(&mut before);
}

/// Capacity for `len` items and a sixteenth more: with many tables, doubling would waste half of
/// the memory. Few different sizes let one table reuse the memory of another.
const fn room_for<T>(len: usize) -> usize {
    let bytes = (len + len / 16) * size_of::<T>();
    if bytes == 0 { len } else { bytes.next_multiple_of(STEP) / size_of::<T>() }
}

/// Granularity of a table's memory, in bytes.
const STEP: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn tuples_are_removed_exactly_when_they_expire() {
        let mut table = Table::new();
        for (key, expires) in [(3, 30), (1, 10), (2, 20)] {
            assert!(table.put(key, (), at(expires)));
        }
        assert_eq!(table.keys(), [1, 2, 3]);
        assert_eq!(table.due(), Some(at(10)));
        assert!(!table.put(1, (), at(40)));
        assert!(!table.expire(at(19)), "refreshed");
        assert_eq!(table.due(), Some(at(20)));
        assert!(table.expire(at(20)));
        assert_eq!((table.keys(), table.expiries()), (&[1, 3][..], &[at(40), at(30)][..]));
        assert!(table.expire(at(40)));
        assert_eq!(table.due(), None);
    }

    #[test]
    fn a_key_may_have_several_tuples() {
        let mut table = Table::new();
        for (key, value) in [(1, 9), (2, 1), (3, 0), (2, 2), (2, 3), (2, 4)] {
            table.add(key, value, at(10));
        }
        assert_eq!((table.range_of(2), table.range_of(4)), (1..5, 6..6));
        assert_eq!(table.values(), [9, 1, 2, 3, 4, 0]);
        assert!(table.keep_in(1..5, |value, _| value % 2 == 0));
        assert_eq!((table.keys(), table.values()), (&[1, 2, 2, 3][..], &[9, 2, 4, 0][..]));
        assert!(!table.keep_in(1..3, |value, _| value % 2 == 0));
        assert!(table.remove(3) && !table.remove(3));
        assert_eq!((table.get(1), table.get(3)), (Some(&9), None));
    }
}
