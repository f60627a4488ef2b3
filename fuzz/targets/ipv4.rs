//! A parsed IPv4 datagram can be emitted, and parses to the same value.

use multihop_fuzz::set_checksum;
use multihop_wire::checksum::Checksum;
use multihop_wire::ipv4::Header;

pub fn fuzz(data: &[u8]) {
    round_trip(data);
    let mut packet = data.to_vec();
    set_checksum(&mut packet, 10, |packet| {
        let header_len = usize::from(packet[0] & 0x0f) * 4;
        Checksum::default().over(&packet[..header_len.min(packet.len())]).finish()
    });
    round_trip(&packet);
}

fn round_trip(packet: &[u8]) {
    let Ok((header, payload)) = Header::parse(packet) else { return };
    let mut sent = Vec::new();
    header.emit(payload, &mut sent);
    assert_eq!(Header::parse(&sent), Ok((header, payload)));
}
