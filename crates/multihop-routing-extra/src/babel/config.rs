//! The parameters of Babel and their keys.

use alloc::format;
use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::{Field, Settings, Visitor};
use multihop_routing::olsr::LinkFailure;
use multihop_routing::settings::JITTER;

/// The parameters of Babel, which are the same at all nodes.
#[derive(Clone, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Mean interval between Hello messages, s.
    #[key(INTERVAL, then = Self::follow_hello)]
    pub hello_interval: Duration,
    /// Time between updates of all routes, s; if not given, four times `hello_interval`.
    #[key(INTERVAL)]
    pub update_interval: Duration,
    /// Longest random wait of requests and of changes of routes before they are sent, s.
    #[key(JITTER)]
    pub max_jitter: Duration,
    /// Cost of a link: etx is 256 for each expected transmission, by the share of Hellos that arrive; hops is 96 for every link on which
    /// two of the last three Hellos arrived.
    #[key]
    pub link_cost: LinkCost,
    /// Whether the cost of a link grows with its round-trip time (RFC 9616); or a table of its parameters.
    #[key(switch, then = Self::follow_rtt)]
    pub rtt: Option<RttCost>,
    /// Whether Hellos wait in the interface queue behind data, so that round trips include its delay, or go first like all other routing
    /// messages; if not given, as rtt.
    #[key]
    pub hellos_wait: bool,
    /// Whether a link of a node with several interfaces costs less if the next hops are on other channels
    /// (draft-chroboczek-babel-diversity-routing); or a table of its parameters.
    ///
    /// Nodes with one interface have no choice and ignore channels.
    #[key(switch)]
    pub diversity: Option<Diversity>,
    /// Time in which half of a change of a metric reaches the smoothed metric, s. A route is replaced only by one whose metric and
    /// smoothed metric are both better (RFC 8966, A.3); 0: the metric alone decides.
    #[key(0.0..=1000.0)]
    pub hysteresis: Duration,
    /// Detection of link failures: Hellos are missing; with mac also when the MAC gives up on a packet.
    #[key]
    pub link_failure: LinkFailure,
    /// Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.
    #[key]
    pub tell_source: bool,
}

/// Metric of a link, without the part for its round-trip time.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum LinkCost {
    /// 256 for each expected transmission (RFC 8966, A.2.2).
    Etx,
    /// 96 for every link on which two of the last three Hellos arrived (RFC 8966, A.2.1).
    Hops,
}

/// How much channels count (draft-chroboczek-babel-diversity-routing).
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Diversity {
    /// Cost of a link that interferes with none of the next hops, as a share of its cost before a hop on the same channel.
    #[key(millionths)]
    pub factor: u32,
}

/// The cost of round-trip times (RFC 9616, section 4).
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct RttCost {
    /// Weight of the average round-trip time in the next average; 0: only the latest counts.
    #[key(millionths)]
    pub smoothing: u32,
    /// Round-trip time up to which nothing is added to the cost of a link, s.
    #[key(ROUND_TRIP)]
    pub min: Duration,
    /// Round-trip time from which on the full penalty is added, s.
    #[key(ROUND_TRIP)]
    pub max: Duration,
    /// Largest cost that a round-trip time adds to a link.
    #[key(0..=65534)]
    pub penalty: u16,
}

impl LinkCost {
    /// The cost of a link without losses. A metric that changes by at least this cost is announced at once.
    pub(super) const fn nominal(self) -> u16 {
        match self {
            Self::Etx => 256,
            Self::Hops => 96,
        }
    }
}

impl Default for Config {
    /// The values that RFC 8966 suggests (appendix B), without RTT.
    fn default() -> Self {
        Self {
            hello_interval: Duration::from_secs(4),
            update_interval: Duration::from_secs(16),
            max_jitter: Duration::from_millis(100),
            link_cost: LinkCost::Etx,
            rtt: None,
            diversity: Some(Diversity::default()),
            hysteresis: Duration::from_secs(4),
            hellos_wait: false,
            link_failure: LinkFailure::Hello,
            tell_source: true,
        }
    }
}

impl Default for Diversity {
    /// Values of the reference implementation, babeld.
    fn default() -> Self {
        Self { factor: 500_000 }
    }
}

impl Default for RttCost {
    /// The values that RFC 9616 suggests (section 4).
    fn default() -> Self {
        Self {
            smoothing: 836_000,
            min: Duration::from_millis(10),
            max: Duration::from_millis(120),
            penalty: 150,
        }
    }
}

impl Config {
    fn follow_hello(&mut self, _: &mut dyn Visitor) {
        self.update_interval = self.hello_interval.saturating_mul(4);
    }

    fn follow_rtt(&mut self, _: &mut dyn Visitor) {
        self.hellos_wait = self.rtt.is_some();
    }

    fn check(&self, keys: &mut dyn Visitor) {
        if self.update_interval < self.hello_interval {
            let [found, least] = [self.update_interval, self.hello_interval].map(Duration::as_secs_f64);
            keys.refuse(
                "update_interval",
                format!("found {found}, allowed: at least hello_interval, {least}"),
            );
        }
    }
}

impl RttCost {
    fn check(&self, keys: &mut dyn Visitor) {
        if self.max <= self.min {
            let [found, least] = [self.max, self.min].map(Duration::as_secs_f64);
            keys.refuse("max", format!("found {found}, allowed: more than min, {least}"));
        }
    }
}

/// Bounds of the time between messages, s; the largest is that of the message format.
const INTERVAL: RangeInclusive<f64> = 0.1..=655.0;
/// Bounds of a round-trip time, s.
const ROUND_TRIP: RangeInclusive<f64> = 0.0..=1000.0;
