//! `[routing]`.

use std::borrow::Cow;

use multihop_routing::{aodv, apdr, dsr, olsr};
use multihop_wire::olsr::Quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::NodeRef;
use crate::document::{Fault, Node, Value};
use crate::read::settings::{Keyed, Variants};
use crate::read::{Both, Read, kinds, table, whole_table, wrong};
use crate::values::{Chance, Interval, Jitter, OrOff, Timeout, Validity, Whole, words};

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
        "aodv" => Aodv(Box<Keyed<aodv::Config>>),
        /// Dynamic source routing (RFC 4728).
        "dsr" => Dsr(Keyed<dsr::Config>),
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

impl Variants for aodv::Config {
    fn variants() -> Vec<Self> {
        let presets = [aodv::Preset::Ns2, aodv::Preset::Uu];
        let failures = [aodv::LinkFailure::Mac, aodv::LinkFailure::Hello];
        presets.iter().flat_map(|&preset| failures.map(|failure| Self::new(preset, failure))).collect()
    }
}

impl Variants for dsr::Config {}

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
