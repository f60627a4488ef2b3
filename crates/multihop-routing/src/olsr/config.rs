//! The parameters of OLSR and their keys.

use alloc::format;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};
use multihop_wire::olsr::Willingness;

use super::metric::{DELAY, LinkMetric, METRICS};
use crate::settings::JITTER;

/// The parameters of an agent.
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
    /// How long a flooded message is recognised as a duplicate (`DUP_HOLD_TIME`).
    pub duplicate_hold: Duration,
    /// Intervals are shorter by a random time up to this, and messages wait up to this long for
    /// others that share their packet.
    pub max_jitter: Duration,
    /// Whether messages of this node wait before they leave, or only those that it forwards.
    pub own_messages_wait: bool,
    /// Largest number of messages in a packet.
    pub messages_per_packet: usize,
    /// This node's willingness to forward packets of others.
    pub willingness: Willingness,
    /// Which neighbours TCs list (`TC_REDUNDANCY`).
    pub advertised: Advertised,
    /// How many relays cover each 2-hop neighbour, as far as there are enough (`MPR_COVERAGE`).
    pub mpr_coverage: u8,
    /// Whether empty TCs follow, for `topology_hold`, after the last advertised neighbour is lost.
    pub empty_tcs: bool,
    /// Links are used only while most packets arrive.
    pub hysteresis: Option<Hysteresis>,
    /// How link failures are detected.
    pub link_failure: LinkFailure,
    /// Whether an ICMP error informs the source of a packet without a route.
    pub tell_source: bool,
    /// The metric of routes; hops if `None`.
    pub metric: Option<Metric>,
    /// Whether changes of routes in use are counted; with a metric they always are.
    pub count_changes: bool,
    /// HELLOs and TCs also leave early, after changes.
    pub triggered: Option<Triggered>,
}

/// The rate of HELLOs and TCs that leave early because something has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Triggered {
    /// Shortest time between an early message and the previous one of its kind. Early messages are delayed at random by
    /// up to half of it, and messages of others wait at most this long.
    pub min_interval: Duration,
    /// Early messages that may follow each other this closely. From then on one more may leave in each regular interval.
    pub burst: u8,
}

/// The cost of links and how it is measured. Routes have the least cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// What a link costs.
    pub kind: &'static LinkMetric,
    /// How delays are measured.
    pub clocks: Clocks,
    /// Weight of the latest delay in the moving average, in millionths.
    pub weight: u32,
    /// A path is replaced only by one that is cheaper by more than this share, in millionths.
    pub hysteresis: u32,
    /// A path that exists is not replaced within this time after it was chosen.
    pub hold: Duration,
    /// Whether a node subtracts the delay that its own packets add.
    pub own_load: bool,
    /// Whether HELLOs queue behind data in the interface queue, and so measure its delay.
    pub hellos_wait: bool,
}

/// How the delay of a link is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Clocks {
    /// All clocks agree: the delay is the time from the stamp of a HELLO to its arrival.
    Synchronised,
    /// They do not: the delay is half of a stamp's round trip, less the time that the neighbour held
    /// it (RFC 9616).
    Echoed,
}

/// Which neighbours TCs list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Advertised {
    /// Those that chose this node as relay.
    Selectors,
    /// The MPR selectors and the MPRs of this node.
    SelectorsAndMprs,
    /// All symmetric neighbours.
    Neighbours,
}

/// How link failures are detected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkFailure {
    /// HELLOs are missing.
    Hello,
    /// HELLOs are missing, or the MAC gives up on a packet.
    Mac,
}

/// Link hysteresis (RFC 3626 §14): the quality of a link is a moving average of received packets
/// (1) and lost packets (0), in millionths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hysteresis {
    /// Weight of the latest packet.
    pub scaling: u32,
    /// A link with a higher quality is used again.
    pub high: u32,
    /// A link with a lower quality is no longer used.
    pub low: u32,
}

impl Config {
    /// RFC 3626 with its proposed values and without its optional parts.
    pub const fn rfc() -> Self {
        let hello_interval = Duration::from_secs(2);
        Self {
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

    /// UM-OLSR, the agent of most published ns-2 simulations.
    ///
    /// The node's own messages wait like those that it forwards, and TCs stop with the last selector.
    pub const fn um_olsr() -> Self {
        Self { own_messages_wait: true, empty_tcs: false, ..Self::rfc() }
    }

    /// The same with routes of least cost, for which TCs list all neighbours.
    pub const fn with_metric(self, metric: Metric) -> Self {
        Self { metric: Some(metric), advertised: Advertised::Neighbours, ..self }
    }
}

impl Default for Config {
    /// UM-OLSR.
    fn default() -> Self {
        Self::um_olsr()
    }
}

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.preset_keys(keys);
        self.interval_keys(keys);
        self.message_keys(keys);
        self.relay_keys(keys);
        match &mut self.metric {
            None => self.hops_keys(keys),
            Some(metric) => {
                metric.keys(keys);
                hysteresis_key("link_hysteresis", &mut self.hysteresis, keys);
            }
        }
    }
}

impl Config {
    fn preset_keys(&mut self, keys: &mut dyn Visitor) {
        let presets: &[(_, fn() -> Self)] = &[("um-olsr", Self::um_olsr), ("rfc", Self::rfc)];
        let about = "Whose OLSR: um-olsr is the agent of most ns-2 simulations, rfc is RFC 3626 with its suggested \
                     values. They differ in own_messages_wait and empty_tcs.";
        if let Some(preset) = keys.about(about).choice("preset", Some("um-olsr"), presets) {
            *self = Self { metric: self.metric, advertised: self.advertised, ..preset() };
        }
        let failures = [("hello", LinkFailure::Hello), ("mac", LinkFailure::Mac)];
        keys.about(
            "How link failures are detected: HELLOs are missing; with mac also if the MAC gives up on a packet.",
        )
        .word("link_failure", &mut self.link_failure, &failures);
    }

    /// The intervals and the times that follow them (RFC 3626, section 18).
    fn interval_keys(&mut self, keys: &mut dyn Visitor) {
        if keys.about("Time between HELLOs, s.").seconds("hello_interval", &mut self.hello_interval, INTERVAL)
        {
            self.neighbour_hold = self.hello_interval * 3;
            self.max_jitter = self.hello_interval / 4;
            if let Some(triggered) = &mut self.triggered {
                triggered.min_interval = self.hello_interval / 10;
            }
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
        let about = "How long a flooded message is remembered, s.";
        keys.about(about).seconds("duplicate_hold", &mut self.duplicate_hold, VALIDITY);
    }

    fn message_keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Intervals are up to this much shorter, at most by half, and messages wait up to this long for \
                     others, s; if not given, a quarter of hello_interval.";
        keys.about(about).seconds("max_jitter", &mut self.max_jitter, JITTER);
        keys.about("Whether a node's own messages wait before they leave. um-olsr: true, rfc: false.")
            .switch("own_messages_wait", &mut self.own_messages_wait);
        keys.about("Largest number of messages in a packet.").whole(
            "messages_per_packet",
            &mut self.messages_per_packet,
            1..=64,
        );
        let min_interval = self.hello_interval / 10;
        let mut triggered = self.triggered.unwrap_or(Triggered { min_interval, ..Triggered::new() });
        let about =
            "Whether HELLOs and TCs also leave early, after changes; or a table that bounds their rate.";
        if let Some(on) = keys.switch_or_table("triggered", self.triggered.is_some(), &mut triggered, about) {
            self.triggered = on.then_some(triggered);
        }
    }

    fn relay_keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Willingness of nodes to carry traffic for others: 0 never, 3 default, 7 always.").whole(
            "willingness",
            &mut self.willingness.0,
            0..=7,
        );
        keys.about("How many relays cover each two-hop neighbour.").whole(
            "mpr_coverage",
            &mut self.mpr_coverage,
            1..=255,
        );
        keys.about("Whether empty TCs follow after the last advertised neighbour is lost. um-olsr: false, rfc: true.")
            .switch("empty_tcs", &mut self.empty_tcs);
        keys.about(
            "Whether an ICMP error informs the source of a packet without a route, if its transport handles such errors.",
        )
        .switch("tell_source", &mut self.tell_source);
    }

    /// For routes of fewest hops.
    fn hops_keys(&mut self, keys: &mut dyn Visitor) {
        const LISTS: [Advertised; 3] =
            [Advertised::Selectors, Advertised::SelectorsAndMprs, Advertised::Neighbours];
        let mut redundancy = LISTS.iter().position(|list| *list == self.advertised).unwrap_or_default();
        let about = "Which neighbours TCs list: 0 those that chose the node as relay, 1 also the node's relays, 2 all.";
        if keys.about(about).whole("tc_redundancy", &mut redundancy, 0..=2) {
            self.advertised = LISTS[redundancy];
        }
        hysteresis_key("hysteresis", &mut self.hysteresis, keys);
        keys.about("Whether changes of routes in use are counted.")
            .switch("count_changes", &mut self.count_changes);
    }

    /// When routes of least cost change.
    pub(crate) fn switch_keys(&mut self, keys: &mut dyn Visitor) {
        let Some(metric) = &mut self.metric else { return };
        keys.about("A path in use is replaced only by one that is cheaper by more than this share.")
            .millionths("hysteresis", &mut metric.hysteresis);
        keys.about("A path in use that exists is not replaced within this time after it was chosen, s.")
            .seconds("hold", &mut metric.hold, JITTER);
        keys.about("Whether a node subtracts the delay that its own packets add to the links of their path.")
            .switch("own_load", &mut metric.own_load);
    }
}

impl Settings for Metric {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let kinds: Vec<_> = METRICS.iter().map(|kind| (kind.name, *kind)).collect();
        let costs: Vec<_> = METRICS.iter().map(|kind| kind.about).collect();
        let about = format!("What a link costs: {}.", costs.join(", or "));
        keys.about(&about).word("metric", &mut self.kind, &kinds);
        keys.about("Weight of the latest delay in the average.").millionths("weight", &mut self.weight);
        let clocks = [("synchronised", Clocks::Synchronised), ("echoed", Clocks::Echoed)];
        let about = "How delays are measured: by the stamps of HELLOs, which needs clocks that agree, or by stamps that \
                     neighbours echo, which does not.";
        keys.about(about).word("clocks", &mut self.clocks, &clocks);
        let about = "Whether HELLOs wait in the interface queue behind data, so that they measure its delay, or go first \
                     like all other routing messages.";
        keys.about(about).switch("hellos_wait", &mut self.hellos_wait);
    }
}

impl Settings for Hysteresis {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Weight of the latest packet.").millionths("scaling", &mut self.scaling);
        keys.about("Above this quality a link is used again.").millionths("high", &mut self.high);
        keys.about("Below this quality a link is no longer used.").millionths("low", &mut self.low);
        if self.high <= self.low {
            let (found, least) = (f64::from(self.high) / 1e6, f64::from(self.low) / 1e6);
            keys.refuse("high", format!("found {found}, allowed: more than low, {least}"));
        }
    }
}

impl Settings for Triggered {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Shortest time between an early message and the previous one of its kind, s; if not given, a tenth of \
                     hello_interval.";
        keys.about(about).seconds("min_interval", &mut self.min_interval, MIN_INTERVAL);
        let about = "Early messages of one kind that may follow each other this closely; from then on one more may leave in \
                     each regular interval.";
        keys.about(about).whole("burst", &mut self.burst, 1..=100);
    }
}

/// Link hysteresis, under the name that it has among the keys of a protocol.
pub(crate) fn hysteresis_key(
    name: &'static str,
    hysteresis: &mut Option<Hysteresis>,
    keys: &mut dyn Visitor,
) {
    let mut inner = hysteresis.unwrap_or_default();
    let about = "Whether links are used only while most packets arrive, judged by a moving average of packets that \
                 arrive (1) and do not (0); or a table of its parameters.";
    if let Some(on) = keys.switch_or_table(name, hysteresis.is_some(), &mut inner, about) {
        *hysteresis = on.then_some(inner);
    }
}

/// Refuses a hold time that is not longer than the interval.
pub(crate) fn longer(
    name: &'static str,
    hold: Duration,
    than: &str,
    interval: Duration,
    keys: &mut dyn Visitor,
) {
    if hold <= interval {
        let (found, least) = (hold.as_secs_f64(), interval.as_secs_f64());
        keys.refuse(name, format!("found {found}, allowed: more than {than}, {least}"));
    }
}

impl Metric {
    /// Whether the path of the previous packet matters for the next one.
    pub(super) fn keeps_paths(&self) -> bool {
        self.hysteresis > 0 || self.hold > Duration::ZERO || self.own_load
    }
}

impl Default for Metric {
    /// Average path-delay routing with the smallest weight of its paper.
    fn default() -> Self {
        Self {
            kind: &DELAY,
            clocks: Clocks::Synchronised,
            weight: 200_000,
            hysteresis: 0,
            hold: Duration::ZERO,
            own_load: false,
            hellos_wait: true,
        }
    }
}

impl Triggered {
    const fn new() -> Self {
        Self { min_interval: Duration::from_millis(200), burst: 8 }
    }
}

impl Default for Triggered {
    /// The values for the intervals of RFC 3626.
    fn default() -> Self {
        Self::new()
    }
}

impl Default for Hysteresis {
    fn default() -> Self {
        Self { scaling: 500_000, high: 800_000, low: 300_000 }
    }
}

/// Bounds of the time between messages, s.
pub(crate) const INTERVAL: RangeInclusive<f64> = 0.1..=1000.0;
/// Bounds of the shortest time between early messages, s.
const MIN_INTERVAL: RangeInclusive<f64> = 0.01..=1000.0;
/// Bounds of a validity time, s; the largest is that of the message format (RFC 3626, section 3.3.2).
pub(crate) const VALIDITY: RangeInclusive<f64> = 0.1..=3968.0;
