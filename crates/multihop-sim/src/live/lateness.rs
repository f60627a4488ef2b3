//! Statistics of how late a simulated network is, compared with the wall clock.

use std::fmt;

use multihop_core::Duration;
use serde::Serialize;

use crate::Histogram;

/// Quantiles of a lateness, ms.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// Median of the lateness.
    pub p50: f64,
    /// 99% quantile of the lateness.
    pub p99: f64,
    /// 99.9% quantile of the lateness.
    pub p999: f64,
    /// Largest lateness that was measured.
    pub max: f64,
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, p99, max, .. } = self;
        write!(f, "median {p50:.2} ms, 99% quantile {p99:.2} ms, maximum {max:.2} ms")
    }
}

/// A lateness that is being measured.
#[derive(Debug, Default)]
pub struct Lateness {
    values: Histogram,
    max: f64,
}

impl Lateness {
    /// Adds the lateness of one event or delivery.
    pub fn add(&mut self, late: Duration) {
        self.values.add(late);
        self.max = self.max.max(late.as_secs_f64());
    }

    /// Quantiles of all values; `None` without values.
    pub fn quantiles_ms(&self) -> Option<Quantiles> {
        let at = |share| self.values.quantile_ms(share);
        Some(Quantiles { p50: at(0.5)?, p99: at(0.99)?, p999: at(0.999)?, max: 1e3 * self.max })
    }
}

/// Whether a network kept up with the wall clock: 99% of its events and 99% of its deliveries were at most `limit` late, and
/// at most 1% of the time was lost. Always true without a limit.
pub fn keeps_up(limit: Option<Duration>, late: [Option<Quantiles>; 2], lost_share: f64) -> bool {
    let Some(limit) = limit else { return true };
    let limit = 1e3 * limit.as_secs_f64();
    late.into_iter().flatten().all(|late| late.p99 <= limit) && lost_share <= MAX_LOST_SHARE
}

/// Largest share of lost time of a valid result: rates that programs measure are too low by up to this share.
const MAX_LOST_SHARE: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_events_and_lost_time_exceed_a_limit() {
        let mut lateness = Lateness::default();
        assert!(lateness.quantiles_ms().is_none());
        lateness.add(Duration::from_millis(4));
        let late = [None, lateness.quantiles_ms()];
        let limit = |ms| Some(Duration::from_millis(ms));
        assert!(keeps_up(limit(5), late, 0.01));
        assert!(!keeps_up(limit(3), late, 0.0), "a late delivery");
        assert!(!keeps_up(limit(5), late, 0.011), "lost time");
        assert!(keeps_up(None, late, 0.5), "no limit");
    }
}
