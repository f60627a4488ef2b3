//! When the receiver acknowledges: RFC 5681 §4.2, and the dynamic rule of Altman and Jiménez.

use multihop_core::{Duration, Payload};
use multihop_transport::connection::Data;
use multihop_transport::tcp::{AckRule, Config, DelayedAck};

use super::templates::*;

fn receiver(ack_rule: AckRule, window_max: u16) -> Tcp {
    established(Config { ack_rule, window_max, ..config() })
}

#[test]
fn every_second_segment_or_after_100_ms() {
    let mut s = receiver(AckRule::Delayed(DelayedAck::Ns2), 2);
    s.at_ms(0).gets([data(1)]).expect([delivered(1)]);
    s.at_ms(10).gets([data(2)]).expect([delivered(1), ack(3)]);
    s.at_ms(20).gets([data(3)]).expect([delivered(1)]);
    s.at_ms(120).expect([ack(4)]);
    s.at_ms(500).expect([]);
}

#[test]
fn at_once_out_of_order_and_when_a_hole_fills() {
    let mut s = receiver(AckRule::Delayed(DelayedAck::Ns2), 64);
    s.at_ms(0).gets([data(2)]).expect([ack(1)]);
    s.gets([data(4)]).expect([ack(1)]);
    s.at_ms(10).gets([data(1)]).expect([delivered(2), ack(3)]);
    s.at_ms(20).gets([data(3)]).expect([delivered(2), ack(5)]);
    s.at_ms(30).gets([data(3)]).expect([ack(5)]);
    s.at_ms(40).gets([data(5)]).expect([delivered(1)]);
    s.at_ms(140).expect([ack(6)]);
    s.check(|tcp| (tcp.counters().out_of_order, tcp.counters().duplicates), (2, 1));
    s.check(|tcp| (tcp.counters().delivered, tcp.counters().data_received), (5, 6));
}

#[test]
fn an_in_order_segment_below_a_hole_is_acknowledged_at_once() {
    let mut s = receiver(AckRule::Delayed(DelayedAck::Ns2), 64);
    s.at_ms(0).gets([data(3)]).expect([ack(1)]);
    s.at_ms(10).gets([data(1)]).expect([delivered(1), ack(2)]);
}

#[test]
fn linux_acknowledges_every_segment_of_a_clamp_of_two() {
    let mut s = receiver(AckRule::Delayed(DelayedAck::Linux), 2);
    s.at_ms(0).gets([data(1)]).expect([delivered(1), ack(2)]);
    s.at_ms(10).gets([data(2)]).expect([delivered(1), ack(3)]);
    let mut s = receiver(AckRule::Delayed(DelayedAck::Linux), 3);
    s.at_ms(0).gets([data(1)]).expect([delivered(1)]);
    s.at_ms(100).expect([ack(2)]);
}

#[test]
fn dynamic_goes_from_every_segment_to_every_fourth() {
    let mut s = receiver(AckRule::Dynamic, 64);
    let acked_after: Vec<u32> = (1..=22)
        .filter(|&n| {
            let acks_before = s.machine.counters().acks_sent;
            s.at_ms(u64::from(n)).gets([data(n)]);
            let acked = s.machine.counters().acks_sent > acks_before;
            s.expect([delivered(1)].into_iter().chain(acked.then(|| ack(n + 1))));
            acked
        })
        .collect();
    assert_eq!(acked_after, [1, 3, 6, 10, 14, 18, 22]);
}

#[test]
fn dynamic_waits_no_longer_than_100_ms() {
    let mut s = receiver(AckRule::Dynamic, 64);
    s.at_ms(0).gets([data(1)]).expect([delivered(1), ack(2)]);
    s.at_ms(5).gets([data(2)]).expect([delivered(1)]);
    s.at_ms(105).expect([ack(3)]);
}

#[test]
fn data_carries_the_ack() {
    let mut s = receiver(AckRule::Delayed(DelayedAck::Ns2), 64);
    s.at_ms(0).gets([data(1)]).expect([delivered(1)]);
    s.at_ms(10).app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([data(1)]);
    s.at_ms(200).expect([]);
}

/// A script with the ACK delays of Linux: ACKs wait for 40 to 200 ms, and the first two do not wait.
fn adaptive() -> Tcp {
    established(Config {
        ack_rule: AckRule::Delayed(DelayedAck::Linux),
        ack_delay: Duration::from_millis(40),
        ack_delay_max: Some(Duration::from_millis(200)),
        quick_acks: 2,
        ..config()
    })
}

#[test]
fn the_delay_doubles_where_segments_arrive_seldom() {
    let mut s = adaptive();
    s.at_ms(0).gets([data(1)]).expect([delivered(1), ack(2)]);
    s.at_ms(10).gets([data(2)]).expect([delivered(1), ack(3)]);
    for (n, at, delay) in [(3, 500, 40), (4, 1000, 80), (5, 1500, 160), (6, 2000, 200)] {
        s.at_ms(at).gets([data(n)]).expect([delivered(1)]);
        s.at_ms(at + delay - 1).expect([]);
        s.at_ms(at + delay).expect([ack(n + 1)]);
    }
    // Two segments at once shorten the delay to 40 ms step by step: 320 / 2 + 20, 180 / 2 + 20.
    s.at_ms(2500).gets([data(7), data(8)]).expect([delivered(1), delivered(1), ack(9)]);
    s.at_ms(2501).gets([data(9)]).expect([delivered(1)]);
    s.at_ms(2700).expect([]);
}

#[test]
fn more_than_a_full_segment_is_acknowledged_at_once() {
    let mut s = adaptive();
    s.at_ms(0).gets([data(1)]).expect([delivered(1), ack(2)]);
    s.at_ms(10).gets([data(2)]).expect([delivered(1), ack(3)]);
    let part = |from: u32| {
        segment(|s| {
            s.seq = number(3) + from;
            s.payload = Payload::Virtual(400);
        })
    };
    let bytes = |n| event(multihop_transport::tcp::Event::Delivered(n));
    s.at_ms(20).gets([part(0), part(400)]).expect([bytes(400), bytes(400)]);
    let third = segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        s.ack = Some(number(3) + 1200);
    });
    s.gets([part(800)]).expect([bytes(400), third]);
}

#[test]
fn what_the_sender_pushes_is_acknowledged_at_once() {
    let mut s = adaptive();
    s.at_ms(0).gets([data(1)]).expect([delivered(1), ack(2)]);
    s.at_ms(10).gets([data(2)]).expect([delivered(1), ack(3)]);
    let pushed = segment(|s| (s.seq, s.payload, s.psh) = (number(3), Payload::Virtual(MSS), true));
    s.at_ms(20).gets([pushed]).expect([delivered(1), ack(4)]);
}

#[test]
fn after_a_duplicate_acks_leave_at_once_again() {
    let mut s = adaptive();
    s.at_ms(0).gets([data(1)]).expect([delivered(1), ack(2)]);
    s.at_ms(10).gets([data(2)]).expect([delivered(1), ack(3)]);
    s.at_ms(20).gets([data(2)]).expect([ack(3)]);
    s.at_ms(30).gets([data(3)]).expect([delivered(1), ack(4)]);
    s.at_ms(40).gets([data(4)]).expect([delivered(1)]);
    s.at_ms(80).expect([ack(5)]);
}
