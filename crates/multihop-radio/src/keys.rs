//! The keys of radio and MAC in scenario files.

use core::ops::RangeInclusive;

use multihop_core::settings::{Given, Settings, Table, Value, Visitor};

use crate::budget::Budget;
use crate::measured::Interpolation;
use crate::params::{
    Burst, CategoryParams, CodelParams, Discipline, EdcaParams, ErrorModel, Flavour, MacParams, Measured,
    Model, Protection, RadioParams, Sinr, Threshold, Timing, WindowReset, detects_from,
};
use crate::phy_profile::{PROFILES, PhyProfile, RateIndex};
use crate::propagation::keys::{antennas, fading, path_loss};

impl Settings for RadioParams {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.phy_keys(keys);
        let about = "Chance that a data packet is lost on one hop after the MAC has delivered it.";
        keys.about(about).number("loss", &mut self.loss, CHANCE);
        let about = "Chance that one frame is received in error; the MAC retries.";
        keys.about(about).number("frame_loss", &mut self.frame_loss, CHANCE);
        let mut burst = Burst { good: 0.0, bad: 1.0, p: 0.0, r: 0.0 };
        let about = "Bursts of frame errors on each link (Gilbert-Elliott): a link is good or bad, and each \
                     frame may turn it.";
        if keys.about(about).table("burst", &mut |keys| burst.keys(keys)) {
            self.burst = Some(burst);
        }
        self.model_keys(keys);
    }
}

impl RadioParams {
    /// The profile, which decides which rates and preambles there are.
    fn phy_keys(&mut self, keys: &mut dyn Visitor) {
        let profiles = PROFILES.map(|phy| (phy.name, phy));
        let phy = keys.about("Physical layer.").choice("phy", Some(PROFILES[0].name), &profiles);
        let phy = phy.unwrap_or(self.phy);
        let usual = Budget::usual(phy);
        let about = "Where the defaults of [radio] and [mac] come from: ns-2's radio, on which the papers' networks ran, or a device \
                     sold today indoors, in a street or over open ground. Default: ns-2 with 802.11b, street with all others.";
        let budget = keys.about(about).choice("budget", Some(usual.name()), &Budget::ALL).unwrap_or(usual);
        *self = Self::with_budget(phy, budget);
        let rates: Vec<_> = self.phy.rate_indices().map(|rate| (self.phy.rate(rate).name, rate)).collect();
        let about = "Bit rate of unicast data; in OFDM the lowest by default, or MCS0 where there is one.";
        self.is_rate_given = keys.about(about).word("rate", &mut self.rate, &rates);
        self.streams_key(keys);
        let about = "Bit rate of RTS and broadcasts. Default: 1M with 802.11b and with the budget ns-2 with 802.11g; 6M with all others \
                     of 20 MHz and more, 3M with 802.11p, MCS0 with 802.11ah. CTS and ACK have it as well in 802.11b; in OFDM they have the \
                     highest mandatory rate up to that of the frame that they answer, and in 802.11ah they are preambles.";
        let basic: Vec<_> = rates
            .iter()
            .copied()
            .filter(|(_, rate)| self.phy.rate(*rate).label.streams().is_none())
            .collect();
        keys.about(about).word("basic_rate", &mut self.basic_rate, &basic);
        let preambles: Vec<_> = self.phy.preambles.iter().map(|preamble| (preamble.name, preamble)).collect();
        let about = "What precedes a frame: for 802.11b, long takes 192 us, short 96 us; OFDM has \
                     one of its own.";
        keys.about(about).word("preamble", &mut self.preamble, &preambles);
    }

    fn model_keys(&mut self, keys: &mut dyn Visitor) {
        let kinds = [
            ("threshold", "Fixed ranges and pairwise capture, as in ns-2; the default with the budget ns-2."),
            ("sinr", "Signal to interference and noise over the frame; the default with every other budget."),
        ];
        let (phy, budget, in_use) = (self.phy, self.budget, [self.rate, self.basic_rate]);
        keys.kinds("model", Some(usize::from(budget.is_device())), &kinds, &mut |kind, keys| {
            self.model = match kind {
                0 => Model::Threshold(threshold(phy, in_use, keys)),
                _ => Model::Sinr(sinr(phy, budget, in_use, keys)),
            }
        });
    }

    /// The number of spatial streams, at least that of the rate of data.
    fn streams_key(&mut self, keys: &mut dyn Visitor) {
        let most = self.phy.most_streams();
        let of_rate = self.phy.rate(self.rate).label.streams().unwrap_or(1);
        let usual = if self.budget.is_device() { of_rate } else { most };
        let mut given = None;
        let about = "Most spatial streams of data, with 802.11n and later. Rate control uses no rate with more. Default: those of \
                     radio.rate, one if it is not given; with the budget ns-2 as many as there are.";
        keys.about(about).whole_if_set("streams", &mut given, 1..=4);
        match given {
            Some(found) if found > most => {
                let allowed = format!("at most {most} with phy = {:?}", self.phy.name);
                keys.refuse("streams", format!("found {found}, allowed: {allowed}"));
            }
            Some(found) if found < of_rate => {
                let rate = self.phy.rate(self.rate).name;
                keys.refuse(
                    "streams",
                    format!("found {found}, allowed: at least {of_rate}, as many as rate = {rate:?} has"),
                );
            }
            _ => {}
        }
        self.streams = given.unwrap_or(usual);
    }
}

impl Settings for Burst {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Frame error rate of a good link.").number("good", &mut self.good, CHANCE);
        keys.about("Frame error rate of a bad link.").number("bad", &mut self.bad, CHANCE);
        let about = "Chance of turning bad, for each frame.";
        keys.about(about).required().number("p", &mut self.p, CHANCE);
        let about = "Chance of turning good, for each frame.";
        keys.about(about).required().number("r", &mut self.r, CHANCE);
    }
}

/// ns-2's rules; every rate `in_use` needs a range, and so do the rates of answers.
fn threshold(phy: &PhyProfile, in_use: [RateIndex; 2], keys: &mut dyn Visitor) -> Threshold {
    let mut threshold = Threshold::default();
    let ranges = ranges(phy, keys);
    let answers = in_use.map(|rate| phy.rate(rate).answer);
    for (rate, range) in phy.rate_indices().zip(&ranges) {
        if range.is_none() && (in_use.contains(&rate) || answers.contains(&Some(rate))) {
            keys.refuse("range", format!("has no range for {:?}, a rate in use", phy.rate(rate).name));
        }
    }
    let about = "Metres at which a frame is sensed.";
    keys.about(about).number("sense_range", &mut threshold.sense_range, METRES);
    let longest = ranges.iter().flatten().copied().fold(0.0, f64::max);
    if threshold.sense_range < longest {
        let found = threshold.sense_range;
        keys.refuse("sense_range", format!("found {found}, allowed: at least range, {longest}"));
    }
    let about = "How much stronger the first frame must be to survive a second, dB.";
    keys.about(about).number("capture_db", &mut threshold.capture_db, DECIBELS);
    // What rate control tries at other rates nobody decodes.
    threshold.range = ranges.into_iter().map(|range| range.unwrap_or(0.0)).collect();
    threshold
}

/// The range of each rate, where the user gives one.
fn ranges(phy: &PhyProfile, keys: &mut dyn Visitor) -> Vec<Option<f64>> {
    let mut ranges = vec![None; phy.rates.len()];
    let about =
        "Metres at which a frame can be decoded: one number, or a table with one for each rate in use.";
    let default = 250.0;
    let given =
        keys.about(about).value_or_table("range", METRES.into(), Some(Value::Number(default)), &mut |keys| {
            for (rate, range) in phy.rates.iter().zip(&mut ranges) {
                keys.about("").number_if_set(rate.name, range, METRES);
            }
        });
    match given {
        Some(Given::Table) => ranges,
        Some(Given::Value(range)) => vec![Some(range.into_number()); phy.rates.len()],
        None => vec![Some(default); phy.rates.len()],
    }
}

/// The SINR model; a receiver detects what it can decode at the slower one of the rates `in_use`, or as ns-2's does.
fn sinr(phy: &PhyProfile, budget: Budget, in_use: [RateIndex; 2], keys: &mut dyn Visitor) -> Sinr {
    let mut sinr = budget.sinr(phy);
    let about = "Transmit power, dBm. Default: 24.5 with the budget ns-2; otherwise 18, with 802.11p 20, with 802.11ah 21.";
    keys.about(about).number("tx_power_dbm", &mut sinr.tx_power_dbm, DBM);
    let is_ns2 = !budget.is_device();
    let table = Table {
        name: "path_loss",
        help: "Attenuation over distance. Default: two-ray at 914 MHz with the budget ns-2; indoor: log-distance, exponent 3.83 \
               (3GPP TR 38.901); street: p1411; open: two-ray at the channel's frequency.",
        required: false,
        default: is_ns2.then_some(&[("kind", "two-ray")]),
    };
    keys.table(&table, &mut |keys| path_loss(phy, &mut sinr, keys));
    let about = "Standard deviation of log-normal shadowing, dB; one draw for each pair of nodes. Default: 8.03 with the budget indoor, otherwise 0.";
    keys.about(about).number("shadowing_db", &mut sinr.shadowing_db, DECIBELS);
    let help = "Fading: a random factor on the power of each pair of nodes.";
    let table = Table { name: "fading", help, required: false, default: Some(&[("kind", "none")]) };
    keys.table(&table, &mut |keys| fading(phy, &mut sinr.fading, keys));
    let help = "Antennas; without this table they are omnidirectional, with a gain of 0 dBi with the budget ns-2 and with 802.11p, \
                3.4 dBi with 802.11ah, otherwise 2 dBi at 2.4 GHz and 3 dBi at 5 GHz.";
    let table = Table { name: "antenna", help, required: false, default: None };
    let mut given = None;
    if keys.table(&table, &mut |keys| given = antennas(keys)) {
        sinr.antennas = given;
    }
    let mut measured = Measured::default();
    let about = "Links that were measured: their SNR or losses over time take the place of path loss, antennas, obstacles, shadowing                  and fading. Pairs of nodes without a trace do not hear each other.";
    if keys.about(about).table("measured", &mut |keys| measured.keys(keys)) {
        sinr.measured = Some(Box::new(measured));
    }
    let about = "Thermal noise over the channel width and the noise figure together, dBm. The noise figure is 7 dB with the budget \
                 ns-2 (-93.55 dBm for 802.11b, -93.96 for 802.11a), otherwise 5 dB (802.11a: -95.96).";
    keys.about(about).number("noise_floor_dbm", &mut sinr.noise_floor_dbm, DBM);
    let about = "Energy at which the medium counts as busy, dBm. Default: -78.071 with the budget ns-2; otherwise -62 over 20 MHz, and \
                 as dense over other channel widths.";
    keys.about(about).number("cca_dbm", &mut sinr.cca_dbm, DBM);
    if sinr.cca_dbm <= sinr.noise_floor_dbm {
        let (found, floor) = (sinr.cca_dbm, sinr.noise_floor_dbm);
        let allowed = format!("above noise_floor_dbm, {floor}, or the medium is always busy");
        keys.refuse("cca_dbm", format!("found {found}, allowed: {allowed}"));
    }
    let models = [("nist", ErrorModel::Nist), ("yans", ErrorModel::Yans)];
    let about = "How the errors of OFDM are computed.";
    keys.about(about).word("error_model", &mut sinr.error_model, &models);
    if budget.is_device() {
        sinr.sensitivity_dbm = detects_from(phy, in_use, &sinr);
    }
    let about = "Weakest frame that a receiver locks to, dBm. Default: -64.375 with the budget ns-2; otherwise what it can decode at \
                 rate or basic_rate, whichever is slower.";
    keys.about(about).number("sensitivity_dbm", &mut sinr.sensitivity_dbm, DBM);
    let about = "Smallest ratio of signal to noise and interference at which a receiver locks to a frame, dB; any \
                 without it. ns-3 has 4.";
    keys.about(about).number_if_set("detection_db", &mut sinr.detection_db, DECIBELS);
    let about = "How much stronger a second frame must be to take over a receiver in the preamble of the \
                 first, dB.";
    keys.about(about).number("capture_db", &mut sinr.capture_db, DECIBELS);
    sinr
}

impl Settings for Measured {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "A CSV file with the columns time (s), from, to, and snr_db or loss, in any order; relative to the scenario's folder.";
        keys.about(about).required().text("file", &mut self.file, 500);
        let words = [("hold", Interpolation::Hold), ("linear", Interpolation::Linear)];
        let about = "Values between two samples of a link: that of the earlier one, or on a straight line.";
        keys.about(about).word("interpolation", &mut self.interpolation, &words);
    }
}

impl Settings for MacParams {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let flavours = [("ns2", Flavour::Ns2), ("standard", Flavour::Standard)];
        let about = "Whose rules hold where ns-2 departs from IEEE 802.11. Default: ns2 with the budget ns-2, otherwise standard.";
        keys.about(about).word("flavour", &mut self.flavour, &flavours);
        let timings = [("dsss", Timing::Standard), ("ns2-1999", Timing::Ns2Of1999)];
        let about = "Whose frame sizes count: those of the standard, or the accounting of the papers of 1999 \
                     to 2001.";
        keys.about(about).word("timing", &mut self.timing, &timings);
        let about = "Frames of at least this many bytes, as the flavour counts them, are announced by RTS. Default: 0 with the budget \
                     ns-2, otherwise off.";
        keys.about(about).whole_or_off("rts_threshold", &mut self.rts_threshold, 0..=100_000);
        let protections = [("off", Protection::Off), ("cts-to-self", Protection::CtsToSelf)];
        let about = "What stations of 802.11b hear before unicast data at a rate of OFDM without RTS: nothing, or a CTS that a \
                     station sends to itself. With 802.11g, a basic_rate of 802.11b and flavour standard.";
        keys.about(about).word("protection", &mut self.protection, &protections);
        let about = "Whether a station that heard an error waits longer (EIFS).";
        keys.about(about).switch("eifs", &mut self.eifs);
        let about = "Whether every data frame carries 8 bytes of LLC/SNAP. Default: false with the budget ns-2, otherwise true.";
        keys.about(about).switch("llc", &mut self.llc);
        keys.about("Packets in the interface queue.").whole("queue", &mut self.queue, 1..=1_000_000);
        self.codel.keys(keys);
        let about = "Transmissions of an RTS, or of a data frame without RTS.";
        keys.about(about).whole_or_off("short_retry", &mut self.short_retry, 1..=1_000_000);
        let about = "Transmissions of a data frame after RTS.";
        keys.about(about).whole_or_off("long_retry", &mut self.long_retry, 1..=1_000_000);
        let about = "Time a packet spends between IP and MAC, each way, s.";
        keys.about(about).seconds("link_delay", &mut self.link_delay, 0.0..=1e9);
        self.rate_control.key(keys);
        self.window_keys(keys);
        let resets = [("cts", WindowReset::Cts), ("ack", WindowReset::Ack)];
        let about = "Which answer resets the contention window: the ACK, as IEEE 802.11 and ns-2 have it, or already the \
                     CTS. Default: ack; with flavour standard and 802.11b cts.";
        self.window_reset = keys.about(about).choice("window_reset", None, &resets);
        self.edca_key(keys);
        let about = "Most MPDUs of a frame (A-MPDU), answered by a block ACK; off: one. With 802.11n or 802.11ac up to 64, with \
                     802.11ax up to 256; flavour standard only. Default: off with the budget ns-2, otherwise the most of the physical layer.";
        keys.about(about).whole_or_off("ampdu", &mut self.ampdu, 2..=256);
        let about = "Most bytes of several packets in one MPDU (A-MSDU), 3839 or 7935 in the standard; off: one packet. With \
                     802.11n, 802.11ac or 802.11ax and flavour standard.";
        keys.about(about).whole_or_off("amsdu", &mut self.amsdu, 256..=7935);
    }
}

impl MacParams {
    /// EDCA. By default, stations have EDCA and A-MPDU only where the other keys allow them.
    fn edca_key(&mut self, keys: &mut dyn Visitor) {
        let is_standard = self.flavour == Flavour::Standard && self.timing == Timing::Standard;
        if !is_standard {
            self.ampdu = None;
        }
        let by_default = self.edca.take().is_some() && is_standard && self.protection == Protection::Off;
        let mut edca = EdcaParams::default();
        let about = "Four access categories (EDCA) instead of DCF, with the parameters of the standard or those given; \
                     flavour standard only. Flows have a category, urgent routing messages are voice. Default: false with the \
                     budget ns-2, otherwise true.";
        let given = keys.switch_or_table("edca", by_default, &mut edca, about);
        if given == Some(true) && self.flavour == Flavour::Ns2 {
            keys.refuse("edca", "found true, allowed: false unless flavour = \"standard\"".to_owned());
        }
        self.edca = given.unwrap_or(by_default).then_some(edca);
    }
}

impl MacParams {
    /// The windows, whose bounds depend on each other: the profile's windows are not known here.
    fn window_keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Smallest contention window (CWmin), slots; by default that of the physical layer. The windows of edca that \
                     are not given follow from it.";
        keys.about(about).whole_if_set("cw_min", &mut self.cw_min, WINDOW);
        let about = "Largest contention window (CWmax), slots; by default that of the physical layer.";
        keys.about(about).whole_if_set("cw_max", &mut self.cw_max, WINDOW);
    }
}

impl Settings for EdcaParams {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let [background, best_effort, video, voice] = &mut self.categories;
        let about = "Default: AIFSN 7, the windows of the profile, one packet.";
        keys.about(about).table("background", &mut |keys| background.keys(keys));
        let about = "Default: AIFSN 3, the windows of the profile, one packet.";
        keys.about(about).table("best-effort", &mut |keys| best_effort.keys(keys));
        let about = "Default: AIFSN 2, half the smallest window, up to the smallest one of the profile, 3.008 ms (802.11b: \
                     6.016 ms).";
        keys.about(about).table("video", &mut |keys| video.keys(keys));
        let about = "Default: AIFSN 2, a quarter of the smallest window, up to half of it, 1.504 ms (802.11b: 3.264 ms).";
        keys.about(about).table("voice", &mut |keys| voice.keys(keys));
    }
}

impl Settings for CategoryParams {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Slots of the interframe space after SIFS.";
        keys.about(about).whole_if_set("aifsn", &mut self.aifsn, 1..=15);
        keys.about("Smallest contention window, slots.").whole_if_set("cw_min", &mut self.cw_min, WINDOW);
        keys.about("Largest contention window, slots.").whole_if_set("cw_max", &mut self.cw_max, WINDOW);
        let about = "Limit of a transmission opportunity, s; 0: one packet.";
        keys.about(about).seconds_if_set("txop", &mut self.txop, 0.0..=0.01);
    }
}

impl Settings for CodelParams {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let disciplines = [
            ("drop-tail", Discipline::DropTail),
            ("codel", Discipline::Codel),
            ("fq-codel", Discipline::FqCodel),
        ];
        let about = "Which packets leave the interface queue: all in their order; CoDel (RFC 8289) drops or marks those that have \
                     waited too long; FQ-CoDel (RFC 8290) lets flows take turns as well.";
        keys.about(about).word("discipline", &mut self.discipline, &disciplines);
        let about = "CoDel: how long packets may wait, s.";
        keys.about(about).seconds("codel_target", &mut self.target, 0.0..=1000.0);
        let about = "CoDel: for how long they may wait longer than that, s.";
        keys.about(about).seconds("codel_interval", &mut self.interval, 0.000_001..=1000.0);
        let about = "CoDel: how long packets of prague may wait before they are marked, s.";
        keys.about(about).seconds("mark_above", &mut self.mark_above, 0.0..=1000.0);
    }
}

/// Slots of a contention window.
const WINDOW: RangeInclusive<u64> = 1..=32_767;
const CHANCE: RangeInclusive<f64> = 0.0..=1.0;
pub(crate) const METRES: RangeInclusive<f64> = 0.001..=1e7;
pub(crate) const DECIBELS: RangeInclusive<f64> = 0.0..=200.0;
const DBM: RangeInclusive<f64> = -300.0..=100.0;
