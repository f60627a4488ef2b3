//! The result of a run of the medium.

use multihop_sim::live::Quantiles;
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
    /// Whether the lateness of 99% of both was within the limit, and at most 1% of the time was lost; always true without a
    /// limit.
    pub valid: bool,
    /// Exit code of the command; `null` without a command, or if it was interrupted.
    pub exit_code: Option<i32>,
}
