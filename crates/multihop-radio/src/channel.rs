//! Channels: their frequencies, and the share of a transmission's power that reaches receivers on other
//! channels.

use core::ops::RangeInclusive;

use crate::phy_profile::PhyProfile;

/// The channel of a radio: its number in IEEE 802.11, and the physical layer on it.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// The physical layer, which fixes the width and the shape of the spectrum.
    pub phy: &'static PhyProfile,
    /// The number of the channel's centre: 1 to 14 in the band at 2.4 GHz, 36 for 5180 MHz, 38 for 40 MHz around 5190 MHz.
    pub number: u8,
}

/// The channel numbers that a physical layer can have.
pub fn numbers(phy: &PhyProfile) -> &'static [RangeInclusive<u8>] {
    const AT_2_4_GHZ: RangeInclusive<u8> = 1..=14;
    const AT_5_GHZ: RangeInclusive<u8> = 32..=184;
    if is_sub_ghz(phy) {
        &[1..=51]
    } else if phy.channel_mhz < 5000 {
        &[AT_2_4_GHZ]
    } else if phy.name.starts_with("802.11n") {
        &[AT_2_4_GHZ, AT_5_GHZ]
    } else {
        &[AT_5_GHZ]
    }
}

impl Channel {
    /// Centre frequency, MHz (IEEE 802.11-2020, 15.4.4.3, 17.3.8.4.2; for 802.11ah in the USA, table E-1).
    pub fn centre_mhz(&self) -> f64 {
        let number = f64::from(self.number);
        match self.number {
            _ if is_sub_ghz(self.phy) => 902.0 + 0.5 * number,
            14 => 2484.0,
            1..14 => 2407.0 + 5.0 * number,
            _ => 5000.0 + 5.0 * number,
        }
    }

    /// Centre frequency of the primary channel, MHz, rounded down: the lowest 20 MHz of a wider channel.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 5925 MHz")]
    pub fn primary_mhz(&self) -> u16 {
        let width = self.width_mhz();
        let below = if width >= 2.0 * PRIMARY_WIDTH { (width - PRIMARY_WIDTH) / 2.0 } else { 0.0 };
        (self.centre_mhz() - below) as u16
    }

    /// Attenuation, in dB, of a transmission on this channel at a receiver on another channel: the part of
    /// its power within the receiver's channel, if its spectrum follows the standard's mask. `None` if the
    /// mask ends before the receiver's channel begins. A transmission on the receiver's own channel is not
    /// attenuated.
    pub fn attenuation_db(&self, receiver: &Self) -> Option<f64> {
        let (offset, width) = (receiver.centre_mhz() - self.centre_mhz(), receiver.width_mhz());
        if offset == 0.0 && width >= self.width_mhz() {
            return Some(0.0);
        }
        let mask = self.mask();
        let power = |from: f64, to: f64| {
            let step = 2.0 * mask.end / f64::from(STEPS);
            let middles = (0..STEPS).map(|n| (f64::from(n) + 0.5) * step - mask.end);
            middles
                .filter(|middle| (from..to).contains(middle))
                .map(|middle| mask.density(middle))
                .sum::<f64>()
        };
        let received = power(offset - width / 2.0, offset + width / 2.0);
        (received > 0.0).then(|| 10.0 * libm::log10(power(-mask.end, mask.end) / received))
    }

    fn width_mhz(&self) -> f64 {
        self.phy.channel_width / 1e6
    }

    fn mask(&self) -> Mask {
        let is_ofdm = self.phy.is_ofdm(self.phy.data_rate);
        let half = self.width_mhz() / 2.0;
        if is_ofdm { Mask::ofdm(half) } else { Mask::dsss() }
    }
}

/// A transmit spectrum mask: limits of the spectral density relative to its maximum, by distance from the
/// centre frequency.
struct Mask {
    /// Corners of the mask: offset in MHz and density in dB, with straight lines between them.
    corners: Vec<(f64, f64)>,
    /// Offset from the middle of the channel beyond which nothing is transmitted, in MHz.
    end: f64,
}

impl Mask {
    /// Mask of OFDM (IEEE 802.11-2020, 17.3.9.3, 19.3.18.1 and 21.3.17.1): 0 dB nearly to the edge of the
    /// channel, then -20 dB, -28 dB at one channel width and -40 dB at one and a half widths from the centre.
    fn ofdm(half: f64) -> Self {
        let slope = (half / 10.0).min(1.0);
        let end = 3.0 * half;
        let corners =
            vec![(0.0, 0.0), (half - slope, 0.0), (half + slope, -20.0), (2.0 * half, -28.0), (end, -40.0)];
        Self { corners, end }
    }

    /// Mask of DSSS (IEEE 802.11-2020, 16.3.7.4): -30 dB from 11 MHz, -50 dB from 22 MHz.
    fn dsss() -> Self {
        Self { corners: vec![(0.0, 0.0), (11.0, 0.0), (11.0, -30.0), (22.0, -30.0)], end: 22.0 }
    }

    /// Spectral density of the signal at `offset` MHz from the middle of its channel, linear, relative to the peak.
    fn density(&self, offset: f64) -> f64 {
        let offset = offset.abs();
        let around = self.corners.windows(2).find(|ends| (ends[0].0..ends[1].0).contains(&offset));
        let Some(&[(from, above), (to, below)]) = around.and_then(|ends| ends.as_array()) else { return 0.0 };
        let db = above + (below - above) * (offset - from) / (to - from);
        libm::pow(10.0, db / 10.0)
    }
}

fn is_sub_ghz(phy: &PhyProfile) -> bool {
    phy.channel_mhz < 1000
}

/// Width of a primary channel, MHz.
const PRIMARY_WIDTH: f64 = 20.0;
/// Number of steps in the numerical integral over a mask.
const STEPS: u32 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy_profile::{DOT11A, DOT11AC_80, DOT11AH_1, DOT11B, DOT11N_20, DOT11N_40, DOT11P};

    fn attenuation(from: (&'static PhyProfile, u8), to: (&'static PhyProfile, u8)) -> Option<f64> {
        let [from, to] = [from, to].map(|(phy, number)| Channel { phy, number });
        from.attenuation_db(&to)
    }

    #[test]
    fn a_channel_is_not_attenuated_in_itself() {
        assert_eq!(attenuation((&DOT11A, 36), (&DOT11A, 36)), Some(0.0));
        assert_eq!(attenuation((&DOT11A, 36), (&DOT11N_20, 36)), Some(0.0));
    }

    #[test]
    fn neighbouring_channels_of_ofdm_are_attenuated_by_the_mask() {
        // The expected values are integrals over the mask of 20 MHz with 200,000 steps, from another program.
        let neighbour = attenuation((&DOT11A, 36), (&DOT11A, 40)).unwrap();
        assert!((neighbour - 23.453).abs() < 0.05, "{neighbour}");
        let half = attenuation((&DOT11A, 36), (&DOT11A, 38)).unwrap();
        assert!((half - 3.013).abs() < 0.02, "half of the channel is common: {half}");
        assert_eq!(attenuation((&DOT11A, 36), (&DOT11A, 44)), None, "the mask ends at the channel's edge");
    }

    #[test]
    fn channels_1_6_and_11_are_separate_for_dsss() {
        let dsss = |to| attenuation((&DOT11B, 1), (&DOT11B, to));
        assert!(
            dsss(2).unwrap() < 2.0 && (34.0..35.0).contains(&dsss(6).unwrap()),
            "{:?} {:?}",
            dsss(2),
            dsss(6)
        );
        assert_eq!(dsss(11), None);
    }

    #[test]
    fn a_narrow_receiver_within_a_wide_channel_gets_its_share() {
        let quarter = attenuation((&DOT11AC_80, 42), (&DOT11A, 40)).unwrap();
        assert!((5.9..6.2).contains(&quarter), "20 of 80 MHz: {quarter}");
        let whole = attenuation((&DOT11A, 36), (&DOT11N_40, 38)).unwrap();
        assert!(whole < 0.2, "20 MHz lie within 40 MHz: {whole}");
    }

    #[test]
    fn the_primary_channel_is_the_lowest_of_a_wide_one() {
        let primary = |phy, number| Channel { phy, number }.primary_mhz();
        assert_eq!([primary(&DOT11B, 6), primary(&DOT11A, 44)], [2437, 5220]);
        assert_eq!([primary(&DOT11N_40, 38), primary(&DOT11AC_80, 42)], [5180, 5180]);
        assert_eq!([primary(&DOT11N_20, 1), primary(&DOT11P, 178)], [2412, 5890]);
        assert_eq!(primary(&DOT11AH_1, 27), 915, "915.5 MHz");
    }

    #[test]
    fn bands_do_not_touch() {
        assert_eq!(attenuation((&DOT11B, 14), (&DOT11A, 36)), None);
        assert_eq!(numbers(&DOT11B), [1..=14]);
    }
}
