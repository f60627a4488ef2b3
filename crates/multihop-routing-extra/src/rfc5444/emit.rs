//! Encodes packets in the general format of RFC 5444.

use alloc::vec::Vec;

use super::{
    Address, AddressBlock, AddressTlv, EXTENSION, FULL_TAIL, HEAD, HOP_COUNT, HOP_LIMIT, LONG, MULTI_INDEX,
    MULTI_PREFIX, MULTI_VALUE, Message, ORIGINATOR, PACKET_SEQUENCE, PACKET_TLVS, Packet, SEQUENCE,
    SINGLE_INDEX, SINGLE_PREFIX, Tlv, VALUE, Values, ZERO_TAIL, bits, octets, width,
};

pub(super) fn packet(packet: &Packet, out: &mut Vec<u8>) {
    let flag = |set: bool, bit| if set { bit } else { 0 };
    out.push(flag(packet.sequence.is_some(), PACKET_SEQUENCE) | flag(!packet.tlvs.is_empty(), PACKET_TLVS));
    out.extend(packet.sequence.into_iter().flat_map(u16::to_be_bytes));
    if !packet.tlvs.is_empty() {
        tlvs(&packet.tlvs, out);
    }
    for each in &packet.messages {
        message(each, out);
    }
}

pub(super) fn message_len(one: &Message) -> usize {
    let mut out = Vec::new();
    message(one, &mut out);
    out.len()
}

fn message(message: &Message, out: &mut Vec<u8>) {
    let start = out.len();
    let flag = |set: bool, bit| if set { bit } else { 0 };
    let flags = flag(message.originator.is_some(), ORIGINATOR)
        | flag(message.hop_limit.is_some(), HOP_LIMIT)
        | flag(message.hop_count.is_some(), HOP_COUNT)
        | flag(message.sequence.is_some(), SEQUENCE);
    let width = width(message.is_ipv6);
    out.extend([message.kind, flags | part(width - 1), 0, 0]);
    out.extend(message.originator.iter().flat_map(|originator| octets(*originator).into_iter().take(width)));
    out.extend(message.hop_limit);
    out.extend(message.hop_count);
    out.extend(message.sequence.into_iter().flat_map(u16::to_be_bytes));
    tlvs(&message.tlvs, out);
    for block in &message.blocks {
        addresses(&block.addresses, width, out);
        sized(out, |out| block.tlvs.iter().for_each(|tlv| address_tlv(tlv, block, out)));
    }
    let size = length(out.len() - start);
    out[start + 2..start + 4].copy_from_slice(&size);
}

fn addresses(all: &[Address], width: usize, out: &mut Vec<u8>) {
    let count = u8::try_from(all.len()).expect("up to 255 addresses in a block");
    let first = octets(all.first().expect("a block has an address").address);
    let first = &first[..width];
    let (mut head, mut tail) = (0, 0);
    if all.len() > 1 {
        let same = |at: usize| all.iter().all(|each| octets(each.address)[at] == first[at]);
        head = (0..width - 1).take_while(|&at| same(at)).count();
        tail = (head + 1..width).rev().take_while(|&at| same(at)).count();
        // A tail of zeros needs no bytes, which may save more than a longer tail.
        let zeros = first.iter().rev().take(tail).take_while(|&&byte| byte == 0).count();
        if zeros > 0 && all.len() * (tail - zeros) < tail {
            tail = zeros;
        }
    }
    let end = width - tail;
    let zero = first[end..].iter().all(|&byte| byte == 0);
    let prefix = all[0].prefix;
    let prefixes = match all.iter().all(|each| each.prefix == prefix) {
        true if prefix == bits(width) => 0,
        true => SINGLE_PREFIX,
        false => MULTI_PREFIX,
    };
    let tails = match (tail, zero) {
        (0, _) => 0,
        (_, true) => ZERO_TAIL,
        (_, false) => FULL_TAIL,
    };
    out.extend([count, if head > 0 { HEAD } else { 0 } | tails | prefixes]);
    if head > 0 {
        out.push(part(head));
        out.extend(&first[..head]);
    }
    if tail > 0 {
        out.push(part(tail));
    }
    if tails == FULL_TAIL {
        out.extend(&first[end..]);
    }
    for each in all {
        out.extend(&octets(each.address)[head..end]);
    }
    match prefixes {
        SINGLE_PREFIX => out.push(prefix),
        MULTI_PREFIX => out.extend(all.iter().map(|each| each.prefix)),
        _ => {}
    }
}

/// The length of a part of an address.
fn part(len: usize) -> u8 {
    u8::try_from(len).expect("shorter than an address")
}

fn tlvs(tlvs: &[Tlv], out: &mut Vec<u8>) {
    sized(out, |out| {
        for tlv in tlvs {
            head(tlv.kind, tlv.extension, value_flags(tlv.value.as_deref()), &[], out);
            value(tlv.value.as_deref(), out);
        }
    });
}

fn address_tlv(tlv: &AddressTlv, block: &AddressBlock, out: &mut Vec<u8>) {
    let (bytes, several) = match &tlv.values {
        Values::None => (None, 0),
        Values::Same(value) => (Some(&value[..]), 0),
        Values::Each { bytes, .. } => (Some(&bytes[..]), MULTI_VALUE),
    };
    let flags = value_flags(bytes) | several;
    match [tlv.first, tlv.last] {
        _ if tlv.count() == block.addresses.len() => head(tlv.kind, tlv.extension, flags, &[], out),
        [first, last] if first == last => head(tlv.kind, tlv.extension, flags | SINGLE_INDEX, &[first], out),
        both => head(tlv.kind, tlv.extension, flags | MULTI_INDEX, &both, out),
    }
    value(bytes, out);
}

fn head(kind: u8, extension: u8, flags: u8, indices: &[u8], out: &mut Vec<u8>) {
    if extension == 0 {
        out.extend([kind, flags]);
    } else {
        out.extend([kind, flags | EXTENSION, extension]);
    }
    out.extend(indices);
}

fn value_flags(value: Option<&[u8]>) -> u8 {
    match value {
        None => 0,
        Some(bytes) if bytes.len() > SHORT => VALUE | LONG,
        Some(_) => VALUE,
    }
}

fn value(value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(bytes) = value else { return };
    let len = length(bytes.len());
    out.extend(if bytes.len() > SHORT { &len[..] } else { &len[1..] });
    out.extend(bytes);
}

/// Appends the bytes that `write` writes, after two bytes with their length.
fn sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0, 0]);
    write(out);
    let len = length(out.len() - start - 2);
    out[start..start + 2].copy_from_slice(&len);
}

fn length(len: usize) -> [u8; 2] {
    u16::try_from(len).expect("at most 65535 bytes").to_be_bytes()
}

/// Largest length of a value whose length field has one byte.
const SHORT: usize = 255;
