use std::f64::consts::PI;

use multihop_core::{Duration, Instant, Rng};

use crate::normal::normals;

/// Random factor on the power between each pair of nodes, equal in both directions, with mean 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fading {
    /// No fading: every frame arrives with the mean power.
    None,
    /// Rayleigh fading, for paths without line of sight.
    Rayleigh {
        /// Rate at which the fading changes.
        change: Change,
    },
    /// Rician fading, for paths with a line of sight whose power is `k` times (linear) the power of all other
    /// paths.
    Rician {
        /// Ratio of line of sight to scattered power, linear.
        k: f64,
        /// Rate at which the fading changes.
        change: Change,
    },
    /// Nakagami-m fading: the power is the sum of the squares of 2 m normal variables.
    Nakagami {
        /// Number of squared normal variables in the sum: 2 m.
        squares: u32,
        /// Rate at which the fading changes.
        change: Change,
    },
}

/// Change of fading over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The factor is drawn independently for each interval of this length.
    Blocks(Duration),
    /// The factor changes continuously by the Doppler effect, with this maximal frequency in Hz: waves arrive
    /// from all directions (Clarke's model).
    Doppler(f64),
}

impl Fading {
    /// Power factor of one pair of nodes at one time, a pure function of its arguments.
    pub(super) fn factor(&self, seed: u64, pair: u64, at: Instant) -> f64 {
        match *self {
            Self::None => 1.0,
            Self::Rayleigh { change } => rician(0.0, &mut change.source(seed, pair, at)),
            Self::Rician { k, change } => rician(k, &mut change.source(seed, pair, at)),
            Self::Nakagami { squares, change } => nakagami(squares, &mut change.source(seed, pair, at)),
        }
    }

    /// A factor that at most one draw in a thousand exceeds.
    pub(super) fn luckiest(&self) -> f64 {
        match self {
            Self::None => 1.0,
            // The quantile of the square of a normal variable.
            Self::Nakagami { squares: 1, .. } => 10.828,
            // The quantile of Rayleigh fading; a line of sight or a larger m only makes high factors rarer.
            _ => libm::log(1000.0),
        }
    }
}

/// Power factor of Rician fading; with k = 0 it is Rayleigh fading.
fn rician(k: f64, source: &mut Source) -> f64 {
    let (x, y) = source.normals();
    let steady = (2.0 * k).sqrt() + x;
    (steady * steady + y * y) / (2.0 * (k + 1.0))
}

fn nakagami(squares: u32, source: &mut Source) -> f64 {
    let mut sum = 0.0;
    for _ in 0..squares / 2 {
        let (x, y) = source.normals();
        sum += x * x + y * y;
    }
    if squares % 2 == 1 {
        let (x, _) = source.normals();
        sum += x * x;
    }
    sum / f64::from(squares)
}

impl Change {
    fn source(self, seed: u64, pair: u64, at: Instant) -> Source {
        let mut of_pair = Rng::stream(seed, "radio/fading", pair);
        match self {
            Self::Blocks(length) => {
                let interval = at.as_nanos() / length.as_nanos().max(1);
                Source::Block(Rng::stream(of_pair.next_u64(), "radio/fading", interval))
            }
            Self::Doppler(hertz) => {
                Source::Waves { angle: 2.0 * PI * hertz * at.as_secs_f64(), rng: of_pair }
            }
        }
    }
}

/// Standard normal variables of one pair at one time.
enum Source {
    Block(Rng),
    /// Sum of waves: `angle` is 2 pi times the Doppler frequency times the time; `rng` draws directions and
    /// phases, which stay constant for a pair.
    Waves {
        angle: f64,
        rng: Rng,
    },
}

impl Source {
    /// Draws two independent values of the standard normal distribution.
    fn normals(&mut self) -> (f64, f64) {
        match self {
            Self::Block(rng) => normals(rng),
            Self::Waves { angle, rng } => waves(*angle, rng),
        }
    }
}

/// Sum of waves of equal strength, one from a random direction in each of a number of equal sectors. Over all
/// pairs its autocorrelation is exactly J0 of `angle`. For one pair, each component has a mean power over
/// time of exactly 1.
fn waves(angle: f64, rng: &mut Rng) -> (f64, f64) {
    let (mut x, mut y) = (0.0, 0.0);
    for wave in 0..WAVES {
        let direction = 2.0 * PI * (f64::from(wave) + rng.unit()) / f64::from(WAVES);
        let phase = 2.0 * PI * rng.unit();
        let (sine, cosine) = libm::sincos(angle * libm::cos(direction) + phase);
        x += cosine;
        y += sine;
    }
    let scale = (2.0 / f64::from(WAVES)).sqrt();
    (x * scale, y * scale)
}

/// Number of superposed waves in Doppler fading. The power is at most 12 dB above its mean, and its second
/// moment is 2 - 1 / 16, compared with 2 for Rayleigh fading.
const WAVES: u32 = 16;
