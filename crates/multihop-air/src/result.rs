//! The result of a run of the medium, and its lateness.

use multihop_core::Duration;
use multihop_sim::Histogram;
use multihop_sim::results::RunResult;
use serde::Serialize;

/// Result of a run: of the simulated network, and of the medium under the kernel's Wi-Fi stack.
#[derive(Clone, Debug, Serialize)]
pub struct AirRun {
    /// Measurements of the simulated network.
    #[serde(flatten)]
    pub run: RunResult,
    /// Measurements of the medium.
    pub air: AirResult,
}

/// Measurements of a simulated medium under the kernel's Wi-Fi stack.
#[derive(Clone, Debug, Serialize)]
pub struct AirResult {
    /// Frames that the kernel's radios transmitted, each counted once.
    pub transmitted: u64,
    /// Frames that the kernel's radios received.
    pub received: u64,
    /// Transmitted frames that their receiver acknowledged.
    pub acknowledged: u64,
    /// Number of retransmissions by the simulated MACs.
    pub retries: u64,
    /// Frames to addresses that no radio of the scenario has. They are reported as lost and take no airtime.
    pub strays: u64,
    /// Messages that the kernel refused, for example because the receiver was on another channel.
    pub refused: u64,
    /// Delay from the due time of an event to its handling, ms; `null` without events.
    pub wakeups_late_ms: Option<Quantiles>,
    /// Delay from the simulated arrival of a frame to its delivery to the kernel, ms; `null` without frames.
    pub deliveries_late_ms: Option<Quantiles>,
    /// Virtual time lost / wall-clock time.
    pub lost_share: f64,
    /// Whether the lateness of 99% of both was within the limit; always true without a limit.
    pub valid: bool,
    /// Exit code of the command; `null` without a command, or if it was interrupted.
    pub exit_code: Option<i32>,
}

/// Quantiles of a lateness, ms.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// Median of the lateness.
    pub p50: f64,
    /// 99% quantile of the lateness.
    pub p99: f64,
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
        Some(Quantiles { p50: at(0.5)?, p99: at(0.99)?, max: 1e3 * self.max })
    }
}
