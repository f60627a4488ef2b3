//! Prints losses over distance, powers of fading, and their correlation over time, as CSV.
//!
//! `multihop papers run validation-propagation` compares the output with closed forms.

use std::io::{self, Write};

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::decibels::mw_to_dbm;
use multihop_radio::grid::Point;
use multihop_radio::params::{Building, Change, ENVIRONMENTS, Fading, PathLoss, Sinr};
use multihop_radio::propagation::{Propagation, Site};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "quantity,name,x,value")?;
    for (name, path_loss) in laws() {
        let world = Propagation::new(&Sinr { tx_power_dbm: 0.0, path_loss, ..Sinr::default() }, SEED);
        for step in 0..=DISTANCES {
            // From 5 m to 1 km, equally spaced in the logarithm.
            let metres = 5.0 * 200_f64.powf(f64::from(step) / f64::from(DISTANCES));
            let [a, b] = [site(0, 0.0), site(1, metres)];
            writeln!(out, "loss,{name},{metres},{}", -mw_to_dbm(world.mean_power_mw(a, b, metres)))?;
        }
    }
    for (name, fading) in fadings() {
        let world = Propagation::new(&Sinr { fading, ..Sinr::default() }, SEED);
        for pair in 0..PAIRS {
            writeln!(out, "power,{name},{pair},{}", fade(&world, pair, 1.0))?;
        }
    }
    let world = Propagation::new(&Sinr { fading: DOPPLER, ..Sinr::default() }, SEED);
    for step in 0..=LAGS {
        // Up to two periods of the Doppler frequency.
        let lag = 2.0 * f64::from(step) / f64::from(LAGS) / HERTZ;
        let product = |pair| (fade(&world, pair, 1.0) - 1.0) * (fade(&world, pair, 1.0 + lag) - 1.0);
        let sum: f64 = (0..PAIRS).map(product).sum();
        writeln!(out, "correlation,rayleigh,{},{}", lag * HERTZ, sum / f64::from(PAIRS))?;
    }
    Ok(())
}

fn laws() -> Vec<(String, PathLoss)> {
    let mut laws = vec![
        ("two-ray".to_owned(), PathLoss::TwoRay { frequency: FREQUENCY, height: 1.5 }),
        ("p1411".to_owned(), PathLoss::Street { frequency: FREQUENCY, height: 1.5 }),
    ];
    let buildings = [
        ("p1238 residential", Building::Residential),
        ("p1238 office", Building::Office),
        ("p1238 commercial", Building::Commercial),
    ];
    laws.extend(buildings.map(|(name, building)| {
        (name.to_owned(), PathLoss::Indoor { building, frequency: FREQUENCY, height: 1.5, storey: 3.0 })
    }));
    laws.extend(ENVIRONMENTS.map(|each| {
        let (exponent, reference_db) = (each.exponent(), each.reference_db(FREQUENCY));
        (each.name.to_owned(), PathLoss::LogDistance { exponent, reference_db })
    }));
    laws
}

fn fadings() -> [(&'static str, Fading); 6] {
    let blocks = Change::Blocks(Duration::from_millis(10));
    let doppler = Change::Doppler(HERTZ);
    [
        ("rayleigh blocks", Fading::Rayleigh { change: blocks }),
        ("rayleigh speed", DOPPLER),
        ("rician blocks", Fading::Rician { k: 4.0, change: blocks }),
        ("rician speed", Fading::Rician { k: 4.0, change: doppler }),
        ("nakagami blocks", Fading::Nakagami { squares: 6, change: blocks }),
        ("nakagami speed", Fading::Nakagami { squares: 6, change: doppler }),
    ]
}

fn fade(world: &Propagation, pair: u32, seconds: f64) -> f64 {
    world.fade(NodeId(pair), NodeId(pair + 1), Instant::ZERO + Duration::from_secs_f64(seconds))
}

fn site(node: u32, x: f64) -> Site {
    Site { node: NodeId(node), place: Point { x, y: 0.0 } }
}

const DOPPLER: Fading = Fading::Rayleigh { change: Change::Doppler(HERTZ) };
const SEED: u64 = 1;
const FREQUENCY: f64 = 2.4e9;
const HERTZ: f64 = 50.0;
const DISTANCES: u32 = 100;
const PAIRS: u32 = 20_000;
const LAGS: u32 = 80;
