//! `[radio]` and `[mac]`.

use std::borrow::Cow;

use multihop_radio::params::{Flavour, Preamble, RATES, Timing};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::document::{Fault, Node, Value};
use crate::model::ArpKind;
use crate::read::{Both, Keys, NoKeys, Read, kinds, table, wrong};
use crate::values::{
    Chance, DecibelMilliwatts, Decibels, Exponent, Hertz, Metres, OrOff, PositiveSeconds, Rate, Ratio,
    Seconds, Whole, number, words,
};

/// `[radio]`.
pub(crate) type RadioTable = Both<ChannelTable, ModelTable>;

table! {
    /// What holds for every model of reception.
    ChannelTable {
        /// Bit rate of unicast data.
        rate: Rate = "2M",
        /// Bit rate of RTS, CTS, ACK and broadcasts.
        basic_rate: Rate = "1M",
        /// What precedes every frame: long takes 192 us, short 96 us.
        preamble: PreambleWord = "long",
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
        /// Thermal noise in 22 MHz and a noise figure of 7 dB together, dBm.
        noise_floor_dbm: DecibelMilliwatts = -93.55,
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
    /// Preambles.
    PreambleWord(Preamble) {
        "long" => Preamble::Long,
        "short" => Preamble::Short,
    }

    /// Flavours of the MAC.
    FlavourWord(Flavour) {
        "ns2" => Flavour::Ns2,
        "standard" => Flavour::Standard,
    }

    /// Frame sizes.
    TimingWord(Timing) {
        "dsss" => Timing::Dsss,
        "ns2-1999" => Timing::Ns2Of1999,
    }

    /// Kinds of address resolution.
    ArpWord(ArpKind) {
        "ns2" => ArpKind::Ns2,
        "queueing" => ArpKind::Queueing,
        "oracle" => ArpKind::Oracle,
    }
}

/// Decode range for each rate of [`RATES`], `None` where the table form leaves it out.
pub(crate) struct RangeTable(pub(crate) [Option<f64>; 4]);

impl Read for RangeTable {
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        match (number(node), &node.value) {
            (Some(_), _) => Metres::read(node, path, faults).map(|range| Self([Some(range.0); 4])),
            (None, Value::Table(_)) => {
                let mut keys = Keys::open(node, path, faults)?;
                let read: Vec<Option<Option<Metres>>> =
                    Rate::WORDS.iter().map(|(word, _)| keys.take(word, None, faults)).collect();
                keys.close(faults);
                let mut ranges = [None; 4];
                for (range, read) in ranges.iter_mut().zip(read) {
                    *range = read?.map(|metres| metres.0);
                }
                Some(Self(ranges))
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
            Rate::WORDS.iter().map(|(word, _)| ((*word).to_owned(), metres.clone().into())).collect();
        json_schema!({ "anyOf": [
            metres,
            { "type": "object", "properties": rates, "additionalProperties": false },
        ] })
    }
}

const _: () = assert!(Rate::WORDS.len() == RATES.len());
