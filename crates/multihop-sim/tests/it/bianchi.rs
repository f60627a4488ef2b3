//! Saturated stations in one cell against Bianchi's model (IEEE JSAC 18(3), 2000).
//!
//! Standard flavour, no retry limit and no EIFS, as in the model: after a collision all stations wait for DIFS. In cells with
//! two rates the stations that hear a collision wait for EIFS.

use multihop_sim::results::RunResult;

use crate::support::result;

/// A smallest window, and the number of times that it doubles.
#[derive(Clone, Copy)]
struct Windows {
    slots: f64,
    doublings: i32,
}

/// CWmin 31 and CWmax 1023, of 802.11b.
const USUAL: Windows = Windows { slots: 32.0, doublings: 5 };

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
/// 1516 bytes at 11 Mb/s and at 1 Mb/s.
const FAST_DATA: f64 = 1295.0;
const SLOW_DATA: f64 = 12_320.0;

/// The probability that a station transmits in a slot if its frames collide with probability `p`.
fn attempts(p: f64, windows: Windows) -> f64 {
    let series: f64 = (0..windows.doublings).map(|i| (2.0 * p).powi(i)).sum();
    2.0 / (1.0 + windows.slots + p * windows.slots * series)
}

/// The fixed point: `attempts` falls with p, p rises with attempts.
fn fixed_point(stations: i32, windows: Windows) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = f64::midpoint(low, high);
        let collides = 1.0 - (1.0 - attempts(p, windows)).powi(stations - 1);
        if collides > p { low = p } else { high = p }
    }
    attempts(low, windows)
}

/// Payload of 1460 bytes, kb/s.
fn throughput(stations: i32, rts: bool, windows: Windows) -> f64 {
    let tau = fixed_point(stations, windows);
    let some = 1.0 - (1.0 - tau).powi(stations);
    let one = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1);
    let after = SIFS + PROPAGATION;
    let exchange = DATA + after + ACK + DIFS + PROPAGATION;
    let (success, first) = if rts { (RTS + after + CTS + after + exchange, RTS) } else { (exchange, DATA) };
    let collision = first + DIFS + PROPAGATION;
    8e3 * 1460.0 * one / ((1.0 - some) * SLOT + one * success + (some - one) * collision)
}

/// Throughput in kb/s of each station of a cell in which one station uses 1 Mb/s and all others 11 Mb/s.
///
/// All have the same chance of each exchange (Heusse, Rousseau, Berger-Sabbatel and Duda, IEEE INFOCOM 2003). A collision
/// lasts as long as its longest frame.
fn mixed_throughput(stations: i32) -> f64 {
    let tau = fixed_point(stations, USUAL);
    let silent = 1.0 - tau;
    let one = tau * silent.powi(stations - 1);
    let fast = stations - 1;
    let slow_collides = tau * (1.0 - silent.powi(fast));
    let fast_collide = silent * (1.0 - silent.powi(fast) - f64::from(fast) * tau * silent.powi(fast - 1));
    let exchange = |data: f64| data + SIFS + PROPAGATION + ACK + DIFS + PROPAGATION;
    let collision = |data: f64| data + EIFS + PROPAGATION;
    let mean_slot = silent.powi(stations) * SLOT
        + one * (exchange(SLOW_DATA) + f64::from(fast) * exchange(FAST_DATA))
        + slow_collides * collision(SLOW_DATA)
        + fast_collide * collision(FAST_DATA);
    8e3 * 1460.0 * one / mean_slot
}

/// Stations on a circle of 5 m, each sending to the next.
fn measured(stations: i32, rts: bool, windows: Windows) -> f64 {
    let threshold = if rts { "0" } else { "\"off\"" };
    let [least, most] = [0, windows.doublings].map(|n| windows.slots * 2.0_f64.powi(n) - 1.0);
    let mac = format!("eifs = false\nrts_threshold = {threshold}\ncw_min = {least}\ncw_max = {most}\n");
    // 1.5 times each station's share of the capacity, so that all queues are full despite unfairness.
    cell(stations, 2400.0, &mac, "").totals.goodput_kbps
}

/// Stations on a circle of 5 m, each sending to the next, that offer `kbps` together.
fn cell(stations: i32, kbps: f64, mac: &str, tables: &str) -> RunResult {
    let place = |n: i32| {
        let angle = std::f64::consts::TAU * f64::from(n) / f64::from(stations);
        format!("[{:.4}, {:.4}]", 5.0 * angle.cos(), 5.0 * angle.sin())
    };
    let places: Vec<_> = (0..stations).map(place).collect();
    let rate = kbps / f64::from(stations);
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
         [mac]\nflavour = \"standard\"\narp = \"oracle\"\nshort_retry = \"off\"\nlong_retry = \"off\"\n{mac}\
         {tables}[topology]\nkind = \"list\"\npositions = [{}]\n{flows}",
        places.join(", ")
    );
    result(&text)
}

/// The fixed point for two stations is published with four digits.
#[test]
fn the_fixed_point_agrees_with_published_values() {
    for (stations, tau) in [(2, 0.05704), (5, 0.04785), (10, 0.03731), (20, 0.02642), (50, 0.01539)] {
        assert!((fixed_point(stations, USUAL) - tau).abs() < 1e-5, "{stations} stations");
    }
    // Goodput by the model of `multihop papers run validation-bianchi`, which is written in Python.
    assert!((throughput(10, false, USUAL) - 1479.39).abs() < 1.0);
    assert!((throughput(50, true, USUAL) - 1551.79).abs() < 1.0);
}

fn compare(rts: bool) {
    for stations in [2, 5, 10, 20, 50] {
        let (found, expected) = (measured(stations, rts, USUAL), throughput(stations, rts, USUAL));
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

#[test]
fn saturation_throughput_with_other_windows() {
    for windows in [(8.0, 3), (128.0, 0), (128.0, 3)].map(|(slots, doublings)| Windows { slots, doublings }) {
        for stations in [5, 20] {
            let (found, expected) = (measured(stations, true, windows), throughput(stations, true, windows));
            let Windows { slots, doublings } = windows;
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{stations} stations, W {slots}, m {doublings}: {found} kb/s, expected {expected}"
            );
        }
    }
}

#[test]
fn one_slow_station_slows_all_down() {
    for stations in [2, 5, 10] {
        let rate =
            |n: i32| format!("[[data_rate]]\nfrom = {n}\nrate = \"{}\"\n", if n == 0 { "1M" } else { "11M" });
        let rates: String = (0..stations).map(rate).collect();
        let run = cell(stations, 9000.0, "rts_threshold = \"off\"\n", &rates);
        let expected = mixed_throughput(stations);
        let fast: f64 =
            run.flows[1..].iter().map(|flow| flow.goodput_kbps).sum::<f64>() / f64::from(stations - 1);
        for (name, found) in [("slow", run.flows[0].goodput_kbps), ("fast", fast)] {
            assert!(
                (found / expected - 1.0).abs() < 0.04,
                "{stations} stations, {name}: {found} kb/s, expected {expected}"
            );
        }
    }
}
