//! The tables of a scenario file. Their meaning is in `check`.

mod mobility;
mod radio;
mod routing;
mod sweep;
mod topology;
mod traffic;

pub(super) use mobility::{
    MobilityTable, MovementTable, RandomWalkTable, RandomWaypointTable, SpeedValue, WaypointsTable,
};
pub(super) use radio::{
    FadingTable, MacTable, ModelTable, PathLossTable, PhyTable, RadioTable, RangeTable, SinrTable,
    ThresholdTable,
};
pub(super) use routing::{ProtocolTable, RoutingTable, StaticTable};
pub(super) use sweep::SweepTable;
pub(super) use topology::{NodeRef, PositionsTable, TopologyTable};
pub(super) use traffic::{AppTable, BytesValue, DrawnApp, FlowTable, TrafficTable};

use serde_json::json;

use super::model::Series;
use super::read::table;
use super::values::{KilobitsPerSecond, PositiveSeconds, Seconds, Watts, Whole, words};

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
        /// How they move; not at all without this table.
        mobility: Option<MobilityTable>,
        /// Who forwards to whom.
        routing: RoutingTable = json!({}),
        /// Computers without a radio, each on a wire to a node.
        host: Vec<HostTable> = json!([]),
        /// Traffic.
        flow: Vec<FlowTable> = json!([]),
        /// Transfers between nodes drawn at random.
        traffic: Option<TrafficTable>,
        /// Time series to write.
        record: Option<RecordTable>,
        /// What `multihop sweep` varies.
        sweep: Option<SweepTable>,
        /// Electrical powers of a radio; without this table no energy is reported.
        energy: Option<EnergyTable>,
        /// What chains were measured to deliver, for the goodput that is to be expected.
        expected: Option<ExpectedTable>,
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
    /// A computer without a radio, on a wire to a node. Hosts are numbered after the nodes. The mesh
    /// carries what is for a host, or from it, to and from its gateway.
    HostTable {
        /// The node at the other end of the wire.
        gateway: NodeRef,
        /// What flows call the host, besides its number.
        name: Option<String>,
        /// Of the wire, either way, kb/s.
        rate_kbps: KilobitsPerSecond = 10_000.0,
        /// Of the wire, one way, s.
        delay: Seconds = 0.01,
        /// Packets that may wait at either end.
        queue: Whole<1, 1_000_000> = 50,
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

table! {
    /// What chains were measured to deliver.
    ExpectedTable {
        /// A JSON file of hops and kb/s, such as {"1": 1460.0, "2": 720.5}, from 1 hop on without
        /// gaps; relative to the scenario's folder.
        table: String,
    }
}

words! {
    /// Kinds of time series.
    SeriesWord(Series) {
        "cwnd" => Series::Cwnd,
        "rtt" => Series::Rtt,
        "state" => Series::State,
        "rate" => Series::Rate,
        "cov" => Series::Cov,
        "idd" => Series::Idd,
        "iad" => Series::Iad,
        "stt" => Series::Stt,
        "por" => Series::Por,
        "plr" => Series::Plr,
        "network" => Series::Network,
        "hops" => Series::Hops,
        "shortest" => Series::Shortest,
        "queue" => Series::Queue,
        "goodput" => Series::Goodput,
    }
}
