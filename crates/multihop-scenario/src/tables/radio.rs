//! `[radio]` and `[mac]`.

use std::borrow::Cow;

use multihop_radio::params::{Flavour, Timing};
use multihop_radio::phy_profile::{PROFILES, PhyProfile, Preamble, RateIndex};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::document::{Node, Value};
use crate::faults::Faults;
use crate::model::ArpKind;
use crate::read::{Both, Fields, Keys, NoKeys, Read, kinds, table, wrong};
use crate::values::{
    Chance, DecibelMilliwatts, Decibels, Exponent, Hertz, Metres, OrOff, PositiveSeconds, Ratio, Seconds,
    Whole, number, words,
};

/// `[radio]`.
pub(crate) type RadioTable = Both<PhyTable, Both<ChannelTable, ModelTable>>;

/// The PHY profile, and what it leaves to choose.
pub(crate) struct PhyTable {
    pub(crate) phy: &'static PhyProfile,
    pub(crate) rate: RateIndex,
    pub(crate) basic_rate: RateIndex,
    pub(crate) preamble: &'static Preamble,
}

table! {
    /// What holds for every model of reception.
    ChannelTable {
        /// Chance that a data packet is lost on one hop after the MAC has delivered it.
        loss: Chance = 0.0,
        /// Chance that one frame is received in error; the MAC retries.
        frame_loss: Chance = 0.0,
        /// Bursts of frame errors on each link (Gilbert-Elliott).
        burst: Option<BurstTable>,
    }
}

table! {
    /// Gilbert-Elliott: a link is good or bad, and each frame may turn it.
    BurstTable {
        /// Frame error rate of a good link.
        good: Chance = 0.0,
        /// Frame error rate of a bad link.
        bad: Chance = 1.0,
        /// Chance of turning bad, for each frame.
        p: Chance,
        /// Chance of turning good, for each frame.
        r: Chance,
    }
}

kinds! {
    /// How reception is decided.
    ModelTable by "model" = "threshold" {
        /// Fixed ranges and pairwise capture, as in ns-2.
        "threshold" => Threshold(ThresholdTable),
        /// Signal to interference and noise over the frame.
        "sinr" => Sinr(SinrTable),
    }
}

table! {
    /// Fixed ranges and pairwise capture, as in ns-2.
    ThresholdTable {
        /// Metres at which a frame can be decoded: one number, or a table with one for each rate
        /// in use.
        range: RangeTable = 250.0,
        /// Metres at which a frame is sensed.
        sense_range: Metres = 550.0,
        /// How much stronger the first frame must be to survive a second, dB.
        capture_db: Decibels = 10.0,
    }
}

table! {
    /// Signal to interference and noise over the frame. With the defaults a frame is decoded to
    /// 250 m and sensed to 550 m where nobody interferes.
    SinrTable {
        /// Transmit power, dBm.
        tx_power_dbm: DecibelMilliwatts = 24.5,
        /// Attenuation over distance.
        path_loss: PathLossTable = json!({ "kind": "two-ray" }),
        /// Standard deviation of log-normal shadowing, dB; one draw for each pair of nodes.
        shadowing_db: Decibels = 0.0,
        /// Fading.
        fading: FadingTable = json!({ "kind": "none" }),
        /// Thermal noise over the channel width and the noise figure together, dBm. The default has a noise figure of
        /// 7 dB: -93.55 dBm for 802.11b.
        noise_floor_dbm: Option<DecibelMilliwatts>,
        /// Energy at which the medium counts as busy, dBm.
        cca_dbm: DecibelMilliwatts = -78.071,
        /// Weakest frame that a receiver locks to, dBm.
        sensitivity_dbm: DecibelMilliwatts = -64.375,
        /// How much stronger a second frame must be to take over a receiver in the preamble of the
        /// first, dB.
        capture_db: Decibels = 10.0,
    }
}

kinds! {
    /// Attenuation over distance.
    PathLossTable by "kind" {
        /// The loss at 1 m, then 10 n dB a decade.
        "log-distance" => LogDistance(LogDistanceTable),
        /// Free space up to the crossover, then the fourth power of distance.
        "two-ray" => TwoRay(TwoRayTable),
    }
}

table! {
    /// The loss at 1 m, then 10 n dB a decade.
    LogDistanceTable {
        /// n.
        exponent: Exponent = 3.0,
        /// Loss at 1 m, dB; the default is free space at 2.4 GHz.
        reference_db: Decibels = 40.05,
    }
}

table! {
    /// Two-ray ground; the defaults are ns-2's.
    TwoRayTable {
        /// Carrier frequency, Hz.
        frequency: Hertz = 914e6,
        /// Height of both antennas, m.
        height: Metres = 1.5,
    }
}

kinds! {
    /// Fading, constant over a coherence time.
    FadingTable by "kind" {
        /// No fading.
        "none" => None(NoKeys),
        /// No line of sight.
        "rayleigh" => Rayleigh(RayleighTable),
        /// A line of sight and scattered waves.
        "rician" => Rician(RicianTable),
    }
}

table! {
    /// No line of sight.
    RayleighTable {
        /// How long a draw holds, s.
        coherence: PositiveSeconds = 0.1,
    }
}

table! {
    /// A line of sight and scattered waves.
    RicianTable {
        /// Power of the line of sight / that of the rest, linear.
        k: Ratio = 4.0,
        /// How long a draw holds, s.
        coherence: PositiveSeconds = 0.1,
    }
}

table! {
    /// Medium access and the interface queue.
    MacTable {
        /// Whose rules hold where ns-2 departs from IEEE 802.11.
        flavour: FlavourWord = "ns2",
        /// Whose frame sizes count: those of the standard, or the accounting of the papers of 1999
        /// to 2001.
        timing: TimingWord = "dsss",
        /// Frames of at least this many bytes, as the flavour counts them, are announced by RTS.
        rts_threshold: OrOff<Whole<0, 100_000>> = 0,
        /// Whether a station that heard an error waits longer (EIFS).
        eifs: bool = true,
        /// Whether every data frame carries 8 bytes of LLC/SNAP.
        llc: bool = false,
        /// Packets in the interface queue.
        queue: Whole<1, 1_000_000> = 50,
        /// How addresses are found: as in ns-2, with a queue, or known to everyone.
        arp: ArpWord = "ns2",
        /// Transmissions of an RTS, or of a data frame without RTS.
        short_retry: OrOff<Whole<1, 1_000_000>> = 7,
        /// Transmissions of a data frame after RTS.
        long_retry: OrOff<Whole<1, 1_000_000>> = 4,
        /// Time a packet spends between IP and MAC, each way, s.
        link_delay: Seconds = 25e-6,
    }
}

words! {
    /// Flavours of the MAC.
    FlavourWord(Flavour) {
        "ns2" => Flavour::Ns2,
        "standard" => Flavour::Standard,
    }

    /// Frame sizes.
    TimingWord(Timing) {
        "dsss" => Timing::Standard,
        "ns2-1999" => Timing::Ns2Of1999,
    }

    /// Kinds of address resolution.
    ArpWord(ArpKind) {
        "ns2" => ArpKind::Ns2,
        "queueing" => ArpKind::Queueing,
        "oracle" => ArpKind::Oracle,
    }
}

impl Fields for PhyTable {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let profiles = PROFILES.map(|phy| (phy.name, phy));
        let Some(&phy) = keys.take_kind("phy", Some(PROFILES[0].name), &profiles, faults) else {
            keys.forgive();
            return None;
        };
        let rates: Vec<_> = phy.rate_indices().map(|rate| (phy.rate(rate).name, rate)).collect();
        let preambles: Vec<_> = phy.preambles.iter().map(|preamble| (preamble.name, preamble)).collect();
        let mut rate =
            |key, default| keys.take_kind(key, Some(phy.rate(default).name), &rates, faults).copied();
        let (rate, basic_rate) = (rate("rate", phy.data_rate), rate("basic_rate", phy.basic_rate));
        let preamble = keys.take_kind("preamble", Some(preambles[0].0), &preambles, faults).copied();
        Some(Self { phy, rate: rate?, basic_rate: basic_rate?, preamble: preamble? })
    }

    fn names() -> Vec<&'static str> {
        vec!["phy", "rate", "basic_rate", "preamble"]
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        let default = PROFILES[0];
        let word = |about, words: Vec<&str>, default: &str| json!({ "type": "string", "enum": words, "default": default, "description": about });
        let rate = |about, default| word(about, rate_names(), PROFILES[0].rate(default).name);
        let preamble = "What precedes every frame: for 802.11b, long takes 192 us, short 96 us.";
        json_schema!({ "type": "object", "required": [], "properties": {
            "phy": word("Physical layer.", PROFILES.map(|phy| phy.name).into(), default.name),
            "rate": rate("Bit rate of unicast data.", default.data_rate),
            "basic_rate": rate("Bit rate of RTS, CTS, ACK and broadcasts.", default.basic_rate),
            "preamble": word(preamble, preamble_names(), default.preambles[0].name),
        } })
    }
}

/// The rates of all profiles.
fn rate_names() -> Vec<&'static str> {
    unique(PROFILES.iter().flat_map(|phy| phy.rates).map(|rate| rate.name))
}

/// The preambles of all profiles.
fn preamble_names() -> Vec<&'static str> {
    unique(PROFILES.iter().flat_map(|phy| phy.preambles).map(|preamble| preamble.name))
}

fn unique(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut unique = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

/// Decode ranges, metres.
pub(crate) enum RangeTable {
    /// The same for all rates.
    Same(f64),
    /// By the names of rates.
    ByRate(Vec<(&'static str, f64)>),
}

impl Read for RangeTable {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match (number(node), &node.value) {
            (Some(_), _) => Metres::read(node, path, faults).map(|range| Self::Same(range.0)),
            (None, Value::Table(_)) => {
                let mut keys = Keys::open(node, path, faults)?;
                let read: Vec<(_, Option<Option<Metres>>)> =
                    rate_names().into_iter().map(|name| (name, keys.take(name, None, faults))).collect();
                keys.close(faults);
                let mut ranges = Vec::new();
                for (name, range) in read {
                    ranges.extend(range?.map(|metres| (name, metres.0)));
                }
                Some(Self::ByRate(ranges))
            }
            _ => wrong(node, path, "a number of metres, or a table such as { \"2M\" = 250.0 }", faults),
        }
    }
}

impl JsonSchema for RangeTable {
    fn schema_name() -> Cow<'static, str> {
        "RangeTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let metres = Metres::json_schema(generator);
        let rates: serde_json::Map<_, _> =
            rate_names().into_iter().map(|name| (name.to_owned(), metres.clone().into())).collect();
        json_schema!({ "anyOf": [
            metres,
            { "type": "object", "properties": rates, "additionalProperties": false },
        ] })
    }
}
