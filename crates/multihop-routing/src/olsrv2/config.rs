//! The parameters of OLSRv2 and their keys.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};
use multihop_wire::olsrv2::Willingness;

use crate::olsr::config::{INTERVAL, VALIDITY, hysteresis_key, longer};
use crate::olsr::{Hysteresis, LinkFailure};
use crate::settings::JITTER;

/// The parameters of OLSRv2, which are the same at all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Interval between HELLOs.
    pub hello_interval: Duration,
    /// Interval between TCs.
    pub tc_interval: Duration,
    /// How long the information of a HELLO is valid.
    pub neighbour_hold: Duration,
    /// How long the information of a TC is valid.
    pub topology_hold: Duration,
    /// Intervals are shorter by a random time up to this, and messages of others wait up to this long.
    pub max_jitter: Duration,
    /// What a link costs.
    pub metric: LinkMetric,
    /// This node's willingness to be a relay.
    pub willingness: Willingness,
    /// Links are used only while most packets arrive.
    pub hysteresis: Option<Hysteresis>,
    /// How link failures are detected.
    pub link_failure: LinkFailure,
    /// Whether an ICMP error informs the source of a packet without a route.
    pub tell_source: bool,
}

/// What a link costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkMetric {
    /// The time on the air that a bit needs, losses included (RFC 7779).
    Airtime,
    /// One.
    Hops,
}

impl Default for Config {
    /// The values that RFC 7181 and RFC 6130 suggest, with the airtime metric.
    fn default() -> Self {
        Self {
            hello_interval: Duration::from_secs(2),
            tc_interval: Duration::from_secs(5),
            neighbour_hold: Duration::from_secs(6),
            topology_hold: Duration::from_secs(15),
            max_jitter: Duration::from_millis(500),
            metric: LinkMetric::Airtime,
            willingness: Willingness::default(),
            hysteresis: None,
            link_failure: LinkFailure::Hello,
            tell_source: true,
        }
    }
}

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.time_keys(keys);
        let metrics = [("airtime", LinkMetric::Airtime), ("hops", LinkMetric::Hops)];
        let about = "What a link costs: airtime is the time that a bit takes on it, by its bit rate and the share of packets that \
                     arrive (RFC 7779); hops is the same for all links.";
        keys.about(about).word("metric", &mut self.metric, &metrics);
        let Willingness { flooding, routing } = &mut self.willingness;
        let about = "Willingness of nodes to forward flooded messages: 0 never, 7 default, 15 always.";
        keys.about(about).whole("flooding_willingness", flooding, WILLINGNESS);
        let about = "Willingness of nodes to forward data of others: 0 never, 7 default, 15 always.";
        keys.about(about).whole("routing_willingness", routing, WILLINGNESS);
        hysteresis_key("hysteresis", &mut self.hysteresis, keys);
        let failures = [("hello", LinkFailure::Hello), ("mac", LinkFailure::Mac)];
        keys.about(
            "How link failures are detected: HELLOs are missing; with mac also if the MAC gives up on a packet.",
        )
        .word("link_failure", &mut self.link_failure, &failures);
        keys.about(
            "Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.",
        )
        .switch("tell_source", &mut self.tell_source);
    }
}

impl Config {
    /// The intervals and the times that follow them (RFC 7181, section 5).
    fn time_keys(&mut self, keys: &mut dyn Visitor) {
        if keys.about("Time between HELLOs, s.").seconds("hello_interval", &mut self.hello_interval, INTERVAL)
        {
            self.neighbour_hold = self.hello_interval * 3;
            self.max_jitter = self.hello_interval / 4;
        }
        if keys.about("Time between TCs, s.").seconds("tc_interval", &mut self.tc_interval, INTERVAL) {
            self.topology_hold = self.tc_interval * 3;
        }
        let about =
            "How long the information of a HELLO is valid, s; if not given, three times hello_interval.";
        keys.about(about).seconds("neighbour_hold", &mut self.neighbour_hold, VALIDITY);
        let about = "How long the information of a TC is valid, s; if not given, three times tc_interval.";
        keys.about(about).seconds("topology_hold", &mut self.topology_hold, VALIDITY);
        longer("neighbour_hold", self.neighbour_hold, "hello_interval", self.hello_interval, keys);
        longer("topology_hold", self.topology_hold, "tc_interval", self.tc_interval, keys);
        let about = "Intervals are up to this much shorter, at most by half, and messages of others wait up to this long, s; \
                     if not given, a quarter of hello_interval.";
        keys.about(about).seconds("max_jitter", &mut self.max_jitter, JITTER);
    }
}

const WILLINGNESS: core::ops::RangeInclusive<u64> = Willingness::NEVER as u64..=Willingness::ALWAYS as u64;
