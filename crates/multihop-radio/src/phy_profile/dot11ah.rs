//! IEEE 802.11ah: OFDM with one spatial stream in channels of 1 or 2 MHz, in the band of 902 to 928 MHz (IEEE
//! 802.11-2020 §23, S1G). In channels of 2 MHz it is the physical layer of 802.11ac, ten times slower.
//! Channels of 1 MHz have a different physical layer.

use multihop_core::Duration;

use super::ofdm::{self, SCHEMES};
use super::{Body, Header, Label, PhyProfile, Preamble, Rate, RateIndex, S1g, Scheme, Symbols};
use crate::error_rate::Curve;
use crate::error_rate::ofdm::{Code, Coded, Constellation, HALF};

/// The profile with channels of 1 MHz.
pub static DOT11AH_1: PhyProfile = narrow("802.11ah-1", &NARROW);
/// Profile of 802.11ah in 1 MHz channels with the short guard interval.
pub static DOT11AH_1_SHORT_GUARD: PhyProfile = narrow("802.11ah-1-short-guard", &NARROW_SHORT);
/// The profile with channels of 2 MHz.
pub static DOT11AH_2: PhyProfile = wide("802.11ah-2", &WIDE);
/// Profile of 802.11ah in 2 MHz channels with the short guard interval.
pub static DOT11AH_2_SHORT_GUARD: PhyProfile = wide("802.11ah-2-short-guard", &WIDE_SHORT);

const fn narrow(name: &'static str, rates: &'static [Rate]) -> PhyProfile {
    PhyProfile {
        name,
        slot: Duration::from_micros(52),
        sifs: Duration::from_micros(160),
        cw_min: 15,
        cw_max: 1023,
        preambles: &[NARROW_PREAMBLE],
        rates,
        data_rate: RateIndex(1),
        basic_rate: RateIndex(1),
        // DEVIATION ah-2: An NDP CTS or ACK has whole addresses and durations. 802.11-2020 (9.9) has parts of
        // addresses and checksums, so that one NDP can be mistaken for another.
        answer_bytes: 0,
        channel_width: 1e6,
        channel_mhz: 915, // channel 27, 915.5 MHz
        aggregates: None,
    }
}

const fn wide(name: &'static str, rates: &'static [Rate]) -> PhyProfile {
    PhyProfile {
        preambles: &[WIDE_PREAMBLE],
        data_rate: RateIndex(0),
        basic_rate: RateIndex(0),
        channel_width: 2e6,
        channel_mhz: 915, // channel 26
        ..narrow(name, rates)
    }
}

/// Preamble of a 1 MHz channel: STF and LTF of four symbols each, and a header of six symbols with the
/// repetition of MCS 10.
const NARROW_PREAMBLE: Preamble = Preamble {
    name: "s1g-1m",
    time: Duration::from_micros(160 + 160 + 240),
    is_short: false,
    header: Header {
        from: Duration::from_micros(160 + 160),
        time: Duration::from_micros(240),
        bit_rate: ofdm::bit_rate(6, SYMBOL),
        curve: Curve::Ofdm(NARROW_CHANNEL.coded(REPEATED, &HALF, SYMBOL)),
    },
};

/// Preamble of a 2 MHz channel: STF, LTF and header of two symbols each.
const WIDE_PREAMBLE: Preamble = Preamble {
    name: "s1g-short",
    time: Duration::from_micros(80 + 80 + 80),
    is_short: false,
    header: ofdm::header(Duration::from_micros(80 + 80), 2, SYMBOL),
};

/// Rates of a 1 MHz channel: MCS 10, then MCS 0 to 9.
static NARROW: [Rate; 11] = NARROW_CHANNEL.rates(false);
static NARROW_SHORT: [Rate; 11] = NARROW_CHANNEL.rates(true);
/// Rates of a 2 MHz channel, MCS 0 to 8. MCS 9 is left out, because a symbol would not have a whole number of bits.
static WIDE: [Rate; 9] = WIDE_CHANNEL.rates(false);
static WIDE_SHORT: [Rate; 9] = WIDE_CHANNEL.rates(true);

const NARROW_CHANNEL: Channel = Channel { wide: false, subcarriers: 24 };
const WIDE_CHANNEL: Channel = Channel { wide: true, subcarriers: 52 };

/// Subcarriers and coding of one channel width.
struct Channel {
    /// Whether the channel has 2 MHz; otherwise 1 MHz.
    wide: bool,
    /// Number of subcarriers that carry data.
    subcarriers: u32,
}

impl Channel {
    /// The rates, lowest first.
    const fn rates<const COUNT: usize>(&self, short_guard: bool) -> [Rate; COUNT] {
        let slowest = if self.wide { self.scheme(0, short_guard) } else { self.repeated(short_guard) };
        let mut rates = [slowest; COUNT];
        let mut n = 1;
        while n < COUNT {
            let index = if self.wide { n } else { n - 1 };
            rates[n] = self.scheme(index, short_guard);
            n += 1;
        }
        rates
    }

    /// Rate of the modulation and coding scheme with this index, MCS 0 to 9.
    const fn scheme(&self, index: usize, short_guard: bool) -> Rate {
        let scheme = &SCHEMES[index];
        let coded = self.coded(scheme.constellation, scheme.code, symbol(short_guard));
        self.rate(index, scheme.bits(self.subcarriers), coded, short_guard)
    }

    /// Rate of MCS 10, which is MCS 0 with each bit transmitted twice.
    const fn repeated(&self, short_guard: bool) -> Rate {
        self.rate(
            10,
            SCHEMES[0].bits(self.subcarriers) / 2,
            self.coded(REPEATED, &HALF, symbol(short_guard)),
            short_guard,
        )
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are 11 schemes")]
    const fn rate(&self, index: usize, bits: u32, coded: Coded, short_guard: bool) -> Rate {
        let time = symbol(short_guard);
        // The first symbol has the long guard interval, so that the frame is longer by the difference.
        let extension = Duration::from_nanos(SYMBOL.as_nanos() - time.as_nanos());
        Rate {
            name: NAMES[index],
            bit_rate: ofdm::bit_rate(bits, time),
            // DEVIATION ah-1: 802.11ah frames may have any length and have no delimiters. 802.11-2020 (23.3) limits
            // frames to 511 bytes or symbols, and longer packets to fragments. Fragments of 1500 bytes in 1 MHz would
            // take 9 to 11% more airtime.
            body: Body::Symbols(Symbols { bits, time, overhead: OVERHEAD, step: time, extension }),
            curve: Curve::Ofdm(coded),
            preamble: None,
            answer: None,
            label: Label {
                channel_flags: 0x1040, // 900 MHz, OFDM
                scheme: Some(Scheme::S1g(S1g { index: index as u8, wide: self.wide, short_guard })),
            },
        }
    }

    const fn coded(&self, constellation: Constellation, code: &'static Code, time: Duration) -> Coded {
        let width = if self.wide { 2e-3 } else { 1e-3 };
        Coded { constellation, code, spread: width * time.as_nanos() as f64 / self.subcarriers as f64 }
    }
}

const fn symbol(short_guard: bool) -> Duration {
    if short_guard { Duration::from_micros(36) } else { SYMBOL }
}

const SYMBOL: Duration = Duration::from_micros(40);

const REPEATED: Constellation = Constellation::Bpsk(2.0);

/// Bits of a frame besides its data: 8 bits of SERVICE and a tail of 6.
const OVERHEAD: u32 = 14;

const NAMES: [&str; 11] =
    ["MCS0", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9", "MCS10"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_rate::ErrorModel;

    #[test]
    fn interframe_spaces_and_noise_are_those_of_the_standard() {
        for (phy, eifs, noise) in
            [(&DOT11AH_1, 160 + 264 + 560, -106.98_f64), (&DOT11AH_2, 160 + 264 + 240, -103.96)]
        {
            assert_eq!(phy.difs(), Duration::from_micros(160 + 2 * 52));
            // The answer in EIFS consists of a preamble only.
            assert_eq!(phy.eifs(), Duration::from_micros(eifs));
            assert_eq!(phy.noise_floor_dbm().to_bits(), noise.to_bits());
        }
    }

    /// Expected rates are those of IEEE 802.11-2020 §23.5, in kb/s, rounded down.
    #[test]
    fn bit_rates_are_those_of_the_standard() {
        let rates = |phy: &PhyProfile| -> Vec<_> {
            phy.rates.iter().map(|rate| (rate.name, rate.bit_rate.0 / 1000)).collect()
        };
        let narrow = [
            ("MCS10", 150),
            ("MCS0", 300),
            ("MCS1", 600),
            ("MCS2", 900),
            ("MCS3", 1200),
            ("MCS4", 1800),
            ("MCS5", 2400),
            ("MCS6", 2700),
            ("MCS7", 3000),
            ("MCS8", 3600),
            ("MCS9", 4000),
        ];
        assert_eq!(rates(&DOT11AH_1), narrow);
        let wide = [
            ("MCS0", 650),
            ("MCS1", 1300),
            ("MCS2", 1950),
            ("MCS3", 2600),
            ("MCS4", 3900),
            ("MCS5", 5200),
            ("MCS6", 5850),
            ("MCS7", 6500),
            ("MCS8", 7800),
        ];
        assert_eq!(rates(&DOT11AH_2), wide);
        let short_guard = |rates: &[(&'static str, u64)]| -> Vec<_> {
            rates.iter().map(|&(name, rate)| (name, rate * 10 / 9)).collect()
        };
        assert_eq!(rates(&DOT11AH_1_SHORT_GUARD), short_guard(&narrow));
        assert_eq!(rates(&DOT11AH_2_SHORT_GUARD), short_guard(&wide));
    }

    /// A frame of 1528 bytes, 8 bits of SERVICE and a tail of 6 has 12238 bits. With the short guard interval
    /// all symbols but the first take 36 us.
    #[test]
    fn frames_of_1528_bytes() {
        for (phy, rate, micros) in [
            (&DOT11AH_1, "MCS10", 2040 * 40),
            (&DOT11AH_1, "MCS0", 1020 * 40),
            (&DOT11AH_1, "MCS9", 77 * 40),
            (&DOT11AH_1_SHORT_GUARD, "MCS9", 40 + 76 * 36),
            (&DOT11AH_2, "MCS0", 471 * 40),
            (&DOT11AH_2, "MCS8", 40 * 40),
            (&DOT11AH_2_SHORT_GUARD, "MCS8", 40 + 39 * 36),
        ] {
            let rate = phy.rate(phy.rate_named(rate).unwrap());
            assert_eq!(rate.body_time(1528), Duration::from_micros(micros), "{phy:?} {}", rate.name);
            assert_eq!(rate.body_time(0), Duration::ZERO);
        }
    }

    #[test]
    fn headers_end_their_preambles() {
        for (phy, bits) in [(&DOT11AH_1, 36), (&DOT11AH_2, 48)] {
            let [Preamble { time, header, .. }] = phy.preambles else {
                unreachable!("there is one preamble")
            };
            assert_eq!(header.from + header.time, *time);
            assert_eq!(header.time.as_micros() * header.bit_rate.0 / 1_000_000, bits);
        }
    }

    /// A bit on two subcarriers has twice the energy.
    #[test]
    fn repetition_gains_3_db() {
        let [repeated, once, ..] = DOT11AH_1.rates else { unreachable!("there are 11 rates") };
        for model in [ErrorModel::Nist, ErrorModel::Yans] {
            for tenth in 0..50 {
                let sinr = f64::from(tenth) / 10.0;
                let [slow, fast] =
                    [repeated.success(model, sinr, 8192.0), once.success(model, 2.0 * sinr, 8192.0)];
                assert!((slow - fast).abs() < 1e-12, "{slow} {fast}");
            }
        }
    }
}
