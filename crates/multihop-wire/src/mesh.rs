//! Segments of the transport `mesh`.
//!
//! # Bytes
//!
//! *`mesh`* (`docs/models/mesh.md`) has the name `mesh/3`. In simulations its segments are in IP packets with
//! protocol 253, behind two ports (2 each).
//!
//! Data, FIN and probes:
//!
//! | bytes | content |
//! |---|---|
//! | 1 | 0x10; + 1: ACK at once; + 2: more data than the receiver has room for; + 4: FIN, without payload; + 8: *second path* (`docs/models/mesh.md#two-paths`) |
//! | 1 | number of segments after which an ACK is due, up to twice as many for 5 s after an urgent message; 0 means 1 |
//! | 2 | longest delay of the ACK, in units of 100 us |
//! | 4 | number of the segment in the stream, from the connection number + 1; kept by retransmissions |
//! | 4 | number of the transmission on its path, from the connection number + 1 |
//! | 4 | departure by the sender's clock, us |
//! | rest | payload |
//!
//! The first probe after a silence or notice repeats the oldest segment. Later probes have the next segment's
//! number, and neither payload nor FIN.
//!
//! An ACK is 24 to 1048 bytes long and always fits into one datagram to its receiver:
//!
//! | bytes | content |
//! |---|---|
//! | 2 | 0x2000 + length of the bitmap, 0 to 1024; + 0x0800 on the second path |
//! | 2 | window: number of segments, counted from `next`, for which there is room |
//! | 4 | `next`: first segment that has not arrived |
//! | 4 | `newest`: largest transmission number that arrived on this path; at first the connection number of the ACK's receiver |
//! | 4 | departure time in that transmission |
//! | 1 | length of the longest run of segments since the last ACK, minus one. A run is segments at most 50 us apart, after a pause of 200 us or more, as in one frame of a radio |
//! | 3 | time since that transmission's arrival, us, at most 16,777,215 |
//! | 4 | mean queueing delay of the segments since the last ACK, us |
//! | 0 to 1024 | bitmap: bit 0 is segment next + 1; the last byte is not zero |
//!
//! Numbers and times wrap. A receiver keeps segments inside its window, which never exceeds the range that an
//! ACK can cover. A receiver drops:
//!
//! * an ACK that names a transmission that has not left on its path, or a `next` that was not sent;
//! * an ACK whose `newest` is older than that of an earlier ACK of its path;
//! * data, FIN, probes and keepalives whose number is more than 16,384 away from the next one; they get no
//!   answer.
//!
//! Example: segment 5, transmission 6, sent at 7 us, with payload `ab`, requests an ACK at once. Other
//! segments request an ACK after 8 segments or 250 ms. The second line is FIN behind segment 5, the third the
//! ACK of both at 9 us, with room for 64 segments:
//!
//! ```text
//! 110809c4 00000005 00000006 00000007 6162
//! 150809c4 00000006 00000007 00000008
//! 20000040 00000007 00000007 00000008 00000001 00000000
//! ```

use alloc::sync::Arc;
use alloc::vec::Vec;

use multihop_core::Payload;

use crate::ParseError;
use crate::control::Control;
use crate::reader::Reader;

mod chunk;

pub use chunk::{ChannelOptions, Chunk};

/// A segment of the transport `mesh`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// Application data, the end of the stream, or a probe.
    Data(Data),
    /// Reports which segments have arrived.
    Ack(Ack),
    /// Opens, watches or resets the connection.
    Control(Control),
}

/// A segment with data, the end of the stream, or a probe, which has neither.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Data {
    /// Whether the segment requests an ACK at once.
    pub ask: bool,
    /// Whether the sender has more data than the receive window permits.
    pub more: bool,
    /// Whether the sender's stream ends here: the segment then has a number and no payload.
    pub is_fin: bool,
    /// Whether the segment is one of the second path of the connection, whose transmissions have numbers of their own.
    pub second_path: bool,
    /// Number of segments after which an ACK is due; 0 means 1.
    pub every: u8,
    /// Longest delay of the segment's ACK at the receiver, in units of 100 us.
    pub hold: u16,
    /// Number of the segment in the stream, from the connection number plus one; a retransmission keeps it.
    pub number: u32,
    /// Number of the transmission: the first one has the number of the first segment.
    pub transmission: u32,
    /// Departure of the segment by the sender's clock, us.
    pub sent: u32,
    /// The parts of the segment that belong to channels; none in a segment of the stream.
    pub chunks: Vec<Chunk>,
    /// Application data: of the stream, or of all chunks in their order. Empty in a probe and at the end of the stream.
    pub payload: Payload,
}

impl Data {
    /// Path, number and transmission of the segment whose first bytes a notice quotes; `None` if they are of another
    /// segment.
    pub fn quoted(start: &[u8; 16]) -> Option<(bool, u32, u32)> {
        let [kind, _, _, _, n0, n1, n2, n3, t0, t1, t2, t3, ..] = *start;
        let is_data = [DATA, CHUNKS].contains(&(kind & !(ASK | MORE | FIN | SECOND_PATH)));
        let numbers = (u32::from_be_bytes([n0, n1, n2, n3]), u32::from_be_bytes([t0, t1, t2, t3]));
        is_data.then_some((kind & SECOND_PATH != 0, numbers.0, numbers.1))
    }
}

/// An acknowledgement: the segments that have arrived, and the room for more.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ack {
    /// Whether the fields about transmissions and their delay are about the second path of the connection.
    pub second_path: bool,
    /// Receive window: number of segments from `next` on that the receiver has room for.
    pub window: u16,
    /// Number of the first segment that has not arrived.
    pub next: u32,
    /// The largest transmission number that has arrived; before the first one, the peer's connection number.
    pub newest: u32,
    /// Departure time of the echoed transmission, as its segment has it.
    pub echo: u32,
    /// How long the receiver held the ACK since that arrival, us; at most [`MAX_HELD`](Self::MAX_HELD).
    pub held: u32,
    /// Segments beyond the first one in the longest run of segments, since the last ACK, that arrived in one frame of a
    /// radio. 0 if each arrived alone.
    pub together: u8,
    /// Mean queueing delay of the segments since the last ACK, us: how much longer they were under way than the
    /// fastest of the last seconds.
    pub delay: u32,
    /// The segments behind `next` that have arrived.
    pub bitmap: Bitmap,
}

impl Ack {
    /// The longest time that [`held`](Self::held) can express, us.
    pub const MAX_HELD: u32 = (1 << 24) - 1;

    /// The word on the wire with `together` and `held`.
    fn together_and_held(&self) -> u32 {
        u32::from(self.together) << 24 | self.held.min(Self::MAX_HELD)
    }
}

/// Which of the segments after the first missing one have arrived.
#[derive(Clone, Debug, Default)]
pub struct Bitmap {
    /// Bits of the first 256 segments after the missing one: set if the segment has arrived.
    near: [u8; Self::NEAR],
    /// Bits of later segments, which only few windows reach. The last byte is not zero. Clones share it, so that
    /// whoever sends one ACK after another allocates nothing.
    far: Option<Arc<Vec<u8>>>,
}

impl Bitmap {
    const NEAR: usize = 32;
    /// Maximum length of a bitmap, bytes.
    pub const BYTES: usize = 1024;
    /// Largest number of segments that the bitmap covers.
    pub const LEN: u64 = 8192;

    /// Marks the segment `offset` places behind the first missing one; those beyond [`LEN`](Self::LEN) are not
    /// covered.
    pub fn insert(&mut self, offset: u64) {
        let Some((byte, bit)) = place(offset) else { return };
        match byte.checked_sub(Self::NEAR) {
            None => self.near[byte] |= bit,
            Some(byte) => {
                let far = Arc::make_mut(self.far.get_or_insert_default());
                far.resize(far.len().max(byte + 1), 0);
                far[byte] |= bit;
            }
        }
    }

    /// Removes all bits, and keeps the memory unless a clone uses it.
    pub fn clear(&mut self) {
        self.near = [0; Self::NEAR];
        match self.far.as_mut().and_then(Arc::get_mut) {
            Some(far) => far.clear(),
            None => self.far = None,
        }
    }

    /// Whether the segment at this offset after the missing one has arrived.
    pub fn contains(&self, offset: u64) -> bool {
        place(offset).is_some_and(|(byte, bit)| self.byte(byte) & bit != 0)
    }

    /// The largest offset that may be marked.
    pub fn end(&self) -> u64 {
        self.wire_len() as u64 * 8
    }

    fn byte(&self, at: usize) -> u8 {
        let far = || self.far().get(at - Self::NEAR).copied().unwrap_or(0);
        self.near.get(at).copied().unwrap_or_else(far)
    }

    /// Bytes up to the last one that is not zero.
    fn used(&self) -> [&[u8]; 2] {
        let last = self.near.iter().rposition(|&byte| byte != 0);
        let len = if self.far().is_empty() { last.map_or(0, |last| last + 1) } else { Self::NEAR };
        [&self.near[..len], self.far()]
    }

    fn far(&self) -> &[u8] {
        self.far.as_ref().map_or(&[], |far| far)
    }

    /// Length of the bitmap on the wire, bytes.
    fn wire_len(&self) -> usize {
        self.used().map(<[u8]>::len).iter().sum()
    }

    /// Makes a bitmap of these bytes.
    fn of(bytes: &[u8]) -> Self {
        let (near, far) = bytes.split_at(bytes.len().min(Self::NEAR));
        let far = (!far.is_empty()).then(|| Arc::new(far.to_vec()));
        let mut bitmap = Self { far, ..Self::default() };
        bitmap.near[..near.len()].copy_from_slice(near);
        bitmap
    }
}

impl PartialEq for Bitmap {
    fn eq(&self, other: &Self) -> bool {
        self.used() == other.used()
    }
}

impl Eq for Bitmap {}

/// Byte and bit of an offset, which begins at 1.
fn place(offset: u64) -> Option<(usize, u8)> {
    let index = offset.checked_sub(1).filter(|&index| index < Bitmap::LEN)?;
    Some((usize::try_from(index / 8).ok()?, 0x80 >> (index % 8)))
}

impl Segment {
    /// Bytes of the header of data.
    pub const DATA_HEADER: u16 = 16;
    /// Bytes of an ACK without its bitmap.
    pub const ACK_HEADER: u16 = 24;
    /// Bytes of the length of a chunk section.
    pub const SECTION_LENGTH: u16 = 2;

    /// Reads a segment from all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        Self::parse_into(bytes, &mut None)
    }

    /// Reads a segment from all of `bytes`, with the payload in this memory if there is some.
    pub fn parse_into(bytes: &[u8], memory: &mut Option<Vec<u8>>) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes);
        match (reader.u8()?, reader.u8()?) {
            (kind, every) if kind & !(ASK | MORE | FIN | SECOND_PATH) == DATA => {
                let data = Data {
                    ask: kind & ASK != 0,
                    more: kind & MORE != 0,
                    is_fin: kind & FIN != 0,
                    second_path: kind & SECOND_PATH != 0,
                    every,
                    hold: reader.u16()?,
                    number: reader.u32()?,
                    transmission: reader.u32()?,
                    sent: reader.u32()?,
                    chunks: Vec::new(),
                    payload: Payload::EMPTY,
                };
                let payload = reader.payload_in(memory);
                if data.is_fin && !payload.is_empty() {
                    return Err(refusal("FIN", 1, "0 with a payload"));
                }
                Ok(Self::Data(Data { payload, ..data }))
            }
            (kind, every) if kind & !(ASK | MORE | SECOND_PATH) == CHUNKS => {
                parse_chunks(kind, every, reader, memory).map(Self::Data)
            }
            (kind, low) if kind & !(LONG | SECOND_PATH) == ACK => {
                let len = usize::from(u16::from_be_bytes([kind & LONG, low]));
                let second_path = kind & SECOND_PATH != 0;
                parse_ack(len, reader).map(|ack| Self::Ack(Ack { second_path, ..ack }))
            }
            (kind, _) if Control::has_kind(kind) => Control::parse(bytes).map(Self::Control),
            (kind, _) => Err(refusal("kind", kind.into(), KINDS)),
        }
    }

    /// Appends the bytes of header and payload.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_header(out);
        if let Self::Data(data) = self {
            data.payload.emit(out);
        }
    }

    /// Appends the bytes of the header: of all segments without payload, all bytes.
    pub fn emit_header(&self, out: &mut Vec<u8>) {
        if let Self::Control(control) = self {
            return control.emit(out);
        }
        out.extend_from_slice(&self.start());
        match self {
            Self::Data(data) => chunk::emit_section(&data.chunks, out),
            Self::Ack(ack) => {
                out.extend_from_slice(&ack.together_and_held().to_be_bytes());
                out.extend_from_slice(&ack.delay.to_be_bytes());
                ack.bitmap.used().into_iter().for_each(|bytes| out.extend_from_slice(bytes));
            }
            Self::Control(_) => {}
        }
    }

    /// The first bytes of the header, which identify the segment in notices. Zeros follow a header that is shorter.
    pub fn start(&self) -> [u8; 16] {
        let (first, second, words) = match self {
            Self::Data(data) => {
                let flags =
                    [(data.ask, ASK), (data.more, MORE), (data.is_fin, FIN), (data.second_path, SECOND_PATH)]
                        .map(|(is_set, bit)| u8::from(is_set) * bit);
                let kind = if data.chunks.is_empty() { DATA } else { CHUNKS };
                (
                    [kind | flags[0] | flags[1] | flags[2] | flags[3], data.every],
                    data.hold,
                    [data.number, data.transmission, data.sent],
                )
            }
            Self::Ack(ack) => {
                let len = u16::try_from(ack.bitmap.wire_len()).expect("at most 1024 bytes");
                let [long, low] = len.to_be_bytes();
                let path = u8::from(ack.second_path) * SECOND_PATH;
                ([ACK | path | long, low], ack.window, [ack.next, ack.newest, ack.echo])
            }
            Self::Control(control) => {
                let mut bytes = Vec::with_capacity(control.wire_len().max(16));
                control.emit(&mut bytes);
                bytes.resize(bytes.len().max(16), 0);
                return *bytes.first_chunk().expect("16 bytes or more");
            }
        };
        let mut start = [0; 16];
        start[..2].copy_from_slice(&first);
        start[2..4].copy_from_slice(&second.to_be_bytes());
        for (bytes, word) in start[4..].chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        start
    }

    /// Whether the segment belongs to the second path of its connection; `None` for control segments, which may take either.
    pub const fn second_path(&self) -> Option<bool> {
        match self {
            Self::Data(data) => Some(data.second_path),
            Self::Ack(ack) => Some(ack.second_path),
            Self::Control(_) => None,
        }
    }

    /// Length of the segment's header, bytes.
    pub fn header_len(&self) -> usize {
        match self {
            Self::Data(data) => usize::from(Self::DATA_HEADER) + chunk::section_len(&data.chunks),
            Self::Ack(ack) => usize::from(Self::ACK_HEADER) + ack.bitmap.wire_len(),
            Self::Control(control) => control.wire_len(),
        }
    }

    /// Application data of a data segment; other segments have none.
    pub fn payload(&self) -> &Payload {
        match self {
            Self::Data(data) => &data.payload,
            Self::Ack(_) | Self::Control(_) => &Payload::EMPTY,
        }
    }

    /// The application data of the segment, which is consumed.
    pub fn into_payload(self) -> Payload {
        match self {
            Self::Data(data) => data.payload,
            Self::Ack(_) | Self::Control(_) => Payload::EMPTY,
        }
    }
}

/// A segment of channels behind its first two bytes.
fn parse_chunks(
    kind: u8,
    every: u8,
    mut reader: Reader<'_>,
    memory: &mut Option<Vec<u8>>,
) -> Result<Data, ParseError> {
    let data = Data {
        ask: kind & ASK != 0,
        more: kind & MORE != 0,
        is_fin: false,
        second_path: kind & SECOND_PATH != 0,
        every,
        hold: reader.u16()?,
        number: reader.u32()?,
        transmission: reader.u32()?,
        sent: reader.u32()?,
        chunks: chunk::parse_section(&mut reader)?,
        payload: reader.payload_in(memory),
    };
    let len: usize = data.chunks.iter().map(|chunk| usize::from(chunk.data_len())).sum();
    if len == data.payload.len() {
        return Ok(data);
    }
    let found = u32::try_from(data.payload.len()).unwrap_or(u32::MAX);
    Err(refusal("data behind the chunks", found, "the sum of their lengths"))
}

/// An ACK, of which `len` bytes are the bitmap.
fn parse_ack(len: usize, mut reader: Reader<'_>) -> Result<Ack, ParseError> {
    let ack = Ack {
        second_path: false,
        window: reader.u16()?,
        next: reader.u32()?,
        newest: reader.u32()?,
        echo: reader.u32()?,
        together: reader.u8()?,
        held: u32::from(reader.u8()?) << 16 | u32::from(reader.u16()?),
        delay: reader.u32()?,
        bitmap: Bitmap::default(),
    };
    let bytes = reader.take(len)?;
    if len > Bitmap::BYTES {
        return Err(refusal("bitmap length", u32::try_from(len).unwrap_or(u32::MAX), "0 to 1024"));
    }
    if bytes.last() == Some(&0) {
        return Err(refusal("last byte of the bitmap", 0, "not zero"));
    }
    if !reader.is_empty() {
        return Err(refusal("bytes after the bitmap", 1, "none"));
    }
    Ok(Ack { bitmap: Bitmap::of(bytes), ..ack })
}

fn refusal(name: &'static str, found: u32, allowed: &'static str) -> ParseError {
    ParseError::Field { name, found, allowed }
}

const KINDS: &str = "0x10 to 0x1f, 0x20 to 0x2f, 0x30 to 0x33, 0x50 to 0x5b without 4";
const DATA: u8 = 0x10;
/// Type of a segment of channels, with the flags of data except FIN.
const CHUNKS: u8 = 0x50;
const ASK: u8 = 0x01;
const MORE: u8 = 0x02;
const FIN: u8 = 0x04;
/// Type of an ACK. Three bits of the first byte, and the second one, are the length of the bitmap.
const ACK: u8 = 0x20;
const LONG: u8 = 0x07;
/// The bit of segments of the second path, in data and ACKs.
const SECOND_PATH: u8 = 0x08;

#[cfg(test)]
mod tests;
