//! The parameters of Babel and their keys.

use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::olsr::LinkFailure;
use crate::settings::JITTER;

/// The parameters of Babel, which are the same at all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time between Hellos.
    pub hello_interval: Duration,
    /// Time between updates of all routes.
    pub update_interval: Duration,
    /// Changes and requests wait up to this long before they are sent, at random.
    pub max_jitter: Duration,
    /// What a link costs.
    pub link_cost: LinkCost,
    /// The part of the cost that grows with the round-trip time, if there is one.
    pub rtt: Option<RttCost>,
    /// In this time half of a change reaches the smoothed metric that a better route must also have (RFC 8966, A.3);
    /// zero: there is no smoothed metric.
    pub hysteresis: Duration,
    /// Whether Hellos wait in the interface queue behind data, so that round trips include its delay.
    pub hellos_wait: bool,
    /// How link failures are detected.
    pub link_failure: LinkFailure,
    /// Whether an ICMP error informs the source of a packet without a route.
    pub tell_source: bool,
}

/// What a link costs, without the part for its round-trip time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkCost {
    /// 256 for each expected transmission (RFC 8966, A.2.2).
    Etx,
    /// 96 for every link on which two of the last three Hellos arrived (RFC 8966, A.2.1).
    Hops,
}

/// The cost of round-trip times (RFC 9616, section 4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RttCost {
    /// Weight of the average in the next one, in millionths.
    pub smoothing: u32,
    /// Up to here a round trip costs nothing.
    pub min: Duration,
    /// From here on a round trip costs the full penalty.
    pub max: Duration,
    /// The largest cost.
    pub penalty: u16,
}

impl LinkCost {
    /// The cost of a link without losses. Changes of a metric by this much are announced at once.
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
            hysteresis: Duration::from_secs(4),
            hellos_wait: false,
            link_failure: LinkFailure::Hello,
            tell_source: true,
        }
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

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.time_keys(keys);
        let costs = [("etx", LinkCost::Etx), ("hops", LinkCost::Hops)];
        let about = "What a link costs: etx is 256 for each expected transmission, by the share of Hellos that arrive; hops is 96 \
                     for every link on which two of the last three Hellos arrived.";
        keys.about(about).word("link_cost", &mut self.link_cost, &costs);
        let mut rtt = self.rtt.unwrap_or_default();
        let about = "Whether the cost of a link grows with its round-trip time (RFC 9616); or a table of its parameters.";
        if let Some(on) = keys.switch_or_table("rtt", self.rtt.is_some(), &mut rtt, about) {
            self.rtt = on.then_some(rtt);
            self.hellos_wait = on;
        }
        let about = "Whether Hellos wait in the interface queue behind data, so that round trips include its delay, or go first \
                     like all other routing messages; if not given, as rtt.";
        keys.about(about).switch("hellos_wait", &mut self.hellos_wait);
        let about = "Half of a change of a metric reaches the smoothed metric in this time, s. A route is replaced only by one whose \
                     metric and smoothed metric are both better; 0: the metric alone decides.";
        keys.about(about).seconds("hysteresis", &mut self.hysteresis, 0.0..=1000.0);
        let failures = [("hello", LinkFailure::Hello), ("mac", LinkFailure::Mac)];
        keys.about(
            "How link failures are detected: Hellos are missing; with mac also if the MAC gives up on a packet.",
        )
        .word("link_failure", &mut self.link_failure, &failures);
        keys.about(
            "Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.",
        )
        .switch("tell_source", &mut self.tell_source);
    }
}

impl Config {
    fn time_keys(&mut self, keys: &mut dyn Visitor) {
        if keys.about("Time between Hellos, s.").seconds("hello_interval", &mut self.hello_interval, INTERVAL)
        {
            self.update_interval = self.hello_interval.saturating_mul(4);
        }
        let about = "Time between updates of all routes, s; if not given, four times hello_interval.";
        keys.about(about).seconds("update_interval", &mut self.update_interval, INTERVAL);
        if self.update_interval < self.hello_interval {
            let [found, least] = [self.update_interval, self.hello_interval].map(Duration::as_secs_f64);
            keys.refuse(
                "update_interval",
                alloc::format!("found {found}, allowed: at least hello_interval, {least}"),
            );
        }
        let about = "Changes of routes and requests wait up to this long before they are sent, s.";
        keys.about(about).seconds("max_jitter", &mut self.max_jitter, JITTER);
    }
}

impl Settings for RttCost {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Weight of the average round-trip time in the next average; 0: only the latest counts.")
            .millionths("smoothing", &mut self.smoothing);
        keys.about("Up to this round-trip time nothing is added, s.").seconds(
            "min",
            &mut self.min,
            ROUND_TRIP,
        );
        keys.about("From this round-trip time on the full penalty is added, s.").seconds(
            "max",
            &mut self.max,
            ROUND_TRIP,
        );
        keys.about("The most that is added to the cost of a link.").whole(
            "penalty",
            &mut self.penalty,
            0..=65534,
        );
        if self.max <= self.min {
            let [found, least] = [self.max, self.min].map(Duration::as_secs_f64);
            keys.refuse("max", alloc::format!("found {found}, allowed: more than min, {least}"));
        }
    }
}

/// Bounds of the time between messages, s; the largest is that of the message format.
const INTERVAL: RangeInclusive<f64> = 0.1..=655.0;
/// Bounds of a round-trip time, s.
const ROUND_TRIP: RangeInclusive<f64> = 0.0..=1000.0;
