use super::super::copies::MAX_COPIES;
use super::*;

fn side(credit: u32) -> SendSide {
    SendSide::new(ChannelLimits { channels: 8, credit, message: 1 << 40 }, MAX_COPIES, true)
}

fn open(side: &mut SendSide, priority: u8) -> ChannelId {
    let id = side.open(ChannelOptions { priority, ..ChannelOptions::default() }).expect("fewer than 8");
    while side.first_class().is_some() {
        fill(side);
    }
    id
}

fn push(side: &mut SendSide, channel: ChannelId, len: u64) {
    side.push(Instant::ZERO, channel, (Data::Virtual(len), true), u64::MAX).expect("there is room");
}

/// Channels and lengths of the chunks in the next segment of 1000 bytes.
fn fill(side: &mut SendSide) -> Vec<(u16, u16)> {
    let class = side.first_class().expect("something to send");
    let serial = side.fill(Instant::ZERO, class, 1000).expect("something fits");
    let (chunks, data) = side.content(Instant::ZERO, serial, Vec::new(), &mut None);
    let lengths: Vec<_> = chunks.iter().map(|chunk| (chunk.channel(), chunk.data_len())).collect();
    assert_eq!(data.len(), lengths.iter().map(|&(_, len)| usize::from(len)).sum::<usize>());
    let header: usize = chunks.iter().map(Chunk::header_len).sum();
    assert!(2 + header + data.len() <= 1000);
    lengths
}

#[test]
fn a_better_class_leaves_first_and_alone() {
    let mut side = side(65_536);
    let (image, command) = (open(&mut side, 5), open(&mut side, 1));
    push(&mut side, image, 5000);
    assert_eq!((side.first_class(), fill(&mut side)), (Some(6), alloc::vec![(0, 993)]));
    push(&mut side, command, 100);
    push(&mut side, command, 50);
    assert_eq!((side.first_class(), fill(&mut side)), (Some(1), alloc::vec![(2, 100), (2, 50)]));
    assert_eq!(side.first_class(), Some(6));
}

#[test]
fn channels_of_one_class_take_turns_by_bytes() {
    let mut side = side(1 << 30);
    let (small, large) = (open(&mut side, 2), open(&mut side, 2));
    (0..2000).for_each(|_| push(&mut side, small, 20));
    push(&mut side, large, 200_000);
    let mut sent = [0_u64; 2];
    for _ in 0..60 {
        for (channel, len) in fill(&mut side) {
            sent[usize::from(channel / 2)] += u64::from(len) + if channel == 0 { 4 } else { 7 };
        }
    }
    let ratio = sent[0] as f64 / sent[1] as f64;
    assert!((0.9..1.1).contains(&ratio), "{sent:?}");
}

#[test]
fn a_channel_without_credit_leaves_the_air_to_others() {
    let mut side = side(300);
    let (blocked, other) = (open(&mut side, 1), open(&mut side, 6));
    push(&mut side, blocked, 2000);
    push(&mut side, other, 100);
    assert_eq!(fill(&mut side), [(0, 236)]);
    assert_eq!((side.first_class(), fill(&mut side)), (Some(7), alloc::vec![(2, 100)]));
    assert_eq!(side.first_class(), None);
    assert!(side.on_credit(blocked, 1000) && !side.on_credit(ChannelId(7), 1));
    assert_eq!((side.first_class(), fill(&mut side)), (Some(1), alloc::vec![(0, 700)]));
}

#[test]
fn credit_for_the_peer_leaves_before_all_messages_with_the_newest_value() {
    let mut side = side(65_536);
    let channel = open(&mut side, 7);
    push(&mut side, channel, 5000);
    side.grant(channel, 100);
    side.grant(channel, 200);
    let serial = side.fill(Instant::ZERO, side.first_class().expect("credit"), 1000).expect("it fits");
    let (chunks, _) = side.content(Instant::ZERO, serial, Vec::new(), &mut None);
    assert_eq!(chunks, [Chunk::Credit { channel: 0, limit: 200 }]);
    assert_eq!(fill(&mut side), [(0, 993)]);
}

#[test]
fn channels_are_limited_by_the_peer() {
    let mut side = side(65_536);
    (0..8).for_each(|_| assert!(open(&mut side, 0).is_own()));
    assert_eq!(side.open(ChannelOptions::default()), Err(ChannelError::TooMany(8)));
}

#[test]
fn data_of_several_chunks_is_joined() {
    let joined = |parts: &[Payload]| {
        let mut data = Payload::EMPTY;
        parts.iter().for_each(|part| append(&mut data, part.clone()));
        data
    };
    let (virtual_, real) = (Payload::Virtual(2), Payload::from(alloc::vec![7]));
    assert_eq!(joined(&[virtual_.clone(), virtual_.clone()]), Payload::Virtual(4));
    assert_eq!(joined(&[real.clone(), virtual_.clone()]), Payload::from(alloc::vec![7, 0, 0]));
    assert_eq!(joined(&[virtual_, Payload::EMPTY, real]), Payload::from(alloc::vec![0, 0, 7]));
}
