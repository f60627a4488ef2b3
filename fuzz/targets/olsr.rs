//! A parsed OLSR packet can be emitted, and parses to the same value, with addresses of either length.

use std::net::{Ipv4Addr, Ipv6Addr};

use multihop_wire::olsr::{Address, Packet};

pub fn fuzz(data: &[u8]) {
    comes_back::<Ipv4Addr>(data);
    comes_back::<Ipv6Addr>(data);
}

fn comes_back<A: Address>(data: &[u8]) {
    let Ok(packet) = Packet::<A>::parse(data) else { return };
    let mut sent = Vec::new();
    packet.emit(&mut sent);
    assert_eq!(sent.len(), packet.len());
    assert_eq!(Packet::parse(&sent), Ok(packet));
}
