//! `[mobility]`: where nodes are, when, and what is refused.

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::grid::Point;
use multihop_radio::mobility::{Area, RandomWalkParams, RandomWaypointParams, Start, Track};
use multihop_scenario::{Mobility, Scenario, Topology};

use super::{folder, load, load_in, load_with, refused};

const FLOW: &str = "[[flow]]\nfrom = 0\nto = 1\ntransport = \"newreno\"\n";
const RANDOM: &str = "[topology]\nkind = \"random\"\nnodes = 20\narea = [1500, 300]\n";

/// A scenario of 100 s with this topology and this movement.
fn text(topology: &str, mobility: &str) -> String {
    format!("duration = 100.0\n{topology}[mobility]\n{mobility}\n{FLOW}")
}

fn chain(mobility: &str) -> String {
    text("[topology]\nkind = \"chain\"\nhops = 1\n", mobility)
}

fn tracks(scenario: &Scenario) -> Vec<Track> {
    scenario.tracks(&scenario.topology.place(scenario.seed).unwrap())
}

fn places(scenario: &Scenario, seconds: u64) -> Vec<(f64, f64)> {
    let now = Instant::ZERO + Duration::from_secs(seconds);
    let place = |mut track: Track| {
        let Point { x, y } = track.at(now);
        (x, y)
    };
    tracks(scenario).into_iter().map(place).collect()
}

#[test]
fn nodes_stand_where_the_topology_has_them() {
    let scenario = load(&chain("kind = \"static\""));
    for seconds in [0, 100] {
        assert_eq!(places(&scenario, seconds), [(0.0, 0.0), (200.0, 0.0)]);
    }
}

#[test]
fn random_waypoint_in_the_area_of_the_topology() {
    let scenario = load(&text(RANDOM, "kind = \"random-waypoint\"\nspeed = [1, 20]\npause = 30"));
    let area = Area { width: 1500.0, height: 300.0 };
    let (pause, start) = (Duration::from_secs(30), Start::Stationary);
    let params = RandomWaypointParams { area, min_speed: 1.0, max_speed: 20.0, pause, start };
    assert_eq!(scenario.mobility, Mobility::RandomWaypoint { params, pattern: None });
    let begin = places(&scenario, 0);
    assert_eq!(begin.len(), 20);
    assert_ne!(begin, places(&scenario, 100));
    let other_seed = Scenario { seed: 2, ..scenario.clone() };
    assert_ne!(begin, places(&other_seed, 0));
    assert_eq!(begin, places(&scenario, 0));
}

#[test]
fn networks_that_move_need_not_be_connected() {
    let wide = RANDOM.replace("[1500, 300]", "[1e6, 1e6]");
    let mobility = "kind = \"random-waypoint\"\nspeed = [1, 20]";
    let scenario = load(&text(&wide, mobility));
    assert!(matches!(scenario.topology, Topology::Random { connected_at: None, .. }));
    load(&text(&format!("{wide}connected = false\n"), mobility));
    assert_eq!(
        refused(&text(&format!("{RANDOM}connected = true\n"), mobility)),
        "x.toml:6:13: topology.connected: moving nodes do not start at these positions, allowed: false, or mobility \"static\""
    );
    load(&text(&format!("{RANDOM}connected = true\n"), "kind = \"static\""));
}

#[test]
fn a_pattern_at_another_speed_is_the_same_movement() {
    let at = |speed: &str, seed: &str| {
        let pattern = "kind = \"random-waypoint\"\nspeed = 10\npattern = 7\nstart = \"classic\"";
        load_with(&text(RANDOM, pattern), &[("mobility.speed", speed), ("seed", seed)]).unwrap()
    };
    let (slow, fast) = (at("10", "1"), at("20", "2"));
    let Mobility::RandomWaypoint { params, pattern: Some(7) } = &slow.mobility else {
        panic!("{:?}", slow.mobility)
    };
    assert_eq!((params.min_speed, params.max_speed, params.pause), (9.0, 11.0, Duration::ZERO));
    assert_eq!(params.start, Start::Classic);
    for (a, b) in places(&slow, 60).into_iter().zip(places(&fast, 30)) {
        assert!((a.0 - b.0).abs() < 1e-5 && (a.1 - b.1).abs() < 1e-5, "{a:?} {b:?}");
    }
    assert_eq!(places(&slow, 0), places(&fast, 0));
    let other = load_with(
        &text(RANDOM, "kind = \"random-waypoint\"\nspeed = 10\npattern = 8\nstart = \"classic\""),
        &[],
    );
    assert_ne!(places(&slow, 0), places(&other.unwrap(), 0));
}

#[test]
fn random_walk_in_an_area_of_its_own() {
    let scenario = load(&chain("kind = \"random-walk\"\narea = [500, 400]\nspeed_max = 15\nleg_mean = 20"));
    let area = Area { width: 500.0, height: 400.0 };
    let params = RandomWalkParams { area, max_speed: 15.0, mean_spell: Duration::from_secs(20) };
    assert_eq!(scenario.mobility, Mobility::RandomWalk(params));
    let begin = places(&scenario, 0);
    assert_eq!(begin.len(), 2);
    assert!(begin.iter().all(|&(x, y)| (0.0..500.0).contains(&x) && (0.0..400.0).contains(&y)));
    assert_ne!(begin, places(&scenario, 50));
}

#[test]
fn waypoints_of_each_node() {
    let scenario =
        load(&chain("kind = \"waypoints\"\nwaypoints = [[], [[10, 50, 0], [20, 50, 100], [30, 0, 100]]]"));
    assert_eq!(places(&scenario, 0), [(0.0, 0.0), (50.0, 0.0)]);
    assert_eq!(places(&scenario, 15), [(0.0, 0.0), (50.0, 50.0)]);
    assert_eq!(places(&scenario, 100), [(0.0, 0.0), (0.0, 100.0)]);
}

#[test]
fn the_movement_may_be_the_topology() {
    let own = "[topology]\nkind = \"mobility\"\n";
    let scenario =
        load(&text(own, "kind = \"waypoints\"\nwaypoints = [[[5, 1, 2]], [[0, 3, 4], [9, 5, 6]]]"));
    assert_eq!(scenario.topology.place(1).unwrap().positions, [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(places(&scenario, 9), [(1.0, 2.0), (5.0, 6.0)]);
    for mobility in ["kind = \"static\"", "kind = \"random-walk\"\nspeed_max = 1\nleg_mean = 1"] {
        assert_eq!(
            refused(&text(own, mobility)),
            "x.toml:3:8: topology.kind: found \"mobility\", allowed with mobility.kind = \"waypoints\" or \
             a kind that reads a file"
        );
    }
    let alone = refused(&format!("duration = 1\n{own}{FLOW}"));
    assert!(alone.starts_with("x.toml:3:8: topology.kind: found \"mobility\", allowed with"), "{alone}");
}

const SCRIPT: &str = "$node_(0) set X_ 5.0\n$node_(0) set Y_ 6.0\n$node_(1) set X_ 7.0\n$node_(1) set Y_ 8.0\n\
                      $ns_ at 10.0 \"$node_(1) setdest 107.0 8.0 10.0\"\n";
const LINES: &str = "0 5 6\n0 7 8 10 7 8 20 107 8\n";

#[test]
fn files_of_movements() {
    let folder = folder("mobility", &[("a.tcl", SCRIPT), ("a.movements", LINES)]);
    for file in ["kind = \"ns2\"\nfile = \"a.tcl\"", "kind = \"bonnmotion\"\nfile = \"a.movements\""] {
        for topology in ["[topology]\nkind = \"mobility\"\n", "[topology]\nkind = \"chain\"\nhops = 1\n"] {
            let scenario = load_in(&folder, &text(topology, file)).unwrap();
            assert_eq!(places(&scenario, 0), [(5.0, 6.0), (7.0, 8.0)]);
            assert_eq!(places(&scenario, 15), [(5.0, 6.0), (57.0, 8.0)]);
        }
        let more = load_in(&folder, &text("[topology]\nkind = \"chain\"\nhops = 2\n", file)).unwrap_err();
        assert_eq!(more, "/x.toml:7:8: mobility.file: found 2 nodes, allowed: 3, as in the topology");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn problems_of_files() {
    let script = SCRIPT.replace("setdest 107.0", "setdest east");
    let folder =
        folder("mobility-problems", &[("a.tcl", &script), ("a.movements", "0 1\n"), ("b.tcl", "\n")]);
    let refused = |kind: &str, file: &str| {
        let mobility = format!("kind = \"{kind}\"\nfile = \"{file}\"");
        load_in(&folder, &text("[topology]\nkind = \"mobility\"\n", &mobility)).unwrap_err()
    };
    assert_eq!(
        refused("ns2", "a.tcl"),
        "/x.toml:6:8: mobility.file: /a.tcl:5: found \"east\", allowed: a number from -1e7 to 1e7"
    );
    assert_eq!(
        refused("bonnmotion", "a.movements"),
        "/x.toml:6:8: mobility.file: /a.movements:1: found 2 numbers, allowed: time, x and y in turn"
    );
    assert_eq!(
        refused("ns2", "b.tcl"),
        "/x.toml:6:8: mobility.file: /b.tcl:1: found no node, allowed: $node_(0) set X_ ... and so on"
    );
    let none = refused("ns2", "none.tcl");
    assert!(none.starts_with("/x.toml:6:8: mobility.file: /none.tcl: No such file"), "{none}");
    let endless = refused("ns2", "/dev/zero");
    assert!(
        endless.ends_with("/dev/zero: found more than 67108864 bytes, allowed: up to 67108864"),
        "{endless}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_roaming_node_walks_along_the_others() {
    let roaming = "duration = 280\n[topology]\nkind = \"roaming\"\n[[flow]]\ntransport = \"newreno\"\n";
    let scenario = load(roaming);
    let layout = scenario.topology.place(1).unwrap();
    assert_eq!(layout.names.iter().flatten().collect::<Vec<_>>(), ["N1", "N2", "N3", "N4"]);
    assert_eq!(layout.positions, [[0.0, 0.0], [200.0, 0.0], [400.0, 0.0], [0.0, 200.0]]);
    assert_eq!(layout.pairs, [(NodeId(3), NodeId(0))]);
    let walk = |seconds| places(&scenario, seconds)[3];
    let stops = [0, 40, 50, 60, 120, 160, 180, 240, 280].map(walk).map(|(x, _)| x);
    assert_eq!(stops, [0.0, 0.0, 100.0, 200.0, 400.0, 400.0, 200.0, 0.0, 0.0]);
    assert_eq!(places(&scenario, 130)[..3], [(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]);
    assert_eq!(
        refused(&format!("{roaming}[mobility]\nkind = \"static\"\n")),
        "x.toml:6:1: mobility: the topology roaming defines the movement, allowed: no [mobility]"
    );
}

#[test]
fn keys_of_another_movement() {
    assert_eq!(
        refused(&chain("kind = \"static\"\nspeed_max = 1")),
        "x.toml:7:1: mobility.speed_max: is not a key here, allowed with kind = \"random-walk\""
    );
    assert_eq!(
        refused(&chain("file = \"x\"")),
        "x.toml:6:1: mobility.file: is not a key here, allowed with kind = \"ns2\", \"bonnmotion\", \"sumo\", \"gpx\""
    );
    assert_eq!(
        refused(&chain("kind = \"random\"")),
        "x.toml:6:8: mobility.kind: found \"random\", allowed: \"static\", \"random-waypoint\", \"random-walk\", \
         \"waypoints\", \"ns2\", \"bonnmotion\", \"sumo\", \"gpx\", \"gauss-markov\", \"manhattan\", \"group\", \
         did you mean \"random-walk\"?"
    );
}

#[test]
fn areas() {
    assert_eq!(
        refused(&chain("kind = \"random-waypoint\"\nspeed = [1, 2]")),
        "x.toml:5:1: mobility.area: is missing, allowed: [width, height]; only the topology random provides an area"
    );
    assert_eq!(
        refused(&chain("kind = \"random-walk\"\nspeed_max = 1\nleg_mean = 1\narea = [1e6, 10]")),
        "x.toml:9:8: mobility.area: found 1000000 x 10 m, allowed: one side up to 10000 times the other"
    );
}

#[test]
fn speeds() {
    let waypoint = |keys: &str| refused(&text(RANDOM, &format!("kind = \"random-waypoint\"\n{keys}")));
    assert_eq!(waypoint(""), "x.toml:6:1: mobility.speed: is missing");
    assert_eq!(
        waypoint("speed = \"fast\""),
        "x.toml:8:9: mobility.speed: found \"fast\", allowed: a number from 0.0 to 10000.0, or an array of 2 values"
    );
    assert_eq!(
        waypoint("speed = [0, 20]"),
        "x.toml:8:10: mobility.speed.0: found 0, allowed: at least 0.000001, because a stationary start needs a \
         speed above 0"
    );
    load(&text(RANDOM, "kind = \"random-waypoint\"\nspeed = [0, 20]\nstart = \"classic\""));
    assert_eq!(waypoint("speed = [20, 2]"), "x.toml:8:14: mobility.speed.1: found 2, allowed: at least 20");
    assert_eq!(
        waypoint("speed = [0, 0]\nstart = \"classic\""),
        "x.toml:8:13: mobility.speed.1: found 0, allowed: at least 0.000001"
    );
    assert_eq!(waypoint("speed = 0"), "x.toml:8:9: mobility.speed: found 0, allowed: at least 0.000001");
    assert_eq!(
        waypoint("speed = 20000"),
        "x.toml:8:9: mobility.speed: found 20000, allowed: a number from 0.0 to 10000.0"
    );
    assert_eq!(
        waypoint("speed = 5\npause = 1"),
        "x.toml:9:9: mobility.pause: is not a key here, allowed with speed = [slowest, fastest]"
    );
    assert_eq!(
        waypoint("speed = [1, 2]\npattern = 1"),
        "x.toml:9:11: mobility.pattern: is not a key here, allowed with one number as speed"
    );
    assert_eq!(
        refused(&text(RANDOM, "kind = \"random-walk\"\nspeed_max = 0\nleg_mean = 1")),
        "x.toml:8:13: mobility.speed_max: found 0, allowed: at least 0.000001"
    );
}

#[test]
fn movements_that_never_end() {
    let tiny = RANDOM.replace("[1500, 300]", "[0.001, 0.001]");
    for mobility in [
        "kind = \"random-waypoint\"\nspeed = [1, 10000]",
        "kind = \"random-walk\"\nspeed_max = 10000\nleg_mean = 1",
    ] {
        let found = refused(&text(&tiny, mobility));
        assert!(found.starts_with("x.toml:6:1: mobility: found about "), "{found}");
        assert!(found.ends_with("changes of direction in a run, allowed: at most 1e7"), "{found}");
    }
    let hasty = refused(&text(RANDOM, "kind = \"random-walk\"\nspeed_max = 1\nleg_mean = 1e-6"));
    assert!(hasty.starts_with("x.toml:6:1: mobility: found about 2e9 changes"), "{hasty}");
}

#[test]
fn impossible_waypoints() {
    let waypoints = |list: &str| refused(&chain(&format!("kind = \"waypoints\"\nwaypoints = {list}")));
    assert_eq!(waypoints("[]"), "x.toml:7:13: mobility.waypoints: found 0 paths, allowed: 1 to 100000");
    assert_eq!(
        waypoints("[[]]"),
        "x.toml:7:13: mobility.waypoints: found 1 nodes, allowed: 2, as in the topology"
    );
    assert_eq!(
        waypoints("[[], [[5, 0, 0], [4, 0, 0]]]"),
        "x.toml:7:30: mobility.waypoints.1.1: found 4.000000000s after 5.000000000s, allowed: a later time"
    );
    assert_eq!(
        waypoints("[[], [[-1, 0, 0]]]"),
        "x.toml:7:20: mobility.waypoints.1.0.0: found -1, allowed: a time from 0"
    );
    assert_eq!(
        waypoints("[[], [[0, 0]]]"),
        "x.toml:7:19: mobility.waypoints.1.0: found an array, allowed: an array of 3 values"
    );
    assert_eq!(
        waypoints("[[], [[0, 0, 0], [1, 20000, 0]]]"),
        "x.toml:7:30: mobility.waypoints.1.1: found 20000 m in 1.000000000s, allowed: up to 10000 m/s"
    );
    let own = "[topology]\nkind = \"mobility\"\n";
    let many = format!("kind = \"waypoints\"\nwaypoints = [{}]", "[[0,0,0]],".repeat(100_001));
    assert_eq!(
        refused(&text(own, &many)),
        "x.toml:6:13: mobility.waypoints: found 100001 paths, allowed: 1 to 100000"
    );
    let random = refused(&text(&RANDOM.replace("20", "2"), "kind = \"waypoints\"\nwaypoints = [[], []]"));
    assert!(
        random.starts_with(
            "x.toml:8:14: mobility.waypoints.0: found no waypoint, allowed only if the topology has a"
        ),
        "{random}"
    );
}

const GRID: &str = "[topology]\nkind = \"grid\"\nrows = 3\ncolumns = 3\n";

/// The places of the nodes in the 3 x 3 grid that stand still, without the node in the middle.
fn around_the_middle(scenario: &Scenario, seconds: u64) -> Vec<(f64, f64)> {
    let mut places = places(scenario, seconds);
    places.remove(4);
    places
}

#[test]
fn one_node_of_a_grid_walks_while_the_others_stand() {
    let walk = "[[mobility.node]]\nnode = 4\nkind = \"path\"\npath = [[200, 400], [600, 400]]\nspeed = 20\nstart = 10\npause = 5";
    let scenario = load(&text(GRID, walk));
    let standing = around_the_middle(&load(&text(GRID, "kind = \"static\"")), 0);
    for (seconds, x, y) in
        [(0, 200.0, 200.0), (10, 200.0, 200.0), (15, 200.0, 300.0), (25, 200.0, 400.0), (30, 300.0, 400.0)]
    {
        assert_eq!(places(&scenario, seconds)[4], (x, y), "after {seconds} s");
        assert_eq!(around_the_middle(&scenario, seconds), standing);
    }
    assert_eq!(places(&scenario, 90)[4], (600.0, 400.0));
    let again = load(&text(GRID, &format!("{walk}\nrepeat = true")));
    // The node is at the last place after 45 s, away from it 5 s later, and at the first place 20 s after
    // that.
    assert_eq!([60, 70].map(|at| places(&again, at)[4]), [(400.0, 400.0), (200.0, 400.0)]);
}

#[test]
fn one_node_of_a_grid_is_at_given_places_at_given_times() {
    let path =
        "[[mobility.node]]\nnode = 4\nkind = \"waypoints\"\nwaypoints = [[10, 200, 200], [20, 200, 700]]";
    let scenario = load(&text(GRID, path));
    assert_eq!([0, 10, 15, 50].map(|at| places(&scenario, at)[4].1), [200.0, 200.0, 450.0, 700.0]);
    assert_eq!(around_the_middle(&scenario, 0), around_the_middle(&scenario, 50));
}

#[test]
fn single_nodes_move_at_random_while_the_others_stand() {
    let random =
        "[[mobility.node]]\nnode = [4, 0]\nkind = \"random-waypoint\"\nspeed = [5, 10]\narea = [400, 400]";
    let scenario = load(&text(GRID, random));
    let (begin, end) = (places(&scenario, 0), places(&scenario, 100));
    let moved: Vec<_> = (0..9).filter(|&node| begin[node] != end[node]).collect();
    assert_eq!(moved, [0, 4]);
    // Each node draws from its own stream, as when all nodes move.
    let all = load(&text(GRID, "kind = \"random-waypoint\"\nspeed = [5, 10]\narea = [400, 400]"));
    assert_eq!([end[0], end[4]], [0, 4].map(|node| places(&all, 100)[node]));
}

#[test]
fn single_nodes_stand_while_the_others_move() {
    let standing = "kind = \"random-walk\"\narea = [400, 400]\nspeed_max = 5\nleg_mean = 9\n[[mobility.node]]\nnode = \"N2\"\nkind = \"static\"";
    let scenario = load(&text("[topology]\nkind = \"cross-testbed\"\n", standing));
    let (begin, end) = (places(&scenario, 0), places(&scenario, 50));
    let stood: Vec<_> = (0..8).filter(|&node| begin[node] == end[node]).collect();
    assert_eq!(stood, [1]);
}

#[test]
fn a_connected_network_may_have_nodes_that_walk_away() {
    let walk = "[[mobility.node]]\nnode = 4\nkind = \"path\"\npath = [[200, 400]]\nspeed = 20";
    for connected in ["", "connected = true\n"] {
        let scenario = load(&text(&format!("{RANDOM}{connected}"), walk));
        assert!(matches!(scenario.topology, Topology::Random { connected_at: Some(_), .. }));
    }
    let random =
        walk.replace("\"path\"\npath = [[200, 400]]\nspeed = 20", "\"random-waypoint\"\nspeed = [1, 2]");
    let scenario = load(&text(RANDOM, &random));
    assert!(matches!(scenario.topology, Topology::Random { connected_at: None, .. }));
    assert_eq!(
        refused(&text(&format!("{RANDOM}connected = true\n"), &random)),
        "x.toml:6:13: topology.connected: moving nodes do not start at these positions, allowed: false, or mobility \"static\""
    );
}

#[test]
fn problems_of_single_nodes() {
    let with = |entry: &str| refused(&text(GRID, &format!("[[mobility.node]]\n{entry}")));
    let walk = "kind = \"path\"\npath = [[1, 2]]\nspeed = 1";
    assert_eq!(
        with(&format!("node = 9\n{walk}")),
        "x.toml:8:8: mobility.node.0.node: found 9, allowed: 0 to 8"
    );
    assert_eq!(
        with(&format!("node = []\n{walk}")),
        "x.toml:8:8: mobility.node.0.node: found an empty array, allowed: at least one node"
    );
    assert_eq!(
        with(&format!("node = [1, 1]\n{walk}")),
        "x.toml:8:8: mobility.node.0.node: found 1 twice, allowed: one movement for each node"
    );
    assert_eq!(with(walk), "x.toml:7:1: mobility.node.0.node: is missing");
    assert_eq!(
        with("node = true\nkind = \"static\""),
        "x.toml:8:8: mobility.node.0.node: found true, allowed: the number or the name of a node, or an array"
    );
    assert_eq!(
        with("node = 1"),
        "x.toml:7:1: mobility.node.0.kind: is missing, allowed: \"path\", \"waypoints\", \"static\", \"random-waypoint\", \
         \"random-walk\", \"gauss-markov\", \"manhattan\", \"group\""
    );
    assert_eq!(
        with("node = 1\nkind = \"path\"\npath = []\nspeed = 1"),
        "x.toml:10:8: mobility.node.0.path: found no place, allowed: one or more"
    );
    assert_eq!(
        with("node = 1\nkind = \"path\"\npath = [[1, 2]]\nspeed = 0"),
        "x.toml:11:9: mobility.node.0.speed: found 0, allowed: a number from 0.000001 to 10000.0"
    );
    assert_eq!(
        with(&format!("node = 1\n{walk}\nrepeat = true")),
        "x.toml:7:1: mobility.node.0: found about inf changes of direction in a run, allowed: at most 1e7"
    );
    assert_eq!(
        with("node = 1\nkind = \"waypoints\"\nwaypoints = [[5, 0, 0], [4, 0, 0]]"),
        "x.toml:10:25: mobility.node.0.waypoints.1: found 4.000000000s after 5.000000000s, allowed: a later time"
    );
    assert_eq!(
        with("node = 1\nkind = \"random-walk\"\nspeed_max = 1\nleg_mean = 1"),
        "x.toml:7:1: mobility.node.0.area: is missing, allowed: [width, height]; only the topology random provides an area"
    );
}

const GAUSS_MARKOV: &str = "kind = \"gauss-markov\"\narea = [400, 400]\nspeed = 5";
const MANHATTAN: &str = "kind = \"manhattan\"\narea = [400, 400]\nblocks = [4, 2]\nspeed = [5, 10]";
const GROUP: &str = "kind = \"group\"\narea = [400, 400]\nspeed = [5, 10]\nradius = 50";

#[test]
fn random_models_of_all_nodes_and_of_single_ones() {
    for model in [GAUSS_MARKOV, MANHATTAN, &format!("{GROUP}\nsize = 3")] {
        let all = load(&text(GRID, model));
        let inside = |places: &[(f64, f64)]| {
            places.iter().all(|&(x, y)| (0.0..=400.0).contains(&x) && (0.0..=400.0).contains(&y))
        };
        let (begin, end) = (places(&all, 0), places(&all, 60));
        assert!(inside(&begin) && inside(&end));
        assert!(begin.iter().zip(&end).all(|(begin, end)| begin != end));
        assert_ne!(begin, places(&Scenario { seed: 2, ..all.clone() }, 0));
        let single = model.replace("\nsize = 3", "");
        let some = load(&text(GRID, &format!("[[mobility.node]]\nnode = [3, 5]\n{single}")));
        let moved = places(&some, 60);
        assert_eq!(moved[4], (200.0, 200.0));
        // Groups that begin with node 3 have the same reference point.
        assert_eq!([moved[3], moved[5]], [end[3], end[5]], "{model}");
    }
}

#[test]
fn nodes_of_a_group_have_successive_numbers() {
    let scenario = load(&text(GRID, &format!("{GROUP}\nsize = 4")));
    for seconds in [0, 50, 100] {
        let places = places(&scenario, seconds);
        let apart = |a: usize, b: usize| {
            let ((ax, ay), (bx, by)) = (places[a], places[b]);
            (ax - bx).hypot(ay - by)
        };
        assert!((1..4).all(|node| apart(0, node) <= 100.0) && (5..8).all(|node| apart(4, node) <= 100.0));
    }
}

#[test]
fn problems_of_random_models() {
    let with = |model: &str, old: &str, new: &str| refused(&text(GRID, &model.replace(old, new)));
    assert_eq!(
        with(GAUSS_MARKOV, "speed = 5", "speed = 5\nalpha = 1.5"),
        "x.toml:10:9: mobility.alpha: found 1.5, allowed: a number from 0.0 to 1.0"
    );
    assert_eq!(
        with(GAUSS_MARKOV, "speed = 5", "speed = 0\nspeed_deviation = 0"),
        "x.toml:9:9: mobility.speed: found 0, allowed: a mean for which speed + 4 speed_deviation is from 0.000001 to 10000"
    );
    assert_eq!(
        with(GAUSS_MARKOV, "area = [400, 400]\n", ""),
        "x.toml:6:1: mobility.area: is missing, allowed: [width, height]; only the topology random provides an area"
    );
    assert_eq!(
        with(GAUSS_MARKOV, "speed = 5", "speed = 5\ninterval = 1e-6"),
        "x.toml:6:1: mobility: found about 9e8 changes of direction in a run, allowed: at most 1e7"
    );
    assert_eq!(
        with(MANHATTAN, "[4, 2]", "[4, 0]"),
        "x.toml:9:14: mobility.blocks.1: found 0, allowed: a whole number from 1 to 10000"
    );
    assert_eq!(
        with(MANHATTAN, "speed = [5, 10]", "speed = [10, 5]"),
        "x.toml:10:14: mobility.speed.1: found 5, allowed: at least 10"
    );
    assert_eq!(with(MANHATTAN, "blocks = [4, 2]\n", ""), "x.toml:6:1: mobility.blocks: is missing");
    assert_eq!(
        with(MANHATTAN, "speed = [5, 10]", "speed = [5, 10]\nturn = -0.5"),
        "x.toml:11:8: mobility.turn: found -0.5, allowed: a number from 0.0 to 1.0"
    );
    let group = format!("{GROUP}\nsize = 3");
    assert_eq!(
        with(&group, "radius = 50", "radius = 200"),
        "x.toml:10:10: mobility.radius: found 200, allowed: less than half of each side of the area, 400 x 400 m; of \
         the sides that remain, the longer is at most 10000 times the shorter"
    );
    assert_eq!(
        with(&group, "speed = [5, 10]", "speed = [0, 10]"),
        "x.toml:9:10: mobility.speed.0: found 0, allowed: at least 0.000001"
    );
    assert_eq!(
        with(&group, "radius = 50", "radius = 50\ninterval = 0.001"),
        "x.toml:11:12: mobility.interval: found 0.001, allowed: an interval in which nodes cross the circle \
         at up to 10000 m/s"
    );
    assert_eq!(with(&group, "size = 3", ""), "x.toml:6:1: mobility.size: is missing");
    assert_eq!(
        refused(&text(GRID, &format!("[[mobility.node]]\nnode = 1\n{group}"))),
        "x.toml:13:1: mobility.node.0.size: is not a key here, allowed: area, interval, kind, node, pause, radius, speed, \
         start"
    );
    for model in [GAUSS_MARKOV, MANHATTAN, &group] {
        let own = refused(&text("[topology]\nkind = \"mobility\"\n", model));
        assert!(own.contains("topology.kind: found \"mobility\", allowed with mobility.kind"), "{own}");
    }
}
