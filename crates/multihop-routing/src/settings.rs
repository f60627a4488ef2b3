//! Bounds that keys of several protocols share.

use core::ops::RangeInclusive;

/// Allowed durations of a timer, in seconds.
pub const TIMEOUT: RangeInclusive<f64> = 0.001..=1e6;
/// Allowed bounds of a random delay, in seconds.
pub const JITTER: RangeInclusive<f64> = 0.0..=10.0;
