//! The reception of frames, as the records of a recording with full detail describe it.

use multihop_core::{Duration, Instant};
use multihop_scenario::{Scenario, Source};
use multihop_sim::viewed::ViewedRun;

use crate::WORDS;

const HEARD: u32 = 11;
const GOOD: u32 = 2;
const COLLISION: u32 = 5;
const DATA: u32 = 3;

/// Two pairs of nodes; the senders, 560 m apart, do not sense each other. Node 2 is 320 m from the receiver of node 0.
const HIDDEN: &str = "\
duration = 2.0
[mac]
arp = \"oracle\"
rts_threshold = \"off\"
[topology]
kind = \"list\"
positions = [[0, 0], [240, 0], [560, 0], [760, 0]]
[[flow]]
from = 0
to = 1
app = \"cbr\"
rate_kbps = 2000.0
size = 1000
[[flow]]
from = 2
to = 3
app = \"cbr\"
rate_kbps = 2000.0
size = 1000
";

/// A frame at a station.
#[derive(Debug)]
struct ReceivedFrame {
    at: u32,
    from: u32,
    verdict: u32,
    power: f32,
    sinr: f32,
    interferer: Option<(u32, u32, f32)>,
}

fn heard() -> Vec<ReceivedFrame> {
    let source = Source::Toml { text: HIDDEN.to_owned(), name: "hidden.toml".to_owned() };
    let scenario = Scenario::load(&source, &[]).expect("a right scenario");
    let mut run = ViewedRun::new(&scenario).expect("a scenario that can be viewed");
    run.set_detailed(true);
    run.advance(Instant::ZERO + Duration::from_secs(2));
    let records = run.records().chunks_exact(WORDS).filter(|record| record[0] == HEARD);
    let read = |record: &[u32]| ReceivedFrame {
        at: record[3],
        from: record[4],
        verdict: record[5],
        power: f32::from_bits(record[6]),
        sinr: f32::from_bits(record[7]),
        interferer: record[8].checked_sub(1).map(|node| (node, record[9], f32::from_bits(record[10]))),
    };
    records.map(read).collect()
}

fn is_near(found: f32, expected: f64) -> bool {
    (f64::from(found) - expected).abs() < 0.01
}

/// Two-ray power at a distance above 86 m, dBm: 24.5 dBm and antennas at 1.5 m.
fn two_ray_dbm(metres: f64) -> f64 {
    24.5 + 20.0 * 2.25_f64.log10() - 40.0 * metres.log10()
}

#[test]
fn a_frame_that_one_interferer_destroys_has_the_ratio_of_their_powers() {
    let heard = heard();
    let at_one = |heard: &&ReceivedFrame| heard.at == 1 && heard.from == 0;
    let lost: Vec<_> = heard.iter().filter(at_one).filter(|heard| heard.verdict == COLLISION).collect();
    assert!(lost.len() > 10, "{} collisions", lost.len());
    for frame in lost {
        assert!(is_near(frame.power, two_ray_dbm(240.0)), "{frame:?}");
        let (node, kind, power) = frame.interferer.expect("something destroyed it");
        assert_eq!((node, kind), (2, DATA), "{frame:?}");
        assert!(is_near(power, two_ray_dbm(320.0)), "{frame:?}");
        assert!(is_near(frame.sinr, 40.0 * (320.0_f64 / 240.0).log10()), "{frame:?}");
    }
}

#[test]
fn a_frame_without_interference_is_received_and_has_no_interferer() {
    let heard = heard();
    let alone: Vec<_> = heard.iter().filter(|heard| heard.interferer.is_none()).collect();
    assert!(alone.len() > 10);
    assert!(alone.iter().all(|frame| frame.verdict == GOOD && frame.sinr.is_nan()), "{alone:?}");
}
