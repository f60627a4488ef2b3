//! What repetitions say: a mean and how far it may be off.

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the confidence interval around it; `None` for a single value.
    pub half_width: Option<f64>,
}

/// Mean and Student-t interval of independent values, at a confidence `level` between 0 and 1;
/// `None` without values.
pub fn estimate(values: &[f64], level: f64) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let half_width = (values.len() > 1).then(|| {
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        student_t(count - 1.0, level) * standard_error
    });
    Some(Estimate { mean, half_width })
}

/// The t that a Student variable of `freedom` degrees stays within, either side, with `level`.
fn student_t(freedom: f64, level: f64) -> f64 {
    let outside = |t: f64| incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = low + (high - low) / 2.0;
        if outside(middle) > 1.0 - level { low = middle } else { high = middle }
    }
    high
}

/// Regularised incomplete beta function.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - log_beta);
    // The fraction converges fast on this side of the mean only.
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
    fn worked_example() {
        // Mean 5, sample variance 10/4, standard error sqrt(0.5), t(4, 95%) = 2.776.
        let found = estimate(&[3.0, 4.0, 5.0, 6.0, 7.0], 0.95).unwrap();
        assert_eq!(found.mean.to_bits(), 5.0_f64.to_bits());
        assert!((found.half_width.unwrap() - 2.776 * 0.5_f64.sqrt()).abs() < 1e-3);
        assert_eq!(estimate(&[2.0], 0.95), Some(Estimate { mean: 2.0, half_width: None }));
        assert_eq!(estimate(&[2.0, 2.0], 0.95).unwrap().half_width, Some(0.0));
        assert_eq!(estimate(&[], 0.95), None);
    }
}
