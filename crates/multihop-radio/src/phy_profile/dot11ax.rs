//! IEEE 802.11ax: OFDM with one to four spatial streams in channels of 20 to 160 MHz, in the 5 GHz band (IEEE 802.11ax-2021
//! §27), for one receiver at a time over the whole channel (HE SU). RTS, CTS, ACK and broadcasts use the rates of 802.11a.
//!
//! Frames are coded by LDPC: there are no tail bits. The additional symbol that LDPC needs for some lengths is left out. Bit
//! errors are those of the convolutional code of the same rate. The nominal packet padding is 0, so that no packet extension
//! follows the last symbol.

use multihop_core::Duration;

use super::ofdm::SCHEMES;
use super::streams::{
    Channel, LEGACY_RATES, MAX_STREAMS, NAMES, Streams, TRAINING_SYMBOLS, behind_legacy, mixed_preamble,
    profile, small,
};
use super::{AggregateLimits, He, HeGuard, PhyProfile, Preamble, Rate, Scheme};

/// The profile with channels of 20 MHz and a guard interval of 0.8 us.
pub static DOT11AX_20: PhyProfile = profile("802.11ax-20", 20e6, &RATES_20, AGGREGATES);
/// The profile with channels of 20 MHz and a guard interval of 1.6 us.
pub static DOT11AX_20_MEDIUM_GUARD: PhyProfile =
    profile("802.11ax-20-medium-guard", 20e6, &RATES_20_MEDIUM, AGGREGATES);
/// The profile with channels of 20 MHz and a guard interval of 3.2 us.
pub static DOT11AX_20_LONG_GUARD: PhyProfile =
    profile("802.11ax-20-long-guard", 20e6, &RATES_20_LONG, AGGREGATES);
/// The profile with channels of 40 MHz and a guard interval of 0.8 us.
pub static DOT11AX_40: PhyProfile = profile("802.11ax-40", 40e6, &RATES_40, AGGREGATES);
/// The profile with channels of 40 MHz and a guard interval of 1.6 us.
pub static DOT11AX_40_MEDIUM_GUARD: PhyProfile =
    profile("802.11ax-40-medium-guard", 40e6, &RATES_40_MEDIUM, AGGREGATES);
/// The profile with channels of 40 MHz and a guard interval of 3.2 us.
pub static DOT11AX_40_LONG_GUARD: PhyProfile =
    profile("802.11ax-40-long-guard", 40e6, &RATES_40_LONG, AGGREGATES);
/// The profile with channels of 80 MHz and a guard interval of 0.8 us.
pub static DOT11AX_80: PhyProfile = profile("802.11ax-80", 80e6, &RATES_80, AGGREGATES);
/// The profile with channels of 80 MHz and a guard interval of 1.6 us.
pub static DOT11AX_80_MEDIUM_GUARD: PhyProfile =
    profile("802.11ax-80-medium-guard", 80e6, &RATES_80_MEDIUM, AGGREGATES);
/// The profile with channels of 80 MHz and a guard interval of 3.2 us.
pub static DOT11AX_80_LONG_GUARD: PhyProfile =
    profile("802.11ax-80-long-guard", 80e6, &RATES_80_LONG, AGGREGATES);
/// The profile with channels of 160 MHz and a guard interval of 0.8 us.
pub static DOT11AX_160: PhyProfile = profile("802.11ax-160", 160e6, &RATES_160, AGGREGATES);
/// The profile with channels of 160 MHz and a guard interval of 1.6 us.
pub static DOT11AX_160_MEDIUM_GUARD: PhyProfile =
    profile("802.11ax-160-medium-guard", 160e6, &RATES_160_MEDIUM, AGGREGATES);
/// The profile with channels of 160 MHz and a guard interval of 3.2 us.
pub static DOT11AX_160_LONG_GUARD: PhyProfile =
    profile("802.11ax-160-long-guard", 160e6, &RATES_160_LONG, AGGREGATES);

/// The longest PSDU and MPDU, and the longest block ACK bitmap (IEEE 802.11ax-2021, tables 27-60 and 9-34).
const AGGREGATES: AggregateLimits = AggregateLimits { mpdus: 256, bytes: 6_500_631, mpdu_bytes: 11_454 };

static RATES_20: [Rate; COUNT] = rates(20, 234, HeGuard::Short);
static RATES_20_MEDIUM: [Rate; COUNT] = rates(20, 234, HeGuard::Medium);
static RATES_20_LONG: [Rate; COUNT] = rates(20, 234, HeGuard::Long);
static RATES_40: [Rate; COUNT] = rates(40, 468, HeGuard::Short);
static RATES_40_MEDIUM: [Rate; COUNT] = rates(40, 468, HeGuard::Medium);
static RATES_40_LONG: [Rate; COUNT] = rates(40, 468, HeGuard::Long);
static RATES_80: [Rate; COUNT] = rates(80, 980, HeGuard::Short);
static RATES_80_MEDIUM: [Rate; COUNT] = rates(80, 980, HeGuard::Medium);
static RATES_80_LONG: [Rate; COUNT] = rates(80, 980, HeGuard::Long);
static RATES_160: [Rate; COUNT] = rates(160, 1960, HeGuard::Short);
static RATES_160_MEDIUM: [Rate; COUNT] = rates(160, 1960, HeGuard::Medium);
static RATES_160_LONG: [Rate; COUNT] = rates(160, 1960, HeGuard::Long);

const COUNT: usize = LEGACY_RATES + SCHEMES.len() * MAX_STREAMS;

/// The rates of 802.11a, then MCS 0 to 11 with one, two, three and four streams.
const fn rates(mhz: u8, subcarriers: u32, guard: HeGuard) -> [Rate; COUNT] {
    let symbol = Duration::from_nanos(SYMBOL_NANOS + guard.nanos());
    let channel = Channel { mhz, subcarriers, symbol, step: symbol, encoder_bits: None };
    let preambles = match guard {
        HeGuard::Short => &PREAMBLES,
        HeGuard::Medium => &PREAMBLES_MEDIUM,
        HeGuard::Long => &PREAMBLES_LONG,
    };
    let mut rates = behind_legacy();
    let mut n = 0;
    while n < SCHEMES.len() * MAX_STREAMS {
        let (index, streams) = (n % SCHEMES.len(), n / SCHEMES.len() + 1);
        rates[LEGACY_RATES + n] = channel.rate(Streams {
            name: NAMES[streams - 1][index],
            index,
            count: streams,
            preamble: &preambles[streams - 1],
            label: Scheme::He(He { index: small(index), streams: small(streams), width_mhz: mhz, guard }),
        });
        n += 1;
    }
    rates
}

/// Duration of a symbol without guard interval, ns.
const SYMBOL_NANOS: u64 = 12_800;

impl HeGuard {
    /// Length of the guard interval, in nanoseconds.
    const fn nanos(self) -> u64 {
        match self {
            Self::Short => 800,
            Self::Medium => 1_600,
            Self::Long => 3_200,
        }
    }

    /// Duration of a training symbol without guard interval: half of a data symbol (2x) or a whole one (4x),
    /// as every station must support with this guard interval.
    const fn training_nanos(self) -> u64 {
        match self {
            Self::Short | Self::Medium => SYMBOL_NANOS / 2,
            Self::Long => SYMBOL_NANOS,
        }
    }
}

/// Preambles by the number of spatial streams, with the guard interval of 0.8 us.
static PREAMBLES: [Preamble; MAX_STREAMS] = preambles(HeGuard::Short);
static PREAMBLES_MEDIUM: [Preamble; MAX_STREAMS] = preambles(HeGuard::Medium);
static PREAMBLES_LONG: [Preamble; MAX_STREAMS] = preambles(HeGuard::Long);

const fn preambles(guard: HeGuard) -> [Preamble; MAX_STREAMS] {
    [he(0, guard), he(1, guard), he(2, guard), he(3, guard)]
}

/// Preamble of 802.11ax: the preamble of 802.11a, its last symbol repeated (RL-SIG), two symbols with bits
/// (HE-SIG-A), HE-STF and training.
const fn he(streams_before: usize, guard: HeGuard) -> Preamble {
    let training = TRAINING_SYMBOLS[streams_before] * (guard.training_nanos() + guard.nanos());
    mixed_preamble("he", Duration::from_nanos((20 + 4 + 8 + 4) * 1000 + training), 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(phy: &PhyProfile, name: &str) -> &'static Rate {
        phy.rate(phy.rate_named(name).unwrap())
    }

    /// The tables 27-78 to 27-103 and 27-112 of IEEE 802.11ax-2021 list these rates, here in units of 100
    /// kb/s.
    #[test]
    fn bit_rates_are_those_of_the_standard() {
        for (phy, name, expected) in [
            (&DOT11AX_20, "MCS0", 86),
            (&DOT11AX_20_MEDIUM_GUARD, "MCS0", 81),
            (&DOT11AX_20_LONG_GUARD, "MCS0", 73),
            (&DOT11AX_20, "MCS7", 860),
            (&DOT11AX_20, "MCS9", 1147),
            (&DOT11AX_20, "MCS11", 1433),
            (&DOT11AX_20_LONG_GUARD, "MCS11", 1218),
            (&DOT11AX_20, "MCS11x2", 2867),
            (&DOT11AX_40, "MCS11", 2867),
            (&DOT11AX_40_MEDIUM_GUARD, "MCS10", 2437),
            (&DOT11AX_80, "MCS0", 360),
            (&DOT11AX_80, "MCS11", 6004),
            (&DOT11AX_80_LONG_GUARD, "MCS11x4", 20_416),
            (&DOT11AX_160, "MCS11", 12_009),
            (&DOT11AX_160, "MCS11x2", 24_019),
            (&DOT11AX_160, "MCS11x4", 48_038),
            (&DOT11AX_160_LONG_GUARD, "MCS9x3", 24_500),
        ] {
            assert_eq!(rate(phy, name).bit_rate.0 / 100_000, expected, "{phy:?} {name}");
        }
    }

    /// IEEE 802.11ax-2021 §27.4.3: a frame has whole symbols, which need not end at a multiple of 4 us, for
    /// 12224 + 16 bits.
    #[test]
    fn frames_of_1528_bytes() {
        for (phy, name, nanos) in [
            (&DOT11AX_20, "MCS0", 105 * 13_600), // / 117
            (&DOT11AX_20_MEDIUM_GUARD, "MCS0", 105 * 14_400),
            (&DOT11AX_20_LONG_GUARD, "MCS0", 105 * 16_000),
            (&DOT11AX_20, "MCS11", 7 * 13_600), // / 1950
            (&DOT11AX_80, "MCS9", 2 * 13_600),  // / 6533
            (&DOT11AX_160, "MCS11x4", 13_600),
        ] {
            assert_eq!(rate(phy, name).body_time(1528), Duration::from_nanos(nanos), "{phy:?} {name}");
        }
    }

    #[test]
    fn preambles_grow_with_streams_and_guard_interval() {
        for (phy, expected) in [
            (&DOT11AX_80, [43_200, 50_400, 64_800, 64_800]),
            (&DOT11AX_80_MEDIUM_GUARD, [44_000, 52_000, 68_000, 68_000]),
            (&DOT11AX_80_LONG_GUARD, [52_000, 68_000, 100_000, 100_000]),
        ] {
            let times =
                ["MCS0", "MCS0x2", "MCS0x3", "MCS0x4"].map(|name| rate(phy, name).preamble.unwrap().time);
            assert_eq!(times, expected.map(Duration::from_nanos), "{phy:?}");
        }
    }

    #[test]
    fn answers_have_the_rates_of_802_11a() {
        let answer = |name| DOT11AX_20.rate(rate(&DOT11AX_20, name).answer.unwrap()).name;
        assert_eq!(
            ["MCS0", "MCS2", "MCS3", "MCS10", "MCS11x4"].map(answer),
            ["6M", "12M", "24M", "24M", "24M"]
        );
    }
}
