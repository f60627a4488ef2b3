//! The parameters of OLSR and their keys.

use alloc::format;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::{Allowed, Field, Settings, Value, Visitor};
use multihop_wire::olsr::Willingness;

use super::metric::{DELAY, LinkMetric, METRICS};
use crate::link_state::config::{INTERVAL, VALIDITY, longer};
use crate::link_state::hysteresis::Hysteresis;
use crate::settings::JITTER;

/// The parameters of an agent.
#[derive(Clone, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Implementation whose values hold: um-olsr is the agent of most ns-2 simulations, rfc is RFC 3626 with its suggested
    /// values. They differ in `own_messages_wait` and `empty_tcs`.
    #[key(then = Self::take_preset)]
    pub preset: Preset,
    /// Detection of link failures: HELLOs are missing; with mac also when the MAC gives up on a packet.
    #[key]
    pub link_failure: LinkFailure,
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
    /// Time for which a flooded message is recognised as a duplicate, s.
    ///
    /// `DUP_HOLD_TIME` of RFC 3626.
    #[key(VALIDITY)]
    pub duplicate_hold: Duration,
    /// Largest random shortening of an interval, and longest wait of messages for others that share their packet, s. An
    /// interval is shortened by half at most. If not given, a quarter of `hello_interval`.
    #[key(JITTER)]
    pub max_jitter: Duration,
    /// Whether a node's own messages wait before they leave, as forwarded ones do. um-olsr: true, rfc: false.
    #[key]
    pub own_messages_wait: bool,
    /// Largest number of messages in a packet.
    #[key(1..=64)]
    pub messages_per_packet: usize,
    /// Whether HELLOs and TCs also leave early, after changes; or a table that bounds their rate.
    #[key(with = Self::triggered_key)]
    pub triggered: Option<Triggered>,
    /// Willingness of nodes to forward packets of others: 0 never, 3 default, 7 always.
    #[key(with = Self::willingness_key)]
    pub willingness: Willingness,
    /// Number of relays that cover each two-hop neighbour, as far as there are enough.
    ///
    /// `MPR_COVERAGE` of RFC 3626.
    #[key(1..=255)]
    pub mpr_coverage: u8,
    /// Whether empty TCs follow after the last advertised neighbour is lost. um-olsr: false, rfc: true.
    ///
    /// A node sends empty TCs for `topology_hold`.
    #[key]
    pub empty_tcs: bool,
    /// Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.
    #[key]
    pub tell_source: bool,
    /// Metric of routes; `None` for routes of fewest hops.
    #[key(flatten)]
    pub metric: Option<Metric>,
    /// Neighbours that TCs list: 0 those that chose the node as relay, 1 also the node's relays, 2 all.
    #[key(name = "tc_redundancy", when = self.metric.is_none())]
    pub advertised: Advertised,
    /// Whether links are used only while most packets arrive, judged by a moving average of packets that arrive (1) and do not
    /// (0); or a table of its parameters.
    #[key(switch, when = self.metric.is_none())]
    #[key(switch, name = "link_hysteresis", when = self.metric.is_some())]
    pub hysteresis: Option<Hysteresis>,
    /// Whether changes of routes in use are counted.
    ///
    /// With a metric they always are.
    #[key(when = self.metric.is_none())]
    pub count_changes: bool,
}

/// Implementation of OLSR whose values hold.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Preset {
    /// UM-OLSR, the agent of most published ns-2 simulations.
    UmOlsr,
    /// RFC 3626 with its proposed values.
    Rfc,
}

/// The rate of HELLOs and TCs that leave early because something has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Triggered {
    /// Shortest time between an early message and the previous one of its kind, s; if not given, a tenth of `hello_interval`.
    ///
    /// Early messages are delayed at random by up to half of it, and messages of others wait at most this long.
    #[key(MIN_INTERVAL)]
    pub min_interval: Duration,
    /// Number of early messages of one kind that may follow each other at `min_interval`; after that, one more may leave in each
    /// regular interval.
    #[key(1..=100)]
    pub burst: u8,
}

/// The cost of links and how it is measured. Routes have the least cost.
#[derive(Clone, Copy, Debug, PartialEq, Settings)]
pub struct Metric {
    /// Kind of the metric: a row of the table of metrics.
    #[key(name = "metric", with = Self::kind_key)]
    pub kind: &'static LinkMetric,
    /// Weight of the latest delay in the moving average.
    #[key(millionths)]
    pub weight: u32,
    /// Clocks that measure delays: by the stamps of HELLOs, which needs clocks that agree (synchronised), or by stamps that
    /// neighbours echo (echoed).
    #[key]
    pub clocks: Clocks,
    /// Whether HELLOs wait in the interface queue behind data, so that they measure its delay, or go first like all other
    /// routing messages.
    #[key]
    pub hellos_wait: bool,
    /// Rules by which the path of a packet replaces the path of the previous one. Paths that flows reserve have none.
    pub switching: Switching,
}

/// Rules by which routes of least cost change.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Settings)]
pub struct Switching {
    /// Share of its cost by which a path must be cheaper to replace the path in use.
    #[key(millionths)]
    pub hysteresis: u32,
    /// Time after its choice for which a path in use that exists is not replaced, s.
    #[key(JITTER)]
    pub hold: Duration,
    /// Whether a node subtracts the delay that its own packets add to the links of their path.
    #[key]
    pub own_load: bool,
}

/// How the delay of a link is measured.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Clocks {
    /// All clocks agree: the delay is the time from the stamp of a HELLO to its arrival.
    Synchronised,
    /// Clocks may differ: the delay is half of a stamp's round trip, less the time that the neighbour held it (RFC
    /// 9616).
    Echoed,
}

/// Choice of the neighbours that TCs list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Advertised {
    /// Only neighbours that chose this node as their relay (MPR selectors).
    Selectors,
    /// The MPR selectors and the MPRs of this node.
    SelectorsAndMprs,
    /// Every neighbour with a symmetric link.
    Neighbours,
}

/// How link failures are detected.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum LinkFailure {
    /// A link has failed when HELLOs are missing.
    Hello,
    /// HELLOs are missing, or the MAC gives up on a packet.
    Mac,
}

impl Config {
    /// RFC 3626 with its proposed values and without its optional parts.
    pub const fn rfc() -> Self {
        let hello_interval = Duration::from_secs(2);
        Self {
            preset: Preset::Rfc,
            hello_interval,
            tc_interval: Duration::from_secs(5),
            neighbour_hold: Duration::from_secs(6),
            topology_hold: Duration::from_secs(15),
            duplicate_hold: Duration::from_secs(30),
            max_jitter: Duration::from_millis(500),
            own_messages_wait: false,
            messages_per_packet: 4,
            willingness: Willingness::DEFAULT,
            advertised: Advertised::Selectors,
            mpr_coverage: 1,
            empty_tcs: true,
            hysteresis: None,
            link_failure: LinkFailure::Hello,
            tell_source: true,
            metric: None,
            count_changes: false,
            triggered: None,
        }
    }

    /// RFC 3626 on real hosts, whose users wait for routes: HELLOs and TCs leave early after changes.
    pub const fn for_hosts() -> Self {
        Self { triggered: Some(Triggered::new()), ..Self::rfc() }
    }

    /// UM-OLSR, the agent of most published ns-2 simulations. A node's own messages wait like forwarded
    /// messages, and TCs end with the last selector.
    pub const fn um_olsr() -> Self {
        Self { preset: Preset::UmOlsr, own_messages_wait: true, empty_tcs: false, ..Self::rfc() }
    }

    /// Chooses routes of least cost by this metric; TCs then list all neighbours.
    pub const fn with_metric(self, metric: Metric) -> Self {
        Self { metric: Some(metric), advertised: Advertised::Neighbours, ..self }
    }
}

impl Default for Config {
    /// Defaults are the values of UM-OLSR for ns-2.
    fn default() -> Self {
        Self::um_olsr()
    }
}

impl Config {
    fn take_preset(&mut self, _: &mut dyn Visitor) {
        let preset = match self.preset {
            Preset::UmOlsr => Self::um_olsr(),
            Preset::Rfc => Self::rfc(),
        };
        *self = Self { metric: self.metric, advertised: self.advertised, ..preset };
    }

    /// Sets the times that follow from the interval of HELLOs (RFC 3626, section 18).
    fn follow_hello(&mut self, _: &mut dyn Visitor) {
        self.neighbour_hold = self.hello_interval * 3;
        self.max_jitter = self.hello_interval / 4;
        if let Some(triggered) = &mut self.triggered {
            triggered.min_interval = self.hello_interval / 10;
        }
    }

    fn follow_tc(&mut self, _: &mut dyn Visitor) {
        self.topology_hold = self.tc_interval * 3;
    }

    fn triggered_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let min_interval = self.hello_interval / 10;
        let mut triggered = self.triggered.unwrap_or(Triggered { min_interval, ..Triggered::new() });
        if let Some(on) = keys.switch_or_table(name, self.triggered.is_some(), &mut triggered, help) {
            self.triggered = on.then_some(triggered);
        }
    }

    fn willingness_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        keys.about(help).field(name, &mut self.willingness.0, 0..=7);
    }

    fn check(&self, keys: &mut dyn Visitor) {
        longer("neighbour_hold", self.neighbour_hold, "hello_interval", self.hello_interval, keys);
        longer("topology_hold", self.topology_hold, "tc_interval", self.tc_interval, keys);
    }
}

/// Value of `TC_REDUNDANCY` in RFC 3626.
impl Field for Advertised {
    type Bounds = ();

    fn allowed((): &()) -> Allowed {
        Allowed::Whole(0, 2)
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Whole(*self as u64))
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::Whole(0) => Self::Selectors,
            Value::Whole(1) => Self::SelectorsAndMprs,
            _ => Self::Neighbours,
        }
    }
}

impl Metric {
    fn kind_key(&mut self, name: &'static str, _: &str, keys: &mut dyn Visitor) {
        let kinds: Vec<_> = METRICS.iter().map(|kind| (kind.name, *kind)).collect();
        let costs: Vec<_> = METRICS.iter().map(|kind| kind.about).collect();
        let help = format!("Cost of a link: {}.", costs.join(", or "));
        keys.about(&help).word(name, &mut self.kind, &kinds);
    }
}

impl Metric {
    /// Whether the path of the previous packet influences the next packet's path.
    pub(super) fn keeps_paths(&self) -> bool {
        self.switching != Switching::default()
    }
}

impl Default for Metric {
    /// Default metric: average path delay with the smallest weight of its paper.
    fn default() -> Self {
        Self {
            kind: &DELAY,
            clocks: Clocks::Synchronised,
            weight: 200_000,
            hellos_wait: true,
            switching: Switching::default(),
        }
    }
}

impl Triggered {
    const fn new() -> Self {
        Self { min_interval: Duration::from_millis(200), burst: 8 }
    }
}

impl Default for Triggered {
    /// Default values for the intervals of RFC 3626.
    fn default() -> Self {
        Self::new()
    }
}

/// Bounds for the shortest time between early messages, s.
const MIN_INTERVAL: RangeInclusive<f64> = 0.01..=1000.0;
