use std::f64::consts::{FRAC_1_SQRT_2, PI};

use multihop_core::Rng;

use super::*;
use crate::decibels::from_db;
use crate::error_rate::ErrorModel::Nist;
use crate::phy_profile::{CCK_5_5, CCK_11, DOT11B, Rate};

const BITS_OF_1024_BYTES: f64 = 8192.0;

#[test]
fn ten_percent_of_1024_byte_frames_fail_at_these_ratios() {
    for (rate, want) in DOT11B.rates.iter().zip([-3.18, 1.43, 2.49, 5.69]) {
        let got = 10.0 * libm::log10(sinr_for(rate, 0.9));
        assert!((got - want).abs() < 0.01, "{} needs {got} dB", rate.name);
    }
}

#[test]
fn more_signal_is_better_and_more_bits_are_worse() {
    for rate in DOT11B.rates {
        let (success, rate) = (|sinr, bits| rate.success(Nist, sinr, bits), rate.name);
        let curve: Vec<f64> =
            (-200..300).map(|tenth| success(from_db(f64::from(tenth) / 10.0), 8192.0)).collect();
        assert!(curve.is_sorted(), "{rate}");
        assert!(curve[0] < 1e-9 && curve[499] >= 1.0, "{rate}");
        assert!(success(2.0, 100.0) >= success(2.0, 200.0), "{rate}");
        assert!(success(0.0, 0.0) >= 1.0 && success(1e12, 1e6) >= 1.0, "{rate}");
    }
}

#[test]
fn dbpsk_is_half_e_to_the_minus_signal_to_noise() {
    for db in [-10.0, -5.0, -3.0, 0.0] {
        let sinr = from_db(db);
        let by_hand = 1.0 - 0.5 * libm::exp(-22.0 * sinr);
        assert!((DOT11B.rates[0].success(Nist, sinr, 1.0) - by_hand).abs() < 1e-15);
    }
}

#[test]
fn dqpsk_loses_2_3_db_to_coherent_detection() {
    // Coherent QPSK has a bit error rate of 1e-5 at 9.59 dB; DQPSK needs about 2.3 dB more (Proakis).
    let bit_error = |db: f64| mistaken(4.0 * from_db(db), FRAC_1_SQRT_2);
    assert!(bit_error(9.59 + 2.2) > 1e-5 && bit_error(9.59 + 2.4) < 1e-5);
}

#[test]
fn the_integral_agrees_with_marcum_q_from_its_definition() {
    for energy in [0.5, 5.0, 20.0, 60.0, 120.0] {
        for correlation in [0.0, FRAC_1_SQRT_2 / 2.0, 0.5, FRAC_1_SQRT_2] {
            let (got, want) = (mistaken(energy, correlation), from_marcum_q(energy, correlation));
            assert!((got - want).abs() < 1e-5 * want + 1e-13, "{got} {want} at {energy}, {correlation}");
        }
    }
}

#[test]
fn cosines_are_those_of_the_midpoints() {
    for (i, cosine) in COSINES.iter().enumerate() {
        assert!((cosine - libm::cos(PI * (i as f64 + 0.5) / 24.0)).abs() < 1e-14);
    }
}

/// Compares the rates with a simulation of the chips of IEEE 802.11 (2016) 16.4.6.6, white noise, and a
/// receiver that picks the strongest correlation and compares its phase with the phase of the previous
/// symbol.
#[test]
fn cck_error_rates_match_a_simulated_demodulator() {
    for (rate, scheme, words, sinr, trials) in
        [("5.5M", &CCK_5_5, words_5_5(), 0.75, 40_000), ("11M", &CCK_11, words_11(), 2.2, 40_000)]
    {
        let mut rng = Rng::stream(5, "test", 0);
        // Chips have energy 1, so noise has this standard deviation in each of two dimensions.
        let sigma = (8.0 / (scheme.spreading * sinr) / 2.0).sqrt();
        let mut before = receive(&words, 0, sigma, &mut rng).1;
        let mut wrong = 0;
        for i in 0..trials {
            let sent = i % words.len();
            let (got, phase) = receive(&words, sent, sigma, &mut rng);
            let turned = phase.0 * before.0 + phase.1 * before.1;
            let across = phase.1 * before.0 - phase.0 * before.1;
            wrong += u32::from(got != sent || turned < across.abs());
            // The next comparison uses the phase of the right word even after an error: one error already
            // loses the frame.
            before = phase;
        }
        let (measured, bound) =
            (f64::from(wrong) / f64::from(u32::try_from(trials).unwrap()), scheme.symbol_error(sinr));
        println!("{rate} at {sinr}: simulated {measured}, bound {bound}");
        // A union bound is never below the simulated rate (within four standard errors), and here hardly
        // above it.
        let error = (bound / f64::from(u32::try_from(trials).unwrap())).sqrt();
        assert!(
            measured < bound + 4.0 * error && measured > 0.8 * bound - 4.0 * error,
            "{rate}: {measured} against {bound}"
        );
    }
}

type Complex = (f64, f64);

/// The code words of 5.5 Mb/s without the common phase.
fn words_5_5() -> Vec<[Complex; 8]> {
    (0..4).map(|n| word(n % 2 * 2 + 1, 0, n / 2 * 2)).collect()
}

/// The code words of 11 Mb/s without the common phase.
fn words_11() -> Vec<[Complex; 8]> {
    (0..64).map(|n| word(n % 4, n / 4 % 4, n / 16)).collect()
}

/// The chips of a CCK word, from its phases in quarter turns.
fn word(p2: u32, p3: u32, p4: u32) -> [Complex; 8] {
    let chips = [p2 + p3 + p4, p3 + p4, p2 + p4, p4 + 2, p2 + p3, p3, p2 + 2, 0];
    chips.map(|quarters| [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][quarters as usize % 4])
}

/// The word that correlates best when `sent` arrives in noise, and its correlation.
fn receive(words: &[[Complex; 8]], sent: usize, sigma: f64, rng: &mut Rng) -> (usize, Complex) {
    let heard = words[sent].map(|(re, im)| {
        let (x, y) = crate::normal::normals(rng);
        (re + sigma * x, im + sigma * y)
    });
    let correlate = |word: &[Complex; 8]| {
        word.iter()
            .zip(&heard)
            .fold((0.0, 0.0), |sum, (w, h)| (sum.0 + w.0 * h.0 + w.1 * h.1, sum.1 + w.0 * h.1 - w.1 * h.0))
    };
    let strength = |n: usize| {
        let (re, im) = correlate(&words[n]);
        re * re + im * im
    };
    let best = (0..words.len()).max_by(|&a, &b| strength(a).total_cmp(&strength(b))).unwrap();
    (best, correlate(&words[sent]))
}

/// The error probability in Proakis' form, with each part integrated from its definition.
fn from_marcum_q(energy: f64, correlation: f64) -> f64 {
    let spread = (1.0 - correlation * correlation).sqrt();
    let a = (energy / 2.0 * (1.0 - spread)).sqrt();
    let b = (energy / 2.0 * (1.0 + spread)).sqrt();
    // The density x exp(-(x^2 + a^2) / 2) I0(a x) is integrated from b to where it vanishes.
    let density = |x: f64| x * libm::exp(-(x - a) * (x - a) / 2.0) * scaled_i0(a * x);
    let (steps, width) = (4_000, 12.0);
    let h = width / f64::from(steps);
    let q: f64 = (0..=steps)
        .map(|i| {
            // Weights of Simpson's rule.
            let weight = if i == 0 || i == steps {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * density(b + h * f64::from(i)) * h / 3.0
        })
        .sum();
    q - libm::exp(-(b - a) * (b - a) / 2.0) * scaled_i0(a * b) / 2.0
}

/// exp(-x) I0(x), as the integral of exp(x (cos t - 1)) over half a turn.
fn scaled_i0(x: f64) -> f64 {
    let n = 200;
    (0..n).map(|i| libm::exp(x * (libm::cos(PI * (f64::from(i) + 0.5) / f64::from(n)) - 1.0))).sum::<f64>()
        / f64::from(n)
}

/// The SINR at which 1024 bytes are received with this probability.
fn sinr_for(rate: &Rate, probability: f64) -> f64 {
    let (mut low, mut high) = (1e-3, 1e3);
    for _ in 0..100 {
        let middle = f64::sqrt(low * high);
        if rate.success(Nist, middle, BITS_OF_1024_BYTES) < probability {
            low = middle
        } else {
            high = middle
        }
    }
    high
}
