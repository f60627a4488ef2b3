//! Parsed 802.11 frames and LLC/SNAP headers can be emitted, and parse to the same values.

use crc32fast::hash as crc32;
use multihop_wire::dot11::{Frame, Snap};

pub fn fuzz(data: &[u8]) {
    round_trip(data);
    round_trip(&[data, &crc32(data).to_le_bytes()].concat());
    round_trip_of_snap(data);
}

fn round_trip(bytes: &[u8]) {
    let Ok(frame) = Frame::parse(bytes) else { return };
    let mut sent = Vec::new();
    frame.emit(&mut sent);
    assert_eq!(Frame::parse(&sent), Ok(frame));
}

fn round_trip_of_snap(body: &[u8]) {
    let Ok((snap, packet)) = Snap::parse(body) else { return };
    let mut sent = Vec::new();
    snap.emit(&mut sent);
    sent.extend(packet);
    assert_eq!(Snap::parse(&sent), Ok((snap, packet)));
}
