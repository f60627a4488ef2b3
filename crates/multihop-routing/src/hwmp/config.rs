//! The parameters of HWMP and their keys.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::settings::{JITTER, TIMEOUT};

/// The parameters of HWMP, which are the same at all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What a link costs.
    pub metric: LinkMetric,
    /// What a frame takes besides its bits, for the airtime metric.
    pub overhead: Duration,
    /// How long a path is valid after the request or reply that set it.
    pub active_path_timeout: Duration,
    /// A source looks for a path again when it uses it this long before its end.
    pub path_refresh_time: Duration,
    /// Time that a message needs to cross the network.
    pub net_diameter_traversal_time: Duration,
    /// Least time between two path requests of a node's own.
    pub preq_min_interval: Duration,
    /// Least time between two path errors of a node.
    pub perr_min_interval: Duration,
    /// Further requests for a target that does not reply.
    pub max_preq_retries: u8,
    /// Links that a message may cross.
    pub element_ttl: u8,
    /// Whether only targets may reply.
    pub target_only: bool,
    /// Requests of others wait up to this long.
    pub max_jitter: Duration,
    /// Packets that may wait for a path, for each destination.
    pub buffer_packets: usize,
}

/// What a link costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkMetric {
    /// The time on the air of a test frame.
    Airtime,
    /// One.
    Hops,
}

impl Default for Config {
    /// The values of IEEE 802.11 where it has one, and of Linux for the buffer and the refresh.
    fn default() -> Self {
        Self {
            metric: LinkMetric::Airtime,
            // DIFS, half of the least window, preamble, SIFS and ACK of 802.11a: 34 + 67.5 + 20 + 16 + 44 us.
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

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let metrics = [("airtime", LinkMetric::Airtime), ("hops", LinkMetric::Hops)];
        let about = "What a link costs: airtime is the time that a frame of 1024 bytes takes on it, by its bit rate; hops is the same for \
                     all links.";
        keys.about(about).word("metric", &mut self.metric, &metrics);
        keys.about("What a frame takes besides its bits, for the airtime metric, s.").seconds(
            "overhead",
            &mut self.overhead,
            0.0..=1.0,
        );
        self.time_keys(keys);
        keys.about("Further requests for a target that does not reply.").whole(
            "max_preq_retries",
            &mut self.max_preq_retries,
            0..=100,
        );
        keys.about("Links that a message may cross.").whole("element_ttl", &mut self.element_ttl, 1..=255);
        keys.about("Whether only targets may reply to requests, or all nodes that know a path.")
            .switch("target_only", &mut self.target_only);
        keys.about("Requests of others wait up to this long, s.").seconds(
            "max_jitter",
            &mut self.max_jitter,
            JITTER,
        );
        keys.about("Packets that may wait for a path, for each destination; the oldest leaves.").whole(
            "buffer_packets",
            &mut self.buffer_packets,
            1..=1000,
        );
    }
}

impl Config {
    fn time_keys(&mut self, keys: &mut dyn Visitor) {
        let mut time = |about, name, value| keys.about(about).seconds(name, value, TIMEOUT);
        let about = "How long a path is valid after the request or reply that set it, s.";
        time(about, "active_path_timeout", &mut self.active_path_timeout);
        let about = "A source looks for a path again when it uses it this long before its end, s.";
        time(about, "path_refresh_time", &mut self.path_refresh_time);
        let about =
            "Time that a message needs to cross the network, s; a request is repeated after twice as long.";
        time(about, "net_diameter_traversal_time", &mut self.net_diameter_traversal_time);
        let about = "Least time between two path requests of a node's own, s.";
        time(about, "preq_min_interval", &mut self.preq_min_interval);
        let about = "Least time between two path errors of a node, s.";
        time(about, "perr_min_interval", &mut self.perr_min_interval);
    }
}

/// Time units of IEEE 802.11.
pub(super) const fn time_units(count: u32) -> Duration {
    Duration::from_micros(1024 * count as u64)
}

/// A time in whole time units.
pub(super) fn whole_units(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / time_units(1).as_nanos()).unwrap_or(u32::MAX)
}
