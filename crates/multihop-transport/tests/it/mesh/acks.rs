//! Times at which ACKs leave, and their contents.

use multihop_core::{Duration, Instant, Payload};
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::mesh::{Ack, Data, Segment};

use super::pair::established;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A segment that asks for an ACK after four segments or 100 ms.
fn segment(number: u32, transmission: u32, sent_ms: u32) -> Data {
    let payload = Payload::Virtual(100);
    Data { every: 4, hold: 1000, number, transmission, sent: sent_ms * 1000, payload, ..Data::default() }
}

fn end() -> MeshEnd {
    established(Config { sink: true, ..Config::default() })
}

/// The ACK that leaves at once, if there is one.
fn give(end: &mut MeshEnd, now: Instant, data: Data) -> Option<Ack> {
    end.receive(now, Segment::Data(data));
    ack(end, now)
}

fn ack(end: &mut MeshEnd, now: Instant) -> Option<Ack> {
    let mut acks = std::iter::from_fn(|| end.poll_output(now)).filter_map(|output| match output {
        Output::Segment(Segment::Ack(ack)) => Some(ack),
        _ => None,
    });
    let first = acks.next();
    assert_eq!(acks.next(), None, "one ACK at a time");
    first
}

#[test]
fn one_ack_for_as_many_segments_as_the_sender_asked() {
    let mut end = end();
    for number in 0..3 {
        assert_eq!(give(&mut end, at(10), segment(number, number, 0)), None);
    }
    let ack = give(&mut end, at(15), segment(3, 3, 0)).expect("the fourth segment");
    assert_eq!((ack.next, ack.newest, ack.held), (4, 3, 0));
    assert_eq!(give(&mut end, at(16), segment(4, 4, 0)), None);
}

#[test]
fn an_ack_waits_no_longer_than_the_sender_allows() {
    let mut end = end();
    give(&mut end, at(10), segment(0, 0, 0));
    give(&mut end, at(50), segment(1, 1, 40));
    assert_eq!(end.poll_timeout(), Some(at(110)));
    end.handle_timeout(at(110));
    let ack = ack(&mut end, at(110)).expect("it is due");
    assert_eq!((ack.next, ack.newest, ack.echo, ack.held), (2, 1, 40_000, 60_000));
}

#[test]
fn what_the_sender_waits_for_is_acknowledged_at_once() {
    let mut end = end();
    give(&mut end, at(10), segment(0, 0, 0));
    let gap = give(&mut end, at(20), segment(2, 2, 10)).expect("a gap");
    assert_eq!((gap.next, gap.bitmap.contains(1), gap.bitmap.contains(2)), (1, true, false));
    assert_eq!(give(&mut end, at(30), segment(3, 3, 20)), None, "the gap is known");
    let filled = give(&mut end, at(40), segment(1, 4, 30)).expect("the gap is filled");
    assert_eq!((filled.next, filled.newest), (4, 4));
    assert!(give(&mut end, at(50), segment(1, 5, 40)).is_some(), "a duplicate");
    assert!(give(&mut end, at(60), Data { ask: true, ..segment(4, 6, 50) }).is_some());
    let probe = Data { payload: Payload::EMPTY, ask: true, ..segment(5, 7, 60) };
    assert_eq!(give(&mut end, at(70), probe).map(|ack| (ack.next, ack.newest)), Some((5, 7)));
    assert_eq!(end.counters().delivered, 5);
}

#[test]
fn the_queueing_delay_is_that_above_the_fastest_segment() {
    let mut end = end();
    // The sender's clock is an hour ahead, and wraps.
    let sent = |number: u32, ms: u32| Data {
        sent: (u32::MAX - 5_000).wrapping_add(ms * 1000),
        ..segment(number, number, 0)
    };
    give(&mut end, at(100), sent(0, 0));
    give(&mut end, at(114), sent(1, 10));
    give(&mut end, at(120), sent(2, 20));
    let ack = give(&mut end, at(142), sent(3, 30)).expect("the fourth");
    assert_eq!(ack.delay, (4_000 + 12_000) / 4);
    let fast = give(&mut end, at(145), Data { ask: true, ..sent(4, 50) }).expect("asked for");
    assert_eq!(fast.delay, 0, "now the fastest");
    let later = give(&mut end, at(160), Data { ask: true, ..sent(5, 60) }).expect("asked for");
    assert_eq!(later.delay, 5_000);
}

#[test]
fn nothing_beyond_the_receive_buffer_is_kept() {
    let mut end = established(Config { recv_buffer: 2, mss: 100, ..Config::default() });
    let first = give(&mut end, at(10), Data { ask: true, ..segment(0, 0, 0) }).expect("asked for");
    assert_eq!((first.next, first.window), (1, 1));
    assert_eq!(give(&mut end, at(10), segment(2, 1, 0)).map(|ack| ack.bitmap.contains(1)), Some(false));
    let full = give(&mut end, at(10), Data { ask: true, ..segment(1, 2, 0) }).expect("asked for");
    assert_eq!((full.next, full.window, end.unread()), (2, 0, 200));
    assert_eq!(end.read(150).len(), 150);
    assert_eq!(ack(&mut end, at(20)).map(|ack| ack.window), Some(1), "the window opens");
}

#[test]
fn an_ack_covers_the_window_and_fits_the_path() {
    for (mss, covered) in [(1400, 8193), (100, 8 * 92 + 1), (16, 257)] {
        let mut end = established(Config { recv_buffer: 20_000, ..Config::default() });
        end.set_mss(mss);
        let last = u32::try_from(covered).unwrap() - 1;
        let mut longest = 0;
        for number in [last, last + 1] {
            let ack = give(&mut end, at(number.into()), segment(number, number, 0)).unwrap();
            assert_eq!(
                (ack.window, ack.bitmap.contains(covered - 1)),
                (u16::try_from(covered).unwrap(), true)
            );
            assert!(!ack.bitmap.contains(covered), "outside the window");
            longest = Segment::Ack(ack).header_len().max(longest);
        }
        assert_eq!(longest, 24 + usize::try_from(covered - 1).unwrap() / 8);
        assert!(longest <= usize::from(mss) + 16 || mss == 16, "{longest}");
    }
}
