use alloc::vec::Vec;

use super::*;

/// Parameters of the paper: its bins and shares, with `samples` as S.
fn paper(samples: u16) -> DensityConfig {
    DensityConfig { samples, bins: 8, high: 300, low: 300 }
}

fn full(samples: &[f64]) -> Density {
    let mut density = Density::new(&paper(u16::try_from(samples.len()).unwrap()), 8.0, Origin::Zero);
    for &sample in samples {
        density.insert(sample);
    }
    density
}

fn assert_weights(density: &Density, expected: [f64; 8]) {
    let near = density.weights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near, "{:?}, not {expected:?}", density.weights);
}

#[test]
fn by_hand() {
    // Bins have a width of one, and S is 4.
    let mut density = full(&[1.5, 2.5, 2.5, 3.5]);
    // 4 of 5 samples lie above the bin of 0.5, 4 of 5 below the bin of 4.5, 3 of 5 below the bin of 3.5.
    assert_eq!(density.clone().insert(0.5), Level::Low);
    assert_eq!(density.clone().insert(4.5), Level::High);
    assert_eq!(density.insert(3.5), Level::Middle);
    // Bins have 1, 2 and 2 of 5 samples. Each keeps four fifths, so that the total is four again.
    assert_weights(&density, [0.0, 0.8, 1.6, 1.6, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(density.insert(0.0), Level::Low);
    assert_weights(&density, [0.8, 0.64, 1.28, 1.28, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn with_too_few_samples_nothing_is_high() {
    let mut density = Density::new(&paper(100), 8.0, Origin::Zero);
    let levels: Vec<_> = (0..99).map(|_| density.insert(0.0)).collect();
    assert!(levels.iter().all(|&level| level == Level::Middle) && !density.is_full());
    assert_eq!(density.insert(7.0), Level::High);
}

#[test]
fn the_value_that_hardly_changes_is_neither_high_nor_low() {
    let mut density = full(&[3.0; 10]);
    assert_eq!(density.insert(3.0), Level::Middle);
    assert_eq!(density.insert(2.0), Level::Low);
    assert_eq!(density.insert(4.0), Level::High);
}

#[test]
fn the_range_doubles_and_bins_join_in_pairs() {
    let mut density = full(&[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]);
    // A sample beyond the range counts in the end bin, which then has two of nine samples, too few to double
    // the range.
    density.insert(100.0);
    assert!((density.range - 8.0).abs() < 1e-9);
    let eight_ninths = 8.0 / 9.0;
    assert_weights(&density, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0].map(|n| n * eight_ninths));
    density.insert(100.0);
    assert!((density.range - 16.0).abs() < 1e-9);
    let again = eight_ninths * eight_ninths;
    let last = (1.0 + 2.0 + 9.0 / 8.0) * again;
    assert_weights(&density, [2.0 * again, 2.0 * again, 2.0 * again, last, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn around_zero_the_range_doubles_on_both_sides() {
    let mut density = Density::new(&paper(3), 8.0, Origin::Centre);
    for sample in [-0.5, 0.5] {
        density.insert(sample);
    }
    assert_weights(&density, [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    density.insert(-9.0);
    assert!((density.range - 16.0).abs() < 1e-9);
    assert_weights(&density, [0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn the_range_halves_after_s_samples_in_its_inner_half() {
    let mut density = full(&[10.0, 10.0, 10.0, 10.0]);
    for _ in 0..40 {
        density.insert(1.0);
    }
    assert!((density.range - 8.0).abs() < 1e-9, "never below the least: {}", density.range);
    assert!((density.weights.iter().sum::<f64>() - 4.0).abs() < 1e-9);
    let mut twice_as_wide = full(&[10.0; 8]);
    assert!(twice_as_wide.range > 8.0);
    twice_as_wide.settled = 0.0;
    let before = twice_as_wide.range;
    for _ in 0..7 {
        twice_as_wide.insert(1.0);
    }
    assert!((twice_as_wide.range - before).abs() < 1e-9, "not before S samples");
}

/// A third of evenly spread samples is high, a third low, whatever the scale.
#[test]
fn shares_of_evenly_spread_samples() {
    for scale in [1e-3, 1.0, 1e4] {
        for origin in [Origin::Zero, Origin::Centre] {
            let offset = if origin == Origin::Centre { 0.5 } else { 0.0 };
            let mut density = Density::new(&paper(100), 1e-4, origin);
            let levels: Vec<_> = (0..5000_u32)
                .map(|n| density.insert(scale * (f64::from(n * 389 % 1000) / 1000.0 - offset)))
                .collect();
            let share = |level| levels[1000..].iter().filter(|&&l| l == level).count() as f64 / 4000.0;
            for level in [Level::High, Level::Low] {
                assert!((0.1..0.31).contains(&share(level)), "{level:?}: {} at {scale}", share(level));
            }
        }
    }
}

#[test]
fn one_far_sample_does_not_move_the_others() {
    let mut density = full(&[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 4.5, 3.5, 2.5]);
    assert_eq!(density.clone().insert(6.5), Level::High);
    density.insert(1e6);
    assert_eq!(density.clone().insert(6.5), Level::High);
    assert_eq!(density.insert(0.5), Level::Low);
}

#[test]
fn other_shares_and_bins() {
    let config = DensityConfig { bins: 16, high: 100, low: 450, ..paper(100) };
    let mut density = Density::new(&config, 16.0, Origin::Zero);
    // Samples are evenly spread over bins of width one.
    (0..1600_u32).for_each(|n| {
        density.insert(f64::from(n * 7 % 16) + 0.5);
    });
    let mut level = |sample| density.clone().insert(sample);
    // 14 of 16 bins lie below the bin of 14.5, 15 below the bin of 15.5, 8 above the bin of 7.5, 9 above the
    // bin of 6.5.
    assert_eq!(
        [14.5, 15.5, 7.5, 6.5].map(&mut level),
        [Level::Middle, Level::High, Level::Middle, Level::Low]
    );
}
