use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::{control, damage, payload};

fn emitted(segment: &Segment) -> Vec<u8> {
    let mut out = Vec::new();
    segment.emit(&mut out);
    out
}

fn data() -> impl Strategy<Value = Segment> {
    (any::<([bool; 4], u8, u16)>(), any::<(u32, u32, u32)>(), payload()).prop_map(
        |(([ask, more, is_fin, second_path], every, hold), (number, transmission, sent), payload)| {
            let payload = if is_fin { Payload::EMPTY } else { payload };
            Segment::Data(Data {
                ask,
                more,
                is_fin,
                second_path,
                every,
                hold,
                number,
                transmission,
                sent,
                chunks: Vec::new(),
                payload,
            })
        },
    )
}

fn chunk() -> impl Strategy<Value = Chunk> {
    let numbers = (0..=Chunk::MAX_CHANNEL, 0_u64..1 << 61, 0_u64..1 << 61, 1_u64..1 << 60);
    let options = (0_u8..8, any::<bool>(), 0..=ChannelOptions::MAX_DEADLINE, "[!-~]{0,32}").prop_map(
        |(priority, is_ordered, deadline, name)| ChannelOptions { priority, is_ordered, deadline, name },
    );
    (0..5, numbers, options, any::<(bool, Option<u32>)>(), 0_u16..40).prop_map(
        |(kind, (channel, first, second, count), options, (is_last, slack), len)| match kind {
            0 => Chunk::Open { channel: channel & !1, options },
            1 => Chunk::Data { channel, message: first, offset: second, len, is_last, slack },
            2 if is_last => Chunk::Gap { channel, first, count: 1, used: second },
            2 => Chunk::Gap { channel, first, count, used: 0 },
            3 => Chunk::Credit { channel, limit: first },
            _ => Chunk::Skip { distance: channel.max(1), count: 1 + len.min(channel.max(1) - 1) },
        },
    )
}

fn channels() -> impl Strategy<Value = Segment> {
    (any::<([bool; 3], u8, u16)>(), any::<(u32, u32, u32)>(), vec(chunk(), 1..6)).prop_map(
        |(([ask, more, second_path], every, hold), (number, transmission, sent), chunks)| {
            let len: usize = chunks.iter().map(|chunk| usize::from(chunk.data_len())).sum();
            let payload = if len > 0 { Payload::Bytes(std::vec![7; len]) } else { Payload::EMPTY };
            let data = Data { ask, more, second_path, every, hold, ..Data::default() };
            Segment::Data(Data { number, transmission, sent, chunks, payload, ..data })
        },
    )
}

fn ack() -> impl Strategy<Value = Segment> {
    let arrived = (vec(0_u64..300, 0..20), vec(0_u64..9000, 0..4));
    (any::<(bool, u16, u32, u32)>(), any::<(u32, u8, u32)>(), 0..=Ack::MAX_HELD, arrived).prop_map(
        |((second_path, window, next, newest), (echo, together, delay), held, (near, far))| {
            let mut bitmap = Bitmap::default();
            near.into_iter().chain(far).for_each(|offset| bitmap.insert(offset));
            Segment::Ack(Ack { second_path, window, next, newest, echo, held, together, delay, bitmap })
        },
    )
}

#[test]
fn known_bytes() {
    let data = Data {
        ask: true,
        more: false,
        is_fin: false,
        second_path: false,
        every: 8,
        hold: 2500,
        number: 5,
        transmission: 6,
        sent: 7,
        chunks: Vec::new(),
        payload: b"ab".to_vec().into(),
    };
    let bytes = [0x11, 8, 0x09, 0xc4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, b'a', b'b'];
    assert_eq!(emitted(&Segment::Data(data.clone())), bytes);
    assert_eq!(emitted(&Segment::Data(Data { more: true, ..data.clone() }))[0], 0x13);
    assert_eq!(emitted(&Segment::Data(Data { second_path: true, ..data.clone() }))[0], 0x19);
    let fin = Data { is_fin: true, payload: Payload::EMPTY, ..data };
    let bytes = emitted(&Segment::Data(fin));
    assert_eq!(bytes, [0x15, 8, 0x09, 0xc4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7]);
    let mut bitmap = Bitmap::default();
    [1, 3, 9].into_iter().for_each(|offset| bitmap.insert(offset));
    let ack = Ack {
        second_path: false,
        window: 64,
        next: 2,
        newest: 3,
        echo: 4,
        held: 5,
        together: 15,
        delay: 6,
        bitmap,
    };
    let bytes = [
        0x20,
        2,
        0,
        64,
        0,
        0,
        0,
        2,
        0,
        0,
        0,
        3,
        0,
        0,
        0,
        4,
        15,
        0,
        0,
        5,
        0,
        0,
        0,
        6,
        0b1010_0000,
        0b1000_0000,
    ];
    assert_eq!(emitted(&Segment::Ack(ack.clone())), bytes);
    assert_eq!(emitted(&Segment::Ack(Ack { second_path: true, ..ack }))[..2], [0x28, 2]);
}

#[test]
fn a_bitmap_covers_8192_segments() {
    let mut bitmap = Bitmap::default();
    assert_eq!(bitmap.end(), 0);
    let mut all = |offsets: &[u64]| {
        offsets.iter().for_each(|&offset| bitmap.insert(offset));
        let found: Vec<u64> = (0..9000).filter(|&offset| bitmap.contains(offset)).collect();
        (found, bitmap.end())
    };
    assert_eq!(all(&[0, 256]), (vec![256], 256));
    assert_eq!(all(&[257, 300]), (vec![256, 257, 300], 304));
    assert_eq!(all(&[8192, 8193, u64::MAX]), (vec![256, 257, 300, 8192], 8192));
    let ack = Segment::Ack(Ack { bitmap, ..Ack::default() });
    assert_eq!((ack.header_len(), &ack.start()[..2]), (24 + 1024, &[0x24, 0][..]));
    let Segment::Ack(mut ack) = ack else { panic!("an ACK") };
    let before = ack.clone();
    ack.bitmap.clear();
    assert_eq!((&ack.bitmap, before.bitmap.end()), (&Bitmap::default(), 8192));
}

#[test]
fn what_is_not_a_segment_is_refused() {
    let refused = |bytes: &[u8]| Segment::parse(bytes).unwrap_err().to_string();
    let mut ack = emitted(&Segment::Ack(Ack::default()));
    assert_eq!(refused(&[]), "0 bytes where at least 1 are needed");
    assert_eq!(
        refused(&[0x40, 0]),
        "kind is 64, allowed: 0x10 to 0x1f, 0x20 to 0x2f, 0x30 to 0x33, 0x50 to 0x5b without 4"
    );
    assert_eq!(refused(&[0x14; 17]), "FIN is 1, allowed: 0 with a payload");
    assert_eq!(refused(&[0x10; 15]), "15 bytes where at least 16 are needed");
    ack.push(1);
    assert_eq!(refused(&ack), "bytes after the bitmap is 1, allowed: none");
    ack[..2].copy_from_slice(&[0x24, 1]);
    ack.resize(24 + 1025, 1);
    assert_eq!(refused(&ack), "bitmap length is 1025, allowed: 0 to 1024");
    ack[..2].copy_from_slice(&[0x20, 2]);
    ack.truncate(24);
    ack.extend([1, 0]);
    assert_eq!(refused(&ack), "last byte of the bitmap is 0, allowed: not zero");
}

proptest! {
    #[test]
    fn parse_undoes_emit(segment in prop_oneof![data(), channels(), ack(), control().prop_map(Segment::Control)]) {
        let bytes = emitted(&segment);
        prop_assert_eq!(bytes.len(), segment.header_len() + segment.payload().len());
        let (start, len) = (segment.start(), bytes.len().min(16));
        prop_assert_eq!(&bytes[..len], &start[..len]);
        prop_assert_eq!(Segment::parse(&bytes), Ok(segment));
    }

    #[test]
    fn parse_never_panics(
        bytes in any::<Vec<u8>>(),
        segment in prop_oneof![data(), channels(), ack(), control().prop_map(Segment::Control)],
        damage in damage(),
    ) {
        let _ = Segment::parse(&bytes);
        let mut bytes = emitted(&segment);
        damage.apply(&mut bytes);
        if let Ok(segment) = Segment::parse(&bytes) {
            prop_assert_eq!(Segment::parse(&emitted(&segment)), Ok(segment));
        }
    }
}
