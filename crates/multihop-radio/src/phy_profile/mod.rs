//! PHY profiles: each contains all parameters of one physical layer. A profile is one file of this folder and
//! one row of [`PROFILES`]. MAC timing, airtimes, error rates, noise, the radiotap fields of captures and the
//! names in scenarios follow from it.

mod dot11a;
mod dot11ac;
mod dot11ah;
mod dot11ax;
mod dot11b;
mod dot11g;
mod dot11n;
mod dot11p;
mod ofdm;
mod streams;

use core::fmt;

use multihop_core::{BitRate, Duration};

pub use self::dot11a::DOT11A;
pub use self::dot11ac::{
    DOT11AC_20, DOT11AC_20_SHORT_GUARD, DOT11AC_40, DOT11AC_40_SHORT_GUARD, DOT11AC_80,
    DOT11AC_80_SHORT_GUARD, DOT11AC_160, DOT11AC_160_SHORT_GUARD,
};
pub use self::dot11ah::{DOT11AH_1, DOT11AH_1_SHORT_GUARD, DOT11AH_2, DOT11AH_2_SHORT_GUARD};
pub use self::dot11ax::{
    DOT11AX_20, DOT11AX_20_LONG_GUARD, DOT11AX_20_MEDIUM_GUARD, DOT11AX_40, DOT11AX_40_LONG_GUARD,
    DOT11AX_40_MEDIUM_GUARD, DOT11AX_80, DOT11AX_80_LONG_GUARD, DOT11AX_80_MEDIUM_GUARD, DOT11AX_160,
    DOT11AX_160_LONG_GUARD, DOT11AX_160_MEDIUM_GUARD,
};
pub use self::dot11b::DOT11B;
#[cfg(test)]
pub(crate) use self::dot11b::{CCK_5_5, CCK_11};
pub use self::dot11g::{DOT11G, DOT11G_SHORT_SLOTS};
pub use self::dot11n::{DOT11N_20, DOT11N_20_SHORT_GUARD, DOT11N_40, DOT11N_40_SHORT_GUARD};
pub use self::dot11p::DOT11P;
use crate::error_rate::{Curve, ErrorModel};

/// The profiles that a scenario can choose, the default first.
pub static PROFILES: [&PhyProfile; 33] = [
    &DOT11B,
    &DOT11A,
    &DOT11G,
    &DOT11G_SHORT_SLOTS,
    &DOT11P,
    &DOT11N_20,
    &DOT11N_20_SHORT_GUARD,
    &DOT11N_40,
    &DOT11N_40_SHORT_GUARD,
    &DOT11AC_20,
    &DOT11AC_20_SHORT_GUARD,
    &DOT11AC_40,
    &DOT11AC_40_SHORT_GUARD,
    &DOT11AC_80,
    &DOT11AC_80_SHORT_GUARD,
    &DOT11AC_160,
    &DOT11AC_160_SHORT_GUARD,
    &DOT11AX_20,
    &DOT11AX_20_MEDIUM_GUARD,
    &DOT11AX_20_LONG_GUARD,
    &DOT11AX_40,
    &DOT11AX_40_MEDIUM_GUARD,
    &DOT11AX_40_LONG_GUARD,
    &DOT11AX_80,
    &DOT11AX_80_MEDIUM_GUARD,
    &DOT11AX_80_LONG_GUARD,
    &DOT11AX_160,
    &DOT11AX_160_MEDIUM_GUARD,
    &DOT11AX_160_LONG_GUARD,
    &DOT11AH_1,
    &DOT11AH_1_SHORT_GUARD,
    &DOT11AH_2,
    &DOT11AH_2_SHORT_GUARD,
];

/// All parameters of one physical layer: timing, rates, preambles, channel and error rates. Profiles are
/// equal if their names are equal.
pub struct PhyProfile {
    /// Name of the profile in scenarios.
    pub name: &'static str,
    /// Duration of one backoff slot.
    pub slot: Duration,
    /// Short interframe space (SIFS): the wait before an answer.
    pub sifs: Duration,
    /// Smallest contention window, slots.
    pub cw_min: u32,
    /// Largest contention window, slots.
    pub cw_max: u32,
    /// The preambles that a scenario can choose, the default first. A rate may override the choice with a
    /// specific preamble.
    pub preambles: &'static [Preamble],
    /// The rates, at most [`MAX_RATES`]. Rates of one modulation class ascend.
    pub rates: &'static [Rate],
    /// The default rate of unicast data.
    pub data_rate: RateIndex,
    /// Default rate of RTS and broadcasts. It is also the rate of responses to rates that specify none.
    pub basic_rate: RateIndex,
    /// Size of a CTS or ACK in bytes, checksum included. 0 for null data packets, which end with the header.
    pub answer_bytes: u32,
    /// Channel width, Hz: the bandwidth of the receiver's noise.
    pub channel_width: f64,
    /// Centre frequency of the channel in captures, MHz.
    pub channel_mhz: u16,
    /// Limits of aggregates; `None` if stations do not aggregate.
    pub aggregates: Option<AggregateLimits>,
}

/// A preamble with the PLCP header that follows it.
#[derive(Debug, PartialEq)]
pub struct Preamble {
    /// Name of the preamble in scenarios.
    pub name: &'static str,
    /// Airtime of preamble and header.
    pub time: Duration,
    /// Whether radiotap headers in captures mark the preamble as short.
    pub is_short: bool,
    /// PLCP header of the preamble: if one of its bits is wrong, the frame is lost.
    pub header: Header,
}

/// Bits of a preamble that must be received without error.
pub struct Header {
    /// Start of the header's bits, from the start of the frame.
    pub from: Duration,
    /// Airtime of the header's bits.
    pub time: Duration,
    /// Rate of the header's bits, in bits per second.
    pub bit_rate: BitRate,
    pub(crate) curve: Curve,
}

/// A bit rate with its modulation.
#[derive(Clone, Copy)]
pub struct Rate {
    /// Name of the rate in scenarios.
    pub name: &'static str,
    /// Rate of the frame's body, in bits per second.
    pub bit_rate: BitRate,
    /// Transmission of the bits after the PLCP header, which determines their airtime.
    pub body: Body,
    pub(crate) curve: Curve,
    /// Preamble of frames at this rate; `None` for the preamble that the scenario chooses.
    pub preamble: Option<&'static Preamble>,
    /// Rate of the CTS or ACK that answers a frame at this rate; `None` for the basic rate.
    pub answer: Option<RateIndex>,
    /// Description of the rate in radiotap headers of captures.
    pub label: Label,
}

/// Transmission of the bits after the PLCP header: bit by bit, or in symbols.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Bits are transmitted one after the other (DSSS, CCK).
    Bits,
    /// The body is divided into OFDM symbols.
    Symbols(Symbols),
}

/// Size of OFDM symbols, and the bits and times added to a body.
#[derive(Clone, Copy, Debug)]
pub struct Symbols {
    /// Number of data bits in one symbol.
    pub bits: u32,
    /// Airtime of one symbol.
    pub time: Duration,
    /// Number of SERVICE and tail bits in a frame.
    pub overhead: u32,
    /// The end of a frame is rounded up to a multiple of this time.
    pub step: Duration,
    /// Silence at the end of a frame that counts as part of it.
    pub extension: Duration,
}

/// Description of a rate in the radiotap header of a captured frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Label {
    /// Radiotap's channel flags: band and modulation.
    pub channel_flags: u16,
    /// The modulation and coding scheme; `None` for a rate of 802.11a, b, g or p.
    pub scheme: Option<Scheme>,
}

/// A modulation and coding scheme, by the standard that defines it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scheme {
    /// Scheme of 802.11n: high throughput.
    Ht(Mcs),
    /// Scheme of 802.11ac: very high throughput.
    Vht(Vht),
    /// Scheme of 802.11ax: high efficiency, for one receiver.
    He(He),
    /// Scheme of 802.11ah: below 1 GHz.
    S1g(S1g),
}

/// A modulation and coding scheme of 802.11n.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mcs {
    /// Index of the modulation and coding scheme (MCS).
    pub index: u8,
    /// Whether the channel has 40 MHz; otherwise 20 MHz.
    pub wide: bool,
    /// Whether symbols have the short guard interval.
    pub short_guard: bool,
}

/// A modulation and coding scheme of 802.11ac.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Vht {
    /// Index of the modulation and coding scheme, 0 to 9.
    pub index: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Channel width, MHz: 20, 40, 80 or 160.
    pub width_mhz: u8,
    /// Whether symbols have the short guard interval.
    pub short_guard: bool,
}

/// A modulation and coding scheme of 802.11ax.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct He {
    /// Index of the modulation and coding scheme, 0 to 11.
    pub index: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Channel width, MHz: 20, 40, 80 or 160.
    pub width_mhz: u8,
    /// Guard interval between two OFDM symbols.
    pub guard: HeGuard,
}

/// A guard interval of 802.11ax.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeGuard {
    /// Guard interval of 0.8 us.
    Short,
    /// Guard interval of 1.6 us.
    Medium,
    /// Guard interval of 3.2 us.
    Long,
}

/// A modulation and coding scheme of 802.11ah.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct S1g {
    /// Index of the modulation and coding scheme (MCS).
    pub index: u8,
    /// Whether the channel has 2 MHz; otherwise 1 MHz.
    pub wide: bool,
    /// Whether symbols have the short guard interval.
    pub short_guard: bool,
}

/// Upper bounds for the length of aggregates (A-MPDUs).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AggregateLimits {
    /// Largest number of MPDUs in a frame, and of sequence numbers in a block ACK.
    pub mpdus: u16,
    /// Largest length of an aggregate, bytes.
    pub bytes: u32,
    /// Largest length of an MPDU in an aggregate, bytes.
    pub mpdu_bytes: u32,
}

impl Label {
    /// Number of spatial streams of a scheme of 802.11n, 802.11ac or 802.11ax; `None` for other rates.
    pub fn streams(&self) -> Option<u8> {
        match self.scheme? {
            Scheme::Ht(mcs) => Some(mcs.index / 8 + 1),
            Scheme::Vht(vht) => Some(vht.streams),
            Scheme::He(he) => Some(he.streams),
            Scheme::S1g(_) => None,
        }
    }
}

/// A rate, by its index in [`PhyProfile::rates`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RateIndex(pub u8);

/// Largest number of rates in a profile: a link stores the zone of a rate in six bits.
pub const MAX_RATES: usize = 62;

/// Bytes of a CTS or ACK, checksum included (IEEE 802.11 §7.2.1.2 and §7.2.1.3).
const ANSWER_BYTES: u32 = 14;

impl PhyProfile {
    /// The profile with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.into_iter().find(|profile| profile.name == name)
    }

    /// The rate at this index.
    #[inline]
    pub fn rate(&self, index: RateIndex) -> &'static Rate {
        &self.rates[usize::from(index.0)]
    }

    /// Indices of all rates, lowest rate first.
    pub fn rate_indices(&self) -> impl Iterator<Item = RateIndex> + use<> {
        (0..).map(RateIndex).take(self.rates.len())
    }

    /// Index of the rate with this name.
    pub fn rate_named(&self, name: &str) -> Option<RateIndex> {
        self.rate_indices().find(|&index| self.rate(index).name == name)
    }

    /// Whether the rate uses OFDM, so that stations without OFDM (802.11b) cannot sense a frame at this rate.
    #[inline]
    pub fn is_ofdm(&self, rate: RateIndex) -> bool {
        matches!(self.rate(rate).body, Body::Symbols(_))
    }

    /// The preamble with this name.
    pub fn preamble_named(&self, name: &str) -> Option<&'static Preamble> {
        self.preambles.iter().find(|preamble| preamble.name == name)
    }

    /// The preamble of frames at a rate in a scenario that chose `chosen`.
    #[inline]
    pub fn preamble(&self, rate: RateIndex, chosen: &'static Preamble) -> &'static Preamble {
        self.rate(rate).preamble.unwrap_or(chosen)
    }

    /// Linear ratio to noise and interference above which no bit of a frame at a rate can be wrong.
    pub fn safe_above(&self, rate: RateIndex, chosen: &'static Preamble) -> f64 {
        self.preamble(rate, chosen).header.safe_above().max(self.rate(rate).safe_above())
    }

    /// DCF interframe space (IEEE 802.11 §9.2.10).
    pub fn difs(&self) -> Duration {
        self.sifs + self.slot * 2
    }

    /// Extended interframe space (IEEE 802.11 §9.2.10): SIFS, DIFS, and an ACK at the lowest rate behind the default
    /// preamble.
    pub fn eifs(&self) -> Duration {
        let ack = self.preambles[0].time + self.rates[0].body_time(self.answer_bytes);
        self.sifs + self.difs() + ack
    }

    /// Airtime of the default preamble and PLCP header in bytes at the lowest rate, as ns-2 counts them.
    pub fn plcp_bytes(&self) -> u32 {
        let bits = self.preambles[0].time.as_nanos() * self.rates[0].bit_rate.0 / 1_000_000_000;
        u32::try_from(bits / 8).expect("a preamble takes microseconds")
    }

    /// Thermal noise at 290 K and a noise figure of 7 dB, dBm to two decimals.
    pub fn noise_floor_dbm(&self) -> f64 {
        self.noise_dbm(NOISE_FIGURE_DB)
    }

    /// Thermal noise at 290 K and a noise figure, dBm to two decimals.
    pub(crate) fn noise_dbm(&self, noise_figure_db: f64) -> f64 {
        const BOLTZMANN: f64 = 1.380_649e-23;
        let thermal_mw = BOLTZMANN * 290.0 * self.channel_width * 1e3;
        ((10.0 * libm::log10(thermal_mw) + noise_figure_db) * 100.0).round() / 100.0
    }

    /// The largest number of spatial streams of all rates.
    pub fn most_streams(&self) -> u8 {
        self.rates.iter().filter_map(|rate| rate.label.streams()).max().unwrap_or(1)
    }
}

impl Rate {
    /// Airtime of `bytes` bytes of a MAC frame after preamble and PLCP header; zero for OFDM without bytes.
    pub fn body_time(&self, bytes: u32) -> Duration {
        match &self.body {
            Body::Bits => self.bit_rate.time_for(bytes),
            Body::Symbols(symbols) => symbols.time_for(bytes),
        }
    }

    /// Linear SINR above which every success probability is 1.
    #[inline]
    pub(crate) fn safe_above(&self) -> f64 {
        self.curve.safe_above()
    }

    /// Probability that all `bits` are received without error at a linear SINR.
    #[inline]
    pub fn success(&self, model: ErrorModel, sinr: f64, bits: f64) -> f64 {
        self.curve.success(model, sinr, bits)
    }
}

impl Symbols {
    fn time_for(&self, bytes: u32) -> Duration {
        if bytes == 0 {
            return Duration::ZERO;
        }
        let bits = u64::from(self.overhead) + 8 * u64::from(bytes);
        let symbols = bits.div_ceil(u64::from(self.bits));
        let steps = (self.time * symbols).as_nanos().div_ceil(self.step.as_nanos());
        self.step * steps + self.extension
    }
}

impl Header {
    /// Linear SINR above which every success probability is 1.
    #[inline]
    pub(crate) fn safe_above(&self) -> f64 {
        self.curve.safe_above()
    }

    /// Probability that the part of the header that takes `time` is received without error at a linear SINR.
    pub(crate) fn success(&self, model: ErrorModel, sinr: f64, time: Duration) -> f64 {
        let bits = time.as_nanos() as f64 / (1e9 / self.bit_rate.as_f64());
        self.curve.success(model, sinr, bits)
    }
}

impl PartialEq for PhyProfile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for PhyProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Header {
    fn eq(&self, other: &Self) -> bool {
        (self.from, self.time, self.bit_rate) == (other.from, other.time, other.bit_rate)
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} for {}", self.bit_rate, self.from, self.time)
    }
}

const NOISE_FIGURE_DB: f64 = 7.0;

const _: () = {
    let mut row = 0;
    while row < PROFILES.len() {
        assert!(PROFILES[row].rates.len() <= MAX_RATES, "more rates than a link can number");
        row += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_the_safe_ratio_no_bit_is_wrong() {
        const BITS: f64 = 100_000.0;
        for rate in PROFILES.iter().flat_map(|phy| phy.rates) {
            for model in [ErrorModel::Nist, ErrorModel::Yans] {
                let success = |share: f64| rate.success(model, share * rate.safe_above(), BITS);
                assert!(success(1.0) >= 1.0, "{}", rate.name);
                assert!(success(0.1) < 1.0, "{}", rate.name);
            }
        }
    }

    #[test]
    fn rates_of_a_class_ascend_and_names_are_unique() {
        for phy in PROFILES {
            for class in phy.rates.chunk_by(|a, b| a.label.streams() == b.label.streams()) {
                assert!(class.is_sorted_by_key(|rate| rate.bit_rate), "{phy:?}");
            }
            for index in phy.rate_indices() {
                assert_eq!(phy.rate_named(phy.rate(index).name), Some(index), "{phy:?}");
            }
            assert_eq!(PhyProfile::named(phy.name), Some(phy));
            assert_eq!(phy.preamble_named(phy.preambles[0].name), Some(&phy.preambles[0]));
        }
    }
}
