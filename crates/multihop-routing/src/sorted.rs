//! A map in two sorted vectors.

use alloc::vec::Vec;

/// A map in ascending order of its keys, for some dozens of entries that are often looked up and seldom added.
///
/// Keys are adjacent: a search among 30 addresses accesses two cache lines, and the value a third one. The
/// nodes of a `BTreeMap` are partly empty, and a search accesses about twice as many lines. An insertion
/// moves all later entries.
#[derive(Clone, Debug)]
pub(crate) struct SortedMap<K, V> {
    keys: Vec<K>,
    /// The value of each key, in the order of `keys`.
    values: Vec<V>,
}

impl<K: Copy + Ord, V> SortedMap<K, V> {
    /// Creates a map without entries, which uses no heap memory.
    pub(crate) const fn new() -> Self {
        Self { keys: Vec::new(), values: Vec::new() }
    }

    /// Number of entries, each with a key of its own.
    pub(crate) const fn len(&self) -> usize {
        self.keys.len()
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.keys.binary_search(&key).ok().map(|place| &self.values[place])
    }

    /// Mutable access to the value of a key.
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.keys.binary_search(&key).ok().map(|place| &mut self.values[place])
    }

    /// The value of a key; inserts `missing` if the map has none.
    pub(crate) fn get_or_insert(&mut self, key: K, missing: V) -> &mut V {
        let place = self.keys.binary_search(&key).unwrap_or_else(|place| {
            self.reserve_one();
            self.keys.insert(place, key);
            self.values.insert(place, missing);
            place
        });
        &mut self.values[place]
    }

    /// Keys and values in ascending order of keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.keys.iter().copied().zip(&self.values)
    }

    /// Keys and mutable values in ascending order of keys.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut V)> {
        self.keys.iter().copied().zip(&mut self.values)
    }

    /// Values in ascending order of their keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter()
    }

    /// Removes every entry whose value `keeps` rejects.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&V) -> bool) {
        let mut values = self.values.iter();
        self.keys.retain(|_| keeps(values.next().expect("a value for each key")));
        self.values.retain(keeps);
    }

    /// Grows the capacity by a quarter. Each node of a network has such a map, and doubling would leave up to
    /// half of it empty.
    fn reserve_one(&mut self) {
        if self.keys.len() == self.keys.capacity() {
            let more = 4 + self.keys.len() / 4;
            self.keys.reserve_exact(more);
            self.values.reserve_exact(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_sorted_map_has_the_entries_of_a_tree(entries in vec((0..40_u32, 0..100_u32), 0..80)) {
            let (mut map, mut tree) = (SortedMap::new(), BTreeMap::new());
            for (key, value) in entries {
                prop_assert_eq!(map.get_or_insert(key, value), tree.entry(key).or_insert(value));
                if let (Some(ours), Some(theirs)) = (map.get_mut(key / 2), tree.get_mut(&(key / 2))) {
                    (*ours, *theirs) = (*ours + value, *theirs + value);
                }
                if value < 5 {
                    map.retain(|kept| kept % 3 != value % 3);
                    tree.retain(|_, kept| *kept % 3 != value % 3);
                }
                prop_assert_eq!(map.len(), tree.len());
                prop_assert!(map.iter().eq(tree.iter().map(|(&key, value)| (key, value))));
                prop_assert!(map.values().eq(tree.values()));
                prop_assert_eq!(map.get(value), tree.get(&value));
            }
        }
    }
}
