//! The OFDM of IEEE 802.11-2007 clause 17: 48 data subcarriers, and a PLCP header in one symbol at the lowest
//! rate.

use multihop_core::{BitRate, Duration};

use super::{Body, Header, Label, Preamble, Rate, RateIndex, Symbols};
use crate::error_rate::Curve;
use crate::error_rate::ofdm::{Code, Coded, Constellation, FIVE_SIXTHS, HALF, THREE_QUARTERS, TWO_THIRDS};

/// The eight OFDM rates of a channel width.
pub(super) struct Rates {
    /// Names of the rates in scenarios.
    pub(super) names: [&'static str; 8],
    /// Indices of the rates in the profile.
    pub(super) indices: [u8; 8],
    /// Airtime of a symbol.
    pub(super) symbol: Duration,
    /// Preamble that all these rates share.
    pub(super) preamble: &'static Preamble,
    /// Silence after the last symbol.
    pub(super) extension: Duration,
    /// Description of these rates in the radiotap headers of captures.
    pub(super) label: Label,
}

impl Rates {
    /// The eight rates as entries of a profile.
    pub(super) const fn all(&self) -> [Rate; 8] {
        let mut rates = [self.rate(0); 8];
        let mut n = 1;
        while n < rates.len() {
            rates[n] = self.rate(n);
            n += 1;
        }
        rates
    }

    /// Rate `n` of the eight OFDM rates, slowest first.
    pub(super) const fn rate(&self, n: usize) -> Rate {
        let &Self { names, indices, symbol, preamble, extension, label } = self;
        let (bits, constellation, code, answer) = TABLE[n];
        Rate {
            name: names[n],
            bit_rate: bit_rate(bits, symbol),
            body: Body::Symbols(Symbols { bits, time: symbol, overhead: OVERHEAD, step: symbol, extension }),
            curve: Curve::Ofdm(Coded { constellation, code, spread: SPREAD }),
            preamble: Some(preamble),
            answer: Some(RateIndex(indices[answer])),
            label,
        }
    }
}

/// IEEE 802.11-2007 §17.3.2.2: data bits per symbol, constellation, code, and index of the highest mandatory
/// rate that is not faster.
const TABLE: [(u32, Constellation, &Code, usize); 8] = [
    (24, BPSK, &HALF, 0),
    (36, BPSK, &THREE_QUARTERS, 0),
    (48, QPSK, &HALF, 2),
    (72, QPSK, &THREE_QUARTERS, 2),
    (96, QAM16, &HALF, 4),
    (144, QAM16, &THREE_QUARTERS, 4),
    (192, QAM64, &TWO_THIRDS, 4),
    (216, QAM64, &THREE_QUARTERS, 4),
];

/// A modulation and coding scheme of 802.11n and later, with one stream.
pub(super) struct StreamScheme {
    /// Data bits in a symbol of 12 subcarriers.
    bits_of_12: u32,
    pub(super) constellation: Constellation,
    pub(super) code: &'static Code,
}

impl StreamScheme {
    const fn new(bits_of_12: u32, constellation: Constellation, code: &'static Code) -> Self {
        Self { bits_of_12, constellation, code }
    }

    /// Data bits in a symbol, over the data subcarriers of all streams together.
    pub(super) const fn bits(&self, subcarriers: u32) -> u32 {
        subcarriers * self.bits_of_12 / 12
    }
}

/// MCS 0 to 11 (IEEE 802.11ax-2021 §27.5). 802.11n uses the first eight, 802.11ac the first ten.
pub(super) const SCHEMES: [StreamScheme; 12] = [
    StreamScheme::new(6, BPSK, &HALF),
    StreamScheme::new(12, QPSK, &HALF),
    StreamScheme::new(18, QPSK, &THREE_QUARTERS),
    StreamScheme::new(24, QAM16, &HALF),
    StreamScheme::new(36, QAM16, &THREE_QUARTERS),
    StreamScheme::new(48, QAM64, &TWO_THIRDS),
    StreamScheme::new(54, QAM64, &THREE_QUARTERS),
    StreamScheme::new(60, QAM64, &FIVE_SIXTHS),
    StreamScheme::new(72, QAM256, &THREE_QUARTERS),
    StreamScheme::new(80, QAM256, &FIVE_SIXTHS),
    StreamScheme::new(90, QAM1024, &THREE_QUARTERS),
    StreamScheme::new(100, QAM1024, &FIVE_SIXTHS),
];

/// Preamble: training with the length of four symbols, and one symbol with rate and length.
pub(super) const fn preamble(symbol: Duration) -> Preamble {
    let training = Duration::from_nanos(4 * symbol.as_nanos());
    let time = Duration::from_nanos(5 * symbol.as_nanos());
    Preamble { name: "ofdm", time, is_short: false, header: header(training, 1, symbol) }
}

/// Header of this number of symbols with bits at the lowest rate.
pub(super) const fn header(from: Duration, symbols: u64, symbol: Duration) -> Header {
    Header {
        from,
        time: Duration::from_nanos(symbols * symbol.as_nanos()),
        bit_rate: bit_rate(24, symbol),
        curve: Curve::Ofdm(Coded { constellation: BPSK, code: &HALF, spread: SPREAD }),
    }
}

/// Bits per second, rounded down.
pub(super) const fn bit_rate(bits: u32, symbol: Duration) -> BitRate {
    BitRate(bits as u64 * 1_000_000_000 / symbol.as_nanos())
}

const BPSK: Constellation = Constellation::Bpsk(1.0);
const QPSK: Constellation = Constellation::Square(4.0);
const QAM16: Constellation = Constellation::Square(16.0);
const QAM64: Constellation = Constellation::Square(64.0);
const QAM256: Constellation = Constellation::Square(256.0);
const QAM1024: Constellation = Constellation::Square(1024.0);

/// A symbol of 4 us in 20 MHz, and of 8 us in 10 MHz.
const SPREAD: f64 = 80.0 / 48.0;

/// Bits of a frame besides its data: 16 bits of SERVICE and a tail of 6.
pub(super) const OVERHEAD: u32 = 22;
