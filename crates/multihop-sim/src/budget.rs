//! Summary of a scenario's radio and MAC as text, two lines for each radio: the values derived from its keys,
//! and its link budget.

use multihop_radio::params::{Flavour, MacParams, Model, RadioParams, Sinr};
use multihop_radio::phy_profile::RateIndex;
use multihop_radio::rate_control::RateControlParams;
use multihop_scenario::{Radio, Scenario};

/// Text lines for the user: for each radio one line with power, noise and ranges, and one line for the MAC.
/// With several radios, each line includes the number of its radio.
pub fn budget(scenario: &Scenario) -> Vec<String> {
    let lines = |found: &Radio| [radio(&found.params, &found.mac), mac(&found.params, &found.mac)];
    let numbered = |(number, found): (usize, &Radio)| match scenario.has_several_radios() {
        true => lines(found).map(|line| line.replacen(':', &format!(" {number}:"), 1)),
        false => lines(found),
    };
    scenario.radios.iter().enumerate().flat_map(numbered).collect()
}

fn radio(radio: &RadioParams, mac: &MacParams) -> String {
    let powers = match &radio.model {
        Model::Threshold(_) => "fixed ranges".to_owned(),
        Model::Sinr(sinr) => powers(sinr),
    };
    if let Model::Sinr(Sinr { measured: Some(measured), noise_floor_dbm, .. }) = &radio.model {
        let (phy, budget, file) = (radio.phy.name, radio.budget.name(), &measured.file);
        return format!(
            "radio: {phy}, budget {budget}: links as measured in {file}, noise of {noise_floor_dbm} dBm"
        );
    }
    let sensed = radio.sense_range();
    let (phy, budget) = (radio.phy.name, radio.budget.name());
    format!("radio: {phy}, budget {budget}: {powers}; {}, sensed up to {sensed:.0} m", ranges(radio, mac))
}

fn powers(sinr: &Sinr) -> String {
    let antennas = match &sinr.antennas {
        None => String::new(),
        Some(antennas) => match antennas.uniform_db() {
            Some(gain) => format!(", antennas of {gain} dBi"),
            None => ", directional antennas".to_owned(),
        },
    };
    format!("{} dBm{antennas}, noise of {} dBm", sinr.tx_power_dbm, sinr.noise_floor_dbm)
}

/// Range of the data rate, or the ranges of the slowest and the fastest rate that rate control may choose.
fn ranges(radio: &RadioParams, mac: &MacParams) -> String {
    let range = |rate: RateIndex| RadioParams { rate, ..radio.clone() }.decode_range();
    let said = |rate: RateIndex| format!("{} reaches {:.0} m", radio.phy.rate(rate).name, range(rate));
    if !mac.rate_control.adapts() {
        return said(radio.rate);
    }
    let by_speed = || radio.usable_rates().filter(|&rate| range(rate) > 0.0);
    let speed = |rate: &RateIndex| radio.phy.rate(*rate).bit_rate;
    match (by_speed().min_by_key(speed), by_speed().max_by_key(speed)) {
        (Some(slowest), Some(fastest)) if slowest != fastest => {
            format!("{}, {}", said(slowest), said(fastest))
        }
        _ => said(radio.rate),
    }
}

fn mac(radio: &RadioParams, mac: &MacParams) -> String {
    let rules = match mac.flavour {
        Flavour::Ns2 => "rules of ns-2",
        Flavour::Standard => "rules of the standard",
    };
    let rts = match mac.rts_threshold {
        None => "no RTS".to_owned(),
        Some(0) => "RTS before all data".to_owned(),
        Some(bytes) => format!("RTS from {bytes} bytes on"),
    };
    let mut parts = vec![rules.to_owned(), rts];
    parts.extend(mac.edca.is_some().then(|| "EDCA".to_owned()));
    parts.extend(mac.ampdu.map(|most| format!("up to {most} MPDUs in a frame")));
    parts.push(match &mac.rate_control {
        RateControlParams::Fixed => format!("data at {}", radio.phy.rate(radio.rate).name),
        rule => match radio.phy.most_streams() {
            1 => rule.word().to_owned(),
            _ if radio.streams == 1 => format!("{} with one stream", rule.word()),
            _ => format!("{} with {} streams", rule.word(), radio.streams),
        },
    });
    format!("MAC: {}, broadcasts at {}", parts.join(", "), radio.phy.rate(radio.basic_rate).name)
}
