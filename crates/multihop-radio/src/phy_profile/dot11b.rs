//! IEEE 802.11b: DSSS at 1 and 2 Mb/s, CCK at 5.5 and 11 Mb/s, in the 2.4 GHz band (IEEE 802.11-2007 §18).

use std::f64::consts::FRAC_1_SQRT_2;

use multihop_core::{BitRate, Duration};

use super::{ANSWER_BYTES, Body, Header, Label, PhyProfile, Preamble, Rate, RateIndex};
use crate::error_rate::Curve;
use crate::error_rate::dsss::Scheme;

/// Profile of IEEE 802.11b: DSSS and CCK at 1 to 11 Mb/s.
pub static DOT11B: PhyProfile = PhyProfile {
    name: "802.11b",
    slot: Duration::from_micros(20),
    sifs: Duration::from_micros(10),
    cw_min: 31,
    cw_max: 1023,
    preambles: &[LONG, SHORT],
    rates: &[
        dsss("1M", 1_000_000, &DBPSK),
        dsss("2M", 2_000_000, &DQPSK),
        dsss("5.5M", 5_500_000, &CCK_5_5),
        dsss("11M", 11_000_000, &CCK_11),
    ],
    data_rate: RateIndex(1),
    basic_rate: RateIndex(0),
    answer_bytes: ANSWER_BYTES,
    channel_width: 22e6,
    channel_mhz: 2412, // channel 1
    aggregates: None,
};

pub(super) const LONG: Preamble = preamble("long", 192, false);
pub(super) const SHORT: Preamble = preamble("short", 96, true);

// DEVIATION sinr-3: Short PLCP headers are evaluated at 1 Mb/s but sent at 2 Mb/s, and are therefore slightly more
// robust.
const fn preamble(name: &'static str, micros: u64, is_short: bool) -> Preamble {
    let time = Duration::from_micros(micros);
    let header =
        Header { from: Duration::ZERO, time, bit_rate: BitRate(1_000_000), curve: Curve::Dsss(&DBPSK) };
    Preamble { name, time, is_short, header }
}

pub(super) const fn dsss(name: &'static str, bit_rate: u64, scheme: &'static Scheme) -> Rate {
    Rate {
        name,
        bit_rate: BitRate(bit_rate),
        body: Body::Bits,
        curve: Curve::Dsss(scheme),
        preamble: None,
        answer: None,
        // Radiotap flags for 2.4 GHz and CCK.
        label: Label { channel_flags: 0x00a0, scheme: None },
    }
}

/// Channel width of 22 MHz divided by the symbol rate of Barker coding, 1 MHz.
const BARKER: f64 = 22.0;
const CCK: f64 = 16.0;

/// Phase errors of DQPSK: number of neighbouring phases, and their correlation.
const QUADRATURE: (f64, f64) = (2.0, FRAC_1_SQRT_2);

pub(super) static DBPSK: Scheme = Scheme { bits: 1.0, spreading: BARKER, words: &[], phases: (1.0, 0.0) };

pub(super) static DQPSK: Scheme = Scheme { bits: 2.0, spreading: BARKER, words: &[], phases: QUADRATURE };

// A CCK word is e^(j p1) times a word of the three phases p2, p3, p4. Two such words whose phases
// differ by d2, d3, d4 correlate by the product of (1 + e^(j d)) / 2.
// DEVIATION sinr-1: CCK is detected by the magnitude of the correlation, with the full symbol energy and a union
// bound. ns-3 detects coherently at half the symbol energy. CCK in multihop has equal loss at 1.3 to 1.5 dB less
// SINR.
/// CCK at 5.5 Mb/s: d2 and d4 are 0 or pi, d3 is 0, which gives 4 orthogonal words.
pub(crate) static CCK_5_5: Scheme =
    Scheme { bits: 4.0, spreading: CCK, words: &[(3.0, 0.0)], phases: QUADRATURE };

/// CCK at 11 Mb/s: d2, d3 and d4 are multiples of a quarter turn, which gives 64 words. Of the wrong words, 6
/// differ by one quarter turn, 12 by two, 8 by three, and 37 contain a difference of half a turn (correlation
/// 0).
pub(crate) static CCK_11: Scheme = Scheme {
    bits: 8.0,
    spreading: CCK,
    words: &[(6.0, FRAC_1_SQRT_2), (12.0, 0.5), (8.0, FRAC_1_SQRT_2 / 2.0), (37.0, 0.0)],
    phases: QUADRATURE,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interframe_spaces_and_noise_are_those_of_the_standard() {
        assert_eq!(DOT11B.difs(), Duration::from_micros(50));
        assert_eq!(DOT11B.eifs(), Duration::from_micros(364));
        // Thermal noise kTB over 22 MHz is -100.55 dBm.
        assert_eq!(DOT11B.noise_floor_dbm().to_bits(), (-93.55_f64).to_bits());
        // The preamble takes 192 us at 1 Mb/s.
        assert_eq!(DOT11B.plcp_bytes(), 24);
    }
}
