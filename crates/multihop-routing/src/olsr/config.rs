use multihop_core::Duration;
use multihop_wire::olsr::{Quantity, Willingness};

/// Everything that can be chosen about a node's OLSR.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time between HELLOs.
    pub hello_interval: Duration,
    /// Time between TCs.
    pub tc_interval: Duration,
    /// How long what a HELLO says may be believed.
    pub neighbour_hold: Duration,
    /// How long what a TC says may be believed.
    pub topology_hold: Duration,
    /// How long a flooded message is remembered.
    pub duplicate_hold: Duration,
    /// Intervals are up to this much shorter, and messages wait up to this long for others to
    /// share a packet with.
    pub max_jitter: Duration,
    /// Whether messages of this node wait before they leave, or only those that it passes on.
    pub own_messages_wait: bool,
    /// The most messages in a packet.
    pub messages_per_packet: usize,
    /// Whether this node wants to carry traffic for others.
    pub willingness: Willingness,
    /// Which neighbours TCs list (`TC_REDUNDANCY`).
    pub advertised: Advertised,
    /// How many relays each 2-hop neighbour shall have, where there are as many (`MPR_COVERAGE`).
    pub mpr_coverage: u8,
    /// Whether empty TCs follow, for `topology_hold`, once there is nobody left to list.
    pub empty_tcs: bool,
    /// Links are only used while most packets arrive.
    pub hysteresis: Option<Hysteresis>,
    /// How broken links are found.
    pub link_failure: LinkFailure,
    /// Whether sources of packets without route are told so by ICMP.
    pub tell_source: bool,
    /// What routes are chosen by instead of hops.
    pub metric: Option<Metric>,
    /// Whether changes of routes in use are counted; they always are where there is a metric.
    pub count_changes: bool,
}

/// What a link costs, and how that is measured. Routes are those of least cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// What is measured.
    pub quantity: Quantity,
    /// How delays are measured.
    pub clocks: Clocks,
    /// Weight of the latest delay in the average, in millionths.
    pub weight: u32,
    /// A path is only left for one that is cheaper by more than this share, in millionths.
    pub hysteresis: u32,
    /// And not sooner than this after it was taken, while it exists.
    pub hold: Duration,
    /// Whether the delay that a node's own packets add is left out.
    pub own_load: bool,
    /// Whether HELLOs wait in the interface queue behind data, so that they measure its delay.
    pub hellos_wait: bool,
}

/// How the delay of a link is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Clocks {
    /// All clocks agree: from the stamp of a HELLO to its arrival.
    Synchronised,
    /// They do not: half of the round trip of a stamp, without the time that it was kept (RFC 9616).
    Echoed,
}

/// Which neighbours TCs list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Advertised {
    /// Those that have chosen this node as relay.
    Selectors,
    /// Those, and the relays of this node.
    SelectorsAndMprs,
    /// All symmetric neighbours.
    Neighbours,
}

/// How broken links are found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkFailure {
    /// HELLOs stay away.
    Hello,
    /// That, and the MAC gives up on a packet.
    Mac,
}

/// Link hysteresis (RFC 3626 §14): the quality of a link is a moving average of packets that
/// arrive (1) and packets that do not (0), in millionths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hysteresis {
    /// Weight of the latest packet.
    pub scaling: u32,
    /// Above this a link comes into use.
    pub high: u32,
    /// Below this it goes out of use.
    pub low: u32,
}

impl Config {
    /// RFC 3626 with its suggested values and without its optional parts.
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
        }
    }

    /// As UM-OLSR does it, on which published ns-2 simulations ran.
    ///
    /// The node's own messages wait like those that it passes on, and TCs stop with the last
    /// selector.
    pub const fn um_olsr() -> Self {
        Self { own_messages_wait: true, empty_tcs: false, ..Self::rfc() }
    }

    /// The same with routes by cost: TCs have to list all neighbours.
    pub const fn with_metric(self, metric: Metric) -> Self {
        Self { metric: Some(metric), advertised: Advertised::Neighbours, ..self }
    }
}

impl Default for Config {
    /// UM-OLSR's ways.
    fn default() -> Self {
        Self::um_olsr()
    }
}

impl Metric {
    /// Whether the path of the last packet matters to the next one.
    pub(super) fn keeps_paths(&self) -> bool {
        self.hysteresis > 0 || self.hold > Duration::ZERO || self.own_load
    }
}

impl Default for Metric {
    /// Average path-delay routing with the smallest weight of its paper.
    fn default() -> Self {
        Self {
            quantity: Quantity::Delay,
            clocks: Clocks::Synchronised,
            weight: 200_000,
            hysteresis: 0,
            hold: Duration::ZERO,
            own_load: false,
            hellos_wait: true,
        }
    }
}

impl Default for Hysteresis {
    fn default() -> Self {
        Self { scaling: 500_000, high: 800_000, low: 300_000 }
    }
}
