//! The smallest of the newest samples.

use multihop_core::{Duration, Instant};

/// The minimum over the last one to two periods.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lowest<T> {
    period: Duration,
    began: Option<Instant>,
    now: Option<T>,
    before: Option<T>,
}

impl<T: Copy + Ord> Lowest<T> {
    pub(super) const fn new(period: Duration) -> Self {
        Self { period, began: None, now: None, before: None }
    }

    pub(super) fn add(&mut self, now: Instant, sample: T) {
        let began = *self.began.get_or_insert(now);
        let age = now.saturating_since(began);
        if age >= self.period {
            self.before = self.now.take().filter(|_| age < self.period.saturating_mul(2));
            self.began = Some(now);
        }
        self.now = Some(self.now.map_or(sample, |lowest| lowest.min(sample)));
    }

    #[inline]
    pub(super) fn get(&self) -> Option<T> {
        self.now.into_iter().chain(self.before).min()
    }

    /// Forgets all samples and begins a new period.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.period);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimum_is_forgotten_after_at_most_two_periods() {
        let mut lowest = Lowest::new(Duration::from_secs(5));
        let mut at = |second: u64, sample: u32| {
            lowest.add(Instant::ZERO + Duration::from_secs(second), sample);
            lowest.get()
        };
        assert_eq!(at(0, 3), Some(3));
        assert_eq!(at(4, 7), Some(3));
        assert_eq!(at(6, 8), Some(3), "of the period before");
        assert_eq!(at(11, 9), Some(8));
        assert_eq!(at(30, 20), Some(20), "nothing of a time long ago");
    }
}
