//! Segments of the transport `mesh`.

use alloc::vec::Vec;

use multihop_core::Payload;

use crate::ParseError;
use crate::reader::Reader;

/// A segment of `mesh`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// Application data, or a probe if the payload is empty.
    Data(Data),
    /// What has arrived.
    Ack(Ack),
}

/// A segment with data, or a probe.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Data {
    /// It is acknowledged at once.
    pub ask: bool,
    /// An ACK is due after this many segments; 0 means 1.
    pub every: u8,
    /// The longest time that its ACK may wait, in units of 100 us.
    pub hold: u16,
    /// Number of the segment in the stream; a retransmission keeps it.
    pub number: u32,
    /// Number of the transmission.
    pub transmission: u32,
    /// When it left, by the sender's clock, us.
    pub sent: u32,
    /// Application data.
    pub payload: Payload,
}

/// An acknowledgement.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ack {
    /// Segments from `next` on that the receiver has room for.
    pub window: u16,
    /// Number of the first segment that has not arrived.
    pub next: u32,
    /// The largest transmission number that has arrived.
    pub newest: u32,
    /// `sent` of that transmission.
    pub echo: u32,
    /// How long the receiver held the ACK since that arrival, us.
    pub held: u32,
    /// Mean queueing delay of the segments since the last ACK, us: how much longer they were under way than the
    /// fastest of the last seconds.
    pub delay: u32,
    /// The segments behind `next` that have arrived.
    pub bitmap: Bitmap,
}

/// Which of the 256 segments after the first missing one have arrived.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bitmap([u8; Self::BYTES]);

impl Bitmap {
    const BYTES: usize = 32;
    /// Segments that it covers.
    pub const LEN: u64 = 256;

    /// Marks the segment `offset` places behind the first missing one; those beyond [`LEN`](Self::LEN) are not
    /// covered.
    pub fn insert(&mut self, offset: u64) {
        if let Some((byte, bit)) = place(offset) {
            self.0[byte] |= bit;
        }
    }

    /// Whether that segment has arrived.
    pub fn contains(&self, offset: u64) -> bool {
        place(offset).is_some_and(|(byte, bit)| self.0[byte] & bit != 0)
    }

    /// The bytes up to the last one that is not zero.
    fn used(&self) -> &[u8] {
        let len = self.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        &self.0[..len]
    }
}

/// Byte and bit of an offset, which begins at 1.
fn place(offset: u64) -> Option<(usize, u8)> {
    let index = offset.checked_sub(1).filter(|&index| index < Bitmap::LEN)?;
    Some((usize::try_from(index / 8).ok()?, 0x80 >> (index % 8)))
}

impl Segment {
    /// Bytes of the header of data.
    pub const DATA_HEADER: u16 = 16;

    /// Reads a segment from all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            kind @ (DATA | DATA_ASK) => {
                let data = Data {
                    ask: kind == DATA_ASK,
                    every: reader.u8()?,
                    hold: reader.u16()?,
                    number: reader.u32()?,
                    transmission: reader.u32()?,
                    sent: reader.u32()?,
                    payload: Payload::EMPTY,
                };
                Ok(Self::Data(Data { payload: reader.payload(), ..data }))
            }
            ACK => parse_ack(reader).map(Self::Ack),
            kind => {
                Err(ParseError::Field { name: "kind", found: kind.into(), allowed: "0x10, 0x11 or 0x20" })
            }
        }
    }

    /// Appends the bytes of header and payload.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_header(out);
        if let Self::Data(data) = self {
            data.payload.emit(out);
        }
    }

    /// Appends the bytes of the header: of an ACK, all bytes.
    pub fn emit_header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start());
        if let Self::Ack(ack) = self {
            out.extend_from_slice(&ack.held.to_be_bytes());
            out.extend_from_slice(&ack.delay.to_be_bytes());
            out.extend_from_slice(ack.bitmap.used());
        }
    }

    /// The first bytes of the header, which identify the segment in notices.
    pub fn start(&self) -> [u8; 16] {
        let (first, second, words) = match self {
            Self::Data(data) => {
                let kind = if data.ask { DATA_ASK } else { DATA };
                ([kind, data.every], data.hold, [data.number, data.transmission, data.sent])
            }
            Self::Ack(ack) => {
                let bitmap = u8::try_from(ack.bitmap.used().len()).expect("at most 32 bytes");
                ([ACK, bitmap], ack.window, [ack.next, ack.newest, ack.echo])
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

    /// Bytes of the header.
    pub fn header_len(&self) -> usize {
        match self {
            Self::Data(_) => usize::from(Self::DATA_HEADER),
            Self::Ack(ack) => ACK_HEADER + ack.bitmap.used().len(),
        }
    }

    /// Application data.
    pub fn payload(&self) -> &Payload {
        match self {
            Self::Data(data) => &data.payload,
            Self::Ack(_) => &Payload::EMPTY,
        }
    }
}

fn parse_ack(mut reader: Reader<'_>) -> Result<Ack, ParseError> {
    let len = usize::from(reader.u8()?);
    let ack = Ack {
        window: reader.u16()?,
        next: reader.u32()?,
        newest: reader.u32()?,
        echo: reader.u32()?,
        held: reader.u32()?,
        delay: reader.u32()?,
        bitmap: Bitmap::default(),
    };
    let mut bitmap = Bitmap::default();
    let bytes = reader.take(len)?;
    let refusal = |name, found, allowed| ParseError::Field { name, found, allowed };
    if len > Bitmap::BYTES {
        return Err(refusal("bitmap length", u32::try_from(len).unwrap_or(u32::MAX), "0 to 32"));
    }
    if bytes.last() == Some(&0) {
        return Err(refusal("last byte of the bitmap", 0, "not zero"));
    }
    if !reader.is_empty() {
        return Err(refusal("bytes after the bitmap", 1, "none"));
    }
    bitmap.0[..len].copy_from_slice(bytes);
    Ok(Ack { bitmap, ..ack })
}

const DATA: u8 = 0x10;
const DATA_ASK: u8 = 0x11;
const ACK: u8 = 0x20;
/// Bytes of an ACK without its bitmap.
const ACK_HEADER: usize = 24;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{damage, payload};

    fn emitted(segment: &Segment) -> Vec<u8> {
        let mut out = Vec::new();
        segment.emit(&mut out);
        out
    }

    fn data() -> impl Strategy<Value = Segment> {
        (any::<(bool, u8, u16)>(), any::<(u32, u32, u32)>(), payload()).prop_map(
            |((ask, every, hold), (number, transmission, sent), payload)| {
                Segment::Data(Data { ask, every, hold, number, transmission, sent, payload })
            },
        )
    }

    fn ack() -> impl Strategy<Value = Segment> {
        (any::<(u16, u32, u32)>(), any::<(u32, u32, u32)>(), vec(0_u64..300, 0..20)).prop_map(
            |((window, next, newest), (echo, held, delay), arrived)| {
                let mut bitmap = Bitmap::default();
                arrived.into_iter().for_each(|offset| bitmap.insert(offset));
                Segment::Ack(Ack { window, next, newest, echo, held, delay, bitmap })
            },
        )
    }

    #[test]
    fn known_bytes() {
        let data = Data {
            ask: true,
            every: 8,
            hold: 2500,
            number: 5,
            transmission: 6,
            sent: 7,
            payload: b"ab".to_vec().into(),
        };
        let bytes = [0x11, 8, 0x09, 0xc4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, b'a', b'b'];
        assert_eq!(emitted(&Segment::Data(data)), bytes);
        let mut bitmap = Bitmap::default();
        [1, 3, 9].into_iter().for_each(|offset| bitmap.insert(offset));
        let ack = Ack { window: 64, next: 2, newest: 3, echo: 4, held: 5, delay: 6, bitmap };
        let bytes = [
            0x20,
            2,
            0,
            64,
            0,
            0,
            0,
            2,
            0,
            0,
            0,
            3,
            0,
            0,
            0,
            4,
            0,
            0,
            0,
            5,
            0,
            0,
            0,
            6,
            0b1010_0000,
            0b1000_0000,
        ];
        assert_eq!(emitted(&Segment::Ack(ack)), bytes);
    }

    #[test]
    fn a_bitmap_covers_256_segments() {
        let mut bitmap = Bitmap::default();
        [0, 256, 257, u64::MAX].into_iter().for_each(|offset| bitmap.insert(offset));
        let found: Vec<u64> = (0..300).filter(|&offset| bitmap.contains(offset)).collect();
        assert_eq!(found, [256]);
    }

    #[test]
    fn what_is_not_a_segment_is_refused() {
        let refused = |bytes: &[u8]| Segment::parse(bytes).unwrap_err().to_string();
        let mut ack = emitted(&Segment::Ack(Ack::default()));
        assert_eq!(refused(&[]), "0 bytes where at least 1 are needed");
        assert_eq!(refused(&[0x30]), "kind is 48, allowed: 0x10, 0x11 or 0x20");
        assert_eq!(refused(&[0x10; 15]), "15 bytes where at least 16 are needed");
        ack.push(1);
        assert_eq!(refused(&ack), "bytes after the bitmap is 1, allowed: none");
        ack[1] = 33;
        ack.resize(24 + 33, 1);
        assert_eq!(refused(&ack), "bitmap length is 33, allowed: 0 to 32");
        ack[1] = 2;
        ack.truncate(24);
        ack.extend([1, 0]);
        assert_eq!(refused(&ack), "last byte of the bitmap is 0, allowed: not zero");
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(segment in prop_oneof![data(), ack()]) {
            let bytes = emitted(&segment);
            prop_assert_eq!(bytes.len(), segment.header_len() + segment.payload().len());
            prop_assert_eq!(&bytes[..16], segment.start());
            prop_assert_eq!(Segment::parse(&bytes), Ok(segment));
        }

        #[test]
        fn parse_never_panics(
            bytes in any::<Vec<u8>>(),
            segment in prop_oneof![data(), ack()],
            damage in damage(),
        ) {
            let _ = Segment::parse(&bytes);
            let mut bytes = emitted(&segment);
            damage.apply(&mut bytes);
            if let Ok(segment) = Segment::parse(&bytes) {
                prop_assert_eq!(emitted(&segment), bytes);
            }
        }
    }
}
