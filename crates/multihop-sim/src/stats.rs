//! Means and quantiles of a stream of values in constant memory.

use crate::results::Summary;

/// Durations counted in buckets 1% wide, so that the memory for quantiles does not grow with the run.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    count: u64,
    sum: f64,
    /// The lowest bucket with a value. Bucket 0 holds everything up to [`SMALLEST`].
    lowest: usize,
    /// Counts from `lowest` to the highest bucket with a value.
    buckets: Vec<u32>,
}

/// Seconds; quantiles below this are not resolved.
const SMALLEST: f64 = 1e-6;
/// Ratio of a bucket's upper to its lower bound.
const RATIO: f64 = 1.01;

impl Histogram {
    /// Adds a duration.
    pub fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum += seconds;
        let bucket = bucket(seconds);
        self.make_room(bucket);
        let counter = &mut self.buckets[bucket - self.lowest];
        *counter = counter.saturating_add(1);
    }

    /// Extreme values are few, so the capacity is exact.
    fn make_room(&mut self, bucket: usize) {
        if self.buckets.is_empty() {
            self.lowest = bucket;
        }
        if bucket < self.lowest {
            let more = self.lowest - bucket;
            self.buckets.reserve_exact(more);
            self.buckets.splice(..0, std::iter::repeat_n(0, more));
            self.lowest = bucket;
        }
        let len = bucket - self.lowest + 1;
        if len > self.buckets.len() {
            self.buckets.reserve_exact(len - self.buckets.len());
            self.buckets.resize(len, 0);
        }
    }

    /// Mean, median and 95th percentile in ms, the quantiles to within 0.5%; `None` without values.
    pub(crate) fn summary_ms(&self) -> Option<Summary> {
        (self.count > 0).then(|| Summary {
            mean: 1e3 * self.sum / self.count as f64,
            p50: 1e3 * self.quantile(0.50),
            p95: 1e3 * self.quantile(0.95),
        })
    }

    /// The value below which this share of the values is, in ms, to within 0.5%; `None` without values.
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        (self.count > 0).then(|| 1e3 * self.quantile(share))
    }

    fn quantile(&self, share: f64) -> f64 {
        // DEVIATION stats-1: accurate to half the width of a bucket.
        let wanted = share * self.count as f64;
        let mut seen = 0_u64;
        let bucket = self.buckets.iter().position(|&n| {
            seen += u64::from(n);
            seen as f64 >= wanted
        });
        // The middle of the bucket, on the logarithmic scale.
        SMALLEST * libm::pow(RATIO, bucket.map_or(0.0, |at| (self.lowest + at) as f64 - 0.5))
    }
}

/// The times of a flow while they are collected; afterwards only their summary, since a run may have thousands of flows
/// one after another.
#[derive(Clone, Debug)]
pub(crate) enum Times {
    Coming(Histogram),
    Over(Option<Summary>),
}

impl Default for Times {
    fn default() -> Self {
        Self::Coming(Histogram::default())
    }
}

impl Times {
    pub(crate) fn add(&mut self, seconds: f64) {
        match self {
            Self::Coming(histogram) => histogram.add(seconds),
            // From a packet that was held for minutes.
            Self::Over(_) => {}
        }
    }

    /// Ends the collection.
    pub(crate) fn close(&mut self) {
        *self = Self::Over(self.summary_ms());
    }

    /// Whether times are still collected.
    #[cfg(test)]
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self, Self::Coming(_))
    }

    /// See [`Histogram::summary_ms`].
    pub(crate) fn summary_ms(&self) -> Option<Summary> {
        match self {
            Self::Coming(histogram) => histogram.summary_ms(),
            Self::Over(summary) => *summary,
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 3500")]
fn bucket(seconds: f64) -> usize {
    if seconds <= SMALLEST {
        return 0;
    }
    // At most 1e9 s, some 3500 buckets.
    (libm::log(seconds / SMALLEST) / libm::log(RATIO)).ceil().min(3500.0) as usize
}

/// Jain's fairness index; `None` if every share is zero.
pub(crate) fn jain(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum, squares) =
        shares.fold((0_u32, 0.0, 0.0), |(n, sum, squares), x| (n + 1, sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (f64::from(n) * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_accurate_to_half_a_percent() {
        let mut h = Histogram::default();
        assert_eq!(h.summary_ms(), None);
        for n in 1..=1000 {
            h.add(f64::from(n) * 1e-3);
        }
        let s = h.summary_ms().unwrap();
        assert!((s.mean - 500.5).abs() < 1e-9);
        assert!((s.p50 / 500.0 - 1.0).abs() < 0.006, "{s:?}");
        assert!((s.p95 / 950.0 - 1.0).abs() < 0.006, "{s:?}");
    }

    #[test]
    fn the_order_of_values_does_not_matter() {
        let summary = |values: &[f64]| {
            let mut h = Histogram::default();
            values.iter().for_each(|&seconds| h.add(seconds));
            (h.summary_ms().map(|s| (s.p50, s.p95)), h.buckets.len())
        };
        let values = [0.3, 0.002, 0.002, 7.0, 0.3];
        let mut ascending = values;
        ascending.sort_by(f64::total_cmp);
        assert_eq!(summary(&values), summary(&ascending));
        assert_eq!(summary(&[0.5, 0.5]).1, 1);
    }

    #[test]
    fn extreme_values_have_buckets() {
        for seconds in [0.0, 1e-12, 1e9, 1e300] {
            let mut h = Histogram::default();
            h.add(seconds);
            assert!(h.summary_ms().unwrap().p95.is_finite());
        }
    }

    #[test]
    fn closing_keeps_the_summary() {
        let mut times = Times::default();
        times.add(0.25);
        let before = times.summary_ms();
        times.close();
        assert_eq!((before.is_some(), times.summary_ms()), (true, before));
        assert!(!times.is_coming());
    }

    #[test]
    fn jains_index_of_equal_and_single_shares() {
        assert_eq!(jain([2.0, 2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(jain([8.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0, 0.0].into_iter()), None);
    }
}
