//! TCP segments (RFC 9293 §3.1) with the options that the endpoints use.

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::{Add, RangeInclusive, Sub};

use multihop_core::Payload;

use crate::checksum::Checksum;
use crate::reader::Reader;
use crate::{ParseError, Quoted};

mod options;

/// The IP protocol number of TCP.
pub const PROTOCOL: u8 = 6;

/// A TCP segment without its checksum, which [`emit`](Self::emit) computes.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Segment {
    /// Source port in the TCP header.
    pub source: u16,
    /// Destination port in the TCP header.
    pub destination: u16,
    /// Sequence number of the first byte, or of the SYN or FIN if no data precedes it.
    pub seq: SeqNumber,
    /// Next byte expected, if the ACK bit is set.
    pub ack: Option<SeqNumber>,
    /// SYN: synchronise sequence numbers to open the connection.
    pub syn: bool,
    /// FIN: the sender has no more data.
    pub fin: bool,
    /// RST: the sender resets the connection.
    pub rst: bool,
    /// PSH: the receiver should pass the data to its program at once.
    pub psh: bool,
    /// ECE: echo of a congestion mark (RFC 3168 §6.1).
    pub ece: bool,
    /// CWR: the congestion window has been reduced (RFC 3168 §6.1).
    pub cwr: bool,
    /// ECN field of the packet's IP header, which is no part of the segment's bytes.
    pub ecn: Ecn,
    /// Window as on the wire: the scale option is not applied.
    pub window: u16,
    /// Options of the segment's header.
    pub options: Options,
    /// Application data of the segment.
    pub payload: Payload,
}

impl Clone for Segment {
    // A derived implementation would copy field by field through registers; each simulated hop copies a segment.
    #[inline(never)]
    fn clone(&self) -> Self {
        Self { payload: self.payload.clone(), ..*self }
    }
}

/// The ECN field of an IP header (RFC 3168 §5, RFC 9331 §1.2).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Ecn {
    /// Packets of a transport without ECN, which routers must not mark.
    #[default]
    NotEct = 0,
    /// ECN-capable transport ECT(1): routers may mark the packet by the rules of L4S.
    Ect1 = 1,
    /// ECN-capable transport ECT(0): routers may mark the packet instead of dropping it.
    Ect0 = 2,
    /// Congestion experienced: a router has marked the packet.
    Ce = 3,
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
    /// The network state that an ADTCP receiver has identified.
    pub state: Option<StateOption>,
}

/// The timestamps option (RFC 7323 §3).
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

/// ADTCP's option (Fu, Greenstein, Meng, Lu, ICNP 2002, section 4.1): kind, length 3, four bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StateOption {
    /// Kind of the option, one of [`StateOption::KINDS`].
    pub kind: u8,
    /// State of the network, as the receiver has identified it.
    pub state: NetworkState,
}

/// The state of a network as identified by an ADTCP receiver; no bit set: normal.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct NetworkState(u8);

impl StateOption {
    /// Option kinds for experiments (RFC 4727 §5); ADTCP has no number of its own.
    pub const KINDS: RangeInclusive<u8> = 253..=254;
}

impl NetworkState {
    /// No condition found: the network works normally.
    pub const NORMAL: Self = Self(0);
    /// Queues build up and overflow.
    pub const CONGESTION: Self = Self(1);
    /// The path of the packets has changed.
    pub const ROUTE_CHANGE: Self = Self(2);
    /// Packets are lost at random.
    pub const CHANNEL_ERROR: Self = Self(4);
    /// No packets arrive: the connection is interrupted.
    pub const DISCONNECTION: Self = Self(8);

    /// Takes the state from the low four bits.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x0f)
    }

    /// The state as the option's four bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Union of two states: the conditions of both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of the states that are set; `normal` if none is.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let states = [
            (Self::CONGESTION, "congestion"),
            (Self::CHANNEL_ERROR, "channel-error"),
            (Self::ROUTE_CHANGE, "route-change"),
            (Self::DISCONNECTION, "disconnection"),
        ];
        let normal = (self == Self::NORMAL).then_some("normal");
        normal
            .into_iter()
            .chain(states.into_iter().filter(move |(state, _)| self.has(*state)).map(|(_, name)| name))
    }
}

impl Segment {
    /// Parses the payload of an IP packet between these addresses. The urgent pointer and control bits that
    /// this structure does not have are ignored.
    pub fn parse(bytes: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let ports = (r.u16()?, r.u16()?);
        let (seq, ack) = (SeqNumber(r.u32()?), SeqNumber(r.u32()?));
        let (offset, flags) = (r.u8()? >> 4, r.u8()?);
        let window = r.u16()?;
        // DEVIATION tcp-5: Urgent data (RFC 9293, 3.8.5) is neither sent nor read. RFC 6093 advises against it.
        let (_checksum, _urgent) = (r.u16()?, r.u16()?);
        let Some(options_len) = (usize::from(offset) * 4).checked_sub(MIN_HEADER_LEN) else {
            let found = u32::from(offset);
            return Err(ParseError::Field { name: "data offset", found, allowed: "5 to 15" });
        };
        let options = r.take(options_len)?;
        if checksum(bytes, source, destination) != 0 {
            return Err(ParseError::Checksum);
        }
        Ok(Self {
            source: ports.0,
            destination: ports.1,
            seq,
            ack: (flags & ACK != 0).then_some(ack),
            syn: flags & SYN != 0,
            fin: flags & FIN != 0,
            rst: flags & RST != 0,
            psh: flags & PSH != 0,
            ece: flags & ECE != 0,
            cwr: flags & CWR != 0,
            ecn: Ecn::NotEct,
            window,
            options: Options::parse(options)?,
            payload: r.payload(),
        })
    }

    /// Appends the segment, with the checksum for these addresses.
    pub fn emit(&self, source: Ipv4Addr, destination: Ipv4Addr, out: &mut Vec<u8>) {
        self.emit_header(source, destination, out);
        self.payload.emit(out);
    }

    /// The start of the segment, as ICMP errors quote it.
    pub fn quoted(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Quoted {
        let mut header = Vec::with_capacity(MAX_HEADER_LEN);
        self.emit_header(source, destination, &mut header);
        let transport = *header.first_chunk().expect("a header has 20 bytes or more");
        Quoted { source, destination, protocol: PROTOCOL, transport }
    }

    fn emit_header(&self, source: Ipv4Addr, destination: Ipv4Addr, out: &mut Vec<u8>) {
        let start = out.len();
        let words = u8::try_from(self.header_len() / 4).expect("a header has at most 15 words");
        out.extend_from_slice(&self.source.to_be_bytes());
        out.extend_from_slice(&self.destination.to_be_bytes());
        out.extend_from_slice(&self.seq.0.to_be_bytes());
        out.extend_from_slice(&self.ack.unwrap_or_default().0.to_be_bytes());
        out.extend_from_slice(&[words << 4, self.flags()]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]); // checksum, urgent pointer
        self.options.emit(out);
        let len = self.header_len() + self.payload.len();
        let sum = Checksum::pseudo_header(source, destination, PROTOCOL, len)
            .over(&out[start..])
            .over_payload(&self.payload)
            .finish();
        out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
    }

    /// Bytes of the header, options included.
    pub fn header_len(&self) -> usize {
        MIN_HEADER_LEN + self.options.wire_len()
    }

    fn flags(&self) -> u8 {
        let bits = [
            (self.fin, FIN),
            (self.syn, SYN),
            (self.rst, RST),
            (self.psh, PSH),
            (self.ack.is_some(), ACK),
            (self.ece, ECE),
            (self.cwr, CWR),
        ];
        bits.iter().filter(|(set, _)| *set).fold(0, |flags, (_, bit)| flags | bit)
    }
}

impl SackBlocks {
    /// Adds the block from `left` up to but not including `right`; false if the list is full.
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

fn checksum(bytes: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> u16 {
    Checksum::pseudo_header(source, destination, PROTOCOL, bytes.len()).over(bytes).finish()
}

/// Bytes of a header without options.
const MIN_HEADER_LEN: usize = 20;
const MAX_HEADER_LEN: usize = 60;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

#[cfg(test)]
mod tests;
