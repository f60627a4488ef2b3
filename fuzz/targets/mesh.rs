//! A parsed segment of `mesh` is emitted as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_wire::mesh::Segment;

fuzz_target!(|data: &[u8]| {
    if let Ok(segment) = Segment::parse(data) {
        let mut sent = Vec::new();
        segment.emit(&mut sent);
        assert_eq!(sent, data);
    }
});
