use std::f64::consts::PI;

use crate::decibels::from_db;

/// Attenuation over distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLoss {
    /// Free space to the crossover, then d^-4 (two-ray ground).
    TwoRay {
        /// Carrier frequency, Hz.
        frequency: f64,
        /// Height of both antennas, m.
        height: f64,
    },
    /// `reference_db` at 1 m, then 10 n dB a decade.
    LogDistance {
        /// Path-loss exponent n.
        exponent: f64,
        /// Loss at 1 m, dB.
        reference_db: f64,
    },
}

impl PathLoss {
    /// ns-2's radio: the 914 MHz `WaveLAN` card, antennas at 1.5 m.
    pub const NS2: Self = Self::TwoRay { frequency: 914e6, height: 1.5 };

    /// Received / transmitted power at a distance in metres, at most 1.
    ///
    /// Two-ray uses only + - * / and so gives the same bits on every machine.
    pub fn gain(&self, distance: f64) -> f64 {
        let gain = match *self {
            Self::TwoRay { frequency, height } if distance <= crossover(frequency, height) => {
                let ratio = friis(frequency) / distance;
                ratio * ratio
            }
            Self::TwoRay { height, .. } => {
                let ratio = height / distance;
                (ratio * ratio) * (ratio * ratio)
            }
            Self::LogDistance { exponent, reference_db } => {
                from_db(-reference_db) * libm::pow(distance, -exponent)
            }
        };
        gain.min(1.0)
    }

    /// Metres at which [`Self::gain`] has fallen to `gain`.
    pub fn distance(&self, gain: f64) -> f64 {
        match *self {
            Self::TwoRay { frequency, height } => {
                let far = height / gain.sqrt().sqrt();
                if far > crossover(frequency, height) { far } else { friis(frequency) / gain.sqrt() }
            }
            Self::LogDistance { exponent, reference_db } => {
                libm::pow(from_db(-reference_db) / gain, 1.0 / exponent)
            }
        }
    }
}

/// The distance where free space and d^-4 meet, metres.
pub(super) fn crossover(frequency: f64, height: f64) -> f64 {
    height * height / friis(frequency)
}

/// The distance at which Friis' formula gives a gain of 1, metres: wavelength / 4 pi.
fn friis(frequency: f64) -> f64 {
    LIGHT_SPEED / frequency / (4.0 * PI)
}

/// Metres per second, rounded as in ns-2.
pub(crate) const LIGHT_SPEED: f64 = 3e8;
