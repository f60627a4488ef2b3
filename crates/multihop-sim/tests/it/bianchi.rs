//! Saturated stations in one cell against Bianchi's model (IEEE JSAC 18(3), 2000).
//!
//! Standard flavour, no retry limit, as in the model. Stations that hear a collision wait EIFS
//! instead of DIFS, so that its time is longer by EIFS - DIFS + DIFS = EIFS than in the paper.

use crate::support::result;

/// Minimum window, and the number of times that it doubles.
const WINDOW: f64 = 32.0;
const DOUBLINGS: i32 = 5;
const SLOT: f64 = 20.0;
const SIFS: f64 = 10.0;
const DIFS: f64 = 50.0;
const EIFS: f64 = 364.0;
const PROPAGATION: f64 = 1.0;
const RTS: f64 = 352.0;
const CTS: f64 = 304.0;
const ACK: f64 = 304.0;
/// 1516 bytes at 2 Mb/s.
const DATA: f64 = 6256.0;

/// The probability that a station transmits in a slot if its frames collide with probability `p`.
fn attempts(p: f64) -> f64 {
    let series: f64 = (0..DOUBLINGS).map(|i| (2.0 * p).powi(i)).sum();
    2.0 / (1.0 + WINDOW + p * WINDOW * series)
}

/// The fixed point: `attempts` falls with p, p rises with attempts.
fn fixed_point(stations: i32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = f64::midpoint(low, high);
        let collides = 1.0 - (1.0 - attempts(p)).powi(stations - 1);
        if collides > p { low = p } else { high = p }
    }
    attempts(low)
}

/// Payload of 1460 bytes, kb/s.
fn throughput(stations: i32, rts: bool) -> f64 {
    let tau = fixed_point(stations);
    let some = 1.0 - (1.0 - tau).powi(stations);
    let one = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1);
    let after = SIFS + PROPAGATION;
    let exchange = DATA + after + ACK + DIFS + PROPAGATION;
    let (success, first) = if rts { (RTS + after + CTS + after + exchange, RTS) } else { (exchange, DATA) };
    let collision = first + DIFS + PROPAGATION + EIFS;
    8e3 * 1460.0 * one / ((1.0 - some) * SLOT + one * success + (some - one) * collision)
}

/// Stations on a circle of 5 m, each sending to the next.
fn measured(stations: i32, rts: bool) -> f64 {
    let place = |n: i32| {
        let angle = std::f64::consts::TAU * f64::from(n) / f64::from(stations);
        format!("[{:.4}, {:.4}]", 5.0 * angle.cos(), 5.0 * angle.sin())
    };
    let places: Vec<_> = (0..stations).map(place).collect();
    let threshold = if rts { "0" } else { "\"off\"" };
    // 1.5 times each station's share of the capacity, so that all queues are full despite unfairness.
    let rate = 2400.0 / f64::from(stations);
    let flows: String = (0..stations)
        .map(|n| {
            let to = (n + 1) % stations;
            format!("[[flow]]\nfrom = {n}\nto = {to}\napp = \"cbr\"\nrate_kbps = {rate:?}\nsize = 1460\n")
        })
        .collect();
    // Without capture, because in the model every collision destroys both frames.
    let text = format!(
        "duration = 150.0\nwarmup = 30.0\n\
         [radio]\ncapture_db = 100.0\n\
         [mac]\nflavour = \"standard\"\narp = \"oracle\"\nrts_threshold = {threshold}\n\
         short_retry = \"off\"\nlong_retry = \"off\"\n\
         [topology]\nkind = \"list\"\npositions = [{}]\n{flows}",
        places.join(", ")
    );
    result(&text).totals.goodput_kbps
}

/// The model's values for two stations are known to four digits.
#[test]
fn the_fixed_point_agrees_with_published_values() {
    for (stations, tau) in [(2, 0.05704), (5, 0.04785), (10, 0.03731), (20, 0.02642), (50, 0.01539)] {
        assert!((fixed_point(stations) - tau).abs() < 1e-5, "{stations} stations");
    }
    assert!((throughput(10, false) - 1466.0).abs() < 1.0);
    assert!((throughput(50, true) - 1515.0).abs() < 1.0);
}

fn compare(rts: bool) {
    for stations in [2, 5, 10, 20, 50] {
        let (found, expected) = (measured(stations, rts), throughput(stations, rts));
        assert!(
            (found / expected - 1.0).abs() < 0.03,
            "{stations} stations, RTS {rts}: {found} kb/s, expected {expected}"
        );
    }
}

#[test]
fn saturation_throughput_with_basic_access() {
    compare(false);
}

#[test]
fn saturation_throughput_with_rts() {
    compare(true);
}
