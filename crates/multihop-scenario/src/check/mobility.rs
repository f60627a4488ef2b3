//! Checks the table `[mobility]`, and positions that it gives.

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::grid::Point;
use multihop_radio::mobility::{
    Area, FASTEST, GaussMarkovParams, GroupParams, LONGEST_FILE, MAX_NODES, ManhattanParams, Path, Plane,
    Problem, RandomWalkParams, RandomWaypointParams, Start, Walk, Waypoint, bonnmotion, gpx, ns2, sumo,
};

use super::{Ground, Nodes, in_folder};
use crate::document::{Fault, read_text};
use crate::faults::Faults;
use crate::model::{Members, Mobility};
use crate::read::Both;
use crate::read::settings::Keyed;
use crate::tables::{
    GaussMarkovTable, GroupTable, ManhattanTable, MovementFile, MovementTable, RandomWalkTable,
    RandomWaypointTable, SingleMovement, SingleNodes, SpeedValue, TopologyTable, WalkTable,
};
use crate::topology::{Layout, Topology};

/// Reads the movements of a topology's nodes.
pub(super) struct Mover<'a> {
    /// The topology; `None` if the movement determines the number of nodes.
    pub(super) topology: Option<&'a Topology>,
    /// Folder and plane to which files and positions are relative.
    pub(super) ground: Ground<'a>,
    /// Duration of the run.
    pub(super) duration: Duration,
    /// Path of the table that describes the movement.
    pub(super) path: String,
    /// Nodes to which the movement applies; `None` means all.
    pub(super) moved: Option<Vec<NodeId>>,
}

impl Mover<'_> {
    /// The movement that `table` describes.
    pub(super) fn mobility(&self, table: &MovementTable, faults: &mut Faults<'_>) -> Option<Mobility> {
        match table {
            MovementTable::Static => Some(Mobility::Static),
            MovementTable::RandomWaypoint(table) => self.random_waypoint(table, faults),
            MovementTable::RandomWalk(table) => self.random_walk(table, faults),
            MovementTable::Waypoints { waypoints } => self.waypoints(waypoints, faults),
            MovementTable::Ns2(file) => self.file(file, ns2::read, faults),
            MovementTable::Bonnmotion(file) => self.file(file, bonnmotion::read, faults),
            MovementTable::Sumo { file, degrees } => {
                let plane = if *degrees { Some(self.plane("degrees", faults)?) } else { None };
                self.file(file, |text| sumo::read(text, plane), faults)
            }
            MovementTable::Gpx(file) => {
                let plane = self.plane("kind", faults)?;
                self.file(file, |text| gpx::read(text, plane), faults)
            }
            MovementTable::GaussMarkov(table) => self.gauss_markov(table, faults),
            MovementTable::Manhattan(table) => self.manhattan(table, faults),
            MovementTable::Group { group, size } => self.group(group, Members::BySize(*size), faults),
        }
    }

    /// The movement that an entry of `[[mobility.node]]` describes for `nodes`, of which there is at least
    /// one.
    fn single(&self, table: &SingleMovement, nodes: &[NodeId], faults: &mut Faults<'_>) -> Option<Mobility> {
        match table {
            SingleMovement::Path(table) => self.walk(table, faults),
            SingleMovement::Waypoints { waypoints } => {
                path(waypoints, &self.key("waypoints"), faults).map(Mobility::Path)
            }
            SingleMovement::Static => Some(Mobility::Static),
            SingleMovement::RandomWaypoint(table) => self.random_waypoint(table, faults),
            SingleMovement::RandomWalk(table) => self.random_walk(table, faults),
            SingleMovement::GaussMarkov(table) => self.gauss_markov(table, faults),
            SingleMovement::Manhattan(table) => self.manhattan(table, faults),
            SingleMovement::Group(table) => self.group(table, Members::Of(nodes[0]), faults),
        }
    }

    /// The path of a key.
    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    fn gauss_markov(&self, table: &GaussMarkovTable, faults: &mut Faults<'_>) -> Option<Mobility> {
        let area = self.area(table.area, faults)?;
        let params = GaussMarkovParams {
            area,
            alpha: table.alpha,
            mean_speed: table.speed,
            speed_deviation: table.speed_deviation,
            mean_direction: table.direction.map(f64::to_radians),
            direction_deviation: table.direction_deviation.to_radians(),
            interval: table.interval,
        };
        let fastest = params.max_speed();
        if !(SLOWEST..=FASTEST).contains(&fastest) {
            let message = format!(
                "found {}, allowed: a mean for which speed + 4 speed_deviation is from {SLOWEST} to {FASTEST}",
                table.speed
            );
            faults.push(Fault::at_key(self.key("speed"), message));
            return None;
        }
        let reflections = fastest / area.width + fastest / area.height;
        self.limit_legs(1.0 / table.interval.as_secs_f64() + reflections, faults)?;
        Some(Mobility::GaussMarkov(params))
    }

    fn manhattan(&self, table: &ManhattanTable, faults: &mut Faults<'_>) -> Option<Mobility> {
        let area = self.area(table.area, faults)?;
        let [min_speed, max_speed] = self.speeds(table.speed, SLOWEST, faults)?;
        let params = ManhattanParams { area, blocks: table.blocks, min_speed, max_speed, turn: table.turn };
        let [width, height] = params.block();
        self.limit_legs(max_speed / width.min(height), faults)?;
        Some(Mobility::Manhattan(params))
    }

    fn group(&self, table: &GroupTable, members: Members, faults: &mut Faults<'_>) -> Option<Mobility> {
        let area = self.area(table.area, faults)?;
        let least = if table.start == Start::Stationary { SLOWEST } else { 0.0 };
        let [min_speed, max_speed] = self.speeds(table.speed, least, faults)?;
        let (pause, start, radius) = (table.pause, table.start, table.radius);
        let reference = RandomWaypointParams { area, min_speed, max_speed, pause, start };
        let params = GroupParams { reference, radius, interval: table.interval };
        let Area { width, height } = params.inner_area();
        let shorter = width.min(height);
        if shorter <= 0.0 || width.max(height) > NARROWEST * shorter {
            let (wide, high) = (area.width, area.height);
            let message = format!(
                "found {radius}, allowed: less than half of each side of the area, {wide} x {high} m; of the sides that \
                 remain, the longer is at most {NARROWEST} times the shorter"
            );
            faults.push(Fault::at_key(self.key("radius"), message));
            return None;
        }
        if params.max_speed() > FASTEST {
            let message = format!(
                "found {}, allowed: an interval in which nodes cross the circle at up to {FASTEST} m/s",
                table.interval.as_secs_f64()
            );
            faults.push(Fault::at_key(self.key("interval"), message));
            return None;
        }
        let trips = 2.0 * max_speed / shorter;
        self.limit_legs(1.0 / table.interval.as_secs_f64() + trips, faults)?;
        Some(Mobility::Group { params, members })
    }

    /// Checks and returns the lowest and the highest speed; the lowest must be at least `least`.
    fn speeds(&self, [min, max]: [f64; 2], least: f64, faults: &mut Faults<'_>) -> Option<[f64; 2]> {
        if min < least {
            faults
                .push(Fault::at_key(self.key("speed.0"), format!("found {min}, allowed: at least {least}")));
            return None;
        }
        let least = min.max(SLOWEST);
        if max < least {
            faults
                .push(Fault::at_key(self.key("speed.1"), format!("found {max}, allowed: at least {least}")));
            return None;
        }
        Some([min, max])
    }

    fn walk(&self, table: &WalkTable, faults: &mut Faults<'_>) -> Option<Mobility> {
        if table.path.is_empty() {
            faults.push(Fault::at_key(self.key("path"), "found no place, allowed: one or more"));
            return None;
        }
        let places = table.path.iter().map(|&[x, y]| Point { x, y }).collect();
        let WalkTable { speed, start, pause, repeat, .. } = *table;
        let walk = Walk { places, speed, start, pause, repeat };
        if repeat {
            self.limit_legs(walk.legs_per_second(), faults)?;
        }
        Some(Mobility::Walk(walk))
    }

    fn random_waypoint(&self, table: &RandomWaypointTable, faults: &mut Faults<'_>) -> Option<Mobility> {
        let area = self.area(table.area, faults)?;
        let params = self.trips(table, area, faults)?;
        // The mean trip is never shorter than a third of the diagonal.
        let diagonal = (area.width * area.width + area.height * area.height).sqrt();
        let trip = diagonal / (3.0 * params.max_speed);
        self.limit_legs(2.0 / (trip + params.pause.as_secs_f64()), faults)?;
        Some(Mobility::RandomWaypoint { params, pattern: table.pattern })
    }

    fn random_walk(&self, table: &RandomWalkTable, faults: &mut Faults<'_>) -> Option<Mobility> {
        let area = self.area(table.area, faults)?;
        let max_speed = table.speed_max;
        if max_speed < SLOWEST {
            let message = format!("found {max_speed}, allowed: at least {SLOWEST}");
            faults.push(Fault::at_key(self.key("speed_max"), message));
            return None;
        }
        let reflections = max_speed / area.width + max_speed / area.height;
        self.limit_legs(1.0 / table.leg_mean + reflections, faults)?;
        Some(Mobility::RandomWalk(RandomWalkParams {
            area,
            max_speed,
            mean_spell: Duration::from_secs_f64(table.leg_mean),
        }))
    }

    /// Speeds and pauses of random waypoint.
    fn trips(
        &self,
        table: &RandomWaypointTable,
        area: Area,
        faults: &mut Faults<'_>,
    ) -> Option<RandomWaypointParams> {
        let mut refuse = |key: &str, message: String| {
            faults.push(Fault::at_key(self.key(key), message));
            None
        };
        let start = table.start;
        let [min_speed, max_speed] = match table.speed {
            SpeedValue::Mean(mean) if mean < SLOWEST => {
                return refuse("speed", format!("found {mean}, allowed: at least {SLOWEST}"));
            }
            SpeedValue::Mean(_) if table.pause.is_some() => {
                let message = "is not a key here, allowed with speed = [slowest, fastest]";
                return refuse("pause", message.to_owned());
            }
            SpeedValue::Mean(mean) => return Some(RandomWaypointParams::pattern(area, mean, start)),
            SpeedValue::Between(speeds) => speeds,
        };
        if table.pattern.is_some() {
            return refuse("pattern", "is not a key here, allowed with one number as speed".to_owned());
        }
        if start == Start::Stationary && min_speed < SLOWEST {
            let why = "because a stationary start needs a speed above 0";
            return refuse("speed.0", format!("found {min_speed}, allowed: at least {SLOWEST}, {why}"));
        }
        let least = min_speed.max(SLOWEST);
        if max_speed < least {
            return refuse("speed.1", format!("found {max_speed}, allowed: at least {least}"));
        }
        let pause = table.pause.unwrap_or(Duration::ZERO);
        Some(RandomWaypointParams { area, min_speed, max_speed, pause, start })
    }

    /// Area in which nodes move at random: `given`, or by default the area of a random topology.
    fn area(&self, given: Option<[f64; 2]>, faults: &mut Faults<'_>) -> Option<Area> {
        let [width, height] = match (given, self.topology) {
            (Some(area), _) => area,
            (None, Some(Topology::Random { area, .. })) => *area,
            (None, _) => {
                let message =
                    "is missing, allowed: [width, height]; only the topology random provides an area";
                faults.push(Fault::at_key(self.key("area"), message));
                return None;
            }
        };
        // In narrower areas rounding errors dominate the mean length of a trip.
        if width.max(height) > NARROWEST * width.min(height) {
            let message =
                format!("found {width} x {height} m, allowed: one side up to {NARROWEST} times the other");
            faults.push(Fault::at_key(self.key("area"), message));
            return None;
        }
        Some(Area { width, height })
    }

    /// Refuses a number of legs that is certainly a mistake, because the run would take far too long.
    fn limit_legs(&self, per_second: f64, faults: &mut Faults<'_>) -> Option<()> {
        let nodes = self.moved.as_ref().map_or(self.topology?.nodes(), Vec::len) as f64;
        let legs = nodes * per_second * self.duration.as_secs_f64();
        if legs <= MAX_LEGS {
            return Some(());
        }
        let message =
            format!("found about {legs:.0e} changes of direction in a run, allowed: at most {MAX_LEGS:e}");
        faults.push(Fault::at_key(self.path.as_str(), message));
        None
    }

    fn waypoints(&self, table: &[Vec<[f64; 3]>], faults: &mut Faults<'_>) -> Option<Mobility> {
        let key = &self.key("waypoints");
        if table.is_empty() || table.len() > MAX_NODES {
            let message = format!("found {} paths, allowed: 1 to {MAX_NODES}", table.len());
            faults.push(Fault::at_key(key, message));
            return None;
        }
        self.same_count(table.len(), key, faults)?;
        let path = |(node, list): (usize, &Vec<_>)| {
            let key = format!("{key}.{node}");
            if list.is_empty() { self.standing(node, &key, faults) } else { path(list, &key, faults) }
        };
        let paths: Vec<Option<Path>> = table.iter().enumerate().map(path).collect();
        paths.into_iter().collect::<Option<_>>().map(Mobility::Paths)
    }

    /// The path of a node that stays at its position in the topology.
    fn standing(&self, node: usize, key: &str, faults: &mut Faults<'_>) -> Option<Path> {
        if let Some(Topology::Fixed(layout)) = self.topology {
            let [x, y] = layout.positions[node];
            return through(&[Waypoint { at: Instant::ZERO, place: Point { x, y } }], key, faults);
        }
        let message = "found no waypoint, allowed only if the topology has a position for the node";
        faults.push(Fault::at_key(key, message));
        None
    }

    fn plane(&self, key: &str, faults: &mut Faults<'_>) -> Option<&Plane> {
        self.ground.plane().map_err(|message| faults.push(Fault::at_key(self.key(key), message))).ok()
    }

    fn file(
        &self,
        file: &MovementFile,
        read: impl Fn(&str) -> Result<Vec<Path>, Problem>,
        faults: &mut Faults<'_>,
    ) -> Option<Mobility> {
        let key = &self.key("file");
        let (path, shown) = in_folder(self.ground.source, &file.file);
        let text = read_text(&path, LONGEST_FILE).map_err(|error| format!("{shown}: {error}"));
        let paths = text.and_then(|text| read(&text).map_err(|problem| format!("{shown}:{problem}")));
        match paths {
            Ok(paths) => {
                self.same_count(paths.len(), key, faults)?;
                Some(Mobility::Paths(paths))
            }
            Err(message) => {
                faults.push(Fault::at_key(key, message));
                None
            }
        }
    }

    fn same_count(&self, found: usize, key: &str, faults: &mut Faults<'_>) -> Option<()> {
        let wanted = self.topology.map_or(found, Topology::nodes);
        if found == wanted {
            return Some(());
        }
        let message = format!("found {found} nodes, allowed: {wanted}, as in the topology");
        faults.push(Fault::at_key(key, message));
        None
    }
}

/// Nodes with individual movements, each once.
pub(super) fn single_movements<'a>(
    table: &SingleNodes,
    nodes: &Nodes<'_>,
    mover: impl Fn(String, Vec<NodeId>) -> Mover<'a>,
    faults: &mut Faults<'_>,
) -> Option<BTreeMap<NodeId, Mobility>> {
    let mut movements = BTreeMap::new();
    let before = faults.len();
    for (number, Both(Keyed(moved), Keyed(table))) in table.node.iter().enumerate() {
        let path = format!("mobility.node.{number}");
        let key = format!("{path}.node");
        if moved.nodes.0.is_empty() {
            faults.push(Fault::at_key(key.as_str(), "found an empty array, allowed: at least one node"));
        }
        let found: Vec<_> = moved.nodes.0.iter().filter_map(|node| nodes.find(node, &key, faults)).collect();
        if found.is_empty() {
            continue;
        }
        let Some(mobility) = mover(path, found.clone()).single(table, &found, faults) else { continue };
        for node in found {
            if movements.insert(node, mobility.clone()).is_some() {
                let message = format!("found {node} twice, allowed: one movement for each node");
                faults.push(Fault::at_key(key.as_str(), message));
            }
        }
    }
    (faults.len() == before).then_some(movements)
}

/// Whether every node starts at its position in the topology.
pub(super) fn keeps_places(mobility: Option<&MovementTable>, single: Option<&SingleNodes>) -> bool {
    let mut single = single.iter().flat_map(|single| &single.node);
    matches!(mobility, None | Some(MovementTable::Static))
        && single
            .all(|Both(_, Keyed(table))| matches!(table, SingleMovement::Static | SingleMovement::Path(_)))
}

/// The topology of a movement that gives the initial positions.
pub(super) fn topology_of(mobility: &Mobility) -> Option<Topology> {
    let Mobility::Paths(paths) = mobility else { return None };
    let begin = |path: &Path| {
        let Point { x, y } = path.waypoints()[0].place;
        [x, y]
    };
    let positions: Vec<_> = paths.iter().map(begin).collect();
    Some(Topology::Fixed(Layout { names: vec![None; positions.len()], positions, pairs: Vec::new() }))
}

/// Refuses a topology and a movement of which both or neither determine the positions.
pub(super) fn agree(
    topology: &TopologyTable,
    mobility: Option<&MovementTable>,
    single: Option<&SingleNodes>,
    faults: &mut Faults<'_>,
) -> Option<()> {
    use MovementTable::{GaussMarkov, Group, Manhattan, RandomWalk, RandomWaypoint, Static};
    let (key, message) = match (topology, mobility) {
        (TopologyTable::Roaming(_), Some(_)) => {
            ("mobility", "the topology roaming defines the movement, allowed: no [mobility]")
        }
        (TopologyTable::Random { connected: Some(true), .. }, Some(_)) if !keeps_places(mobility, single) => {
            (
                "topology.connected",
                "moving nodes do not start at these positions, allowed: false, or mobility \"static\"",
            )
        }
        (
            TopologyTable::Mobility,
            None
            | Some(Static | RandomWaypoint(_) | RandomWalk(_) | GaussMarkov(_) | Manhattan(_) | Group { .. }),
        ) => (
            "topology.kind",
            "found \"mobility\", allowed with mobility.kind = \"waypoints\" or a kind that reads a file",
        ),
        _ => return Some(()),
    };
    faults.push(Fault::at_key(key, message));
    None
}

fn path(list: &[[f64; 3]], key: &str, faults: &mut Faults<'_>) -> Option<Path> {
    let early = list.iter().position(|[at, ..]| *at < 0.0);
    if let Some(index) = early {
        let message = format!("found {}, allowed: a time from 0", list[index][0]);
        faults.push(Fault::at_key(format!("{key}.{index}.0"), message));
        return None;
    }
    let waypoint = |&[at, x, y]: &[f64; 3]| Waypoint {
        at: Instant::ZERO + Duration::from_secs_f64(at),
        place: Point { x, y },
    };
    through(&list.iter().map(waypoint).collect::<Vec<_>>(), key, faults)
}

fn through(waypoints: &[Waypoint], key: &str, faults: &mut Faults<'_>) -> Option<Path> {
    match Path::new(waypoints) {
        Ok(path) => Some(path),
        Err(bad) => {
            faults.push(Fault::at_key(format!("{key}.{}", bad.index), bad.message));
            None
        }
    }
}

/// Slowest speed of a moving node, m/s. Slower nodes hardly move.
const SLOWEST: f64 = 1e-6;
/// Largest ratio of the longer to the shorter side of an area.
const NARROWEST: f64 = 1e4;
/// Largest number of legs of all nodes in a run.
const MAX_LEGS: f64 = 1e7;
