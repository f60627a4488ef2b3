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

use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Settings, Value, Visitor};
use multihop_core::{BitRate, Duration};
use multihop_radio::energy::Energy;
use serde_json::json;

use super::read::settings::Keyed;
use super::read::{Both, table};

pub(super) use data_rate::DataRateTable;
pub(super) use emulation::EmulationTable;
pub(super) use mobility::{
    GaussMarkovTable, GroupTable, ManhattanTable, MobilityTable, MovementTable, RandomWalkTable,
    RandomWaypointTable, SingleMovement, SingleNodes, SpeedValue, WalkTable,
};
pub(super) use obstacles::ObstaclesTable;
pub(super) use program::ProgramTable;
pub(super) use radio::{LinkLayer, LinkTables, RadioTable};
pub(super) use record::RecordTable;
pub(super) use routing::{ProtocolTable, RoutingTable, StaticTable};
pub(super) use sleep::SleepTable;
pub(super) use sweep::SweepTable;
pub(super) use topology::TopologyTable;
pub(super) use traffic::{Bytes, FlowEnds, FlowTable, TrafficTable};

/// A simulation of a wireless multihop network.
pub(crate) type ScenarioTable = Both<Both<Keyed<Run>, LinkTables>, Parts>;

/// What is simulated, and for how long.
pub(crate) struct Run {
    pub(crate) name: Option<String>,
    /// s.
    pub(crate) duration: f64,
    /// s.
    pub(crate) warmup: f64,
    pub(crate) seed: u64,
    /// Latitude and longitude of the point (0, 0), degrees.
    pub(crate) origin: Option<[f64; 2]>,
}

impl Default for Run {
    fn default() -> Self {
        Self { name: None, duration: 1.0, warmup: 0.0, seed: 1, origin: None }
    }
}

impl Settings for Run {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Name of the scenario in results; by default the file's name without its ending.";
        keys.about(about).text_if_set("name", &mut self.name, LONGEST_TEXT);
        keys.about("Simulated time, s.").required().number("duration", &mut self.duration, TIME_SPAN);
        let about = "Start of the run that no metric counts, s.";
        keys.about(about).number("warmup", &mut self.warmup, SECONDS);
        keys.about("Root of every random stream.").whole("seed", &mut self.seed, 0..=u64::MAX);
        let about = "Latitude and longitude of the point (0, 0), degrees: x then points east and y south, and \
                     files may have places in degrees.";
        keys.about(about).numbers_if_set("origin", &mut self.origin, -180.0..=180.0);
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
        /// Traffic.
        flow: Vec<FlowTable> = json!([]),
        /// Transfers between nodes drawn at random: a fixed number at a time; each is followed by another.
        traffic: Option<TrafficTable>,
        /// Real programs that `multihop emulate` runs; a simulation leaves them out.
        program: Vec<Keyed<ProgramTable>> = json!([]),
        /// How `multihop emulate` connects real programs to the network.
        emulation: Keyed<EmulationTable> = json!({}),
        /// Time series to write.
        record: Option<RecordTable>,
        /// What `multihop sweep` varies.
        sweep: Option<SweepTable>,
        /// Electrical powers of a radio, W, and batteries; without this table no energy is reported.
        energy: Option<Keyed<Energy>>,
        /// Measured goodput of chains, from which the expected goodput is computed.
        expected: Option<Keyed<ExpectedTable>>,
    }
}

/// A computer without a radio, on a wire to a node.
pub(crate) struct HostTable {
    pub(crate) gateway: NodeRef,
    pub(crate) name: Option<String>,
    /// An earlier host on the same wire.
    pub(crate) wire: Option<NodeRef>,
    pub(crate) rate_kbps: Option<f64>,
    pub(crate) delay: Duration,
    pub(crate) queue: Option<usize>,
    pub(crate) loss_to_host: f64,
    pub(crate) loss_from_host: f64,
}

impl Default for HostTable {
    fn default() -> Self {
        let (gateway, delay) = (NodeRef::Number(0), Duration::from_millis(10));
        Self {
            gateway,
            name: None,
            wire: None,
            rate_kbps: None,
            delay,
            queue: None,
            loss_to_host: 0.0,
            loss_from_host: 0.0,
        }
    }
}

impl Settings for HostTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "The node at the other end of the wire.";
        if let Some(gateway) = keys.about(about).required().value("gateway", Allowed::Node, None) {
            self.gateway = gateway.into();
        }
        let about = "Name of the host, which flows can use instead of its number.";
        keys.about(about).text_if_set("name", &mut self.name, LONGEST_TEXT);
        let about = "An earlier host of the same gateway whose wire this host shares, with its rate_kbps and queue; by default the \
                     host has a wire of its own.";
        self.wire = keys.about(about).value("wire", Allowed::Node, None).map(NodeRef::from);
        let about = "Bit rate of the wire in each direction, kb/s; by default 10000.";
        keys.about(about).number_if_set("rate_kbps", &mut self.rate_kbps, KILOBITS_PER_SECOND);
        keys.about("One-way delay to the host, s.").seconds("delay", &mut self.delay, SECONDS);
        let about = "Number of packets that may wait at each end of the wire; by default 50.";
        keys.about(about).whole_if_set("queue", &mut self.queue, 1..=1_000_000);
        keys.about("Chance that a packet to the host is lost on the wire.").number(
            "loss_to_host",
            &mut self.loss_to_host,
            0.0..=1.0,
        );
        keys.about("Chance that a packet from the host is lost on the wire.").number(
            "loss_from_host",
            &mut self.loss_from_host,
            0.0..=1.0,
        );
    }
}

/// Measured goodput of chains.
#[derive(Default)]
pub(crate) struct ExpectedTable {
    pub(crate) table: String,
}

impl Settings for ExpectedTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "A JSON file of hops and kb/s, such as {\"1\": 1460.0, \"2\": 720.5}, from 1 hop on \
                     without gaps; relative to the scenario's folder.";
        keys.about(about).required().text("table", &mut self.table, LONGEST_TEXT);
    }
}

/// A node by its number or by its name.
#[derive(Clone)]
pub(crate) enum NodeRef {
    /// From 0.
    Number(u64),
    /// As the layout gives it.
    Name(String),
}

impl From<Value> for NodeRef {
    fn from(value: Value) -> Self {
        match value {
            Value::Whole(n) => Self::Number(n),
            name => Self::Name(name.into_text()),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0.001 to 1e7 kb/s are 1 to 1e10 b/s"
)]
pub(crate) fn bit_rate(kbps: f64) -> BitRate {
    BitRate((kbps * 1000.0).round().max(1.0) as u64)
}

/// Names of scenarios, hosts and files.
const LONGEST_TEXT: usize = 500;
/// A time that may be zero.
const SECONDS: RangeInclusive<f64> = 0.0..=1e9;
/// A time that is not zero.
const TIME_SPAN: RangeInclusive<f64> = 0.000_001..=1e9;
/// A length that is not zero.
const METRES: RangeInclusive<f64> = 0.001..=1e7;
const KILOBITS_PER_SECOND: RangeInclusive<f64> = 0.001..=1e7;
