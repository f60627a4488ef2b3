//! Keys, bounds and words that the settings of several transports share.

use alloc::format;
use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::Visitor;

/// Bounds of a protocol's timer, s.
pub(crate) const TIMEOUT: RangeInclusive<f64> = 0.001..=1e6;

/// Refuses a shortest timeout that exceeds the longest.
pub(crate) fn check_rto(min: Duration, max: Duration, keys: &mut dyn Visitor) {
    if min > max {
        keys.refuse("rto_min", format!("{min} is more than rto_max, {max}"));
    }
}
