//! `[mobility]`.

use core::ops::RangeInclusive;

use multihop_core::Duration;
use multihop_core::settings::{Allowed, Settings, Value, Visitor};
use multihop_radio::mobility::Start;

use super::{LONGEST_TEXT, METRES, SECONDS, TIME_SPAN};
use crate::read::settings::listed;

/// How the nodes move. The initial positions of moving nodes come from this table; the topology gives
/// only their number and names.
#[derive(Default)]
pub(crate) enum MobilityTable {
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
}

impl Settings for MobilityTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let kinds = [
            ("static", "The nodes do not move."),
            (
                "random-waypoint",
                "Each node moves straight to a place drawn uniformly, at a speed drawn uniformly, and then to the next.",
            ),
            (
                "random-walk",
                "Each node moves in one direction drawn uniformly after another, and is reflected at the borders.",
            ),
            ("waypoints", "The nodes follow paths given in the scenario."),
            (
                "ns2",
                "The nodes follow the paths of an ns-2 script, as setdest, BonnMotion and SUMO write it.",
            ),
            ("bonnmotion", "The nodes follow the paths of a file in BonnMotion's native format."),
            ("sumo", "The nodes are the vehicles and persons of SUMO's output of floating car data."),
            ("gpx", "The nodes are the tracks of a GPX file; needs origin."),
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
                _ => Self::Gpx(file(keys)),
            }
        });
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
        let about = "How the movement begins: stationary starts in the steady state, classic as setdest does, \
                     with uniform places and a pause.";
        let starts = [("stationary", Start::Stationary), ("classic", Start::Classic)];
        keys.about(about).word("start", &mut self.start, &starts);
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

const AREA: &str = "Width and height, m; by default those of the topology random.";
/// m/s.
const SPEED: RangeInclusive<f64> = 0.0..=10_000.0;
