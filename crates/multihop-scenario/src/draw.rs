//! Distributions of traffic.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pareto_and_exponential_have_their_means() {
        let mut rng = Rng::stream(5, "test", 0);
        let n = 100_000;
        // Shape 3 has a finite variance: the mean of n draws lies within 1% (five deviations).
        let mean = (0..n).map(|_| pareto(&mut rng, 30_000.0, 3.0) as f64).sum::<f64>() / f64::from(n);
        assert!((mean / 30_000.0 - 1.0).abs() < 0.01, "{mean}");
        let pause = Duration::from_millis(300);
        let mean = (0..n).map(|_| exponential(&mut rng, pause).as_secs_f64()).sum::<f64>() / f64::from(n);
        assert!((mean / 0.3 - 1.0).abs() < 0.02, "{mean}");
    }
}
