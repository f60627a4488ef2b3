//! A parsed radiotap header can be emitted, and parses to the same value.

use multihop_wire::radiotap::Header;

pub fn fuzz(data: &[u8]) {
    let Ok((header, frame)) = Header::parse(data) else { return };
    let mut sent = Vec::new();
    header.emit(&mut sent);
    sent.extend(frame);
    assert_eq!(Header::parse(&sent), Ok((header, frame)));
}
