use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::pool::Pool;

const CREDIT: u32 = 4096;

fn channel(is_ordered: bool) -> Incoming {
    Incoming::new(CREDIT, Some(Options { is_ordered, ..Options::default() }))
}

fn take(channel: &mut Incoming, message: u64, offset: u64, len: u32, is_last: bool) -> Result<(), Violation> {
    channel.take_data((message, offset), Payload::Virtual(len), is_last, None)
}

/// Numbers of all that can be read: the sign of a gap is negative, parts have their length.
fn read(channel: &mut Incoming) -> Vec<(u64, i64)> {
    core::iter::from_fn(|| channel.read(Instant::ZERO))
        .map(|(number, content, _)| match content {
            Content::Whole(data) | Content::Part { data, .. } => (number, i64::try_from(data.len()).unwrap()),
            Content::Gap(count) => (number, -i64::try_from(count).unwrap()),
        })
        .collect()
}

#[test]
fn an_ordered_channel_waits_for_missing_messages_or_their_gap() {
    let mut channel = channel(true);
    assert_eq!(take(&mut channel, 1, 0, 10, true), Ok(()));
    assert_eq!(take(&mut channel, 3, 0, 30, true), Ok(()));
    assert_eq!(read(&mut channel), []);
    assert_eq!(take(&mut channel, 0, 0, 5, true), Ok(()));
    assert_eq!(read(&mut channel), [(0, 5), (1, 10)]);
    assert_eq!(channel.take_gap(2, 1, 0), Ok(()));
    assert_eq!(read(&mut channel), [(2, -1), (3, 30)]);
    assert_eq!((channel.counters.delivered, channel.counters.missed), (3, 1));
}

#[test]
fn an_unordered_channel_delivers_whole_messages_at_once() {
    let mut channel = channel(false);
    assert_eq!(take(&mut channel, 4, 0, 10, true), Ok(()));
    assert_eq!(take(&mut channel, 2, 100, 20, true), Ok(()));
    assert_eq!(channel.take_gap(0, 2, 0), Ok(()));
    assert_eq!(read(&mut channel), [(0, -2), (4, 10)]);
    assert_eq!(take(&mut channel, 2, 0, 100, false), Ok(()));
    assert_eq!(read(&mut channel), [(2, 120)]);
    assert_eq!(take(&mut channel, 2, 0, 100, false), Ok(()), "a message that is over takes nothing");
    assert_eq!(channel.kept(), 0);
}

#[test]
fn nothing_is_read_before_the_channel_is_open() {
    let mut channel = Incoming::new(CREDIT, None);
    assert_eq!(take(&mut channel, 1, 0, 10, true), Ok(()));
    assert!(!channel.is_readable());
    assert_eq!(channel.open(Options { is_ordered: false, ..Options::default() }), Ok(()));
    assert_eq!(read(&mut channel), [(1, 10)]);
    assert_eq!(channel.open(Options::default()), Err("opened twice"));
}

#[test]
fn long_messages_are_read_in_parts_and_a_gap_may_end_them() {
    let mut channel = channel(true);
    for offset in [0, 1024] {
        assert_eq!(take(&mut channel, 0, offset, 1024, false), Ok(()));
        assert_eq!(read(&mut channel), [], "a message of up to 2048 bytes is read whole");
    }
    assert_eq!(take(&mut channel, 0, 2048, 100, false), Ok(()));
    assert_eq!(read(&mut channel), [(0, 2148)]);
    assert_eq!(take(&mut channel, 0, 2148, 100, false), Ok(()));
    assert_eq!(read(&mut channel), [(0, 100)]);
    assert_eq!(channel.take_gap(0, 1, 64 + 3000), Ok(()));
    assert_eq!(read(&mut channel), [(0, -1)]);
    assert_eq!((channel.kept(), channel.room.freed), (0, 64 + 3000));
}

#[test]
fn a_message_that_is_delivered_whole_fits_into_the_credit_of_an_empty_room() {
    let mut channel = channel(false);
    let mut growth = Growth { spare: 0, share: Share::of(None) };
    // With their costs, the messages use one byte less than 3/8 of the credit, and are read.
    assert_eq!(take(&mut channel, 0, 0, 1535 - 64, true), Ok(()));
    assert_eq!(read(&mut channel), [(0, 1471)]);
    assert_eq!(channel.grant(&mut growth, false), None);
    assert_eq!(take(&mut channel, 1, 0, CREDIT / 2, true), Ok(()));
    assert_eq!(read(&mut channel), [(1, 2048)]);
    assert_eq!(channel.grant(&mut growth, false), Some(4096 + 1535 + 2112));
}

#[test]
fn credit_grows_by_what_was_read_and_the_room_by_what_the_application_keeps_up_with() {
    let mut channel = channel(true);
    let mut growth = Growth { spare: 5000, share: Share::of(None) };
    let mut granted = Vec::new();
    for round in 0..4 {
        for message in 3 * round..3 * round + 3 {
            assert_eq!(take(&mut channel, message, 0, 936, true), Ok(()), "1000 with its cost");
            assert_eq!(channel.grant(&mut growth, false), None, "it was not read");
        }
        read(&mut channel);
        granted.extend(channel.grant(&mut growth, false));
    }
    assert_eq!(granted, [4096 + 3000, 8192 + 6000, 8192 + 12_000], "doubled once");
    assert_eq!(growth.spare, 5000 - 4096);
}

#[test]
fn a_room_grows_only_as_far_as_the_connections_of_a_socket_have_memory() {
    let pool = Pool::new(5000);
    let mut growth = Growth { spare: 100_000, share: Share::of(Some(pool.clone())) };
    assert!(growth.take(4096) && !growth.take(4096));
    assert_eq!((growth.spare, pool.left()), (100_000 - 4096, 5000 - 4096));
}

#[test]
fn gaps_that_were_not_read_become_one() {
    for is_ordered in [true, false] {
        let mut channel = channel(is_ordered);
        for first in [0, 4, 2, 3, 1] {
            assert_eq!(channel.take_gap(first, 1, 0), Ok(()));
        }
        assert_eq!((channel.items.len(), channel.closed.len()), (1, 1));
        assert!(channel.ready.len() <= 1);
        assert_eq!(read(&mut channel), [(0, -5)]);
    }
}

#[test]
fn messages_are_late_after_their_deadline() {
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    for (now, is_late) in [(20, false), (21, true)] {
        let mut channel = channel(true);
        for (offset, is_last, expires) in [(0, false, 30), (100, true, 20)] {
            let data = Payload::Virtual(100);
            assert_eq!(channel.take_data((0, offset), data, is_last, Some(at(expires))), Ok(()));
        }
        assert_eq!(channel.read(at(now)), Some((0, Content::Whole(Payload::Virtual(200)), is_late)));
        assert_eq!(channel.counters.late, u64::from(is_late));
    }
}

#[test]
fn a_peer_that_breaks_a_rule_is_found_out() {
    let of = |act: &dyn Fn(&mut Incoming) -> Result<(), Violation>| act(&mut channel(true)).unwrap_err();
    assert_eq!(of(&|channel| take(channel, 0, 0, 63, false)), "a short chunk");
    assert_eq!(of(&|channel| take(channel, 0, 4000, 64, true)), "more than the credit");
    assert_eq!(
        of(&|channel| (0..65).try_for_each(|message| take(channel, message, 0, 0, true))),
        "more than the credit"
    );
    let overlap = |channel: &mut Incoming| {
        take(channel, 0, 0, 100, false).and_then(|()| take(channel, 0, 99, 100, false))
    };
    assert_eq!(of(&overlap), "chunks that overlap");
    let less =
        |channel: &mut Incoming| take(channel, 0, 0, 100, false).and_then(|()| channel.take_gap(0, 1, 163));
    assert_eq!(of(&less), "a gap with less credit than was used");
    let sent =
        |channel: &mut Incoming| take(channel, 1, 0, 100, true).and_then(|()| channel.take_gap(0, 2, 0));
    assert_eq!(of(&sent), "a gap over messages that were sent");
    let holes =
        |channel: &mut Incoming| (0..5000).try_for_each(|message| channel.take_gap(2 * message, 1, 0));
    assert_eq!(of(&holes), "too many messages that are not complete");
}

#[test]
fn the_memory_of_hostile_chunks_is_bounded() {
    let mut channel = channel(false);
    let mut accepted = 0;
    for message in 0..10_000 {
        let chunk = channel.take_data((message, 64), Payload::Bytes(vec![0; 64]), false, None);
        accepted += u64::from(chunk.is_ok());
    }
    assert_eq!(accepted, u64::from(CREDIT) / (64 + 128));
}
