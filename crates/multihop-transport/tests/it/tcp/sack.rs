//! Selective acknowledgement, RFC 2018 and RFC 6675.

use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Phase};

use super::templates::*;

fn with_sack() -> Config {
    Config { sack: true, ..config() }
}

/// An ACK with SACK blocks of the endpoint under test.
fn report(n: u32, blocks: &[(u32, u32)]) -> Seen {
    let Seen::Other(mut segment) = sack(n, blocks) else { unreachable!() };
    (segment.source, segment.destination) = (LOCAL, REMOTE);
    Seen::Other(segment)
}

#[test]
fn the_receiver_reports_what_it_holds_newest_first() {
    let mut s = established(with_sack());
    s.at_ms(0).gets([data(2)]).expect([report(1, &[(2, 3)])]);
    s.gets([data(4)]).expect([report(1, &[(4, 5), (2, 3)])]);
    s.gets([data(6)]).expect([report(1, &[(6, 7), (4, 5), (2, 3)])]);
    s.gets([data(3)]).expect([report(1, &[(2, 5), (6, 7)])]);
    s.gets([data(1)]).expect([delivered(4), report(5, &[(6, 7)])]);
    s.gets([data(5)]).expect([delivered(2), ack(7)]);
}

#[test]
fn two_losses_are_repaired_in_one_round_trip() {
    let mut s = established(Config { initial_window: 8, ..with_sack() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=8).map(data));
    // 1 and 3 are lost.
    s.at_ms(100).gets([sack(1, &[(2, 3)]), sack(1, &[(4, 5), (2, 3)])]).expect([]);
    // Pipe is 5: 1 retransmitted, 3 not known to be lost, 6 to 8 in flight. The window is 4.
    s.gets([sack(1, &[(4, 6), (2, 3)])]).expect([data(1)]);
    s.check(|tcp| (tcp.phase(), tcp.cwnd()), (Phase::FastRecovery, 4 * MSS));
    // Segment 3 counts as lost, because more than two segments above it have arrived. Pipe falls to 3.
    s.gets([sack(1, &[(4, 7), (2, 3)])]).expect([data(3)]);
    s.gets([sack(1, &[(4, 8), (2, 3)])]).expect([data(9)]);
    s.gets([sack(1, &[(4, 9), (2, 3)])]).expect([data(10)]);
    s.at_ms(200).gets([sack(3, &[(4, 9)])]).expect([data(11)]);
    s.gets([ack(9)]).expect([data(12)]);
    s.check(|tcp| (tcp.phase(), tcp.cwnd(), tcp.flight()), (Phase::CongestionAvoidance, 4 * MSS, 4 * MSS));
    s.check(|tcp| tcp.counters().retransmitted, 2);
}

#[test]
fn a_hole_that_is_found_after_new_data_is_retransmitted_in_the_same_recovery() {
    let mut s = established(Config { initial_window: 8, ..with_sack() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=8).map(data));
    // 1 and 7 are lost.
    s.at_ms(100).gets([sack(1, &[(2, 3)]), sack(1, &[(2, 4)])]).expect([]);
    s.gets([sack(1, &[(2, 5)])]).expect([data(1)]);
    s.gets([sack(1, &[(2, 6)])]).expect([]);
    s.gets([sack(1, &[(2, 7)])]).expect([data(9)]);
    s.gets([sack(1, &[(8, 9), (2, 7)])]).expect([data(10)]);
    s.at_ms(180).gets([sack(1, &[(8, 10), (2, 7)])]).expect([data(11)]);
    // Segment 7 counts as lost, because more than two segments above it have arrived.
    s.gets([sack(1, &[(8, 11), (2, 7)])]).expect([data(7), data(12)]);
    s.check(|tcp| (tcp.phase(), tcp.counters().retransmitted), (Phase::FastRecovery, 2));
}

#[test]
fn a_loss_right_behind_the_recovery_point_starts_another_recovery() {
    let mut s = established(Config { initial_window: 8, ..with_sack() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=8).map(data));
    s.at_ms(100).gets([sack(1, &[(2, 5)])]).expect([data(1)]);
    s.gets([sack(1, &[(2, 9)])]).expect([data(9), data(10), data(11)]);
    // 9 is lost.
    s.at_ms(200).gets([ack(9)]).expect([data(12)]);
    s.gets([sack(9, &[(10, 11)]), sack(9, &[(10, 12)])]).expect([]);
    s.gets([sack(9, &[(10, 13)])]).expect([data(9), data(13)]);
    s.check(|tcp| (tcp.counters().fast_retransmits, tcp.counters().timeouts), (2, 0));
}

#[test]
fn the_end_of_the_data_is_rescued_once_in_a_recovery() {
    let mut s = established(Config { initial_window: 8, ..with_sack() });
    s.app(|tcp| tcp.send(Data::Virtual(8 * u64::from(MSS)))).expect((1..=8).map(data));
    // 1, 7 and 8 are lost: nothing new is left to show that 7 and 8 are.
    s.at_ms(100).gets([sack(1, &[(2, 5)])]).expect([data(1)]);
    s.gets([sack(1, &[(2, 7)])]).expect([data(8)]);
    s.at_ms(200).gets([sack(7, &[(8, 9)])]).expect([data(7)]);
    s.at_ms(300).gets([ack(9)]).expect([]).check(|tcp| tcp.flight(), 0);
    s.check(|tcp| (tcp.counters().retransmitted, tcp.counters().timeouts), (3, 0));
}

#[test]
fn after_a_timeout_only_holes_are_retransmitted() {
    let mut s = established(Config { initial_window: 4, ..with_sack() });
    s.app(|tcp| tcp.send(Data::Virtual(4 * u64::from(MSS)))).expect((1..=4).map(data));
    s.at_ms(1000).expect([data(1)]);
    // The receiver reports again the segments that it has.
    s.at_ms(1100).gets([sack(2, &[(3, 4)])]).expect([data(2)]);
    s.at_ms(1200).gets([ack(4)]).expect([data(4)]);
    s.at_ms(1300).gets([ack(5)]).expect([]).check(|tcp| tcp.flight(), 0);
}

#[test]
fn blocks_outside_the_flight_are_ignored() {
    let mut s = established(Config { initial_window: 4, ..with_sack() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.at_ms(100).gets([sack(1, &[(8, 9), (3, 2), (1, 60)])]).expect([]);
    s.check(|tcp| (tcp.phase(), tcp.counters().dup_acks), (Phase::SlowStart, 1));
}
