//! A cookie is valid only for the address and time for which it was made.

use std::net::SocketAddr;

use multihop_fuzz::arbitrary;
use multihop_hub::fuzzing::cookie;

pub fn fuzz(data: &[u8]) {
    let Some((key, shown, places, seconds)) = arbitrary::<([u8; 32], [u8; 16], [Place; 2], [u32; 2])>(data)
    else {
        return;
    };
    cookie(key, shown, places.map(address), seconds);
}

/// Whether it is IPv6, the bytes of the address, and the port.
type Place = (bool, [u8; 16], u16);

fn address((is_v6, bytes, port): Place) -> SocketAddr {
    match is_v6 {
        true => SocketAddr::from((bytes, port)),
        false => SocketAddr::from(([bytes[0], bytes[1], bytes[2], bytes[3]], port)),
    }
}
