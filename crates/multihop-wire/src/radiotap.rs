//! Radiotap headers, version 0: metadata of a captured frame.
//!
//! Frames end with their frame check sequence.

use alloc::vec::Vec;

use crate::ParseError;
use crate::reader::Reader;

/// The link type of captures whose packets start with a radiotap header.
pub const LINKTYPE: u16 = 127;

/// A radiotap header: time, rate, channel and power of a captured frame.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Header {
    /// When the first bit of the MAC frame arrived, in microseconds.
    pub tsft: u64,
    /// Whether the frame was transmitted with a short preamble.
    pub short_preamble: bool,
    /// Rate at which the frame was transmitted.
    pub rate: Rate,
    /// Centre frequency of the channel, MHz.
    pub channel_mhz: u16,
    /// Band and modulation: radiotap's channel flags.
    pub channel_flags: u16,
    /// Received power; `None` at the transmitter.
    pub power: Option<Power>,
    /// The aggregate (A-MPDU) that the frame is part of, at a rate of 802.11n, 802.11ac or 802.11ax.
    pub aggregate: Option<Part>,
}

/// Power at the antenna of a receiver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Power {
    /// Power of the frame, dBm.
    pub signal_dbm: i8,
    /// Power of noise and interference, dBm, if known.
    pub noise_dbm: Option<i8>,
}

/// A part of an aggregate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Part {
    /// Number of the aggregate, shared by all of its parts in a capture.
    pub aggregate: u32,
    /// Whether the part is the last one of its aggregate.
    pub is_last: bool,
}

/// The rate of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rate {
    /// Rate of 802.11a, b or g, in units of 500 kb/s.
    Legacy(u8),
    /// A modulation and coding scheme of 802.11n.
    Ht(Mcs),
    /// A modulation and coding scheme of 802.11ac.
    Vht(Vht),
    /// A modulation and coding scheme of 802.11ax.
    He(He),
    /// A modulation and coding scheme of 802.11ah.
    S1g(S1g),
}

/// A modulation and coding scheme of 802.11n.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mcs {
    /// Index of the scheme in the standard, which also determines the number of spatial streams.
    pub index: u8,
    /// Whether the channel is 40 MHz wide; otherwise 20 MHz.
    pub wide: bool,
    /// Whether the guard interval is the short one, 0.4 us.
    pub short_guard: bool,
}

/// A modulation and coding scheme of 802.11ac, for one receiver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Vht {
    /// Index of the scheme, 0 to 15.
    pub index: u8,
    /// Number of spatial streams, 0 to 15.
    pub streams: u8,
    /// Width of the channel.
    pub width: VhtWidth,
    /// Whether the guard interval is the short one, 0.4 us.
    pub short_guard: bool,
}

/// The width of a channel of 802.11ac, by radiotap's number for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VhtWidth {
    /// A channel of 20 MHz.
    Mhz20 = 0,
    /// A channel of 40 MHz.
    Mhz40 = 1,
    /// A channel of 80 MHz.
    Mhz80 = 4,
    /// A channel of 160 MHz.
    Mhz160 = 11,
}

/// A modulation and coding scheme of 802.11ax for one receiver over the whole channel (HE SU), coded by LDPC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct He {
    /// Index of the scheme, 0 to 15.
    pub index: u8,
    /// Number of spatial streams, 0 to 15.
    pub streams: u8,
    /// Width of the channel.
    pub width: HeWidth,
    /// Guard interval before each symbol.
    pub guard: HeGuard,
    /// Size of the training symbols (HE-LTF).
    pub training: HeTraining,
}

/// The width of a channel of 802.11ax, by radiotap's number for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeWidth {
    /// A channel of 20 MHz.
    Mhz20 = 0,
    /// A channel of 40 MHz.
    Mhz40 = 1,
    /// A channel of 80 MHz.
    Mhz80 = 2,
    /// A channel of 160 MHz.
    Mhz160 = 3,
}

/// A guard interval of 802.11ax, by radiotap's number for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeGuard {
    /// Guard interval of 0.8 us.
    Short = 0,
    /// Guard interval of 1.6 us.
    Medium = 1,
    /// Guard interval of 3.2 us.
    Long = 2,
}

/// The size of the training symbols of 802.11ax, by radiotap's number for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeTraining {
    /// Training symbols of 3.2 us (1x).
    Quarter = 1,
    /// Training symbols of 6.4 us (2x).
    Half = 2,
    /// Training symbols of 12.8 us (4x).
    Whole = 3,
}

/// A modulation and coding scheme of 802.11ah, with one stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct S1g {
    /// Index of the scheme, 0 to 15.
    pub index: u8,
    /// Whether the channel is 2 MHz wide; otherwise 1 MHz.
    pub wide: bool,
    /// Whether the guard interval is the short one.
    pub short_guard: bool,
}

impl Default for Rate {
    fn default() -> Self {
        Self::Legacy(0)
    }
}

impl Header {
    /// Splits a captured packet into header and frame. Fields that [`Self::emit`] does not write are skipped.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let mut r = Reader::new(bytes);
        let version = r.u8()?;
        if version != 0 {
            return Err(ParseError::Field { name: "version", found: u32::from(version), allowed: "0" });
        }
        let _pad = r.u8()?;
        let len = usize::from(u16::from_le_bytes(r.array()?));
        let present = u32::from_le_bytes(r.array()?);
        let is_ht = present & UP_TO_MCS & !POWERS == HT_FIELDS;
        let is_vht = present & UP_TO_VHT & !POWERS & !AGGREGATE == VHT_FIELDS;
        let is_he = present & UP_TO_HE & !POWERS & !AGGREGATE == HE_FIELDS;
        let is_s1g = present & !MORE_PRESENT & !POWERS == S1G_FIELDS;
        if present & FIELDS != FIELDS && !is_ht && !is_vht && !is_he && !is_s1g {
            let allowed = "TSFT, flags, channel, and rate (0xf), MCS (0x8000b), VHT (0x20000b), HE (0x80000b) or TLV (0x1000000b) set";
            return Err(ParseError::Field { name: "present flags", found: present, allowed });
        }
        let mut fields_at = 8;
        let mut last = present;
        while last & MORE_PRESENT != 0 {
            last = u32::from_le_bytes(r.array()?);
            fields_at += 4;
        }
        // Offsets count from the start of the header, and TSFT is aligned to its 8 bytes.
        r.take(fields_at % 8)?;
        let tsft = u64::from_le_bytes(r.array()?);
        // Without a rate, its byte is padding.
        let (flags, rate) = (r.u8()?, r.u8()?);
        let channel_mhz = u16::from_le_bytes(r.array()?);
        let channel_flags = u16::from_le_bytes(r.array()?);
        if present & HOPPING != 0 {
            r.take(2)?;
        }
        let power = Power::parse(present, &mut r)?;
        let ht = if is_ht { Some(Mcs::parse(r.array()?)) } else { None };
        let mut aggregate = None;
        if (is_ht || is_vht || is_he) && present & AGGREGATE != 0 {
            r.align(AGGREGATE_ALIGNMENT)?;
            let number = u32::from_le_bytes(r.array()?);
            let flags = u16::from_le_bytes(r.array()?);
            r.take(2)?;
            aggregate = Some(Part { aggregate: number, is_last: flags & IS_LAST != 0 });
        }
        let rate = match ht {
            Some(mcs) => Rate::Ht(mcs),
            None if is_vht => {
                r.align(VHT_ALIGNMENT)?;
                Rate::Vht(Vht::parse(r.array()?)?)
            }
            None if is_he => {
                r.align(HE_ALIGNMENT)?;
                Rate::He(He::parse(r.array()?)?)
            }
            None if is_s1g => {
                r.align(TLV_ALIGNMENT)?;
                Rate::S1g(S1g::find(&mut r)?)
            }
            None => Rate::Legacy(rate),
        };
        if flags & FCS_AT_END == 0 {
            let (name, found) = ("flags", u32::from(flags));
            return Err(ParseError::Field { name, found, allowed: "frame check sequence at end (0x10) set" });
        }
        let fields_end = bytes.len() - r.rest().len();
        if len < fields_end {
            let found = u32::try_from(len).expect("it was read from 16 bits");
            return Err(ParseError::Field { name: "length", found, allowed: "no less than the fields" });
        }
        let mut r = Reader::new(bytes);
        r.take(len)?;
        let short_preamble = flags & SHORT_PREAMBLE != 0;
        Ok((Self { tsft, short_preamble, rate, channel_mhz, channel_flags, power, aggregate }, r.rest()))
    }

    /// Appends the header; the frame with its check sequence follows.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let flags = FCS_AT_END | if self.short_preamble { SHORT_PREAMBLE } else { 0 };
        let start = out.len();
        out.extend_from_slice(&[0; 4]); // the length follows
        let (fields, rate) = match self.rate {
            Rate::Legacy(rate) => (FIELDS, rate),
            Rate::Ht(_) if self.aggregate.is_some() => (HT_FIELDS | AGGREGATE, 0),
            Rate::Ht(_) => (HT_FIELDS, 0),
            Rate::Vht(_) if self.aggregate.is_some() => (VHT_FIELDS | AGGREGATE, 0),
            Rate::Vht(_) => (VHT_FIELDS, 0),
            Rate::He(_) if self.aggregate.is_some() => (HE_FIELDS | AGGREGATE, 0),
            Rate::He(_) => (HE_FIELDS, 0),
            Rate::S1g(_) => (S1G_FIELDS, 0),
        };
        let powers = self.power.map_or(0, Power::fields);
        out.extend_from_slice(&(fields | powers).to_le_bytes());
        out.extend_from_slice(&self.tsft.to_le_bytes());
        out.extend_from_slice(&[flags, rate]);
        out.extend_from_slice(&self.channel_mhz.to_le_bytes());
        out.extend_from_slice(&self.channel_flags.to_le_bytes());
        if let Some(Power { signal_dbm, noise_dbm }) = self.power {
            out.extend(signal_dbm.to_le_bytes());
            out.extend(noise_dbm.map(|noise| noise.to_le_bytes()[0]));
        }
        if let Rate::S1g(scheme) = self.rate {
            align(out, start, TLV_ALIGNMENT);
            scheme.emit(out);
        }
        if let Rate::Ht(mcs) = self.rate {
            out.extend_from_slice(&mcs.bytes());
        }
        if let (Rate::Ht(_) | Rate::Vht(_) | Rate::He(_), Some(Part { aggregate, is_last })) =
            (self.rate, self.aggregate)
        {
            align(out, start, AGGREGATE_ALIGNMENT);
            out.extend_from_slice(&aggregate.to_le_bytes());
            let flags = LAST_IS_KNOWN | if is_last { IS_LAST } else { 0 };
            out.extend_from_slice(&flags.to_le_bytes());
            out.extend_from_slice(&[0, 0]);
        }
        if let Rate::Vht(scheme) = self.rate {
            align(out, start, VHT_ALIGNMENT);
            out.extend_from_slice(&scheme.bytes());
        }
        if let Rate::He(scheme) = self.rate {
            align(out, start, HE_ALIGNMENT);
            scheme.emit(out);
        }
        let len = u16::try_from(out.len() - start).expect("a header has less than 100 bytes");
        out[start + 2..start + 4].copy_from_slice(&len.to_le_bytes());
    }
}

/// Pads a header that begins at `start`.
fn align(out: &mut Vec<u8>, start: usize, alignment: usize) {
    let padded = start + (out.len() - start).next_multiple_of(alignment);
    out.resize(padded, 0);
}

impl Power {
    /// The present flags of the fields.
    fn fields(self) -> u32 {
        SIGNAL | self.noise_dbm.map_or(0, |_| NOISE)
    }

    /// Reads the fields that are present. Noise without a signal is skipped.
    fn parse(present: u32, r: &mut Reader<'_>) -> Result<Option<Self>, ParseError> {
        let mut dbm =
            |flag| if present & flag == 0 { Ok(None) } else { r.array().map(i8::from_le_bytes).map(Some) };
        let (signal_dbm, noise_dbm) = (dbm(SIGNAL)?, dbm(NOISE)?);
        Ok(signal_dbm.map(|signal_dbm| Self { signal_dbm, noise_dbm }))
    }
}

impl Mcs {
    fn parse([_, flags, index]: [u8; 3]) -> Self {
        Self { index, wide: flags & WIDTH == WIDE, short_guard: flags & SHORT_GUARD != 0 }
    }

    fn bytes(self) -> [u8; 3] {
        let width = if self.wide { WIDE } else { 0 };
        let guard = if self.short_guard { SHORT_GUARD } else { 0 };
        [MCS_KNOWN, width | guard, self.index]
    }
}

impl Vht {
    fn parse(bytes: [u8; VHT_LEN]) -> Result<Self, ParseError> {
        let [_, _, flags, width, scheme, ..] = bytes;
        let width =
            VhtWidth::ALL.into_iter().find(|known| *known as u8 == width).ok_or(ParseError::Field {
                name: "VHT bandwidth",
                found: width.into(),
                allowed: "0, 1, 4 or 11",
            })?;
        Ok(Self { index: scheme >> 4, streams: scheme & 0x0f, width, short_guard: flags & SHORT_GUARD != 0 })
    }

    fn bytes(self) -> [u8; VHT_LEN] {
        let [known_low, known_high] = VHT_KNOWN.to_le_bytes();
        let guard = if self.short_guard { SHORT_GUARD } else { 0 };
        let scheme = self.index << 4 | self.streams;
        // Other users, coding (convolutional), group and partial AID are zero.
        [known_low, known_high, guard, self.width as u8, scheme, 0, 0, 0, 0, 0, 0, 0]
    }
}

impl VhtWidth {
    const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];
}

impl He {
    fn parse(bytes: [u8; HE_LEN]) -> Result<Self, ParseError> {
        let mut r = Reader::new(&bytes);
        let mut word = || r.array().map(u16::from_le_bytes);
        let [_known, _known_too, scheme, _reuse, channel, streams] =
            [word()?, word()?, word()?, word()?, word()?, word()?];
        Ok(Self {
            index: (scheme >> HE_INDEX & 0x0f) as u8,
            streams: (streams & 0x0f) as u8,
            width: find(HeWidth::ALL, |width| width as u16, channel & 0x0f, "HE bandwidth", "0 to 3")?,
            guard: find(
                HeGuard::ALL,
                |guard| guard as u16,
                channel >> HE_GUARD & 3,
                "HE guard interval",
                "0 to 2",
            )?,
            training: find(
                HeTraining::ALL,
                |size| size as u16,
                channel >> HE_TRAINING & 3,
                "HE-LTF size",
                "1 to 3",
            )?,
        })
    }

    fn emit(self, out: &mut Vec<u8>) {
        let scheme = u16::from(self.index) << HE_INDEX | HE_LDPC;
        // One, two, four, six or eight training symbols.
        let symbols = u16::from(self.streams.div_ceil(2)) << HE_TRAINING_SYMBOLS & HE_TRAINING_SYMBOLS_MASK;
        let channel = self.width as u16
            | (self.guard as u16) << HE_GUARD
            | (self.training as u16) << HE_TRAINING
            | if self.streams > 1 { symbols } else { 0 };
        for word in [HE_KNOWN, HE_KNOWN_TOO, scheme, 0, channel, u16::from(self.streams)] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// The value in `all` whose number is `found`; the error says which ones are `allowed`.
fn find<V: Copy, const N: usize>(
    all: [V; N],
    number: fn(V) -> u16,
    found: u16,
    name: &'static str,
    allowed: &'static str,
) -> Result<V, ParseError> {
    let value = all.into_iter().find(|value| number(*value) == found);
    value.ok_or(ParseError::Field { name, found: found.into(), allowed })
}

impl HeWidth {
    const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];
}

impl HeGuard {
    const ALL: [Self; 3] = [Self::Short, Self::Medium, Self::Long];
}

impl HeTraining {
    const ALL: [Self; 3] = [Self::Quarter, Self::Half, Self::Whole];
}

impl S1g {
    /// Reads fields with type and length up to the one of 802.11ah.
    fn find(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        loop {
            let [kind, length] = [u16::from_le_bytes(r.array()?), u16::from_le_bytes(r.array()?)];
            if (kind, length) == (S1G, S1G_LEN) {
                let (_known, scheme, _) = (r.take(2)?, u16::from_le_bytes(r.array()?), r.take(4)?);
                return Ok(Self {
                    index: (scheme >> 12) as u8,
                    wide: scheme & S1G_WIDTH == S1G_WIDE,
                    short_guard: scheme & S1G_SHORT_GUARD != 0,
                });
            }
            r.take(usize::from(length).next_multiple_of(4))?;
        }
    }

    fn emit(self, out: &mut Vec<u8>) {
        let (width, format) = if self.wide { (S1G_WIDE, S1G_SHORT_PREAMBLE) } else { (0, 0) };
        let guard = if self.short_guard { S1G_SHORT_GUARD } else { 0 };
        let scheme = u16::from(self.index) << 12 | width | guard | format;
        // The field, its second word, in which nothing is known, and padding.
        for word in [S1G, S1G_LEN, S1G_KNOWN, scheme, 0, 0] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// Presence bits of a radiotap header with TSFT, flags, rate and channel: bits 0 to 3.
const FIELDS: u32 = 0x0f;
/// Presence bits of a radiotap header of 802.11n: TSFT, flags, channel and MCS, bits 0, 1, 3 and 19.
const HT_FIELDS: u32 = 0x8000b;
/// The fields whose length decides where MCS is.
const UP_TO_MCS: u32 = 0xf_ffff;
/// Bits of the MCS field that mark bandwidth, index, guard interval and format (mixed) as known.
const MCS_KNOWN: u8 = 0x0f;
const WIDTH: u8 = 0x03;
const WIDE: u8 = 1;
const SHORT_GUARD: u8 = 0x04;
/// Presence bit 20 of the A-MPDU status, which has 8 bytes at a multiple of 4.
const AGGREGATE: u32 = 1 << 20;
const AGGREGATE_ALIGNMENT: usize = 4;
/// Alignment of fields with type and length, bytes.
const TLV_ALIGNMENT: usize = 4;
/// Presence bit of the field FHSS, which has 2 bytes.
const HOPPING: u32 = 1 << 4;
/// Presence bits 5 and 6 of antenna signal and antenna noise in dBm.
const SIGNAL: u32 = 1 << 5;
const NOISE: u32 = 1 << 6;
const POWERS: u32 = SIGNAL | NOISE;
const LAST_IS_KNOWN: u16 = 0x0004;
const IS_LAST: u16 = 0x0008;
/// Presence bits of a radiotap header of 802.11ah: TSFT, flags, channel, and fields with type and length, bits 0, 1, 3
/// and 28.
const S1G_FIELDS: u32 = 0x1000_000b;
const S1G: u16 = 32;
const S1G_LEN: u16 = 6;
/// Bits of the S1G field that mark format, guard interval, streams, width and index as known.
const S1G_KNOWN: u16 = 0x3d;
const S1G_SHORT_PREAMBLE: u16 = 1;
const S1G_SHORT_GUARD: u16 = 0x0020;
const S1G_WIDTH: u16 = 0x0f00;
const S1G_WIDE: u16 = 0x0100;
/// Presence bits of a radiotap header of 802.11ac: TSFT, flags, channel and VHT, bits 0, 1, 3 and 21.
const VHT_FIELDS: u32 = 0x20_000b;
/// The fields whose length decides where VHT is.
const UP_TO_VHT: u32 = 0x3f_ffff;
const VHT_LEN: usize = 12;
const VHT_ALIGNMENT: usize = 2;
/// Bits of the VHT field that mark guard interval and bandwidth as known.
const VHT_KNOWN: u16 = 0x0044;
/// Presence bits of a radiotap header of 802.11ax: TSFT, flags, channel and HE, bits 0, 1, 3 and 23.
const HE_FIELDS: u32 = 0x80_000b;
/// The fields whose length decides where HE is.
const UP_TO_HE: u32 = 0xff_ffff;
const HE_LEN: usize = 12;
const HE_ALIGNMENT: usize = 2;
/// The format is HE SU (0); scheme, coding and bandwidth are known.
const HE_KNOWN: u16 = 0x40a0;
/// Bits of the HE field that mark guard interval and number of training symbols as known.
const HE_KNOWN_TOO: u16 = 0x0006;
const HE_LDPC: u16 = 0x2000;
// Places of fields in their words.
const HE_INDEX: u32 = 8;
const HE_GUARD: u32 = 4;
const HE_TRAINING: u32 = 6;
const HE_TRAINING_SYMBOLS: u32 = 8;
const HE_TRAINING_SYMBOLS_MASK: u16 = 0x0700;
const MORE_PRESENT: u32 = 1 << 31;
const SHORT_PREAMBLE: u8 = 0x02;
const FCS_AT_END: u8 = 0x10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::damage;

    fn header() -> impl Strategy<Value = Header> {
        let ht = any::<(u8, bool, bool)>()
            .prop_map(|(index, wide, short_guard)| Rate::Ht(Mcs { index, wide, short_guard }));
        let s1g = (0_u8..16, any::<(bool, bool)>())
            .prop_map(|(index, (wide, short_guard))| Rate::S1g(S1g { index, wide, short_guard }));
        let width = prop::sample::select(VhtWidth::ALL.to_vec());
        let vht =
            (0_u8..16, 0_u8..16, width, any::<bool>()).prop_map(|(index, streams, width, short_guard)| {
                Rate::Vht(Vht { index, streams, width, short_guard })
            });
        let channel = (
            prop::sample::select(HeWidth::ALL.to_vec()),
            prop::sample::select(HeGuard::ALL.to_vec()),
            prop::sample::select(HeTraining::ALL.to_vec()),
        );
        let he = (0_u8..16, 0_u8..16, channel).prop_map(|(index, streams, (width, guard, training))| {
            Rate::He(He { index, streams, width, guard, training })
        });
        let rate = prop_oneof![any::<u8>().prop_map(Rate::Legacy), ht, vht, he, s1g];
        let power = any::<(i8, Option<i8>)>();
        let power = power.prop_map(|(signal_dbm, noise_dbm)| Power { signal_dbm, noise_dbm });
        let power = proptest::option::of(power);
        (any::<(u64, bool, u16, u16)>(), rate, power, any::<Option<(u32, bool)>>()).prop_map(
            |((tsft, short_preamble, channel_mhz, channel_flags), rate, power, part)| Header {
                tsft,
                short_preamble,
                rate,
                channel_mhz,
                channel_flags,
                power,
                aggregate: part
                    .filter(|_| matches!(rate, Rate::Ht(_) | Rate::Vht(_) | Rate::He(_)))
                    .map(|(aggregate, is_last)| Part { aggregate, is_last }),
            },
        )
    }

    fn emitted(header: &Header) -> Vec<u8> {
        let mut out = Vec::new();
        header.emit(&mut out);
        out
    }

    const EXAMPLE: Header = Header {
        tsft: 0x0102,
        short_preamble: true,
        rate: Rate::Legacy(22),
        channel_mhz: 2412,
        channel_flags: 0x00a0,
        power: None,
        aggregate: None,
    };

    #[test]
    fn known_bytes() {
        let expected = [0, 0, 22, 0, 0x0f, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0x12, 22, 0x6c, 0x09, 0xa0, 0];
        assert_eq!(emitted(&EXAMPLE), expected);
    }

    #[test]
    fn known_bytes_of_a_received_frame() {
        let power = Some(Power { signal_dbm: -60, noise_dbm: Some(-94) });
        let found = emitted(&Header { power, ..EXAMPLE });
        let expected =
            [0, 0, 24, 0, 0x6f, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0x12, 22, 0x6c, 0x09, 0xa0, 0, 0xc4, 0xa2];
        assert_eq!(found, expected);
        let power = Some(Power { signal_dbm: -60, noise_dbm: None });
        let found = emitted(&Header { power, ..EXAMPLE });
        assert_eq!((found[2], found[4], &found[22..]), (23, 0x2f, &expected[22..23]));
    }

    #[test]
    fn known_bytes_of_802_11n() {
        let rate = Rate::Ht(Mcs { index: 15, wide: true, short_guard: true });
        let found = emitted(&Header { short_preamble: false, rate, ..EXAMPLE });
        let expected = [
            0, 0, 25, 0, 0x0b, 0, 8, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x6c, 0x09, 0xa0, 0, 0x0f, 0x05, 15,
        ];
        assert_eq!(found, expected);
        let aggregate = Some(Part { aggregate: 7, is_last: true });
        let found = emitted(&Header { short_preamble: false, rate, aggregate, ..EXAMPLE });
        assert_eq!((&found[2..8], &found[8..25]), (&[36, 0, 0x0b, 0, 0x18, 0][..], &expected[8..]));
        assert_eq!(found[25..], [0, 0, 0, 7, 0, 0, 0, 0x0c, 0, 0, 0]);
    }

    #[test]
    fn known_bytes_of_802_11ac() {
        let rate = Rate::Vht(Vht { index: 9, streams: 2, width: VhtWidth::Mhz80, short_guard: true });
        let found = emitted(&Header { short_preamble: false, rate, ..EXAMPLE });
        let expected = [
            0, 0, 34, 0, 0x0b, 0, 0x20, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x6c, 0x09, 0xa0, 0, 0x44, 0,
            0x04, 4, 0x92, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(found, expected);
        let aggregate = Some(Part { aggregate: 7, is_last: true });
        let found = emitted(&Header { short_preamble: false, rate, aggregate, ..EXAMPLE });
        assert_eq!((&found[2..8], &found[8..22]), (&[44, 0, 0x0b, 0, 0x30, 0][..], &expected[8..22]));
        assert_eq!(found[22..32], [0, 0, 7, 0, 0, 0, 0x0c, 0, 0, 0]);
        assert_eq!(found[32..], expected[22..]);
        let mut packet = emitted(&Header { short_preamble: false, rate, ..EXAMPLE });
        packet[25] = 2;
        let refused = Header::parse(&packet).unwrap_err().to_string();
        assert_eq!(refused, "VHT bandwidth is 2, allowed: 0, 1, 4 or 11");
    }

    #[test]
    fn known_bytes_of_802_11ax() {
        let (width, guard, training) = (HeWidth::Mhz80, HeGuard::Medium, HeTraining::Half);
        let rate = Rate::He(He { index: 11, streams: 2, width, guard, training });
        let header = Header { short_preamble: false, rate, ..EXAMPLE };
        let mut packet = emitted(&header);
        let expected = [
            0, 0, 34, 0, 0x0b, 0, 0x80, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x6c, 0x09, 0xa0, 0, 0xa0, 0x40,
            0x06, 0, 0, 0x2b, 0, 0, 0x92, 0x01, 2, 0,
        ];
        assert_eq!(packet, expected);
        let aggregate = Some(Part { aggregate: 7, is_last: true });
        let found = emitted(&Header { aggregate, ..header });
        assert_eq!((&found[2..8], &found[32..]), (&[44, 0, 0x0b, 0, 0x90, 0][..], &expected[22..]));
        for (value, message) in [
            (0x94, "HE bandwidth is 4, allowed: 0 to 3"),
            (0xb2, "HE guard interval is 3, allowed: 0 to 2"),
            (0x12, "HE-LTF size is 0, allowed: 1 to 3"),
        ] {
            packet[30] = value;
            assert_eq!(Header::parse(&packet).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn known_bytes_of_802_11ah() {
        let rate = Rate::S1g(S1g { index: 8, wide: true, short_guard: true });
        let header =
            Header { short_preamble: false, rate, channel_mhz: 915, channel_flags: 0x1040, ..EXAMPLE };
        let mut packet = emitted(&header);
        let expected = [
            0, 0, 36, 0, 0x0b, 0, 0, 0x10, 2, 1, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x93, 0x03, 0x40, 0x10, 0, 0, 32,
            0, 6, 0, 0x3d, 0, 0x21, 0x81, 0, 0, 0, 0,
        ];
        assert_eq!(packet, expected);
        // The header has another field before the searched one, with padding.
        packet[2] += 8;
        packet.splice(24..24, [33, 0, 1, 0, 9, 0, 0, 0]);
        assert_eq!(Header::parse(&packet), Ok((header, &b""[..])));
    }

    #[test]
    fn further_fields_are_skipped() {
        let mut packet = emitted(&EXAMPLE);
        packet[2] = 22 + 8 + 1;
        packet[7] = 0x80;
        packet.splice(8..8, [0, 0, 0, 0x80, 0x20, 0, 0, 0]);
        packet.extend([0x55, b'f']);
        assert_eq!(Header::parse(&packet), Ok((EXAMPLE, &b"f"[..])));
        packet.drain(8..12);
        packet.splice(12..12, [9; 4]); // the same with padding in place of a second word
        packet[8..12].copy_from_slice(&[0x20, 0, 0, 0]);
        assert_eq!(Header::parse(&packet), Ok((EXAMPLE, &b"f"[..])));
    }

    #[test]
    fn refusals_say_why() {
        let with = |at: usize, value: u8| {
            let mut packet = emitted(&EXAMPLE);
            packet[at] = value;
            Header::parse(&packet).unwrap_err()
        };
        let field = |name, found, allowed| ParseError::Field { name, found, allowed };
        assert_eq!(with(0, 1), field("version", 1, "0"));
        assert_eq!(with(2, 21), field("length", 21, "no less than the fields"));
        assert_eq!(with(2, 23), ParseError::Truncated { found: 22, needed: 23 });
        let allowed = "TSFT, flags, channel, and rate (0xf), MCS (0x8000b), VHT (0x20000b), HE (0x80000b) or TLV (0x1000000b) set";
        assert_eq!(with(4, 7), field("present flags", 7, allowed));
        assert_eq!(with(16, 2), field("flags", 2, "frame check sequence at end (0x10) set"));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(header in header(), frame in any::<Vec<u8>>()) {
            let mut packet = emitted(&header);
            packet.extend(&frame);
            prop_assert_eq!(Header::parse(&packet), Ok((header, &frame[..])));
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), header in header(), damage in damage()) {
            let _ = Header::parse(&bytes);
            let mut packet = emitted(&header);
            packet.extend(bytes);
            damage.apply(&mut packet);
            let _ = Header::parse(&packet);
        }
    }
}
