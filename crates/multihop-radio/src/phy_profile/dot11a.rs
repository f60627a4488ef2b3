//! IEEE 802.11a: OFDM from 6 to 54 Mb/s in channels of 20 MHz, in the 5 GHz band (IEEE 802.11-2007 §17).

use multihop_core::Duration;

use super::ofdm::{self, Rates};
use super::{ANSWER_BYTES, Label, PhyProfile, Preamble, RateIndex};

/// Profile of IEEE 802.11a with channels of 20 MHz.
pub static DOT11A: PhyProfile = PhyProfile {
    name: "802.11a",
    slot: Duration::from_micros(9),
    sifs: Duration::from_micros(16),
    cw_min: 15,
    cw_max: 1023,
    preambles: &[PREAMBLE],
    rates: &RATES.all(),
    data_rate: RateIndex(0),
    basic_rate: RateIndex(0),
    answer_bytes: ANSWER_BYTES,
    channel_width: 20e6,
    channel_mhz: 5180, // channel 36
    aggregates: None,
};

const PREAMBLE: Preamble = ofdm::preamble(SYMBOL);

const SYMBOL: Duration = Duration::from_micros(4);

const RATES: Rates = Rates {
    names: ["6M", "9M", "12M", "18M", "24M", "36M", "48M", "54M"],
    indices: [0, 1, 2, 3, 4, 5, 6, 7],
    symbol: SYMBOL,
    preamble: &PREAMBLE,
    extension: Duration::ZERO,
    // Radiotap flags for 5 GHz and OFDM.
    label: Label { channel_flags: 0x0140, scheme: None },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interframe_spaces_and_noise_are_those_of_the_standard() {
        assert_eq!(DOT11A.difs(), Duration::from_micros(34));
        // EIFS is 16 + 34 us plus an ACK: 14 bytes in 6 symbols of 24 bits after 20 us.
        assert_eq!(DOT11A.eifs(), Duration::from_micros(16 + 34 + 20 + 24));
        // Thermal noise kTB over 20 MHz is -100.96 dBm.
        assert_eq!(DOT11A.noise_floor_dbm().to_bits(), (-93.96_f64).to_bits());
    }

    #[test]
    fn rates_are_named_after_their_bits_per_second() {
        for rate in DOT11A.rates {
            assert_eq!(rate.name, format!("{}M", rate.bit_rate.0 / 1_000_000));
        }
    }

    /// A frame has 16 + 8 n + 6 bits in symbols of 4 us: 1528 bytes are 12246 bits.
    #[test]
    fn frames_are_whole_symbols() {
        for (rate, symbols, answer) in [("6M", 511, "6M"), ("24M", 128, "24M"), ("54M", 57, "24M")] {
            let rate = DOT11A.rate(DOT11A.rate_named(rate).unwrap());
            assert_eq!(rate.body_time(1528), SYMBOL * symbols);
            assert_eq!(DOT11A.rate(rate.answer.unwrap()).name, answer);
        }
    }
}
