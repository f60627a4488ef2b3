//! IEEE 802.11n: OFDM with one to four spatial streams in channels of 20 or 40 MHz, in the 5 GHz band (IEEE
//! 802.11n-2009 §20), with the mixed preamble, which stations of 802.11a understand. RTS, CTS, ACK and broadcasts use
//! the rates of 802.11a.
//!
//! Streams are separated without loss: each has the SINR of the whole.

use multihop_core::Duration;

use super::ofdm::{self, Rates, SCHEMES};
use super::{
    ANSWER_BYTES, AggregateLimits, Body, Label, Mcs, PhyProfile, Preamble, Rate, RateIndex, Scheme, Symbols,
};
use crate::error_rate::Curve;
use crate::error_rate::ofdm::Coded;

/// The profile with channels of 20 MHz.
pub static DOT11N_20: PhyProfile = profile("802.11n-20", 20e6, &NARROW);
/// The same with the short guard interval.
pub static DOT11N_20_SHORT_GUARD: PhyProfile = profile("802.11n-20-short-guard", 20e6, &NARROW_SHORT);
/// The profile with channels of 40 MHz.
pub static DOT11N_40: PhyProfile = profile("802.11n-40", 40e6, &WIDE);
/// The same with the short guard interval.
pub static DOT11N_40_SHORT_GUARD: PhyProfile = profile("802.11n-40-short-guard", 40e6, &WIDE_SHORT);

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
        channel_mhz: 5180, // channel 36
        // Lengths of 16 and 12 bits (IEEE 802.11n-2009 §20.4.4 and §7.4a).
        aggregates: Some(AggregateLimits { bytes: 65_535, mpdu_bytes: 4095 }),
    }
}

static NARROW: [Rate; COUNT] = Ht { subcarriers: 52, short_guard: false }.rates();
static NARROW_SHORT: [Rate; COUNT] = Ht { subcarriers: 52, short_guard: true }.rates();
static WIDE: [Rate; COUNT] = Ht { subcarriers: 108, short_guard: false }.rates();
static WIDE_SHORT: [Rate; COUNT] = Ht { subcarriers: 108, short_guard: true }.rates();

/// The rates of a channel width and guard interval.
struct Ht {
    /// Subcarriers with data.
    subcarriers: u32,
    short_guard: bool,
}

impl Ht {
    /// The rates of 802.11a, then MCS 0 to 31.
    const fn rates(&self) -> [Rate; COUNT] {
        let mut rates = [LEGACY.rate(0); COUNT];
        let mut n = 1;
        while n < COUNT {
            let legacy = LEGACY_RATES as usize;
            rates[n] = if n < legacy { LEGACY.rate(n) } else { self.mcs(n - legacy) };
            n += 1;
        }
        rates
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are 32 schemes with up to four streams")]
    const fn mcs(&self, index: usize) -> Rate {
        let (streams, scheme) = (index / 8 + 1, &SCHEMES[index % 8]);
        let bits = scheme.bits(self.subcarriers * streams as u32);
        let nanos: u64 = if self.short_guard { 3_600 } else { 4_000 };
        let time = Duration::from_nanos(nanos);
        // Above 300 Mb/s there are two encoders, each with a tail.
        let tail = if bits > MAX_BITS_OF_AN_ENCODER { 12 } else { 6 };
        let wide = self.subcarriers == 108;
        let width = if wide { 40e-3 } else { 20e-3 };
        let symbols =
            Symbols { bits, time, overhead: 16 + tail, step: LEGACY_SYMBOL, extension: Duration::ZERO };
        Rate {
            name: NAMES[index],
            bit_rate: ofdm::bit_rate(bits, time),
            body: Body::Symbols(symbols),
            curve: Curve::Ofdm(Coded {
                constellation: scheme.constellation,
                code: scheme.code,
                spread: width * nanos as f64 / self.subcarriers as f64,
            }),
            preamble: Some(&PREAMBLES[streams - 1]),
            answer: Some(RateIndex(ANSWERS[index % 8])),
            label: Label {
                channel_flags: 0x0140,
                scheme: Some(Scheme::Ht(Mcs { index: index as u8, wide, short_guard: self.short_guard })),
            },
        }
    }
}

/// The rates of answers to MCS 0 to 7: the highest mandatory one with a constellation and a code that are not above (§9.6).
const ANSWERS: [u8; 8] = [0, 2, 2, 4, 4, 4, 4, 4];

/// 300 Mb/s with symbols of 3.6 us.
const MAX_BITS_OF_AN_ENCODER: u32 = 1080;

pub(super) const LEGACY_RATES: u8 = 8;
const COUNT: usize = 40;

pub(super) const LEGACY: Rates = Rates {
    names: ["6M", "9M", "12M", "18M", "24M", "36M", "48M", "54M"],
    indices: [0, 1, 2, 3, 4, 5, 6, 7],
    symbol: LEGACY_SYMBOL,
    preamble: &LEGACY_PREAMBLE,
    extension: Duration::ZERO,
    label: Label { channel_flags: 0x0140, scheme: None },
};

pub(super) const LEGACY_SYMBOL: Duration = Duration::from_micros(4);

pub(super) const LEGACY_PREAMBLE: Preamble = ofdm::preamble(LEGACY_SYMBOL);

/// By the number of streams, which need 1, 2, 4 and 4 training symbols.
static PREAMBLES: [Preamble; 4] = [mixed(1), mixed(2), mixed(4), mixed(4)];

/// The preamble of 802.11a, two more symbols with bits, and training.
const fn mixed(training_symbols: u64) -> Preamble {
    let training = Duration::from_micros(16);
    Preamble {
        name: "ht-mixed",
        time: Duration::from_micros(20 + 8 + 4 + 4 * training_symbols),
        is_short: false,
        header: ofdm::header(training, 3, LEGACY_SYMBOL),
    }
}

const NAMES: [&str; 32] = [
    "MCS0", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9", "MCS10", "MCS11",
    "MCS12", "MCS13", "MCS14", "MCS15", "MCS16", "MCS17", "MCS18", "MCS19", "MCS20", "MCS21", "MCS22",
    "MCS23", "MCS24", "MCS25", "MCS26", "MCS27", "MCS28", "MCS29", "MCS30", "MCS31",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 802.11n-2009, tables 20-30 to 20-37, 100 kb/s.
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

    /// IEEE 802.11n-2009 §20.4.3: symbols of 4 us or, at 3.6 us, their sum rounded up to 4 us; 22 or 28 more bits.
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
