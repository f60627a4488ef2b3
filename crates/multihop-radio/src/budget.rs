//! Named link budgets: the budget of ns-2's radio, and the budget of a present-day device in one of three
//! surroundings. `docs/models/budgets.md` has the source of every number.

use crate::params::{Antennas, EdcaParams, Facing, Flavour, MacParams, PathLoss, Pattern, Sinr};
use crate::phy_profile::{PhyProfile, RateIndex};
use crate::rate_control::{MinstrelParams, RateControlParams};

/// Link budget that provides the defaults of radio and MAC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Budget {
    /// The radio of ns-2, with which the networks of the papers were simulated.
    Ns2,
    /// A present-day device on one floor of an office.
    Indoor,
    /// A present-day device in a street between buildings.
    Street,
    /// A present-day device over open ground.
    Open,
}

impl Budget {
    /// All budgets with their words in scenarios.
    pub const ALL: [(&'static str, Self); 4] =
        [("ns-2", Self::Ns2), ("indoor", Self::Indoor), ("street", Self::Street), ("open", Self::Open)];

    /// The budget of a scenario that names none: ns-2's for 802.11b, a device in a street for all later
    /// profiles.
    pub fn usual(phy: &PhyProfile) -> Self {
        if phy.is_ofdm(phy.data_rate) { Self::Street } else { Self::Ns2 }
    }

    /// The word for this budget in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, budget)| *budget == self).expect("a word for each").0
    }

    /// Whether radio and MAC have the values of a present-day device.
    pub fn is_device(self) -> bool {
        self != Self::Ns2
    }

    /// The default rate of RTS and broadcasts.
    pub(crate) fn basic_rate(self, phy: &PhyProfile) -> RateIndex {
        let slowest_ofdm = || phy.rate_indices().find(|&rate| phy.rate(rate).name == "6M");
        let device = || if phy.channel_width > 15e6 { slowest_ofdm() } else { None };
        self.is_device().then(device).flatten().unwrap_or(phy.basic_rate)
    }

    /// The defaults of the SINR model. The sensitivity is ns-2's; for a device it follows from the noise
    /// ([`crate::params::detects_from`]).
    pub(crate) fn sinr(self, phy: &PhyProfile) -> Sinr {
        let ns2 = Sinr { noise_floor_dbm: phy.noise_floor_dbm(), ..Sinr::default() };
        if !self.is_device() {
            return ns2;
        }
        let Device { tx_power_dbm, gain_dbi } = Device::of(phy);
        Sinr {
            tx_power_dbm,
            path_loss: self.path_loss(phy),
            shadowing_db: if self == Self::Indoor { INDOOR_SHADOWING_DB } else { 0.0 },
            antennas: Some(Antennas {
                pattern: Pattern::Omni { gain_db: gain_dbi },
                facing: Facing::All(0.0),
            }),
            noise_floor_dbm: phy.noise_dbm(NOISE_FIGURE_DB),
            cca_dbm: rounded(ENERGY_DETECTION_DBM + 10.0 * libm::log10(phy.channel_width / 20e6)),
            ..ns2
        }
    }

    /// Path loss law of the surroundings at the frequency of the channel.
    fn path_loss(self, phy: &PhyProfile) -> PathLoss {
        let frequency = f64::from(phy.channel_mhz) * 1e6;
        match self {
            Self::Ns2 => PathLoss::NS2,
            Self::Indoor => PathLoss::LogDistance {
                exponent: INDOOR_EXPONENT,
                reference_db: rounded(
                    INDOOR_AT_1_GHZ_DB + INDOOR_FREQUENCY_DB * libm::log10(frequency / 1e9),
                ),
            },
            Self::Street => PathLoss::Street { frequency, height: HEIGHT },
            Self::Open => PathLoss::TwoRay { frequency, height: HEIGHT },
        }
    }

    /// The defaults of the MAC. `is_rate_given`: the scenario fixes the data rate, so that no rate control
    /// chooses it.
    pub(crate) fn mac(self, phy: &PhyProfile, is_rate_given: bool) -> MacParams {
        if !self.is_device() {
            return MacParams::default();
        }
        MacParams {
            flavour: Flavour::Standard,
            rts_threshold: None,
            llc: true,
            rate_control: match is_rate_given {
                true => RateControlParams::Fixed,
                false => RateControlParams::Minstrel(MinstrelParams::default()),
            },
            ampdu: phy.aggregates.map(|limits| limits.mpdus.into()),
            edca: Some(EdcaParams::default()),
            ..MacParams::default()
        }
    }
}

/// Power and antennas of a device, which depend on the band.
struct Device {
    tx_power_dbm: f64,
    gain_dbi: f64,
}

impl Device {
    fn of(phy: &PhyProfile) -> Self {
        match phy.channel_mhz {
            ..2000 => Self { tx_power_dbm: 21.0, gain_dbi: 3.4 },
            2000..5000 => Self { tx_power_dbm: 18.0, gain_dbi: 2.0 },
            5000..5850 => Self { tx_power_dbm: 18.0, gain_dbi: 3.0 },
            5850.. => Self { tx_power_dbm: 20.0, gain_dbi: 0.0 },
        }
    }
}

/// Rounds a value in decibels to hundredths.
fn rounded(db: f64) -> f64 {
    (db * 100.0).round() / 100.0
}

/// Noise figure of a receiver, dB.
const NOISE_FIGURE_DB: f64 = 5.0;
/// Energy at which a channel of 20 MHz counts as busy: 20 dB above the sensitivity that the standard demands
/// (IEEE 802.11-2020 §17.3.10.6).
const ENERGY_DETECTION_DBM: f64 = -62.0;
/// Height of the antennas, m.
const HEIGHT: f64 = 1.5;
/// Indoor office without line of sight (3GPP TR 38.901, table 7.4.1-1): 38.3 log10(d) + 17.3 + 24.9 log10(f /
/// GHz) dB.
const INDOOR_EXPONENT: f64 = 3.83;
const INDOOR_AT_1_GHZ_DB: f64 = 17.3;
const INDOOR_FREQUENCY_DB: f64 = 24.9;
/// Standard deviation of indoor shadowing, dB (3GPP TR 38.901, table 7.4.1-1).
const INDOOR_SHADOWING_DB: f64 = 8.03;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Model, RadioParams};
    use crate::phy_profile::{DOT11AH_1, DOT11B, DOT11G, DOT11N_20, DOT11P, PROFILES};

    #[test]
    fn only_802_11b_is_the_radio_of_ns2_by_default() {
        for phy in PROFILES {
            assert_eq!(Budget::usual(phy).is_device(), *phy != DOT11B, "{phy:?}");
        }
    }

    #[test]
    fn every_budget_of_a_device_ends_at_a_plausible_range() {
        // The range is in metres at the broadcast rate; outdoors, radios of 802.11ah reach more than a
        // kilometre.
        for phy in PROFILES {
            for (budget, within) in [
                (Budget::Indoor, 60.0..1200.0),
                (Budget::Street, 150.0..2000.0),
                (Budget::Open, 300.0..4000.0),
            ] {
                let range = RadioParams::with_budget(phy, budget).decode_range();
                assert!(within.contains(&range), "{phy:?} {budget:?}: {range}");
            }
        }
    }

    #[test]
    fn faster_rates_of_a_device_reach_less_far() {
        for phy in [&DOT11G, &DOT11N_20, &DOT11P, &DOT11AH_1] {
            let mut radio = RadioParams::with_budget(phy, Budget::Street);
            let usable: Vec<_> = radio.usable_rates().collect();
            let (fastest, slowest) = (usable[usable.len() - 1], phy.data_rate);
            let slow = {
                radio.rate = slowest;
                radio.decode_range()
            };
            radio.rate = fastest;
            assert!(radio.decode_range() < 0.5 * slow, "{phy:?}");
        }
    }

    #[test]
    fn frames_are_received_as_far_as_their_rate_can_be_decoded() {
        let radio = RadioParams::with_budget(&DOT11N_20, Budget::Street);
        let Model::Sinr(sinr) = &radio.model else { panic!("a device has the SINR model") };
        // BPSK at code rate 1/2 needs between 3 and 4 dB.
        let above_noise = sinr.sensitivity_dbm - sinr.noise_floor_dbm;
        assert!((2.5..4.0).contains(&above_noise), "{above_noise}");
        assert!((sinr.noise_floor_dbm - -95.96).abs() < 1e-9, "{}", sinr.noise_floor_dbm);
    }
}
