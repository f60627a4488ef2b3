//! A parsed DSR header emits the same bytes, of the announced length.

use multihop_wire::dsr::Header;

pub fn fuzz(data: &[u8]) {
    let Ok((header, payload)) = Header::parse(data) else { return };
    let mut sent = Vec::new();
    header.emit(&mut sent);
    assert_eq!(sent.len(), header.wire_len());
    sent.extend_from_slice(payload);
    assert_eq!(Header::parse(&sent), Ok((header, payload)));
}
