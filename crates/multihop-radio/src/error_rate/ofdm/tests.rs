use super::*;
use crate::decibels::from_db;
use crate::error_rate::Curve;
use crate::phy_profile::{DOT11A, DOT11AH_1, DOT11AH_2, PROFILES, PhyProfile, Rate};

/// Counts the trellis sequences that leave the all-zero sequence and return to it, by distance: the number of
/// sequences, and the number of ones among their information bits. As in the published spectra, a sequence
/// begins and ends in the same period of the puncturing pattern if it leaves and returns within it.
fn spectrum(kept: &[[bool; 2]], longest: usize) -> Vec<(f64, f64)> {
    let mut found = vec![(0.0, 0.0); longest + 1];
    // (sequences, ones) by state and distance.
    let mut paths = vec![vec![(0.0, 0.0); longest + 1]; 64];
    paths[0][0] = (1.0, 0.0);
    for bit in 0..400 {
        let mut next = vec![vec![(0.0, 0.0); longest + 1]; 64];
        for (state, paths) in paths.iter().enumerate() {
            for (input, one) in [(0, 0.0), (1, 1.0)] {
                let (to, distance) = step(state, input, kept[bit % kept.len()]);
                for (&(count, ones), next) in paths.iter().zip(&mut next[to][distance..]) {
                    *next = (next.0 + count, next.1 + ones + count * one);
                }
            }
        }
        if (bit + 1) % kept.len() == 0 {
            next[0][0] = (0.0, 0.0);
            for (total, done) in found.iter_mut().zip(&mut next[0]) {
                *total = (total.0 + done.0, total.1 + done.1);
                *done = (0.0, 0.0);
            }
        }
        paths = next;
    }
    found
}

/// The next state, and the number of ones among the transmitted coded bits, by the generators 133 and 171
/// (octal).
fn step(state: usize, input: usize, kept: [bool; 2]) -> (usize, usize) {
    let register = input << 6 | state;
    let ones = |generator: usize| (register & generator).count_ones() as usize % 2;
    let distance = ones(0o133) * usize::from(kept[0]) + ones(0o171) * usize::from(kept[1]);
    (register >> 1, distance)
}

/// Puncturing by IEEE 802.11-2007 §17.3.5.6 and 802.11n-2009 §20.3.11.5 selects which of the two coded bits
/// of each bit is transmitted.
#[test]
fn weights_are_those_of_the_trellis() {
    const BOTH: [bool; 2] = [true, true];
    let (first, second) = ([true, false], [false, true]);
    for (code, kept) in [
        (&HALF, &[BOTH][..]),
        (&TWO_THIRDS, &[BOTH, first]),
        (&THREE_QUARTERS, &[BOTH, first, second]),
        (&FIVE_SIXTHS, &[BOTH, first, second, first, second]),
    ] {
        let nearest = code.free_distance as usize;
        let farthest = nearest + (code.wrong_bits.len() - 1) * code.step as usize;
        let counted = spectrum(kept, farthest);
        assert!(counted[..nearest].iter().all(|&(count, _)| count == 0.0));
        let ones: Vec<f64> =
            counted[nearest..].iter().step_by(code.step as usize).map(|&(_, ones)| ones).collect();
        assert_eq!(ones, code.wrong_bits);
        assert_eq!(code.sequences.as_slice(), [counted[nearest].0, counted[nearest + 1].0].as_slice());
    }
}

#[test]
fn more_signal_is_better_and_more_bits_are_worse() {
    for rate in ofdm_rates() {
        for model in [ErrorModel::Nist, ErrorModel::Yans] {
            let curve: Vec<f64> = (-200..600)
                .map(|tenth| rate.success(model, from_db(f64::from(tenth) / 10.0), 8192.0))
                .collect();
            assert!(curve.is_sorted(), "{}", rate.name);
            assert!(curve[0] < 1e-9 && curve[799] >= 1.0, "{}", rate.name);
            assert!(rate.success(model, 2.0, 100.0) >= rate.success(model, 2.0, 200.0));
            assert!(rate.success(model, 0.0, 0.0) >= 1.0);
        }
    }
}

#[test]
fn what_is_left_out_changes_nothing() {
    for rate in ofdm_rates() {
        let Curve::Ofdm(coded) = &rate.curve else { unreachable!("rates of OFDM") };
        let sinr = NEVER / coded.constellation.exponent(1.0);
        for model in [ErrorModel::Nist, ErrorModel::Yans] {
            let success = coded.success_near_noise(model, sinr, 1e6);
            assert_eq!(success.to_bits(), 1.0_f64.to_bits(), "{}", rate.name);
        }
    }
}

#[test]
fn a_sequence_wins_by_the_binomial_distribution() {
    // With four bits at p = 1/2, the outcomes with two, three and four wrong bits are 6/2, 4 and 1 of 16.
    assert!((sequence_wins(0.5, 4) - 0.5).abs() < 1e-15);
    // With five bits at p = 0.1: 10 * 0.00081 + 5 * 0.00009 + 0.00001.
    assert!((sequence_wins(0.1, 5) - 0.00856).abs() < 1e-15);
}

/// The file ns3.csv is the output of ns3.cc with ns-3 3.37. The Yans model of ns-3 leaves out the sequences
/// in which all coded bits are wrong and, for BPSK, the sequences at the second distance.
#[test]
fn curves_are_those_of_ns3() {
    let (mut nist, mut yans, mut yans_bpsk): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for line in include_str!("ns3.csv").lines().skip(1) {
        let [model, rate, db, want] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
        let (phy, name) = rate.split_once(' ').unwrap();
        let phy = PhyProfile::named(phy).unwrap();
        let rate = phy.rate(phy.rate_named(name).unwrap());
        let (db, want): (f64, f64) = (db.parse().unwrap(), want.parse().unwrap());
        let (model, worst) = match (model, name) {
            ("nist", _) => (ErrorModel::Nist, &mut nist),
            ("yans", "9M") => (ErrorModel::Yans, &mut yans_bpsk),
            _ => (ErrorModel::Yans, &mut yans),
        };
        *worst = worst.max((rate.success(model, from_db(db), 8192.0) - want).abs());
    }
    println!("largest differences: nist {nist:.1e}, yans {yans:.1e}, yans at 9 Mb/s {yans_bpsk:.1e}");
    assert!(nist < 1e-10 && yans < 1e-6);
    assert!((0.42..0.44).contains(&yans_bpsk));
}

#[test]
fn ten_percent_of_1024_byte_frames_fail_at_these_ratios() {
    for (model, ratios) in [
        (ErrorModel::Nist, [3.85, 6.74, 6.86, 9.75, 13.39, 16.49, 21.24, 22.50]),
        (ErrorModel::Yans, [0.60, 3.48, 3.59, 6.49, 9.97, 13.16, 17.58, 19.10]),
    ] {
        for (rate, want) in DOT11A.rates.iter().zip(ratios) {
            let at = |db: f64| rate.success(model, from_db(db), 8192.0);
            assert!(at(want - 0.01) < 0.9 && at(want + 0.01) > 0.9, "{model:?} {}", rate.name);
        }
    }
}

/// IEEE 802.11-2020 §23.3, minimum sensitivity in dBm, at which at most 10 % of frames of 256 bytes may be
/// lost. The standard allows 10 dB for the noise figure and 5 dB for imperfections of a receiver.
#[test]
fn sensitivities_of_802_11ah_are_those_of_the_standard() {
    let ratios = [0.45, 3.46, 6.47, 9.33, 12.95, 16.05, 20.79, 22.03, 23.19, 27.87, 29.08];
    let limits = [-98.0, -95.0, -92.0, -90.0, -87.0, -83.0, -79.0, -78.0, -77.0, -72.0, -70.0];
    for ((rate, ratio), limit) in DOT11AH_1.rates.iter().zip(ratios).zip(limits) {
        let at = |db: f64| rate.success(ErrorModel::Nist, from_db(db), 2048.0);
        assert!(at(ratio - 0.01) < 0.9 && at(ratio + 0.01) > 0.9, "{}", rate.name);
        let thermal = DOT11AH_1.noise_floor_dbm() - 7.0;
        assert!((thermal + 15.0 + ratio - limit).abs() < 1.25, "{}", rate.name);
    }
    // Channels of 2 MHz have 3 dB more noise and the same error curves.
    for rate in DOT11AH_2.rates {
        let narrow = DOT11AH_1.rate(DOT11AH_1.rate_named(rate.name).unwrap());
        let [one, other] = [rate, narrow].map(|rate| rate.success(ErrorModel::Nist, from_db(20.0), 2048.0));
        assert_eq!(one.to_bits(), other.to_bits(), "{}", rate.name);
    }
}

fn ofdm_rates() -> impl Iterator<Item = &'static Rate> {
    let is_ofdm = |rate: &&Rate| matches!(rate.curve, Curve::Ofdm(_));
    PROFILES.into_iter().flat_map(|phy: &PhyProfile| phy.rates).filter(is_ofdm)
}
