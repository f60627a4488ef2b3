/// Where a sample lies among those before it: the relative sample density of section 3.2.
///
/// DEVIATION adtcp-1: the range [0, R] of the histogram follows the bulk of the data. It doubles as soon as
/// one of its end bins holds more than a quarter of the weight, and halves when its outer half holds
/// less than an eighth, at least S samples after the last change. Samples beyond it count in the end
/// bin. So it follows the bulk of the samples, not the largest: one packet that waited for seconds
/// in a routing buffer would else leave all others in one bin, where none is high. An end bin holds
/// less than the 30% within which it would matter how far beyond a sample lies.
#[derive(Clone, Debug)]
pub(super) struct Density {
    weights: [f64; BINS],
    total: f64,
    /// The weight that all samples together keep, S.
    size: f64,
    range: f64,
    /// Samples since it changed.
    settled: f64,
    least_range: f64,
    origin: Origin,
}

/// Which value the range grows from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// It lies at the lower end.
    Zero,
    /// It lies in the middle. Differences of delays are around zero, whatever the delay.
    Centre,
}

/// What a sample is, compared with those before it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Level {
    /// Among the lowest 30%.
    Low,
    /// Neither, or too few samples to tell.
    #[default]
    Middle,
    /// Among the highest 30%.
    High,
}

impl Density {
    /// An empty history that will hold `size` samples. Bins are never narrower than an eighth of
    /// `least_range`.
    pub(super) fn new(size: u16, least_range: f64, origin: Origin) -> Self {
        Self {
            weights: [0.0; BINS],
            total: 0.0,
            size: f64::from(size.max(1)),
            range: least_range,
            settled: 0.0,
            least_range,
            origin,
        }
    }

    /// Takes a sample, and says where it lies.
    pub(super) fn insert(&mut self, sample: f64) -> Level {
        let bin = self.bin(sample);
        self.weights[bin] += 1.0;
        self.total += 1.0;
        let level = self.level(bin);
        self.forget();
        self.fit_range();
        level
    }

    /// Whether there are samples enough to compare with.
    pub(super) fn is_full(&self) -> bool {
        self.total >= self.size
    }

    fn level(&self, bin: usize) -> Level {
        if !self.is_full() {
            return Level::Middle;
        }
        let below: f64 = self.weights[..bin].iter().sum();
        let above: f64 = self.weights[bin + 1..].iter().sum();
        // The paper's RSD(x) is the share below x's bin.
        // DEVIATION adtcp-2: for LOW the share above it counts, and not RSD(x) again, by which the
        // most frequent value of a metric that rarely changes would be low.
        if below >= BULK * self.total {
            Level::High
        } else if above >= BULK * self.total {
            Level::Low
        } else {
            Level::Middle
        }
    }

    /// One sample's weight is taken off in proportion, so that the total stays S.
    fn forget(&mut self) {
        if self.total > self.size {
            let kept = self.size / self.total;
            self.weights.iter_mut().for_each(|weight| *weight *= kept);
            self.total = self.size;
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the bins")]
    fn bin(&self, sample: f64) -> usize {
        let width = self.range / BINS as f64;
        let place = sample / width + self.origin.bin() as f64;
        place.clamp(0.0, (BINS - 1) as f64) as usize
    }

    fn fit_range(&mut self) {
        self.settled += 1.0;
        let lower_end = if self.origin == Origin::Centre { self.weights[0] } else { 0.0 };
        if self.weights[BINS - 1].max(lower_end) > GROW * self.total {
            self.double();
        } else if self.settled >= self.size
            && self.range > self.least_range
            && self.outer() < SHRINK * self.total
        {
            self.halve();
        }
    }

    /// The weight outside the half of the bins around the origin.
    fn outer(&self) -> f64 {
        let kept = self.origin.half();
        self.weights[..kept].iter().chain(&self.weights[kept + BINS / 2..]).sum()
    }

    fn double(&mut self) {
        let mut wider = [0.0; BINS];
        let (pairs, _) = self.weights.as_chunks::<2>();
        for (bin, [left, right]) in wider[self.origin.half()..].iter_mut().zip(pairs) {
            *bin = left + right;
        }
        self.weights = wider;
        self.range *= 2.0;
        self.settled = 0.0;
    }

    fn halve(&mut self) {
        let from = self.origin.half();
        let to = from + BINS / 2;
        let mut narrower = [0.0; BINS];
        for (i, &weight) in self.weights[from..to].iter().enumerate() {
            narrower[2 * i] = weight / 2.0;
            narrower[2 * i + 1] = weight / 2.0;
        }
        narrower[0] += self.weights[..from].iter().sum::<f64>();
        narrower[BINS - 1] += self.weights[to..].iter().sum::<f64>();
        self.weights = narrower;
        self.range /= 2.0;
        self.settled = 0.0;
    }
}

impl Origin {
    /// The bin that begins at zero.
    const fn bin(self) -> usize {
        match self {
            Self::Zero => 0,
            Self::Centre => BINS / 2,
        }
    }

    /// The first bin of the half that stays when the range halves.
    const fn half(self) -> usize {
        self.bin() / 2
    }
}

/// N, section 4.1.
const BINS: usize = 8;
/// Section 3.1.1: HIGH and LOW are the top and bottom 30%.
const BULK: f64 = 0.7;
const GROW: f64 = 0.25;
const SHRINK: f64 = 0.125;

#[cfg(test)]
mod tests;
