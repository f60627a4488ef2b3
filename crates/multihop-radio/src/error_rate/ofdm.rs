//! Error rates of OFDM: the constellation decides how often a coded bit is wrong, the convolutional code how often that
//! leaves an error behind.
//!
//! The decoder is a Viterbi decoder with hard decisions for the code of constraint length 7 of IEEE 802.11-2007
//! §17.3.5.5, punctured to rates of 2/3, 3/4 and 5/6.

use super::ErrorModel;

/// A constellation with a code.
#[derive(Clone, Copy)]
pub(crate) struct Coded {
    pub(crate) constellation: Constellation,
    pub(crate) code: &'static Code,
    /// Ratio of symbol energy to noise density on one subcarrier at a SINR of 1: channel width times symbol
    /// time, divided by the number of data subcarriers. Guard interval and pilots are included.
    pub(crate) spread: f64,
}

/// Constellation of a subcarrier's symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constellation {
    /// Binary phase shift keying: one bit per subcarrier, with this number of data subcarriers.
    Bpsk(f64),
    /// A square of 4, 16, 64 or 256 points.
    Square(f64),
}

/// Distance spectrum of a convolutional code: numbers of wrong sequences, by their distance in coded bits
/// from the right sequence.
pub(crate) struct Code {
    /// Information bits per period of the puncturing pattern.
    pub(crate) period: f64,
    /// Smallest number of coded bits in which a wrong sequence differs from the right one (free distance).
    pub(crate) free_distance: u32,
    /// Numbers of wrong information bits in all sequences at the free distance, and at each following
    /// distance in steps of `step`.
    pub(crate) wrong_bits: &'static [f64],
    /// Difference between successive distances of the spectrum: 2 for the code of rate 1/2, which has no odd
    /// distances, otherwise 1.
    pub(crate) step: u32,
    /// Numbers of sequences at the two smallest distances.
    pub(crate) sequences: [f64; 2],
}

// The spectra are published by D. Haccoun and G. Begin, IEEE Trans. Commun. 37(11), 1989, and P. Frenger et al., IEEE
// Commun. Lett. 3(11), 1999; a test counts them again in the trellis.
pub(crate) static HALF: Code = Code {
    period: 1.0,
    free_distance: 10,
    wrong_bits: &[
        36.0,
        211.0,
        1_404.0,
        11_633.0,
        77_433.0,
        502_690.0,
        3_322_763.0,
        21_292_910.0,
        134_365_911.0,
    ],
    step: 2,
    sequences: [11.0, 0.0],
};

pub(crate) static TWO_THIRDS: Code = Code {
    period: 2.0,
    free_distance: 6,
    wrong_bits: &[
        3.0,
        70.0,
        285.0,
        1_276.0,
        6_160.0,
        27_128.0,
        117_019.0,
        498_860.0,
        2_103_891.0,
        8_784_123.0,
    ],
    step: 1,
    sequences: [1.0, 16.0],
};

pub(crate) static THREE_QUARTERS: Code = Code {
    period: 3.0,
    free_distance: 5,
    wrong_bits: &[
        42.0,
        201.0,
        1_492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
    step: 1,
    sequences: [8.0, 31.0],
};

pub(crate) static FIVE_SIXTHS: Code = Code {
    period: 5.0,
    free_distance: 4,
    wrong_bits: &[
        92.0,
        528.0,
        8_694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
    step: 1,
    sequences: [14.0, 69.0],
};

impl Coded {
    /// Linear SINR above which errors are too rare to matter.
    #[inline]
    pub(crate) fn safe_above(&self) -> f64 {
        NEVER / self.constellation.exponent(1.0)
    }

    /// Probability that all `bits` are received without error at a linear SINR.
    pub(crate) fn success(&self, model: ErrorModel, sinr: f64, bits: f64) -> f64 {
        if self.constellation.exponent(sinr) > NEVER {
            return 1.0;
        }
        self.success_near_noise(model, sinr, bits)
    }

    fn success_near_noise(&self, model: ErrorModel, sinr: f64, bits: f64) -> f64 {
        let error = match model {
            ErrorModel::Nist => self.code.bit_error(self.constellation.bit_error(sinr)),
            ErrorModel::Yans => {
                self.code.first_error(self.constellation.bit_error_of_axes(self.spread * sinr))
            }
        };
        libm::pow(1.0 - error, bits)
    }
}

/// Exponent beyond which an error probability is too small to change a success probability in double precision.
const NEVER: f64 = 25.0;

impl Constellation {
    /// The squared argument of erfc: half the distance of neighbouring points, divided by the standard
    /// deviation of the noise.
    #[inline]
    fn exponent(self, sinr: f64) -> f64 {
        match self {
            Self::Bpsk(subcarriers) => subcarriers * sinr,
            Self::Square(points) => 1.5 * sinr / (points - 1.0),
        }
    }

    /// Probability that a coded bit is wrong, with Gray mapping and errors to neighbouring points only.
    fn bit_error(self, sinr: f64) -> f64 {
        let beyond = libm::erfc(self.exponent(sinr).sqrt());
        let Self::Square(points) = self else { return beyond / 2.0 };
        let side = points.sqrt();
        (1.0 - 1.0 / side) * beyond / libm::log2(side)
    }

    /// Exact bit error rate of a Gray-coded constellation: half the probability that one of a point's two
    /// coordinates is wrong, divided by the bits per coordinate.
    fn bit_error_of_axes(self, energy: f64) -> f64 {
        let beyond = libm::erfc(self.exponent(energy).sqrt());
        let Self::Square(points) = self else { return beyond / 2.0 };
        let axis = (1.0 - 1.0 / points.sqrt()) * beyond;
        (1.0 - (1.0 - axis) * (1.0 - axis)) / libm::log2(points)
    }
}

impl Code {
    /// Upper bound of the chance that a decoded bit is wrong, where a sequence at distance d wins with a probability of
    /// at most D^d / 2 and D^2 = 4 p (1 - p) (Chernoff's bound).
    fn bit_error(&self, coded_bit_error: f64) -> f64 {
        let squared = 4.0 * coded_bit_error * (1.0 - coded_bit_error);
        let base = if self.step == 2 { squared } else { squared.sqrt() };
        let series = self.wrong_bits.iter().rev().fold(0.0, |sum, weight| sum * base + weight);
        let nearest = power(squared, self.free_distance / 2)
            * if self.free_distance % 2 == 1 { squared.sqrt() } else { 1.0 };
        (nearest * series / (2.0 * self.period)).min(1.0)
    }

    /// Upper bound of the probability that a wrong sequence begins at a given bit, from the two smallest
    /// distances.
    fn first_error(&self, coded_bit_error: f64) -> f64 {
        let [nearest, next] = self.sequences;
        let wins = |distance| sequence_wins(coded_bit_error, distance);
        (nearest * wins(self.free_distance) + next * wins(self.free_distance + 1)).min(1.0)
    }
}

/// Probability that a wrong sequence is chosen: at least half of the `distance` differing coded bits are
/// wrong. If exactly half are wrong, each sequence wins with probability 1/2.
fn sequence_wins(p: f64, distance: u32) -> f64 {
    let mut binomial = 1.0;
    let mut sum = 0.0;
    for wrong in 0..=distance {
        let term = binomial * power(p, wrong) * power(1.0 - p, distance - wrong);
        if 2 * wrong > distance {
            sum += term;
        } else if 2 * wrong == distance {
            sum += term / 2.0;
        }
        binomial *= f64::from(distance - wrong) / f64::from(wrong + 1);
    }
    sum
}

/// `base` to a small whole power, by multiplications in a fixed order.
fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests;
