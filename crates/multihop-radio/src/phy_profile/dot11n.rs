//! IEEE 802.11n: OFDM with one to four spatial streams in channels of 20 or 40 MHz, in the 5 GHz band (IEEE
//! 802.11n-2009 §20), with the mixed preamble, which stations of 802.11a understand. RTS, CTS, ACK and broadcasts use
//! the rates of 802.11a.

use multihop_core::Duration;

use super::streams::{
    Channel, LEGACY_RATES, LEGACY_SYMBOL, MAX_STREAMS, Streams, TRAINING_SYMBOLS, behind_legacy,
    mixed_preamble, profile, small,
};
use super::{AggregateLimits, Mcs, PhyProfile, Preamble, Rate, Scheme};

/// The profile with channels of 20 MHz.
pub static DOT11N_20: PhyProfile = profile("802.11n-20", 20e6, &NARROW, AGGREGATES);
/// Profile of 802.11n in 20 MHz channels with the short guard interval.
pub static DOT11N_20_SHORT_GUARD: PhyProfile =
    profile("802.11n-20-short-guard", 20e6, &NARROW_SHORT, AGGREGATES);
/// The profile with channels of 40 MHz.
pub static DOT11N_40: PhyProfile = profile("802.11n-40", 40e6, &WIDE, AGGREGATES);
/// Profile of 802.11n in 40 MHz channels with the short guard interval.
pub static DOT11N_40_SHORT_GUARD: PhyProfile =
    profile("802.11n-40-short-guard", 40e6, &WIDE_SHORT, AGGREGATES);

/// Limits of aggregates: MPDUs per block ACK, and length fields of 16 and 12 bits (IEEE 802.11n-2009 §20.4.4
/// and §7.4a).
const AGGREGATES: AggregateLimits = AggregateLimits { mpdus: 64, bytes: 65_535, mpdu_bytes: 4095 };

static NARROW: [Rate; COUNT] = rates(20, 52, false);
static NARROW_SHORT: [Rate; COUNT] = rates(20, 52, true);
static WIDE: [Rate; COUNT] = rates(40, 108, false);
static WIDE_SHORT: [Rate; COUNT] = rates(40, 108, true);

/// The rates of 802.11a, then MCS 0 to 31.
const fn rates(mhz: u8, subcarriers: u32, short_guard: bool) -> [Rate; COUNT] {
    let symbol = Duration::from_nanos(if short_guard { 3_600 } else { 4_000 });
    let encoder_bits = Some(MAX_BITS_OF_AN_ENCODER);
    let channel = Channel { mhz, subcarriers, symbol, step: LEGACY_SYMBOL, encoder_bits };
    let mut rates = behind_legacy();
    let mut n = 0;
    while n < NAMES.len() {
        let streams = n / SCHEMES_OF_A_STREAM + 1;
        rates[LEGACY_RATES + n] = channel.rate(Streams {
            name: NAMES[n],
            index: n % SCHEMES_OF_A_STREAM,
            count: streams,
            preamble: &PREAMBLES[streams - 1],
            label: Scheme::Ht(Mcs { index: small(n), wide: mhz == 40, short_guard }),
        });
        n += 1;
    }
    rates
}

/// Largest number of bits per symbol for one encoder: 300 Mb/s with symbols of 3.6 us.
const MAX_BITS_OF_AN_ENCODER: u32 = 1080;

const SCHEMES_OF_A_STREAM: usize = 8;

const COUNT: usize = LEGACY_RATES + NAMES.len();

/// Preambles by the number of spatial streams.
static PREAMBLES: [Preamble; MAX_STREAMS] = [mixed(0), mixed(1), mixed(2), mixed(3)];

/// Mixed preamble of 802.11n: the preamble of 802.11a, two more symbols with bits, and training.
const fn mixed(streams_before: usize) -> Preamble {
    let time = Duration::from_micros(20 + 8 + 4 + 4 * TRAINING_SYMBOLS[streams_before]);
    mixed_preamble("ht-mixed", time, 3)
}

const NAMES: [&str; 32] = [
    "MCS0", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9", "MCS10", "MCS11",
    "MCS12", "MCS13", "MCS14", "MCS15", "MCS16", "MCS17", "MCS18", "MCS19", "MCS20", "MCS21", "MCS22",
    "MCS23", "MCS24", "MCS25", "MCS26", "MCS27", "MCS28", "MCS29", "MCS30", "MCS31",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables 20-30 to 20-37 of IEEE 802.11n-2009 list these rates, here in units of 100 kb/s.
    #[test]
    fn bit_rates_are_those_of_the_standard() {
        for (phy, mcs, expected) in [
            (&DOT11N_20, 0, 65),
            (&DOT11N_20, 7, 650),
            (&DOT11N_20_SHORT_GUARD, 7, 722),
            (&DOT11N_20, 12, 780),
            (&DOT11N_20, 31, 2600),
            (&DOT11N_20_SHORT_GUARD, 31, 2888),
            (&DOT11N_40, 0, 135),
            (&DOT11N_40, 7, 1350),
            (&DOT11N_40_SHORT_GUARD, 15, 3000),
            (&DOT11N_40, 21, 3240),
            (&DOT11N_40_SHORT_GUARD, 31, 6000),
        ] {
            assert_eq!(phy.rates[8 + mcs].bit_rate.0 / 100_000, expected, "{phy:?} MCS {mcs}");
        }
    }

    /// IEEE 802.11n-2009 §20.4.3: symbols take 4 us; with symbols of 3.6 us their sum is rounded up to a
    /// multiple of 4 us. A frame has 22 or 28 additional bits.
    #[test]
    fn frames_of_1528_bytes() {
        for (phy, mcs, micros) in [
            (&DOT11N_20, 0, 471 * 4),         // 12246 bits / 26
            (&DOT11N_20, 7, 48 * 4),          // / 260
            (&DOT11N_20_SHORT_GUARD, 7, 176), // 48 * 3.6 = 172.8
            (&DOT11N_40, 31, 6 * 4),          // 12252 / 2160
            (&DOT11N_40_SHORT_GUARD, 31, 24), // 6 * 3.6 = 21.6
        ] {
            assert_eq!(
                phy.rates[8 + mcs].body_time(1528),
                Duration::from_micros(micros),
                "{phy:?} MCS {mcs}"
            );
        }
    }

    #[test]
    fn preambles_grow_with_the_streams() {
        let times = [0, 8, 16, 24].map(|mcs| DOT11N_20.rates[8 + mcs].preamble.unwrap().time);
        assert_eq!(times, [36, 40, 48, 48].map(Duration::from_micros));
    }

    #[test]
    fn answers_have_the_rates_of_802_11a() {
        let answers: Vec<_> =
            (0..8).map(|mcs| DOT11N_20.rate(DOT11N_20.rates[8 + mcs].answer.unwrap()).name).collect();
        assert_eq!(answers, ["6M", "12M", "12M", "24M", "24M", "24M", "24M", "24M"]);
    }
}
