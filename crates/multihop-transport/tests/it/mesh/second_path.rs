//! Scripts of a sender and a receiver with a second path.

use multihop_core::{Duration, Instant, LostSegment, Notice, SegmentId};
use multihop_transport::connection::Data;
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::control::Features;
use multihop_wire::mesh::{Ack, Bitmap, Data as Wire, Segment};

use super::pair::{PORT, established_with};

/// An end of a connection of which both ends allow a second path. The segments of both sides are counted from 0.
fn established(config: Config) -> MeshEnd {
    established_with(Config { second_path: true, ..config }, Features::default().with(0))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// The segments that leave at this time.
fn leave(end: &mut MeshEnd, now: Instant) -> Vec<Segment> {
    end.handle_timeout(now);
    std::iter::from_fn(|| end.poll_output(now))
        .filter_map(|output| match output {
            Output::Segment(segment) => Some(segment),
            Output::Event(_) => None,
        })
        .collect()
}

/// Data that leaves at this time: path, number, transmission and length.
fn data(end: &mut MeshEnd, now: Instant) -> Vec<(u8, u32, u32, u64)> {
    leave(end, now).iter().filter_map(described).collect()
}

fn described(segment: &Segment) -> Option<(u8, u32, u32, u64)> {
    let Segment::Data(data) = segment else { return None };
    let len = u64::try_from(data.payload.len()).expect("short");
    Some((u8::from(data.second_path), data.number, data.transmission, len))
}

/// Runs the timers up to this time; returns the data that left.
fn run_until(end: &mut MeshEnd, until: Instant) -> Vec<(u8, u32, u32, u64)> {
    let mut sent = Vec::new();
    while let Some(now) = end.poll_timeout().filter(|&now| now <= until) {
        sent.extend(data(end, now));
    }
    sent
}

/// An ACK of transmission `newest`, which left at `sent`.
fn ack(end: &mut MeshEnd, now: Instant, second_path: bool, next: u32, newest: u32, sent: Instant) {
    let echo = u32::try_from(sent.saturating_since(Instant::ZERO).as_micros()).expect("soon");
    let ack = Ack { second_path, window: 1000, next, newest, echo, ..Ack::default() };
    end.receive(now, Segment::Ack(ack));
}

fn sender() -> MeshEnd {
    let mut end = established(Config { mss: 100, ..Config::default() });
    end.send(Data::Virtual(100_000)).expect("the stream is open");
    end
}

/// A sender whose first path has a round trip of 40 ms and whose second path has one of 20 ms, and the
/// current time.
fn with_two_paths() -> (MeshEnd, Instant) {
    let mut end = sender();
    assert_eq!(data(&mut end, at(0)), [(0, 0, 0, 100), (0, 1, 1, 100)]);
    end.add_path();
    assert_eq!(data(&mut end, at(20)), [(1, 2, 0, 0)]);
    ack(&mut end, at(40), true, 0, 0, at(20));
    ack(&mut end, at(40), false, 2, 1, at(0));
    (end, at(40))
}

#[test]
fn data_takes_a_second_path_only_once_the_peer_has_answered_a_probe_there() {
    let mut end = sender();
    data(&mut end, at(0));
    end.add_path();
    end.add_path();
    assert_eq!(data(&mut end, at(1)), [(1, 2, 0, 0)], "a probe, and one second path");
    assert!(!end.uses_second_path());
    ack(&mut end, at(30), false, 2, 1, at(0));
    assert!(run_until(&mut end, at(60)).iter().all(|&(path, ..)| path == 0));
    ack(&mut end, at(61), true, 2, 0, at(1));
    assert!(end.uses_second_path());
    assert!(data(&mut end, at(61)).iter().any(|&(path, _, _, len)| (path, len) == (1, 100)));
}

#[test]
fn both_ends_must_allow_a_second_path() {
    let of = |second_path, features| {
        let mut end = established_with(Config { second_path, ..Config::default() }, features);
        let segment = Segment::Data(Wire { second_path: true, payload: vec![7].into(), ..Wire::default() });
        end.receive(at(0), segment);
        (end.add_path(), end.unread())
    };
    let both = Features::default().with(0);
    assert_eq!(of(true, both), (true, 1));
    for (own, peer) in [(true, Features::default()), (false, both), (false, Features::default())] {
        assert_eq!(of(own, peer), (false, 0));
    }
    assert!(
        !MeshEnd::new(Config { second_path: true, ..Config::default() }, PORT, 1).add_path(),
        "no connection yet"
    );
}

#[test]
fn a_path_without_answers_gets_a_probe_a_second() {
    let mut end = sender();
    end.add_path();
    let (mut probes, mut next) = (Vec::new(), 0);
    for ms in 0..10_000 {
        for (path, number, transmission, _) in data(&mut end, at(ms)) {
            if path == 1 {
                probes.push(ms);
                continue;
            }
            next = next.max(number + 1);
            ack(&mut end, at(ms), false, next, transmission, at(ms));
        }
        if end.unacked() < 10_000 {
            end.send(Data::Virtual(100_000)).expect("the stream is open");
        }
    }
    assert_eq!(probes.len(), 10, "{probes:?}");
    assert!(!end.uses_second_path());
}

#[test]
fn a_receiver_probes_a_second_path_too() {
    let mut end = established(Config { sink: true, ..Config::default() });
    end.add_path();
    let mut probes = 0;
    for number in 0..100 {
        let payload = vec![7; 10].into();
        let every = 4;
        let segment = Wire { number, transmission: number, every, hold: 3000, payload, ..Wire::default() };
        end.receive(at(u64::from(number) * 100), Segment::Data(segment));
        for ms in 0..100 {
            probes += data(&mut end, at(u64::from(number) * 100 + ms)).len();
        }
    }
    assert_eq!(probes, 10);
    assert!(run_until(&mut end, at(60_000)).len() <= 1, "nothing leaves or arrives any more");
}

#[test]
fn each_path_numbers_its_own_transmissions_and_finds_its_own_losses() {
    let (mut end, now) = with_two_paths();
    let mut sent = data(&mut end, now);
    sent.extend(run_until(&mut end, at(59)));
    let of = |path: u8| sent.iter().filter(|data| data.0 == path).map(|data| data.2).collect::<Vec<_>>();
    assert!(of(0).len() > 1 && of(1).len() > 1, "{sent:?}");
    assert!(of(0).into_iter().eq((2..).take(of(0).len())), "{sent:?}");
    assert!(of(1).into_iter().eq((1..).take(of(1).len())), "{sent:?}");
    // All data on the second path has arrived; that on the first one may still be under way.
    let mut bitmap = Bitmap::default();
    let arrived: Vec<_> = sent.iter().filter(|data| data.0 == 1).collect();
    arrived.iter().for_each(|data| bitmap.insert(u64::from(data.1) - 2));
    let newest = arrived.last().expect("some").2;
    let next = if bitmap.contains(0) { 3 } else { 2 };
    let ack = Ack { second_path: true, window: 1000, next, newest, echo: 40_000, bitmap, ..Ack::default() };
    end.receive(at(60), Segment::Ack(ack));
    let again = data(&mut end, at(60));
    assert!(again.iter().all(|data| data.1 > sent.last().expect("some").1), "{again:?} after {sent:?}");
}

#[test]
fn what_is_in_flight_on_a_silent_path_leaves_on_the_other() {
    let (mut end, now) = with_two_paths();
    let mut sent = data(&mut end, now);
    sent.extend(run_until(&mut end, at(60)));
    let missing: Vec<u32> = sent.iter().filter(|data| data.0 == 1).map(|data| data.1).collect();
    assert!(!missing.is_empty());
    // The first path answers in 40 ms, the second one does not answer.
    let mut repeated = Vec::new();
    for ms in 61..1000 {
        for data in data(&mut end, at(ms)) {
            if data.0 == 0 && data.3 > 0 {
                if missing.contains(&data.1) {
                    repeated.push((ms, data.1));
                }
                let mut bitmap = Bitmap::default();
                (1..200).for_each(|offset| bitmap.insert(offset));
                let echo = u32::try_from(ms * 1000).expect("soon");
                let ack = Ack { window: 1000, next: 2, newest: data.2, echo, bitmap, ..Ack::default() };
                if data.1 != 2 {
                    end.receive(at(ms), Segment::Ack(ack));
                }
            }
        }
    }
    let first = repeated.first().expect("they leave again");
    assert_eq!(first.1, missing[0], "the oldest first");
    assert!(first.0 < 400, "{repeated:?}");
    assert!(!end.uses_second_path());
}

#[test]
fn a_failed_link_freezes_the_path_of_the_segment_that_it_names() {
    let (mut end, now) = with_two_paths();
    let sent = leave(&mut end, now);
    let lost = sent.iter().find(|segment| segment.second_path() == Some(true)).expect("data on both");
    let Some((_, number, ..)) = described(lost) else { panic!("data") };
    let segment = SegmentId::Custom(lost.start());
    end.notice(Notice::LinkFailed(LostSegment { source: PORT, destination: PORT, segment }));
    assert!(!end.uses_second_path());
    assert_eq!(end.phase(), "start", "the first path goes on");
    let next = run_until(&mut end, at(80));
    assert!(next.iter().any(|data| (data.0, data.3) == (1, 0)), "a probe: {next:?}");
    assert_eq!(
        next.iter().find(|data| data.0 == 0).map(|data| data.1),
        Some(number),
        "it leaves again there"
    );
}

#[test]
fn an_ack_follows_the_path_of_its_segment() {
    let mut end = established(Config { sink: true, ..Config::default() });
    let segment = |second_path, number, transmission| {
        let payload = vec![7; 10].into();
        Segment::Data(Wire { second_path, number, transmission, every: 1, payload, ..Wire::default() })
    };
    end.receive(at(1), segment(false, 0, 0));
    end.receive(at(1), segment(true, 2, 0));
    let acks: Vec<_> = leave(&mut end, at(1))
        .into_iter()
        .filter_map(|segment| match segment {
            Segment::Ack(ack) => Some((ack.second_path, ack.next, ack.newest, ack.bitmap.contains(1))),
            _ => None,
        })
        .collect();
    assert_eq!(acks, [(false, 1, 0, true), (true, 1, 0, true)]);
}

#[test]
fn the_last_segments_leave_the_slow_path_to_the_fast_one() {
    let mut end = established(Config { mss: 100, ..Config::default() });
    end.add_path();
    assert_eq!(data(&mut end, at(0)), [(1, 0, 0, 0)]);
    ack(&mut end, at(400), true, 0, 0, at(0));
    // The first path takes 20 ms, the second one 400 ms.
    let (mut sent, mut now) = (Vec::new(), 400);
    end.send(Data::Virtual(100)).expect("the stream is open");
    assert_eq!(data(&mut end, at(now)).len(), 1);
    ack(&mut end, at(now + 20), false, 1, 0, at(now));
    for number in 1..6 {
        now += 100;
        end.send(Data::Virtual(100)).expect("the stream is open");
        let left = data(&mut end, at(now));
        assert_eq!(left.len(), 1);
        sent.push(left[0].0);
        ack(&mut end, at(now + 20), left[0].0 == 1, number + 1, left[0].2, at(now));
    }
    assert_eq!(sent, [0; 5]);
}
