//! `[routing]`.

use std::borrow::Cow;

use multihop_routing::{aodv, apdr, olsr};
use multihop_wire::olsr::Quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::NodeRef;
use crate::document::{Fault, Node, Value};
use crate::read::{Both, Read, kinds, table, whole_table, wrong};
use crate::values::{Chance, Interval, Jitter, OrOff, Tick, Timeout, Validity, Whole, words};

/// `[routing]`.
pub(crate) type RoutingTable = Both<PacketTable, ProtocolTable>;

table! {
    /// What holds for every protocol.
    PacketTable {
        /// Bytes of a second IP header in every routed packet: 20 in ns-2 under AODV-UU, DSR and
        /// UM-OLSR.
        ip_extra: Whole<0, 60> = 0,
    }
}

kinds! {
    /// Who forwards to whom.
    ProtocolTable by "protocol" = "static" {
        /// Routes of fewest hops between the places at the start; they hold for the whole run.
        "static" => Static(StaticTable),
        /// Ad hoc on-demand distance vector (RFC 3561).
        "aodv" => Aodv(Box<AodvTable>),
        /// Dynamic source routing (RFC 4728).
        "dsr" => Dsr(DsrTable),
        /// Optimised link state routing (RFC 3626).
        "olsr" => Olsr(Both<OlsrTable, HopsTable>),
        /// The same with routes of least average delay (average path-delay routing).
        "apdr" => Apdr(Both<OlsrTable, Both<MetricTable, SwitchTable>>),
        /// The same with path reservation: a flow's first packet fixes the path of all that follow.
        "apdr-pr" => ApdrPr(Both<OlsrTable, Both<MetricTable, ReservationTable>>),
    }
}

table! {
    /// Routes that hold for the whole run.
    StaticTable {
        /// Routes that differ from the shortest, each as [node, destination, via]: at node, packets
        /// for destination go to via.
        next_hops: Vec<[NodeRef; 3]> = json!([]),
    }
}

table! {
    /// AODV. What is not given comes from the preset.
    AodvTable {
        /// Whose AODV: ns2 is the agent of ns-2.35, uu is AODV-UU 0.9.
        preset: AodvPreset = "ns2",
        /// How broken links are found: the MAC gives up on a packet, or HELLOs are missing.
        link_failure: AodvFailure = "mac",
        /// Whether requests reach further step by step. Both presets: true.
        expanding_ring: Option<bool>,
        /// What a node inside a route does when its link breaks: report it; look for a new way once
        /// (RFC 3561); or look for one if the packet has come more than half of its way, and never
        /// report (ns2). Not with link_failure = hello. ns2: ns2, uu: off.
        local_repair: Option<RepairWord>,
        /// Whether the destination is told when another node answers. Both presets: false.
        gratuitous_replies: Option<bool>,
        /// Whether only destinations may answer. Both presets: false.
        destination_only: Option<bool>,
        /// A route lives this long after its last use, s. 10; uu with hello: 3.
        active_route_timeout: Option<Timeout>,
        /// Lifetime that a destination puts into its replies, s. ns2: 10, uu: 20, with hello 6.
        my_route_timeout: Option<Timeout>,
        /// A route to the originator of a request lives this long after it, s. ns2: 6, uu: 5.6.
        reverse_route_life: Option<Timeout>,
        /// What each hop takes off that, s. ns2: 0, uu: 0.08.
        reverse_life_per_hop: Option<Jitter>,
        /// A request is recognised for this long, s. ns2: 6, uu: 5.6.
        request_id_life: Option<Timeout>,
        /// The hop count of a route is forgotten this long after the route, s. ns2: off, uu: 10,
        /// with hello 15.
        delete_period: Option<OrOff<Timeout>>,
        /// TTL of the first request for an unknown destination. ns2: 5, uu: 1, with hello 2.
        ttl_start: Option<Whole<1, 255>>,
        /// What the next one adds. Both presets: 2.
        ttl_increment: Option<Whole<1, 127>>,
        /// A request that had at least this TTL is followed by one for the whole network. Both
        /// presets: 7.
        ttl_threshold: Option<Whole<1, 128>>,
        /// TTL of a request for the whole network. ns2: 30, uu: 35.
        net_diameter: Option<Whole<1, 255>>,
        /// Expected time from node to node, s. ns2: 0.03, uu: 0.04.
        node_traversal: Option<Timeout>,
        /// Hops that are added to the TTL when the wait for a reply is computed, under uu. 2.
        timeout_buffer: Option<Whole<0, 255>>,
        /// Requests for the whole network before a destination is given up. ns2: 4, uu: 2.
        network_wide_requests: Option<Whole<1, 100>>,
        /// The longest wait for a reply, and the pause after a destination was given up, s; under
        /// ns2 only. 10.
        max_wait: Option<Timeout>,
        /// Timers run at multiples of this, s; off is on time. ns2: 0.5, uu: off.
        tick: Option<OrOff<Tick>>,
        /// Time between HELLOs, s. Both presets: 1.
        hello_interval: Option<Interval>,
        /// More or less up to this, s. ns2: 0.25, uu: 0.
        hello_jitter: Option<Jitter>,
        /// A neighbour is lost this long after it was last heard, s. ns2: 4.5, uu: 2.05.
        neighbour_life: Option<Timeout>,
        /// Packets that may wait for routes. ns2: 64, uu: 512.
        buffer_packets: Option<Whole<1, 100_000>>,
        /// How long each may, s. ns2: 30, uu: 10.
        buffer_life: Option<Timeout>,
        /// Packets that waited leave this far apart, s. ns2: 0.01, uu: 0.005.
        release_spacing: Option<Jitter>,
        /// Broadcasts are held back by up to this, s: under ns2 forwarded ones, under uu all. ns2:
        /// 0.01, uu: 0.02.
        jitter: Option<Jitter>,
        /// Requests, and errors, in any second; one less is let through. ns2: off, uu: 10.
        rate_limit: Option<OrOff<Whole<2, 255>>>,
        /// TTL of replies. ns2: 30, uu: 255.
        reply_ttl: Option<Whole<1, 255>>,
        /// The local repair of RFC 3561 is tried for destinations up to this many hops away. ns2:
        /// 9, uu: 10.
        max_repair_ttl: Option<Whole<1, 255>>,
    }
}

table! {
    /// DSR as in the CMU extensions to ns-2. Broken links are found by the MAC.
    DsrTable {
        /// Whether the neighbours alone are asked first; as cache_replies if not given, since
        /// without these the neighbours can only answer for themselves.
        ring0: Option<bool>,
        /// How long the neighbours have to answer, s.
        ring0_timeout: Timeout = 0.03,
        /// The unit of the gaps between searches for one target, s: 4, 16, ... of it.
        request_period: Timeout = 0.5,
        /// The longest gap between searches, s.
        rreq_backoff_max: Timeout = 10.0,
        /// Requests, and replies of the target, wait for a random time below this, s.
        broadcast_jitter: Jitter = 0.01,
        /// Whether requests for others are answered from the cache.
        cache_replies: bool = true,
        /// A way is forgotten this long after it was last learnt, s.
        cache_timeout: OrOff<Timeout> = "off",
        /// For this long nothing is learnt about a link that was reported broken, s.
        negative_cache: OrOff<Timeout> = "off",
        /// Ways that were asked for or used, at most.
        primary_cache: Whole<1, 10_000> = 30,
        /// Ways that were overheard, at most.
        secondary_cache: Whole<1, 10_000> = 64,
        /// Whether nodes learn from packets that they overhear or forward.
        snoop: bool = true,
        /// Whether the source of an overheard packet is told when the way could be shorter.
        gratuitous: bool = true,
        /// Whether packets of others that met a broken link are sent another way.
        salvage: bool = true,
        /// How often one packet may be salvaged.
        salvage_limit: Whole<0, 15> = 15,
        /// Packets that may wait for a way.
        buffer_packets: Whole<1, 100_000> = 64,
        /// How long each may, s.
        buffer_time: Timeout = 30.0,
        /// Packets that waited leave this far apart, s.
        release_gap: Jitter = 0.03,
    }
}

table! {
    /// OLSR.
    OlsrTable {
        /// Whose OLSR: um-olsr is that of most ns-2 simulations, rfc the text with its suggested
        /// values. They differ in own_messages_wait and empty_tcs.
        preset: OlsrPreset = "um-olsr",
        /// How broken links are found: HELLOs stay away, or the MAC gives up on a packet as well.
        link_failure: OlsrFailure = "hello",
        /// Time between HELLOs, s.
        hello_interval: Interval = 2.0,
        /// Time between TCs, s.
        tc_interval: Interval = 5.0,
        /// How long what a HELLO says is believed, s; three times hello_interval if not given.
        neighbour_hold: Option<Validity>,
        /// How long what a TC says is believed, s; three times tc_interval if not given.
        topology_hold: Option<Validity>,
        /// How long a flooded message is remembered, s.
        duplicate_hold: Validity = 30.0,
        /// Intervals are up to this much shorter, at most by half, and messages wait up to this
        /// long for others, s; a quarter of hello_interval if not given.
        max_jitter: Option<Jitter>,
        /// Whether a node's own messages wait before they leave. um-olsr: true, rfc: false.
        own_messages_wait: Option<bool>,
        /// The most messages in a packet.
        messages_per_packet: Whole<1, 64> = 4,
        /// Whether nodes want to carry traffic for others: 0 never, 3 as usual, 7 always.
        willingness: Whole<0, 7> = 3,
        /// How many relays each two-hop neighbour shall have.
        mpr_coverage: Whole<1, 255> = 1,
        /// Whether empty TCs follow once there is nobody left to list. um-olsr: false, rfc: true.
        empty_tcs: Option<bool>,
        /// Whether sources of packets without route are told by ICMP, if their transport listens.
        tell_source: bool = true,
    }
}

table! {
    /// Routes of fewest hops.
    HopsTable {
        /// Which neighbours TCs list: 0 those that chose the node as relay, 1 and those it chose,
        /// 2 all.
        tc_redundancy: Whole<0, 2> = 0,
        /// Whether links are only used while most packets arrive, or a table that says how many.
        hysteresis: HysteresisValue = false,
        /// Whether changes of routes in use are counted.
        count_changes: bool = false,
    }
}

table! {
    /// Routes of least cost. TCs list all neighbours, and HELLOs and TCs carry what links cost.
    MetricTable {
        /// What a link costs: the average delay of HELLOs, or the expected number of transmissions
        /// (ETX).
        metric: MetricWord = "delay",
        /// Weight of the latest delay in the average.
        weight: Chance = 0.2,
        /// How delays are measured: by stamps, since the nodes' clocks agree, or by stamps that come
        /// back, as if they did not.
        clocks: ClocksWord = "synchronised",
        /// Whether HELLOs wait in the interface queue behind data, so that they measure it, or go
        /// first as all routing messages do otherwise.
        hellos_wait: bool = true,
    }
}

table! {
    /// When routes of least cost change.
    SwitchTable {
        /// A path in use is only left for one that is cheaper by more than this share.
        hysteresis: Chance = 0.0,
        /// A path in use is not left sooner than this after it was taken, while it exists, s.
        hold: Jitter = 0.0,
        /// Whether a node leaves out the delay that its own packets add to the links of their path.
        own_load: bool = false,
    }
}

table! {
    /// Path reservation.
    ReservationTable {
        /// What a flow does when a link of its path has gone: it keeps the path all the same, or its
        /// next packet fixes another.
        on_break: OnBreakWord = "hold",
        /// A path that takes longer than this is left for the best, s.
        max_delay: OrOff<Timeout> = "off",
    }
}

table! {
    /// The quality of a link is a moving average of packets that arrive (1) and do not (0).
    HysteresisTable {
        /// Weight of the latest packet.
        scaling: Chance = 0.5,
        /// Above this a link comes into use.
        high: Chance = 0.8,
        /// Below this it goes out of use.
        low: Chance = 0.3,
    }
}

words! {
    /// Presets of AODV.
    AodvPreset(aodv::Preset) {
        "ns2" => aodv::Preset::Ns2,
        "uu" => aodv::Preset::Uu,
    }

    /// How AODV finds broken links.
    AodvFailure(aodv::LinkFailure) {
        "mac" => aodv::LinkFailure::Mac,
        "hello" => aodv::LinkFailure::Hello,
    }

    /// Local repair.
    RepairWord(aodv::LocalRepair) {
        "off" => aodv::LocalRepair::Off,
        "rfc" => aodv::LocalRepair::Rfc,
        "ns2" => aodv::LocalRepair::Ns2,
    }

    /// Presets of OLSR.
    OlsrPreset(fn() -> olsr::Config) {
        "um-olsr" => olsr::Config::um_olsr,
        "rfc" => olsr::Config::rfc,
    }

    /// What links cost.
    MetricWord(Quantity) {
        "delay" => Quantity::Delay,
        "etx" => Quantity::Transmissions,
    }

    /// What becomes of reserved paths.
    OnBreakWord(apdr::OnBreak) {
        "hold" => apdr::OnBreak::Hold,
        "reselect" => apdr::OnBreak::Reselect,
    }

    /// How delays are measured.
    ClocksWord(olsr::Clocks) {
        "synchronised" => olsr::Clocks::Synchronised,
        "echoed" => olsr::Clocks::Echoed,
    }

    /// How OLSR finds broken links.
    OlsrFailure(olsr::LinkFailure) {
        "hello" => olsr::LinkFailure::Hello,
        "mac" => olsr::LinkFailure::Mac,
    }
}

/// Whether there is hysteresis, or its parameters.
pub(crate) enum HysteresisValue {
    /// With the parameters of the RFC, or not at all.
    Plain(bool),
    /// With parameters.
    Table(HysteresisTable),
}

impl Read for HysteresisValue {
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        match &node.value {
            Value::Bool(on) => Some(Self::Plain(*on)),
            Value::Table(_) => whole_table(node, path, faults).map(Self::Table),
            _ => wrong(node, path, "true, false, or a table such as { scaling = 0.5 }", faults),
        }
    }
}

impl JsonSchema for HysteresisValue {
    fn schema_name() -> Cow<'static, str> {
        "HysteresisValue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, generator.subschema_for::<HysteresisTable>()] })
    }
}
