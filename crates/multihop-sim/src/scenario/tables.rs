//! The tables of a scenario file as people write them. What they mean is in `check`.

mod radio;
mod sweep;
mod topology;
mod traffic;

pub(super) use radio::{
    FadingTable, MacTable, ModelTable, PathLossTable, RadioTable, SinrTable, ThresholdTable,
};
pub(super) use sweep::SweepTable;
pub(super) use topology::{NodeRef, PositionsTable, TopologyTable};
pub(super) use traffic::{AppTable, FlowTable, TcpTable, TransportTable};

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::document::{Fault, Node, Value};
use super::model::Series;
use super::read::{NoKeys, Read, kinds, one_of, table, wrong};
use super::values::{PositiveSeconds, Seconds, Watts, Whole, words};

table! {
    /// A simulation of a wireless multihop network.
    ScenarioTable {
        /// What results call the scenario; the file's name without its ending if not given.
        name: Option<String>,
        /// Simulated time, s.
        duration: PositiveSeconds,
        /// Time at the beginning that every metric leaves out, s.
        warmup: Seconds = 0.0,
        /// Root of every random stream.
        seed: Whole<0, { u64::MAX }> = 1,
        /// Physical layer and channel.
        radio: RadioTable = json!({}),
        /// Medium access and the interface queue.
        mac: MacTable = json!({}),
        /// Where the nodes are.
        topology: TopologyTable,
        /// How they move.
        mobility: MobilityTable = json!({}),
        /// Who forwards to whom.
        routing: RoutingTable = json!({}),
        /// Traffic.
        flow: Vec<FlowTable>,
        /// Time series to write.
        record: Option<RecordTable>,
        /// What `multihop sweep` varies.
        sweep: Option<SweepTable>,
        /// Electrical powers of a radio; without this table no energy is reported.
        energy: Option<EnergyTable>,
    }
}

kinds! {
    /// How the nodes move.
    MobilityTable by "kind" = "static" {
        /// Not at all.
        "static" => Static(NoKeys),
    }
}

kinds! {
    /// Who forwards to whom.
    RoutingTable by "protocol" = "static" {
        /// Routes of fewest hops that hold for the whole run.
        "static" => Static(StaticTable),
    }
}

table! {
    /// Routes that hold for the whole run.
    StaticTable {
        /// Routes that differ from the shortest, each as [node, destination, via]: at node, packets
        /// for destination go to via.
        next_hops: Vec<[NodeRef; 3]> = json!([]),
        /// Bytes of a second IP header in every routed packet.
        ip_extra: Whole<0, 60> = 0,
    }
}

table! {
    /// Time series to write.
    RecordTable {
        /// Time between two values, s; 0 writes each change.
        every: Seconds = 0.5,
        /// Which series.
        what: Vec<SeriesWord>,
    }
}

table! {
    /// Electrical powers of a radio, W.
    EnergyTable {
        /// While transmitting.
        transmit: Watts = 1.4,
        /// While receiving.
        receive: Watts = 0.9,
        /// While doing neither.
        idle: Watts = 0.05,
    }
}

words! {
    /// Kinds of time series.
    SeriesWord(Series) {
        "cwnd" => Series::Cwnd,
        "rtt" => Series::Rtt,
        "hops" => Series::Hops,
        "queue" => Series::Queue,
        "goodput" => Series::Goodput,
    }
}
