//! Error rates of modulations in white noise and interference.

pub(crate) mod dsss;
pub(crate) mod ofdm;

use multihop_core::settings::Field;

use self::dsss::Scheme;
use self::ofdm::Coded;

/// The error curve of a rate.
#[derive(Clone, Copy)]
pub(crate) enum Curve {
    /// Error rates of DSSS and CCK, the modulations of 802.11b.
    Dsss(&'static Scheme),
    /// OFDM with a convolutional code.
    Ofdm(Coded),
}

/// How the errors of OFDM are computed.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum ErrorModel {
    /// A union bound with ten terms of the code's spectrum (Pei and Henderson 2010).
    Nist,
    /// Two terms with exact pairwise probabilities, and the energy of a coded bit (Lacage and Henderson 2006).
    Yans,
}

impl Curve {
    /// Linear SINR above which every success probability is exactly 1.
    #[inline]
    pub(crate) fn safe_above(&self) -> f64 {
        // The margin is far larger than rounding errors.
        const MARGIN: f64 = 1.0 + 1e-9;
        MARGIN
            * match self {
                Self::Dsss(scheme) => scheme.safe_above(),
                Self::Ofdm(coded) => coded.safe_above(),
            }
    }

    /// Probability that all `bits` are received without error at a linear SINR.
    #[inline]
    pub(crate) fn success(&self, model: ErrorModel, sinr: f64, bits: f64) -> f64 {
        match self {
            Self::Dsss(scheme) => scheme.success(sinr, bits),
            Self::Ofdm(coded) => coded.success(model, sinr, bits),
        }
    }
}
