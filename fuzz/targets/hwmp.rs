//! A parsed frame of HWMP can be emitted, and parses to the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_wire::hwmp::Message;

fuzz_target!(|data: &[u8]| {
    let Ok(message) = Message::parse(data) else { return };
    let mut sent = Vec::new();
    message.emit(&mut sent);
    assert_eq!(sent.len(), message.wire_len());
    assert_eq!(Message::parse(&sent), Ok(message));
});
