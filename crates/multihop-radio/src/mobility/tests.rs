//! Tests of the mobility models: continuity, limits, and distributions from the literature.

use multihop_core::{Duration, Instant, NodeId};

use super::random_waypoint::{mean_slowness, mean_trip, pause_share};
use super::*;
use crate::grid::Point;

const AREA: Area = Area { width: 1000.0, height: 600.0 };

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

fn waypoint(start: Start) -> RandomWaypointParams {
    RandomWaypointParams {
        area: AREA,
        min_speed: 1.0,
        max_speed: 20.0,
        pause: Duration::from_secs(30),
        start,
    }
}

fn walk() -> RandomWalkParams {
    RandomWalkParams { area: AREA, max_speed: 20.0, mean_spell: Duration::from_secs(30) }
}

fn random_waypoint(params: RandomWaypointParams, seed: u64, node: u32) -> Movement {
    Movement::RandomWaypoint(RandomWaypoint::new(params, seed, NodeId(node)))
}

fn random_walk(seed: u64, node: u32) -> Movement {
    Movement::RandomWalk(RandomWalk::new(walk(), seed, NodeId(node)))
}

fn gauss_markov(seed: u64, node: u32) -> Movement {
    let params = GaussMarkovParams {
        area: AREA,
        alpha: 0.75,
        mean_speed: 10.0,
        speed_deviation: 3.0,
        mean_direction: None,
        direction_deviation: 0.5,
        interval: Duration::from_secs(2),
    };
    Movement::GaussMarkov(GaussMarkov::new(params, seed, NodeId(node)))
}

fn manhattan(seed: u64, node: u32) -> Movement {
    let params = ManhattanParams { area: AREA, blocks: [7, 3], min_speed: 5.0, max_speed: 15.0, turn: 0.4 };
    Movement::Manhattan(Manhattan::new(params, seed, NodeId(node)))
}

fn group(seed: u64, node: u32) -> Movement {
    let reference = waypoint(Start::Stationary);
    let params = GroupParams { reference, radius: 100.0, interval: Duration::from_secs(10) };
    Movement::Group(Group::new(params, seed, NodeId(node / 3 * 3), NodeId(node)))
}

fn speed(leg: &Leg) -> f64 {
    let (x, y) = leg.velocity();
    (x * x + y * y).sqrt()
}

/// Mean and standard error.
fn estimate(samples: &[f64]) -> (f64, f64) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Asserts a mean within four standard errors, which chance exceeds once in 16 000 times.
#[track_caller]
fn assert_mean(samples: &[f64], expected: f64) {
    let (mean, error) = estimate(samples);
    assert!((mean - expected).abs() < 4.0 * error, "{mean} +- {error} instead of {expected}");
}

/// Values of `measure` for many nodes at one time.
fn sample(params: RandomWaypointParams, seconds: f64, measure: impl Fn(&Leg, Point) -> f64) -> Vec<f64> {
    (0..20_000)
        .map(|node| {
            let mut track = Track::new(random_waypoint(params, 1, node));
            let place = track.at(at(seconds));
            measure(track.leg(at(seconds)), place)
        })
        .collect()
}

fn indicator(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

#[test]
fn legs_are_contiguous_inside_the_area_and_below_the_speed_limit() {
    for mut movement in [
        random_waypoint(waypoint(Start::Stationary), 1, 0),
        random_waypoint(waypoint(Start::Classic), 1, 0),
        random_waypoint(RandomWaypointParams { min_speed: 0.0, ..waypoint(Start::Classic) }, 1, 1),
        random_waypoint(RandomWaypointParams::pattern(AREA, 30.0, Start::Classic), 7, 2),
        random_walk(1, 0),
        gauss_markov(1, 0),
        manhattan(1, 0),
        group(1, 0),
    ] {
        let limit = movement.speed_limit();
        let (mut now, mut place) = (Instant::ZERO, None);
        for _ in 0..5000 {
            let leg = movement.next_leg();
            assert_eq!(leg.start, now);
            assert!(leg.end > leg.start);
            assert!(place.is_none_or(|place| place == leg.from));
            for Point { x, y } in [leg.from, leg.to] {
                assert!((0.0..=AREA.width).contains(&x) && (0.0..=AREA.height).contains(&y));
            }
            let allowed = limit * (leg.end - leg.start).as_secs_f64() + 1e-6;
            assert!(leg.from.distance(leg.to) <= allowed, "{leg:?}");
            (now, place) = (leg.end, Some(leg.to));
        }
    }
}

#[test]
fn a_movement_depends_only_on_seed_and_node() {
    let places = |movement| {
        let mut track = Track::new(movement);
        (0..50_u32).map(|n| track.at(at(f64::from(n) * 20.0))).collect::<Vec<_>>()
    };
    let waypoints = |seed, node| random_waypoint(waypoint(Start::Stationary), seed, node);
    for model in [random_walk, gauss_markov, manhattan, group, waypoints] {
        assert_eq!(places(model(1, 0)), places(model(1, 0)));
        assert_ne!(places(model(1, 0)), places(model(2, 0)));
        assert_ne!(places(model(1, 0)), places(model(1, 1)));
    }
}

#[test]
fn a_position_does_not_depend_on_earlier_queries() {
    let mut often = Track::new(random_walk(3, 0));
    for n in 0..10_000_u32 {
        often.at(at(f64::from(n) * 0.1));
    }
    assert_eq!(often.at(at(1000.0)), Track::new(random_walk(3, 0)).at(at(1000.0)));
}

#[test]
fn closed_forms_agree_with_published_numbers() {
    let square = Area { width: 1000.0, height: 1000.0 };
    assert!((mean_trip(square) - 521.405).abs() < 0.001);
    assert!((mean_trip(Area { width: 1500.0, height: 300.0 }) - 524.6).abs() < 0.1);
    let params = waypoint(Start::Stationary);
    assert!((pause_share(&params) - 0.310).abs() < 0.001);
    let mean_speed = (1.0 - pause_share(&params)) / mean_slowness(1.0, 20.0);
    assert!((mean_speed - 4.378).abs() < 0.001, "{mean_speed}");
    assert!((mean_slowness(5.0, 5.0) - 0.2).abs() < 1e-12);
    assert!((mean_slowness(5.0, 5.0001) - 0.199_998).abs() < 1e-8);
}

#[test]
fn speeds_and_pauses_of_a_random_trip_are_stationary() {
    let params = waypoint(Start::Stationary);
    let share = pause_share(&params);
    for seconds in [0.0, 1000.0] {
        let speeds = sample(params, seconds, |leg, _| speed(leg));
        assert_mean(&speeds, (1.0 - share) / mean_slowness(1.0, 20.0));
        let pausing: Vec<_> = speeds.iter().map(|&speed| indicator(speed <= 0.0)).collect();
        assert_mean(&pausing, share);
        // The density of speeds is proportional to 1/v.
        let slow: Vec<_> = speeds.iter().map(|&speed| indicator(0.0 < speed && speed < 4.0)).collect();
        assert_mean(&slow, (1.0 - share) * libm::log(4.0) / libm::log(20.0));
    }
}

#[test]
fn residual_pauses_are_uniform() {
    let params = waypoint(Start::Stationary);
    for seconds in [0.0, 1000.0] {
        let rests: Vec<_> = sample(params, seconds, |leg, _| {
            if speed(leg) > 0.0 { f64::NAN } else { (leg.end - at(seconds)).as_secs_f64() }
        });
        let rests: Vec<_> = rests.into_iter().filter(|rest| !rest.is_nan()).collect();
        assert_mean(&rests, 15.0);
        assert_mean(&rests.iter().map(|&rest| indicator(rest < 6.0)).collect::<Vec<_>>(), 0.2);
    }
}

/// On a line of length 1, moving nodes have density 6x(1 - x): 0.6875 of them are in the middle
/// half, and the variance is 1/20 (Bettstetter, Resta and Santi 2003).
#[test]
fn the_density_of_a_random_trip_on_a_line_has_its_closed_form() {
    let line =
        RandomWaypointParams { area: Area { width: 1000.0, height: 0.1 }, ..waypoint(Start::Stationary) };
    let pausing = pause_share(&line);
    for seconds in [0.0, 1000.0] {
        let middle = sample(line, seconds, |_, place| indicator((250.0..750.0).contains(&place.x)));
        assert_mean(&middle, 0.5 * pausing + 0.6875 * (1.0 - pausing));
        let squares = sample(line, seconds, |_, place| (place.x / 1000.0 - 0.5) * (place.x / 1000.0 - 0.5));
        assert_mean(&squares, pausing / 12.0 + (1.0 - pausing) / 20.0);
    }
}

#[test]
fn the_density_of_a_random_trip_is_stationary() {
    let density = |seconds| {
        let middle = |Point { x, y }| (250.0..750.0).contains(&x) && (150.0..450.0).contains(&y);
        estimate(&sample(waypoint(Start::Stationary), seconds, |_, place| indicator(middle(place))))
    };
    let ((early, early_error), (late, late_error)) = (density(0.0), density(1000.0));
    let error = (early_error * early_error + late_error * late_error).sqrt();
    assert!((early - late).abs() < 4.0 * error, "{early} and {late} +- {error}");
    // Well above the quarter of a uniform density.
    assert!(early > 0.25 + 20.0 * early_error, "{early}");
}

#[test]
fn with_a_classic_start_nodes_slow_down_and_concentrate_in_the_middle() {
    let classic = RandomWaypointParams { pause: Duration::ZERO, ..waypoint(Start::Classic) };
    let speeds = |seconds| sample(classic, seconds, |leg, _| speed(leg));
    assert_mean(&speeds(0.0), 10.5);
    let (late, error) = estimate(&speeds(1000.0));
    assert!(late < 10.5 - 50.0 * error, "{late} +- {error}");
    let middle = |seconds| sample(classic, seconds, |_, place| indicator((250.0..750.0).contains(&place.x)));
    assert_mean(&middle(0.0), 0.5);
    let (late, error) = estimate(&middle(1000.0));
    assert!(late > 0.5 + 20.0 * error, "{late} +- {error}");
}

#[test]
fn with_a_classic_start_all_nodes_pause_first() {
    let moving = |seconds| sample(waypoint(Start::Classic), seconds, |leg, _| indicator(speed(leg) > 0.0));
    assert!(moving(29.9).iter().all(|&moves| moves < 0.5));
    assert!(moving(30.0).iter().all(|&moves| moves > 0.5));
}

/// Shares of time of one node over a long run, in 100 batches.
#[test]
fn the_long_run_of_one_node_agrees_with_the_sampler() {
    let params = waypoint(Start::Classic);
    let mut movement = random_waypoint(params, 5, 0);
    let (mut pausing, mut speeds, mut trips) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..100 {
        let (mut rest, mut time, mut metres) = (0.0, 0.0, 0.0);
        for _ in 0..400 {
            let leg = movement.next_leg();
            let seconds = (leg.end - leg.start).as_secs_f64();
            let length = leg.from.distance(leg.to);
            if length > 0.0 {
                trips.push(length);
            } else {
                rest += seconds;
            }
            (time, metres) = (time + seconds, metres + length);
        }
        pausing.push(rest / time);
        speeds.push(metres / time);
    }
    let share = pause_share(&params);
    assert_mean(&trips, mean_trip(AREA));
    assert_mean(&pausing, share);
    assert_mean(&speeds, (1.0 - share) / mean_slowness(1.0, 20.0));
}

#[test]
fn a_pattern_visits_the_same_points_at_any_speed() {
    for start in [Start::Classic, Start::Stationary] {
        let track = |mean: f64| {
            let params = RandomWaypointParams::pattern(Area { width: 1500.0, height: 300.0 }, mean, start);
            Track::new(random_waypoint(params, 20, 3))
        };
        let mut slow = track(2.0);
        for mean in [10.0, 20.0, 30.0] {
            let mut fast = track(mean);
            for part in 0..=1000_u32 {
                // At the mean speed, a run of 3600/v seconds is 3600 m long.
                let metres = f64::from(part) * 3.6;
                let apart = slow.at(at(metres / 2.0)).distance(fast.at(at(metres / mean)));
                assert!(apart < 1e-5, "{apart} m apart after {metres} m at {mean} m/s");
            }
            slow = track(2.0);
        }
    }
}

#[test]
fn the_speeds_of_a_pattern_are_within_a_tenth_of_their_mean() {
    let params = RandomWaypointParams::pattern(AREA, 10.0, Start::Classic);
    let mut movement = random_waypoint(params, 1, 0);
    let speeds: Vec<_> = (0..20_000).map(|_| speed(&movement.next_leg())).collect();
    assert!(speeds.iter().all(|speed| (8.999..11.001).contains(speed)));
    assert_mean(&speeds, 10.0);
    assert_mean(&speeds.iter().map(|speed| indicator(*speed < 9.5)).collect::<Vec<_>>(), 0.25);
}

#[test]
fn reflection_keeps_the_speed() {
    let params = RandomWalkParams {
        area: Area { width: 50.0, height: 30.0 },
        max_speed: 20.0,
        mean_spell: Duration::from_secs(60),
    };
    let mut movement = Movement::RandomWalk(RandomWalk::new(params, 1, NodeId(0)));
    let legs: Vec<_> = (0..20_000).map(|_| movement.next_leg()).collect();
    let mut reflections = 0;
    for pair in legs.windows(2) {
        let Point { x, y } = pair[0].to;
        let (before, after) = (pair[0].velocity(), pair[1].velocity());
        let long = |leg: &Leg| leg.end - leg.start > Duration::from_millis(1);
        let at_side = x <= 0.0 || x >= 50.0;
        let at_end = y <= 0.0 || y >= 30.0;
        if (at_side || at_end) && long(&pair[0]) && long(&pair[1]) {
            reflections += 1;
            let expected =
                (if at_side { -before.0 } else { before.0 }, if at_end { -before.1 } else { before.1 });
            assert!((after.0 - expected.0).abs() < 1e-4 && (after.1 - expected.1).abs() < 1e-4, "{pair:?}");
        }
    }
    assert!(reflections > 10_000, "{reflections}");
}

#[test]
fn position_speed_and_direction_of_a_walk_are_always_uniform() {
    for seconds in [0.0, 1000.0] {
        let nodes: Vec<_> = (0..20_000)
            .map(|node| {
                let mut track = Track::new(random_walk(1, node));
                (track.at(at(seconds)), *track.leg(at(seconds)))
            })
            .collect();
        let share = |holds: &dyn Fn(Point, &Leg) -> bool| -> Vec<f64> {
            nodes.iter().map(|(place, leg)| indicator(holds(*place, leg))).collect()
        };
        assert_mean(&share(&|place, _| (250.0..750.0).contains(&place.x)), 0.5);
        assert_mean(&share(&|place, _| place.y < 60.0), 0.1);
        assert_mean(&share(&|_, leg| speed(leg) < 5.0), 0.25);
        assert_mean(&share(&|_, leg| leg.velocity().0 > 0.0 && leg.velocity().1 > 0.0), 0.25);
    }
}

#[test]
fn spells_of_a_walk_are_exponential() {
    let params = RandomWalkParams {
        // No border is near, so that each leg is a whole spell.
        area: Area { width: 1e7, height: 1e7 },
        ..walk()
    };
    let mut movement = Movement::RandomWalk(RandomWalk::new(params, 1, NodeId(0)));
    let spells: Vec<_> =
        (0..20_000).map(|_| movement.next_leg()).map(|leg| (leg.end - leg.start).as_secs_f64()).collect();
    assert_mean(&spells, 30.0);
    assert_mean(&spells.iter().map(|&t| indicator(t > 60.0)).collect::<Vec<_>>(), libm::exp(-2.0));
}

#[test]
#[should_panic(expected = "needs a lowest speed above 0")]
fn a_stationary_start_needs_a_lowest_speed() {
    random_waypoint(RandomWaypointParams { min_speed: 0.0, ..waypoint(Start::Stationary) }, 1, 0);
}

#[test]
#[should_panic(expected = "has no room")]
fn an_area_must_not_be_empty() {
    let area = Area { width: 0.0, height: 5.0 };
    random_waypoint(RandomWaypointParams { area, ..waypoint(Start::Classic) }, 1, 0);
}

#[test]
fn a_recorded_movement_is_the_path_up_to_that_time() {
    let place = |seconds, x| Waypoint { at: at(seconds), place: Point { x, y: 0.0 } };
    let path = |list: &[Waypoint]| Path::new(list).unwrap();
    let whole = path(&[place(0.0, 0.0), place(10.0, 100.0)]);
    let recorded = |seconds| Movement::along(whole.clone()).recorded(at(seconds));
    assert_eq!(recorded(50.0), whole);
    assert_eq!(recorded(5.0), path(&[place(0.0, 0.0), place(5.0, 50.0)]));
}

#[test]
fn movements_survive_a_round_trip_through_both_formats() {
    let paths: Vec<_> = (0..8)
        .map(|node| {
            let movement = if node < 4 {
                random_walk(2, node)
            } else {
                random_waypoint(waypoint(Start::Stationary), 2, node)
            };
            movement.recorded(at(900.0))
        })
        .collect();
    let mut text = Vec::new();
    ns2::write(&paths, &mut text).unwrap();
    assert_eq!(ns2::read(core::str::from_utf8(&text).unwrap()).as_ref(), Ok(&paths));
    text.clear();
    bonnmotion::write(&paths, &mut text).unwrap();
    assert_eq!(bonnmotion::read(core::str::from_utf8(&text).unwrap()).as_ref(), Ok(&paths));
}
