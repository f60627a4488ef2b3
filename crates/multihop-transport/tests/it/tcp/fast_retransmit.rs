//! Reno: fast retransmit and fast recovery, RFC 5681 §3.2.

use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Phase};

use super::templates::*;

fn reno_with_window(segments: u16) -> Tcp {
    let mut s = established(Config { initial_window: segments, ..reno() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=u32::from(segments)).map(data));
    s
}

#[test]
fn one_loss_is_repaired_on_the_third_duplicate() {
    let mut s = reno_with_window(8);
    // 1 is lost; 2 to 8 arrive.
    s.at_ms(100).gets(acks(1, 2)).expect([]).check(|tcp| tcp.phase(), Phase::SlowStart);
    s.gets([ack(1)]).expect([data(1)]);
    s.check(|tcp| (tcp.phase(), tcp.ssthresh(), tcp.cwnd()), (Phase::FastRecovery, 4 * MSS, 4 * MSS));
    s.check(|tcp| tcp.window(), 7 * MSS);
    // Each further duplicate inflates the window by one; it passes the flight of 8 with the fifth.
    s.gets([ack(1)]).expect([]);
    s.gets([ack(1)]).expect([data(9)]);
    s.gets(acks(1, 2)).expect([data(10), data(11)]);
    s.at_ms(200).gets([ack(9)]).expect([data(12)]);
    s.check(|tcp| (tcp.phase(), tcp.cwnd(), tcp.flight()), (Phase::CongestionAvoidance, 4 * MSS, 4 * MSS));
    // Congestion avoidance: MSS * MSS / cwnd for each ACK.
    s.at_ms(210).gets([ack(10)]).expect([data(13)]).check(|tcp| tcp.cwnd(), 4250);
    s.check(|tcp| (tcp.counters().fast_retransmits, tcp.counters().retransmitted), (1, 1));
    s.check(|tcp| tcp.counters().dup_acks, 7);
}

#[test]
fn a_second_loss_in_the_window_ends_in_a_timeout() {
    let mut s = reno_with_window(8);
    // 1 and 3 are lost; 2 and 4 to 8 arrive.
    s.at_ms(100).gets(acks(1, 6)).expect([data(1), data(9), data(10)]);
    // The first new ACK ends recovery, with eight segments in flight and a window of four.
    s.at_ms(200).gets([ack(3)]).expect([]).check(|tcp| tcp.cwnd(), 4 * MSS);
    s.at_ms(250).gets(acks(3, 2)).expect([]);
    s.at_ms(1200).expect([data(3)]);
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh(), tcp.counters().timeouts), (MSS, 4 * MSS, 1));
}

#[test]
fn only_bare_acks_with_the_same_window_count() {
    let mut s = reno_with_window(4);
    let other_window = |window| segment(|s| s.window = window);
    s.at_ms(100).gets([other_window(40_000), other_window(41_000), other_window(42_000)]).expect([]);
    let piggybacked = |n| data(n);
    s.gets((1..=3).map(piggybacked));
    s.expect([delivered(1), ack(2), delivered(1), ack(3), delivered(1), ack(4)]);
    s.check(|tcp| tcp.counters().dup_acks, 0);
}

#[test]
fn acks_are_no_duplicates_without_outstanding_data() {
    let mut s = established(reno());
    s.at_ms(1).gets(acks(1, 5)).expect([]).check(|tcp| tcp.counters().dup_acks, 0);
}

#[test]
fn slow_start_doubles_and_avoidance_adds_one_per_round_trip() {
    let mut s = established(Config { window_max: 4, ..reno() });
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
    s.at_ms(100).gets([ack(2)]).expect([data(2), data(3)]);
    s.at_ms(200).gets([ack(3), ack(4)]).expect([data(4), data(5), data(6), data(7)]);
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (4 * MSS, 4 * MSS));
    // Losing one segment halves the window; congestion avoidance follows.
    s.at_ms(300).gets(acks(4, 3)).expect([data(4)]);
    s.at_ms(400).gets([ack(8)]).expect([data(8), data(9)]).check(|tcp| tcp.cwnd(), 2 * MSS);
    s.at_ms(500).gets([ack(9), ack(10)]).expect([data(10), data(11)]);
    s.check(|tcp| tcp.cwnd(), 2 * MSS + 500 + 400);
}
