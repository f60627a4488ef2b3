//! Sets of message numbers.

use alloc::collections::BTreeMap;

/// A set of numbers, stored as ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// First number of each range, and the number after its last one.
    ranges: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Number of ranges that do not touch.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether the set has a number.
    pub(super) fn contains(&self, number: u64) -> bool {
        self.intersects(number, number + 1)
    }

    /// Whether the set has any number from `start` to `end - 1`.
    pub(super) fn intersects(&self, start: u64, end: u64) -> bool {
        self.ranges.range(..end).next_back().is_some_and(|(_, &last)| last > start)
    }

    /// Whether the set has all numbers from `start` to `end - 1`.
    pub(super) fn covers(&self, start: u64, end: u64) -> bool {
        self.ranges.range(..=start).next_back().is_some_and(|(_, &last)| last >= end)
    }

    /// Adds the numbers from `start` to `end - 1`, none of which the set has.
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        debug_assert!(start < end && !self.intersects(start, end), "a new range");
        let end = self.ranges.remove(&end).unwrap_or(end);
        match self.ranges.range_mut(..start).next_back() {
            Some((_, last)) if *last == start => *last = end,
            _ => drop(self.ranges.insert(start, end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut set = Ranges::default();
        for (start, end, len) in [(5, 6, 1), (0, 2, 2), (8, 20, 3), (2, 5, 2), (6, 8, 1)] {
            set.insert(start, end);
            assert_eq!(set.len(), len, "after {start} to {end}");
        }
        assert!(set.contains(0) && set.contains(19) && !set.contains(20));
        assert!(set.intersects(19, 30) && !set.intersects(20, 30));
        assert!(set.covers(0, 20) && set.covers(5, 6) && !set.covers(5, 21) && !set.covers(20, 21));
    }
}
