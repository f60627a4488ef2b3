//! The largest of the newest values.

use alloc::collections::VecDeque;

/// The largest value of the last `rounds` rounds. A round has at most one entry, and only entries that no later one
/// exceeds are kept, so that the memory is bounded by the number of rounds.
#[derive(Clone, Debug)]
pub(super) struct Largest {
    rounds: u64,
    /// Candidates for the maximum as (round, value): rounds ascend, and values descend.
    entries: VecDeque<(u64, u64)>,
}

impl Largest {
    pub(super) fn of(rounds: u64) -> Self {
        let capacity = usize::try_from(rounds).unwrap_or(0) + 1;
        Self { rounds, entries: VecDeque::with_capacity(capacity) }
    }

    pub(super) fn add(&mut self, round: u64, value: u64) {
        while self.entries.pop_back_if(|&mut (_, old)| old <= value).is_some() {}
        if self.entries.back().is_none_or(|&(last, _)| last < round) {
            self.entries.push_back((round, value));
        }
        self.forget_before(round);
    }

    /// Drops entries older than the window that ends with `round`, but never the last entry.
    fn forget_before(&mut self, round: u64) {
        while self.entries.len() > 1
            && self.entries.pop_front_if(|&mut (old, _)| old + self.rounds <= round).is_some()
        {}
    }

    pub(super) fn get(&self) -> u64 {
        self.entries.front().map_or(0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_three_rounds() {
        let mut largest = Largest::of(3);
        let seen =
            [(0, 5), (0, 9), (0, 7), (1, 4), (2, 6), (2, 3), (3, 1), (4, 1), (5, 1)].map(|(round, value)| {
                largest.add(round, value);
                largest.get()
            });
        assert_eq!(seen, [5, 9, 9, 9, 9, 9, 6, 6, 1]);
    }

    #[test]
    fn the_only_value_stays() {
        let mut largest = Largest::of(2);
        largest.add(0, 5);
        largest.add(100, 3);
        assert_eq!(largest.get(), 3);
    }
}
