use alloc::format;

use multihop_core::settings::{Settings, Visitor};

/// The rank of a sample among earlier ones: the relative sample density of section 3.2.
///
/// The range [0, R] of the histogram follows the bulk of the data. It doubles as soon as
/// one of its end bins holds more than a quarter of the weight, and halves when its outer half holds less
/// than an eighth, at least S samples after the last change. Samples beyond it count in the end bin.
/// Without this, one packet that waited for seconds in a routing buffer would put all others into one bin,
/// where none is high. An end bin holds less than 30% of the weight, so it does not matter how far beyond
/// the range a sample lies. If HIGH and LOW are other shares, both limits change in proportion.
// DEVIATION adtcp-1: The range [0, R] of a histogram, which ADTCP (3.2) leaves open, follows the samples. With a
// fixed range, one delayed packet puts all other samples into one bin.
#[derive(Clone, Debug)]
pub(super) struct Density {
    /// Weight of the samples in each bin; only the first `bins` are in use.
    weights: [f64; MAX_BINS],
    bins: usize,
    /// Share of the weight that makes a sample extreme. A sample is high if this share lies below its bin,
    /// and low if this share lies above it.
    high: f64,
    low: f64,
    /// Largest share of the weight that an end bin may contain.
    end: f64,
    total: f64,
    /// Total weight of all samples (S of the paper).
    size: f64,
    range: f64,
    /// Number of samples since the range changed.
    settled: f64,
    least_range: f64,
    origin: Origin,
}

/// The size of a history, and which samples count as high or low.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct DensityConfig {
    /// Number of earlier samples with which adtcp compares a new one; before that it identifies nothing.
    ///
    /// The total weight of the samples, S.
    #[key(1..=10_000)]
    pub samples: u16,
    /// Number of bins of the histogram in which adtcp ranks a sample (N): a multiple of 4.
    #[key(4..=32)]
    pub bins: u8,
    /// Share of the samples that adtcp counts as high.
    ///
    /// In thousandths.
    #[key(0.05..=0.5, thousandths)]
    pub high: u16,
    /// Share of the samples that adtcp counts as low.
    ///
    /// In thousandths.
    #[key(0.05..=0.5, thousandths)]
    pub low: u16,
}

impl DensityConfig {
    fn check(&self, keys: &mut dyn Visitor) {
        if !self.bins.is_multiple_of(4) {
            keys.refuse("bins", format!("found {}, allowed: a multiple of 4", self.bins));
        }
    }
}

/// Position of zero in the range of the histogram, which stays fixed while the range grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// Zero is at the lower end of the range.
    Zero,
    /// Zero is in the middle of the range, because differences of delays are distributed around zero.
    Centre,
}

/// Rank of a sample among earlier samples.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Level {
    /// The sample is among the lowest, by default 30%.
    Low,
    /// The sample is neither high nor low, or there are too few samples.
    #[default]
    Middle,
    /// The sample is among the highest, by default 30%.
    High,
}

impl Density {
    /// Creates a history without samples. Its range is never less than `least_range`.
    pub(super) fn new(config: &DensityConfig, least_range: f64, origin: Origin) -> Self {
        let rest = |share: u16| f64::from(1000 - share.min(1000)) / 1000.0;
        Self {
            weights: [0.0; MAX_BINS],
            bins: usize::from(config.bins).clamp(4, MAX_BINS) / 4 * 4,
            high: rest(config.high),
            low: rest(config.low),
            end: f64::from(5 * u32::from(config.high.min(config.low))) / 6000.0,
            total: 0.0,
            size: f64::from(config.samples.max(1)),
            range: least_range,
            settled: 0.0,
            least_range,
            origin,
        }
    }

    /// Inserts a sample into the histogram; returns the sample's rank.
    pub(super) fn insert(&mut self, sample: f64) -> Level {
        let bin = self.bin(sample);
        self.weights[bin] += 1.0;
        self.total += 1.0;
        let level = self.level(bin);
        self.forget();
        self.fit_range();
        level
    }

    /// Whether there are enough samples for a comparison.
    pub(super) fn is_full(&self) -> bool {
        self.total >= self.size
    }

    fn level(&self, bin: usize) -> Level {
        if !self.is_full() {
            return Level::Middle;
        }
        let below: f64 = self.weights[..bin].iter().sum();
        let above: f64 = self.weights[bin + 1..self.bins].iter().sum();
        // The paper's RSD(x) is the share below x's bin.
        // DEVIATION adtcp-2: A value is LOW or HIGH if 70% of the weight is in higher or lower bins. In ADTCP (3.1,
        // 3.2) LOW is the bottom 30%, by which the usual value could be LOW.
        if below >= self.high * self.total {
            Level::High
        } else if above >= self.low * self.total {
            Level::Low
        } else {
            Level::Middle
        }
    }

    /// Removes the weight of one sample, in proportion from all bins, so that the total remains S.
    fn forget(&mut self) {
        if self.total > self.size {
            let kept = self.size / self.total;
            self.weights.iter_mut().for_each(|weight| *weight *= kept);
            self.total = self.size;
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the bins")]
    fn bin(&self, sample: f64) -> usize {
        let width = self.range / self.bins as f64;
        let place = sample / width + self.zero() as f64;
        place.clamp(0.0, (self.bins - 1) as f64) as usize
    }

    fn fit_range(&mut self) {
        self.settled += 1.0;
        let lower_end = if self.origin == Origin::Centre { self.weights[0] } else { 0.0 };
        let limit = self.end * self.total;
        if self.weights[self.bins - 1].max(lower_end) > limit {
            self.double();
        } else if self.settled >= self.size && self.range > self.least_range && self.outer() < limit / 2.0 {
            self.halve();
        }
    }

    /// Weight of the bins in the outer half, which would not be kept if the range were halved.
    fn outer(&self) -> f64 {
        let kept = self.zero() / 2;
        self.weights[..kept].iter().chain(&self.weights[kept + self.bins / 2..self.bins]).sum()
    }

    fn double(&mut self) {
        let mut wider = [0.0; MAX_BINS];
        let (pairs, _) = self.weights[..self.bins].as_chunks::<2>();
        for (bin, [left, right]) in wider[self.zero() / 2..].iter_mut().zip(pairs) {
            *bin = left + right;
        }
        self.weights = wider;
        self.range *= 2.0;
        self.settled = 0.0;
    }

    fn halve(&mut self) {
        let from = self.zero() / 2;
        let to = from + self.bins / 2;
        let mut narrower = [0.0; MAX_BINS];
        for (i, &weight) in self.weights[from..to].iter().enumerate() {
            narrower[2 * i] = weight / 2.0;
            narrower[2 * i + 1] = weight / 2.0;
        }
        narrower[0] += self.weights[..from].iter().sum::<f64>();
        narrower[self.bins - 1] += self.weights[to..self.bins].iter().sum::<f64>();
        self.weights = narrower;
        self.range /= 2.0;
        self.settled = 0.0;
    }

    /// Index of the bin that begins at zero. Half of it is the index of the first bin that remains when the
    /// range halves.
    const fn zero(&self) -> usize {
        match self.origin {
            Origin::Zero => 0,
            Origin::Centre => self.bins / 2,
        }
    }
}

/// Largest number of bins: a few hundred samples cannot fill more.
const MAX_BINS: usize = 32;

#[cfg(test)]
mod tests;
