//! A parsed ICMP message can be emitted, and parses to the same value.

use multihop_fuzz::set_checksum;
use multihop_wire::checksum::Checksum;
use multihop_wire::icmp::Message;

pub fn fuzz(data: &[u8]) {
    round_trip(data);
    let mut packet = data.to_vec();
    set_checksum(&mut packet, 2, |packet| Checksum::default().over(packet).finish());
    round_trip(&packet);
}

fn round_trip(packet: &[u8]) {
    let Ok(message) = Message::parse(packet) else { return };
    let mut sent = Vec::new();
    message.emit(&mut sent);
    assert_eq!(Message::parse(&sent), Ok(message));
}
