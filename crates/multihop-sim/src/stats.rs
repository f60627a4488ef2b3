//! Means and quantiles of a stream of values in constant memory.

use multihop_core::Duration;

use crate::results::Summary;

/// Durations counted in buckets 1% wide, so that the memory for quantiles does not grow with the run.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    count: u64,
    sum: f64,
    /// Index of the first bucket in use, a multiple of [`CHUNK`]. Bucket 0 counts all values up to
    /// [`SMALLEST`].
    lowest: usize,
    /// Counts of the buckets from `lowest` on, up to the end of the chunk with the highest value.
    buckets: Vec<u32>,
}

/// Smallest quantile that is resolved, s.
const SMALLEST: f64 = 1e-6;
/// Ratio of a bucket's upper to its lower bound.
const RATIO: f64 = 1.01;
/// Number of buckets that are allocated at a time. Allocating them one by one costs more than counting if
/// values drift.
const CHUNK: usize = 32;

impl Histogram {
    /// Counts one more duration in its bucket.
    #[inline]
    pub fn add(&mut self, duration: Duration) {
        self.count += 1;
        self.sum += duration.as_secs_f64();
        let bucket = bucket(duration);
        if bucket.wrapping_sub(self.lowest) >= self.buckets.len() {
            self.make_room(bucket);
        }
        let counter = &mut self.buckets[bucket - self.lowest];
        *counter = counter.saturating_add(1);
    }

    /// Adds the durations of another histogram.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Some(last) = other.buckets.len().checked_sub(1) else { return };
        self.count += other.count;
        self.sum += other.sum;
        self.make_room(other.lowest);
        self.make_room(other.lowest + last);
        let counters = &mut self.buckets[other.lowest - self.lowest..];
        for (counter, more) in counters.iter_mut().zip(&other.buckets) {
            *counter = counter.saturating_add(*more);
        }
    }

    /// Allocates counters up to a bucket. Extreme values are rare, so the capacity is exact.
    #[cold]
    fn make_room(&mut self, bucket: usize) {
        let first = bucket / CHUNK * CHUNK;
        if self.buckets.is_empty() {
            self.lowest = first;
        }
        if first < self.lowest {
            let more = self.lowest - first;
            self.buckets.reserve_exact(more);
            self.buckets.splice(..0, std::iter::repeat_n(0, more));
            self.lowest = first;
        }
        let len = first + CHUNK - self.lowest;
        if len > self.buckets.len() {
            self.buckets.reserve_exact(len - self.buckets.len());
            self.buckets.resize(len, 0);
        }
    }

    /// Mean, median, 95th and 99th percentile in ms, the quantiles to within 0.5%; `None` without values.
    pub(crate) fn summary_ms(&self) -> Option<Summary> {
        (self.count > 0).then(|| Summary {
            mean: 1e3 * self.sum / self.count as f64,
            p50: 1e3 * self.quantile(0.50),
            p95: 1e3 * self.quantile(0.95),
            p99: Some(1e3 * self.quantile(0.99)),
        })
    }

    /// Quantile in ms, to within 0.5%: the value below which this share of the values lies. `None` without
    /// values.
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        (self.count > 0).then(|| 1e3 * self.quantile(share))
    }

    fn quantile(&self, share: f64) -> f64 {
        // DEVIATION stats-1: Quantiles come from a histogram with buckets of 1%, not from all values. Errors are up
        // to 0.5%.
        let wanted = share * self.count as f64;
        let mut seen = 0_u64;
        let bucket = self.buckets.iter().position(|&n| {
            seen += u64::from(n);
            seen > 0 && seen as f64 >= wanted
        });
        // The result is the middle of the bucket on the logarithmic scale.
        SMALLEST * libm::pow(RATIO, bucket.map_or(0.0, |at| (self.lowest + at) as f64 - 0.5))
    }
}

/// The times of a flow during their collection, and afterwards only their summary, because a run may have
/// thousands of successive flows.
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
    pub(crate) fn add(&mut self, time: Duration) {
        match self {
            Self::Coming(histogram) => histogram.add(time),
            // A packet that was delayed for minutes may arrive after the end of the collection.
            Self::Over(_) => {}
        }
    }

    /// Ends the collection of a flow's delays, and adds them to the histogram of all flows. Does nothing if
    /// the collection had ended before.
    pub(crate) fn close(&mut self, all: &mut Histogram) {
        if let Self::Coming(histogram) = self {
            all.merge(histogram);
            *self = Self::Over(histogram.summary_ms());
        }
    }

    /// Histogram of the times during the collection; `None` after the flow's end.
    pub(crate) fn coming(&self) -> Option<&Histogram> {
        match self {
            Self::Coming(histogram) => Some(histogram),
            Self::Over(_) => None,
        }
    }

    /// Whether times are still collected.
    #[cfg(test)]
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self, Self::Coming(_))
    }

    /// Summary in milliseconds of the times collected ([`Histogram::summary_ms`]).
    pub(crate) fn summary_ms(&self) -> Option<Summary> {
        match self {
            Self::Coming(histogram) => histogram.summary_ms(),
            Self::Over(summary) => *summary,
        }
    }
}

/// Interarrival jitter (RFC 3550 section 6.4.1): a moving average of the difference between the transit times
/// of successive packets, with weight 1/16 for the latest difference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter {
    /// Transit time of the latest packet.
    transit: Option<Duration>,
    /// Estimate of the jitter at the latest packet's arrival, ns.
    estimate: f64,
    /// Sum of the estimates at all arrivals after the first, ns.
    sum: f64,
    /// Number of arrivals after the first.
    count: u64,
}

impl Jitter {
    /// Adds the transit time of a packet that has arrived.
    #[inline]
    pub(crate) fn add(&mut self, transit: Duration) {
        if let Some(before) = self.transit.replace(transit) {
            // Signed integers convert to floating point in one instruction.
            let difference = transit.as_nanos().wrapping_sub(before.as_nanos()).cast_signed() as f64;
            let difference = difference.abs();
            self.estimate += (difference - self.estimate) / 16.0;
            self.sum += self.estimate;
            self.count += 1;
        }
    }

    /// Adds the estimates of another series of packets.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Mean of the estimates at all arrivals, ms; `None` before the second arrival.
    pub(crate) fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| 1e-6 * self.sum / self.count as f64)
    }
}

/// Delays of successive packets, and their jitter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    histogram: Histogram,
    jitter: Jitter,
}

impl Delays {
    /// Adds the delay of a packet that has arrived.
    #[inline]
    pub(crate) fn add(&mut self, delay: Duration) {
        self.histogram.add(delay);
        self.jitter.add(delay);
    }

    /// Adds the delays of another series of packets.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.jitter.merge(&other.jitter);
    }

    /// Summary of the delays in milliseconds ([`Histogram::summary_ms`]).
    pub(crate) fn summary_ms(&self) -> Option<Summary> {
        self.histogram.summary_ms()
    }

    /// Mean jitter in milliseconds ([`Jitter::mean_ms`]).
    pub(crate) fn jitter_ms(&self) -> Option<f64> {
        self.jitter.mean_ms()
    }
}

/// Index of the bucket of a duration: the first bucket whose upper bound is not below it.
#[inline]
fn bucket(duration: Duration) -> usize {
    let nanos = duration.as_nanos();
    let mut bucket = usize::from(BOUNDS.first[cell(nanos)]);
    while BOUNDS.upper[bucket] < nanos {
        bucket += 1;
    }
    bucket
}

/// Bounds of the buckets of a histogram, which allow a search for a bucket without logarithms.
struct Bounds {
    /// The largest duration of each bucket, ns.
    upper: [u64; LAST_BUCKET + 1],
    /// Bucket of the smallest duration of each cell. A cell has at most three buckets.
    first: [u16; ALL_CELLS],
}

static BOUNDS: Bounds = Bounds::new();

/// Index of the last bucket, which counts all values above about 1e9 s.
const LAST_BUCKET: usize = 3500;
/// Number of cells per power of two.
const CELLS: usize = 64;
/// Number of all cells: the first one contains all values up to [`CELLS`] ns.
const ALL_CELLS: usize = CELLS * (u64::BITS - CELLS.ilog2()) as usize;

/// Index of the cell of a duration. Each power of two is divided into `CELLS` cells of equal width.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 64 x 64 cells")]
fn cell(nanos: u64) -> usize {
    let nanos = nanos.max(CELLS as u64);
    let power = nanos.ilog2() - CELLS.ilog2();
    power as usize * CELLS + (nanos >> power) as usize - CELLS
}

impl Bounds {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    const fn new() -> Self {
        let mut upper = [u64::MAX; LAST_BUCKET + 1];
        let mut bound = 1e3; // SMALLEST, ns
        let mut bucket = 0;
        while bucket < LAST_BUCKET {
            upper[bucket] = bound as u64;
            bound *= RATIO;
            bucket += 1;
        }
        let mut first = [0; ALL_CELLS];
        let (mut cell, mut bucket) = (0, 0_u16);
        while cell < ALL_CELLS {
            let smallest = ((CELLS + cell % CELLS) as u64) << (cell / CELLS);
            while upper[bucket as usize] < smallest {
                bucket += 1;
            }
            first[cell] = bucket;
            cell += 1;
        }
        Self { upper, first }
    }
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
            h.add(Duration::from_millis(n));
        }
        let s = h.summary_ms().unwrap();
        assert!((s.mean - 500.5).abs() < 1e-9);
        assert!((s.p50 / 500.0 - 1.0).abs() < 0.006, "{s:?}");
        assert!((s.p95 / 950.0 - 1.0).abs() < 0.006, "{s:?}");
        assert!((s.p99.unwrap() / 990.0 - 1.0).abs() < 0.006, "{s:?}");
    }

    #[test]
    fn buckets_are_one_percent_wide() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 3500")]
        let by_logarithm = |nanos: u64| {
            let seconds = Duration::from_nanos(nanos).as_secs_f64();
            let buckets = (libm::log(seconds / SMALLEST) / libm::log(RATIO)).ceil();
            if seconds <= SMALLEST { 0 } else { buckets as usize }
        };
        let mut nanos = 1_u64;
        while nanos < 1 << 59 {
            for n in [nanos, nanos + nanos / 3, nanos + nanos / 200] {
                assert_eq!(bucket(Duration::from_nanos(n)), by_logarithm(n), "{n} ns");
            }
            nanos += nanos / 7 + 1;
        }
    }

    #[test]
    fn a_merged_histogram_has_the_values_of_both() {
        let of = |range: core::ops::Range<u64>| {
            let mut h = Histogram::default();
            range.for_each(|n| h.add(Duration::from_micros(n * n)));
            h
        };
        let mut merged = of(300..900);
        merged.merge(&of(10..300));
        merged.merge(&Histogram::default());
        let (whole, merged) = (of(10..900).summary_ms().unwrap(), merged.summary_ms().unwrap());
        assert_eq!((whole.p50, whole.p95, whole.p99), (merged.p50, merged.p95, merged.p99));
        assert!((whole.mean / merged.mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut jitter = Jitter::default();
        assert_eq!(jitter.mean_ms(), None);
        // Transit times of 10, 26, 26 and 18 ms have differences |D| of 16, 0 and 8 ms. J is 16/16 = 1, then
        // 1 - 1/16 = 0.9375, then 0.9375 + (8 - 0.9375)/16 = 1.37890625.
        for (transit, expected) in [(10, 0.0), (26, 1.0), (26, 0.9375), (18, 1.378_906_25)] {
            jitter.add(Duration::from_millis(transit));
            assert!((jitter.estimate * 1e-6 - expected).abs() < 1e-12, "{jitter:?}");
        }
        let mean = (1.0 + 0.9375 + 1.378_906_25) / 3.0;
        assert!((jitter.mean_ms().unwrap() - mean).abs() < 1e-12, "{jitter:?}");
    }

    #[test]
    fn the_order_of_values_does_not_matter() {
        let summary = |values: &[f64]| {
            let mut h = Histogram::default();
            values.iter().for_each(|&seconds| h.add(Duration::from_secs_f64(seconds)));
            (h.summary_ms().map(|s| (s.p50, s.p95)), h.quantile_ms(0.0), h.buckets.len())
        };
        let values = [0.3, 0.002, 0.002, 7.0, 0.3];
        let mut ascending = values;
        ascending.sort_by(f64::total_cmp);
        assert_eq!(summary(&values), summary(&ascending));
        assert_eq!(summary(&[0.5, 0.5]).2, CHUNK);
    }

    #[test]
    fn extreme_values_have_buckets() {
        for duration in
            [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(1_000_000_000), Duration::MAX]
        {
            let mut h = Histogram::default();
            h.add(duration);
            assert!(h.summary_ms().unwrap().p95.is_finite());
        }
    }

    #[test]
    fn closing_keeps_the_summary() {
        let mut times = Times::default();
        times.add(Duration::from_millis(250));
        let before = times.summary_ms();
        let mut all = Histogram::default();
        (0..2).for_each(|_| times.close(&mut all));
        assert_eq!((before.is_some(), times.summary_ms()), (true, before));
        assert_eq!(all.summary_ms(), before, "closed once");
        assert!(!times.is_coming());
    }

    #[test]
    fn jains_index_of_equal_and_single_shares() {
        assert_eq!(jain([2.0, 2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(jain([8.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0, 0.0].into_iter()), None);
    }
}
