use alloc::vec;

use super::super::{Data, Segment};
use super::*;

fn chunks() -> Vec<Chunk> {
    let options = ChannelOptions { priority: 1, is_ordered: true, deadline: 2000, name: "gps".into() };
    vec![
        Chunk::Open { channel: 2, options },
        Chunk::Data { channel: 2, message: 0, offset: 0, len: 2, is_last: true, slack: Some(1800) },
        Chunk::Data { channel: 5, message: 7, offset: 100, len: 1, is_last: false, slack: None },
        Chunk::Gap { channel: 5, first: 8, count: 2, used: 0 },
        Chunk::Credit { channel: 3, limit: 70_000 },
        Chunk::Skip { distance: 300, count: 2 },
    ]
}

const BYTES: [u8; 37] = [
    0x01, 0x02, 0x01, 0x47, 0xd0, 0x03, b'g', b'p', b's', // OPEN
    0x43, 0x02, 0x00, 0x02, 0x47, 0x08, // DATA, the whole message 0
    0x44, 0x05, 0x07, 0x40, 0x64, 0x01, // DATA, byte 100 of message 7
    0x10, 0x05, 0x08, 0x02, 0x00, // GAP
    0x20, 0x03, 0x80, 0x01, 0x11, 0x70, // CREDIT
    0x30, 0x41, 0x2c, 0x02, // SKIP
    0x00,
];

fn emitted(chunks: &[Chunk]) -> Vec<u8> {
    let mut out = Vec::new();
    chunks.iter().for_each(|chunk| chunk.emit(&mut out));
    out
}

#[test]
fn known_bytes() {
    assert_eq!(emitted(&chunks()), BYTES[..36]);
    let lengths: Vec<usize> = chunks().iter().map(Chunk::header_len).collect();
    assert_eq!(lengths, [9, 6, 6, 5, 6, 4]);
    let segment = Segment::Data(Data {
        every: 8,
        number: 5,
        transmission: 6,
        sent: 7,
        chunks: chunks(),
        payload: b"abc".to_vec().into(),
        ..Data::default()
    });
    let mut out = Vec::new();
    segment.emit(&mut out);
    let head = [0x50, 8, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 36];
    assert_eq!(out, [&head, &BYTES[..36], b"abc"].concat());
    assert_eq!(segment.header_len(), 16 + 2 + 36);
    assert_eq!(Segment::parse(&out), Ok(segment));
}

#[test]
fn numbers_have_the_shortest_of_four_lengths() {
    for number in [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, Chunk::MAX_NUMBER] {
        let mut out = Vec::new();
        put(number, &mut out);
        assert_eq!(out.len(), len_of(number));
        assert_eq!(varint(&mut Reader::new(&out)), Ok(number));
    }
    // The examples of RFC 9000, appendix A.1.
    let examples: [(&[u8], u64); 4] = [
        (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
        (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
        (&[0x7b, 0xbd], 15_293),
        (&[0x40, 0x25], 37),
    ];
    for (bytes, number) in examples {
        assert_eq!(varint(&mut Reader::new(bytes)), Ok(number));
    }
}

#[test]
fn what_is_not_a_chunk_is_refused() {
    let refused = |bytes: &[u8]| Chunk::parse(&mut Reader::new(bytes)).unwrap_err().to_string();
    assert_eq!(
        refused(&[0x31, 0]),
        "kind of a chunk is 49, allowed: 0x00, 0x01, 0x10, 0x20, 0x30, 0x40 to 0x47"
    );
    for skip in [[0x30, 0, 0].as_slice(), &[0x30, 3, 0], &[0x30, 3, 4], &[0x30, 0x80, 0, 0x40, 0, 1]] {
        assert!(refused(skip).starts_with("segments of a skip"), "{skip:?}");
    }
    assert_eq!(refused(&[0x00, 3]), "number of a new channel is 3, allowed: an even number");
    assert_eq!(refused(&[0x00, 2, 8]), "priority of a channel is 8, allowed: 0 to 7");
    assert_eq!(refused(&[0x00, 2, 0, 0, 33]), "length of a channel's name is 33, allowed: 0 to 32");
    assert_eq!(
        refused(&[0x00, 2, 0, 0, 1, b' ']),
        "character of a channel's name is 32, allowed: 0x21 to 0x7e"
    );
    assert_eq!(
        refused(&[0x10, 0, 1, 0, 0]),
        "messages of a gap is 0, allowed: at least 1, up to number 2^62 - 2"
    );
    assert_eq!(refused(&[0x10, 0, 1, 2, 1]), "credit used by several messages of a gap is 1, allowed: 0");
    assert_eq!(refused(&[0x20, 0]), "2 bytes where at least 3 are needed");
    let years = [0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0];
    assert!(refused(&years).starts_with("deadline of a channel is"));
    let far = [[0x44, 0, 0].as_slice(), &[0xff; 8], &[1]].concat();
    assert!(refused(&far).starts_with("end of a chunk is"));
}

#[test]
fn a_segment_has_the_data_of_its_chunks_and_no_fin() {
    let head = [8, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7];
    let refused =
        |kind: u8, rest: &[u8]| Segment::parse(&[&[kind][..], &head, rest].concat()).unwrap_err().to_string();
    assert_eq!(refused(0x50, &[0, 0]), "length of the chunk section is 0, allowed: at least 3");
    assert_eq!(
        refused(0x50, &[0, 4, 0x41, 0, 0, 2, 9]),
        "data behind the chunks is 1, allowed: the sum of their lengths"
    );
    assert_eq!(
        refused(0x50, &[0, 4, 0x41, 0, 0, 1]),
        "data behind the chunks is 0, allowed: the sum of their lengths"
    );
    assert_eq!(
        refused(0x54, &[0, 3, 0x20, 0, 1]),
        "kind is 84, allowed: 0x10 to 0x1f, 0x20 to 0x2f, 0x30 to 0x33, 0x50 to 0x5b without 4"
    );
}
