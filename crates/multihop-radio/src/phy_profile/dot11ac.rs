//! IEEE 802.11ac: OFDM with one to four spatial streams in channels of 20 to 160 MHz, in the 5 GHz band (IEEE 802.11ac-2013
//! §22), for one receiver at a time, behind a preamble that stations of 802.11a understand. RTS, CTS, ACK and
//! broadcasts use the rates of 802.11a.
//!
//! Streams are separated without loss: each has the SINR of the whole. Bits are coded by the convolutional code of 802.11a.

use multihop_core::Duration;

use super::dot11n::{LEGACY, LEGACY_PREAMBLE, LEGACY_RATES, LEGACY_SYMBOL};
use super::ofdm::{self, SCHEMES};
use super::{
    ANSWER_BYTES, AggregateLimits, Body, Label, PhyProfile, Preamble, Rate, RateIndex, Scheme, Symbols, Vht,
};
use crate::error_rate::Curve;
use crate::error_rate::ofdm::Coded;

/// The profile with channels of 20 MHz.
pub static DOT11AC_20: PhyProfile = profile("802.11ac-20", 20e6, &RATES_20);
/// The profile with channels of 20 MHz and the short guard interval.
pub static DOT11AC_20_SHORT_GUARD: PhyProfile = profile("802.11ac-20-short-guard", 20e6, &RATES_20_SHORT);
/// The profile with channels of 40 MHz.
pub static DOT11AC_40: PhyProfile = profile("802.11ac-40", 40e6, &RATES_40);
/// The profile with channels of 40 MHz and the short guard interval.
pub static DOT11AC_40_SHORT_GUARD: PhyProfile = profile("802.11ac-40-short-guard", 40e6, &RATES_40_SHORT);
/// The profile with channels of 80 MHz.
pub static DOT11AC_80: PhyProfile = profile("802.11ac-80", 80e6, &RATES_80);
/// The profile with channels of 80 MHz and the short guard interval.
pub static DOT11AC_80_SHORT_GUARD: PhyProfile = profile("802.11ac-80-short-guard", 80e6, &RATES_80_SHORT);
/// The profile with channels of 160 MHz.
pub static DOT11AC_160: PhyProfile = profile("802.11ac-160", 160e6, &RATES_160);
/// The profile with channels of 160 MHz and the short guard interval.
pub static DOT11AC_160_SHORT_GUARD: PhyProfile = profile("802.11ac-160-short-guard", 160e6, &RATES_160_SHORT);

const fn profile(name: &'static str, channel_width: f64, rates: &'static [Rate]) -> PhyProfile {
    PhyProfile {
        name,
        slot: Duration::from_micros(9),
        sifs: Duration::from_micros(16),
        cw_min: 15,
        cw_max: 1023,
        preambles: &[LEGACY_PREAMBLE],
        rates,
        data_rate: RateIndex(LEGACY_RATES),
        basic_rate: RateIndex(0),
        answer_bytes: ANSWER_BYTES,
        channel_width,
        channel_mhz: 5180, // channel 36, the primary one
        // Exponents of 20 bits, and the longest MPDU (IEEE 802.11ac-2013 §8.4.2.160).
        aggregates: Some(AggregateLimits { bytes: 1_048_575, mpdu_bytes: 11_454 }),
    }
}

// The counts are those of the rates of 802.11a, and of ten schemes with four streams less those of `does_not_exist`.
static RATES_20: [Rate; 45] = Width { mhz: 20, subcarriers: 52 }.rates(false);
static RATES_20_SHORT: [Rate; 45] = Width { mhz: 20, subcarriers: 52 }.rates(true);
static RATES_40: [Rate; 48] = Width { mhz: 40, subcarriers: 108 }.rates(false);
static RATES_40_SHORT: [Rate; 48] = Width { mhz: 40, subcarriers: 108 }.rates(true);
static RATES_80: [Rate; 47] = Width { mhz: 80, subcarriers: 234 }.rates(false);
static RATES_80_SHORT: [Rate; 47] = Width { mhz: 80, subcarriers: 234 }.rates(true);
static RATES_160: [Rate; 47] = Width { mhz: 160, subcarriers: 468 }.rates(false);
static RATES_160_SHORT: [Rate; 47] = Width { mhz: 160, subcarriers: 468 }.rates(true);

/// A channel width.
struct Width {
    mhz: u8,
    /// Subcarriers with data.
    subcarriers: u32,
}

impl Width {
    /// The rates of 802.11a, then those of one stream, of two, three and four.
    const fn rates<const COUNT: usize>(&self, short_guard: bool) -> [Rate; COUNT] {
        let mut rates = [LEGACY.rate(0); COUNT];
        let (mut next, mut scheme) = (0, 0);
        while next < LEGACY_RATES as usize {
            rates[next] = LEGACY.rate(next);
            next += 1;
        }
        while scheme < SCHEMES.len() * MAX_STREAMS {
            let (index, streams) = (scheme % SCHEMES.len(), scheme / SCHEMES.len() + 1);
            if !self.does_not_exist(index, streams) {
                rates[next] = self.rate(index, streams, short_guard);
                next += 1;
            }
            scheme += 1;
        }
        assert!(next == COUNT, "every place has a rate");
        rates
    }

    /// Schemes in whose symbols the encoders would not have whole numbers of bits (IEEE 802.11ac-2013 §22.5).
    const fn does_not_exist(&self, index: usize, streams: usize) -> bool {
        matches!((self.mhz, index, streams), (20, 9, 1 | 2 | 4) | (80, 6, 3) | (160, 9, 3))
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are ten schemes with up to four streams")]
    const fn rate(&self, index: usize, streams: usize, short_guard: bool) -> Rate {
        let scheme = &SCHEMES[index];
        let bits = scheme.bits(self.subcarriers * streams as u32);
        let nanos: u64 = if short_guard { 3_600 } else { 4_000 };
        let time = Duration::from_nanos(nanos);
        // Each encoder has a tail.
        let tail = 6 * bits.div_ceil(MAX_BITS_OF_AN_ENCODER);
        let symbols =
            Symbols { bits, time, overhead: 16 + tail, step: LEGACY_SYMBOL, extension: Duration::ZERO };
        Rate {
            name: NAMES[streams - 1][index],
            bit_rate: ofdm::bit_rate(bits, time),
            body: Body::Symbols(symbols),
            curve: Curve::Ofdm(Coded {
                constellation: scheme.constellation,
                code: scheme.code,
                spread: self.mhz as f64 * 1e-3 * nanos as f64 / self.subcarriers as f64,
            }),
            preamble: Some(&PREAMBLES[streams - 1]),
            answer: Some(RateIndex(ANSWERS[index])),
            label: Label {
                channel_flags: 0x0140,
                scheme: Some(Scheme::Vht(Vht {
                    index: index as u8,
                    streams: streams as u8,
                    width_mhz: self.mhz,
                    short_guard,
                })),
            },
        }
    }
}

/// The rates of answers: the highest mandatory one of 802.11a with a constellation and a code that are not above.
const ANSWERS: [u8; 10] = [0, 2, 2, 4, 4, 4, 4, 4, 4, 4];

/// 600 Mb/s with symbols of 3.6 us.
const MAX_BITS_OF_AN_ENCODER: u32 = 2160;

const MAX_STREAMS: usize = 4;

/// By the number of streams, which need 1, 2, 4 and 4 training symbols.
static PREAMBLES: [Preamble; MAX_STREAMS] = [vht(1), vht(2), vht(4), vht(4)];

/// The preamble of 802.11a, two symbols with bits (SIG-A), training, and one more symbol with bits (SIG-B).
const fn vht(training_symbols: u64) -> Preamble {
    let training = Duration::from_micros(16);
    Preamble {
        name: "vht",
        time: Duration::from_micros(20 + 8 + 4 + 4 * training_symbols + 4),
        is_short: false,
        header: ofdm::header(training, 3, LEGACY_SYMBOL),
    }
}

/// The index of the scheme and, after a cross, the number of streams, if there are several.
const NAMES: [[&str; 10]; MAX_STREAMS] = [
    ["MCS0", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9"],
    ["MCS0x2", "MCS1x2", "MCS2x2", "MCS3x2", "MCS4x2", "MCS5x2", "MCS6x2", "MCS7x2", "MCS8x2", "MCS9x2"],
    ["MCS0x3", "MCS1x3", "MCS2x3", "MCS3x3", "MCS4x3", "MCS5x3", "MCS6x3", "MCS7x3", "MCS8x3", "MCS9x3"],
    ["MCS0x4", "MCS1x4", "MCS2x4", "MCS3x4", "MCS4x4", "MCS5x4", "MCS6x4", "MCS7x4", "MCS8x4", "MCS9x4"],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 802.11ac-2013, tables 22-30 to 22-57, 100 kb/s.
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

    /// IEEE 802.11ac-2013 §22.4.3: symbols of 4 us or, at 3.6 us, their sum rounded up to 4 us.
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
