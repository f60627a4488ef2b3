use std::net::{Ipv4Addr, Ipv6Addr};

use multihop_wire::checksum::Checksum;
use multihop_wire::{icmp, ipv4};

use super::*;

/// A UDP datagram between two addresses.
fn datagram(source: [u8; 4], destination: [u8; 4], ttl: u8, payload: &[u8]) -> Vec<u8> {
    let [source, destination] = [source, destination].map(Ipv4Addr::from);
    let header = ipv4::Header { tos: 0, id: 7, dont_fragment: true, ttl, protocol: 17, source, destination };
    let mut out = Vec::new();
    header.emit(payload, &mut out);
    out
}

/// Bytes of an IPv6 datagram whose payload begins with a header of this type.
fn datagram6(source: Ipv6Addr, destination: Ipv6Addr, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    let start = [0x60, 0, 0, 0, length[0], length[1], next_header, 64];
    [&start[..], &source.octets(), &destination.octets(), payload].concat()
}

fn between_nodes(payload: &[u8]) -> Vec<u8> {
    datagram6(NodeId(0).addr6(), NodeId(3).addr6(), 17, payload)
}

fn parsed(bytes: &[u8]) -> RealPacket {
    RealPacket::parse(bytes).unwrap()
}

/// A datagram that may be fragmented, with this value of the field for flags and fragment offset.
fn fragmentable(flags: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, payload);
    bytes[6..8].copy_from_slice(&flags.to_be_bytes());
    bytes[v4::CHECKSUM..v4::CHECKSUM + 2].fill(0);
    let sum = Checksum::default().over(&bytes[..20]).finish();
    bytes[v4::CHECKSUM..v4::CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn a_packet_leaves_with_its_new_ttl_and_a_right_checksum() {
    let entered = datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, b"payload");
    let left = parsed(&entered).with_ttl(61);
    let (header, payload) = ipv4::Header::parse(&left).unwrap();
    assert_eq!((header.ttl, header.id, payload), (61, 7, &b"payload"[..]));
}

#[test]
fn a_packet_of_ipv6_leaves_with_its_new_hop_limit() {
    let mut entered = between_nodes(b"payload");
    let packet = parsed(&entered);
    assert_eq!((packet.ttl(), packet.destination()), (64, NodeId(3).addr6().into()));
    entered[7] = 61;
    assert_eq!(packet.with_ttl(61), entered);
    let with_route = packet.with_header(61, Some((48, b"12345678")));
    assert_eq!((with_route[5], with_route[6]), (15, 48), "payload length and next header");
    assert_eq!(&with_route[40..], b"12345678payload");
}

#[test]
fn an_error_quotes_the_packet_and_none_answers_an_error() {
    let lost = parsed(&datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, &[9; 1000]));
    let error = lost.error(Trouble::TimeExceeded, 1, NodeId(1)).unwrap();
    assert_eq!(error.len(), 576);
    let bytes = error.with_ttl(64);
    let (header, payload) = ipv4::Header::parse(&bytes).unwrap();
    assert_eq!((header.source, header.destination), ([10, 0, 0, 2].into(), [10, 0, 0, 1].into()));
    let Ok(icmp::Message::TimeExceeded { code: 0, quote }) = icmp::Message::parse(payload) else {
        panic!("not time exceeded")
    };
    assert_eq!((quote.header.ttl, quote.payload_len, quote.transport), (1, 1000, [9; 20]));
    assert!(error.error(Trouble::Unreachable, 60, NodeId(2)).is_none());
}

#[test]
fn errors_of_ipv6_have_the_right_fields_and_checksum() {
    let lost = parsed(&between_nodes(&[9; 1400]));
    let cases = [
        (Trouble::Unreachable, [1, 3, 0, 0]),
        (Trouble::TimeExceeded, [3, 0, 0, 0]),
        (Trouble::TooBig(1300), [2, 0, 5, 20]),
    ];
    for (trouble, [kind, code, high, low]) in cases {
        let error = lost.error(trouble, 1, NodeId(1)).unwrap();
        assert_eq!(error.len(), 1280);
        let bytes = error.with_ttl(64);
        assert_eq!(bytes[..8], [0x6c, 0, 0, 0, 0x04, 0xd8, 58, 64]);
        assert_eq!(bytes[8..24], NodeId(1).addr6().octets());
        assert_eq!(bytes[24..40], NodeId(0).addr6().octets());
        assert_eq!((bytes[40], bytes[41]), (kind, code));
        assert_eq!(bytes[44..48], [0, 0, high, low]);
        assert_eq!(bytes[48 + 7], 1, "the hop limit in the quote");
        let pseudo = [&bytes[8..40], &1240_u32.to_be_bytes(), &[0, 0, 0, 58]].concat();
        assert_eq!(Checksum::default().over(&pseudo).over(&bytes[40..]).finish(), 0);
        assert!(error.error(Trouble::Unreachable, 60, NodeId(2)).is_none());
    }
}

#[test]
fn no_error_answers_broadcasts_and_later_fragments() {
    let to = |destination| parsed(&datagram([10, 0, 0, 1], destination, 64, b"x"));
    for group in [[255; 4], [224, 0, 0, 251]] {
        assert!(to(group).error(Trouble::Unreachable, 1, NodeId(1)).is_none());
    }
    assert!(parsed(&fragmentable(1, b"x")).error(Trouble::Unreachable, 1, NodeId(1)).is_none());
    let group = datagram6(NodeId(0).addr6(), "ff02::fb".parse().unwrap(), 17, b"x");
    assert!(parsed(&group).error(Trouble::Unreachable, 1, NodeId(1)).is_none());
    let nobody = datagram6(Ipv6Addr::UNSPECIFIED, NodeId(3).addr6(), 17, b"x");
    assert!(parsed(&nobody).error(Trouble::Unreachable, 1, NodeId(1)).is_none());
}

#[test]
fn the_transport_of_ipv6_follows_the_extension_headers() {
    let ports = [4, 0, 0, 80];
    // Hop-by-hop options of 16 bytes are followed by a fragment header.
    let headers = [&[44, 1][..], &[0; 14], &[17, 0, 0, 1, 0, 0, 0, 9], &ports].concat();
    let packet = parsed(&datagram6(NodeId(0).addr6(), NodeId(3).addr6(), 0, &headers));
    let (protocol, transport) = packet.transport();
    assert_eq!((protocol, &transport[..4]), (17, &ports[..]));
    let cut = parsed(&datagram6(NodeId(0).addr6(), NodeId(3).addr6(), 0, &[0, 200, 1, 1]));
    assert_eq!(cut.transport(), (0, [0; 20]), "a header that says that it is longer than the packet");
}

#[test]
fn fragments_add_up_to_the_packet() {
    let payload: Vec<u8> = (0..=255).cycle().take(1480).collect();
    let fragments = parsed(&fragmentable(0, &payload)).fragments(1280).unwrap();
    let described: Vec<_> = fragments.iter().map(|f| (f.len(), f.bytes[6..8].to_vec())).collect();
    // 1256 bytes, or 157 units, are the largest payload below 1260 bytes that offsets can express.
    assert_eq!(described, [(1276, vec![0x20, 0]), (244, vec![0, 157])]);
    let data: Vec<u8> = fragments.iter().flat_map(|fragment| fragment.bytes[20..].to_vec()).collect();
    assert_eq!(data, payload);
    assert!(fragments.iter().all(|fragment| RealPacket::parse(&fragment.bytes).is_ok()), "checksums");
    // The packet is itself a fragment of a longer packet, and not the last one.
    let again = parsed(&fragmentable(0x2000 | 100, &payload)).fragments(1280).unwrap();
    let fields: Vec<_> = again.iter().map(|fragment| fragment.bytes[6..8].to_vec()).collect();
    assert_eq!(fields, [vec![0x20, 100], vec![0x21, 1]]);
}

#[test]
fn packets_that_forbid_it_are_not_fragmented() {
    assert!(parsed(&fragmentable(0x4000, &[1; 1480])).fragments(1280).is_none());
    let packet = parsed(&between_nodes(&[1; 1400]));
    assert!(packet.fragments(1280).is_none());
    let lost = parsed(&fragmentable(0x4000, &[1; 1480]));
    let error = lost.error(Trouble::TooBig(1280), 60, NodeId(1)).unwrap();
    assert_eq!(error.bytes[20..22], [3, 4]);
    assert_eq!(error.bytes[24..28], [0, 0, 5, 0]);
}

#[test]
fn damaged_packets_are_refused_with_the_reason() {
    let good = datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, b"payload");
    let refused = |bytes: &[u8]| RealPacket::parse(bytes).unwrap_err().to_string();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        refused(&bytes)
    };
    assert_eq!(with(0, 0x55), "version is 5, allowed: 4 or 6");
    assert_eq!(with(0, 0x44), "internet header length is 4, allowed: 5 to 15");
    assert_eq!(with(2, 0x40), "total length is 16411, allowed: the header's length to 2296");
    assert_eq!(with(3, 28), "27 bytes where at least 28 are needed");
    assert_eq!(with(8, 63), "checksum does not match");
    assert_eq!(refused(&[]), "0 bytes where at least 1 are needed");
    for n in 0..good.len() {
        assert!(RealPacket::parse(&good[..n]).is_err(), "{n} bytes");
    }
    let good6 = between_nodes(b"payload");
    for n in 0..good6.len() {
        assert!(RealPacket::parse(&good6[..n]).is_err(), "{n} bytes");
    }
    let long = between_nodes(&[0; 2257]);
    assert_eq!(refused(&long), "payload length is 2257, allowed: 0 to 2256");
    let report = datagram6(NodeId(0).link_local(), "ff02::16".parse().unwrap(), 0, &[0; 28]);
    assert_eq!(refused(&report), "group is 22, allowed: none of multicast routers, because there are none");
}
