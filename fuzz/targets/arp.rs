//! A parsed ARP packet can be emitted, and parses to the same value.

use multihop_wire::arp::Packet;

pub fn fuzz(data: &[u8]) {
    let Ok(packet) = Packet::parse(data) else { return };
    let mut sent = Vec::new();
    packet.emit(&mut sent);
    assert_eq!(Packet::parse(&sent), Ok(packet));
}
