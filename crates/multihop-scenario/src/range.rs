//! How far a frame carries when nothing else is in the air.

use multihop_radio::params::{Model, PathLoss, RATES, RadioParams, Sinr};
use multihop_radio::propagation::LIGHT_SPEED;

/// Metres over which a unicast data frame can be decoded: the range of its rate under the threshold
/// model, the distance at which the mean signal sinks to the sensitivity under the SINR model.
pub(crate) fn decode_range(radio: &RadioParams) -> f64 {
    match &radio.model {
        Model::Threshold(threshold) => {
            let rate = RATES.iter().position(|&rate| rate == radio.rate).expect("a checked rate");
            threshold.range[rate]
        }
        Model::Sinr(sinr) => sensitivity_range(sinr),
    }
}

fn sensitivity_range(sinr: &Sinr) -> f64 {
    let budget_db = sinr.tx_power_dbm - sinr.sensitivity_dbm;
    match sinr.path_loss {
        PathLoss::LogDistance { exponent, reference_db } => {
            libm::pow(10.0, (budget_db - reference_db) / (10.0 * exponent))
        }
        PathLoss::TwoRay { frequency, height } => {
            // Both laws of ns-2's two-ray ground; they meet at the crossover.
            let wavelength = LIGHT_SPEED / frequency;
            let free_space = libm::pow(10.0, budget_db / 20.0) * wavelength / (4.0 * core::f64::consts::PI);
            let crossover = 4.0 * core::f64::consts::PI * height * height / wavelength;
            if free_space <= crossover { free_space } else { height * libm::pow(10.0, budget_db / 40.0) }
        }
    }
}
