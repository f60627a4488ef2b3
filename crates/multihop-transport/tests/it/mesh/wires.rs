//! Flows of `mesh` that share a wire.

use multihop_core::Duration;
use multihop_transport::mesh::Config;

use super::paths::{Bottleneck, MS};

fn jain(rates: &[u64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), &rate| {
        let rate = rate as f64;
        (sum + rate, squares + rate * rate)
    });
    sum * sum / (rates.len() as f64 * squares)
}

/// A wire of 40 ms.
fn wire(flows: usize, per_second: u64) -> Bottleneck {
    Bottleneck::new(flows, &Config::default(), Duration::from_nanos(1_000_000_000 / per_second), MS * 20)
}

/// Asserts that flows are fair in each second, and fill the path with a short queue.
fn assert_fair(path: &mut Bottleneck, seconds: u64, per_second: u64, longest: Duration) {
    let mut carried = 0;
    for second in 0..seconds {
        let rates = path.measure(1);
        carried += rates.iter().sum::<u64>();
        assert!(jain(&rates) > 0.95, "{rates:?} in second {second}");
        assert!(path.longest_queue <= longest, "{} in second {second}", path.longest_queue);
    }
    assert!(carried * 100 >= per_second * seconds * 97, "{carried} of {}", per_second * seconds);
}

#[test]
fn two_flows_are_fair_after_ten_seconds_at_any_rate() {
    for per_second in [1_000, 10_000] {
        let mut path = wire(2, per_second);
        path.start(0);
        path.measure(3);
        path.start(1);
        path.measure(10);
        assert_fair(&mut path, 20, per_second, MS * 25);
    }
}

#[test]
fn a_third_flow_gets_its_share() {
    let mut path = wire(3, 2_000);
    path.start(0);
    path.measure(3);
    path.start(1);
    path.measure(20);
    path.start(2);
    path.measure(15);
    assert_fair(&mut path, 20, 2_000, MS * 25);
}

#[test]
fn flows_of_different_round_trips_are_fair() {
    for first in 0..2 {
        let mut path = wire(2, 2_000);
        path.farther[1] = MS * 20;
        path.start(first);
        path.measure(3);
        path.start(1 - first);
        path.measure(25);
        assert_fair(&mut path, 20, 2_000, MS * 30);
    }
}

/// After two flows have met, one of them leaves.
#[test]
fn the_rest_of_a_path_is_taken_at_once() {
    let mut path = wire(2, 1_000);
    path.start(0);
    path.start(1);
    path.measure(12);
    path.stop(1);
    path.measure(2);
    let carried = path.measure(5)[0];
    assert!(carried >= 4_800, "{carried} of 5000");
}

/// With a known length only fast flows count the path as wire. They leave the others room to become as fast.
#[test]
fn flows_that_know_the_length_of_a_fast_wire_are_fair() {
    for per_second in [4_000, 10_000] {
        let mut path = wire(2, per_second);
        path.know_hops(1);
        path.start(0);
        path.measure(3);
        path.start(1);
        path.measure(20);
        assert_fair(&mut path, 20, per_second, MS * 25);
    }
}
