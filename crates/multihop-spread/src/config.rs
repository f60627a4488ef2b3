//! Parameters of a node.

use multihop_core::Duration;

/// Parameters of a node. `docs/models/spread.md` has the reasons of the defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// Identifier of this node in reports.
    pub receiver: u64,
    /// Name of this node in reports, at most 32 bytes.
    pub name: String,
    /// Longest random delay before a node repeats a packet.
    pub relay_delay: Duration,
    /// Number of blocks that the source sends ahead of the slowest receiver in step.
    pub lead: u32,
    /// Number of receivers for which the source waits before it begins.
    pub expect: usize,
    /// Symbols per second with which the source begins.
    pub initial_rate: f64,
}

impl Config {
    /// Parameters of the node with this identifier and name.
    pub fn new(receiver: u64, name: &str) -> Self {
        Self {
            receiver,
            name: name.to_owned(),
            relay_delay: Duration::from_millis(16),
            lead: 8,
            expect: 1,
            initial_rate: 50.0,
        }
    }
}
