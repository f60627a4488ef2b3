use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::Range;

use multihop_core::Instant;

/// Tuples in the order of their keys, each of which may be believed until some moment.
///
/// Columns, not rows: searches touch nothing but keys.
#[derive(Clone, Debug)]
pub(super) struct Table<K, V = ()> {
    keys: Vec<K>,
    values: Vec<V>,
    expiries: Vec<Instant>,
    /// Nothing expires earlier. Refreshed tuples leave it behind, until it is reached and counted
    /// anew.
    due: Instant,
}

/// Two addresses as one key, in the order of the first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Pair(u64);

impl<K: Copy + Ord, V> Table<K, V> {
    pub(super) const fn new() -> Self {
        Self { keys: Vec::new(), values: Vec::new(), expiries: Vec::new(), due: Instant::FAR_FUTURE }
    }

    /// When [`expire`](Self::expire) may have something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.keys.is_empty()).then_some(self.due)
    }

    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }

    /// In the order of keys.
    pub(super) fn values(&self) -> &[V] {
        &self.values
    }

    /// In the order of keys.
    pub(super) fn expiries(&self) -> &[Instant] {
        &self.expiries
    }

    pub(super) fn get(&self, key: K) -> Option<&V> {
        self.keys.binary_search(&key).ok().map(|at| &self.values[at])
    }

    /// Where the keys from `first` to `last` are, which are few.
    pub(super) fn range(&self, first: K, last: K) -> Range<usize> {
        let from = self.keys.partition_point(|&key| key < first);
        let len = self.keys[from..].iter().take_while(|&&key| key <= last).count();
        from..from + len
    }

    /// Adds a tuple, or replaces that with the same key; says whether there was none.
    pub(super) fn put(&mut self, key: K, value: V, expires: Instant) -> bool {
        self.due = self.due.min(expires);
        match self.keys.binary_search(&key) {
            Ok(at) => {
                self.values[at] = value;
                self.expiries[at] = expires;
                false
            }
            Err(at) => {
                insert(&mut self.keys, at, key);
                insert(&mut self.values, at, value);
                insert(&mut self.expiries, at, expires);
                true
            }
        }
    }

    /// Says whether there was such a tuple.
    pub(super) fn remove(&mut self, key: K) -> bool {
        match self.keys.binary_search(&key) {
            Ok(at) => self.keep_in(at..at + 1, |_, _| false),
            Err(_) => false,
        }
    }

    /// Removes tuples in a range unless they are to be kept; says whether there were any.
    pub(super) fn keep_in(&mut self, range: Range<usize>, keep: impl Fn(&V, Instant) -> bool) -> bool {
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

    /// Removes what is not to be believed any more; says whether there was anything.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let removed = self.keep_in(0..self.keys.len(), |_, expires| now < expires);
        self.due = self.expiries.iter().min().copied().unwrap_or(Instant::FAR_FUTURE);
        removed
    }
}

impl<V> Table<Pair, V> {
    /// Where the keys with this first address are.
    pub(super) fn range_of(&self, first: Ipv4Addr) -> Range<usize> {
        self.range(Pair::new(first, Ipv4Addr::UNSPECIFIED), Pair::new(first, Ipv4Addr::BROADCAST))
    }
}

impl Pair {
    pub(super) const fn new(first: Ipv4Addr, second: Ipv4Addr) -> Self {
        Self((first.to_bits() as u64) << 32 | second.to_bits() as u64)
    }

    #[cfg(test)]
    pub(super) const fn first(self) -> Ipv4Addr {
        Ipv4Addr::from_bits((self.0 >> 32) as u32)
    }

    #[cfg(test)]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the second address")]
    pub(super) const fn second(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.0 as u32)
    }
}

/// Grows by an eighth: there are many tables, and doubling would leave half of them empty.
pub(super) fn insert<T>(column: &mut Vec<T>, at: usize, item: T) {
    if column.len() == column.capacity() {
        column.reserve_exact(room_for(column.len()) - column.len());
    }
    column.insert(at, item);
}

/// Gives back most of the room of a column that has become much shorter: every node is in a crowd
/// once, but not all at the same time.
pub(super) fn shrink<T>(column: &mut Vec<T>) {
    if column.capacity() > room_for(room_for(column.len())) {
        column.shrink_to(room_for(column.len()));
    }
}

/// Few different sizes, so that one table takes over what another leaves.
fn room_for(len: usize) -> usize {
    (len + 1 + len / 8).next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn tuples_leave_exactly_when_they_expire() {
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
    fn ranges() {
        let mut table = Table::new();
        for (tens, ones) in [(1, 9), (2, 1), (2, 2), (2, 3), (2, 4), (3, 0)] {
            table.put(10 * tens + ones, ones, at(10));
        }
        assert_eq!(table.range(20, 29), 1..5);
        assert!(table.keep_in(1..5, |value, _| value % 2 == 0));
        assert_eq!((table.keys(), table.values()), (&[19, 22, 24, 30][..], &[9, 2, 4, 0][..]));
        assert!(!table.keep_in(1..3, |value, _| value % 2 == 0));
        assert!(table.remove(30) && !table.remove(30));
        assert_eq!((table.get(24), table.get(23), table.range(50, 60)), (Some(&4), None, 3..3));
    }

    #[test]
    fn pairs_are_in_the_order_of_the_first() {
        let address = |n: u32| Ipv4Addr::from_bits(n);
        let mut table = Table::new();
        for (a, b) in [(5, u32::MAX), (6, 0), (6, 7), (6, u32::MAX), (7, 0)] {
            table.put(Pair::new(address(a), address(b)), (), at(1));
        }
        let pairs = &table.keys()[table.range_of(address(6))];
        let seconds: Vec<u32> = pairs.iter().map(|pair| pair.second().to_bits()).collect();
        assert_eq!(seconds, [0, 7, u32::MAX]);
        assert!(pairs.iter().all(|pair| pair.first() == address(6)));
    }
}
