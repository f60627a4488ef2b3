//! Losses, timeouts, notices and windows at a sender, by script.

use multihop_core::{Duration, Instant, LostSegment, Notice, SegmentId};
use multihop_transport::connection::Data;
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::mesh::{Ack, Bitmap, Data as Wire, Segment};

use super::pair::{PORT, established};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn sender() -> MeshEnd {
    let mut end = established(Config { mss: 100, ..Config::default() });
    end.send(Data::Virtual(100_000)).expect("the stream is open");
    end
}

/// The segments that leave at this time.
fn leave(end: &mut MeshEnd, now: Instant) -> Vec<Wire> {
    end.handle_timeout(now);
    std::iter::from_fn(|| end.poll_output(now))
        .filter_map(|output| match output {
            Output::Segment(Segment::Data(data)) => Some(data),
            _ => None,
        })
        .collect()
}

/// Runs the timers up to this time; returns the segments that left.
fn run_until(end: &mut MeshEnd, until: Instant) -> Vec<(Instant, Wire)> {
    let mut sent = Vec::new();
    while let Some(now) = end.poll_timeout().filter(|&now| now <= until) {
        sent.extend(leave(end, now).into_iter().map(|data| (now, data)));
    }
    sent
}

fn numbers(sent: &[Wire]) -> Vec<(u32, u32)> {
    sent.iter().map(|data| (data.number, data.transmission)).collect()
}

fn ack(end: &mut MeshEnd, now: Instant, next: u32, newest: &Wire, arrived: &[u64]) {
    let mut bitmap = Bitmap::default();
    arrived.iter().for_each(|&offset| bitmap.insert(offset));
    let (newest, echo) = (newest.transmission, newest.sent);
    end.receive(now, Segment::Ack(Ack { window: 1000, next, newest, echo, bitmap, ..Ack::default() }));
}

fn link_failed(data: &Wire) -> Notice {
    let segment = SegmentId::Custom(Segment::Data(data.clone()).start());
    Notice::LinkFailed(LostSegment { source: PORT, destination: PORT, segment })
}

#[test]
fn the_first_window_is_a_segment_for_eight_hops() {
    for (hops, window) in [(1, 1), (8, 1), (9, 2), (16, 2), (20, 3)] {
        let mut end = sender();
        end.notice(Notice::PathInfo { hops });
        assert_eq!(leave(&mut end, at(0)).len(), window, "{hops} hops");
    }
    assert_eq!(leave(&mut sender(), at(0)).len(), 2, "nobody knows the path");
}

#[test]
fn segments_leave_a_gap_apart_once_a_round_trip_is_known() {
    let mut end = sender();
    let first = leave(&mut end, at(0));
    ack(&mut end, at(40), 2, &first[1], &[]);
    assert_eq!((end.window(), end.gap()), (4.0, Some(Duration::from_millis(10))));
    let mut sent = leave(&mut end, at(40)).into_iter().map(|data| (at(40), data)).collect::<Vec<_>>();
    sent.extend(run_until(&mut end, at(75)));
    let times: Vec<_> = sent.iter().map(|(now, _)| *now).collect();
    assert_eq!(times.len(), 4, "the window is full: {times:?}");
    // The sender makes up for the time before the first segment, but only for a millisecond of it.
    assert_eq!(times, [at(40), at(49), at(59), at(69)]);
}

#[test]
fn a_millisecond_is_made_up_for_however_short_the_gap() {
    let mut end = sender();
    let first = leave(&mut end, at(0));
    ack(&mut end, at(1), 2, &first[1], &[]);
    assert_eq!((end.window(), end.gap()), (4.0, Some(Duration::from_micros(250))));
    assert_eq!(leave(&mut end, at(1)).len(), 4);
}

#[test]
fn what_a_later_transmission_has_overtaken_is_retransmitted() {
    let mut end = sender();
    let first = leave(&mut end, at(0));
    ack(&mut end, at(40), 2, &first[1], &[]);
    let mut sent = leave(&mut end, at(40));
    sent.extend(run_until(&mut end, at(79)).into_iter().map(|(_, data)| data));
    assert_eq!(numbers(&sent), [(2, 2), (3, 3), (4, 4), (5, 5)]);
    // Segment 2 is missing. It left 9 ms before segment 3, and may be a quarter of a round trip late.
    ack(&mut end, at(89), 2, &sent[1], &[1]);
    let sent = run_until(&mut end, at(100));
    assert_eq!(numbers(&[sent[0].1.clone()]), [(2, 6)], "{sent:?}");
    assert!(sent[0].0 >= at(90), "{sent:?}");
    assert_eq!((end.counters().retransmitted, end.counters().timeouts), (1, 0));
}

#[test]
fn silence_probes_with_the_oldest_segment_and_then_without_data() {
    let mut end = sender();
    let first = leave(&mut end, at(0));
    ack(&mut end, at(40), 2, &first[1], &[]);
    leave(&mut end, at(40));
    let sent = run_until(&mut end, at(2_500));
    let probes: Vec<_> = sent.iter().filter(|(_, data)| data.transmission > 5).collect();
    assert!(probes.len() > 3 && probes.iter().all(|(_, data)| data.ask), "{sent:?}");
    assert_eq!((probes[0].1.number, probes[0].1.payload.len()), (2, 100));
    assert!(probes[1..].iter().all(|(_, data)| data.payload.is_empty()), "{probes:?}");
    let pauses: Vec<_> = probes.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_micros() / 1000).collect();
    assert_eq!(pauses, [200, 400, 800], "the second probe leaves as soon as the first");
    assert_eq!((end.phase(), end.counters().retransmitted), ("freeze", 1));
    let probe = probes.last().expect("there are some").1.clone();
    ack(&mut end, at(2_510), 3, &probe, &[]);
    assert_eq!(end.phase(), "start", "losses do not end it");
    let mut sent = leave(&mut end, at(2_510));
    sent.extend(run_until(&mut end, at(2_700)).into_iter().map(|(_, data)| data));
    assert_eq!(numbers(&sent)[..3], [(3, 10), (4, 11), (5, 12)], "what the probe has overtaken is lost");
}

/// The only ACK of a train may be lost. A timeout takes 200 ms at least, halves the rate and freezes the path.
#[test]
fn a_probe_asks_for_the_ack_of_a_train_before_silence_counts_as_a_timeout() {
    let mut end = sender();
    let mut sent = leave(&mut end, at(0));
    for n in 1..=8 {
        let newest = sent.last().expect("each ACK makes room");
        // Segments arrive in frames of four, and a queue ends the start.
        let (next, newest, echo) = (newest.number + 1, newest.transmission, newest.sent);
        let report = Ack { window: 1000, next, newest, echo, together: 3, delay: 10_000, ..Ack::default() };
        end.receive(at(20 * n), Segment::Ack(report));
        sent = leave(&mut end, at(20 * n));
        sent.extend(run_until(&mut end, at(20 * n + 19)).into_iter().map(|(_, data)| data));
    }
    assert!(sent.len() >= 12, "a train, not {} segments", sent.len());
    let silent = run_until(&mut end, at(179 + 150));
    assert_eq!(silent.len(), 1, "a probe");
    assert_eq!(silent[0].1.number, sent[0].number, "with the oldest segment");
    assert_eq!((end.counters().probes, end.counters().timeouts, end.counters().freezes), (1, 0, 0));
    run_until(&mut end, at(1500));
    assert_eq!((end.counters().timeouts > 0, end.counters().freezes), (true, 1));
}

#[test]
fn silence_halves_the_rate_only_after_a_long_queue() {
    for (queueing_us, window) in [(20_000, 2.0), (100_000, 1.0)] {
        let mut end = sender();
        let first = leave(&mut end, at(0));
        let (newest, echo) = (first[1].transmission, first[1].sent);
        let ack = Ack { window: 1000, next: 2, newest, echo, delay: queueing_us, ..Ack::default() };
        end.receive(at(40), Segment::Ack(ack));
        assert_eq!((end.phase(), end.window()), ("normal", 2.0));
        leave(&mut end, at(40));
        run_until(&mut end, at(3_000));
        assert_eq!((end.phase(), end.window()), ("freeze", window), "after {queueing_us} us in queues");
    }
}

#[test]
fn a_notice_freezes_until_a_later_transmission_is_acknowledged() {
    let mut end = sender();
    let first = leave(&mut end, at(0));
    ack(&mut end, at(40), 1, &first[0], &[]);
    let sent = leave(&mut end, at(40));
    let window = end.window();
    end.notice(link_failed(&first[1]));
    assert_eq!(end.phase(), "freeze");
    let probe = leave(&mut end, at(41));
    assert_eq!(numbers(&probe), [(1, 3)], "the oldest: a routing protocol may search only for packets");
    end.notice(Notice::RouteLost);
    assert_eq!(leave(&mut end, at(42)), [], "one probe for all notices");
    // An ACK of data that was under way says nothing about the route.
    ack(&mut end, at(45), 1, &sent[0], &[1]);
    assert_eq!((leave(&mut end, at(45)), end.phase()), (vec![], "freeze"));
    ack(&mut end, at(81), 3, &probe[0], &[]);
    assert!(end.phase() != "freeze" && end.window() >= window, "the window is kept");
}

#[test]
fn notices_that_name_nothing_in_flight_are_ignored() {
    let mut end = sender();
    let first = leave(&mut end, at(0));
    let stale = Wire { transmission: 77, ..first[0].clone() };
    let beyond = Wire { number: 999, ..first[0].clone() };
    let other = Notice::LinkFailed(LostSegment {
        source: PORT + 1,
        destination: PORT,
        segment: SegmentId::Custom(Segment::Data(first[0].clone()).start()),
    });
    let garbage = SegmentId::Custom([0xff; 16]);
    let garbage = Notice::LinkFailed(LostSegment { source: PORT, destination: PORT, segment: garbage });
    for notice in [link_failed(&stale), link_failed(&beyond), other, garbage] {
        end.notice(notice);
        assert_eq!(end.phase(), "start", "{notice:?}");
    }
}

#[test]
fn impossible_acks_change_nothing() {
    let mut end = sender();
    let sent = leave(&mut end, at(0));
    let later = Wire { transmission: 2, ..sent[0].clone() };
    ack(&mut end, at(10), 3, &sent[0], &[]);
    ack(&mut end, at(10), 1, &later, &[]);
    ack(&mut end, at(10), u32::MAX, &sent[0], &[]);
    assert_eq!((end.flight(), end.rtt().samples()), (2, 0));
    ack(&mut end, at(10), 1, &sent[0], &[]);
    assert_eq!((end.flight(), end.rtt().samples()), (1, 1));
}

#[test]
fn a_closed_window_is_probed_without_data_and_ends_with_an_ack() {
    let mut end = sender();
    let sent = leave(&mut end, at(0));
    let (newest, echo) = (sent[1].transmission, sent[1].sent);
    let closed = Ack { window: 0, next: 2, newest, echo, ..Ack::default() };
    end.receive(at(40), Segment::Ack(closed.clone()));
    assert_eq!(leave(&mut end, at(40)), []);
    let probes = run_until(&mut end, at(3_000));
    assert!(probes.len() > 2 && probes.iter().all(|(_, probe)| probe.payload.is_empty() && probe.ask));
    assert_eq!(end.counters().timeouts, 0);
    end.receive(at(3_001), Segment::Ack(Ack { window: 1, ..closed }));
    assert_eq!(numbers(&leave(&mut end, at(3_001))).first().map(|sent| sent.0), Some(2));
}

#[test]
fn an_endless_source_ends() {
    let mut end = established(Config::default());
    end.send(Data::Endless).expect("the stream is open");
    let sent = leave(&mut end, at(0));
    end.shutdown();
    assert!(end.send(Data::Virtual(1)).is_err() && !end.is_idle());
    ack(&mut end, at(10), 2, &sent[1], &[]);
    let fin = leave(&mut end, at(10));
    assert_eq!((numbers(&fin), fin[0].is_fin, fin[0].payload.len()), (vec![(2, 2)], true, 0));
    ack(&mut end, at(20), 3, &fin[0], &[]);
    assert_eq!(leave(&mut end, at(20)), []);
    assert!(end.is_idle() && end.poll_timeout().is_none());
}
