//! The OFDM of IEEE 802.11-2007 clause 17: 48 subcarriers with data, a PLCP header in one symbol at the lowest rate.

use multihop_core::{BitRate, Duration};

use super::{Body, Header, Label, Preamble, Rate, RateIndex, Symbols};
use crate::error_rate::Curve;
use crate::error_rate::ofdm::{Code, Coded, Constellation, HALF, THREE_QUARTERS, TWO_THIRDS};

/// The eight rates of a channel width.
pub(super) struct Rates {
    /// Their names in scenarios.
    pub(super) names: [&'static str; 8],
    /// Airtime of a symbol.
    pub(super) symbol: Duration,
    /// Their preamble.
    pub(super) preamble: &'static Preamble,
    /// The index of the lowest one.
    pub(super) first: u8,
    /// Silence after the last symbol.
    pub(super) extension: Duration,
    /// What captures say of them.
    pub(super) label: Label,
}

impl Rates {
    /// The table of IEEE 802.11-2007 §17.3.2.2.
    pub(super) const fn all(&self) -> [Rate; 8] {
        [
            self.rate(0, 24, BPSK, &HALF, 0),
            self.rate(1, 36, BPSK, &THREE_QUARTERS, 0),
            self.rate(2, 48, QPSK, &HALF, 2),
            self.rate(3, 72, QPSK, &THREE_QUARTERS, 2),
            self.rate(4, 96, QAM16, &HALF, 4),
            self.rate(5, 144, QAM16, &THREE_QUARTERS, 4),
            self.rate(6, 192, QAM64, &TWO_THIRDS, 4),
            self.rate(7, 216, QAM64, &THREE_QUARTERS, 4),
        ]
    }

    /// `answer`: the highest mandatory rate that is not above, by the order of rates.
    const fn rate(
        &self,
        index: u8,
        bits: u32,
        constellation: Constellation,
        code: &'static Code,
        answer: u8,
    ) -> Rate {
        let &Self { names, symbol, preamble, first, extension, label } = self;
        Rate {
            name: names[index as usize],
            bit_rate: bit_rate(bits, symbol),
            body: Body::Symbols(Symbols { bits, time: symbol, overhead: OVERHEAD, step: symbol, extension }),
            curve: Curve::Ofdm(Coded { constellation, code, spread: SPREAD }),
            preamble: Some(preamble),
            answer: Some(RateIndex(first + answer)),
            label,
        }
    }
}

/// 16 us of training and one symbol with rate and length, for symbols of 4 us; longer ones stretch everything.
pub(super) const fn preamble(symbol: Duration) -> Preamble {
    let training = Duration::from_nanos(4 * symbol.as_nanos());
    let time = Duration::from_nanos(5 * symbol.as_nanos());
    Preamble { name: "ofdm", time, is_short: false, header: header(training, 1, symbol) }
}

/// Symbols with bits of the lowest rate.
pub(super) const fn header(from: Duration, symbols: u64, symbol: Duration) -> Header {
    Header {
        from,
        time: Duration::from_nanos(symbols * symbol.as_nanos()),
        bit_rate: bit_rate(24, symbol),
        curve: Curve::Ofdm(Coded { constellation: BPSK, code: &HALF, spread: SPREAD }),
    }
}

/// Bits per second, rounded down.
#[expect(clippy::cast_possible_truncation, reason = "the fastest rate has 600 Mb/s")]
pub(super) const fn bit_rate(bits: u32, symbol: Duration) -> BitRate {
    BitRate((bits as u64 * 1_000_000_000 / symbol.as_nanos()) as u32)
}

pub(super) const BPSK: Constellation = Constellation::Bpsk;
pub(super) const QPSK: Constellation = Constellation::Square(4.0);
pub(super) const QAM16: Constellation = Constellation::Square(16.0);
pub(super) const QAM64: Constellation = Constellation::Square(64.0);

/// A symbol of 4 us in 20 MHz, and of 8 us in 10 MHz.
const SPREAD: f64 = 80.0 / 48.0;

/// SERVICE has 16 bits, the tail 6.
pub(super) const OVERHEAD: u32 = 22;
