//! Confidence intervals of means over independent repetitions or over batches of one long run.

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Arithmetic mean of the values.
    pub mean: f64,
    /// Half the width of the confidence interval around the mean; `None` for a single value.
    pub half_width: Option<f64>,
}

/// Mean and Student-t interval of independent values, at a confidence `level` between 0 and 1;
/// `None` without values.
pub fn estimate(values: &[f64], level: f64) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = sum(values.iter().copied()) / count;
    let squares = sum(values.iter().map(|value| (value - mean) * (value - mean)));
    let half_width = (values.len() > 1).then(|| {
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        student_t(count - 1.0, level) * standard_error
    });
    Some(Estimate { mean, half_width })
}

/// The confidence interval of one long correlated series, divided into `batches` of equal length. A remainder
/// is dropped at the front, which contains the warm-up. `None` if a batch would be empty.
pub fn batch_means(values: &[f64], batches: usize, level: f64) -> Option<Estimate> {
    let length = values.len().checked_div(batches)?;
    let used = &values[values.len() - length * batches..];
    let batches = used.chunks_exact(length.max(1));
    estimate(&batches.map(|batch| sum(batch.iter().copied()) / length as f64).collect::<Vec<_>>(), level)
}

/// The two-sided quantile t of Student's distribution: a variable with `freedom` degrees of freedom is within ±t with
/// probability `level`.
pub fn student_t(freedom: f64, level: f64) -> f64 {
    let outside = |t: f64| incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = low + (high - low) / 2.0;
        if outside(middle) > 1.0 - level { low = middle } else { high = middle }
    }
    high
}

/// Neumaier's compensated sum, which avoids the accumulation of rounding errors.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

/// Regularised incomplete beta function.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - log_beta);
    // The continued fraction converges fast only on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front / a * beta_fraction(x, a, b)
    } else {
        1.0 - front / b * beta_fraction(1.0 - x, b, a)
    }
}

/// Lentz's evaluation of the continued fraction DLMF 8.17.22.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in (1..=300).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / not_zero(1.0 + term * d);
            c = not_zero(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_tables() {
        for (freedom, level, t) in [
            (1.0, 0.90, 6.314),
            (1.0, 0.95, 12.706),
            (1.0, 0.999, 636.619),
            (4.0, 0.90, 2.132),
            (9.0, 0.95, 2.262),
            (10.0, 0.99, 3.169),
            (30.0, 0.95, 2.042),
            (1000.0, 0.95, 1.962),
        ] {
            let found = student_t(freedom, level);
            assert!((found - t).abs() < 0.0006, "{freedom} {level}: {found} {t}");
        }
    }

    #[test]
    fn quantiles_of_scipy_to_ten_digits() {
        // scipy.stats.t.ppf((1 + level) / 2, freedom)
        for (freedom, level, t) in [
            (1.0, 0.95, 12.706_204_736_2),
            (2.0, 0.95, 4.302_652_729_7),
            (3.0, 0.95, 3.182_446_305_28),
            (4.0, 0.90, 2.131_846_786_33),
            (9.0, 0.90, 1.833_112_932_66),
            (9.0, 0.95, 2.262_157_162_8),
            (10.0, 0.99, 3.169_272_672_62),
            (29.0, 0.95, 2.045_229_642_13),
            (120.0, 0.95, 1.979_930_405_08),
        ] {
            let found = student_t(freedom, level);
            assert!((found / t - 1.0).abs() < 1e-10, "{freedom} {level}: {found} {t}");
        }
    }

    #[test]
    fn worked_example() {
        // Mean 5, sample variance 10/4, standard error sqrt(0.5), t(4, 95%) = 2.776.
        let found = estimate(&[3.0, 4.0, 5.0, 6.0, 7.0], 0.95).unwrap();
        assert_eq!(found.mean.to_bits(), 5.0_f64.to_bits());
        assert!((found.half_width.unwrap() - 2.776 * 0.5_f64.sqrt()).abs() < 1e-3);
        assert_eq!(estimate(&[2.0], 0.95), Some(Estimate { mean: 2.0, half_width: None }));
        assert_eq!(estimate(&[2.0, 2.0], 0.95).unwrap().half_width, Some(0.0));
        assert_eq!(estimate(&[], 0.95), None);
    }

    #[test]
    fn batches_drop_values_at_the_front() {
        assert_eq!(batch_means(&[100.0, 1.0, 1.0, 3.0, 3.0], 2, 0.9), estimate(&[1.0, 3.0], 0.9));
        assert_eq!(batch_means(&[1.0, 2.0], 3, 0.9), None);
        assert_eq!(batch_means(&[1.0, 2.0], 0, 0.9), None);
    }

    #[test]
    fn small_values_are_not_lost_beside_large_ones() {
        assert_eq!(sum([1e16, 1.0, 1.0, -1e16].into_iter()).to_bits(), 2.0_f64.to_bits());
    }
}
