//! IEEE 802.11ac: OFDM with one to four spatial streams in channels of 20 to 160 MHz, in the 5 GHz band (IEEE 802.11ac-2013
//! §22), for one receiver at a time, behind a preamble that stations of 802.11a understand. RTS, CTS, ACK and
//! broadcasts use the rates of 802.11a. Bits are coded by the convolutional code of 802.11a.

use multihop_core::Duration;

use super::streams::{
    Channel, LEGACY_RATES, LEGACY_SYMBOL, MAX_STREAMS, NAMES, Streams, TRAINING_SYMBOLS, behind_legacy,
    mixed_preamble, profile, small,
};
use super::{AggregateLimits, PhyProfile, Preamble, Rate, Scheme, Vht};

/// The profile with channels of 20 MHz.
pub static DOT11AC_20: PhyProfile = profile("802.11ac-20", 20e6, &RATES_20, AGGREGATES);
/// The profile with channels of 20 MHz and the short guard interval.
pub static DOT11AC_20_SHORT_GUARD: PhyProfile =
    profile("802.11ac-20-short-guard", 20e6, &RATES_20_SHORT, AGGREGATES);
/// The profile with channels of 40 MHz.
pub static DOT11AC_40: PhyProfile = profile("802.11ac-40", 40e6, &RATES_40, AGGREGATES);
/// The profile with channels of 40 MHz and the short guard interval.
pub static DOT11AC_40_SHORT_GUARD: PhyProfile =
    profile("802.11ac-40-short-guard", 40e6, &RATES_40_SHORT, AGGREGATES);
/// The profile with channels of 80 MHz.
pub static DOT11AC_80: PhyProfile = profile("802.11ac-80", 80e6, &RATES_80, AGGREGATES);
/// The profile with channels of 80 MHz and the short guard interval.
pub static DOT11AC_80_SHORT_GUARD: PhyProfile =
    profile("802.11ac-80-short-guard", 80e6, &RATES_80_SHORT, AGGREGATES);
/// The profile with channels of 160 MHz.
pub static DOT11AC_160: PhyProfile = profile("802.11ac-160", 160e6, &RATES_160, AGGREGATES);
/// The profile with channels of 160 MHz and the short guard interval.
pub static DOT11AC_160_SHORT_GUARD: PhyProfile =
    profile("802.11ac-160-short-guard", 160e6, &RATES_160_SHORT, AGGREGATES);

/// Limits of aggregates: MPDUs per block ACK, length field of 20 bits, and the longest MPDU (IEEE
/// 802.11ac-2013 §8.4.2.160).
const AGGREGATES: AggregateLimits = AggregateLimits { mpdus: 64, bytes: 1_048_575, mpdu_bytes: 11_454 };

// The numbers of rates are those of 802.11a, plus ten schemes with four numbers of streams, less the
// combinations excluded by `does_not_exist`.
static RATES_20: [Rate; 45] = rates(20, 52, false);
static RATES_20_SHORT: [Rate; 45] = rates(20, 52, true);
static RATES_40: [Rate; 48] = rates(40, 108, false);
static RATES_40_SHORT: [Rate; 48] = rates(40, 108, true);
static RATES_80: [Rate; 47] = rates(80, 234, false);
static RATES_80_SHORT: [Rate; 47] = rates(80, 234, true);
static RATES_160: [Rate; 47] = rates(160, 468, false);
static RATES_160_SHORT: [Rate; 47] = rates(160, 468, true);

/// The rates of 802.11a, then the rates with one, two, three and four streams.
const fn rates<const COUNT: usize>(mhz: u8, subcarriers: u32, short_guard: bool) -> [Rate; COUNT] {
    let symbol = Duration::from_nanos(if short_guard { 3_600 } else { 4_000 });
    let encoder_bits = Some(MAX_BITS_OF_AN_ENCODER);
    let channel = Channel { mhz, subcarriers, symbol, step: LEGACY_SYMBOL, encoder_bits };
    let mut rates = behind_legacy();
    let (mut next, mut n) = (LEGACY_RATES, 0);
    while n < SCHEMES_OF_A_STREAM * MAX_STREAMS {
        let (index, streams) = (n % SCHEMES_OF_A_STREAM, n / SCHEMES_OF_A_STREAM + 1);
        if !does_not_exist(mhz, index, streams) {
            rates[next] = channel.rate(Streams {
                name: NAMES[streams - 1][index],
                index,
                count: streams,
                preamble: &PREAMBLES[streams - 1],
                label: Scheme::Vht(Vht {
                    index: small(index),
                    streams: small(streams),
                    width_mhz: mhz,
                    short_guard,
                }),
            });
            next += 1;
        }
        n += 1;
    }
    assert!(next == COUNT, "every place has a rate");
    rates
}

/// Whether a modulation and coding scheme is excluded, because its symbols would not give the encoders whole numbers
/// of bits (IEEE 802.11ac-2013 §22.5).
const fn does_not_exist(mhz: u8, index: usize, streams: usize) -> bool {
    matches!((mhz, index, streams), (20, 9, 1 | 2 | 4) | (80, 6, 3) | (160, 9, 3))
}

const SCHEMES_OF_A_STREAM: usize = 10;

/// Largest number of bits per symbol for one encoder: 600 Mb/s with symbols of 3.6 us.
const MAX_BITS_OF_AN_ENCODER: u32 = 2160;

/// Preambles by the number of spatial streams.
static PREAMBLES: [Preamble; MAX_STREAMS] = [vht(0), vht(1), vht(2), vht(3)];

/// Preamble of 802.11ac: the preamble of 802.11a, two symbols with bits (SIG-A), training, and one more
/// symbol with bits (SIG-B).
const fn vht(streams_before: usize) -> Preamble {
    let time = Duration::from_micros(20 + 8 + 4 + 4 * TRAINING_SYMBOLS[streams_before] + 4);
    mixed_preamble("vht", time, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables 22-30 to 22-57 of IEEE 802.11ac-2013 list these rates, here in units of 100 kb/s.
    #[test]
    fn bit_rates_are_those_of_the_standard() {
        for (phy, name, expected) in [
            (&DOT11AC_20, "MCS0", 65),
            (&DOT11AC_20, "MCS8", 780),
            (&DOT11AC_20_SHORT_GUARD, "MCS8", 866),
            (&DOT11AC_20, "MCS9x3", 2600),
            (&DOT11AC_40, "MCS9", 1800),
            (&DOT11AC_40_SHORT_GUARD, "MCS9x2", 4000),
            (&DOT11AC_80, "MCS0", 292),
            (&DOT11AC_80, "MCS7x2", 5850),
            (&DOT11AC_80_SHORT_GUARD, "MCS9", 4333),
            (&DOT11AC_80_SHORT_GUARD, "MCS9x3", 13_000),
            (&DOT11AC_160, "MCS0", 585),
            (&DOT11AC_160_SHORT_GUARD, "MCS9x4", 34_666),
        ] {
            let rate = phy.rate(phy.rate_named(name).unwrap());
            assert_eq!(rate.bit_rate.0 / 100_000, expected, "{phy:?} {name}");
        }
    }

    #[test]
    fn schemes_without_whole_bits_do_not_exist() {
        for (phy, name) in [
            (&DOT11AC_20, "MCS9"),
            (&DOT11AC_20, "MCS9x2"),
            (&DOT11AC_20, "MCS9x4"),
            (&DOT11AC_80, "MCS6x3"),
            (&DOT11AC_160, "MCS9x3"),
        ] {
            assert_eq!(phy.rate_named(name), None, "{phy:?} {name}");
        }
    }

    /// IEEE 802.11ac-2013 §22.4.3: symbols take 4 us; with symbols of 3.6 us their sum is rounded up to a
    /// multiple of 4 us.
    #[test]
    fn frames_of_1528_bytes() {
        for (phy, name, micros) in [
            (&DOT11AC_20, "MCS0", 471 * 4),              // 12246 bits / 26
            (&DOT11AC_80, "MCS9", 8 * 4),                // 12246 / 1560
            (&DOT11AC_80_SHORT_GUARD, "MCS9", 32),       // 8 * 3.6 = 28.8
            (&DOT11AC_160, "MCS9x4", 4),                 // 12224 + 16 + 6 * 6 bits / 12480
            (&DOT11AC_160_SHORT_GUARD, "MCS8x4", 2 * 4), // 12276 / 11232
        ] {
            let rate = phy.rate(phy.rate_named(name).unwrap());
            assert_eq!(rate.body_time(1528), Duration::from_micros(micros), "{phy:?} {name}");
        }
    }

    #[test]
    fn preambles_grow_with_the_streams() {
        let times = ["MCS0", "MCS0x2", "MCS0x3", "MCS0x4"]
            .map(|name| DOT11AC_80.rate(DOT11AC_80.rate_named(name).unwrap()).preamble.unwrap().time);
        assert_eq!(times, [40, 44, 52, 52].map(Duration::from_micros));
    }
}
