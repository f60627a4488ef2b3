//! IEEE 802.11p: the OFDM of 802.11a in channels of 10 MHz, which doubles all times, in the band for road
//! traffic at 5.9 GHz (IEEE 802.11-2012 §18).

use multihop_core::Duration;

use super::ofdm::{self, Rates};
use super::{ANSWER_BYTES, Label, PhyProfile, Preamble, RateIndex};

/// Profile of IEEE 802.11p with channels of 10 MHz.
pub static DOT11P: PhyProfile = PhyProfile {
    name: "802.11p",
    slot: Duration::from_micros(13),
    sifs: Duration::from_micros(32),
    cw_min: 15,
    cw_max: 1023,
    preambles: &[PREAMBLE],
    rates: &RATES.all(),
    data_rate: RateIndex(0),
    basic_rate: RateIndex(0),
    answer_bytes: ANSWER_BYTES,
    channel_width: 10e6,
    channel_mhz: 5890, // channel 178
    aggregates: None,
};

const PREAMBLE: Preamble = ofdm::preamble(SYMBOL);

const SYMBOL: Duration = Duration::from_micros(8);

const RATES: Rates = Rates {
    names: ["3M", "4.5M", "6M", "9M", "12M", "18M", "24M", "27M"],
    indices: [0, 1, 2, 3, 4, 5, 6, 7],
    symbol: SYMBOL,
    preamble: &PREAMBLE,
    extension: Duration::ZERO,
    // Radiotap flags for 5 GHz, OFDM and a channel of half the width.
    label: Label { channel_flags: 0x4140, scheme: None },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interframe_spaces_and_noise_are_those_of_the_standard() {
        assert_eq!(DOT11P.difs(), Duration::from_micros(58));
        assert_eq!(DOT11P.eifs(), Duration::from_micros(32 + 58 + 40 + 48));
        assert_eq!(DOT11P.noise_floor_dbm().to_bits(), (-96.98_f64).to_bits());
        assert_eq!(DOT11P.rates[7].bit_rate.0, 27_000_000);
        assert_eq!(DOT11P.rates[7].body_time(1528), SYMBOL * 57);
    }
}
