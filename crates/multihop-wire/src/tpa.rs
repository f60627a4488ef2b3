//! TPA segments (Anastasi, Ancillotti, Conti and Passarella, "Design and performance evaluation of a
//! transport protocol for ad hoc networks", §3.1) in two framings: a header of 12 bytes inside UDP, and of 16 bytes
//! directly over IP.
//!
//! # Bytes
//!
//! ## Versions
//!
//! The plain and the encrypted protocol have version 3. Ends of versions 2 and 3 refuse each other and name
//! the version. A listener of version 2 ignores openings of version 3; a caller without an answer therefore
//! adds a **probe** to each retransmission: a marked opening of version 2, which version 3 ignores.
//!
//! ## Terms
//!
//! A connection is the pair of addresses and ports of its ends, with one byte stream in each direction. A
//! sender numbers its segments of at most MSS bytes by block and position. A **block** has K segments
//! (1 to 12), or fewer if one has LAST. The next block begins when every segment of the current one is
//! acknowledged.
//!
//! ## Header in UDP: 12 bytes
//!
//! The UDP payload is this header and, in a segment with data, the data:
//!
//! ```text
//! +-------------------------------+-----------------------+-+-+-+-+
//! |           BlockSeq            |      BitmapData       |A|R|S|F|
//! +-------------------------------+-----------------------+-+-+-+-+
//! |          AckBlockSeq          |       BitmapAck       |T|L|H|0|
//! +---------------+---------------+-----------------------+-+-+-+-+
//! |     TxSeq     |   AckTxSeq    |            WinSize            |
//! +---------------+---------------+-------------------------------+
//! ```
//!
//! | bits | field | meaning |
//! |---|---|---|
//! | 16 | BlockSeq | block of the data; without data the sender's current block, before its first data the number of its SYN |
//! | 12 | BitmapData | one bit: position of the segment in its block, bit 0 for position 0; zero without data |
//! | 1 each | ACK, RST, SYN, FIN | flags |
//! | 16 | AckBlockSeq | with ACK: block of BitmapAck |
//! | 12 | BitmapAck | with ACK: segments of that block that have arrived |
//! | 1 | T, txStat | the sender is congested or frozen, and its window is one segment |
//! | 1 | L, LAST | this segment ends its block |
//! | 1 | H, HELD | with ACK: the receiver's interval timer caused it |
//! | 1 | reserved | sent as 0, ignored |
//! | 8 | TxSeq | with data or FIN: number of the transmission in its block, from 0, retransmissions included. In a SYN: attempt. Otherwise 0 |
//! | 8 | AckTxSeq | with ACK: TxSeq of the segment that caused the ACK, or with HELD of the segment that started the timer. With data or FIN and without ACK: requested ACK delay, ms |
//! | 16 | WinSize | in every segment: segments of MSS bytes for which its sender has room |
//!
//! Example: block 0x0abc, position 1, LAST, transmission 0x11, data 0xee. The segment acknowledges positions
//! 0 and 1 of block 0x0def, with HELD, for transmission 0x22. The segment's sender is congested and has room
//! for 7 segments:
//!
//! ```text
//! 0abc4008 0defc00e 11220007 ee
//! ```
//!
//! ## Header over IP: 16 bytes
//!
//! IP protocol 253 (RFC 3692):
//!
//! | bytes | bits | field |
//! |---|---|---|
//! | 0 to 3 | 16, 16 | source port, destination port |
//! | 4, 5 | 16 | Internet checksum (RFC 1071) of TCP's pseudo header with protocol 253, of the header and of the data |
//! | 6 to 9 | 12, 12, 4, 4 | BlockSeq; BitmapData; ACK, RST, SYN, FIN; upper 4 bits of AckBlockSeq |
//! | 10 | 8 | lower 8 bits of AckBlockSeq |
//! | 11, 12 | 12, 4 | BitmapAck; txStat, LAST, HELD, reserved |
//! | 13 to 15 | 8 each | TxSeq, AckTxSeq, WinSize |
//!
//! Example: the segment of block 0x0abc, from 10.0.0.1, port 1024, to 10.0.0.2, port 80:
//!
//! ```text
//! 04000050 2c73abc4 008defc0 0e112207 ee
//! ```
//!
//! ## Kinds of segments
//!
//! | kind | flags | BitmapData | LAST | data |
//! |---|---|---|---|---|
//! | data | none, or ACK | one bit | set on the K-th segment, on a segment shorter than MSS, and where the sender ends the block early | 1 byte or more |
//! | FIN | FIN, or FIN ACK | one bit | set | none |
//! | bare ACK | ACK | zero | clear | none |
//! | probe | none | zero | clear | none |
//! | SYN | SYN, or SYN ACK | zero | clear | options |
//! | RST | RST, with ACK | zero | clear | none |
//!
//! A receiver drops *impossible* segments without an answer: segments that match no row of this table, and
//! segments with
//!
//! * a position not below the sender's K, or position K - 1 without LAST;
//! * a position beyond that of LAST, or a second position with LAST;
//! * more data than the receiver's MSS;
//! * an ACK of a block or segment that was never sent.
//!
//! Block numbers count modulo 2^16 in UDP and 2^12 over IP, by serial number arithmetic (RFC 1982). TxSeq
//! counts modulo 2^8; AckTxSeq names the newest of the last 128 transmissions with that number.
//!
//! ## Options of a SYN
//!
//! Type (1), length of the value (1), value. Type 0 is one byte of padding. Unknown types are skipped. A
//! wrong length or a value out of range makes the segment impossible.
//!
//! | type | length | value | range | default |
//! |---|---|---|---|---|
//! | 1 | 1 | version: 3 | | refused with RST |
//! | 2 | 2 | MSS: longest data that the SYN's sender accepts | from 1 | 536 |
//! | 3 | 1 | K: segments in its blocks | 1 to 12 | 12 |
//! | 4 | 1 | cwnd_max: segments that the SYN's sender has in flight at most | from 1 | 2 |
//! | 5 | 1 | when its data is acknowledged, a sum of: 1 for every cwnd_max segments instead of every two; 2 also at the end of a block; 4 also at a gap | 0 to 7 | 0 |
//! | 6 | 1 | whether the SYN's sender uses link-failure notices | 0, 1 | 0 |
//! | 7 | 1 | initial TTL of its packets | from 1 | 64 |
//! | 8 | 4 | ACK interval for its data, us | | 100 000 |
//! | 9 | 4 | minimum retransmission timeout of the SYN's sender, us | | 200 000 |
//! | 10 | 16 | cookie, in UDP only; zeros: none | | none |
//! | 14 | 1 | in UDP only: a probe of a caller with this *version* (`docs/wire.md#versions`) | | none |
//!
//! The segment that starts the timer requests the ACK delay, 1 to 255 ms. The ACK delay is the lesser of ACK
//! interval and half the minimum timeout if this segment has an ACK or requests 0.
//!
//! ## A connection
//!
//! **Opening.**
//!
//! | segment | fields |
//! |---|---|
//! | SYN | BlockSeq: random initial sequence number (ISS) |
//! | SYN ACK | BlockSeq: the listener's ISS; AckBlockSeq: the caller's ISS; BitmapAck 0; AckTxSeq: TxSeq of the SYN |
//! | end of the handshake | an ACK of the listener's ISS, or data of block ISS + 1 |
//!
//! The first block of each direction is ISS + 1. The caller retransmits its SYN after 1, 2, 4 and 8 s with
//! the next TxSeq, and gives up 16 s later. In UDP it retransmits its SYN every second, and gives up after
//! 25 s. A repeated SYN gets the first answer again. An end that has sent a SYN answers a SYN without ACK with
//! SYN ACK.
//!
//! **Cookies.** A listener may answer a SYN without a valid cookie with a SYN ACK of 30 bytes: BlockSeq 0,
//! WinSize 0, the cookie as its only option, other fields as in every SYN ACK. The listener keeps no state.
//! The caller sends its SYN again at once with the cookie, the same ISS and the next TxSeq, and keeps the
//! cookie in later SYNs.
//!
//! | | rule |
//! |---|---|
//! | cookies that a caller accepts | three for one connection |
//! | validity of a cookie | for its address and port, up to two minutes |
//! | content of a cookie | should be a keyed hash of address, port and time |
//! | SYN shorter than 30 bytes | gets no answer, so that no address receives more than it sent. A first SYN therefore has a cookie of zeros or padding |
//!
//! With ISS 7 and the version:
//!
//! ```text
//! caller    00070002 00000000 00000040 010103 0a10 00000000000000000000000000000000
//! listener  0000000a 00070000 00000000        0a10 5e11c0de000102030405060708090a0b
//! caller    00070002 00000000 01000040 010103 0a10 5e11c0de000102030405060708090a0b
//! ```
//!
//! **Acknowledging.** The open block is the newest block of which a segment has arrived, at first the number
//! of the other end's SYN. A receiver accepts block b + 1 when block b has arrived up to LAST; until then
//! ACKs name block b. A receiver sends an ACK
//!
//! * for every 2 segments, or every cwnd_max as requested, at most K and at most the last offered window;
//! * at once for txStat, a duplicate, a probe, and when WinSize rises from 0;
//! * at once, if requested, for the segment that completes a block;
//! * at once, if requested, for each new segment behind a gap, even if filled since;
//! * with HELD, when the ACK delay since the first unacknowledged segment has passed.
//!
//! LAST alone causes no ACK. Data has ACK fields only while an ACK is due. A segment of the previous block is
//! answered at once with that block's number and bitmap; segments of older blocks are dropped. An ACK that no
//! data segment caused has an AckTxSeq 128 above the newest TxSeq. The sender subtracts the delay from a round
//! trip with HELD.
//!
//! **Path MTU.** A datagram must not need fragmentation. A smaller MSS applies to the next block. Segments
//! with a number keep their bytes, and are retransmitted in IP fragments if they no longer fit.
//!
//! **Windows.** A receiver accepts one whole block beyond WinSize. A sender keeps at most min(cwnd, WinSize)
//! segments in flight, and probes at growing intervals while WinSize is 0.
//!
//! **Closing.** FIN takes the next position of the block, or the first of a new one, and is acknowledged like
//! data. Each direction closes separately. After both have closed, each end lingers for 2 minutes and answers
//! late segments. A SYN with another ISS opens a new connection.
//!
//! **Resetting.**
//!
//! | RST | AckBlockSeq |
//! |---|---|
//! | of an open connection | the block that the peer is sending, or the previous one |
//! | in reply to a SYN | the SYN's ISS |
//! | in reply to another segment of no connection, at most once per second and peer | the segment's BlockSeq |
//!
//! Ends ignore RSTs with another AckBlockSeq, and answer none. In UDP, an RST that refuses version 3 or later
//! ends with a cause (1) and text, as in an *RST of `mesh`* (`docs/wire.md#control-segments`).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Payload, SegmentId};

use crate::checksum::Checksum;
use crate::reader::Reader;
use crate::{PROTOCOL_EXPERIMENT, ParseError, Quoted, udp};

mod bitmap;
mod options;

pub use bitmap::Bitmap;
pub use options::{AckPolicy, Options, VERSION};

/// The IP protocol number: for experiments (RFC 3692).
pub const PROTOCOL: u8 = PROTOCOL_EXPERIMENT;

/// Maximum number of segments in a block: the number of bits of a bitmap.
pub const MAX_BLOCK: u8 = 12;

/// How segments are encapsulated.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Framing {
    /// A header of 12 bytes inside UDP, which has the ports and the checksum.
    #[default]
    Udp,
    /// A header of 16 bytes directly over IP, with narrower block numbers and windows.
    Ip,
}

/// A TPA segment in either framing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Segment {
    /// Source port, of TPA or of the UDP datagram around it.
    pub source: u16,
    /// Destination port, of TPA or of the UDP datagram around it.
    pub destination: u16,
    /// The block of the data; without data, the sender's current block.
    pub block: BlockSeq,
    /// Number of this transmission within its block; for a SYN, of the attempt.
    pub tx_seq: u8,
    /// The purpose of the segment apart from acknowledging.
    pub body: Body,
    /// The acknowledgement, if the ACK bit is set.
    pub ack: Option<Ack>,
    /// Time for which the ACK of a segment with data or FIN may wait, ms, if `ack` is `None`; 0 leaves it to the
    /// options of the SYN.
    pub ack_delay: u8,
    /// Whether the sender is congested or frozen (`txStat`).
    pub congested: bool,
    /// Receive window: number of segments that the sender of this segment has room for.
    pub window: u16,
}

/// The purpose of a segment apart from acknowledging.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Body {
    /// A pure ACK; without an ACK, a probe.
    #[default]
    Empty,
    /// A segment of a block, with data.
    Data {
        /// Position of the segment in its block.
        position: u8,
        /// Whether the segment is the last of its block.
        last: bool,
        /// Application data, at least one byte.
        payload: Payload,
    },
    /// The sender has no more data. The FIN occupies a position in the block and ends it.
    Fin {
        /// Place of the FIN in the block, below [`MAX_BLOCK`].
        position: u8,
    },
    /// Opens a connection, with the options of its sender.
    Syn(Options),
    /// Resets the connection that the ports identify.
    Reset,
}

/// An acknowledgement: which segments of a block have arrived.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ack {
    /// Block whose segments the bitmap reports.
    pub block: BlockSeq,
    /// Positions of the block's segments that have arrived.
    pub bitmap: Bitmap,
    /// The transmission that caused this ACK; for a held ACK, the first one that it acknowledges.
    pub tx_seq: u8,
    /// Whether the receiver's interval timer caused this ACK.
    pub held: bool,
}

/// A block number as on the wire.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct BlockSeq(pub u16);

impl Framing {
    /// Length of a header, bytes.
    pub const fn header_len(self) -> usize {
        match self {
            Self::Udp => 12,
            Self::Ip => 16,
        }
    }

    /// Largest receive window that the header can state, segments.
    pub const fn max_window(self) -> u16 {
        match self {
            Self::Udp => u16::MAX,
            Self::Ip => u8::MAX as u16,
        }
    }

    /// Number of the block that is `n` blocks after `start`.
    #[expect(clippy::cast_possible_truncation, reason = "block numbers wrap")]
    pub const fn block_after(self, start: BlockSeq, n: u64) -> BlockSeq {
        BlockSeq((start.0 as u64).wrapping_add(n) as u16 & self.block_mask())
    }

    /// Number of blocks from `from` to `block`, negative if `block` is older. Serial arithmetic: of the two distances
    /// around the ring the shorter one counts.
    pub const fn distance(self, from: BlockSeq, block: BlockSeq) -> i32 {
        let unused = match self {
            Self::Udp => 0,
            Self::Ip => 4,
        };
        // The shift moves the sign bit of the narrow difference to that of 16 bits.
        (block.0.wrapping_sub(from.0) << unused).cast_signed() as i32 >> unused
    }

    /// The segment that is quoted by the first 20 bytes of the IP payload.
    pub fn quoted(self, transport: &[u8; 20]) -> SegmentId {
        let t = transport;
        let (block, word) = match self {
            // The fields of TPA follow the UDP header.
            Self::Udp => (u16::from_be_bytes([t[8], t[9]]), u16::from_be_bytes([t[10], t[11]])),
            // The fields follow the ports and the checksum.
            Self::Ip => split_block(u32::from_be_bytes([t[6], t[7], t[8], t[9]])),
        };
        let data = Bitmap::from_wire(word >> 4);
        let carries_data = data.len() == 1 && (word & 0xf) & (SYN | RST) == 0;
        match data.positions().next() {
            Some(position) if carries_data => SegmentId::Tpa { block, position },
            _ => SegmentId::Other,
        }
    }

    const fn block_mask(self) -> u16 {
        match self {
            Self::Udp => 0xffff,
            Self::Ip => 0x0fff,
        }
    }
}

impl Segment {
    /// Parses the data of a UDP datagram between these ports.
    pub fn parse_in_udp(bytes: &[u8], source: u16, destination: u16) -> Result<Self, ParseError> {
        Self::parse_in_udp_into(bytes, source, destination, &mut None)
    }

    /// Parses the segment of a UDP datagram between these ports. The payload reuses the buffer in `memory` if there is
    /// one.
    pub fn parse_in_udp_into(
        bytes: &[u8],
        source: u16,
        destination: u16,
        memory: &mut Option<Vec<u8>>,
    ) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let (block, data) = (r.u16()?, r.u16()?);
        let (ack_block, ack_bits) = (r.u16()?, r.u16()?);
        let (tx_seq, ack_tx_seq) = (r.u8()?, r.u8()?);
        let window = r.u16()?;
        let fields = Fields { block, data, ack_block, ack_bits, tx_seq, ack_tx_seq, window };
        fields.segment(source, destination, r.payload_in(memory))
    }

    /// Parses the payload of an IP packet between these addresses.
    pub fn parse_over_ip(bytes: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let (from, to, _checksum) = (r.u16()?, r.u16()?, r.u16()?);
        let (front, low) = (r.u32()?, r.u8()?);
        let (block, data) = split_block(front);
        let ack_block = u16::from(front.to_be_bytes()[3] & 0xf) << 8 | u16::from(low);
        let ack_bits = r.u16()?;
        let (tx_seq, ack_tx_seq) = (r.u8()?, r.u8()?);
        let window = u16::from(r.u8()?);
        if checksum(bytes, source, destination) != 0 {
            return Err(ParseError::Checksum);
        }
        let fields = Fields { block, data, ack_block, ack_bits, tx_seq, ack_tx_seq, window };
        fields.segment(from, to, r.payload())
    }

    /// The identity of this segment in notices.
    pub const fn id(&self) -> SegmentId {
        match self.body {
            Body::Data { position, .. } | Body::Fin { position } => {
                SegmentId::Tpa { block: self.block.0, position }
            }
            Body::Empty | Body::Syn(_) | Body::Reset => SegmentId::Other,
        }
    }

    /// The start of the UDP datagram with this segment, as ICMP errors quote it.
    ///
    /// # Panics
    ///
    /// If the datagram is longer than 65535 bytes.
    pub fn quoted_in_udp(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Quoted {
        let len = udp::Datagram::HEADER_LEN + self.wire_len(Framing::Udp);
        let len_field = u16::try_from(len).expect("a UDP payload is at most 65527 bytes long");
        let mut start = Vec::with_capacity(udp::Datagram::HEADER_LEN + MAX_WITHOUT_DATA);
        for field in [self.source, self.destination, len_field, 0] {
            start.extend_from_slice(&field.to_be_bytes());
        }
        self.emit_header_in_udp(&mut start);
        let mut sum = Checksum::pseudo_header(source, destination, udp::PROTOCOL, len);
        match &self.body {
            Body::Data { payload, .. } => sum = sum.over_payload(payload),
            _ => self.emit_data(&mut start),
        }
        let checksum = udp::checksum_field(sum.over(&start));
        start[6..8].copy_from_slice(&checksum);
        let transport = *start.first_chunk().expect("the headers have 20 bytes");
        Quoted { source, destination, protocol: udp::PROTOCOL, transport }
    }

    /// Appends header and data for a UDP datagram.
    pub fn emit_in_udp(&self, out: &mut Vec<u8>) {
        self.emit_header_in_udp(out);
        self.emit_data(out);
    }

    fn emit_header_in_udp(&self, out: &mut Vec<u8>) {
        let f = Fields::of(self);
        for word in [f.block, f.data, f.ack_block, f.ack_bits] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&[f.tx_seq, f.ack_tx_seq]);
        out.extend_from_slice(&f.window.to_be_bytes());
    }

    /// Appends header and data for an IP packet, with the checksum for these addresses. Only the low 12 bits of block numbers
    /// are sent; a window above 255 is sent as 255.
    pub fn emit_over_ip(&self, source: Ipv4Addr, destination: Ipv4Addr, out: &mut Vec<u8>) {
        let start = out.len();
        let f = Fields::of(self);
        for word in [self.source, self.destination, 0] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        let mask = Framing::Ip.block_mask();
        let ack_block = (f.ack_block & mask).to_be_bytes();
        let front = u32::from(f.block & mask) << 20 | u32::from(f.data) << 4 | u32::from(ack_block[0]);
        out.extend_from_slice(&front.to_be_bytes());
        out.push(ack_block[1]);
        out.extend_from_slice(&f.ack_bits.to_be_bytes());
        out.extend_from_slice(&[f.tx_seq, f.ack_tx_seq, u8::try_from(f.window).unwrap_or(u8::MAX)]);
        self.emit_data(out);
        let sum = checksum(&out[start..], source, destination);
        out[start + 4..start + 6].copy_from_slice(&sum.to_be_bytes());
    }

    /// Length of the application data, bytes.
    pub fn data_len(&self) -> usize {
        match &self.body {
            Body::Data { payload, .. } => payload.len(),
            _ => 0,
        }
    }

    /// Length of the segment on the wire, bytes, without the header of UDP or IP.
    pub fn wire_len(&self, framing: Framing) -> usize {
        let options = if matches!(self.body, Body::Syn(_)) { Options::WIRE_LEN } else { 0 };
        framing.header_len() + options + self.data_len()
    }

    fn emit_data(&self, out: &mut Vec<u8>) {
        match &self.body {
            Body::Data { payload, .. } => payload.emit(out),
            Body::Syn(options) => options.emit(out),
            Body::Empty | Body::Fin { .. } | Body::Reset => {}
        }
    }
}

/// The header without ports and checksum, as in both framings.
struct Fields {
    block: u16,
    /// Word on the wire with BitmapData and the flags of the header.
    data: u16,
    ack_block: u16,
    /// Word on the wire with BitmapAck, txStat, LAST, HELD and a reserved bit.
    ack_bits: u16,
    tx_seq: u8,
    /// AckTxSeq, or the delay of the ACK.
    ack_tx_seq: u8,
    window: u16,
}

impl Fields {
    fn of(segment: &Segment) -> Self {
        let (positions, flags, last) = match &segment.body {
            Body::Empty => (Bitmap::EMPTY, 0, false),
            Body::Data { position, last, .. } => (Bitmap::one(*position), 0, *last),
            Body::Fin { position } => (Bitmap::one(*position), FIN, true),
            Body::Syn(_) => (Bitmap::EMPTY, SYN, false),
            Body::Reset => (Bitmap::EMPTY, RST, false),
        };
        let ack = segment.ack.unwrap_or_default();
        let bits = [(segment.congested, TX_STAT), (last, LAST), (ack.held, HELD)];
        let ack_low = bits.iter().filter(|(set, _)| *set).fold(0, |all, (_, bit)| all | bit);
        let ack_flag = if segment.ack.is_some() { ACK } else { 0 };
        Self {
            block: segment.block.0,
            data: positions.to_wire() << 4 | flags | ack_flag,
            ack_block: ack.block.0,
            ack_bits: ack.bitmap.to_wire() << 4 | ack_low,
            tx_seq: segment.tx_seq,
            ack_tx_seq: segment.ack.map_or(segment.ack_delay, |ack| ack.tx_seq),
            window: segment.window,
        }
    }

    fn segment(&self, source: u16, destination: u16, payload: Payload) -> Result<Segment, ParseError> {
        let flags = self.data & 0xf;
        let ack = (flags & ACK != 0).then(|| Ack {
            block: BlockSeq(self.ack_block),
            bitmap: Bitmap::from_wire(self.ack_bits >> 4),
            tx_seq: self.ack_tx_seq,
            held: self.ack_bits & HELD != 0,
        });
        let body = self.body(flags & !ACK, payload)?;
        let is_piece = matches!(body, Body::Data { .. } | Body::Fin { .. });
        Ok(Segment {
            source,
            destination,
            block: BlockSeq(self.block),
            tx_seq: self.tx_seq,
            body,
            ack,
            ack_delay: if is_piece && ack.is_none() { self.ack_tx_seq } else { 0 },
            congested: self.ack_bits & TX_STAT != 0,
            window: self.window,
        })
    }

    fn body(&self, flags: u16, payload: Payload) -> Result<Body, ParseError> {
        let data = self.data >> 4;
        let positions = Bitmap::from_wire(data);
        let position = positions.positions().next();
        let last = self.ack_bits & LAST != 0;
        if positions.len() > 1 {
            return Err(impossible("BitmapData", data, "at most one bit"));
        }
        match (flags, position) {
            (0, None) if last => Err(impossible("LAST", 1, "0 without data")),
            (0, None) if !payload.is_empty() => Err(impossible("BitmapData", 0, "one bit, there is data")),
            (0, None) => Ok(Body::Empty),
            (0, Some(_)) if payload.is_empty() => Err(impossible("BitmapData", data, "0, there is no data")),
            (0, Some(position)) => Ok(Body::Data { position, last, payload }),
            (FIN, Some(position)) if last && payload.is_empty() => Ok(Body::Fin { position }),
            (FIN, _) => Err(impossible("FIN", 1, "0 unless with LAST, a position and no data")),
            (SYN, None) if !last => Options::parse(&payload).map(Body::Syn),
            (RST, None) if !last && payload.is_empty() => Ok(Body::Reset),
            _ => Err(impossible("flags", flags, "one of RST, SYN and FIN, the first two without position")),
        }
    }
}

/// Splits the first four bytes after ports and checksum into BlockSeq, and BitmapData with the flags.
const fn split_block(front: u32) -> (u16, u16) {
    ((front >> 20) as u16, (front >> 4 & 0xffff) as u16)
}

fn impossible(name: &'static str, found: u16, allowed: &'static str) -> ParseError {
    ParseError::Field { name, found: u32::from(found), allowed }
}

fn checksum(bytes: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> u16 {
    Checksum::pseudo_header(source, destination, PROTOCOL, bytes.len()).over(bytes).finish()
}

/// Bytes of a SYN inside UDP, the longest segment without data.
const MAX_WITHOUT_DATA: usize = Framing::Udp.header_len() + Options::WIRE_LEN;

const ACK: u16 = 8;
const RST: u16 = 4;
const SYN: u16 = 2;
const FIN: u16 = 1;

const TX_STAT: u16 = 8;
const LAST: u16 = 4;
const HELD: u16 = 2;

#[cfg(test)]
mod tests;
