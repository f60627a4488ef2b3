//! Timestamps, RFC 7323.

use multihop_core::{Duration, Payload};
use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Event};
use multihop_wire::tcp::{Options, Segment, Timestamps};

use super::templates::*;

fn stamped() -> Config {
    let mut config =
        Config { timestamps: Some(Duration::from_millis(1)), mss: 1012, window_max: 20, ..config() };
    config.rto.min = Duration::from_millis(10);
    config
}

fn stamps(value: u32, echo: u32) -> Options {
    Options { timestamps: Some(Timestamps { value, echo }), ..Options::default() }
}

fn own(options: Options, change: impl FnOnce(&mut Segment)) -> Seen {
    segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        s.options = options;
        change(s);
    })
}

fn peer(value: u32, echo: u32, change: impl FnOnce(&mut Segment)) -> Seen {
    segment(|s| {
        s.options = stamps(value, echo);
        change(s);
    })
}

/// A connection that opened at 50 ms with a peer whose clock said 7000 at this time.
fn connected(config: Config) -> Tcp {
    let mut s = closed(config);
    let syn_options = |value, echo| Options { mss: Some(1012), ..stamps(value, echo) };
    s.app(|tcp| tcp.connect());
    s.expect([own(syn_options(0, 0), |s| (s.syn, s.ack, s.seq) = (true, None, ISS))]);
    let answer = peer(7000, 0, |s| (s.syn, s.seq, s.options) = (true, PEER_ISS, syn_options(7000, 0)));
    s.at_ms(50).gets([answer]).expect([event(Event::Connected), own(stamps(50, 7000), |_| {})]);
    s
}

fn full(seq: u32) -> impl FnOnce(&mut Segment) {
    move |s| {
        s.seq = number(seq);
        s.payload = Payload::Virtual(1000);
        s.window = if s.source == LOCAL { 65_535 } else { WINDOW };
    }
}

#[test]
fn options_take_their_room_and_every_ack_is_a_sample() {
    let mut s = connected(Config { initial_window: 2, ..stamped() });
    s.check(|tcp| (tcp.mss(), tcp.rtt().latest()), (1000, Some(Duration::from_millis(50))));
    s.app(|tcp| tcp.send(Data::Virtual(9000))).expect([1, 2].map(|n| own(stamps(50, 7000), full(n))));
    s.at_ms(150).gets([peer(7100, 50, |s| s.ack = Some(number(2)))]);
    s.expect([3, 4].map(|n| own(stamps(150, 7100), full(n))));
    s.at_ms(170).gets([peer(7120, 50, |s| s.ack = Some(number(3)))]);
    s.expect([5, 6].map(|n| own(stamps(170, 7120), full(n))));
    s.check(|tcp| (tcp.rtt().samples(), tcp.rtt().latest()), (3, Some(Duration::from_millis(120))));
}

#[test]
fn a_retransmitted_segment_is_a_sample_because_the_echo_tells_which() {
    let mut s = connected(stamped());
    s.app(|tcp| tcp.send(Data::Virtual(1000))).expect([own(stamps(50, 7000), |s| {
        full(1)(s);
        s.psh = true;
    })]);
    // Timeout: 50 + 4 * 25 ms.
    s.at_ms(200).expect([own(stamps(200, 7000), |s| {
        full(1)(s);
        s.psh = true;
    })]);
    s.at_ms(280).gets([peer(7200, 200, |s| s.ack = Some(number(2)))]).expect([]);
    s.check(|tcp| tcp.rtt().latest(), Some(Duration::from_millis(80)));
}

#[test]
fn the_echo_is_of_the_segment_the_ack_is_due_to() {
    let mut s = connected(stamped());
    // This segment is out of order: the echo stays with the last in-order arrival.
    s.at_ms(60).gets([peer(7010, 50, full(2))]).expect([own(stamps(60, 7000), |_| {})]);
    s.at_ms(70).gets([peer(7005, 50, full(1))]);
    s.expect([delivered(2), own(stamps(70, 7005), |s| (s.ack, s.seq) = (Some(PEER_ISS + 2001), ISS + 1))]);
}

#[test]
fn an_old_segment_is_dropped_by_its_timestamp() {
    let mut s = connected(stamped());
    s.at_ms(60).gets([peer(6999, 50, full(1))]).expect([own(stamps(60, 7000), |_| {})]);
    s.check(|tcp| tcp.counters().delivered, 0);
}

#[test]
fn a_peer_without_timestamps_gets_none() {
    let mut s = closed(stamped());
    let syn = Options { mss: Some(1012), ..stamps(0, 0) };
    s.app(|tcp| tcp.connect()).expect([own(syn, |s| (s.syn, s.ack, s.seq) = (true, None, ISS))]);
    let answer = segment(|s| {
        (s.syn, s.seq) = (true, PEER_ISS);
        s.options.mss = Some(1012);
    });
    s.at_ms(50).gets([answer]).expect([event(Event::Connected), ack(1)]).check(|tcp| tcp.mss(), 1012);
}
