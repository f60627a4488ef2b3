//! A parsed TCP segment can be emitted, and parses to the same value.

use std::net::Ipv4Addr;

use multihop_fuzz::set_checksum;
use multihop_wire::checksum::Checksum;
use multihop_wire::tcp::{PROTOCOL, Segment};

pub fn fuzz(data: &[u8]) {
    round_trip(data);
    let mut packet = data.to_vec();
    set_checksum(&mut packet, 16, |packet| {
        Checksum::pseudo_header(SOURCE, DESTINATION, PROTOCOL, packet.len()).over(packet).finish()
    });
    round_trip(&packet);
}

fn round_trip(packet: &[u8]) {
    let Ok(segment) = Segment::parse(packet, SOURCE, DESTINATION) else { return };
    let mut sent = Vec::new();
    segment.emit(SOURCE, DESTINATION, &mut sent);
    assert_eq!(Segment::parse(&sent, SOURCE, DESTINATION), Ok(segment));
}

const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
