use alloc::vec::Vec;

use multihop_core::Instant;

/// Tuples in the order of their keys, each of which may be believed until some moment.
#[derive(Clone, Debug)]
pub(super) struct Table<K, V = ()> {
    rows: Vec<Row<K, V>>,
    /// No row expires earlier. Refreshed rows leave it behind, until it is reached and counted anew.
    due: Instant,
}

#[derive(Clone, Debug)]
pub(super) struct Row<K, V> {
    pub(super) key: K,
    pub(super) value: V,
    pub(super) expires: Instant,
}

impl<K: Copy + Ord, V> Table<K, V> {
    pub(super) const fn new() -> Self {
        Self { rows: Vec::new(), due: Instant::FAR_FUTURE }
    }

    /// When [`expire`](Self::expire) may have something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.rows.is_empty()).then_some(self.due)
    }

    #[cfg(test)]
    pub(super) fn rows(&self) -> &[Row<K, V>] {
        &self.rows
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = K> {
        self.rows.iter().map(|row| row.key)
    }

    pub(super) fn get(&self, key: K) -> Option<&Row<K, V>> {
        self.place(key).ok().map(|at| &self.rows[at])
    }

    /// The rows with these keys.
    pub(super) fn between(&self, first: K, last: K) -> &[Row<K, V>] {
        let (from, to) = self.bounds(first, last);
        &self.rows[from..to]
    }

    /// Adds a row, or replaces that with the same key; says whether there was none.
    pub(super) fn put(&mut self, key: K, value: V, expires: Instant) -> bool {
        self.due = self.due.min(expires);
        let row = Row { key, value, expires };
        match self.place(key) {
            Ok(at) => {
                self.rows[at] = row;
                false
            }
            Err(at) => {
                self.rows.insert(at, row);
                true
            }
        }
    }

    /// Says whether there was such a row.
    pub(super) fn remove(&mut self, key: K) -> bool {
        let place = self.place(key);
        if let Ok(at) = place {
            self.rows.remove(at);
        }
        place.is_ok()
    }

    /// Removes rows with these keys unless they are to be kept; says whether there were any.
    pub(super) fn remove_between(&mut self, first: K, last: K, keep: impl Fn(&V) -> bool) -> bool {
        let (from, to) = self.bounds(first, last);
        let mut kept = from;
        for at in from..to {
            if keep(&self.rows[at].value) {
                self.rows.swap(kept, at);
                kept += 1;
            }
        }
        self.rows.drain(kept..to);
        kept < to
    }

    /// Removes what is not to be believed any more; says whether there was anything.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let before = self.rows.len();
        self.rows.retain(|row| now < row.expires);
        self.due = self.rows.iter().map(|row| row.expires).min().unwrap_or(Instant::FAR_FUTURE);
        self.rows.len() < before
    }

    fn place(&self, key: K) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| row.key.cmp(&key))
    }

    fn bounds(&self, first: K, last: K) -> (usize, usize) {
        let from = self.rows.partition_point(|row| row.key < first);
        let len = self.rows[from..].partition_point(|row| row.key <= last);
        (from, from + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn rows_leave_exactly_when_they_expire() {
        let mut table = Table::new();
        for (key, expires) in [(3, 30), (1, 10), (2, 20)] {
            assert!(table.put(key, (), at(expires)));
        }
        assert!(table.keys().eq([1, 2, 3]));
        assert_eq!(table.due(), Some(at(10)));
        assert!(!table.put(1, (), at(40)));
        assert!(!table.expire(at(19)), "refreshed");
        assert_eq!(table.due(), Some(at(20)));
        assert!(table.expire(at(20)));
        assert!(table.keys().eq([1, 3]));
        assert!(table.expire(at(40)));
        assert_eq!(table.due(), None);
    }

    #[test]
    fn ranges() {
        let mut table = Table::new();
        for key in [(1, 9), (2, 1), (2, 2), (2, 3), (2, 4), (3, 0)] {
            table.put(key, key.1, at(10));
        }
        assert_eq!(table.between((2, 0), (2, 9)).len(), 4);
        assert!(table.remove_between((2, 0), (2, 9), |value| value % 2 == 0));
        assert!(table.keys().eq([(1, 9), (2, 2), (2, 4), (3, 0)]));
        assert!(!table.remove_between((2, 0), (2, 9), |value| value % 2 == 0));
        assert!(table.remove((3, 0)) && !table.remove((3, 0)));
        assert_eq!(table.get((2, 4)).map(|row| row.value), Some(4));
        assert!(table.get((2, 3)).is_none());
    }
}
