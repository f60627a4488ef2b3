//! Measurements of how well an emulation kept up with the wall clock.

use multihop_sim::live::Quantiles;
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
