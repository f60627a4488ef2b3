//! TCP segments (RFC 9293 §3.1) with the options that the endpoints use.

use core::ops::{Add, Sub};

use multihop_core::Payload;

/// A TCP segment: what endpoints exchange, and what goes on the wire.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Segment {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Number of the first byte (of the SYN or FIN itself where there is one and no data before it).
    pub seq: SeqNumber,
    /// Next byte expected, if the ACK bit is set.
    pub ack: Option<SeqNumber>,
    /// Synchronise sequence numbers.
    pub syn: bool,
    /// No more data from the sender.
    pub fin: bool,
    /// Reset the connection.
    pub rst: bool,
    /// Push function.
    pub psh: bool,
    /// Window as on the wire: the scale option is not applied.
    pub window: u16,
    /// Options.
    pub options: Options,
    /// Data.
    pub payload: Payload,
}

/// The options of one segment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Maximum segment size (SYN only).
    pub mss: Option<u16>,
    /// Window scale, RFC 7323 §2 (SYN only).
    pub window_scale: Option<u8>,
    /// SACK permitted, RFC 2018 §2 (SYN only).
    pub sack_permitted: bool,
    /// Timestamps, RFC 7323 §3.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks, RFC 2018 §3, in order of report.
    pub sack: SackBlocks,
}

/// The timestamps option.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the value echoed.
    pub echo: u32,
}

/// Up to four SACK blocks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SackBlocks {
    blocks: [(SeqNumber, SeqNumber); 4],
    len: u8,
}

impl SackBlocks {
    /// Adds the block from `left` up to but not including `right`; false if there is no room.
    pub fn push(&mut self, left: SeqNumber, right: SeqNumber) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (left, right);
        self.len += 1;
        true
    }

    /// The blocks: first byte, and the byte after the last.
    pub fn as_slice(&self) -> &[(SeqNumber, SeqNumber)] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// A 32-bit sequence number, compared as RFC 9293 §3.4 says.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Whether `self` comes before `other`.
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Bytes from `earlier` to `self`, which must not come before it.
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;
    fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;
    fn sub(self, n: u32) -> Self {
        Self(self.0.wrapping_sub(n))
    }
}
