//! Windows of thousands of segments, with losses, in virtual time.

use multihop_core::{Duration, Instant, Rng};
use multihop_transport::mesh::Config;

use super::paths::{Bottleneck, MS};

const US: Duration = Duration::from_micros(1);

/// About 1 Gb/s over 20 ms and 200 Mb/s over 100 ms: 1700 segments are on the way. A lost segment must not keep the
/// sender from learning what has arrived behind it.
#[test]
fn a_window_of_thousands_fills_the_path_whatever_is_lost() {
    for (service, delay) in [(US * 12, MS * 10), (US * 58, MS * 50)] {
        for loss in [0.0, 0.001, 0.02] {
            // A segment that is lost three times keeps the data of four round trips waiting.
            let config = Config { recv_buffer: 8192, ..Config::default() };
            let mut path = Bottleneck::new(1, &config, service, delay);
            path.loss = loss;
            path.start(0);
            path.run_until(Instant::ZERO + Duration::from_secs(6));
            let carried = path.measure(2)[0];
            let most = 2_000_000_000 / service.as_nanos();
            println!("{carried} of {most}, {service}, {delay}, loss {loss}");
            assert!(carried * 100 >= most * 90, "{carried} of {most}, {service}, {delay}, loss {loss}");
        }
    }
}

/// Delays that are no queue, while a connection starts, end the start: growth that accelerates must make up for it.
#[test]
fn a_start_that_ended_too_early_is_made_up_for_within_ten_seconds() {
    let config = Config { recv_buffer: 8192, window_max: 8192, ..Config::default() };
    let mut path = Bottleneck::new(1, &config, US * 58, MS * 50);
    path.jitter = MS * 10;
    path.start(0);
    path.run_until(Instant::ZERO + MS * 400);
    path.jitter = Duration::ZERO;
    let megabits: Vec<u64> = (0..12).map(|_| path.measure(1)[0] * 1460 * 8 / 1_000_000).collect();
    println!("{megabits:?} Mb/s in each second, of 201");
    assert!(megabits[10..].iter().all(|&second| second >= 180), "{megabits:?} Mb/s in each second, of 201");
}

/// 200 Mb/s over 100 ms. What a late timer did not send must leave when it expires.
#[test]
fn late_hosts_do_not_bound_the_rate_of_a_long_path() {
    let megabits: Vec<u64> = (1..=20)
        .map(|seed| {
            let config = Config { recv_buffer: 8192, ..Config::net() };
            let mut path = Bottleneck::new(1, &config, US * 58, MS * 50);
            path.rng = Rng::stream(seed, "test/late", 0);
            path.late = MS * 5;
            path.start(0);
            path.measure(9);
            path.measure(1)[0] * 1460 * 8 / 1_000_000
        })
        .collect();
    println!("{megabits:?} Mb/s in the tenth second, of 201");
    assert!(megabits.iter().all(|&seed| seed >= 180), "{megabits:?} Mb/s in the tenth second, of 201");
}
