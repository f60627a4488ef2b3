//! Decodes packets in the general format of RFC 5444.

use alloc::vec::Vec;
use core::net::IpAddr;

use multihop_wire::ParseError;
use multihop_wire::reader::Reader;

use super::{
    ADDRESS_LENGTH, Address, AddressBlock, AddressTlv, EXTENSION, FULL_TAIL, HEAD, HOP_COUNT, HOP_LIMIT,
    LONG, LONGEST, MULTI_INDEX, MULTI_PREFIX, MULTI_VALUE, Message, ORIGINATOR, PACKET_SEQUENCE, PACKET_TLVS,
    Packet, SEQUENCE, SINGLE_INDEX, SINGLE_PREFIX, Tlv, VALUE, Values, ZERO_TAIL, address, bits, width,
};

pub(super) fn packet(mut r: Reader<'_>) -> Result<Packet, ParseError> {
    let first = r.u8()?;
    if first >> 4 != 0 {
        return Err(field("version", first >> 4, "0"));
    }
    let sequence = if first & PACKET_SEQUENCE != 0 { Some(r.u16()?) } else { None };
    let tlvs = if first & PACKET_TLVS != 0 { tlvs(&mut r)? } else { Vec::new() };
    let mut messages = Vec::new();
    while !r.is_empty() {
        messages.extend(message(&mut r)?);
    }
    Ok(Packet { sequence, tlvs, messages })
}

/// Parses a message; `None` if its addresses have neither four nor sixteen bytes.
fn message(r: &mut Reader<'_>) -> Result<Option<Message>, ParseError> {
    let (kind, flags, size) = (r.u8()?, r.u8()?, usize::from(r.u16()?));
    let Some(len) = size.checked_sub(HEADER) else {
        return Err(ParseError::Truncated { found: size, needed: HEADER });
    };
    let mut r = Reader::new(r.take(len)?);
    let is_ipv6 = usize::from(flags & ADDRESS_LENGTH) + 1 == width(true);
    if usize::from(flags & ADDRESS_LENGTH) + 1 != width(is_ipv6) {
        return Ok(None);
    }
    let has = |flag| flags & flag != 0;
    let originator = if has(ORIGINATOR) { Some(single(&mut r, is_ipv6)?) } else { None };
    let hop_limit = if has(HOP_LIMIT) { Some(r.u8()?) } else { None };
    let hop_count = if has(HOP_COUNT) { Some(r.u8()?) } else { None };
    let sequence = if has(SEQUENCE) { Some(r.u16()?) } else { None };
    let tlvs = tlvs(&mut r)?;
    let mut blocks = Vec::new();
    while !r.is_empty() {
        blocks.push(block(&mut r, is_ipv6)?);
    }
    Ok(Some(Message { kind, is_ipv6, originator, hop_limit, hop_count, sequence, tlvs, blocks }))
}

/// Parses an address that is not part of a block.
fn single(r: &mut Reader<'_>, is_ipv6: bool) -> Result<IpAddr, ParseError> {
    let (mut bytes, width) = ([0; LONGEST], width(is_ipv6));
    bytes[..width].copy_from_slice(r.take(width)?);
    Ok(address(bytes, is_ipv6))
}

fn block(r: &mut Reader<'_>, is_ipv6: bool) -> Result<AddressBlock, ParseError> {
    let addresses = addresses(r, is_ipv6)?;
    let len = usize::from(r.u16()?);
    let mut r = Reader::new(r.take(len)?);
    let mut tlvs = Vec::new();
    while !r.is_empty() {
        tlvs.push(address_tlv(&mut r, addresses.len())?);
    }
    Ok(AddressBlock { addresses, tlvs })
}

fn addresses(r: &mut Reader<'_>, is_ipv6: bool) -> Result<Vec<Address>, ParseError> {
    let width = width(is_ipv6);
    let (count, flags) = (r.u8()?, r.u8()?);
    if count == 0 {
        return Err(field("num-addr", count, "1 or more"));
    }
    let mut bytes = [0; LONGEST];
    let mut head = 0;
    if flags & HEAD != 0 {
        head = part(r, width)?;
        bytes[..head].copy_from_slice(r.take(head)?);
    }
    let mut end = width;
    if flags & (FULL_TAIL | ZERO_TAIL) != 0 {
        end -= part(r, width - head)?;
        if flags & FULL_TAIL != 0 {
            bytes[end..width].copy_from_slice(r.take(width - end)?);
        }
    }
    if head == end && count > 1 {
        return Err(field("num-addr", count, "1, of an address that is all head and tail"));
    }
    let mut all = Vec::with_capacity(count.into());
    for _ in 0..count {
        bytes[head..end].copy_from_slice(r.take(end - head)?);
        all.push(Address::host(address(bytes, is_ipv6)));
    }
    let prefixes = match flags & (SINGLE_PREFIX | MULTI_PREFIX) {
        0 => return Ok(all),
        SINGLE_PREFIX => 1,
        _ => all.len(),
    };
    let prefixes = r.take(prefixes)?;
    for (each, &prefix) in all.iter_mut().zip(prefixes.iter().cycle()) {
        if prefix > bits(width) {
            return Err(field("prefix-length", prefix, if is_ipv6 { "0 to 128" } else { "0 to 32" }));
        }
        each.prefix = prefix;
    }
    Ok(all)
}

/// The length of a head or a tail.
fn part(r: &mut Reader<'_>, most: usize) -> Result<usize, ParseError> {
    let len = r.u8()?;
    if usize::from(len) > most {
        return Err(field("head-length or tail-length", len, "together no more than an address"));
    }
    Ok(len.into())
}

fn tlvs(r: &mut Reader<'_>) -> Result<Vec<Tlv>, ParseError> {
    let len = usize::from(r.u16()?);
    let mut r = Reader::new(r.take(len)?);
    let mut tlvs = Vec::new();
    while !r.is_empty() {
        let RawTlv { kind, extension, value } = next_tlv(&mut r)?;
        tlvs.push(Tlv { kind, extension, value: value.map(<[u8]>::to_vec) });
    }
    Ok(tlvs)
}

/// An attribute of a packet or a message in place.
pub(crate) struct RawTlv<'a> {
    pub(crate) kind: u8,
    pub(crate) extension: u8,
    pub(crate) value: Option<&'a [u8]>,
}

/// Parses the next attribute of a packet or a message.
pub(crate) fn next_tlv<'a>(r: &mut Reader<'a>) -> Result<RawTlv<'a>, ParseError> {
    let Head { kind, flags, extension } = head(r)?;
    Ok(RawTlv { kind, extension, value: value(r, flags)? })
}

fn address_tlv(r: &mut Reader<'_>, addresses: usize) -> Result<AddressTlv, ParseError> {
    let Head { kind, flags, extension } = head(r)?;
    let end = u8::try_from(addresses - 1).expect("num-addr has one byte");
    let (first, last) = match flags & (SINGLE_INDEX | MULTI_INDEX) {
        0 => (0, end),
        SINGLE_INDEX => {
            let index = r.u8()?;
            (index, index)
        }
        _ => (r.u8()?, r.u8()?),
    };
    if last > end || first > last {
        return Err(field("index-stop", last, "from index-start to num-addr less one"));
    }
    let count = usize::from(last - first) + 1;
    let values = match value(r, flags)? {
        None => Values::None,
        Some(bytes) if flags & MULTI_VALUE == 0 || count == 1 || bytes.is_empty() => {
            Values::Same(bytes.to_vec())
        }
        Some(bytes) if bytes.len().is_multiple_of(count) => {
            Values::Each { len: bytes.len() / count, bytes: bytes.to_vec() }
        }
        Some(bytes) => {
            let found = u32::try_from(bytes.len()).expect("a length of 16 bits");
            return Err(ParseError::Field {
                name: "length",
                found,
                allowed: "a multiple of the number of addresses",
            });
        }
    };
    Ok(AddressTlv { kind, extension, first, last, values })
}

/// First fields of a TLV: type and flags.
struct Head {
    kind: u8,
    flags: u8,
    extension: u8,
}

fn head(r: &mut Reader<'_>) -> Result<Head, ParseError> {
    let (kind, flags) = (r.u8()?, r.u8()?);
    let extension = if flags & EXTENSION != 0 { r.u8()? } else { 0 };
    Ok(Head { kind, flags, extension })
}

fn value<'a>(r: &mut Reader<'a>, flags: u8) -> Result<Option<&'a [u8]>, ParseError> {
    if flags & VALUE == 0 {
        return Ok(None);
    }
    let len = if flags & LONG != 0 { r.u16()?.into() } else { usize::from(r.u8()?) };
    r.take(len).map(Some)
}

fn field(name: &'static str, found: u8, allowed: &'static str) -> ParseError {
    ParseError::Field { name, found: found.into(), allowed }
}

/// Bytes of type, flags and size.
const HEADER: usize = 4;
