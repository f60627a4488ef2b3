//! `[mobility]`.

use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::{Allowed, Settings, Value, Visitor};
use multihop_radio::mobility::Start;

use serde_json::json;

use super::{LONGEST_TEXT, METRES, NodeRef, SECONDS, TIME_SPAN};
use crate::read::settings::{Keyed, listed};
use crate::read::{Both, table};

/// `[mobility]`.
pub(crate) type MobilityTable = Both<SingleNodes, Keyed<MovementTable>>;

/// One of `[[mobility.node]]`.
pub(crate) type SingleNodeTable = Both<Keyed<MovedNodes>, Keyed<SingleMovement>>;

table! {
    /// Nodes with a movement of their own.
    SingleNodes {
        /// Nodes that move otherwise than the kind of this table says.
        node: Vec<SingleNodeTable> = json!([]),
    }
}

/// The nodes that an entry of `[[mobility.node]]` moves.
#[derive(Default)]
pub(crate) struct MovedNodes {
    pub(crate) nodes: Vec<NodeRef>,
}

impl Settings for MovedNodes {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "The node, or an array of nodes, each by its number or name.";
        let allowed = Allowed::Either(&Allowed::Node, &Allowed::List(&Allowed::Node, None));
        self.nodes = match keys.about(about).required().value("node", allowed, None) {
            Some(Value::List(nodes)) => nodes.into_iter().map(NodeRef::from).collect(),
            node => node.map(NodeRef::from).into_iter().collect(),
        };
    }
}

/// How the nodes move. The initial positions of moving nodes come from this table; the topology gives
/// only their number and names.
#[derive(Default)]
pub(crate) enum MovementTable {
    #[default]
    Static,
    RandomWaypoint(RandomWaypointTable),
    RandomWalk(RandomWalkTable),
    /// For each node its list of time, x and y.
    Waypoints(Vec<Vec<[f64; 3]>>),
    /// The file, relative to the scenario's folder.
    Ns2(String),
    /// The file, relative to the scenario's folder.
    Bonnmotion(String),
    /// The file, and whether it has degrees.
    Sumo(String, bool),
    /// The file, relative to the scenario's folder.
    Gpx(String),
    GaussMarkov(GaussMarkovTable),
    Manhattan(ManhattanTable),
    Group(GroupTable),
    /// Only for single nodes.
    Walk(WalkTable),
}

impl Settings for MovementTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let kinds = [
            STATIC,
            RANDOM_WAYPOINT,
            RANDOM_WALK,
            ("waypoints", "The nodes follow paths given in the scenario."),
            (
                "ns2",
                "The nodes follow the paths of an ns-2 script, as setdest, BonnMotion and SUMO write it.",
            ),
            ("bonnmotion", "The nodes follow the paths of a file in BonnMotion's native format."),
            ("sumo", "The nodes are the vehicles and persons of SUMO's output of floating car data."),
            ("gpx", "The nodes are the tracks of a GPX file; needs origin."),
            GAUSS_MARKOV,
            MANHATTAN,
            GROUP,
        ];
        keys.kinds("kind", Some(0), &kinds, &mut |kind, keys| {
            *self = match kind {
                0 => Self::Static,
                1 => Self::RandomWaypoint(listed(keys)),
                2 => Self::RandomWalk(listed(keys)),
                3 => Self::Waypoints(waypoints(keys)),
                4 => Self::Ns2(file(keys)),
                5 => Self::Bonnmotion(file(keys)),
                6 => Self::Sumo(file(keys), degrees(keys)),
                7 => Self::Gpx(file(keys)),
                8 => Self::GaussMarkov(listed(keys)),
                9 => Self::Manhattan(listed(keys)),
                _ => Self::Group(groups(keys)),
            }
        });
    }
}

const STATIC: (&str, &str) = ("static", "The nodes do not move.");
const RANDOM_WAYPOINT: (&str, &str) = (
    "random-waypoint",
    "Each node moves straight to a place drawn uniformly, at a speed drawn uniformly, and then to the next.",
);
const RANDOM_WALK: (&str, &str) = (
    "random-walk",
    "Each node moves in one direction drawn uniformly after another, and is reflected at the borders.",
);
const GAUSS_MARKOV: (&str, &str) = (
    "gauss-markov",
    "Each node changes speed and direction at intervals; new values depend on the previous ones.",
);
const MANHATTAN: (&str, &str) =
    ("manhattan", "Each node follows the streets of a town with rectangular blocks, and turns at crossings.");
const GROUP: (&str, &str) = (
    "group",
    "Reference points move by random waypoint, and the nodes of each group move around their reference point.",
);

/// How the nodes of an entry of `[[mobility.node]]` move.
#[derive(Default)]
pub(crate) struct SingleMovement(pub(crate) MovementTable);

impl Settings for SingleMovement {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let kinds = [
            (
                "path",
                "From its place in the topology the node goes to one place after another, at constant speed.",
            ),
            (
                "waypoints",
                "The node is at given places at given times, and goes straight from each to the next.",
            ),
            STATIC,
            RANDOM_WAYPOINT,
            RANDOM_WALK,
            GAUSS_MARKOV,
            MANHATTAN,
            GROUP,
        ];
        keys.kinds("kind", None, &kinds, &mut |kind, keys| {
            self.0 = match kind {
                0 => MovementTable::Walk(listed(keys)),
                1 => MovementTable::Waypoints(vec![single_waypoints(keys)]),
                2 => MovementTable::Static,
                3 => MovementTable::RandomWaypoint(listed(keys)),
                4 => MovementTable::RandomWalk(listed(keys)),
                5 => MovementTable::GaussMarkov(listed(keys)),
                6 => MovementTable::Manhattan(listed(keys)),
                _ => MovementTable::Group(listed(keys)),
            }
        });
    }
}

/// Gauss-Markov mobility.
pub(crate) struct GaussMarkovTable {
    /// Width and height, m.
    pub(crate) area: Option<[f64; 2]>,
    pub(crate) alpha: f64,
    /// m/s.
    pub(crate) speed: f64,
    /// m/s.
    pub(crate) speed_deviation: f64,
    /// Degrees.
    pub(crate) direction: Option<f64>,
    /// Degrees.
    pub(crate) direction_deviation: f64,
    pub(crate) interval: Duration,
}

impl Default for GaussMarkovTable {
    fn default() -> Self {
        let (interval, direction_deviation) = (Duration::from_secs(1), 30.0);
        Self {
            area: None,
            alpha: 0.75,
            speed: 0.0,
            speed_deviation: 1.0,
            direction: None,
            direction_deviation,
            interval,
        }
    }
}

impl Settings for GaussMarkovTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about(AREA).numbers_if_set("area", &mut self.area, METRES);
        let about = "Memory: the autocorrelation of speed and direction from one interval to the next. 0 forgets them, \
                     1 keeps them for ever.";
        keys.about(about).number("alpha", &mut self.alpha, 0.0..=1.0);
        keys.about("Mean speed, m/s.").required().number("speed", &mut self.speed, SPEED);
        let about = "Standard deviation of the speed, m/s. Speeds are never below 0 or more than four standard deviations \
                     above the mean.";
        keys.about(about).number("speed_deviation", &mut self.speed_deviation, SPEED);
        let about = "Mean direction, degrees from the x axis to the y axis, which grows downwards. Without it each node has a \
                     mean direction of its own, drawn uniformly. It is mirrored where the node meets a border.";
        keys.about(about).number_if_set("direction", &mut self.direction, -360.0..=360.0);
        let about = "Standard deviation of the direction, degrees.";
        keys.about(about).number("direction_deviation", &mut self.direction_deviation, 0.0..=360.0);
        keys.about("Time between two changes of speed and direction, s.").seconds(
            "interval",
            &mut self.interval,
            TIME_SPAN,
        );
    }
}

/// Streets of a town.
pub(crate) struct ManhattanTable {
    /// Width and height, m.
    pub(crate) area: Option<[f64; 2]>,
    pub(crate) blocks: [u32; 2],
    /// Lowest and highest, m/s.
    pub(crate) speed: [f64; 2],
    pub(crate) turn: f64,
}

impl Default for ManhattanTable {
    fn default() -> Self {
        Self { area: None, blocks: [1; 2], speed: [1.0; 2], turn: 0.5 }
    }
}

impl Settings for ManhattanTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about(AREA).numbers_if_set("area", &mut self.area, METRES);
        let about = "Number of blocks in a row and in a column. Streets run between them and along the borders of the area.";
        let count = Allowed::Whole(1, 10_000);
        let blocks = keys.about(about).required().value("blocks", Allowed::List(&count, Some(2)), None);
        let counts = blocks.map_or_else(Vec::new, Value::into_list).into_iter();
        for (count, given) in self.blocks.iter_mut().zip(counts) {
            if let Value::Whole(blocks) = given {
                *count = u32::try_from(blocks).unwrap_or(u32::MAX);
            }
        }
        let about = "Slowest and fastest, m/s; drawn uniformly at each crossing.";
        keys.about(about).required().numbers("speed", &mut self.speed, MOVING_SPEED);
        let about = "Probability of turning at a crossing, half of it to each side.";
        keys.about(about).number("turn", &mut self.turn, 0.0..=1.0);
    }
}

/// Groups of nodes.
pub(crate) struct GroupTable {
    /// Width and height, m.
    pub(crate) area: Option<[f64; 2]>,
    /// Lowest and highest, m/s.
    pub(crate) speed: [f64; 2],
    pub(crate) pause: Duration,
    pub(crate) start: Start,
    /// m.
    pub(crate) radius: f64,
    pub(crate) interval: Duration,
    /// Nodes of each group; `None` for an entry of `[[mobility.node]]`, which is one group.
    pub(crate) size: Option<u32>,
}

impl Default for GroupTable {
    fn default() -> Self {
        let (pause, interval) = (Duration::ZERO, Duration::from_secs(10));
        Self {
            area: None,
            speed: [1.0; 2],
            pause,
            start: Start::Stationary,
            radius: 1.0,
            interval,
            size: None,
        }
    }
}

impl Settings for GroupTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about(AREA).numbers_if_set("area", &mut self.area, METRES);
        let about = "Slowest and fastest speed of reference points, m/s; drawn uniformly for each trip.";
        keys.about(about).required().numbers("speed", &mut self.speed, SPEED);
        keys.about("Pause of reference points after each trip, s.").seconds(
            "pause",
            &mut self.pause,
            SECONDS,
        );
        keys.about(START).word("start", &mut self.start, &STARTS);
        let about = "Largest distance of a node from its reference point, m. Reference points stay this far away from the \
                     borders of the area.";
        keys.about(about).required().number("radius", &mut self.radius, METRES);
        let about = "Time in which a node moves from one place relative to its reference point to the next, s. Each place is \
                     drawn uniformly from the circle.";
        keys.about(about).seconds("interval", &mut self.interval, TIME_SPAN);
    }
}

fn groups(keys: &mut dyn Visitor) -> GroupTable {
    let mut table: GroupTable = listed(keys);
    let mut size = 1;
    let about = "Number of nodes in each group, by successive numbers; the last group may have fewer.";
    keys.about(about).required().whole("size", &mut size, 1..=100_000);
    table.size = Some(size);
    table
}

/// A walk from place to place.
pub(crate) struct WalkTable {
    pub(crate) path: Vec<[f64; 2]>,
    /// m/s.
    pub(crate) speed: f64,
    pub(crate) start: Duration,
    pub(crate) pause: Duration,
    pub(crate) repeat: bool,
}

impl Default for WalkTable {
    fn default() -> Self {
        let (start, pause) = (Duration::ZERO, Duration::ZERO);
        Self { path: Vec::new(), speed: 1.0, start, pause, repeat: false }
    }
}

impl Settings for WalkTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about =
            "Where the node goes: a list of [x, y], m; y grows downwards. It stays at the last place.";
        let coordinate = Allowed::Number(-1e7, 1e7);
        let place = Allowed::List(&coordinate, Some(2));
        let given = keys.about(about).required().value("path", Allowed::List(&place, None), None);
        let places = given.map_or_else(Vec::new, Value::into_list).into_iter();
        self.path = places.map(|place| numbers(place.into_list())).collect();
        keys.about("Speed, m/s.").required().number("speed", &mut self.speed, MOVING_SPEED);
        keys.about("When the node leaves its place in the topology, s.").seconds(
            "start",
            &mut self.start,
            SECONDS,
        );
        keys.about("Pause at each place, s.").seconds("pause", &mut self.pause, SECONDS);
        let about =
            "Whether the node goes to the first place of the path again after the last one, and so on.";
        keys.about(about).switch("repeat", &mut self.repeat);
    }
}

/// Random waypoint.
pub(crate) struct RandomWaypointTable {
    /// Width and height, m.
    pub(crate) area: Option<[f64; 2]>,
    pub(crate) speed: SpeedValue,
    pub(crate) pause: Option<Duration>,
    pub(crate) start: Start,
    pub(crate) pattern: Option<u64>,
}

/// One mean speed, or the slowest and the fastest, m/s.
#[derive(Clone, Copy)]
pub(crate) enum SpeedValue {
    /// Speeds are within a tenth of it.
    Mean(f64),
    /// Slowest and fastest.
    Between([f64; 2]),
}

impl Default for RandomWaypointTable {
    fn default() -> Self {
        let speed = SpeedValue::Mean(0.0);
        Self { area: None, speed, pause: None, start: Start::Stationary, pattern: None }
    }
}

impl Settings for RandomWaypointTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about(AREA).numbers_if_set("area", &mut self.area, METRES);
        let about = "Slowest and fastest, m/s; or one number v, for speeds from 0.9 v to 1.1 v without pauses, \
                     so that another v is the same movement with the time scaled.";
        let (mean, both) = (SPEED.into(), SPEED.into());
        let allowed = Allowed::Either(&mean, &Allowed::List(&both, Some(2)));
        match keys.about(about).required().value("speed", allowed, None) {
            Some(Value::List(speeds)) => self.speed = SpeedValue::Between(numbers(speeds)),
            Some(mean) => self.speed = SpeedValue::Mean(mean.into_number()),
            None => {}
        }
        let about = "Pause after each trip, s; 0 by default.";
        keys.about(about).seconds_if_set("pause", &mut self.pause, SECONDS);
        keys.about(START).word("start", &mut self.start, &STARTS);
        let about = "With one number as speed: the movement is drawn from this number instead of the seed, so that \
                     runs with different seeds have the same movement.";
        keys.about(about).whole_if_set("pattern", &mut self.pattern, 0..=u64::MAX);
    }
}

/// Random walk.
#[derive(Default)]
pub(crate) struct RandomWalkTable {
    /// Width and height, m.
    pub(crate) area: Option<[f64; 2]>,
    pub(crate) speed_max: f64,
    /// s.
    pub(crate) leg_mean: f64,
}

impl Settings for RandomWalkTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about(AREA).numbers_if_set("area", &mut self.area, METRES);
        let about = "Speeds are uniform from 0 to this, m/s.";
        keys.about(about).required().number("speed_max", &mut self.speed_max, SPEED);
        let about = "Mean time in one direction, s; times are exponential.";
        keys.about(about).required().number("leg_mean", &mut self.leg_mean, TIME_SPAN);
    }
}

fn single_waypoints(keys: &mut dyn Visitor) -> Vec<[f64; 3]> {
    let about = "A list of [time, x, y], s and m. The node waits at the first, goes straight to each in turn and \
                 stays at the last.";
    let coordinate = Allowed::Number(-1e7, 1e7);
    let waypoint = Allowed::List(&coordinate, Some(3));
    let given = keys.about(about).required().value("waypoints", Allowed::List(&waypoint, None), None);
    let waypoints = given.map_or_else(Vec::new, Value::into_list).into_iter();
    waypoints.map(|waypoint| numbers(waypoint.into_list())).collect()
}

fn waypoints(keys: &mut dyn Visitor) -> Vec<Vec<[f64; 3]>> {
    let about = "For each node its path: a list of [time, x, y], s and m. A node waits at the first, goes \
                 straight to each in turn and stays at the last; one with an empty list stays where the \
                 topology has it.";
    let coordinate = Allowed::Number(-1e7, 1e7);
    let waypoint = Allowed::List(&coordinate, Some(3));
    let path = Allowed::List(&waypoint, None);
    let given = keys.about(about).required().value("waypoints", Allowed::List(&path, None), None);
    let path = |path: Value| path.into_list().into_iter().map(|place| numbers(place.into_list())).collect();
    given.map(|paths| paths.into_list().into_iter().map(path).collect()).unwrap_or_default()
}

fn degrees(keys: &mut dyn Visitor) -> bool {
    let mut degrees = false;
    let about = "Whether x and y are longitude and latitude, as with --fcd-output.geo; needs origin.";
    keys.about(about).switch("degrees", &mut degrees);
    degrees
}

fn file(keys: &mut dyn Visitor) -> String {
    let mut file = String::new();
    let about = "The file, relative to the scenario's folder.";
    keys.about(about).required().text("file", &mut file, LONGEST_TEXT);
    file
}

/// The numbers of a list of this length.
pub(super) fn numbers<const N: usize>(list: Vec<Value>) -> [f64; N] {
    let mut numbers = list.into_iter().map(Value::into_number);
    core::array::from_fn(|_| numbers.next().expect("a list of the allowed length"))
}

const START: &str = "How the movement begins: stationary starts in the steady state, classic as setdest does, with uniform \
                     places and a pause.";
const STARTS: [(&str, Start); 2] = [("stationary", Start::Stationary), ("classic", Start::Classic)];
const AREA: &str = "Width and height, m; by default those of the topology random.";
/// m/s.
const SPEED: RangeInclusive<f64> = 0.0..=10_000.0;
/// m/s, of a node that never stands.
const MOVING_SPEED: RangeInclusive<f64> = 1e-6..=10_000.0;
