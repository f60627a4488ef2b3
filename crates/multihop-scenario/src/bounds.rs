//! Bounds that keys of several tables share.

use core::ops::RangeInclusive;

/// Longest names of scenarios, hosts and files, in characters.
pub(crate) const LONGEST_TEXT: usize = 500;
/// Bounds of a time that may be zero, s.
pub(crate) const SECONDS: RangeInclusive<f64> = 0.0..=1e9;
/// Bounds of a time that is not zero, s.
pub(crate) const TIME_SPAN: RangeInclusive<f64> = 0.000_001..=1e9;
/// Bounds of a length that is not zero, m.
pub(crate) const METRES: RangeInclusive<f64> = 0.001..=1e7;
/// Bounds of a coordinate, m.
pub(crate) const METRES_AWAY: RangeInclusive<f64> = -1e7..=1e7;
/// Bounds of a bit rate, kb/s.
pub(crate) const KILOBITS_PER_SECOND: RangeInclusive<f64> = 0.001..=1e7;
