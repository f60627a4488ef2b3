//! A parsed segment of `mesh`, or of a user-defined transport, can be emitted, and parses to the same value.

use multihop_wire::{custom, mesh};

pub fn fuzz(data: &[u8]) {
    if let Ok(segment) = mesh::Segment::parse(data) {
        let mut sent = Vec::new();
        segment.emit(&mut sent);
        assert_eq!(sent.len(), segment.header_len() + segment.payload().len());
        assert_eq!(mesh::Segment::parse(&sent), Ok(segment));
    }
    if let Ok(segment) = custom::Segment::parse(data) {
        let mut sent = Vec::new();
        segment.emit(&mut sent);
        assert_eq!(custom::Segment::parse(&sent), Ok(segment));
    }
}
