//! `[mobility]`.

use std::borrow::Cow;

use multihop_radio::mobility::Start;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::document::{Node, Value};
use crate::faults::Faults;
use crate::read::{NoKeys, Read, kinds, table, wrong};
use crate::values::{Coordinate, Metres, PositiveSeconds, Seconds, Speed, Whole, number, words};

kinds! {
    /// How the nodes move. Where nodes that move begin is said here and not by the topology, which
    /// says how many there are and what they are called.
    MobilityTable by "kind" = "static" {
        /// Not at all.
        "static" => Static(NoKeys),
        /// From one place drawn uniformly to the next, straight and at a speed drawn uniformly.
        "random-waypoint" => RandomWaypoint(RandomWaypointTable),
        /// In one direction drawn uniformly after another, reflected at the borders.
        "random-walk" => RandomWalk(RandomWalkTable),
        /// Along paths in the scenario.
        "waypoints" => Waypoints(WaypointsTable),
        /// Along the paths of an ns-2 script, as setdest, BonnMotion and SUMO write it.
        "ns2" => Ns2(MovementTable),
        /// Along the paths of a file in BonnMotion's native format.
        "bonnmotion" => Bonnmotion(MovementTable),
    }
}

table! {
    /// From one place drawn uniformly to the next.
    RandomWaypointTable {
        /// Width and height, m; those of the topology random if not given.
        area: Option<[Metres; 2]>,
        /// Slowest and fastest, m/s; or one number v, for speeds from 0.9 v to 1.1 v without pauses,
        /// so that another v is the same movement with the time scaled.
        speed: SpeedValue,
        /// Rest after each trip, s; 0 if not given.
        pause: Option<Seconds>,
        /// How the movement begins: stationary is as if it had gone on for ever, classic as setdest
        /// does it, with uniform places and a pause.
        start: StartWord = "stationary",
        /// With one number as speed: the pattern is drawn from this number, so that each run has
        /// the same movement; from the seed if not given.
        pattern: Option<Whole<0, { u64::MAX }>>,
    }
}

table! {
    /// In one direction drawn uniformly after another.
    RandomWalkTable {
        /// Width and height, m; those of the topology random if not given.
        area: Option<[Metres; 2]>,
        /// Speeds are uniform from 0 to this, m/s.
        speed_max: Speed,
        /// Mean time in one direction, s; times are exponential.
        leg_mean: PositiveSeconds,
    }
}

table! {
    /// Along paths in the scenario.
    WaypointsTable {
        /// For each node its path: a list of [time, x, y], s and m. A node waits at the first, goes
        /// straight to each in turn and stays at the last; one with an empty list stays where the
        /// topology has it.
        waypoints: Vec<Vec<[Coordinate; 3]>>,
    }
}

table! {
    /// Along paths in another file.
    MovementTable {
        /// The file, relative to the scenario's folder.
        file: String,
    }
}

words! {
    /// How random waypoint begins.
    StartWord(Start) {
        "stationary" => Start::Stationary,
        "classic" => Start::Classic,
    }
}

/// One mean speed, or the slowest and the fastest, m/s.
#[derive(Clone, Copy)]
pub(crate) enum SpeedValue {
    /// Speeds are within a tenth of it.
    Mean(Speed),
    /// Slowest and fastest.
    Between([Speed; 2]),
}

impl Read for SpeedValue {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match (number(node), &node.value) {
            (Some(_), _) => Speed::read(node, path, faults).map(Self::Mean),
            (None, Value::Array(_)) => <[Speed; 2]>::read(node, path, faults).map(Self::Between),
            _ => wrong(node, path, "a number, or two such as [1.0, 20.0]", faults),
        }
    }
}

impl JsonSchema for SpeedValue {
    fn schema_name() -> Cow<'static, str> {
        "SpeedValue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mean, between) = (generator.subschema_for::<Speed>(), generator.subschema_for::<[Speed; 2]>());
        json_schema!({ "anyOf": [mean, between] })
    }
}
