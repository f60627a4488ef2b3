//! A parsed packet of B.A.T.M.A.N. IV can be emitted, and parses to the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_wire::batman::Packet;

fuzz_target!(|data: &[u8]| {
    let Ok(packet) = Packet::parse(data) else { return };
    let mut sent = Vec::new();
    packet.emit(&mut sent);
    assert_eq!(sent.len(), packet.wire_len());
    assert_eq!(Packet::parse(&sent), Ok(packet));
});
