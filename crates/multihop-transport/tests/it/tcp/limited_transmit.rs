//! RFC 3042.

use multihop_transport::connection::Data;
use multihop_transport::tcp::Config;

use super::templates::*;

fn limited(window_max: u16) -> Tcp {
    let config = Config { limited_transmit: true, initial_window: 3, window_max, ..config() };
    let mut s = established(config);
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1), data(2), data(3)]);
    s
}

#[test]
fn the_first_two_duplicates_release_one_new_segment_each() {
    let mut s = limited(64);
    s.at_ms(100).gets([ack(1)]).expect([data(4)]);
    s.gets([ack(1)]).expect([data(5)]).check(|tcp| tcp.flight(), 5 * MSS);
    // Segments sent by limited transmit do not count: the threshold is half of three, but at least two.
    s.at_ms(200).gets([ack(1)]).expect([data(1)]).check(|tcp| tcp.ssthresh(), 2 * MSS);
}

#[test]
fn the_clamp_stays() {
    let mut s = limited(3);
    s.at_ms(100).gets(acks(1, 2)).expect([]);
}

#[test]
fn at_most_two_even_if_no_recovery_may_start() {
    let mut s = limited(64);
    s.at_ms(100).gets(acks(1, 3)).expect([data(4), data(5), data(1)]);
    // Everything sent before the recovery has arrived, and nothing beyond it is acknowledged.
    s.at_ms(200).gets([ack(6)]).expect([data(6), data(7)]);
    s.at_ms(300).gets(acks(6, 6)).expect([data(8), data(9)]);
}

#[test]
fn after_a_timeout_duplicates_release_nothing() {
    let mut s = limited(64);
    s.at_ms(1000).expect([data(1)]);
    s.at_ms(1050).gets(acks(1, 2)).expect([]);
}
