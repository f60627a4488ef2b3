use std::f64::consts::PI;

use super::environment::Building;
use crate::decibels::from_db;

/// Path loss laws: attenuation over distance, between antennas at the heights of two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLoss {
    /// Two-ray ground: free space up to the crossover distance, then d^-4.
    TwoRay {
        /// Frequency of the carrier, in Hz.
        frequency: f64,
        /// Height of the antennas, m.
        height: f64,
    },
    /// Log-distance: `reference_db` at 1 m, then 10 n dB per decade.
    LogDistance {
        /// Exponent n by which power falls with distance.
        exponent: f64,
        /// Loss at 1 m, dB.
        reference_db: f64,
    },
    /// Inside a building with several floors (ITU-R P.1238).
    Indoor {
        /// Kind of building, which sets the exponent.
        building: Building,
        /// Frequency of the carrier, in Hz.
        frequency: f64,
        /// Height of the antennas above the lowest floor, m.
        height: f64,
        /// Height from one floor to the next, in metres.
        storey: f64,
    },
    /// Along a street between buildings with line of sight (ITU-R P.1411).
    Street {
        /// Frequency of the carrier, in Hz.
        frequency: f64,
        /// Height of the antennas, m.
        height: f64,
    },
}

impl PathLoss {
    /// ns-2's radio: the 914 MHz `WaveLAN` card, antennas at 1.5 m.
    pub const NS2: Self = Self::TwoRay { frequency: NS2_FREQUENCY, height: NS2_HEIGHT };

    /// Ratio of received to transmitted power at a distance in metres, at most 1. The two-ray law uses only +
    /// - * / and so gives the same bits on every machine.
    #[inline]
    pub fn gain(&self, distance: f64) -> f64 {
        self.gain_between(self.heights(), distance)
    }

    /// Gain over `distance` metres between antennas at these heights in metres: the share of the transmitted power that
    /// arrives.
    #[inline]
    pub(super) fn gain_between(&self, heights: [f64; 2], distance: f64) -> f64 {
        let gain = match *self {
            Self::TwoRay { frequency, .. } => return TwoRay::new(frequency, heights).gain(distance),
            Self::LogDistance { exponent, reference_db } => log_distance(exponent, reference_db, distance),
            Self::Indoor { building, frequency, storey, .. } => {
                let [a, b] = heights.map(|height| (height / storey).floor());
                let floors = building.floors_db((a - b).abs());
                log_distance(
                    building.exponent(frequency),
                    building.reference_db(frequency) + floors,
                    distance,
                )
            }
            Self::Street { frequency, .. } => Street::new(frequency, heights).gain(distance),
        };
        gain.min(1.0)
    }

    /// Default heights of two antennas, metres.
    #[inline]
    pub(super) fn heights(&self) -> [f64; 2] {
        match *self {
            Self::TwoRay { height, .. } | Self::Indoor { height, .. } | Self::Street { height, .. } => {
                [height; 2]
            }
            Self::LogDistance { .. } => [0.0; 2],
        }
    }

    /// Distance in metres at which [`Self::gain`] falls to `gain`.
    pub fn distance(&self, gain: f64) -> f64 {
        self.distance_between(self.heights(), gain)
    }

    /// Distance in metres at which the gain between antennas at these heights falls to `gain`.
    pub(super) fn distance_between(&self, heights: [f64; 2], gain: f64) -> f64 {
        match *self {
            Self::TwoRay { frequency, .. } => {
                let far = (heights[0] * heights[1]).sqrt() / gain.sqrt().sqrt();
                if far > crossover(frequency, heights) { far } else { friis(frequency) / gain.sqrt() }
            }
            Self::LogDistance { exponent, reference_db } => {
                libm::pow(from_db(-reference_db) / gain, 1.0 / exponent)
            }
            Self::Indoor { building, frequency, .. } => {
                let at_one_metre = from_db(-building.reference_db(frequency));
                libm::pow(at_one_metre / gain, 1.0 / building.exponent(frequency))
            }
            Self::Street { frequency, .. } => Street::new(frequency, heights).distance(gain),
        }
    }
}

/// Two-ray law between antennas at given heights. All terms that do not depend on the distance are
/// precomputed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TwoRay {
    friis: f64,
    crossover: f64,
    heights: [f64; 2],
}

impl TwoRay {
    /// Two-ray law of ns-2's radio: 914 MHz, antennas at 1.5 m.
    pub(crate) const NS2: Self = Self::new(NS2_FREQUENCY, [NS2_HEIGHT; 2]);

    #[inline]
    pub(super) const fn new(frequency: f64, heights: [f64; 2]) -> Self {
        Self { friis: friis(frequency), crossover: crossover(frequency, heights), heights }
    }

    /// Share of the transmitted power that arrives over `distance` metres.
    #[inline]
    pub(crate) fn gain(&self, distance: f64) -> f64 {
        let gain = if distance <= self.crossover {
            let ratio = self.friis / distance;
            ratio * ratio
        } else {
            let [a, b] = self.heights.map(|height| height / distance);
            (a * a) * (b * b)
        };
        gain.min(1.0)
    }
}

fn log_distance(exponent: f64, reference_db: f64, distance: f64) -> f64 {
    from_db(-reference_db) * libm::pow(distance, -exponent)
}

/// Street path loss: two slopes that meet at the breakpoint.
struct Street {
    breakpoint: f64,
    gain_there: f64,
}

impl Street {
    /// Creates the median loss of ITU-R P.1411-12, section 4.1.2, equations for UHF.
    fn new(frequency: f64, heights: [f64; 2]) -> Self {
        let wavelength = LIGHT_SPEED / frequency;
        let both = heights[0] * heights[1];
        let ratio = wavelength * wavelength / (8.0 * PI * both);
        // The median lies 6 dB below the lower bound of the loss.
        Self { breakpoint: 4.0 * both / wavelength, gain_there: ratio * ratio * MEDIAN }
    }

    fn gain(&self, distance: f64) -> f64 {
        let ratio = self.breakpoint / distance;
        let square = ratio * ratio;
        self.gain_there * if ratio >= 1.0 { square } else { square * square }
    }

    fn distance(&self, gain: f64) -> f64 {
        let square = (gain / self.gain_there).sqrt();
        self.breakpoint / if square >= 1.0 { square } else { square.sqrt() }
    }
}

/// Distance in metres at which the free-space and d^-4 laws meet.
#[inline]
pub(super) const fn crossover(frequency: f64, heights: [f64; 2]) -> f64 {
    heights[0] * heights[1] / friis(frequency)
}

/// Distance in metres at which Friis' formula gives a gain of 1: wavelength / 4 pi.
#[inline]
pub(super) const fn friis(frequency: f64) -> f64 {
    LIGHT_SPEED / frequency / (4.0 * PI)
}

const NS2_FREQUENCY: f64 = 914e6;
const NS2_HEIGHT: f64 = 1.5;
/// Speed of light, m/s, rounded as in ns-2.
pub(crate) const LIGHT_SPEED: f64 = 3e8;

/// Median gain relative to the upper bound of the law: -6 dB, as a ratio of powers.
const MEDIAN: f64 = 0.251_188_643_150_958;
