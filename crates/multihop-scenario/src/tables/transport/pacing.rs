//! Keys of adaptive pacing.

use multihop_transport::pacing::{Cov, KMean};

use crate::read::table;
use crate::values::{Weight, Whole, words};

table! {
    /// Parameters of adaptive pacing.
    PacingTable {
        /// Weight of the past in the average time that data takes over reuse_hops hops; 0.7 if not
        /// given.
        alpha: Option<Weight>,
        /// Round trips over which their variation is taken; 50 if not given.
        history: Option<Whole<1, 10_000>>,
        /// A segment leaves when the one before it should be so many hops away, or at its
        /// destination; 4 if not given.
        reuse_hops: Option<Whole<1, 64>>,
        /// Variation of round trips: their standard deviation (which holds if nothing is given), or
        /// their mean absolute deviation.
        cov: Option<CovWord>,
        /// Factor on each round trip in the deviation (K in Equation 3 of the TPA paper); 1 if not
        /// given.
        pacing_k: Option<Whole<1, 100>>,
        /// Whether pacing_k leaves the mean as it is, as the equation is printed (which holds if
        /// nothing is given), or scales it too, so that the variation is pacing_k times as large.
        pacing_k_mean: Option<KMeanWord>,
    }
}

words! {
    /// How the variation of round trips is measured.
    CovWord(Cov) {
        "std" => Cov::Std,
        "mad" => Cov::Mad,
    }

    /// What pacing_k does to the mean.
    KMeanWord(KMean) {
        "raw" => KMean::Raw,
        "scaled" => KMean::Scaled,
    }
}
