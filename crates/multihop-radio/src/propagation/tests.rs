use super::environment::Building;
use super::fading::Change;
use super::path_loss::crossover;
use super::*;
use crate::decibels::mw_to_dbm;
use crate::params::ENVIRONMENTS;

/// Transmit power in watts, ns-2's `Phy/WirelessPhy set Pt_`.
const NS2_TRANSMIT: f64 = 0.281_838_15;

fn world(change: impl FnOnce(&mut Sinr)) -> Propagation {
    let mut params = Sinr::default();
    change(&mut params);
    Propagation::new(&params, 42)
}

fn site(node: u32, x: f64, y: f64) -> Site {
    Site { node: NodeId(node), place: Point { x, y } }
}

fn power_mw(world: &Propagation, a: u32, b: u32, metres: f64) -> f64 {
    world.mean_power_mw(site(a, 0.0, 0.0), site(b, metres, 0.0), metres)
}

fn close(got: f64, want: f64, relative: f64) {
    assert!((got / want - 1.0).abs() < relative, "{got} is not within {relative} of {want}");
}

#[test]
fn two_ray_gives_the_thresholds_and_ranges_of_ns2() {
    let two_ray = PathLoss::NS2;
    close(crossover(914e6, [1.5; 2]), 86.14, 1e-4);
    // ns-2's RXThresh_ and CSThresh_, in W.
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
    let at = crossover(914e6, [1.5; 2]);
    close(PathLoss::NS2.gain(at * 0.999_999), PathLoss::NS2.gain(at * 1.000_001), 1e-4);
    let indoors = PathLoss::LogDistance { exponent: 3.0, reference_db: 40.05 };
    for law in [PathLoss::NS2, indoors] {
        for metres in [1.0, 30.0, 86.0, 87.0, 250.0, 5_000.0] {
            close(law.distance(law.gain(metres)), metres, 1e-12);
        }
    }
}

#[test]
fn a_street_has_the_median_loss_of_p1411() {
    let loss = |frequency, heights, metres| {
        let law = PathLoss::Street { frequency, height: 1.0 };
        let gain = law.gain_between(heights, metres);
        close(law.distance_between(heights, gain), metres, 1e-12);
        -mw_to_dbm(gain)
    };
    // The expected values are the formulas in decibels, computed by hand; the breakpoints are at 192 and 156
    // m.
    close(loss(2.4e9, [4.0, 1.5], 50.0), 74.004_797, 1e-6);
    close(loss(2.4e9, [4.0, 1.5], 500.0), 102.318_173, 1e-6);
    close(loss(5.2e9, [1.5, 1.5], 100.0), 86.741_239, 1e-6);
    close(loss(2.4e9, [1.5, 4.0], 500.0), 102.318_173, 1e-6);
}

#[test]
fn storeys_cost_what_p1238_says() {
    let loss = |building, heights, metres| {
        let law = PathLoss::Indoor { building, frequency: 2e9, height: 1.5, storey: 3.0 };
        -mw_to_dbm(law.gain_between(heights, metres))
    };
    // 20 log10(2000) - 28 = 38.020_600 dB at 1 m.
    close(loss(Building::Residential, [1.5, 1.5], 10.0), 38.020_600 + 28.0, 1e-6);
    close(loss(Building::Residential, [1.5, 7.5], 10.0), 38.020_600 + 28.0 + 8.0, 1e-6);
    close(loss(Building::Office, [4.5, 1.5], 10.0), 38.020_600 + 30.0 + 15.0, 1e-6);
    close(loss(Building::Office, [1.5, 10.5], 10.0), 38.020_600 + 30.0 + 23.0, 1e-6);
    close(loss(Building::Commercial, [1.5, 7.5], 100.0), 38.020_600 + 44.0 + 9.0, 1e-6);
    let law = PathLoss::Indoor { building: Building::Office, frequency: 5.2e9, height: 1.5, storey: 3.0 };
    close(-mw_to_dbm(law.gain(10.0)), 46.320_067 + 31.0, 1e-6);
    close(law.distance(law.gain(25.0)), 25.0, 1e-12);
}

#[test]
fn environments_have_the_losses_of_the_itu() {
    let loss = |name, metres| {
        let found = ENVIRONMENTS.iter().find(|environment| environment.name == name).unwrap();
        let reference_db = found.reference_db(2.412e9);
        -mw_to_dbm(PathLoss::LogDistance { exponent: found.exponent(), reference_db }.gain(metres))
    };
    // 21.2 log10(100) + 29.2 + 21.1 log10(2.412) dB, and so on.
    close(loss("street", 100.0), 79.668_161, 1e-6);
    close(loss("industrial-out-of-sight", 30.0), 82.116_751, 1e-6);
}

#[test]
fn higher_antennas_reach_farther_over_the_ground() {
    let law = PathLoss::NS2;
    let [low, mixed, high] = [[1.5, 1.5], [1.5, 6.0], [6.0, 6.0]].map(|h| law.gain_between(h, 10_000.0));
    close(mixed / low, 16.0, 1e-12);
    close(high / low, 256.0, 1e-12);
    let world = world(|p| p.heights = vec![1.5, 6.0, 6.0]);
    close(power_mw(&world, 0, 1, 10_000.0), dbm_to_mw(24.5) * mixed, 1e-12);
    close(power_mw(&world, 2, 1, 10_000.0), dbm_to_mw(24.5) * high, 1e-12);
    let weakest = power_mw(&world, 1, 2, 5_000.0);
    close(world.reach(weakest), 5_000.0, 1e-9);
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
    let power = |metres| mw_to_dbm(power_mw(&world, 0, 1, metres));
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
        let power = |w: &Propagation| mw_to_dbm(power_mw(w, a, b, 200.0));
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
    let faded = world(|p| p.fading = Fading::Rayleigh { change: Change::Blocks(Duration::from_millis(10)) });
    let deciles: [f64; 9] = std::array::from_fn(|i| -libm::log(1.0 - (i as f64 + 1.0) / 10.0));
    equiprobable(&fades(&faded), &deciles);
}

#[test]
fn rician_power_has_the_moments_of_a_noncentral_chi_square() {
    for k in [0.0, 3.0, 10.0] {
        let faded =
            world(|p| p.fading = Fading::Rician { k, change: Change::Blocks(Duration::from_millis(10)) });
        let draws = fades(&faded);
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let expected = (1.0 + 2.0 * k) / ((1.0 + k) * (1.0 + k));
        // The tolerance is four standard errors; the kurtosis is at most that of an exponential distribution,
        // 9.
        assert!((mean - 1.0).abs() < 4.0 * (expected / n).sqrt(), "mean {mean} for k = {k}");
        assert!(
            (variance / expected - 1.0).abs() < 4.0 * (8.0 / n).sqrt(),
            "variance {variance} for k = {k}"
        );
    }
}

#[test]
fn nakagami_power_has_a_gamma_distribution() {
    // Deciles of the gamma distribution with shape m and scale 1 / m.
    let deciles = [(1, DECILES_OF_HALF), (3, DECILES_OF_ONE_AND_A_HALF), (6, DECILES_OF_THREE)];
    for (squares, deciles) in deciles {
        let change = Change::Blocks(Duration::from_millis(10));
        equiprobable(&fades(&world(|p| p.fading = Fading::Nakagami { squares, change })), &deciles);
    }
}

#[test]
fn doppler_fading_has_the_distribution_of_its_kind() {
    let exponential: [f64; 9] = std::array::from_fn(|i| -libm::log(1.0 - (i as f64 + 1.0) / 10.0));
    let change = Change::Doppler(100.0);
    let kinds = [
        (Fading::Rayleigh { change }, exponential),
        (Fading::Nakagami { squares: 1, change }, DECILES_OF_HALF),
        (Fading::Nakagami { squares: 6, change }, DECILES_OF_THREE),
    ];
    for (fading, deciles) in kinds {
        let faded = world(|p| p.fading = fading);
        let draws: Vec<f64> = (0..10_000)
            .map(|n| faded.fade(NodeId(n), NodeId(n + 1), Instant::from_nanos(u64::from(n) * 1_000_000)))
            .collect();
        equiprobable(&draws, &deciles);
    }
}

/// Waves i and j of a sum with random phases contribute to the covariance of the power only if i and j
/// differ.
#[test]
fn doppler_fading_is_correlated_as_clarke_says() {
    let hertz = 50.0;
    let faded = world(|p| p.fading = Fading::Rayleigh { change: Change::Doppler(hertz) });
    for lag_ms in [0_u64, 1, 3, 5, 7, 10, 15, 20] {
        let angle = 2.0 * std::f64::consts::PI * hertz * lag_ms as f64 / 1e3;
        let pairs = 20_000;
        let mean = (0..pairs)
            .map(|n| {
                let at =
                    |ms| faded.fade(NodeId(n), NodeId(n + 1), Instant::from_nanos((700 + ms) * 1_000_000));
                at(0) * at(lag_ms)
            })
            .sum::<f64>()
            / f64::from(pairs);
        let expected = libm::j0(angle) * libm::j0(angle) - same_wave(angle);
        let got = mean - 1.0;
        // Four standard errors of the mean of a product of exponentials.
        assert!(
            (got - expected).abs() < 4.0 * (20.0 / f64::from(pairs)).sqrt(),
            "{got}, {expected} at {lag_ms}"
        );
        assert!((expected - libm::j0(angle) * libm::j0(angle)).abs() <= 1.0 / 16.0 + 1e-9);
    }
}

/// Contribution of equal waves: the sum over 16 sectors of the squared mean of a wave's rotation, divided by
/// 16^2.
fn same_wave(angle: f64) -> f64 {
    let steps = 1000;
    let sector = |n: usize| {
        let mean = |part: fn(f64) -> f64| {
            let direction = |step: usize| {
                2.0 * std::f64::consts::PI * (n as f64 + (step as f64 + 0.5) / steps as f64) / 16.0
            };
            (0..steps).map(|step| part(angle * libm::cos(direction(step)))).sum::<f64>() / steps as f64
        };
        mean(libm::cos) * mean(libm::cos) + mean(libm::sin) * mean(libm::sin)
    };
    (0..16).map(sector).sum::<f64>() / 256.0
}

#[test]
fn doppler_fading_is_a_function_of_pair_and_time() {
    let fading = Fading::Rician { k: 3.0, change: Change::Doppler(20.0) };
    let faded = world(|p| p.fading = fading);
    let fade = |a, b, ms: u64| faded.fade(NodeId(a), NodeId(b), Instant::from_nanos(ms * 1_000_000));
    let late = fade(1, 2, 3_600_000);
    assert_eq!(fade(2, 1, 3_600_000).to_bits(), late.to_bits());
    assert!((fade(1, 2, 0) - fade(1, 2, 1)).abs() < 0.1, "a fiftieth of a period later");
    assert!((fade(1, 2, 0) - fade(1, 3, 0)).abs() > 0.001);
}

#[test]
fn a_fade_is_constant_in_its_interval_and_independent_of_earlier_queries() {
    let faded = world(|p| p.fading = Fading::Rayleigh { change: Change::Blocks(Duration::from_millis(10)) });
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
fn antennas_and_houses_count_at_both_ends() {
    use super::antenna::{Facing, Pattern};
    let sector = Pattern::Sector { gain_db: 10.0, width: 60.0, front_back_db: 20.0 };
    let house = [(90.0, -10.0), (110.0, -10.0), (110.0, 10.0), (90.0, 10.0)].map(|(x, y)| Point { x, y });
    let house = obstacles::Obstacle { rings: vec![house.to_vec()], wall_db: 9.0, metre_db: 0.4 };
    let plain = world(|_| ());
    let town = world(|p| {
        p.antennas = Some(Antennas { pattern: sector, facing: Facing::Each(vec![90.0, 90.0, 270.0]) });
        p.obstacles = Some(Arc::new(Obstacles::new(vec![house])));
    });
    let gained = |a: Site, b: Site| {
        let distance = a.place.distance(b.place);
        let [one, other] = [town.mean_power_mw(a, b, distance), town.mean_power_mw(b, a, distance)];
        assert_eq!(one.to_bits(), other.to_bits());
        mw_to_dbm(one / plain.mean_power_mw(a, b, distance))
    };
    // The three links have antennas face to face, one antenna seen from behind, and both antennas behind the
    // house.
    assert!((gained(site(0, 0.0, 0.0), site(2, 50.0, 0.0)) - 20.0).abs() < 1e-9);
    assert!((gained(site(0, 0.0, 0.0), site(1, 50.0, 0.0)) - 0.0).abs() < 1e-9);
    assert!((gained(site(0, 0.0, 0.0), site(2, 200.0, 0.0)) - (20.0 - 18.0 - 8.0)).abs() < 1e-9);
    // The gain is 20 dB higher at d^-4.
    close(town.reach(1e-8) / plain.reach(1e-8), libm::pow(10.0, 0.5), 1e-9);
}

#[test]
fn beyond_reach_at_most_one_signal_in_a_thousand_is_heard() {
    let world = world(|p| {
        p.shadowing_db = 4.0;
        p.fading = Fading::Rayleigh { change: Change::Blocks(Duration::from_millis(1)) };
    });
    let weakest = dbm_to_mw(-80.0);
    let distance = world.reach(weakest);
    let heard = (0..20_000_u32)
        .filter(|&n| {
            let fade = world.fade(NodeId(n), NodeId(n + 1), Instant::ZERO);
            power_mw(&world, n, n + 1, distance) * fade > weakest
        })
        .count();
    assert!(heard <= 20, "{heard} of 20000");
}

fn fades(world: &Propagation) -> Vec<f64> {
    (0..20_000)
        .map(|i| world.fade(NodeId(i % 7), NodeId(8), Instant::from_nanos(u64::from(i) * 10_000_000)))
        .collect()
}

/// Asserts that draws are equally frequent in all ten intervals. Chi-square with 9 degrees of freedom exceeds
/// 27.9 for one seed in a thousand.
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

const DECILES_OF_HALF: [f64; 9] =
    [0.015_791, 0.064_185, 0.148_472, 0.274_996, 0.454_936, 0.708_326, 1.074_194, 1.642_374, 2.705_543];
const DECILES_OF_ONE_AND_A_HALF: [f64; 9] =
    [0.194_791, 0.335_058, 0.474_551, 0.623_056, 0.788_658, 0.982_055, 1.221_624, 1.547_209, 2.083_796];
const DECILES_OF_THREE: [f64; 9] =
    [0.367_355, 0.511_681, 0.637_925, 0.761_692, 0.891_353, 1.035_126, 1.205_189, 1.426_343, 1.774_107];
