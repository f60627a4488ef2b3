//! Distributions from which traffic draws sizes and pauses.

use multihop_core::{Duration, Rng};

/// A file size: mean `mean`, density falling as x^-(shape + 1).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
pub fn pareto(rng: &mut Rng, mean: f64, shape: f64) -> u64 {
    let smallest = mean * (shape - 1.0) / shape;
    let bytes = smallest / libm::pow(1.0 - rng.unit(), 1.0 / shape);
    (bytes as u64).max(1)
}

/// A time with mean `mean`.
pub fn exponential(rng: &mut Rng, mean: Duration) -> Duration {
    Duration::from_secs_f64(-mean.as_secs_f64() * libm::log(1.0 - rng.unit()))
}

/// A size whose logarithm is normally distributed; draws outside of the limits are repeated.
#[derive(Clone, Copy, Debug)]
pub struct TruncatedLogNormal {
    /// Mean of the natural logarithm of a log-normal distribution.
    pub mu: f64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    /// Smallest size that is drawn, in bytes.
    pub smallest: u64,
    /// Largest size that is drawn, in bytes.
    pub largest: u64,
}

impl TruncatedLogNormal {
    /// Draws a size, in bytes.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            // The method of Box and Muller.
            let radius = (-2.0 * libm::log(1.0 - rng.unit())).sqrt();
            let normal = radius * libm::cos(core::f64::consts::TAU * rng.unit());
            let bytes = libm::exp(self.mu + self.sigma * normal).round() as u64;
            if (self.smallest..=self.largest).contains(&bytes) {
                return bytes;
            }
        }
    }
}

/// The number of objects that a web page embeds: truncated Pareto with mean 5.64 and at most 53 (IEEE 802.16m evaluation
/// methodology, HTTP traffic).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 53")]
pub fn embedded_objects(rng: &mut Rng) -> u32 {
    let (shape, smallest, largest) = (1.1, 2.0, 55.0);
    let drawn = smallest / libm::pow(1.0 - rng.unit(), 1.0 / shape);
    (drawn.min(largest) - smallest).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_pages_have_the_published_means() {
        let mut rng = Rng::stream(5, "test", 1);
        let n = 400_000;
        let mut mean = |draw: &mut dyn FnMut(&mut Rng) -> f64| {
            (0..n).map(|_| draw(&mut rng)).sum::<f64>() / f64::from(n)
        };
        let main = TruncatedLogNormal { mu: 8.37, sigma: 1.37, smallest: 100, largest: 2_000_000 };
        let found = mean(&mut |rng| main.draw(rng) as f64);
        // The standard deviation is 25,032 bytes, so that four standard errors are 1.5%.
        assert!((found / 10_710.0 - 1.0).abs() < 0.04, "{found}");
        let found = mean(&mut |rng| f64::from(embedded_objects(rng)));
        assert!((found / 5.64 - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn pareto_and_exponential_have_their_means() {
        let mut rng = Rng::stream(5, "test", 0);
        let n = 100_000;
        // Shape 3 has a finite variance: the mean of n draws lies within 1% (five standard deviations).
        let mean = (0..n).map(|_| pareto(&mut rng, 30_000.0, 3.0) as f64).sum::<f64>() / f64::from(n);
        assert!((mean / 30_000.0 - 1.0).abs() < 0.01, "{mean}");
        let pause = Duration::from_millis(300);
        let mean = (0..n).map(|_| exponential(&mut rng, pause).as_secs_f64()).sum::<f64>() / f64::from(n);
        assert!((mean / 0.3 - 1.0).abs() < 0.02, "{mean}");
    }
}
