//! IPv6 headers (RFC 8200) and ICMPv6 errors (RFC 4443) of real packets.

use std::net::Ipv6Addr;

use multihop_wire::ParseError;
use multihop_wire::checksum::Checksum;

use super::{INTERNETWORK_CONTROL, RealPacket, Trouble, truncated};

/// EtherType value of IPv6 packets.
pub(super) const ETHERTYPE: u16 = 0x86dd;

/// Checks the header of a packet and returns the packet's length.
pub(super) fn check(bytes: &[u8]) -> Result<usize, ParseError> {
    let header: &[u8; HEADER] = bytes.first_chunk().ok_or_else(|| truncated(bytes, HEADER))?;
    let payload = u16::from_be_bytes([header[4], header[5]]);
    let total = HEADER + usize::from(payload);
    if total > RealPacket::LONGEST {
        let (name, found) = ("payload length", u32::from(payload));
        return Err(ParseError::Field { name, found, allowed: "0 to 2256" });
    }
    if bytes.len() < total {
        return Err(truncated(bytes, total));
    }
    if destination(bytes) == MULTICAST_ROUTERS {
        // Kernels report every multicast group that they join.
        let (name, allowed) = ("group", "none of multicast routers, because there are none");
        return Err(ParseError::Field { name, found: 0x16, allowed });
    }
    Ok(total)
}

pub(super) fn hop_limit(packet: &[u8]) -> u8 {
    packet[HOP_LIMIT]
}

pub(super) fn next_header(packet: &[u8]) -> u8 {
    packet[NEXT_HEADER]
}

pub(super) fn destination(packet: &[u8]) -> Ipv6Addr {
    address(packet, DESTINATION)
}

/// Protocol number and payload after the extension headers.
pub(super) fn payload(packet: &[u8]) -> (u8, &[u8]) {
    let (mut protocol, mut rest) = (next_header(packet), &packet[HEADER..]);
    while let (HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS, &[next, length, ..]) = (protocol, rest)
    {
        // A fragment header has no length field.
        let length = if protocol == FRAGMENT { 8 } else { 8 + 8 * usize::from(length) };
        (protocol, rest) = (next, rest.get(length..).unwrap_or(&[]));
    }
    (protocol, rest)
}

/// The packet with another hop limit, and with a header (protocol number and bytes) inserted after the IP
/// header.
pub(super) fn with_header(packet: &[u8], hop_limit: u8, inserted: Option<(u8, &[u8])>) -> Vec<u8> {
    let (header, payload) = packet.split_at(HEADER);
    let mut out = header.to_vec();
    out[HOP_LIMIT] = hop_limit;
    if let Some((protocol, bytes)) = inserted {
        out[NEXT_HEADER] = protocol;
        set_length(&mut out, payload.len() + bytes.len());
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(payload);
    out
}

/// The ICMPv6 error that the router with the address `from` sends; `None` if no error may be sent.
pub(super) fn error(packet: &[u8], trouble: Trouble, hop_limit: u8, from: Ipv6Addr) -> Option<Vec<u8>> {
    let source = address(packet, SOURCE);
    let answers_group = destination(packet).is_multicast() && !matches!(trouble, Trouble::TooBig(_));
    if is_icmp_error(packet) || answers_group || source.is_unspecified() || source.is_multicast() {
        return None;
    }
    let (kind, code, mtu) = match trouble {
        Trouble::Unreachable => (UNREACHABLE, ADDRESS_UNREACHABLE, 0),
        Trouble::TimeExceeded => (TIME_EXCEEDED, HOP_LIMIT_EXCEEDED, 0),
        Trouble::TooBig(mtu) => (TOO_BIG, 0, mtu),
    };
    let mut message = vec![kind, code, 0, 0];
    message.extend(u32::from(mtu).to_be_bytes());
    message.extend(with_header(packet, hop_limit, None).into_iter().take(LONGEST_QUOTE));
    let length = u32::try_from(message.len()).expect("an error is short");
    let sum = Checksum::default().over(&from.octets()).over(&source.octets());
    let sum = sum.over(&length.to_be_bytes()).over(&[0, 0, 0, ICMPV6]).over(&message).finish();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut out = vec![0; HEADER];
    // Version and traffic class take the first twelve bits.
    [out[0], out[1]] = [0x60 | INTERNETWORK_CONTROL >> 4, INTERNETWORK_CONTROL << 4];
    set_length(&mut out, message.len());
    out[NEXT_HEADER] = ICMPV6;
    out[HOP_LIMIT] = crate::packet::INITIAL_TTL;
    out[SOURCE..DESTINATION].copy_from_slice(&from.octets());
    out[DESTINATION..HEADER].copy_from_slice(&source.octets());
    out.extend(message);
    Some(out)
}

/// Whether the packet is an error or a redirect.
fn is_icmp_error(packet: &[u8]) -> bool {
    let (protocol, payload) = payload(packet);
    protocol == ICMPV6 && payload.first().is_none_or(|&kind| kind < FIRST_QUERY || kind == REDIRECT)
}

fn address(packet: &[u8], at: usize) -> Ipv6Addr {
    let octets: [u8; 16] = core::array::from_fn(|n| packet[at + n]);
    octets.into()
}

fn set_length(header: &mut [u8], length: usize) {
    let length = u16::try_from(length).expect("packets are short");
    header[4..6].copy_from_slice(&length.to_be_bytes());
}

const HEADER: usize = 40;
const NEXT_HEADER: usize = 6;
const HOP_LIMIT: usize = 7;
const SOURCE: usize = 8;
const DESTINATION: usize = 24;

/// Multicast group of all MLDv2-capable routers, ff02::16 (RFC 3810).
const MULTICAST_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;
const DESTINATION_OPTIONS: u8 = 60;

const UNREACHABLE: u8 = 1;
const ADDRESS_UNREACHABLE: u8 = 3;
const TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const HOP_LIMIT_EXCEEDED: u8 = 0;
/// First informational ICMPv6 type; smaller types are errors.
const FIRST_QUERY: u8 = 128;
const REDIRECT: u8 = 137;
/// Longest quote in an ICMPv6 error, bytes: the error has at most 1280 (RFC 4443 §2.4).
const LONGEST_QUOTE: usize = 1280 - HEADER - 8;
