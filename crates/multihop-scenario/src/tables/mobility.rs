//! Keys of the table `[mobility]`.

use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::{Allowed, Field, Settings, Value};
use multihop_radio::mobility::Start;

use serde_json::json;

use super::{LONGEST_TEXT, METRES, METRES_AWAY, NodeRef, SECONDS, TIME_SPAN};
use crate::read::settings::Keyed;
use crate::read::{Both, table};

/// Table `[mobility]`: single nodes, and the movement of all others.
pub(crate) type MobilityTable = Both<SingleNodes, Keyed<MovementTable>>;

/// Table `[[mobility.node]]`: nodes and their movement.
pub(crate) type SingleNodeTable = Both<Keyed<MovedNodes>, Keyed<SingleMovement>>;

table! {
    /// Nodes with a movement of their own.
    SingleNodes {
        /// Nodes that move otherwise than the kind of this table says.
        node: Vec<SingleNodeTable> = json!([]),
    }
}

/// The nodes that an entry of `[[mobility.node]]` moves.
#[derive(Default, Settings)]
pub(crate) struct MovedNodes {
    /// Node, or array of nodes, each by its number or name.
    #[key(name = "node", required)]
    pub(crate) nodes: OneOrMore,
}

/// Nodes that users write as one node or as an array.
#[derive(Default)]
pub(crate) struct OneOrMore(pub(crate) Vec<NodeRef>);

impl Field for OneOrMore {
    type Bounds = ();

    fn allowed((): &()) -> Allowed {
        Allowed::Node.or(Allowed::Node.list())
    }

    fn value(&self) -> Option<Value> {
        self.0.value()
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::List(_) => Self(Vec::of_value(value)),
            node => Self(vec![NodeRef::of_value(node)]),
        }
    }
}

/// How the nodes move. The initial positions of moving nodes come from this table; the topology gives
/// only their number and names.
#[derive(Default, Settings)]
#[settings(tag = "kind")]
pub(crate) enum MovementTable {
    /// The nodes do not move.
    #[default]
    Static,
    /// Each node moves straight to a place drawn uniformly, at a speed drawn uniformly, and then to the next.
    RandomWaypoint(RandomWaypointTable),
    /// Each node moves in one direction drawn uniformly after another, and is reflected at the borders.
    RandomWalk(RandomWalkTable),
    /// The nodes follow paths given in the scenario.
    Waypoints {
        /// Path of each node: a list of [time, x, y], s and m. A node waits at the first, goes straight to each in turn and stays at
        /// the last; one with an empty list stays where the topology has it.
        #[key(METRES_AWAY, required)]
        waypoints: Vec<Vec<[f64; 3]>>,
    },
    /// The nodes follow the paths of an ns-2 script, as setdest, BonnMotion and SUMO write it.
    Ns2(MovementFile),
    /// The nodes follow the paths of a file in BonnMotion's native format.
    Bonnmotion(MovementFile),
    /// The nodes are the vehicles and persons of SUMO's output of floating car data.
    Sumo {
        /// The output of SUMO.
        #[key(flatten)]
        file: MovementFile,
        /// Whether x and y are longitude and latitude, as with --fcd-output.geo; needs origin.
        #[key]
        degrees: bool,
    },
    /// The nodes are the tracks of a GPX file; needs origin.
    Gpx(MovementFile),
    /// Each node changes speed and direction at intervals; new values depend on the previous ones.
    GaussMarkov(GaussMarkovTable),
    /// Each node follows the streets of a town with rectangular blocks, and turns at crossings.
    Manhattan(ManhattanTable),
    /// Reference points move by random waypoint, and the nodes of each group move around their reference point.
    Group {
        /// Movement of every group.
        #[key(flatten)]
        group: GroupTable,
        /// Number of nodes in each group, by successive numbers; the last group may have fewer.
        #[key(1..=100_000, required, default = 1)]
        size: u32,
    },
}

/// How the nodes of an entry of `[[mobility.node]]` move.
#[derive(Default, Settings)]
#[settings(tag = "kind", required)]
pub(crate) enum SingleMovement {
    /// From its place in the topology the node goes to one place after another, at constant speed.
    Path(WalkTable),
    /// The node is at given places at given times, and goes straight from each to the next.
    Waypoints {
        /// Waypoints of the node: a list of [time, x, y], s and m. The node waits at the first, goes straight to each in turn and stays
        /// at the last.
        #[key(METRES_AWAY, required)]
        waypoints: Vec<[f64; 3]>,
    },
    /// The nodes do not move.
    #[default]
    Static,
    /// Each node moves straight to a place drawn uniformly, at a speed drawn uniformly, and then to the next.
    RandomWaypoint(RandomWaypointTable),
    /// Each node moves in one direction drawn uniformly after another, and is reflected at the borders.
    RandomWalk(RandomWalkTable),
    /// Each node changes speed and direction at intervals; new values depend on the previous ones.
    GaussMarkov(GaussMarkovTable),
    /// Each node follows the streets of a town with rectangular blocks, and turns at crossings.
    Manhattan(ManhattanTable),
    /// Reference points move by random waypoint, and the nodes of each group move around their reference point.
    Group(GroupTable),
}

/// File with the movement of all nodes.
#[derive(Default, Settings)]
pub(crate) struct MovementFile {
    /// The file, relative to the scenario's folder.
    #[key(LONGEST_TEXT, required)]
    pub(crate) file: String,
}

/// Keys of Gauss-Markov mobility, whose speed and direction remember their previous values.
#[derive(Settings)]
pub(crate) struct GaussMarkovTable {
    /// Width and height of the area, m; by default those of the topology random.
    #[key(METRES)]
    pub(crate) area: Option<[f64; 2]>,
    /// Memory: the autocorrelation of speed and direction from one interval to the next. 0 forgets them, 1 keeps them for ever.
    #[key(0.0..=1.0, default = 0.75)]
    pub(crate) alpha: f64,
    /// Mean speed, m/s.
    #[key(SPEED, required)]
    pub(crate) speed: f64,
    /// Standard deviation of the speed, m/s. Speeds are never below 0 or more than four standard deviations above the mean.
    #[key(SPEED, default = 1.0)]
    pub(crate) speed_deviation: f64,
    /// Mean direction, degrees from the x axis to the y axis, which grows downwards. Without it each node has a mean direction of its
    /// own, drawn uniformly. It is mirrored where the node meets a border.
    #[key(-360.0..=360.0)]
    pub(crate) direction: Option<f64>,
    /// Standard deviation of the direction, degrees.
    #[key(0.0..=360.0, default = 30.0)]
    pub(crate) direction_deviation: f64,
    /// Time between two changes of speed and direction, s.
    #[key(TIME_SPAN, default = Duration::from_secs(1))]
    pub(crate) interval: Duration,
}

/// Streets of a town.
#[derive(Settings)]
pub(crate) struct ManhattanTable {
    /// Width and height of the area, m; by default those of the topology random.
    #[key(METRES)]
    pub(crate) area: Option<[f64; 2]>,
    /// Number of blocks in a row and in a column. Streets run between them and along the borders of the area.
    #[key(1..=10_000, required, default = [1; 2])]
    pub(crate) blocks: [u32; 2],
    /// Slowest and fastest speed, m/s; drawn uniformly at each crossing.
    #[key(MOVING_SPEED, required, default = [1.0; 2])]
    pub(crate) speed: [f64; 2],
    /// Probability of turning at a crossing, half of it to each side.
    #[key(0.0..=1.0, default = 0.5)]
    pub(crate) turn: f64,
}

/// Keys of mobility in groups, whose nodes follow a moving centre.
#[derive(Settings)]
pub(crate) struct GroupTable {
    /// Width and height of the area, m; by default those of the topology random.
    #[key(METRES)]
    pub(crate) area: Option<[f64; 2]>,
    /// Slowest and fastest speed of reference points, m/s; drawn uniformly for each trip.
    #[key(SPEED, required, default = [1.0; 2])]
    pub(crate) speed: [f64; 2],
    /// Pause of reference points after each trip, s.
    #[key(SECONDS)]
    pub(crate) pause: Duration,
    /// Beginning of the movement: stationary starts in the steady state, classic as setdest does, with uniform places and a pause.
    #[key(default = Start::Stationary)]
    pub(crate) start: Start,
    /// Largest distance of a node from its reference point, m. Reference points stay this far away from the borders of the area.
    #[key(METRES, required, default = 1.0)]
    pub(crate) radius: f64,
    /// Time in which a node moves from one place relative to its reference point to the next, s. Each place is drawn uniformly from the
    /// circle.
    #[key(TIME_SPAN, default = Duration::from_secs(10))]
    pub(crate) interval: Duration,
}

/// A walk from place to place.
#[derive(Settings)]
pub(crate) struct WalkTable {
    /// Places to which the node goes: a list of [x, y], m; y grows downwards. It stays at the last place.
    #[key(METRES_AWAY, required)]
    pub(crate) path: Vec<[f64; 2]>,
    /// Speed along the path, m/s.
    #[key(MOVING_SPEED, required, default = 1.0)]
    pub(crate) speed: f64,
    /// Instant at which the node leaves its place in the topology, s.
    #[key(SECONDS)]
    pub(crate) start: Duration,
    /// Pause at each place, s.
    #[key(SECONDS)]
    pub(crate) pause: Duration,
    /// Whether the node goes to the first place of the path again after the last one, and so on.
    #[key]
    pub(crate) repeat: bool,
}

/// Keys of the random waypoint model.
#[derive(Settings)]
pub(crate) struct RandomWaypointTable {
    /// Width and height of the area, m; by default those of the topology random.
    #[key(METRES)]
    pub(crate) area: Option<[f64; 2]>,
    /// Slowest and fastest speed, m/s; or one number v, for speeds from 0.9 v to 1.1 v without pauses, so that another v is the same
    /// movement with the time scaled.
    #[key(SPEED, required, default = SpeedValue::Mean(0.0))]
    pub(crate) speed: SpeedValue,
    /// Pause after each trip, s; 0 by default.
    #[key(SECONDS)]
    pub(crate) pause: Option<Duration>,
    /// Beginning of the movement: stationary starts in the steady state, classic as setdest does, with uniform places and a pause.
    #[key(default = Start::Stationary)]
    pub(crate) start: Start,
    /// Number from which, with one number as speed, the movement is drawn instead of the seed, so that runs with different seeds have the
    /// same movement.
    #[key(0..=u64::MAX)]
    pub(crate) pattern: Option<u64>,
}

/// One mean speed, or the slowest and the fastest, m/s.
#[derive(Clone, Copy)]
pub(crate) enum SpeedValue {
    /// Mean speed, from which speeds differ by at most a tenth.
    Mean(f64),
    /// Slowest and fastest speed, in m/s.
    Between([f64; 2]),
}

impl Field for SpeedValue {
    type Bounds = RangeInclusive<f64>;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        f64::allowed(bounds).or(<[f64; 2]>::allowed(bounds))
    }

    fn value(&self) -> Option<Value> {
        match self {
            Self::Mean(speed) => speed.value(),
            Self::Between(speeds) => speeds.value(),
        }
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::List(_) => Self::Between(Field::of_value(value)),
            mean => Self::Mean(f64::of_value(mean)),
        }
    }
}

/// Keys of the random walk model.
#[derive(Default, Settings)]
pub(crate) struct RandomWalkTable {
    /// Width and height of the area, m; by default those of the topology random.
    #[key(METRES)]
    pub(crate) area: Option<[f64; 2]>,
    /// Largest speed, m/s; speeds are uniform from 0 to this.
    #[key(SPEED, required)]
    pub(crate) speed_max: f64,
    /// Mean time in one direction, s; times are exponential.
    #[key(TIME_SPAN, required)]
    pub(crate) leg_mean: f64,
}

/// Speeds that nodes may have, in m/s.
const SPEED: RangeInclusive<f64> = 0.0..=10_000.0;
/// Speeds of a node that never stops, m/s.
const MOVING_SPEED: RangeInclusive<f64> = 1e-6..=10_000.0;
