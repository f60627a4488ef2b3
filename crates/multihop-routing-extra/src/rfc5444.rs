//! Packets of mobile ad hoc networks (RFC 5444): messages with addresses, and attributes (TLVs) of all three.
//!
//! The addresses of a message have four bytes, or sixteen; messages with other lengths are skipped. Common parts of addresses and
//! attributes are sent once, so that parsing and emitting never lengthens a packet.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use core::ops::Range;

use multihop_wire::ParseError;
use multihop_wire::reader::Reader;

mod emit;
mod parse;

pub(crate) use parse::next_tlv;

/// The UDP port of all protocols that use this format (RFC 5498).
pub const PORT: u16 = 269;

/// A packet in the general format of RFC 5444: attributes and messages.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Packet {
    /// Counts the packets of the sending interface.
    pub sequence: Option<u16>,
    /// Attributes of the packet.
    pub tlvs: Vec<Tlv>,
    /// Messages of the sender, and messages that it forwards.
    pub messages: Vec<Message>,
}

/// A message with its header, attributes and address blocks.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Message {
    /// Type of the message, which identifies the protocol.
    pub kind: u8,
    /// Whether all addresses of the message have sixteen bytes (IPv6); otherwise they have four.
    pub is_ipv6: bool,
    /// Address of the node that created the message.
    pub originator: Option<IpAddr>,
    /// Number of hops that the message may still travel.
    pub hop_limit: Option<u8>,
    /// Number of hops that the message has travelled.
    pub hop_count: Option<u8>,
    /// Counts the messages of the originator.
    pub sequence: Option<u16>,
    /// Attributes of the message.
    pub tlvs: Vec<Tlv>,
    /// Addresses and their attributes.
    pub blocks: Vec<AddressBlock>,
}

/// An attribute of a packet or a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tlv {
    /// Type of the attribute.
    pub kind: u8,
    /// Type extension, whose meaning depends on the type; usually 0.
    pub extension: u8,
    /// Value of the attribute, at most 65,535 bytes.
    pub value: Option<Vec<u8>>,
}

/// Block of addresses, with the attributes of one or all of them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AddressBlock {
    /// Addresses of the block, all different: 1 to 255.
    pub addresses: Vec<Address>,
    /// Attributes of the block's addresses.
    pub tlvs: Vec<AddressTlv>,
}

/// An address of a node, or of a network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Address {
    /// IP address of the node or network.
    pub address: IpAddr,
    /// The length of the network's prefix in bits, up to that of the address; for a node, that of the address.
    pub prefix: u8,
}

/// An attribute of consecutive addresses of a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AddressTlv {
    /// Type of the attribute.
    pub kind: u8,
    /// Type extension, whose meaning depends on the type; usually 0.
    pub extension: u8,
    /// Index of the first address that has the attribute.
    pub first: u8,
    /// Index of the last address that has the attribute.
    pub last: u8,
    /// Values of the attribute for these addresses.
    pub values: Values,
}

/// The values of an attribute of several addresses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Values {
    /// The attribute has no value.
    None,
    /// One value that applies to all addresses.
    Same(Vec<u8>),
    /// Each of two or more addresses has a value, all of this length in bytes, at least 1.
    Each {
        /// Length of each value, bytes.
        len: usize,
        /// Concatenated values of all addresses.
        bytes: Vec<u8>,
    },
}

impl Packet {
    /// Parses the data of a UDP datagram.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        parse::packet(Reader::new(bytes))
    }

    /// Appends the bytes of the packet.
    ///
    /// # Panics
    ///
    /// If a message or a value is longer than its format allows.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::packet(self, out);
    }
}

impl Message {
    /// Length of the message in a packet, bytes.
    pub fn wire_len(&self) -> usize {
        emit::message_len(self)
    }
}

impl Tlv {
    /// An attribute with a value of one byte.
    pub fn byte(kind: u8, value: u8) -> Self {
        Self { kind, extension: 0, value: Some(alloc::vec![value]) }
    }
}

impl Address {
    /// Address of a single node.
    pub fn host(address: impl Into<IpAddr>) -> Self {
        let address = address.into();
        Self { address, prefix: bits(width(address.is_ipv6())) }
    }

    /// Whether the address is that of a single node.
    pub fn is_host(self) -> bool {
        self == Self::host(self.address)
    }
}

impl AddressBlock {
    /// Adds an attribute to the addresses that have a value; all values have this many bytes.
    ///
    /// # Panics
    ///
    /// If there are not as many values as addresses.
    pub fn tag<const LEN: usize>(&mut self, kind: u8, extension: u8, values: &[Option<[u8; LEN]>]) {
        assert_eq!(values.len(), self.addresses.len(), "a value, or none, for each address");
        let mut at = 0;
        for run in values.chunk_by(|a, b| a.is_some() && b.is_some()) {
            let found: Vec<_> = run.iter().flatten().collect();
            if let Some((&first, rest)) = found.split_first() {
                let index = |n: usize| u8::try_from(n).expect("up to 255 addresses");
                let values = if rest.iter().all(|&value| value == first) {
                    Values::Same(first.to_vec())
                } else {
                    Values::Each { len: LEN, bytes: found.into_iter().flatten().copied().collect() }
                };
                let (first, last) = (index(at), index(at + run.len() - 1));
                self.tlvs.push(AddressTlv { kind, extension, first, last, values });
            }
            at += run.len();
        }
    }

    /// Values of this attribute for the address at this index.
    pub fn values(&self, at: usize, kind: u8, extension: u8) -> impl Iterator<Item = &[u8]> {
        let wanted = move |tlv: &&AddressTlv| tlv.kind == kind && tlv.extension == extension;
        self.tlvs.iter().filter(wanted).filter_map(move |tlv| tlv.value_of(at))
    }
}

impl AddressTlv {
    /// Value for the address at this index; empty if the attribute has no value, `None` if the attribute does
    /// not cover the address.
    fn value_of(&self, at: usize) -> Option<&[u8]> {
        let nth = at.checked_sub(self.first.into()).filter(|_| at <= self.last.into())?;
        Some(match &self.values {
            Values::None => &[],
            Values::Same(value) => value,
            Values::Each { len, bytes } => &bytes[nth * len..(nth + 1) * len],
        })
    }

    fn count(&self) -> usize {
        usize::from(self.last - self.first) + 1
    }
}

/// Place of the TLVs of a packet in its bytes; `None` if the packet has none.
pub(crate) fn tlv_block(bytes: &[u8]) -> Option<Range<usize>> {
    let flags = *bytes.first()?;
    let length = if flags & PACKET_SEQUENCE != 0 { 3 } else { 1 };
    let start = length + 2;
    let [high, low] = *bytes.get(length..start)?.first_chunk()?;
    let end = start + usize::from(u16::from_be_bytes([high, low]));
    (flags >> 4 == 0 && flags & PACKET_TLVS != 0 && end <= bytes.len()).then_some(start..end)
}

/// Flag in the header of a packet with a sequence number.
const PACKET_SEQUENCE: u8 = 0x08;
const PACKET_TLVS: u8 = 0x04;

/// Flag in the header of a message with an originator.
const ORIGINATOR: u8 = 0x80;
const HOP_LIMIT: u8 = 0x40;
const HOP_COUNT: u8 = 0x20;
const SEQUENCE: u8 = 0x10;

/// Bits of the flags byte with the address length: the number of bytes, minus one.
const ADDRESS_LENGTH: u8 = 0x0f;

/// Flag of a block whose addresses share their first bytes.
const HEAD: u8 = 0x80;
const FULL_TAIL: u8 = 0x40;
const ZERO_TAIL: u8 = 0x20;
const SINGLE_PREFIX: u8 = 0x10;
const MULTI_PREFIX: u8 = 0x08;

/// Flag in the header of a TLV with a type extension.
const EXTENSION: u8 = 0x80;
const SINGLE_INDEX: u8 = 0x40;
const MULTI_INDEX: u8 = 0x20;
const VALUE: u8 = 0x10;
const LONG: u8 = 0x08;
const MULTI_VALUE: u8 = 0x04;

/// Length of the longest address, bytes.
const LONGEST: usize = 16;

/// Length of an address, bytes.
const fn width(is_ipv6: bool) -> usize {
    if is_ipv6 { LONGEST } else { 4 }
}

/// Number of bits of this many bytes, at most [`LONGEST`].
fn bits(bytes: usize) -> u8 {
    u8::try_from(8 * bytes).expect("at most 128 bits")
}

/// Bytes of an address, followed by zeros.
fn octets(address: IpAddr) -> [u8; LONGEST] {
    let mut all = [0; LONGEST];
    match address {
        IpAddr::V4(address) => all[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => all = address.octets(),
    }
    all
}

/// Address with these bytes.
fn address(all: [u8; LONGEST], is_ipv6: bool) -> IpAddr {
    let [a, b, c, d, ..] = all;
    if is_ipv6 { Ipv6Addr::from(all).into() } else { IpAddr::from([a, b, c, d]) }
}

#[cfg(test)]
mod tests;
