//! IPv4 headers of real packets: parsing, forwarding, ICMP errors.

use std::net::Ipv4Addr;

use multihop_wire::checksum::Checksum;
use multihop_wire::{ParseError, icmp, ipv4};

use super::{INTERNETWORK_CONTROL, RealPacket, Trouble, truncated};

/// Checks the header of a packet and returns the packet's length.
pub(super) fn check(bytes: &[u8]) -> Result<usize, ParseError> {
    let &[first, _, a, b, ..] = bytes else { return Err(truncated(bytes, ipv4::Header::LEN)) };
    let header = header_len(bytes);
    if header < ipv4::Header::LEN {
        let found = u32::from(first & 0x0f);
        return Err(ParseError::Field { name: "internet header length", found, allowed: "5 to 15" });
    }
    let total = usize::from(u16::from_be_bytes([a, b]));
    if !(header..=RealPacket::LONGEST).contains(&total) {
        let (name, found) = ("total length", u32::from(u16::from_be_bytes([a, b])));
        return Err(ParseError::Field { name, found, allowed: "the header's length to 2296" });
    }
    let packet = bytes.get(..total).ok_or_else(|| truncated(bytes, total))?;
    if Checksum::default().over(&packet[..header]).finish() != 0 {
        return Err(ParseError::Checksum);
    }
    Ok(total)
}

pub(super) fn ttl(packet: &[u8]) -> u8 {
    packet[TTL]
}

pub(super) fn protocol(packet: &[u8]) -> u8 {
    packet[PROTOCOL]
}

pub(super) fn destination(packet: &[u8]) -> Ipv4Addr {
    address(packet, DESTINATION)
}

/// Protocol number and payload of a packet.
pub(super) fn payload(packet: &[u8]) -> (u8, &[u8]) {
    (protocol(packet), &packet[header_len(packet)..])
}

/// The packet with another TTL, and with a header (protocol number and bytes) inserted before its payload.
pub(super) fn with_header(packet: &[u8], ttl: u8, inserted: Option<(u8, &[u8])>) -> Vec<u8> {
    let (header, payload) = packet.split_at(header_len(packet));
    let mut out = header.to_vec();
    out[TTL] = ttl;
    if let Some((protocol, bytes)) = inserted {
        out[PROTOCOL] = protocol;
        set_length(&mut out, packet.len() + bytes.len());
    }
    set_checksum(&mut out);
    out.extend_from_slice(inserted.map_or(&[], |(_, bytes)| bytes));
    out.extend_from_slice(payload);
    out
}

/// The ICMP error that the router with the address `from` sends; `None` if no error may be sent.
pub(super) fn error(packet: &[u8], trouble: Trouble, ttl: u8, from: Ipv4Addr) -> Option<Vec<u8>> {
    let (source, destination) = (address(packet, SOURCE), destination(packet));
    let is_later_fragment = flags(packet) & OFFSET != 0;
    let is_group = destination.is_multicast() || destination.is_broadcast();
    if is_icmp_error(packet) || is_later_fragment || is_group || source.is_unspecified() {
        return None;
    }
    let (kind, code, mtu) = match trouble {
        Trouble::Unreachable => (ICMP_UNREACHABLE, icmp::HOST_UNREACHABLE, 0),
        Trouble::TimeExceeded => (ICMP_TIME_EXCEEDED, icmp::TTL_EXCEEDED, 0),
        Trouble::TooBig(mtu) => (ICMP_UNREACHABLE, FRAGMENTATION_NEEDED, mtu),
    };
    // The next hop's MTU is in the last bytes of the ICMP header (RFC 1191).
    let [high, low] = mtu.to_be_bytes();
    let mut message = vec![kind, code, 0, 0, 0, 0, high, low];
    message.extend(with_header(packet, ttl, None).into_iter().take(LONGEST_QUOTE));
    let sum = Checksum::default().over(&message).finish();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = ipv4::Header {
        tos: INTERNETWORK_CONTROL,
        id: 0,
        dont_fragment: false,
        ttl: crate::packet::INITIAL_TTL,
        protocol: icmp::PROTOCOL,
        source: from,
        destination: source,
    };
    let mut out = Vec::new();
    header.emit(&message, &mut out);
    Some(out)
}

/// The fragments of a packet for a link with this MTU; `None` if the packet forbids fragmentation.
pub(super) fn fragments(packet: &[u8], mtu: usize) -> Option<Vec<Vec<u8>>> {
    let (flags, (header, payload)) = (flags(packet), packet.split_at(header_len(packet)));
    if flags & DONT_FRAGMENT != 0 {
        return None;
    }
    // Offsets count units of 8 bytes.
    let longest = (mtu - header.len()) / UNIT * UNIT;
    let pieces = payload.chunks(longest);
    let last = pieces.len() - 1;
    let fragment = |(n, piece): (usize, &[u8])| {
        let units = u16::try_from(n * longest / UNIT).expect("a packet is short");
        let more = if n == last { flags & MORE } else { MORE };
        // DEVIATION ip-2: Every fragment has all IP options. RFC 791 puts options without the copy flag only into the
        // first fragment. Options in the other fragments cost a few bytes.
        let mut out = header.to_vec();
        out[FLAGS..FLAGS + 2].copy_from_slice(&(((flags + units) & OFFSET) | more).to_be_bytes());
        set_length(&mut out, header.len() + piece.len());
        set_checksum(&mut out);
        out.extend_from_slice(piece);
        out
    };
    Some(pieces.enumerate().map(fragment).collect())
}

fn is_icmp_error(packet: &[u8]) -> bool {
    let (protocol, payload) = payload(packet);
    protocol == icmp::PROTOCOL && payload.first().is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12))
}

fn header_len(packet: &[u8]) -> usize {
    usize::from(packet[0] & 0x0f) * 4
}

/// The header field with three flags and the fragment offset.
fn flags(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[FLAGS], packet[FLAGS + 1]])
}

fn address(packet: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3])
}

fn set_length(header: &mut [u8], length: usize) {
    let length = u16::try_from(length).expect("packets are short");
    header[LENGTH..LENGTH + 2].copy_from_slice(&length.to_be_bytes());
}

fn set_checksum(header: &mut [u8]) {
    header[CHECKSUM..CHECKSUM + 2].fill(0);
    let sum = Checksum::default().over(header).finish();
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

const LENGTH: usize = 2;
const FLAGS: usize = 6;
const TTL: usize = 8;
const PROTOCOL: usize = 9;
pub(super) const CHECKSUM: usize = 10;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;
/// Unit of fragment offsets: 8 bytes.
const UNIT: usize = 8;
const ICMP_UNREACHABLE: u8 = 3;
const ICMP_TIME_EXCEEDED: u8 = 11;
const FRAGMENTATION_NEEDED: u8 = 4;
/// Longest quote in an ICMP error, bytes: the error has at most 576 (RFC 1812 §4.3.2.3).
const LONGEST_QUOTE: usize = 576 - ipv4::Header::LEN - 8;
