//! A parsed packet of OLSRv2, and one of RFC 5444, can be emitted, and parses to the same value.

use multihop_routing_extra::olsrv2::wire as olsrv2;
use multihop_routing_extra::rfc5444;

pub fn fuzz(data: &[u8]) {
    let Ok(packet) = rfc5444::Packet::parse(data) else { return };
    let mut sent = Vec::new();
    packet.emit(&mut sent);
    assert!(sent.len() <= data.len());
    assert_eq!(rfc5444::Packet::parse(&sent), Ok(packet));

    let packet = olsrv2::Packet::parse(data).expect("a packet of RFC 5444");
    sent.clear();
    packet.emit(&mut sent);
    assert_eq!(sent.len(), packet.wire_len());
    assert_eq!(olsrv2::Packet::parse(&sent), Ok(packet));
}
