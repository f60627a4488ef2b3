//! The parameters of HWMP and their keys.

use multihop_core::Duration;
use multihop_core::settings::{Field, Settings};
use multihop_routing::settings::{JITTER, TIMEOUT};

/// The parameters of HWMP, which are the same at all nodes.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct Config {
    /// Cost of a link: airtime is the time that a frame of 1024 bytes takes on it, by its bit rate; hops is the same for all links.
    #[key]
    pub metric: LinkMetric,
    /// Time that a frame takes in addition to its bits, for the airtime metric, s.
    #[key(0.0..=1.0)]
    pub overhead: Duration,
    /// Time for which a path is valid after the request or reply that set it, s.
    #[key(TIMEOUT)]
    pub active_path_timeout: Duration,
    /// Time before the end of a path from which on a source that uses it looks for a path again, s.
    #[key(TIMEOUT)]
    pub path_refresh_time: Duration,
    /// Time that a message needs to cross the network, s; a request is repeated after twice as long.
    #[key(TIMEOUT)]
    pub net_diameter_traversal_time: Duration,
    /// Least time between two path requests of a node's own, s.
    #[key(TIMEOUT)]
    pub preq_min_interval: Duration,
    /// Least time between two path errors of a node, s.
    #[key(TIMEOUT)]
    pub perr_min_interval: Duration,
    /// Number of further requests for a target that does not reply.
    #[key(0..=100)]
    pub max_preq_retries: u8,
    /// Number of links that a message may cross.
    #[key(1..=255)]
    pub element_ttl: u8,
    /// Whether only targets may reply to requests, or all nodes that have a path.
    #[key]
    pub target_only: bool,
    /// Longest random wait of the requests of others, s.
    #[key(JITTER)]
    pub max_jitter: Duration,
    /// Number of packets that may wait for a path, for each destination; the oldest is dropped for a newer one.
    #[key(1..=1000)]
    pub buffer_packets: usize,
}

/// Metric of links, of which a path has the least sum.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum LinkMetric {
    /// The time on the air of a test frame.
    Airtime,
    /// Every link costs 1.
    Hops,
}

impl Default for Config {
    /// Values of IEEE 802.11 if it specifies them, and of Linux for the buffer and the refresh.
    fn default() -> Self {
        Self {
            metric: LinkMetric::Airtime,
            // The sum of DIFS, half of the smallest contention window, preamble, SIFS and ACK of 802.11a: 34
            // + 67.5 + 20 + 16 + 44 us.
            overhead: Duration::from_micros(180),
            active_path_timeout: time_units(5000),
            path_refresh_time: Duration::from_secs(1),
            net_diameter_traversal_time: time_units(500),
            preq_min_interval: time_units(100),
            perr_min_interval: time_units(100),
            max_preq_retries: 3,
            element_ttl: 31,
            target_only: true,
            max_jitter: Duration::from_millis(10),
            buffer_packets: 10,
        }
    }
}

/// Duration of `count` time units of IEEE 802.11 (1024 us each).
pub(super) const fn time_units(count: u32) -> Duration {
    Duration::from_micros(1024 * count as u64)
}

/// A time in whole time units.
pub(super) fn whole_units(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / time_units(1).as_nanos()).unwrap_or(u32::MAX)
}
