//! Error rates of noncoherent detection: DSSS and CCK.
//!
//! The receiver does not know the carrier's phase. It detects a code word by the magnitude of its
//! correlation, and a phase by comparison with the previous symbol. Both error rates follow from one formula:
//! the probability that the wrong one of two correlated signals has the higher correlation.

/// A modulation by code words with differential phase: DSSS or CCK.
pub(crate) struct Scheme {
    /// Number of bits that one symbol carries.
    pub(crate) bits: f64,
    /// Channel width divided by symbol rate, which is the ratio of symbol energy to noise density at a SINR
    /// of 1.
    pub(crate) spreading: f64,
    /// Wrong code words, grouped by the magnitude of their correlation with the transmitted word: number of words and
    /// correlation.
    pub(crate) words: &'static [(f64, f64)],
    /// The number of neighbouring phases, and their correlation over two symbols.
    pub(crate) phases: (f64, f64),
}

impl Scheme {
    /// Linear SINR above which errors are too rare to matter.
    pub(crate) fn safe_above(&self) -> f64 {
        let word = self.words.iter().map(|&(_, rho)| safe_energy(rho)).fold(0.0, f64::max);
        let (_, rho) = self.phases;
        word.max(safe_energy(rho) / 2.0) / self.spreading
    }

    /// Probability that all `bits` are received without error at a linear SINR.
    pub(crate) fn success(&self, sinr: f64, bits: f64) -> f64 {
        libm::pow(1.0 - self.symbol_error(sinr), bits / self.bits)
    }

    /// Symbol error rate: the union bound over wrong code words and wrong phases.
    fn symbol_error(&self, sinr: f64) -> f64 {
        let energy = self.spreading * sinr;
        let word: f64 = self.words.iter().map(|&(count, rho)| count * mistaken(energy, rho)).sum();
        let (count, rho) = self.phases;
        // A phase error confuses signals that are two symbols long.
        (word + count * mistaken(2.0 * energy, rho)).min(1.0)
    }
}

/// Probability that white noise makes a signal correlate better with another signal of equal energy.
/// Arguments are energy / noise density and the magnitude of the correlation of both signals. Both carrier
/// phases are unknown.
///
/// Proakis, Digital Communications, appendix B: `Q1(a, b) - exp(-(a^2 + b^2) / 2) I0(ab) / 2`,
/// here as the integral over half a turn of Simon and Alouini, Digital Communication over Fading
/// Channels, 8.2.
fn mistaken(energy: f64, correlation: f64) -> f64 {
    let spread = (1.0 - correlation * correlation).sqrt();
    let (a2, b2) = (energy / 2.0 * (1.0 - spread), energy / 2.0 * (1.0 + spread));
    let gap = b2.sqrt() - a2.sqrt();
    if gap * gap / 2.0 > NEVER {
        return 0.0;
    }
    if correlation <= 0.0 {
        return libm::exp(-energy / 2.0) / 2.0;
    }
    let ratio = ((1.0 - spread) / (1.0 + spread)).sqrt();
    let sum: f64 = COSINES
        .iter()
        .map(|cosine| {
            let q = 1.0 - 2.0 * ratio * cosine + ratio * ratio;
            libm::exp(-b2 / 2.0 * q) / q
        })
        .sum();
    (1.0 - ratio * ratio) * sum / (2.0 * COSINES.len() as f64)
}

/// Ratio of energy to noise density above which [`mistaken`] returns 0, because its exponent
/// `energy (1 - correlation) / 2` exceeds [`NEVER`].
fn safe_energy(correlation: f64) -> f64 {
    2.0 * NEVER / (1.0 - correlation)
}

/// Exponent beyond which an error probability is too small to change a success probability in double precision.
const NEVER: f64 = 38.0;

/// Cosines of the midpoints of 24 equal parts of half a turn. The integrand is periodic and smooth, so that
/// 24 points suffice: the relative error is 1e-5 where the value is 1e-14, and far smaller for larger values.
const COSINES: [f64; 24] = {
    // cos(pi / 48), cos(3 pi / 48), and cos(pi / 24) for the step.
    let mut cosines = [0.997_858_923_238_603_5; 24];
    cosines[1] = 0.980_785_280_403_230_4;
    let mut i = 2;
    while i < cosines.len() {
        cosines[i] = 2.0 * 0.991_444_861_373_810_4 * cosines[i - 1] - cosines[i - 2];
        i += 1;
    }
    cosines
};

#[cfg(test)]
mod tests;
