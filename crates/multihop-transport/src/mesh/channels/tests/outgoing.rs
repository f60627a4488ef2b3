use alloc::vec;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A channel with a deadline of this many milliseconds, or without one.
fn channel(deadline: u32, credit: u32) -> Outgoing {
    Outgoing::new(2, &ChannelOptions { deadline: deadline * 10, ..ChannelOptions::default() }, credit)
}

fn push(channel: &mut Outgoing, ms: u64, len: u64, is_last: bool) -> u64 {
    channel.push(at(ms), Data::Virtual(len), is_last, 1 << 40).expect("there is room")
}

/// The next chunk at this time, if 1000 bytes are left, without its channel.
fn next(channel: &mut Outgoing, ms: u64) -> Option<Chunk> {
    channel.next_chunk(at(ms), Duration::from_millis(10), 1000)
}

/// Message, offset, length and end of a chunk with data.
fn data(chunk: Option<Chunk>) -> Option<(u64, u64, u16, bool)> {
    match chunk? {
        Chunk::Data { message, offset, len, is_last, .. } => Some((message, offset, len, is_last)),
        other => panic!("{other:?}"),
    }
}

fn gap(chunk: Option<Chunk>) -> Option<(u64, u64, u64)> {
    match chunk? {
        Chunk::Gap { first, count, used, .. } => Some((first, count, used)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_leave_in_chunks_that_fill_the_room() {
    let mut channel = channel(0, 65_536);
    assert!(!channel.is_ready());
    push(&mut channel, 0, 1500, true);
    push(&mut channel, 0, 0, true);
    assert_eq!(data(next(&mut channel, 0)), Some((0, 0, 995, false)));
    assert_eq!(data(next(&mut channel, 0)), Some((0, 995, 505, true)));
    assert_eq!(data(next(&mut channel, 0)), Some((1, 0, 0, true)), "an empty message");
    assert_eq!((next(&mut channel, 0), channel.is_ready()), (None, false));
}

#[test]
fn a_message_is_not_cut_into_shorter_parts_than_allowed() {
    let mut channel = channel(0, 65_536);
    push(&mut channel, 0, 100, true);
    assert_eq!(channel.next_chunk(at(0), Duration::ZERO, 67), None, "4 bytes of header leave 63");
    let first = channel.next_chunk(at(0), Duration::ZERO, 70);
    assert_eq!(data(first).map(|(_, _, len, _)| len), Some(65));
    push(&mut channel, 0, 10, false);
    assert_eq!(data(next(&mut channel, 0)), Some((0, 65, 35, true)));
    assert_eq!((next(&mut channel, 0), channel.is_ready()), (None, false), "its end may be near");
    push(&mut channel, 0, 60, false);
    assert_eq!(data(next(&mut channel, 0)), Some((1, 0, 70, false)));
    push(&mut channel, 0, 0, true);
    assert_eq!(data(next(&mut channel, 0)), Some((1, 70, 0, true)));
}

#[test]
fn credit_limits_what_leaves_and_never_shrinks() {
    let mut channel = channel(0, 400);
    push(&mut channel, 0, 1000, true);
    assert_eq!(data(next(&mut channel, 0)), Some((0, 0, 336, false)), "each message costs 64 bytes");
    assert!(!channel.is_ready());
    channel.on_credit(300);
    assert!(!channel.is_ready());
    channel.on_credit(463);
    assert!(!channel.is_ready(), "63 bytes are too few");
    channel.on_credit(464);
    assert_eq!(data(next(&mut channel, 0)), Some((0, 336, 64, false)));
}

#[test]
fn messages_that_cannot_arrive_in_time_become_one_gap() {
    let mut channel = channel(100, 65_536);
    for ms in [0, 1, 2, 50] {
        push(&mut channel, ms, 50, true);
    }
    assert_eq!(channel.first_deadline(), Some(at(100)));
    assert_eq!(data(next(&mut channel, 89)), Some((0, 0, 50, true)), "it arrives after 99 ms");
    assert_eq!(gap(next(&mut channel, 92)), Some((1, 2, 0)), "one arrives at its deadline");
    assert_eq!(data(next(&mut channel, 92)), Some((3, 0, 50, true)));
    assert_eq!((channel.given_up, channel.queued()), (2, 100));
}

#[test]
fn slack_is_the_rest_of_the_deadline_after_the_shortest_way() {
    let mut channel = channel(100, 65_536);
    push(&mut channel, 0, 50, true);
    let Some(Chunk::Data { slack, .. }) = next(&mut channel, 20) else { panic!("data") };
    assert_eq!(slack, Some(700), "100 - 20 - 10 ms");
}

#[test]
fn a_late_retransmission_is_a_gap_and_so_is_the_rest_of_its_message() {
    let mut channel = channel(100, 65_536);
    push(&mut channel, 0, 2000, true);
    let first = next(&mut channel, 0).expect("data");
    let again = channel.repeat(&first, at(99), &mut None);
    assert_eq!((data(Some(again.0)), again.1), (Some((0, 0, 993, false)), Payload::Virtual(993)));
    let (late, bytes) = channel.repeat(&first, at(100), &mut None);
    assert_eq!((gap(Some(late.clone())), bytes), (Some((0, 1, 64 + 993)), Payload::EMPTY));
    assert!(channel.is_ready(), "the first copy may have arrived, so that the gap there is dropped");
    let rest = next(&mut channel, 100).expect("a gap");
    assert_eq!(gap(Some(rest.clone())), Some((0, 1, 64 + 993)));
    assert_eq!((channel.queued(), channel.has_unsent()), (0, false));
    channel.release(&late);
    assert_eq!(channel.messages.len(), 1);
    channel.release(&rest);
    assert_eq!(channel.messages.len(), 0);
}

#[test]
fn later_segments_have_copies_of_messages_that_may_be_lost() {
    let estimate =
        |loss| Estimate { one_way: Duration::from_millis(10), round: Duration::from_millis(200), loss };
    let mut channel = channel(100, 65_536);
    let sent = [0, 20, 40, 60].map(|ms| {
        push(&mut channel, ms, 50, true);
        next(&mut channel, ms).expect("data")
    });
    let copy = |channel: &mut Outgoing, loss, arrival, room| -> Vec<u64> {
        let copies = channel.copy(3, at(arrival), (&estimate(loss), 2), room);
        copies.into_iter().filter_map(|chunk| data(Some(chunk))).map(|(message, ..)| message).collect()
    };
    assert_eq!(copy(&mut channel, 0.0, 70, 1000), []);
    assert_eq!(copy(&mut channel, 0.5, 70, 60), [2], "there is room for one");
    channel.note_arrival(&sent[1]);
    assert_eq!(copy(&mut channel, 0.5, 70, 1000), [2, 0]);
    assert_eq!(copy(&mut channel, 0.5, 70, 1000), [0], "two copies are enough");
    assert_eq!(copy(&mut channel, 0.5, 100, 1000), [], "the first message is worthless");
}

#[test]
fn a_message_in_several_chunks_is_not_copied() {
    let estimate = Estimate { round: Duration::from_secs(1), loss: 0.5, ..Estimate::default() };
    let mut channel = channel(100, 65_536);
    push(&mut channel, 0, 1500, true);
    push(&mut channel, 0, 10, true);
    (0..3).for_each(|_| drop(next(&mut channel, 0)));
    assert_eq!(channel.copy(1, at(10), (&estimate, 8), 4000), []);
}

#[test]
fn a_lost_chunk_is_moot_once_its_message_has_arrived_or_is_worthless() {
    let mut channel = channel(100, 65_536);
    push(&mut channel, 0, 50, true);
    push(&mut channel, 50, 50, true);
    let [first, second] = [0, 50].map(|ms| next(&mut channel, ms).expect("data"));
    assert!(!channel.is_moot(&first, at(99)) && channel.is_moot(&first, at(100)));
    assert_eq!(gap(channel.gap_of(&first)), Some((0, 1, 114)));
    assert!(!channel.is_moot(&second, at(100)));
    channel.note_arrival(&second);
    assert!(channel.is_moot(&second, at(100)));
    assert_eq!(channel.gap_of(&second), None);
}

#[test]
fn acknowledged_bytes_are_freed() {
    let mut channel = channel(0, 65_536);
    let bytes: Vec<u8> = (0..=255).cycle().take(2000).collect();
    channel.push(at(0), Data::Bytes(bytes.clone()), true, 1 << 40).expect("there is room");
    let chunks = [0; 3].map(|_| next(&mut channel, 0).expect("data"));
    channel.release(&chunks[0]);
    assert_eq!(channel.queued(), 2000 - 995);
    let (_, again) = channel.repeat(&chunks[1], at(5), &mut None);
    assert_eq!(again, Payload::Bytes(bytes[995..1988].to_vec()));
    channel.release(&chunks[1]);
    channel.release(&chunks[2]);
    assert_eq!((channel.queued(), channel.messages.len()), (0, 0));
}

#[test]
fn the_number_and_the_length_of_messages_are_limited() {
    let mut channel = channel(0, 65_536);
    let push = |channel: &mut Outgoing, len| channel.push(at(0), Data::Virtual(len), false, 1000);
    assert_eq!(push(&mut channel, 600), Ok(0));
    assert_eq!(push(&mut channel, 401), Err(ChannelError::TooLong(1000)));
    assert_eq!(push(&mut channel, 400), Ok(0));
    assert_eq!(channel.push(at(0), Data::Endless, true, 1000), Err(ChannelError::Endless));
    assert_eq!((channel.writable(1500), channel.writable(900)), (500, 0));
    channel.finish();
    assert!(channel.given_up == 1 && gap(next(&mut channel, 0)) == Some((0, 1, 0)));
    for _ in 0..MAX_MESSAGES - 1 {
        channel.push(at(0), Data::Bytes(vec![]), true, 1000).expect("there is room");
    }
    assert_eq!(channel.writable(1500), 0);
}
