//! Configuration keys of intervals and hold times.

use alloc::format;
use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::Visitor;

/// Refuses a hold time that does not exceed the interval.
pub fn longer(name: &'static str, hold: Duration, than: &str, interval: Duration, keys: &mut dyn Visitor) {
    if hold <= interval {
        let (found, least) = (hold.as_secs_f64(), interval.as_secs_f64());
        keys.refuse(name, format!("found {found}, allowed: more than {than}, {least}"));
    }
}

/// Bounds of the time between messages, s.
pub const INTERVAL: RangeInclusive<f64> = 0.1..=1000.0;
/// Bounds of a validity time, s; the largest is the limit of the message format (RFC 3626, section 3.3.2).
pub const VALIDITY: RangeInclusive<f64> = 0.1..=3968.0;
