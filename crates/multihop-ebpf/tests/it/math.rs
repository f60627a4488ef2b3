//! Comparison of `bpf/cc_math.h`, compiled for the host, with the same computations in the simulator.

use multihop_core::{BitRate, Duration};
use multihop_transport::pacing::{Pacer, PacingConfig};

use crate::host;

const PAYLOAD: u32 = 1448;

/// Results of the programs after a round trip.
struct Step {
    cov: f64,
    delay: f64,
    gap: f64,
    rate: f64,
    is_held: bool,
    /// The gap after a segment that left one round trip later than planned.
    after_late: f64,
    /// The mean gap towards a receiver that delays ACKs, and towards one that may delay them.
    means: [f64; 2],
}

/// Runs the program in C on these samples: round-trip time in us, number of hops, and number of acknowledged segments.
fn in_c(name: &str, samples: &[(u32, u8, u32)]) -> Option<Vec<Step>> {
    let lines: String = samples.iter().map(|(us, hops, acked)| format!("{us} {hops} {acked}\n")).collect();
    Some(host::filter("math.c", name, lines)?.lines().map(step).collect())
}

fn step(line: &str) -> Step {
    let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    let &[cov, delay, gap, rate, held, after_late, delaying, unknown] = numbers.as_slice() else {
        panic!("{line}")
    };
    Step {
        cov: cov / 1e6,
        delay: delay / 1e9,
        gap: gap / 1e9,
        rate,
        is_held: held > 0.0,
        after_late: after_late / 1e9,
        means: [delaying, unknown].map(|sum| sum / 1024.0 / 1e9),
    }
}

/// Numbers that look random, by a linear congruence.
pub(crate) fn noise(state: &mut u64) -> u64 {
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

/// Linux shortens the gap after a segment that was late. Two segments leave so that their ACK is not held.
#[test]
fn gaps_are_kept_after_late_segments_and_on_average_two_by_two() {
    let Some(steps) = in_c("gaps", &samples(500)) else { return };
    for step in steps {
        // Rates are whole numbers of bytes per second.
        let near = |found: f64| (found / step.gap - 1.0).abs() < 1e-3;
        assert!(near(step.after_late), "{} beside {}", step.after_late, step.gap);
        assert!(step.means.into_iter().all(near), "{:?} beside {}", step.means, step.gap);
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
