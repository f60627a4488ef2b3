//! `bpf/cc_math.h`, compiled for the host, beside the policy of the simulator.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use multihop_core::{BitRate, Duration};
use multihop_transport::pacing::{Pacer, PacingConfig};

const PAYLOAD: u32 = 1448;

/// What the programs compute after a round trip.
struct Step {
    cov: f64,
    delay: f64,
    gap: f64,
    rate: f64,
    alone: f64,
    is_held: bool,
}

/// A compiled C program, removed with this value.
struct Program(PathBuf);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Round trips in us, hops, and segments for each ACK.
fn in_c(name: &str, samples: &[(u32, u8, u32)]) -> Option<Vec<Step>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/math.c");
    let program = Program(std::env::temp_dir().join(format!("multihop-math-{name}-{}", std::process::id())));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-Wno-unknown-pragmas", "-o"]);
    match compiler.arg(&program.0).arg(source).status() {
        Err(error) => {
            crate::skip(format!("there is no C compiler: {error}"));
            return None;
        }
        Ok(status) => assert!(status.success(), "the arithmetic does not compile"),
    }
    let mut child = Command::new(&program.0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = samples.iter().map(|(us, hops, acked)| format!("{us} {hops} {acked}\n")).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "undefined behaviour, or a crash");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(step).collect())
}

fn step(line: &str) -> Step {
    let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    let &[cov, delay, gap, rate, alone, held] = numbers.as_slice() else { panic!("{line}") };
    Step { cov: cov / 1e6, delay: delay / 1e9, gap: gap / 1e9, rate, alone: alone / 1e6, is_held: held > 0.0 }
}

/// Numbers that look random, by a linear congruence.
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// A path of 1 to 12 hops that changes its length every 40 round trips.
fn samples(number: usize) -> Vec<(u32, u8, u32)> {
    let mut state = 7;
    let mut hops = 1;
    (0..number)
        .map(|n| {
            if n % 40 == 0 {
                hops = u8::try_from(1 + noise(&mut state) % 12).unwrap();
            }
            let us = 9000 * u64::from(hops) + noise(&mut state) % 60_000;
            (u32::try_from(us).unwrap(), hops, 1)
        })
        .collect()
}

#[test]
fn delay_variation_and_gap_are_those_of_the_simulator() {
    let samples = samples(2000);
    let Some(steps) = in_c("same", &samples) else { return };
    assert_eq!(steps.len(), samples.len());
    let mut pacer = Pacer::new(PacingConfig::new(BitRate(2_000_000)));
    for (&(us, hops, _), step) in samples.iter().zip(&steps) {
        pacer.set_hops(hops);
        pacer.sample(PAYLOAD, Duration::from_micros(us.into()), None);
        let [delay, gap] = [pacer.delay(), pacer.gap()].map(|found| found.unwrap().as_secs_f64());
        // The programs count microseconds.
        let message = format!("{us} us over {hops} hops: {} beside {}", step.cov, pacer.cov());
        assert!((step.cov - pacer.cov()).abs() < 2e-4, "{message}");
        assert!((step.delay / delay - 1.0).abs() < 1e-6, "{} beside {delay}", step.delay);
        assert!((step.gap / gap - 1.0).abs() < 3e-4, "{} beside {gap}", step.gap);
        assert!((step.rate * step.gap / f64::from(PAYLOAD) - 1.0).abs() < 1e-3, "{}", step.rate);
    }
}

#[test]
fn extreme_round_trips_overflow_nothing() {
    let extreme: Vec<_> =
        [0, 1, u32::MAX, 1, 17_000_000, 2, u32::MAX].repeat(20).into_iter().map(|us| (us, 1, 1)).collect();
    let Some(steps) = in_c("extreme", &extreme) else { return };
    assert_eq!(steps.len(), extreme.len());
    for step in steps {
        assert!(step.rate >= 1.0);
        // Seventeen seconds, twelve times for the variation.
        assert!(step.gap < 17.0 * 13.0, "{}", step.gap);
        assert!(step.cov < 7.1, "{}", step.cov);
    }
}

fn micros(seconds: f64) -> u32 {
    u32::try_from(std::time::Duration::from_secs_f64(seconds).as_micros()).unwrap()
}

/// The second of two waits until the first is four hops away, or has arrived.
#[test]
fn a_pair_of_segments_tells_the_round_trip_of_one() {
    let payload = 1448.0 * 8.0 / 2e6;
    let mut samples = Vec::new();
    let mut round_trips = Vec::new();
    for hops in 1..=12 {
        for one in [0.009, 0.040, 0.3] {
            let n = f64::from(hops.min(4));
            let second = one + n / 2.0 * (one / f64::from(hops) + payload);
            samples.push((micros(second), hops, 2));
            round_trips.push(one);
        }
    }
    let Some(steps) = in_c("pairs", &samples) else { return };
    for ((step, one), sample) in steps.iter().zip(round_trips).zip(samples) {
        assert!((step.alone - one).abs() < 5e-6, "{sample:?}: {} beside {one}", step.alone);
    }
}

#[test]
fn an_ack_of_one_segment_is_held_if_others_cover_two() {
    let held = |acked: &[u32]| {
        let samples: Vec<_> = acked.iter().map(|&acked| (40_000, 4, acked)).collect();
        in_c("held", &samples).map(|steps| steps.iter().map(|step| step.is_held).collect::<Vec<_>>())
    };
    let Some(always) = held(&[1; 5]) else { return };
    assert_eq!(always, [false; 5]);
    // One exception, such as a lost ACK, is soon forgotten; two are not.
    assert_eq!(held(&[1, 2, 1, 1]), Some(vec![false, false, true, false]));
    assert_eq!(held(&[2, 2, 2, 1, 2, 1]), Some(vec![false, false, false, true, false, true]));
    // The receiver has changed its mind.
    assert_eq!(held(&[2, 2, 1, 1, 1, 1, 1, 1, 1]).unwrap().last(), Some(&false));
}
