//! A cookie is valid only for the address and time for which it was made.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use multihop_hub::fuzzing::cookie;

fuzz_target!(|input: ([u8; 32], [u8; 16], [Place; 2], [u32; 2])| {
    let (key, shown, places, seconds) = input;
    cookie(key, shown, places.map(address), seconds);
});

/// Whether it is IPv6, the bytes of the address, and the port.
type Place = (bool, [u8; 16], u16);

fn address((is_v6, bytes, port): Place) -> SocketAddr {
    match is_v6 {
        true => SocketAddr::from((bytes, port)),
        false => SocketAddr::from(([bytes[0], bytes[1], bytes[2], bytes[3]], port)),
    }
}
