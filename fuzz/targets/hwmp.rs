//! A parsed frame of HWMP can be emitted, and parses to the same value.

use multihop_routing_extra::hwmp::wire::Message;

pub fn fuzz(data: &[u8]) {
    let Ok(message) = Message::parse(data) else { return };
    let mut sent = Vec::new();
    message.emit(&mut sent);
    assert_eq!(sent.len(), message.wire_len());
    assert_eq!(Message::parse(&sent), Ok(message));
}
