//! A parsed packet of B.A.T.M.A.N. IV can be emitted, and parses to the same value.

use multihop_routing_extra::batman::wire::Packet;

pub fn fuzz(data: &[u8]) {
    let Ok(packet) = Packet::parse(data) else { return };
    let mut sent = Vec::new();
    packet.emit(&mut sent);
    assert_eq!(sent.len(), packet.wire_len());
    assert_eq!(Packet::parse(&sent), Ok(packet));
}
