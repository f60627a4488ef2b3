//! The tables of a scenario file: keys, defaults, bounds, descriptions. Their meaning is in `check`.

mod data_rate;
mod emulation;
mod mobility;
mod obstacles;
mod program;
mod radio;
mod record;
mod routing;
mod sleep;
mod sweep;
mod topology;
mod traffic;

use multihop_core::settings::{Allowed, Field, Settings, Value, Visitor};
use multihop_core::{BitRate, Duration};
use multihop_radio::energy::Energy;
use serde_json::json;

use super::bounds::{KILOBITS_PER_SECOND, LONGEST_TEXT, METRES, METRES_AWAY, SECONDS, TIME_SPAN};
use super::read::settings::Keyed;
use super::read::{Both, table};

pub(super) use data_rate::DataRateTable;
pub(super) use emulation::EmulationTable;
pub(super) use mobility::{
    GaussMarkovTable, GroupTable, ManhattanTable, MobilityTable, MovementFile, MovementTable,
    RandomWalkTable, RandomWaypointTable, SingleMovement, SingleNodes, SpeedValue, WalkTable,
};
pub(super) use obstacles::ObstaclesTable;
pub(super) use program::ProgramTable;
pub(super) use radio::{LinkLayer, LinkTables, RadioTable};
pub(super) use record::RecordTable;
pub(super) use routing::{ProtocolTable, RoutingTable, StaticTable};
pub(super) use sleep::SleepTable;
pub(super) use sweep::SweepTable;
pub(super) use topology::TopologyTable;
pub(super) use traffic::{Bytes, FlowEnds, FlowTable, FlowTransport, ParetoBytes, TrafficTable};

/// A simulation of a wireless multihop network.
pub(crate) type ScenarioTable = Both<Both<Keyed<Run>, LinkTables>, Parts>;

/// Keys of the run as a whole: name, duration, warm-up and seed.
#[derive(Settings)]
#[settings(check = Self::check)]
pub(crate) struct Run {
    /// Name of the scenario in results; by default the file's name without its ending.
    #[key(LONGEST_TEXT)]
    pub(crate) name: Option<String>,
    /// Simulated time of the run, s.
    #[key(TIME_SPAN, required)]
    pub(crate) duration: f64,
    /// Start of the run that no metric counts, s.
    #[key(SECONDS)]
    pub(crate) warmup: f64,
    /// Root of every random stream.
    #[key(0..=u64::MAX, default = 1)]
    pub(crate) seed: u64,
    /// Latitude and longitude of the point (0, 0), degrees: x then points east and y south, and files may have places in degrees.
    #[key(-180.0..=180.0)]
    pub(crate) origin: Option<[f64; 2]>,
}

impl Run {
    fn check(&self, keys: &mut dyn Visitor) {
        if let Some([latitude, _]) = self.origin.filter(|[latitude, _]| latitude.abs() > 90.0) {
            keys.refuse("origin", format!("found {latitude}, allowed: a latitude from -90 to 90"));
        }
    }
}

table! {
    /// The tables of the file.
    Parts {
        /// Bit rates of unicast data that differ from radio.rate, by sender and receiver; with mac.rate_control fixed.
        data_rate: Vec<Keyed<DataRateTable>> = json!([]),
        /// Where the nodes are.
        topology: Keyed<TopologyTable>,
        /// How the nodes move; without this table they do not. The initial positions of moving nodes come
        /// from this table; the topology gives only their number and names.
        mobility: Option<MobilityTable>,
        /// Houses and other obstacles, which weaken radio signals that pass through them; with radio.model
        /// sinr.
        obstacles: Option<Keyed<ObstaclesTable>>,
        /// When radios are asleep: they neither transmit nor receive.
        sleep: Vec<Keyed<SleepTable>> = json!([]),
        /// Who forwards to whom.
        routing: RoutingTable = json!({}),
        /// Computers without a radio, each on a wire to a node. Hosts are numbered after the nodes. The
        /// mesh carries the packets of a host from and to its gateway.
        host: Vec<Keyed<HostTable>> = json!([]),
        /// Flows of data between two nodes, each with an application and a transport.
        flow: Vec<FlowTable> = json!([]),
        /// Transfers between nodes drawn at random: a fixed number at a time; each is followed by another.
        traffic: Option<TrafficTable>,
        /// Real programs that `multihop emulate` runs; a simulation leaves them out.
        program: Vec<Keyed<ProgramTable>> = json!([]),
        /// How `multihop emulate` connects real programs to the network.
        emulation: Keyed<EmulationTable> = json!({}),
        /// Time series to write.
        record: Option<RecordTable>,
        /// Keys that `multihop sweep` varies, with their values.
        sweep: Option<SweepTable>,
        /// Electrical powers of a radio, W, and batteries; without this table no energy is reported.
        energy: Option<Keyed<Energy>>,
        /// Measured goodput of chains, from which the expected goodput is computed.
        expected: Option<Keyed<ExpectedTable>>,
    }
}

/// A computer without a radio, on a wire to a node.
#[derive(Settings)]
pub(crate) struct HostTable {
    /// Node at the other end of the wire.
    #[key(required)]
    pub(crate) gateway: NodeRef,
    /// Name of the host, which flows can use instead of its number.
    #[key(LONGEST_TEXT)]
    pub(crate) name: Option<String>,
    /// Earlier host of the same gateway whose wire this host shares, with its `rate_kbps` and queue; by default the host has a wire of
    /// its own.
    #[key]
    pub(crate) wire: Option<NodeRef>,
    /// Bit rate of the wire in each direction, kb/s; by default 10000.
    #[key(KILOBITS_PER_SECOND, name = "rate_kbps")]
    pub(crate) rate: Option<BitRate>,
    /// Trace of the rate to the host, in the format of mahimahi, which replaces `rate_kbps`: in each line the millisecond at which
    /// 1500 bytes can be delivered; the file repeats. A path relative to the scenario's folder.
    #[key(LONGEST_TEXT)]
    pub(crate) trace_to_host: Option<String>,
    /// Trace of the rate from the host, in the format of mahimahi, which replaces `rate_kbps`. A path relative to the scenario's folder.
    #[key(LONGEST_TEXT)]
    pub(crate) trace_from_host: Option<String>,
    /// One-way delay to the host, s.
    #[key(SECONDS, default = Duration::from_millis(10))]
    pub(crate) delay: Duration,
    /// Number of packets that may wait at each end of the wire; by default 50.
    #[key(1..=1_000_000)]
    pub(crate) queue: Option<usize>,
    /// Probability that a packet to the host is lost on the wire.
    #[key(0.0..=1.0)]
    pub(crate) loss_to_host: f64,
    /// Probability that a packet from the host is lost on the wire.
    #[key(0.0..=1.0)]
    pub(crate) loss_from_host: f64,
}

/// Measured goodput of chains.
#[derive(Default, Settings)]
pub(crate) struct ExpectedTable {
    /// JSON file of hops and kb/s, such as {"1": 1460.0, "2": 720.5}, from 1 hop on without gaps; relative to the scenario's folder.
    #[key(LONGEST_TEXT, required)]
    pub(crate) table: String,
}

/// A node by its number or by its name.
#[derive(Clone)]
pub(crate) enum NodeRef {
    /// Number of the node, counted from 0.
    Number(u64),
    /// Name of the node in the layout.
    Name(String),
}

impl Default for NodeRef {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl Field for NodeRef {
    type Bounds = ();

    fn allowed((): &()) -> Allowed {
        Allowed::Node
    }

    fn value(&self) -> Option<Value> {
        Some(match self {
            Self::Number(n) => Value::Whole(*n),
            Self::Name(name) => Value::Text(name.clone()),
        })
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::Whole(n) => Self::Number(n),
            name => Self::Name(name.into_text()),
        }
    }
}
