//! Packets of mobile ad hoc networks (RFC 5444): messages with addresses, and attributes (TLVs) of all three.
//!
//! Addresses have four bytes; messages with longer or shorter ones are skipped. What addresses and attributes have in
//! common is sent once, so that no packet becomes longer by parsing and emitting it.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::ParseError;
use crate::reader::Reader;

mod emit;
mod parse;

/// The UDP port of all protocols that use this format (RFC 5498).
pub const PORT: u16 = 269;

/// A packet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Packet {
    /// Counts the packets of the sending interface.
    pub sequence: Option<u16>,
    /// Attributes of the packet.
    pub tlvs: Vec<Tlv>,
    /// Messages of the sender, and those that it forwards.
    pub messages: Vec<Message>,
}

/// A message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Message {
    /// Its type.
    pub kind: u8,
    /// The node that made it.
    pub originator: Option<Ipv4Addr>,
    /// Remaining hops.
    pub hop_limit: Option<u8>,
    /// How many times it was forwarded.
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
    /// Its type.
    pub kind: u8,
    /// What the type means by itself; usually 0.
    pub extension: u8,
    /// At most 65,535 bytes.
    pub value: Option<Vec<u8>>,
}

/// Addresses that attributes share.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AddressBlock {
    /// Up to 255 different ones, at least one.
    pub addresses: Vec<Address>,
    /// Their attributes.
    pub tlvs: Vec<AddressTlv>,
}

/// An address of a node, or of a network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Address {
    /// The address.
    pub address: Ipv4Addr,
    /// The length of the network's prefix, up to 32; 32 for a node.
    pub prefix: u8,
}

/// An attribute of consecutive addresses of a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AddressTlv {
    /// Its type.
    pub kind: u8,
    /// What the type means by itself; usually 0.
    pub extension: u8,
    /// Index of the first address that has it.
    pub first: u8,
    /// Index of the last one.
    pub last: u8,
    /// Its values.
    pub values: Values,
}

/// The values of an attribute of several addresses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Values {
    /// It has none.
    None,
    /// All addresses have this one.
    Same(Vec<u8>),
    /// Two or more addresses have one each, of this many bytes, at least one.
    Each {
        /// Bytes of one value.
        len: usize,
        /// The values, one after another.
        bytes: Vec<u8>,
    },
}

impl Packet {
    /// Parses the data of a UDP datagram.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        parse::packet(Reader::new(bytes))
    }

    /// Appends the packet.
    ///
    /// # Panics
    ///
    /// If a message or a value is longer than its format allows.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::packet(self, out);
    }
}

impl Tlv {
    /// An attribute with a value of one byte.
    pub fn byte(kind: u8, value: u8) -> Self {
        Self { kind, extension: 0, value: Some(alloc::vec![value]) }
    }
}

impl Address {
    /// The address of a node.
    pub const fn host(address: Ipv4Addr) -> Self {
        Self { address, prefix: 32 }
    }
}

impl AddressBlock {
    /// Gives an attribute to the addresses that have a value; all values have this many bytes.
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

    /// The values of this attribute that an address has.
    pub fn values(&self, at: usize, kind: u8, extension: u8) -> impl Iterator<Item = &[u8]> {
        let wanted = move |tlv: &&AddressTlv| tlv.kind == kind && tlv.extension == extension;
        self.tlvs.iter().filter(wanted).filter_map(move |tlv| tlv.value_of(at))
    }
}

impl AddressTlv {
    /// The value that an address has; empty if the attribute has none, `None` if it is not an attribute of the address.
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

/// Flags of a packet.
const PACKET_SEQUENCE: u8 = 0x08;
const PACKET_TLVS: u8 = 0x04;

/// Flags of a message.
const ORIGINATOR: u8 = 0x80;
const HOP_LIMIT: u8 = 0x40;
const HOP_COUNT: u8 = 0x20;
const SEQUENCE: u8 = 0x10;

/// The bits of the same byte that tell the length of addresses: one less.
const ADDRESS_LENGTH: u8 = 3;

/// Flags of a block of addresses.
const HEAD: u8 = 0x80;
const FULL_TAIL: u8 = 0x40;
const ZERO_TAIL: u8 = 0x20;
const SINGLE_PREFIX: u8 = 0x10;
const MULTI_PREFIX: u8 = 0x08;

/// Flags of a TLV.
const EXTENSION: u8 = 0x80;
const SINGLE_INDEX: u8 = 0x40;
const MULTI_INDEX: u8 = 0x20;
const VALUE: u8 = 0x10;
const LONG: u8 = 0x08;
const MULTI_VALUE: u8 = 0x04;

/// Bytes of an address.
const ADDRESS: usize = ADDRESS_LENGTH as usize + 1;

#[cfg(test)]
mod tests;
