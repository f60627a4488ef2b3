//! Keys of radio and MAC in scenario files.

use core::ops::RangeInclusive;

use multihop_core::settings::{Given, Settings, Table, Value, Visitor};

use crate::budget::Budget;
use crate::params::{
    EdcaParams, Flavour, MacParams, Model, Protection, RadioParams, Sinr, Threshold, Timing, detects_from,
};
use crate::phy_profile::{PROFILES, PhyProfile, RateIndex};
use crate::propagation::keys::{antennas, fading, path_loss};

impl RadioParams {
    pub(crate) fn phy_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let profiles = PROFILES.map(|phy| (phy.name, phy));
        let phy = keys.about(help).choice(name, Some(PROFILES[0].name), &profiles);
        self.phy = phy.unwrap_or(self.phy);
    }

    /// Visits the key of the link budget, which decides all other defaults of a profile.
    pub(crate) fn budget_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let usual = Budget::usual(self.phy);
        let budget = keys.about(help).choice(name, Some(usual.name()), &Budget::ALL).unwrap_or(usual);
        *self = Self::with_budget(self.phy, budget);
    }

    pub(crate) fn rate_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let rates: Vec<_> = self.phy.rate_indices().map(|rate| (self.phy.rate(rate).name, rate)).collect();
        self.is_rate_given = keys.about(help).word(name, &mut self.rate, &rates);
    }

    pub(crate) fn basic_rate_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let phy = self.phy;
        let one_stream = phy.rate_indices().filter(|&rate| phy.rate(rate).label.streams().is_none());
        let rates: Vec<_> = one_stream.map(|rate| (phy.rate(rate).name, rate)).collect();
        keys.about(help).word(name, &mut self.basic_rate, &rates);
    }

    pub(crate) fn preamble_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let preambles: Vec<_> = self.phy.preambles.iter().map(|preamble| (preamble.name, preamble)).collect();
        keys.about(help).word(name, &mut self.preamble, &preambles);
    }

    pub(crate) fn model_key(&mut self, name: &'static str, _: &str, keys: &mut dyn Visitor) {
        let kinds = [
            ("threshold", "Fixed ranges and pairwise capture, as in ns-2; the default with the budget ns-2."),
            ("sinr", "Signal to interference and noise over the frame; the default with every other budget."),
        ];
        let (phy, budget, in_use) = (self.phy, self.budget, [self.rate, self.basic_rate]);
        keys.kinds(name, Some(usize::from(budget.is_device())), &kinds, &mut |kind, keys| {
            self.model = match kind {
                0 => Model::Threshold(threshold(phy, in_use, keys)),
                _ => Model::Sinr(sinr(phy, budget, in_use, keys)),
            }
        });
    }

    /// Visits the key of the number of spatial streams, which is at least the number of the data rate's
    /// streams.
    pub(crate) fn streams_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let most = self.phy.most_streams();
        let of_rate = self.phy.rate(self.rate).label.streams().unwrap_or(1);
        let usual = if self.budget.is_device() { of_rate } else { most };
        let mut given = None;
        keys.about(help).field(name, &mut given, 1..=4);
        match given {
            Some(found) if found > most => {
                let allowed = format!("at most {most} with phy = {:?}", self.phy.name);
                keys.refuse(name, format!("found {found}, allowed: {allowed}"));
            }
            Some(found) if found < of_rate => {
                let rate = self.phy.rate(self.rate).name;
                keys.refuse(
                    name,
                    format!("found {found}, allowed: at least {of_rate}, as many as rate = {rate:?} has"),
                );
            }
            _ => {}
        }
        self.streams = given.unwrap_or(usual);
    }
}

/// Reads the keys of the threshold model (ns-2's rules). Every rate `in_use` needs a range, and so do the
/// rates of its responses.
fn threshold(phy: &PhyProfile, in_use: [RateIndex; 2], keys: &mut dyn Visitor) -> Threshold {
    let mut threshold = Threshold::default();
    let ranges = ranges(phy, keys);
    let answers = in_use.map(|rate| phy.rate(rate).answer);
    for (rate, range) in phy.rate_indices().zip(&ranges) {
        if range.is_none() && (in_use.contains(&rate) || answers.contains(&Some(rate))) {
            keys.refuse("range", format!("has no range for {:?}, a rate in use", phy.rate(rate).name));
        }
    }
    threshold.keys(keys);
    let longest = ranges.iter().flatten().copied().fold(0.0, f64::max);
    if threshold.sense_range < longest {
        let found = threshold.sense_range;
        keys.refuse("sense_range", format!("found {found}, allowed: at least range, {longest}"));
    }
    // Frames that rate control tries at other rates are never decoded.
    threshold.range = ranges.into_iter().map(|range| range.unwrap_or(0.0)).collect();
    threshold
}

/// Range of each rate, as far as the user gives it.
fn ranges(phy: &PhyProfile, keys: &mut dyn Visitor) -> Vec<Option<f64>> {
    let mut ranges = vec![None; phy.rates.len()];
    let about =
        "Metres at which a frame can be decoded: one number, or a table with one for each rate in use.";
    let default = 250.0;
    let given =
        keys.about(about).value_or_table("range", METRES.into(), Some(Value::Number(default)), &mut |keys| {
            for (rate, range) in phy.rates.iter().zip(&mut ranges) {
                keys.about("").field(rate.name, range, METRES);
            }
        });
    match given {
        Some(Given::Table) => ranges,
        Some(Given::Value(range)) => vec![Some(range.into_number()); phy.rates.len()],
        None => vec![Some(default); phy.rates.len()],
    }
}

/// Reads the keys of the SINR model. By default a receiver detects frames that it can decode at the slower of
/// the rates `in_use`, or has ns-2's sensitivity.
fn sinr(phy: &PhyProfile, budget: Budget, in_use: [RateIndex; 2], keys: &mut dyn Visitor) -> Sinr {
    let mut sinr = budget.sinr(phy);
    let is_ns2 = !budget.is_device();
    let table = Table {
        name: "path_loss",
        help: "Attenuation over distance. Default: two-ray at 914 MHz with the budget ns-2; indoor: log-distance, exponent 3.83 \
               (3GPP TR 38.901); street: p1411; open: two-ray at the channel's frequency.",
        required: false,
        default: is_ns2.then_some(&[("kind", "two-ray")]),
    };
    keys.table(&table, &mut |keys| path_loss(phy, &mut sinr, keys));
    let help = "Fading: a random factor on the power of each pair of nodes.";
    let table = Table { name: "fading", help, required: false, default: Some(&[("kind", "none")]) };
    keys.table(&table, &mut |keys| fading(phy, &mut sinr.fading, keys));
    sinr.keys(keys);
    if sinr.cca_dbm <= sinr.noise_floor_dbm {
        let (found, floor) = (sinr.cca_dbm, sinr.noise_floor_dbm);
        let allowed = format!("above noise_floor_dbm, {floor}, or the medium is always busy");
        keys.refuse("cca_dbm", format!("found {found}, allowed: {allowed}"));
    }
    if budget.is_device() {
        sinr.sensitivity_dbm = detects_from(phy, in_use, &sinr);
    }
    let help = "Power of the weakest frame that a receiver locks to, dBm. Default: -64.375 with the budget ns-2; otherwise what it can \
                decode at rate or basic_rate, whichever is slower.";
    keys.about(help).field("sensitivity_dbm", &mut sinr.sensitivity_dbm, DBM);
    sinr
}

impl Sinr {
    pub(crate) fn antenna_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let mut given = None;
        if keys.about(help).table(name, &mut |keys| given = antennas(keys)) {
            self.antennas = given;
        }
    }
}

impl MacParams {
    pub(crate) fn rate_control_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.rate_control.key(name, help, keys);
    }

    pub(crate) fn turns_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        keys.about(help).switch_or_table(name, &mut self.turns);
    }

    /// Visits the keys of EDCA. By default, stations have EDCA and A-MPDU only where the other keys allow them.
    pub(crate) fn edca_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let is_standard = self.flavour == Flavour::Standard && self.timing == Timing::Standard;
        if !is_standard {
            self.ampdu = None;
        }
        let by_default = self.edca.take().is_some() && is_standard && self.protection == Protection::Off;
        self.edca = by_default.then(EdcaParams::default);
        let given = keys.about(help).switch_or_table(name, &mut self.edca);
        if given && self.edca.is_some() && self.flavour == Flavour::Ns2 {
            keys.refuse(name, "found true, allowed: false unless flavour = \"standard\"".to_owned());
        }
    }
}

impl Settings for EdcaParams {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let [background, best_effort, video, voice] = &mut self.categories;
        let about = "Default: AIFSN 7, the windows of the profile, one packet.";
        keys.about(about).settings("background", background);
        let about = "Default: AIFSN 3, the windows of the profile, one packet.";
        keys.about(about).settings("best-effort", best_effort);
        let about = "Default: AIFSN 2, half the smallest window, up to the smallest one of the profile, 3.008 ms (802.11b: \
                     6.016 ms).";
        keys.about(about).settings("video", video);
        let about = "Default: AIFSN 2, a quarter of the smallest window, up to half of it, 1.504 ms (802.11b: 3.264 ms).";
        keys.about(about).settings("voice", voice);
    }
}

/// Allowed number of slots in a contention window.
pub(crate) const WINDOW: RangeInclusive<u64> = 1..=32_767;
pub(crate) const CHANCE: RangeInclusive<f64> = 0.0..=1.0;
pub(crate) const METRES: RangeInclusive<f64> = 0.001..=1e7;
pub(crate) const DECIBELS: RangeInclusive<f64> = 0.0..=200.0;
pub(crate) const DBM: RangeInclusive<f64> = -300.0..=100.0;
