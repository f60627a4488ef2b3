use multihop_core::Rng;
use multihop_radio::grid::Point;
use multihop_radio::mobility::{
    Area, Movement, Path, RandomWalk, RandomWalkParams, RandomWaypoint, RandomWaypointParams, Start, Track,
    Waypoint,
};

use super::*;
use multihop_scenario::{Mobility, Record, Source};

const RANGE: f64 = 250.0;
const NANOSECOND: Duration = Duration::from_nanos(1);

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

/// Tracks of nodes on given paths; each path lists time, x and y of its waypoints.
fn along(paths: &[&[(f64, f64, f64)]]) -> Vec<Track> {
    let waypoint = |&(seconds, x, y): &(f64, f64, f64)| Waypoint { at: at(seconds), place: Point { x, y } };
    let path = |list: &&[(f64, f64, f64)]| Path::new(&list.iter().map(waypoint).collect::<Vec<_>>()).unwrap();
    paths.iter().map(|list| Track::new(Movement::along(path(list)))).collect()
}

/// Instants at which the shortest path of one flow changes, each with the number of hops from then on.
type Changes = Vec<(Instant, Option<u32>)>;

/// All changes of each flow's shortest path, computed in one call or at intervals.
fn changes(mut paths: ShortestPaths, every: Option<Duration>, until: Instant) -> Vec<Changes> {
    let mut changes = vec![Vec::new(); paths.flows.len()];
    let mut now = Instant::ZERO;
    loop {
        now = every.map_or(until, |every| (now + every).min(until));
        while let Some(at) = paths.step(now) {
            for &flow in paths.changed() {
                changes[flow.index()].push((at, paths.hops(flow)));
            }
        }
        if now == until {
            return changes;
        }
    }
}

fn paths(tracks: &[Track], pairs: &[(NodeId, NodeId)], until: Instant) -> Vec<Changes> {
    let paths = || {
        let links = LinkChanges::new(tracks.to_vec(), RANGE, until);
        ShortestPaths::moving(tracks.len(), links, pairs.to_vec())
    };
    let found = changes(paths(), None, until);
    assert_eq!(changes(paths(), Some(Duration::from_millis(377)), until), found);
    found
}

/// Number of hops at `now`.
fn hops(changes: &Changes, now: Instant) -> Option<u32> {
    changes[changes.partition_point(|&(at, _)| at <= now) - 1].1
}

/// Number of hops at one instant, from the positions at that instant only.
fn by_sampling(tracks: &[Track], (from, to): (NodeId, NodeId), now: Instant) -> Option<u32> {
    let places: Vec<_> = tracks.iter().map(|track| track.clone().at(now)).collect();
    let mut reached = vec![false; places.len()];
    let mut frontier = vec![from.index()];
    for hops in 0.. {
        if frontier.contains(&to.index()) {
            return Some(hops);
        }
        for &node in &frontier {
            reached[node] = true;
        }
        let near = |n: &usize| frontier.iter().any(|&m| places[*n].distance(places[m]) <= RANGE);
        let next: Vec<_> = (0..places.len()).filter(|&n| !reached[n]).filter(near).collect();
        if next.is_empty() {
            return None;
        }
        frontier = next;
    }
    unreachable!("some round finds no new node")
}

/// A relay moves at 10 m/s on a line 150 m from two nodes that are 400 m apart. It is within 250 m of a node at x for
/// 200 m before and after x.
#[test]
fn a_passing_relay_connects_two_nodes() {
    let tracks = along(&[
        &[(0.0, 0.0, 0.0)],
        &[(0.0, 400.0, 0.0)],
        // The relay passes x = 0 after 50 s.
        &[(0.0, -500.0, 150.0), (150.0, 1000.0, 150.0)],
    ]);
    let pairs = [(NodeId(0), NodeId(1)), (NodeId(0), NodeId(2)), (NodeId(2), NodeId(1))];
    let found = paths(&tracks, &pairs, at(150.0));
    let left = NANOSECOND;
    let both = [(at(0.0), None), (at(70.0), Some(2)), (at(70.0) + left, None)];
    assert_eq!(found[0], both, "200 m after one it is 200 m before the other");
    assert_eq!(found[1], [(at(0.0), None), (at(30.0), Some(1)), (at(70.0) + left, None)]);
    assert_eq!(found[2], [(at(0.0), None), (at(70.0), Some(1)), (at(110.0) + left, None)]);
}

/// The direct link breaks at a known time; a relay then connects the nodes until it leaves too.
#[test]
fn a_path_lengthens_and_breaks() {
    let tracks = along(&[
        &[(0.0, 0.0, 0.0)],
        // The node is 250 m away at 15 s and 300 m at 20 s.
        &[(0.0, 100.0, 0.0), (20.0, 300.0, 0.0)],
        // The node is 250 m from node 0 at 50 s and again at 70 s.
        &[(0.0, 150.0, 0.0), (40.0, 150.0, 0.0), (60.0, 350.0, 0.0), (80.0, 150.0, 0.0)],
    ]);
    let found = paths(&tracks, &[(NodeId(0), NodeId(1))], at(100.0));
    let changes = [
        (at(0.0), Some(1)),
        (at(15.0) + NANOSECOND, Some(2)),
        (at(50.0) + NANOSECOND, None),
        (at(70.0), Some(2)),
    ];
    assert_eq!(found[0], changes);
    let mut spell = Spell::new(at(10.0));
    spell.until = at(90.0);
    let end = (at(100.0), None);
    changes.into_iter().chain([end]).for_each(|(now, hops)| spell.turn(now, hops));
    let spent = spell.before;
    let seconds: Vec<_> = spent.0.iter().map(|(&hops, time)| (hops, time.as_secs_f64().round())).collect();
    assert_eq!(seconds, [(None, 20.0), (Some(1), 5.0), (Some(2), 55.0)]);
}

/// Compares all movements with brute force, at closely spaced instants and on both sides of every change.
#[test]
fn random_motion_agrees_with_dense_sampling() {
    let area = Area { width: 1000.0, height: 600.0 };
    let waypoint = RandomWaypointParams {
        area,
        min_speed: 1.0,
        max_speed: 30.0,
        pause: Duration::from_secs(2),
        start: Start::Stationary,
    };
    let walk = RandomWalkParams { area, max_speed: 40.0, mean_spell: Duration::from_secs(3) };
    let mut changes = 0;
    for seed in 0..6 {
        let tracks: Vec<_> = (0..9)
            .map(NodeId)
            .map(|node| match node.0 % 3 {
                0 => Movement::RandomWaypoint(RandomWaypoint::new(waypoint, seed, node)),
                1 => Movement::RandomWalk(RandomWalk::new(walk, seed, node)),
                _ => Movement::Still(Point { x: 100.0 * f64::from(node.0), y: 300.0 }),
            })
            .map(Track::new)
            .collect();
        let pairs = [(NodeId(0), NodeId(1)), (NodeId(3), NodeId(8)), (NodeId(0), NodeId(7))];
        let end = at(100.0);
        for (path, pair) in paths(&tracks, &pairs, end).iter().zip(pairs) {
            for n in 0..2000_u64 {
                let now = Instant::ZERO + Duration::from_micros(49_999) * n;
                assert_eq!(
                    hops(path, now),
                    by_sampling(&tracks, pair, now),
                    "seed {seed}, {pair:?} at {now}"
                );
            }
            for change in path.windows(2) {
                let [(_, before), (now, after)] = change else { unreachable!("windows of two") };
                assert_eq!(by_sampling(&tracks, pair, *now - NANOSECOND), *before);
                assert_eq!(by_sampling(&tracks, pair, *now), *after);
                assert!(*now < end);
                changes += 1;
            }
        }
    }
    assert!(changes > 100, "{changes}");
}

/// Equation 3.1 worked by hand: 10 s at one hop, 25 s at two, 5 s at nine and 20 s without a path.
#[test]
fn expected_goodput_of_a_worked_example() {
    let seconds = Duration::from_secs;
    let times = TimeByHops(BTreeMap::from([
        (None, seconds(20)),
        (Some(1), seconds(10)),
        (Some(2), seconds(25)),
        (Some(9), seconds(5)),
    ]));
    let chains = BTreeMap::from([(1, 1460.0), (2, 720.0), (3, 480.0)]);
    // (10 * 1460 + 25 * 720 + 5 * 480 + 20 * 0) / 60: nine hops count as three.
    assert_eq!(times.expected_kbps(&chains), Some(35_000.0 / 60.0));
    assert_eq!(times.mean(), Some((10.0 + 50.0 + 45.0) / 40.0));
    assert_eq!(times.partitioned(), Some(1.0 / 3.0));
}

#[test]
fn zero_time_and_no_path_have_no_metrics() {
    let time = |hops, from, until| {
        let mut spell = Spell::new(at(from));
        spell.turn(at(0.0), hops);
        spell.turn(at(until), None);
        spell.before
    };
    let never = time(None, 5.0, 9.0);
    assert_eq!((never.mean(), never.partitioned()), (None, Some(1.0)));
    assert_eq!(never.expected_kbps(&BTreeMap::from([(1, 1460.0)])), Some(0.0));
    let nothing = time(Some(1), 9.0, 5.0);
    assert_eq!((nothing.mean(), nothing.partitioned()), (None, None));
    assert_eq!(nothing.expected_kbps(&BTreeMap::from([(1, 1460.0)])), None);
}

fn scenario(text: &str) -> Scenario {
    let source = Source::Toml { text: text.to_owned(), name: "x.toml".to_owned() };
    Scenario::load(&source, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The links of stationary nodes are computed once with a grid. If one of the same nodes moves a little at the end, they
/// are computed by pairs.
#[test]
fn stationary_and_moving_nodes_have_the_same_paths() {
    let mut rng = Rng::stream(4, "test", 0);
    for _ in 0..20 {
        let places: Vec<_> =
            (0..30).map(|_| Point { x: rng.range(0.0, 1200.0), y: rng.range(0.0, 1200.0) }).collect();
        let pairs: Vec<_> = (1..30).map(|to| (NodeId(0), NodeId(to))).collect();
        let tracks: Vec<_> = places.iter().map(|&place| Track::new(Movement::Still(place))).collect();
        let standing = ShortestPaths::standing(&Graph::of_places(&places, RANGE), pairs.clone());
        assert_eq!(changes(standing, None, at(9.0)), paths(&tracks, &pairs, at(9.0)));
    }
}

#[test]
fn paths_of_very_many_moving_nodes_are_computed_only_on_request() {
    let area = Area { width: 500.0, height: 500.0 };
    let walk = RandomWalkParams { area, max_speed: 1.0, mean_spell: Duration::from_secs(10) };
    let walkers = |nodes: u32| {
        let mut scenario = scenario(&format!(
            "duration = 0.1\n\
             topology = {{ kind = \"random\", nodes = {nodes}, area = [500.0, 500.0], connected = false }}\n\
             [[flow]]\nfrom = 0\nto = 1\ntransport = \"reno\"\n"
        ));
        scenario.mobility = Mobility::RandomWalk(walk);
        scenario
    };
    let found = |scenario: &Scenario| {
        ShortestPaths::of(scenario, &scenario.topology.place(scenario.seed).unwrap()).is_some()
    };
    assert!(found(&walkers(1000)));
    assert!(!found(&walkers(1001)));
    let mut asks = walkers(1001);
    asks.expected = Some(BTreeMap::from([(1, 1460.0)]));
    assert!(found(&asks));
    let mut records = walkers(1001);
    records.record = Some(Record { every: Duration::ZERO, what: vec![Series::Shortest] });
    assert!(found(&records));
    let stands = scenario(
        "duration = 1.0\ntopology = { kind = \"chain\", hops = 5000 }\n\
         [[flow]]\nfrom = 3\nto = 4321\ntransport = \"reno\"\n",
    );
    let paths = ShortestPaths::of(&stands, &stands.topology.place(1).unwrap()).unwrap();
    assert_eq!(changes(paths, None, at(1.0)), [[(Instant::ZERO, Some(4318))]]);
}
