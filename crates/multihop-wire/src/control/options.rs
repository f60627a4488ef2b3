//! The options of a SYN: each has a type, the length of its value, and the value.

use alloc::vec::Vec;
use core::num::{NonZeroU8, NonZeroU16};

use super::{Control, Names, refusal};
use crate::ParseError;
use crate::reader::Reader;

/// The options of a SYN or SYN ACK.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Version of the protocol; 0 if the SYN has no such option.
    pub version: u8,
    /// The transports that a caller offers, or the one that a listener has chosen.
    pub transports: Names,
    /// Optional features of the protocol that the sender supports.
    pub features: Features,
    /// A cookie of the listener; zeros request one.
    pub cookie: Option<[u8; 16]>,
    /// IP TTL with which the sender's packets leave its host, so that the receiver can compute the number of hops;
    /// `None` if the option is absent.
    pub initial_ttl: Option<NonZeroU8>,
    /// The longest payload that the sender accepts.
    pub mss: Option<NonZeroU16>,
    /// The sender's limits of channels that the receiver of the SYN opens and uses.
    pub channels: Option<ChannelLimits>,
    /// Bytes of padding behind the other options, which a reader skips; 0 after [`Control::parse`].
    pub padding: u16,
    /// The type of the first unknown option that must be understood: [`Control::parse`] sets it, and the receiver
    /// refuses the SYN.
    pub unknown: Option<u8>,
}

/// Limits of an end for the channels of its peer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ChannelLimits {
    /// Largest number of channels that the peer may open.
    pub channels: u16,
    /// Credit of the peer in each new channel, bytes.
    pub credit: u32,
    /// Length of the longest message that the end accepts, bytes.
    pub message: u64,
}

impl ChannelLimits {
    const LEN: usize = 14;

    fn parse(bytes: [u8; Self::LEN]) -> Self {
        let [n0, n1, c0, c1, c2, c3, message @ ..] = bytes;
        Self {
            channels: u16::from_be_bytes([n0, n1]),
            credit: u32::from_be_bytes([c0, c1, c2, c3]),
            message: u64::from_be_bytes(message),
        }
    }

    fn emit(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..2].copy_from_slice(&self.channels.to_be_bytes());
        bytes[2..6].copy_from_slice(&self.credit.to_be_bytes());
        bytes[6..].copy_from_slice(&self.message.to_be_bytes());
        bytes
    }
}

/// Optional features that an end supports in addition to the protocol's version: a set of numbers from 0 to 63.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Features(pub u64);

impl Features {
    /// The features that both ends support.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Adds a feature to the set.
    #[must_use]
    pub const fn with(self, feature: u8) -> Self {
        Self(self.0 | bit(feature))
    }

    /// Whether the set has this feature.
    pub const fn has(self, feature: u8) -> bool {
        self.0 & bit(feature) != 0
    }

    /// Parses a set of features; those above 63 are unknown to this end and dropped.
    fn parse(bytes: &[u8]) -> Self {
        let known = bytes.iter().take(size_of::<u64>());
        Self(known.rev().fold(0, |all, &byte| all << 8 | u64::from(byte)))
    }

    /// Number of bytes up to the last byte that is not zero.
    fn len(self) -> usize {
        (u64::BITS - self.0.leading_zeros()).div_ceil(8) as usize
    }
}

impl Options {
    /// Parses the options of a SYN. Unknown types are skipped if their number is even. Of several options of one type
    /// the last one counts.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        if bytes.len() > Control::MAX_OPTIONS {
            let found = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            return Err(refusal("length of the options", found, "0 to 1000"));
        }
        let mut options = Self::default();
        let mut rest = bytes;
        while let Some((&kind, after)) = rest.split_first() {
            if kind == PADDING {
                rest = after;
                continue;
            }
            let mut reader = Reader::new(after);
            let len = reader.u8()?;
            options.take(kind, reader.take(len.into())?)?;
            rest = reader.rest();
        }
        Ok(options)
    }

    fn take(&mut self, kind: u8, value: &[u8]) -> Result<(), ParseError> {
        match (kind, value) {
            (VERSION, &[version]) => self.version = version,
            (Names::OPTION, names) => self.transports = Names::parse(names)?,
            (FEATURES, bytes) => self.features = Features::parse(bytes),
            (COOKIE, bytes) if bytes.len() == size_of::<[u8; 16]>() => self.cookie = bytes.try_into().ok(),
            (INITIAL_TTL, &[ttl @ 1..=u8::MAX]) => self.initial_ttl = NonZeroU8::new(ttl),
            (MSS, &[high, low]) if value != [0, 0] => {
                self.mss = NonZeroU16::new(u16::from_be_bytes([high, low]));
            }
            (CHANNELS, bytes) if bytes.len() == ChannelLimits::LEN => {
                self.channels = bytes.try_into().ok().map(ChannelLimits::parse);
            }
            (VERSION | COOKIE | INITIAL_TTL | MSS | CHANNELS, _) => {
                return Err(refusal(
                    "option",
                    kind.into(),
                    "1, 4, 6, 8 and 10 each with its own length and range",
                ));
            }
            _ if is_mandatory(kind) => self.unknown = self.unknown.or(Some(kind)),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        if self.version != 0 {
            put(VERSION, &[self.version], out);
        }
        if !self.transports.is_empty() {
            put(Names::OPTION, self.transports.as_bytes(), out);
        }
        if self.features != Features::default() {
            put(FEATURES, &self.features.0.to_le_bytes()[..self.features.len()], out);
        }
        if let Some(cookie) = &self.cookie {
            put(COOKIE, cookie, out);
        }
        if let Some(ttl) = self.initial_ttl {
            put(INITIAL_TTL, &[ttl.get()], out);
        }
        if let Some(mss) = self.mss {
            put(MSS, &mss.get().to_be_bytes(), out);
        }
        if let Some(limits) = self.channels {
            put(CHANNELS, &limits.emit(), out);
        }
        if let Some(kind) = self.unknown {
            put(kind, &[], out);
        }
        out.resize(out.len() + usize::from(self.padding), PADDING);
    }

    pub(super) fn wire_len(&self) -> usize {
        let lengths = [
            usize::from(self.version != 0),
            self.transports.as_bytes().len(),
            self.features.len(),
            self.cookie.map_or(0, |cookie| cookie.len()),
            self.initial_ttl.map_or(0, |_| size_of::<u8>()),
            self.mss.map_or(0, |_| size_of::<u16>()),
            self.channels.map_or(0, |_| ChannelLimits::LEN),
        ];
        let options: usize = lengths.into_iter().filter(|&len| len > 0).map(|len| HEADER + len).sum();
        options + self.unknown.map_or(0, |_| HEADER) + usize::from(self.padding)
    }
}

/// Whether a receiver that does not know the option must refuse the SYN.
const fn is_mandatory(kind: u8) -> bool {
    kind % 2 == 1
}

/// The bit of a feature; 0 for one above 63.
const fn bit(feature: u8) -> u64 {
    match 1_u64.checked_shl(feature as u32) {
        Some(bit) => bit,
        None => 0,
    }
}

fn put(kind: u8, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[kind, u8::try_from(value.len()).expect("values have at most 232 bytes")]);
    out.extend_from_slice(value);
}

/// Length of an option's type and length fields, bytes.
const HEADER: usize = 2;

/// Type of an option of one byte, without length and value.
const PADDING: u8 = 0;
const VERSION: u8 = 1;
const FEATURES: u8 = 2;
const COOKIE: u8 = 4;
const INITIAL_TTL: u8 = 6;
const MSS: u8 = 8;
const CHANNELS: u8 = 10;
