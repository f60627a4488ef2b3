//! Bounds that keys of several protocols share.

use core::ops::RangeInclusive;

/// Of a timer, s.
pub(crate) const TIMEOUT: RangeInclusive<f64> = 0.001..=1e6;
/// Of a random delay, s.
pub(crate) const JITTER: RangeInclusive<f64> = 0.0..=10.0;
