//! A parsed TPA segment, in either framing, can be emitted, and parses to the same value.

use std::net::Ipv4Addr;

use multihop_fuzz::set_checksum;
use multihop_wire::checksum::Checksum;
use multihop_wire::tpa::{PROTOCOL, Segment};

pub fn fuzz(data: &[u8]) {
    if let Ok(segment) = Segment::parse_in_udp(data, 1, 2) {
        let mut sent = Vec::new();
        segment.emit_in_udp(&mut sent);
        assert_eq!(Segment::parse_in_udp(&sent, 1, 2), Ok(segment));
    }
    over_ip(data);
    let mut packet = data.to_vec();
    set_checksum(&mut packet, 4, |packet| {
        Checksum::pseudo_header(SOURCE, DESTINATION, PROTOCOL, packet.len()).over(packet).finish()
    });
    over_ip(&packet);
}

fn over_ip(packet: &[u8]) {
    let Ok(segment) = Segment::parse_over_ip(packet, SOURCE, DESTINATION) else { return };
    let mut sent = Vec::new();
    segment.emit_over_ip(SOURCE, DESTINATION, &mut sent);
    assert_eq!(Segment::parse_over_ip(&sent, SOURCE, DESTINATION), Ok(segment));
}

const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
