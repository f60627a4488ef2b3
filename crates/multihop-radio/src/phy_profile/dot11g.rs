//! IEEE 802.11g: the rates of 802.11b, and OFDM from 6 to 54 Mb/s, in the 2.4 GHz band (IEEE 802.11-2007 §19).
//!
//! Stations of 802.11b do not sense OFDM frames. Such frames are protected by an RTS or a CTS at a rate of
//! 802.11b.

use multihop_core::Duration;

use super::dot11b::{CCK_5_5, CCK_11, DBPSK, DQPSK, LONG, SHORT, dsss};
use super::ofdm::{self, Rates};
use super::{ANSWER_BYTES, Label, PhyProfile, Preamble, Rate, RateIndex};

/// Profile of 802.11g with the long slots of networks without access points.
pub static DOT11G: PhyProfile = BASE;

/// Profile of 802.11g with the short slots of networks without stations of 802.11b.
pub static DOT11G_SHORT_SLOTS: PhyProfile =
    PhyProfile { name: "802.11g-short-slots", slot: Duration::from_micros(9), ..BASE };

const BASE: PhyProfile = PhyProfile {
    name: "802.11g",
    slot: Duration::from_micros(20),
    sifs: Duration::from_micros(10),
    cw_min: 15,
    cw_max: 1023,
    preambles: &[LONG, SHORT],
    rates: &RATES,
    data_rate: RateIndex(3),
    basic_rate: RateIndex(0),
    answer_bytes: ANSWER_BYTES,
    channel_width: 22e6,
    channel_mhz: 2412, // channel 1
    aggregates: None,
};

const RATES: [Rate; 12] = [
    dsss("1M", 1_000_000, &DBPSK),
    dsss("2M", 2_000_000, &DQPSK),
    dsss("5.5M", 5_500_000, &CCK_5_5),
    OFDM.rate(0),
    OFDM.rate(1),
    dsss("11M", 11_000_000, &CCK_11),
    OFDM.rate(2),
    OFDM.rate(3),
    OFDM.rate(4),
    OFDM.rate(5),
    OFDM.rate(6),
    OFDM.rate(7),
];

const OFDM: Rates = Rates {
    names: ["6M", "9M", "12M", "18M", "24M", "36M", "48M", "54M"],
    indices: [3, 4, 6, 7, 8, 9, 10, 11],
    symbol: SYMBOL,
    preamble: &PREAMBLE,
    // The silence gives the convolutional decoder as much time as the longer SIFS at 5 GHz.
    extension: Duration::from_micros(6),
    // Radiotap flags for 2.4 GHz and OFDM.
    label: Label { channel_flags: 0x00c0, scheme: None },
};

const PREAMBLE: Preamble = ofdm::preamble(SYMBOL);

const SYMBOL: Duration = Duration::from_micros(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interframe_spaces_are_those_of_the_standard() {
        assert_eq!(DOT11G.difs(), Duration::from_micros(50));
        assert_eq!(DOT11G_SHORT_SLOTS.difs(), Duration::from_micros(28));
        assert_eq!(DOT11G.eifs(), Duration::from_micros(364));
    }

    #[test]
    fn ofdm_has_a_signal_extension_and_answers_of_its_own() {
        let [slow, fast] = ["11M", "54M"].map(|name| DOT11G.rate(DOT11G.rate_named(name).unwrap()));
        assert_eq!(fast.body_time(1528), Duration::from_micros(4 * 57 + 6));
        assert_eq!(slow.body_time(1528).as_nanos(), 1_111_273);
        assert_eq!(fast.answer, DOT11G.rate_named("24M"));
        assert_eq!(slow.answer, None);
    }
}
