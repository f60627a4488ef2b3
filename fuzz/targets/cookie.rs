//! A cookie is good for the address and time that it was made for, and for no other.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use multihop_net::fuzzing::cookie;

fuzz_target!(|input: ([u8; 32], [u8; 16], [Place; 2], [u32; 2])| {
    let (key, shown, places, seconds) = input;
    cookie(key, shown, places.map(address), seconds);
});

/// IPv6 or not, and an address and port of either.
type Place = (bool, [u8; 16], u16);

fn address((is_v6, bytes, port): Place) -> SocketAddr {
    match is_v6 {
        true => SocketAddr::from((bytes, port)),
        false => SocketAddr::from(([bytes[0], bytes[1], bytes[2], bytes[3]], port)),
    }
}
