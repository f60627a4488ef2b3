//! Tests that the viewer's records agree with the counters of the result.

use std::collections::BTreeMap;
use std::path::Path;

use multihop_core::{Duration, Instant};
use multihop_scenario::{Scenario, Source};
use multihop_sim::results::RunResult;
use multihop_sim::viewed::ViewedRun;
use multihop_sim::{Outputs, unattended};

use crate::WORDS;

/// Scenarios with every routing protocol and kind of transport, and the number of seconds of each.
const SCENARIOS: [(&str, f64); 10] = [
    ("chain-4", 30.0),
    ("cross", 50.0),
    ("hidden", 10.0),
    ("parallel", 30.0),
    ("grid", 30.0),
    ("gateway", 30.0),
    ("aodv-mobile-50", 40.0),
    ("dsr-mobile-30", 40.0),
    ("olsr-mobile-50", 30.0),
    ("tpa-moving", 40.0),
];

const FRAME: u32 = 1;
const COLLIDED: u32 = 3;
const PACKET: u32 = 4;
const TIMEOUT: u32 = 10;
const DROPPED: u32 = 3;
const FRAMES: [&str; 5] = ["rts", "cts", "ack", "data", "broadcast"];

#[derive(Debug, Default, PartialEq)]
struct Counts {
    frames: BTreeMap<String, u64>,
    collisions: u64,
    drops: BTreeMap<String, u64>,
}

impl Counts {
    fn of(result: &RunResult) -> Self {
        let mut frames = result.mac.frames.clone();
        frames.retain(|_, n| *n > 0);
        Self { frames, collisions: result.mac.collisions, drops: result.drops.clone() }
    }

    /// Adds the records from `from` on.
    fn add(&mut self, records: &[u32], names: &[&str], from: Instant) {
        for record in records.chunks_exact(WORDS) {
            let at = Instant::from_nanos(u64::from(record[2]) << 32 | u64::from(record[1]));
            if at < from {
                continue;
            }
            match record[0] {
                FRAME => *self.frames.entry(FRAMES[record[5] as usize].to_owned()).or_default() += 1,
                COLLIDED => self.collisions += 1,
                PACKET if record[4] == DROPPED => {
                    *self.drops.entry(names[record[10] as usize].to_owned()).or_default() += 1;
                }
                _ => {}
            }
        }
    }
}

fn scenario(name: &str, seconds: f64) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
    let duration = seconds.to_string();
    let what = "[\"goodput\", \"cwnd\", \"queue\"]";
    let changed =
        [("duration", &*duration), ("warmup", "5.0"), ("record.every", "0.3"), ("record.what", what)];
    let changed = changed.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let source = Source::from_file(&file).expect("a file of the project");
    Scenario::load(&source, &changed).expect("a right scenario")
}

#[test]
fn records_of_ten_scenarios_are_what_their_results_count() {
    for (name, seconds) in SCENARIOS {
        let scenario = scenario(name, seconds);
        // Series that `multihop run --out` writes must not change anything either.
        let outputs = Outputs { record: Some(Box::new(std::io::sink())), ..Outputs::default() };
        let expected = multihop_sim::run(&scenario, outputs, &mut unattended).unwrap().timeless();
        let mut run = ViewedRun::new(&scenario).unwrap();
        let from = Instant::ZERO + scenario.warmup;
        let mut counts = Counts::default();
        let mut timeouts = 0;
        for second in 1..=10_u32 {
            // The states of stations must not change anything either.
            run.set_detailed(second % 2 == 0);
            run.advance(Instant::ZERO + Duration::from_secs_f64(seconds * f64::from(second) / 10.0));
            let names = run.names().to_vec();
            counts.add(run.records(), &names, from);
            timeouts += run.records().chunks_exact(WORDS).filter(|record| record[0] == TIMEOUT).count();
            run.clear();
        }
        let mut last = Vec::new();
        let result = run.finish(&mut last);
        for record in last.chunks_exact(WORDS) {
            assert_eq!((record[0], record[4]), (PACKET, DROPPED), "{name}");
            *counts.drops.entry("end".to_owned()).or_default() += 1;
        }
        assert_eq!(
            serde_json::to_value(&result).unwrap(),
            serde_json::to_value(&expected).unwrap(),
            "{name}"
        );
        assert_eq!(counts, Counts::of(&expected), "{name}");
        let expired = expected.flows.iter().map(|flow| flow.timeouts).sum::<u64>();
        assert!(timeouts as u64 >= expired.min(1), "{name}: {timeouts} timeouts shown, {expired} counted");
    }
}
