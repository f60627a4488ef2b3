//! How likely bits survive DSSS and CCK demodulation in white noise and interference.
//!
//! Every rate is detected without knowing the carrier's phase: a code word by the magnitude of
//! its correlation, a phase by comparison with the symbol before. So all come down to one formula:
//! the chance that of two correlated signals the wrong one correlates better.

use std::f64::consts::FRAC_1_SQRT_2;

use multihop_core::BitRate;

/// Chance that `bits` at `rate` all arrive, at a linear ratio of signal to interference and noise.
pub fn success(rate: BitRate, sinr: f64, bits: f64) -> f64 {
    let scheme = match rate.0 {
        0..=1_000_000 => &DBPSK,
        1_000_001..=2_000_000 => &DQPSK,
        2_000_001..=5_500_000 => &CCK_5_5,
        _ => &CCK_11,
    };
    let error = scheme.symbol_error(sinr);
    libm::pow(1.0 - error, bits / scheme.bits)
}

/// One of the four modulations.
struct Scheme {
    /// Bits of a symbol.
    bits: f64,
    /// 22 MHz over the symbol rate: energy of a symbol over noise density, at a SINR of 1.
    spreading: f64,
    /// How many wrong code words correlate with the right one, and by how much in magnitude.
    words: &'static [(f64, f64)],
    /// How many neighbouring phases there are, and their correlation over two symbols.
    phases: (f64, f64),
}

impl Scheme {
    /// Union bound over wrong code words and wrong phases.
    fn symbol_error(&self, sinr: f64) -> f64 {
        let energy = self.spreading * sinr;
        let word: f64 = self.words.iter().map(|&(count, rho)| count * mistaken(energy, rho)).sum();
        let (count, rho) = self.phases;
        // Comparing two symbols is telling apart signals two symbols long.
        (word + count * mistaken(2.0 * energy, rho)).min(1.0)
    }
}

/// Chance that white noise makes a signal look more like another one of equal energy, given its
/// energy over noise density and the magnitude of their correlation, neither phase known.
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

/// 22 MHz over the symbol rates of Barker and CCK.
const BARKER: f64 = 22.0;
const CCK: f64 = 16.0;

/// Neighbouring phases of DQPSK.
const QUADRATURE: (f64, f64) = (2.0, FRAC_1_SQRT_2);

const DBPSK: Scheme = Scheme { bits: 1.0, spreading: BARKER, words: &[], phases: (1.0, 0.0) };

const DQPSK: Scheme = Scheme { bits: 2.0, spreading: BARKER, words: &[], phases: QUADRATURE };

// A CCK word is e^(j p1) times a word of the three phases p2, p3, p4. Two such words whose phases
// differ by d2, d3, d4 correlate by the product of (1 + e^(j d)) / 2.
// DEVIATION sinr-1: without a carrier phase; ns-3 detects CCK coherently.
/// d2 and d4 are 0 or pi, d3 is 0: 4 orthogonal words.
const CCK_5_5: Scheme = Scheme { bits: 4.0, spreading: CCK, words: &[(3.0, 0.0)], phases: QUADRATURE };

/// d2, d3, d4 are quarter turns: 64 words, 6 of which differ from the right one by one of them, 12
/// by two, 8 by three, and 37 in half a turn somewhere.
const CCK_11: Scheme = Scheme {
    bits: 8.0,
    spreading: CCK,
    words: &[(6.0, FRAC_1_SQRT_2), (12.0, 0.5), (8.0, FRAC_1_SQRT_2 / 2.0), (37.0, 0.0)],
    phases: QUADRATURE,
};

/// An exponent at which an error no longer changes the last bit of a success probability.
const NEVER: f64 = 38.0;

/// Cosines of the midpoints of 24 equal parts of half a turn.
///
/// The integrand is periodic and smooth, so that this many points leave an error of 1e-5 of the
/// value where it is 1e-14, and far less where it is larger.
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
