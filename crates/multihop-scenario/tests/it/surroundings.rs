//! `origin`, `[obstacles]`, antennas and heights: what arrives, and what is refused.

use multihop_core::{Duration, Instant};
use multihop_radio::grid::Point;
use multihop_radio::mobility::Plane;
use multihop_radio::params::{Change, Facing, Fading, Model, PathLoss, Pattern, Sinr};
use multihop_scenario::Scenario;

use super::{folder, load, load_in, refused};

const FLOW: &str = "[[flow]]\nfrom = 0\nto = 1\ntransport = \"newreno\"\n";
const CHAIN: &str = "[topology]\nkind = \"chain\"\nhops = 1\n";

fn text(first: &str, tables: &str) -> String {
    format!("duration = 10.0\n{first}\n{tables}\n{FLOW}")
}

fn sinr(scenario: &Scenario) -> &Sinr {
    let Model::Sinr(sinr) = &scenario.radio().model else { panic!("{:?}", scenario.radio()) };
    sinr
}

/// Whether the only problem ends with this text, after its line and column.
fn ends(problem: &str, with: &str) {
    assert!(problem.trim_end().ends_with(with), "{problem}");
}

/// The radio table of a chain of two nodes.
fn radio(keys: &str) -> String {
    text("", &format!("{CHAIN}[radio]\nmodel = \"sinr\"\n{keys}"))
}

#[test]
fn losses_of_the_itu_by_name() {
    let of = |keys: &str| sinr(&load(&radio(keys))).path_loss;
    let street = of("path_loss = { kind = \"log-distance\", environment = \"street\" }");
    let PathLoss::LogDistance { exponent, reference_db } = street else { panic!("{street:?}") };
    // 29.2 + 21.1 log10(2.412).
    assert!((exponent - 2.12).abs() < 1e-12 && (reference_db - 37.268_161).abs() < 1e-6, "{street:?}");
    let plain = PathLoss::LogDistance { exponent: 3.0, reference_db: 40.05 };
    assert_eq!(of("path_loss = { kind = \"log-distance\" }"), plain);
    assert_eq!(of("path_loss = { kind = \"two-ray\" }"), PathLoss::NS2);
    let canyon = PathLoss::Street { frequency: 2.412e9, height: 4.0 };
    assert_eq!(of("path_loss = { kind = \"p1411\", height = 4 }"), canyon);
    let heights = "path_loss = { kind = \"p1238\", building = \"office\", height = [1.5, 4.5] }";
    let scenario = load(&radio(heights));
    assert_eq!(sinr(&scenario).heights, [1.5, 4.5]);
    ends(
        &refused(&radio("path_loss = { kind = \"two-ray\", height = [1.5, 4.5, 1.5] }")),
        "radio.path_loss.height: found 3 values, allowed: 2, one for each node",
    );
}

#[test]
fn fading_by_speed_or_by_coherence() {
    let of = |keys: &str| sinr(&load(&radio(&format!("fading = {{ {keys} }}")))).fading;
    let nakagami = Fading::Nakagami { squares: 3, change: Change::Blocks(Duration::from_millis(100)) };
    assert_eq!(of("kind = \"nakagami\", m = 1.5"), nakagami);
    // 10 m/s at 2412 MHz.
    let Fading::Rayleigh { change: Change::Doppler(hertz) } = of("kind = \"rayleigh\", speed = 10") else {
        panic!("not by speed")
    };
    assert!((hertz - 80.4).abs() < 1e-9, "{hertz}");
    let wrong = |keys: &str| refused(&radio(&format!("fading = {{ {keys} }}")));
    assert!(wrong("kind = \"nakagami\", m = 1.2").contains("found 1.2, allowed: a multiple of 0.5"));
    let both = wrong("kind = \"rayleigh\", speed = 1, coherence = 0.1");
    assert!(both.contains("is not a key here, allowed without coherence"), "{both}");
}

#[test]
fn antennas_face_where_they_are_told() {
    let of = |keys: &str| sinr(&load(&radio(&format!("[radio.antenna]\n{keys}")))).antennas.clone().unwrap();
    let sector = of("kind = \"sector\"\ngain_dbi = 15\nazimuth = [90, 270]");
    assert_eq!(sector.pattern, Pattern::Sector { gain_db: 15.0, width: 65.0, front_back_db: 20.0 });
    assert_eq!(sector.facing, Facing::Each(vec![90.0, 270.0]));
    let table = of("kind = \"table\"\ngains_dbi = [3, 0, -10, 0]\nnodes = [1]\nazimuth = 45");
    assert_eq!(table.facing, Facing::Some(vec![(multihop_core::NodeId(1), 45.0)]));
    let wrong = |keys: &str| refused(&radio(&format!("[radio.antenna]\n{keys}")));
    let three = wrong("kind = \"omni\"\nazimuth = [1, 2, 3]");
    ends(&three, "radio.antenna.azimuth: found 3 values, allowed: 2, one for each node");
    ends(&wrong("kind = \"omni\"\nnodes = [2]"), "radio.antenna.nodes: allowed: 0 to 1");
    assert!(wrong("kind = \"omni\"\nnodes = [1, 0]").contains("numbers in ascending order"));
    assert!(wrong("kind = \"table\"\ngains_dbi = []").contains("at least one gain"));
}

const HOUSE: &str = r#"{"type": "Feature", "properties": {"wall_db": 3}, "geometry":
    {"type": "Polygon", "coordinates": [[[11.0, 48.0], [11.001, 48.0], [11.0, 48.001]]]}}"#;

#[test]
fn obstacles_come_from_a_file_and_from_the_scenario() {
    let folder = folder("obstacles", &[("town.geojson", HOUSE)]);
    let tables = format!(
        "{CHAIN}[radio]\nmodel = \"sinr\"\n[obstacles]\nfile = \"town.geojson\"\nmetre_db = 1\n\
         polygons = [[[0, 0], [10, 0], [0, 10]]]\n"
    );
    let scenario = load_in(&folder, &text("origin = [48.0, 11.0]", &tables)).unwrap();
    let obstacles = sinr(&scenario).obstacles.clone().unwrap();
    let [house, shed] = obstacles.all() else { panic!("{obstacles:?}") };
    assert_eq!((house.wall_db, house.metre_db, shed.wall_db, shed.metre_db), (3.0, 1.0, 9.0, 1.0));
    assert!((house.rings[0][1].x - 74.6).abs() < 0.1 && house.rings[0][2].y < -111.0, "{house:?}");
    assert_eq!(shed.rings[0][1], Point { x: 10.0, y: 0.0 });
}

#[test]
fn obstacles_that_cannot_be_are_refused() {
    let refused = |tables: &str| refused(&text("", tables));
    let triangle = "polygons = [[[0, 0], [10, 0], [0, 10]]]";
    ends(
        &refused(&format!("{CHAIN}[obstacles]\n{triangle}")),
        "obstacles: is not a key here, allowed with radio.model = \"sinr\"",
    );
    let line =
        refused(&format!("{CHAIN}[radio]\nmodel = \"sinr\"\n[obstacles]\npolygons = [[[0, 0], [10, 0]]]"));
    assert!(line.contains("obstacles.polygons: allowed: 3 or more corners in each"), "{line}");
}

fn begins(scenario: &Scenario) -> Vec<Point> {
    let layout = scenario.topology.place(scenario.seed).unwrap();
    scenario.tracks(&layout).iter_mut().map(|track| track.at(Instant::ZERO)).collect()
}

#[test]
fn places_in_degrees_need_an_origin() {
    let list = "[topology]\nkind = \"list\"\ndegrees = true\npositions = [[48.0, 11.0], [48.001, 11.001]]\n";
    let scenario = load(&text("origin = [48.0, 11.0]", list));
    let plane = Plane::new(48.0, 11.0);
    let expected = [(48.0, 11.0), (48.001, 11.001)].map(|(lat, lon)| plane.point(lat, lon).unwrap());
    assert_eq!(begins(&scenario), expected);
    let without = refused(&text("", list));
    ends(&without, "topology.degrees: needs the key origin: the latitude and longitude of (0, 0)");
    let far = refused(&text("origin = [58.0, 11.0]", list));
    assert!(far.contains("topology.positions.0: found 48, 11, 1111 km from the origin"), "{far}");
    assert!(refused(&text("origin = [91, 0]", CHAIN)).contains("allowed: a latitude from -90 to 90"));
}

const FCD: &str = "<fcd-export><timestep time='0'><vehicle id='a' x='11' y='48'/><vehicle id='b' x='11.001' y='48'/>\
                   </timestep></fcd-export>";
const GPX: &str = "<gpx><trk><trkpt lat='48' lon='11'><time>2024-01-01T00:00:00Z</time></trkpt></trk>\
                   <trk><trkpt lat='48' lon='11.001'><time>2024-01-01T00:00:00Z</time></trkpt></trk></gpx>";

#[test]
fn movements_of_sumo_and_gpx() {
    let folder = folder("movements", &[("cars.xml", FCD), ("walk.gpx", GPX)]);
    let movement = |keys: &str| format!("[topology]\nkind = \"mobility\"\n[mobility]\n{keys}\n");
    let east = Plane::new(48.0, 11.0).point(48.0, 11.001).unwrap();
    let origin = "origin = [48.0, 11.0]";
    for keys in
        ["kind = \"sumo\"\ndegrees = true\nfile = \"cars.xml\"", "kind = \"gpx\"\nfile = \"walk.gpx\""]
    {
        let scenario = load_in(&folder, &text(origin, &movement(keys))).unwrap();
        assert_eq!(begins(&scenario), [Point::default(), east], "{keys}");
    }
    let metres = load_in(&folder, &text("", &movement("kind = \"sumo\"\nfile = \"cars.xml\""))).unwrap();
    assert_eq!(begins(&metres)[0], Point { x: 11.0, y: 48.0 });
    let without = refused(&text("", &movement("kind = \"gpx\"\nfile = \"walk.gpx\"")));
    assert!(without.contains("mobility.kind: needs the key origin"), "{without}");
}
