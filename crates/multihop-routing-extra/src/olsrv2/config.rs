//! The parameters of OLSRv2 and their keys.

use multihop_core::Duration;
use multihop_core::settings::{Field, Settings, Visitor};
use multihop_routing::link_state::config::{INTERVAL, VALIDITY, longer};
use multihop_routing::link_state::hysteresis::Hysteresis;
use multihop_routing::olsr::LinkFailure;
use multihop_routing::settings::JITTER;

use super::wire::Willingness;

/// The parameters of OLSRv2, which are the same at all nodes.
#[derive(Clone, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Mean interval between HELLO messages, s.
    #[key(INTERVAL, then = Self::follow_hello)]
    pub hello_interval: Duration,
    /// Mean interval between TC messages, s.
    #[key(INTERVAL, then = Self::follow_tc)]
    pub tc_interval: Duration,
    /// Time for which the information of a HELLO is valid, s; if not given, three times `hello_interval`.
    #[key(VALIDITY)]
    pub neighbour_hold: Duration,
    /// Time for which the information of a TC is valid, s; if not given, three times `tc_interval`.
    #[key(VALIDITY)]
    pub topology_hold: Duration,
    /// Largest random shortening of an interval, by half at most, and longest wait of the messages of others, s; if not given, a quarter
    /// of `hello_interval`.
    #[key(JITTER)]
    pub max_jitter: Duration,
    /// Cost of a link: airtime is the time that a bit takes on it, by its bit rate and the share of packets that arrive (RFC 7779); hops
    /// is the same for all links.
    #[key]
    pub metric: LinkMetric,
    /// This node's willingness to be a relay.
    #[key(
        name = "flooding_willingness",
        help = "Willingness of nodes to forward flooded messages: 0 never, 7 default, 15 always.",
        with = Self::flooding_key
    )]
    #[key(
        name = "routing_willingness",
        help = "Willingness of nodes to forward data of others: 0 never, 7 default, 15 always.",
        with = Self::routing_key
    )]
    pub willingness: Willingness,
    /// Whether links are used only while most packets arrive, judged by a moving average of packets that arrive (1) and do not (0); or a
    /// table of its parameters.
    #[key(switch)]
    pub hysteresis: Option<Hysteresis>,
    /// Detection of link failures: HELLOs are missing; with mac also when the MAC gives up on a packet.
    #[key]
    pub link_failure: LinkFailure,
    /// Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.
    #[key]
    pub tell_source: bool,
}

/// Metric of links, of which a path has the least sum.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum LinkMetric {
    /// The time on the air that a bit needs, losses included (RFC 7779).
    Airtime,
    /// Every link costs 1.
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

impl Config {
    /// Sets the times that follow from the interval of HELLOs (RFC 7181, section 5).
    fn follow_hello(&mut self, _: &mut dyn Visitor) {
        self.neighbour_hold = self.hello_interval * 3;
        self.max_jitter = self.hello_interval / 4;
    }

    fn follow_tc(&mut self, _: &mut dyn Visitor) {
        self.topology_hold = self.tc_interval * 3;
    }

    fn flooding_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        keys.about(help).field(name, &mut self.willingness.flooding, WILLINGNESS);
    }

    fn routing_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        keys.about(help).field(name, &mut self.willingness.routing, WILLINGNESS);
    }

    fn check(&self, keys: &mut dyn Visitor) {
        longer("neighbour_hold", self.neighbour_hold, "hello_interval", self.hello_interval, keys);
        longer("topology_hold", self.topology_hold, "tc_interval", self.tc_interval, keys);
    }
}

const WILLINGNESS: core::ops::RangeInclusive<u64> = Willingness::NEVER as u64..=Willingness::ALWAYS as u64;
