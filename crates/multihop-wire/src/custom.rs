//! Segments of user-defined transports on real networks, whose own messages have no connection.
//!
//! The connection number in a segment is that of its sender, as in its SYN.
//!
//! # Bytes
//!
//! | first byte | segment | bytes behind it |
//! |---|---|---|
//! | 0x34 | ACK | first byte of the acknowledged segment (1): 0x31, 0x33 or 0x35; 0 (2), connection number (4) |
//! | 0x35 | close | 0 (3), connection number (4) |
//! | 0x40 | message | 0 (1), length of the header (2), connection number (4), header, data |
//!
//! Each segment has the connection number of its sender. An RST that answers a segment has the number of that
//! segment. A keepalive has its sender's number plus one.

use alloc::vec::Vec;

use multihop_core::{Payload, SegmentId};

use crate::ParseError;
use crate::control::{Control, end};
use crate::reader::Reader;

/// A segment of a user-defined transport.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// A control segment, which opens, watches or resets the connection. A keepalive has the connection
    /// number plus one.
    Control(Control),
    /// Acknowledges a control segment or [`Close`](Self::Close).
    Ack(Ack),
    /// The sender transmits no further data, and all that it has transmitted has arrived. The number is the
    /// connection number.
    Close(u32),
    /// A message of the user-defined transport.
    Message(Message),
}

/// The acknowledgement of a segment without data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ack {
    /// Connection number of the ACK's sender, as in its SYN.
    pub number: u32,
    /// The kind of the acknowledged segment.
    pub of: Acked,
}

/// The segments that an [`Ack`] acknowledges.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Acked {
    /// The SYN ACK that answered the caller's SYN.
    SynAck,
    /// A keepalive, which checks that the peer still has the connection.
    KeepAlive,
    /// A [`Close`](Segment::Close) of the peer.
    Close,
}

/// A message of a user-defined transport.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Message {
    /// Connection number of the sender, as in its SYN.
    pub number: u32,
    /// The header of the transport: at most 65,535 bytes.
    pub header: Vec<u8>,
    /// Application data after the transport's header.
    pub data: Payload,
}

impl Segment {
    /// Number of bytes in front of the header of a message.
    pub const MESSAGE_HEADER: u16 = 8;

    /// Reads a segment from all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        Self::parse_into(bytes, &mut None)
    }

    /// Parses a segment from all of `bytes`. The data of a message reuses the buffer in `memory` if there is
    /// one.
    pub fn parse_into(bytes: &[u8], memory: &mut Option<Vec<u8>>) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            kind if Control::has_kind(kind) => Control::parse(bytes).map(Self::Control),
            ACK => parse_ack(reader).map(Self::Ack),
            CLOSE => {
                reader.take(3)?;
                let number = reader.u32()?;
                end(&reader)?;
                Ok(Self::Close(number))
            }
            MESSAGE => {
                reader.take(1)?;
                let len = reader.u16()?;
                let number = reader.u32()?;
                let header = reader.take(len.into())?.to_vec();
                Ok(Self::Message(Message { number, header, data: reader.payload_in(memory) }))
            }
            kind => {
                Err(ParseError::Field { name: "kind", found: kind.into(), allowed: "0x30 to 0x35, 0x40" })
            }
        }
    }

    /// Appends the bytes of the segment.
    ///
    /// # Panics
    ///
    /// If the header of a message is longer than 65,535 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Control(control) => control.emit(out),
            Self::Ack(ack) => {
                out.extend_from_slice(&[ACK, ack.of.kind(), 0, 0]);
                out.extend_from_slice(&ack.number.to_be_bytes());
            }
            Self::Close(number) => {
                out.extend_from_slice(&[CLOSE, 0, 0, 0]);
                out.extend_from_slice(&number.to_be_bytes());
            }
            Self::Message(message) => {
                let len = u16::try_from(message.header.len()).expect("the header has at most 65,535 bytes");
                out.extend_from_slice(&[MESSAGE, 0]);
                out.extend_from_slice(&len.to_be_bytes());
                out.extend_from_slice(&message.number.to_be_bytes());
                out.extend_from_slice(&message.header);
                message.data.emit(out);
            }
        }
    }

    /// Length of the segment as bytes.
    pub fn wire_len(&self) -> usize {
        match self {
            Self::Control(control) => control.wire_len(),
            Self::Ack(_) | Self::Close(_) => 8,
            Self::Message(message) => {
                usize::from(Self::MESSAGE_HEADER) + message.header.len() + message.data.len()
            }
        }
    }

    /// The identity of this segment in notices: for a message, the first bytes of its transport's header.
    pub fn id(&self) -> SegmentId {
        let Self::Message(message) = self else { return SegmentId::Other };
        let mut start = [0; 16];
        let len = message.header.len().min(start.len());
        start[..len].copy_from_slice(&message.header[..len]);
        SegmentId::Custom(start)
    }
}

impl Acked {
    const ALL: [Self; 3] = [Self::SynAck, Self::KeepAlive, Self::Close];

    /// The first byte of the acknowledged segment.
    const fn kind(self) -> u8 {
        match self {
            Self::SynAck => 0x31,
            Self::KeepAlive => 0x33,
            Self::Close => CLOSE,
        }
    }
}

/// Parses an acknowledgement without its first byte, the kind.
fn parse_ack(mut reader: Reader<'_>) -> Result<Ack, ParseError> {
    let kind = reader.u8()?;
    reader.take(2)?;
    let number = reader.u32()?;
    end(&reader)?;
    let of = Acked::ALL.into_iter().find(|acked| acked.kind() == kind);
    let of = of.ok_or(ParseError::Field {
        name: "kind of the acknowledged segment",
        found: kind.into(),
        allowed: "0x31, 0x33, 0x35",
    })?;
    Ok(Ack { number, of })
}

const ACK: u8 = 0x34;
const CLOSE: u8 = 0x35;
const MESSAGE: u8 = 0x40;

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

    fn segment() -> impl Strategy<Value = Segment> {
        let acked = prop_oneof![Just(Acked::SynAck), Just(Acked::KeepAlive), Just(Acked::Close)];
        let message = (any::<u32>(), vec(any::<u8>(), 0..40), payload());
        prop_oneof![
            any::<u32>().prop_map(|number| Segment::Control(Control::KeepAlive(number))),
            (any::<u32>(), acked).prop_map(|(number, of)| Segment::Ack(Ack { number, of })),
            any::<u32>().prop_map(Segment::Close),
            message.prop_map(|(number, header, data)| Segment::Message(Message { number, header, data })),
        ]
    }

    #[test]
    fn known_bytes() {
        let ack = Ack { number: 5, of: Acked::Close };
        assert_eq!(emitted(&Segment::Ack(ack)), [0x34, 0x35, 0, 0, 0, 0, 0, 5]);
        assert_eq!(emitted(&Segment::Close(5)), [0x35, 0, 0, 0, 0, 0, 0, 5]);
        let message = Message { number: 5, header: vec![1, 2], data: b"ab".to_vec().into() };
        assert_eq!(emitted(&Segment::Message(message)), [0x40, 0, 0, 2, 0, 0, 0, 5, 1, 2, b'a', b'b']);
    }

    #[test]
    fn refused_bytes_are_named() {
        let refused = |bytes: &[u8]| Segment::parse(bytes).unwrap_err().to_string();
        assert_eq!(refused(&[]), "0 bytes where at least 1 are needed");
        assert_eq!(refused(&[0x36, 0]), "kind is 54, allowed: 0x30 to 0x35, 0x40");
        assert_eq!(
            refused(&[0x34, 0x30, 0, 0, 0, 0, 0, 5]),
            "kind of the acknowledged segment is 48, allowed: 0x31, 0x33, 0x35"
        );
        assert_eq!(refused(&[0x35, 0, 0, 0, 0, 0, 0, 5, 1]), "bytes after the segment is 1, allowed: none");
        assert_eq!(
            refused(&[0x40, 0, 0, 3, 0, 0, 0, 5, 1, 2]),
            "10 bytes where at least 11 are needed",
            "the header is longer than the segment"
        );
    }

    #[test]
    fn notices_identify_a_message_by_the_start_of_its_header() {
        let header: Vec<u8> = (1..=20).collect();
        let message = Message { header: header.clone(), ..Message::default() };
        assert_eq!(Segment::Message(message).id(), SegmentId::Custom(*header.first_chunk().unwrap()));
        let message = Message { header: vec![9], ..Message::default() };
        let mut start = [0; 16];
        start[0] = 9;
        assert_eq!(Segment::Message(message).id(), SegmentId::Custom(start));
        assert_eq!(Segment::Close(1).id(), SegmentId::Other);
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(segment in segment()) {
            prop_assert_eq!(emitted(&segment).len(), segment.wire_len());
            prop_assert_eq!(Segment::parse(&emitted(&segment)), Ok(segment));
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), segment in segment(), damage in damage()) {
            let _ = Segment::parse(&bytes);
            let mut bytes = emitted(&segment);
            damage.apply(&mut bytes);
            if let Ok(segment) = Segment::parse(&bytes) {
                prop_assert_eq!(Segment::parse(&emitted(&segment)), Ok(segment));
            }
        }
    }
}
