//! Spatial streams of 802.11n, 802.11ac and 802.11ax: one to four in channels of the 5 GHz band, behind a preamble that
//! stations of 802.11a understand. RTS, CTS, ACK and broadcasts use the rates of 802.11a.
//!
//! Streams are separated without loss: each has the SINR of the received signal.

use multihop_core::Duration;

use super::ofdm::{self, Rates, SCHEMES};
use super::{
    ANSWER_BYTES, AggregateLimits, Body, Label, PhyProfile, Preamble, Rate, RateIndex, Scheme, Symbols,
};
use crate::error_rate::Curve;
use crate::error_rate::ofdm::Coded;

/// The profile of a channel width and guard interval.
pub(super) const fn profile(
    name: &'static str,
    channel_width: f64,
    rates: &'static [Rate],
    aggregates: AggregateLimits,
) -> PhyProfile {
    PhyProfile {
        name,
        slot: Duration::from_micros(9),
        sifs: Duration::from_micros(16),
        cw_min: 15,
        cw_max: 1023,
        preambles: &[LEGACY_PREAMBLE],
        rates,
        data_rate: RateIndex(small(LEGACY_RATES)),
        basic_rate: RateIndex(0),
        answer_bytes: ANSWER_BYTES,
        channel_width,
        channel_mhz: 5180, // channel 36, the primary one of a wide channel
        aggregates: Some(aggregates),
    }
}

/// The symbols of a channel width and guard interval.
pub(super) struct Channel {
    /// Width of the channel, in MHz.
    pub(super) mhz: u8,
    /// Number of subcarriers that carry data.
    pub(super) subcarriers: u32,
    /// Airtime of a symbol.
    pub(super) symbol: Duration,
    /// The end of a frame is rounded up to a multiple of this time.
    pub(super) step: Duration,
    /// Largest number of data bits per symbol for one encoder. Each encoder adds a tail of 6 bits. `None`: no
    /// tail (LDPC).
    pub(super) encoder_bits: Option<u32>,
}

/// A modulation and coding scheme with its number of streams.
pub(super) struct Streams {
    /// Name of the rate in scenarios.
    pub(super) name: &'static str,
    /// Index of the scheme for one stream.
    pub(super) index: usize,
    /// Number of spatial streams.
    pub(super) count: usize,
    /// Preamble of the frames at these rates.
    pub(super) preamble: &'static Preamble,
    /// Scheme of these rates in the radiotap headers of captures.
    pub(super) label: Scheme,
}

impl Channel {
    /// The rate of a scheme.
    pub(super) const fn rate(&self, streams: Streams) -> Rate {
        let scheme = &SCHEMES[streams.index];
        let bits = scheme.bits(self.subcarriers * small(streams.count) as u32);
        let tail = match self.encoder_bits {
            Some(limit) => 6 * bits.div_ceil(limit),
            None => 0,
        };
        let &Self { symbol: time, step, .. } = self;
        Rate {
            name: streams.name,
            bit_rate: ofdm::bit_rate(bits, time),
            body: Body::Symbols(Symbols {
                bits,
                time,
                overhead: SERVICE + tail,
                step,
                extension: Duration::ZERO,
            }),
            curve: Curve::Ofdm(Coded {
                constellation: scheme.constellation,
                code: scheme.code,
                spread: self.mhz as f64 * 1e-3 * time.as_nanos() as f64 / self.subcarriers as f64,
            }),
            preamble: Some(streams.preamble),
            answer: Some(RateIndex(ANSWERS[streams.index])),
            label: Label { channel_flags: 0x0140, scheme: Some(streams.label) },
        }
    }
}

/// A table of rates whose first eight entries are the rates of 802.11a; the caller fills in the others.
pub(super) const fn behind_legacy<const COUNT: usize>() -> [Rate; COUNT] {
    let mut rates = [LEGACY.rate(0); COUNT];
    let mut n = 1;
    while n < LEGACY_RATES {
        rates[n] = LEGACY.rate(n);
        n += 1;
    }
    rates
}

/// Number of training symbols for one to four streams.
pub(super) const TRAINING_SYMBOLS: [u64; MAX_STREAMS] = [1, 2, 4, 4];

/// Rates of responses, by scheme: the highest mandatory rate of 802.11a whose constellation and code rate are
/// not higher (IEEE 802.11n-2009 §9.6).
const ANSWERS: [u8; SCHEMES.len()] = [0, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4];

/// Length of the SERVICE field in front of the data, in bits.
const SERVICE: u32 = 16;

pub(super) const MAX_STREAMS: usize = 4;

/// The rates of 802.11a.
const LEGACY: Rates = Rates {
    names: ["6M", "9M", "12M", "18M", "24M", "36M", "48M", "54M"],
    indices: [0, 1, 2, 3, 4, 5, 6, 7],
    symbol: LEGACY_SYMBOL,
    preamble: &LEGACY_PREAMBLE,
    extension: Duration::ZERO,
    label: Label { channel_flags: 0x0140, scheme: None },
};

pub(super) const LEGACY_RATES: usize = 8;

pub(super) const LEGACY_SYMBOL: Duration = Duration::from_micros(4);

const LEGACY_PREAMBLE: Preamble = ofdm::preamble(LEGACY_SYMBOL);

/// A preamble that begins with the preamble of 802.11a. From its fourth symbol on, after 16 us,
/// `symbols_with_bits` symbols contain bits.
pub(super) const fn mixed_preamble(name: &'static str, time: Duration, symbols_with_bits: u64) -> Preamble {
    let header = ofdm::header(Duration::from_micros(16), symbols_with_bits, LEGACY_SYMBOL);
    Preamble { name, time, is_short: false, header }
}

/// Names of the rates: the index of the scheme and, for several streams, a cross and their number.
pub(super) const NAMES: [[&str; SCHEMES.len()]; MAX_STREAMS] = [
    ["MCS0", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9", "MCS10", "MCS11"],
    [
        "MCS0x2", "MCS1x2", "MCS2x2", "MCS3x2", "MCS4x2", "MCS5x2", "MCS6x2", "MCS7x2", "MCS8x2", "MCS9x2",
        "MCS10x2", "MCS11x2",
    ],
    [
        "MCS0x3", "MCS1x3", "MCS2x3", "MCS3x3", "MCS4x3", "MCS5x3", "MCS6x3", "MCS7x3", "MCS8x3", "MCS9x3",
        "MCS10x3", "MCS11x3",
    ],
    [
        "MCS0x4", "MCS1x4", "MCS2x4", "MCS3x4", "MCS4x4", "MCS5x4", "MCS6x4", "MCS7x4", "MCS8x4", "MCS9x4",
        "MCS10x4", "MCS11x4",
    ],
];

/// An index of rates, schemes or streams as a byte.
#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 62 rates")]
pub(super) const fn small(number: usize) -> u8 {
    assert!(number < super::MAX_RATES);
    number as u8
}
