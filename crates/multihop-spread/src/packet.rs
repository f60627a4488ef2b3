//! Packets that neighbours exchange.
//!
//! # Bytes
//!
//! A number in parentheses is a length in bytes; numbers are big-endian. A packet begins with three bytes:
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 1 | kind | 1 OFFER, 2 SYMBOL, 3 NEED, 4 REPORT, 5 SEEK |
//! | 1 | distance | hops between the source and the node that sends the packet; 255: unknown |
//! | 1 | backlog | packets that wait at the node or farther from the source, at most 255 |
//!
//! | kind | content |
//! |---|---|
//! | OFFER | start of the source (8; milliseconds since 1970), round (4), blocks begun (4), signature (64), header |
//! | SYMBOL | transfer (8), block (4), encoding symbol identifier of RFC 6330 (4; below 2^24), symbol |
//! | NEED | transfer (8); for each block its number (4) and the number of missing symbols (2) |
//! | REPORT | transfer (8); for each receiver its identifier (8), leading whole blocks (4), length of its name (1; at most 32), name (UTF-8) |
//! | SEEK | no content |
//!
//! In a REPORT, one more than the number of blocks means that the file is verified and stored; 2^32 - 1 means that
//! the receiver refuses the file. Receivers ignore SYMBOL with another length than the header's, unknown transfers
//! and unknown blocks.

use multihop_wire::ParseError;
use multihop_wire::reader::Reader;

use crate::header::{MAX_SYMBOL, TransferId};

/// A packet to all neighbours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Packet {
    /// Hops between the source and the node that sends this packet; [`UNKNOWN`] before it has an offer.
    pub distance: u8,
    /// Packets that wait at this node and at nodes farther from the source.
    pub backlog: u8,
    /// Content of the packet.
    pub body: Body,
}

/// Content of a packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Body {
    /// A file is offered. Nodes forward each round once.
    Offer(Offer),
    /// A symbol of a block.
    Symbol(Symbol),
    /// A node lacks symbols.
    Need {
        /// Identifier of the transfer.
        transfer: TransferId,
        /// Blocks, and the number of symbols that the node lacks of each.
        blocks: Vec<(u32, u16)>,
    },
    /// Progress of receivers, on its way to the source.
    Report {
        /// Identifier of the transfer.
        transfer: TransferId,
        /// Receivers in any order.
        receivers: Vec<Progress>,
    },
    /// A node looks for offers.
    Seek,
}

/// A signed header, and how far the source is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Offer {
    /// Start of the source, in milliseconds since 1970.
    pub start: u64,
    /// Counts the offers since this start.
    pub round: u32,
    /// Blocks whose symbols the source has begun to send.
    pub begun: u32,
    /// Bytes of the header.
    pub header: Vec<u8>,
    /// Signature of the source over the header.
    pub signature: [u8; 64],
}

/// A symbol of a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Symbol {
    /// Identifier of the transfer.
    pub transfer: TransferId,
    /// Number of the block.
    pub block: u32,
    /// Encoding symbol identifier of RFC 6330; below the block's number of symbols for its contents.
    pub id: u32,
    /// Contents of the symbol.
    pub data: Vec<u8>,
}

/// Progress of one receiver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Progress {
    /// Identifier of the receiver.
    pub receiver: u64,
    /// Number of leading whole blocks; [`REFUSED`] if the receiver does not take the file. One more than the number of
    /// blocks means that the whole file is verified and stored.
    pub blocks: u32,
    /// Name of the receiver, for people.
    pub name: String,
}

impl Packet {
    /// Bytes of the packet.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![self.body.kind(), self.distance, self.backlog];
        match &self.body {
            Body::Offer(offer) => offer.emit(&mut out),
            Body::Symbol(symbol) => symbol.emit(&mut out),
            Body::Need { transfer, blocks } => {
                out.extend(transfer.0.to_be_bytes());
                for (block, count) in blocks {
                    out.extend(block.to_be_bytes());
                    out.extend(count.to_be_bytes());
                }
            }
            Body::Report { transfer, receivers } => {
                out.extend(transfer.0.to_be_bytes());
                receivers.iter().for_each(|progress| progress.emit(&mut out));
            }
            Body::Seek => {}
        }
        out
    }

    /// Parses the bytes of a packet.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes);
        let (kind, distance, backlog) = (reader.u8()?, reader.u8()?, reader.u8()?);
        Ok(Self { distance, backlog, body: Body::parse(kind, reader)? })
    }
}

impl Body {
    /// Name of the packet's kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Offer(_) => "offer",
            Self::Symbol(_) => "symbol",
            Self::Need { .. } => "need",
            Self::Report { .. } => "report",
            Self::Seek => "seek",
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Offer(_) => OFFER,
            Self::Symbol(_) => SYMBOL,
            Self::Need { .. } => NEED,
            Self::Report { .. } => REPORT,
            Self::Seek => SEEK,
        }
    }

    fn parse(kind: u8, mut reader: Reader<'_>) -> Result<Self, ParseError> {
        let body = match kind {
            OFFER => return Offer::parse(reader).map(Self::Offer),
            SYMBOL => return Symbol::parse(reader).map(Self::Symbol),
            NEED => {
                let transfer = id(&mut reader)?;
                let mut blocks = Vec::new();
                while !reader.is_empty() {
                    blocks.push((reader.u32()?, reader.u16()?));
                }
                Self::Need { transfer, blocks }
            }
            REPORT => {
                let (transfer, mut receivers) = (id(&mut reader)?, Vec::new());
                while !reader.is_empty() {
                    receivers.push(Progress::parse(&mut reader)?);
                }
                Self::Report { transfer, receivers }
            }
            SEEK => Self::Seek,
            _ => return Err(ParseError::Field { name: "kind", found: kind.into(), allowed: "1 to 5" }),
        };
        let rest = reader.rest().len();
        if rest == 0 { Ok(body) } else { Err(field("length after SEEK", rest, "0")) }
    }
}

impl Offer {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.start.to_be_bytes());
        out.extend(self.round.to_be_bytes());
        out.extend(self.begun.to_be_bytes());
        out.extend(self.signature);
        out.extend(&self.header);
    }

    fn parse(mut reader: Reader<'_>) -> Result<Self, ParseError> {
        let start = u64::from_be_bytes(reader.array()?);
        let (round, begun, signature) = (reader.u32()?, reader.u32()?, reader.array()?);
        Ok(Self { start, round, begun, header: reader.rest().to_vec(), signature })
    }
}

impl Symbol {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.transfer.0.to_be_bytes());
        out.extend(self.block.to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend(&self.data);
    }

    fn parse(mut reader: Reader<'_>) -> Result<Self, ParseError> {
        let (transfer, block, id) = (id(&mut reader)?, reader.u32()?, reader.u32()?);
        let data = reader.rest();
        if id >= MAX_SYMBOL_ID {
            return Err(ParseError::Field { name: "symbol identifier", found: id, allowed: "24 bits" });
        }
        if data.len() > MAX_SYMBOL.into() {
            return Err(field("length of a symbol", data.len(), "at most 1400"));
        }
        Ok(Self { transfer, block, id, data: data.to_vec() })
    }
}

impl Progress {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.receiver.to_be_bytes());
        out.extend(self.blocks.to_be_bytes());
        let name = &self.name.as_bytes()[..self.name.floor_char_boundary(MAX_NAME)];
        out.push(u8::try_from(name.len()).expect("at most MAX_NAME bytes"));
        out.extend(name);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let receiver = u64::from_be_bytes(reader.array()?);
        let (blocks, length) = (reader.u32()?, reader.u8()?.into());
        if length > MAX_NAME {
            return Err(field("length of a name", length, "at most 32"));
        }
        let name = String::from_utf8(reader.take(length)?.to_vec());
        let name = name.map_err(|error| field("name", error.utf8_error().valid_up_to(), "UTF-8"))?;
        Ok(Self { receiver, blocks, name })
    }

    /// Length of the entry, bytes.
    pub(crate) fn len(&self) -> usize {
        13 + self.name.len().min(MAX_NAME)
    }
}

fn field(name: &'static str, found: usize, allowed: &'static str) -> ParseError {
    ParseError::Field { name, found: found.try_into().unwrap_or(u32::MAX), allowed }
}

fn id(reader: &mut Reader<'_>) -> Result<TransferId, ParseError> {
    reader.array().map(u64::from_be_bytes).map(TransferId)
}

const OFFER: u8 = 1;
const SYMBOL: u8 = 2;
const NEED: u8 = 3;
const REPORT: u8 = 4;
const SEEK: u8 = 5;
/// Distance of a node that does not know its distance.
pub const UNKNOWN: u8 = 255;
/// Progress of a receiver that does not take the file.
pub const REFUSED: u32 = u32::MAX;
/// Encoding symbol identifiers have 24 bits.
pub(crate) const MAX_SYMBOL_ID: u32 = 1 << 24;
/// Longest name of a receiver, bytes.
pub const MAX_NAME: usize = 32;
/// Length of the longest packet, bytes.
pub const MAX_PACKET: usize = 19 + MAX_SYMBOL as usize;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn body() -> impl Strategy<Value = Body> {
        let transfer = || any::<u64>().prop_map(TransferId);
        let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
        let offer = (any::<(u64, u32, u32)>(), bytes(400), any::<u8>());
        let symbol = (transfer(), any::<u32>(), 0..MAX_SYMBOL_ID, bytes(1400));
        let need = (transfer(), proptest::collection::vec(any::<(u32, u16)>(), 0..9));
        let progress = (any::<(u64, u32)>(), "[a-zä]{0,16}")
            .prop_map(|((receiver, blocks), name)| Progress { receiver, blocks, name });
        let report = (transfer(), proptest::collection::vec(progress, 0..9));
        prop_oneof![
            offer.prop_map(|((start, round, begun), header, byte)| {
                Body::Offer(Offer { start, round, begun, header, signature: [byte; 64] })
            }),
            symbol.prop_map(|(transfer, block, id, data)| Body::Symbol(Symbol { transfer, block, id, data })),
            need.prop_map(|(transfer, blocks)| Body::Need { transfer, blocks }),
            report.prop_map(|(transfer, receivers)| Body::Report { transfer, receivers }),
            Just(Body::Seek),
        ]
    }

    proptest! {
        #[test]
        fn a_packet_survives_its_bytes(distance: u8, backlog: u8, body in body()) {
            let packet = Packet { distance, backlog, body };
            let bytes = packet.emit();
            prop_assert!(bytes.len() <= MAX_PACKET);
            prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(packet) = Packet::parse(&bytes) {
                prop_assert_eq!(packet.emit(), bytes);
            }
        }
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let progress = Progress { receiver: 1, blocks: 2, name: "ä".repeat(17) };
        let packet = Packet {
            distance: 0,
            backlog: 0,
            body: Body::Report { transfer: TransferId(1), receivers: vec![progress] },
        };
        let Body::Report { receivers, .. } = Packet::parse(&packet.emit()).unwrap().body else { panic!() };
        assert_eq!(receivers[0].name, "ä".repeat(16));
    }
}
