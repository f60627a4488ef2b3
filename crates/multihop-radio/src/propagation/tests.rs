use super::path_loss::crossover;
use super::*;
use crate::decibels::mw_to_dbm;

/// Watts, ns-2's `Phy/WirelessPhy set Pt_`.
const NS2_TRANSMIT: f64 = 0.281_838_15;

fn world(change: impl FnOnce(&mut Sinr)) -> Propagation {
    let mut params = Sinr::default();
    change(&mut params);
    Propagation::new(&params, 42)
}

fn close(got: f64, want: f64, relative: f64) {
    assert!((got / want - 1.0).abs() < relative, "{got} is not within {relative} of {want}");
}

#[test]
fn two_ray_gives_the_thresholds_and_ranges_of_ns2() {
    let two_ray = PathLoss::NS2;
    close(crossover(914e6, 1.5), 86.14, 1e-4);
    // RXThresh_ and CSThresh_, in W.
    close(NS2_TRANSMIT * two_ray.gain(250.0), 3.652e-10, 3e-4);
    close(NS2_TRANSMIT * two_ray.gain(550.0), 1.559e-11, 3e-4);
    close(two_ray.distance(3.652e-10 / NS2_TRANSMIT), 250.01, 1e-5);
    close(two_ray.distance(1.559e-11 / NS2_TRANSMIT), 550.02, 1e-5);
    // Friis by hand at 50 m: wavelength 0.32823 m.
    close(NS2_TRANSMIT * two_ray.gain(50.0), 7.691e-8, 2e-4);
    assert!(two_ray.gain(0.0) >= 1.0, "ns-2 has no loss at distance 0");
}

#[test]
fn path_loss_is_continuous_and_distance_inverts_gain() {
    let at = crossover(914e6, 1.5);
    close(PathLoss::NS2.gain(at * 0.999_999), PathLoss::NS2.gain(at * 1.000_001), 1e-4);
    let indoors = PathLoss::LogDistance { exponent: 3.0, reference_db: 40.05 };
    for law in [PathLoss::NS2, indoors] {
        for metres in [1.0, 30.0, 86.0, 87.0, 250.0, 5_000.0] {
            close(law.distance(law.gain(metres)), metres, 1e-12);
        }
    }
}

#[test]
fn log_distance_loses_ten_n_decibels_per_decade() {
    let law = PathLoss::LogDistance { exponent: 3.0, reference_db: 40.05 };
    for (metres, db) in [(1.0, -40.05), (10.0, -70.05), (100.0, -100.05)] {
        close(mw_to_dbm(law.gain(metres)), db, 1e-12);
    }
}

#[test]
fn the_default_has_the_ranges_of_ns2() {
    let (world, params) = (world(|_| ()), Sinr::default());
    let power = |metres| mw_to_dbm(world.mean_power_mw(NodeId(0), NodeId(1), metres));
    assert!(power(250.0) >= params.sensitivity_dbm && power(250.1) < params.sensitivity_dbm);
    assert!(power(550.0) >= params.cca_dbm && power(550.1) < params.cca_dbm);
    close(world.reach(dbm_to_mw(params.noise_floor_dbm)), 1340.7, 1e-4);
}

#[test]
fn signals_travel_three_hundred_metres_per_microsecond() {
    assert_eq!(delay(250.0), Duration::from_nanos(834));
    assert!(delay(250.0) * 2 >= delay(500.0), "the triangle inequality");
    assert_eq!(delay(0.0), Duration::ZERO);
}

#[test]
fn shadowing_is_normal_in_decibels_and_symmetric() {
    let (plain, shadowed) = (world(|_| ()), world(|p| p.shadowing_db = 6.0));
    let deviation = |a: u32, b: u32| {
        let power = |w: &Propagation| mw_to_dbm(w.mean_power_mw(NodeId(a), NodeId(b), 200.0));
        (power(&shadowed) - power(&plain)) / 6.0
    };
    assert!((deviation(3, 9) - deviation(9, 3)).abs() < 1e-12);
    let draws: Vec<f64> = (0..100).flat_map(|a| (a + 1..=100).map(move |b| deviation(a, b))).collect();
    // Deciles of the standard normal distribution.
    let deciles =
        [-1.281_552, -0.841_621, -0.524_401, -0.253_347, 0.0, 0.253_347, 0.524_401, 0.841_621, 1.281_552];
    equiprobable(&draws, &deciles);
}

#[test]
fn rayleigh_power_is_exponential() {
    let faded = world(|p| p.fading = Fading::Rayleigh { coherence: Duration::from_millis(10) });
    let deciles: [f64; 9] = std::array::from_fn(|i| -libm::log(1.0 - (i as f64 + 1.0) / 10.0));
    equiprobable(&fades(&faded), &deciles);
}

#[test]
fn rician_power_has_the_moments_of_a_noncentral_chi_square() {
    for k in [0.0, 3.0, 10.0] {
        let faded = world(|p| p.fading = Fading::Rician { k, coherence: Duration::from_millis(10) });
        let draws = fades(&faded);
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let expected = (1.0 + 2.0 * k) / ((1.0 + k) * (1.0 + k));
        // Four standard errors; the kurtosis is at most the exponential's 9.
        assert!((mean - 1.0).abs() < 4.0 * (expected / n).sqrt(), "mean {mean} for k = {k}");
        assert!(
            (variance / expected - 1.0).abs() < 4.0 * (8.0 / n).sqrt(),
            "variance {variance} for k = {k}"
        );
    }
}

#[test]
fn a_fade_is_constant_in_its_interval_and_independent_of_earlier_queries() {
    let faded = world(|p| p.fading = Fading::Rayleigh { coherence: Duration::from_millis(10) });
    let fade = |a, b, ns| faded.fade(NodeId(a), NodeId(b), Instant::from_nanos(ns)).to_bits();
    let late = fade(1, 2, 20_000_000);
    let early = fade(1, 2, 0);
    assert_eq!(early, fade(2, 1, 9_999_999));
    assert_eq!(late, fade(1, 2, 29_999_999));
    assert_ne!(early, fade(1, 2, 10_000_000));
    assert_ne!(early, fade(1, 3, 0));
    assert_eq!(
        fade(1, 2, 7),
        world(|p| p.fading = faded.fading).fade(NodeId(1), NodeId(2), Instant::ZERO).to_bits()
    );
}

#[test]
fn beyond_reach_at_most_one_signal_in_a_thousand_is_heard() {
    let world = world(|p| {
        p.shadowing_db = 4.0;
        p.fading = Fading::Rayleigh { coherence: Duration::from_millis(1) };
    });
    let weakest = dbm_to_mw(-80.0);
    let distance = world.reach(weakest);
    let heard = (0..20_000_u32)
        .filter(|&n| {
            let (a, b) = (NodeId(n), NodeId(n + 1));
            world.mean_power_mw(a, b, distance) * world.fade(a, b, Instant::ZERO) > weakest
        })
        .count();
    assert!(heard <= 20, "{heard} of 20000");
}

fn fades(world: &Propagation) -> Vec<f64> {
    (0..20_000)
        .map(|i| world.fade(NodeId(i % 7), NodeId(8), Instant::from_nanos(u64::from(i) * 10_000_000)))
        .collect()
}

/// Chi-square with 9 degrees of freedom: 27.9 is passed once in a thousand seeds.
fn equiprobable(draws: &[f64], deciles: &[f64; 9]) {
    let mut seen = [0_u32; 10];
    for draw in draws {
        seen[deciles.iter().filter(|&edge| draw > edge).count()] += 1;
    }
    let expected = draws.len() as f64 / 10.0;
    let surprise = |n| (f64::from(n) - expected) * (f64::from(n) - expected) / expected;
    let chi: f64 = seen.into_iter().map(surprise).sum();
    assert!(chi < 27.9, "chi-square {chi}: {seen:?}");
}
