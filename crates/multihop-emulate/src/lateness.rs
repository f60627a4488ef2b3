//! Statistics of how late the simulated network was, compared with the wall clock.

use multihop_core::Duration;
use multihop_sim::Histogram;
use serde::Serialize;

/// Measurements of how well an emulation kept up with the wall clock.
#[derive(Clone, Debug, Serialize)]
pub struct EmulationResult {
    /// Packets of programs that entered the simulated network.
    pub entered: u64,
    /// Number of packets that left the simulated network.
    pub left: u64,
    /// Number of packets that the simulated network does not forward, such as malformed ones.
    pub ignored: u64,
    /// Whether time was virtual: it advanced only while all programs waited, and nothing could be late.
    pub virtual_time: bool,
    /// Delay from the due time of an event to its handling, ms; `null` without events.
    pub wakeups_late_ms: Option<Quantiles>,
    /// Delay from the simulated exit of a packet to its delivery, ms; `null` if none left.
    pub deliveries_late_ms: Option<Quantiles>,
    /// Virtual time lost / wall-clock time.
    pub lost_share: f64,
    /// Whether the lateness of 99% of both was within the limit, and at most 1% of the time was lost; always true without a
    /// limit.
    pub valid: bool,
}

/// Quantiles of a lateness.
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

/// A lateness that is being measured.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    values: Histogram,
    max: f64,
}

impl Lateness {
    pub(crate) fn add(&mut self, late: Duration) {
        self.values.add(late);
        self.max = self.max.max(late.as_secs_f64());
    }

    pub(crate) fn quantiles_ms(&self) -> Option<Quantiles> {
        let at = |share| self.values.quantile_ms(share);
        Some(Quantiles { p50: at(0.5)?, p99: at(0.99)?, p999: at(0.999)?, max: 1e3 * self.max })
    }
}
