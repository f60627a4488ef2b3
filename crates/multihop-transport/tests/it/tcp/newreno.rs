//! NewReno, RFC 6582, and ns-2's form of it.

use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Phase};

use super::templates::*;

fn start(config: Config, window: u16) -> Tcp {
    let mut s = established(Config { initial_window: window, ..config });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=u32::from(window)).map(data));
    s
}

/// Of eight segments 1, 3 and 5 are lost; 2, 4, 6, 7, 8 arrive. The script ends after the second partial ACK.
fn three_losses(config: Config) -> Tcp {
    let mut s = start(config, 8);
    s.at_ms(100).gets(acks(1, 5)).expect([data(1), data(9)]);
    // The window of 9 less 2 acknowledged segments plus 1 has room for one new segment besides the hole.
    s.at_ms(200).gets([ack(3)]).expect([data(3), data(10)]);
    s.check(|tcp| (tcp.phase(), tcp.window()), (Phase::FastRecovery, 8 * MSS));
    s.at_ms(210).gets([ack(3)]).expect([data(11)]);
    s.at_ms(300).gets([ack(5)]).expect([data(5), data(12)]);
    s
}

#[test]
fn partial_acks_show_the_next_hole() {
    let mut s = three_losses(config());
    s.at_ms(400).gets([ack(12)]).expect([data(13)]);
    // At the end one segment is in flight: min(ssthresh, flight + one segment).
    s.check(|tcp| (tcp.phase(), tcp.cwnd(), tcp.ssthresh()), (Phase::SlowStart, 2 * MSS, 4 * MSS));
    s.check(|tcp| (tcp.counters().retransmitted, tcp.counters().timeouts), (3, 0));
    // Karn: a measurement that began before a retransmission is no sample.
    s.check(|tcp| tcp.rtt().samples(), 0);
}

#[test]
fn impatient_only_the_first_partial_ack_restarts_the_timer() {
    let mut s = three_losses(config());
    s.at_ms(1200).expect([data(5)]).check(|tcp| tcp.counters().timeouts, 1);
}

#[test]
fn slow_but_steady_every_partial_ack_restarts_the_timer() {
    let mut s = three_losses(slow_but_steady());
    s.at_ms(1300).expect([data(5)]).check(|tcp| tcp.counters().timeouts, 1);
}

#[test]
fn duplicates_of_segments_that_a_timeout_retransmitted_start_no_recovery() {
    let mut s = start(config(), 4);
    s.at_ms(1000).expect([data(1)]);
    // 2 to 4 had arrived; after the timeout they are retransmitted, and each causes a duplicate ACK.
    s.at_ms(1100).gets([ack(2)]).expect([data(2), data(3)]);
    s.at_ms(1150).gets(acks(2, 4)).expect([]).check(|tcp| tcp.phase(), Phase::CongestionAvoidance);
    s.check(|tcp| tcp.counters().fast_retransmits, 0);
}

#[test]
fn a_loss_right_behind_the_recovery_point_waits_for_the_timer() {
    let mut s = start(config(), 4);
    s.at_ms(100).gets(acks(1, 3)).expect([data(1), data(5)]);
    s.at_ms(200).gets([ack(5)]).expect([data(6)]);
    s.at_ms(300).gets(acks(5, 3)).expect([]).check(|tcp| tcp.counters().fast_retransmits, 1);
    s.at_ms(310).gets([ack(6)]).expect([data(7)]);
    s.at_ms(320)
        .gets(acks(6, 3))
        .expect([data(6), data(8), data(9), data(10)])
        .check(|tcp| tcp.counters().fast_retransmits, 2);
}

#[test]
fn ns2_halves_the_window_in_whole_segments_and_grows_on_leaving() {
    let ns2 = Config { mss: 1000, limited_transmit: false, ..Config::ns2_2005() };
    let mut s = start(ns2, 5);
    s.at_ms(100).gets(acks(1, 3)).expect([data(1)]);
    s.check(|tcp| (tcp.ssthresh(), tcp.cwnd(), tcp.window()), (2 * MSS, 2500, 5500));
    s.gets([ack(1)]).expect([data(6)]);
    // 2.5 + 1 / 2.5 segments
    s.at_ms(200).gets([ack(6)]).expect([data(7)]).check(|tcp| tcp.cwnd(), 2900);
}

#[test]
fn ns2_2002_does_not_deflate() {
    let ns2 = Config { mss: 1000, limited_transmit: false, ..Config::ns2_2002() };
    let mut s = start(ns2, 8);
    s.at_ms(100).gets(acks(1, 5)).expect([data(1), data(9)]);
    // The window stays at 9; there is room for two segments, and one ACK may use both.
    s.at_ms(200).gets([ack(3)]).expect([data(3), data(10), data(11)]);
    s.check(|tcp| tcp.window(), 9 * MSS);
}

#[test]
fn an_ack_releases_no_more_than_the_burst_limit() {
    let ns2 = Config { mss: 1000, limited_transmit: false, ..Config::ns2_2002() };
    let mut s = start(ns2, 12);
    // 1 and 6 lost: the window is 6 + 10, the flight 12 + 4.
    s.at_ms(100).gets(acks(1, 10)).expect([data(1), data(13), data(14), data(15), data(16)]);
    s.at_ms(200).gets([ack(6)]).expect([data(6), data(17), data(18)]);
    s.at_ms(210).gets([ack(6)]).expect([data(19), data(20)]);
}
