use multihop_core::{Duration, Instant, Rng};

use crate::normal::normals;

/// Block fading: one draw for each pair of nodes and coherence time, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fading {
    /// None.
    None,
    /// No line of sight.
    Rayleigh {
        /// How long a draw holds.
        coherence: Duration,
    },
    /// A line of sight `k` times as strong (linear) as the rest.
    Rician {
        /// Ratio of line of sight to scattered power, linear.
        k: f64,
        /// How long a draw holds.
        coherence: Duration,
    },
}

impl Fading {
    /// The power factor of one pair at one time, a pure function of its arguments.
    pub(super) fn factor(&self, seed: u64, pair: u64, at: Instant) -> f64 {
        let Some((k, coherence)) = self.rician() else { return 1.0 };
        let interval = at.as_nanos() / coherence.as_nanos().max(1);
        let mut of_pair = Rng::stream(seed, "radio/fading", pair);
        let (x, y) = normals(&mut Rng::stream(of_pair.next_u64(), "radio/fading", interval));
        let steady = (2.0 * k).sqrt() + x;
        (steady * steady + y * y) / (2.0 * (k + 1.0))
    }

    /// A factor that at most one draw in a thousand exceeds.
    pub(super) fn luckiest(&self) -> f64 {
        // The quantile of Rayleigh fading; a line of sight only makes high factors rarer.
        if self.rician().is_some() { libm::log(1000.0) } else { 1.0 }
    }

    /// Rayleigh is Rician without the line of sight.
    fn rician(&self) -> Option<(f64, Duration)> {
        match *self {
            Self::None => None,
            Self::Rayleigh { coherence } => Some((0.0, coherence)),
            Self::Rician { k, coherence } => Some((k, coherence)),
        }
    }
}
