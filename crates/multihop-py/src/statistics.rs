//! Confidence intervals, as the Python package uses them.

use multihop_sim::interval::Estimate;
use pyo3::prelude::*;

/// Mean and half width of the Student-t interval of independent values, infinite for a single value;
/// `None` without values.
#[pyfunction]
pub(crate) fn interval(values: Vec<f64>, level: f64) -> Option<(f64, f64)> {
    multihop_sim::interval::estimate(&values, level).map(pair)
}

/// Mean and half-width of the interval from batches of equal length of one correlated series; `None` if a batch would
/// be empty.
#[pyfunction]
pub(crate) fn batch_means(values: Vec<f64>, batches: usize, level: f64) -> Option<(f64, f64)> {
    multihop_sim::interval::batch_means(&values, batches, level).map(pair)
}

/// The two-sided quantile of Student's distribution.
#[pyfunction]
pub(crate) fn student_t(freedom: f64, level: f64) -> f64 {
    multihop_sim::interval::student_t(freedom, level)
}

fn pair(estimate: Estimate) -> (f64, f64) {
    (estimate.mean, estimate.half_width.unwrap_or(f64::INFINITY))
}
