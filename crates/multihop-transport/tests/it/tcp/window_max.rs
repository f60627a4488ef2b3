//! The sender's clamp, and the windows that go with it.

use multihop_core::{Instant, Machine, Notice};
use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Input, window_for_hops};

use super::templates::*;

#[test]
fn never_more_than_the_clamp_is_in_flight() {
    let mut s = established(Config { initial_window: 4, window_max: 2, ..config() });
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1), data(2)]);
    for n in 2..20 {
        s.at_ms(u64::from(n) * 10).gets([ack(n)]).expect([data(n + 1)]);
    }
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (2 * MSS, 2 * MSS));
}

#[test]
fn the_optimal_window_is_a_quarter_of_the_hops() {
    let windows: Vec<u16> = [0, 1, 4, 5, 6, 9, 10, 14, u32::MAX].map(window_for_hops).into();
    assert_eq!(windows, [1, 1, 1, 1, 2, 2, 3, 4, u16::MAX]);
}

#[test]
fn the_optimal_window_follows_the_route() {
    let mut s = established(Config { initial_window: 4, window_by_hops: true, ..config() });
    let path = |s: &mut Tcp, hops| {
        s.app(|tcp| tcp.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops })));
    };
    path(&mut s, 10);
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1), data(2), data(3)]);
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (3 * MSS, 3 * MSS));
    path(&mut s, 4);
    s.at_ms(10).gets([ack(2), ack(3)]).expect([]).gets([ack(4)]).expect([data(4)]);
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (MSS, MSS));
    path(&mut s, 6);
    s.at_ms(20).gets([ack(5)]).expect([data(5), data(6)]);
}

#[test]
fn a_clamp_above_65535_bytes_turns_window_scaling_on() {
    let offered = |window_max| {
        let mut s = closed(Config { window_max, mss: 1460, ..Config::default() });
        let mut scale = None;
        s.app(|tcp| {
            tcp.connect();
            let now = Instant::ZERO;
            if let Some(multihop_transport::tcp::Output::Segment(syn)) = Machine::poll_output(tcp, now) {
                scale = Some((syn.syn, syn.options.window_scale));
            }
        });
        scale
    };
    assert_eq!(offered(44), Some((true, None)));
    assert_eq!(offered(64), Some((true, Some(1))));
}

#[test]
fn after_a_pause_the_window_starts_again() {
    let window_after = |idle_restart| {
        let mut s = established(Config { initial_window: 2, idle_restart, ..config() });
        s.app(|tcp| tcp.send(Data::Virtual(4 * u64::from(MSS)))).expect([data(1), data(2)]);
        s.at_ms(100).gets([ack(2), ack(3)]).expect([data(3), data(4)]);
        s.at_ms(200).gets([ack(5)]).expect([]).check(|tcp| tcp.cwnd(), 5 * MSS);
        s.at_ms(1100).app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([data(5)]);
        s.at_ms(1150).gets([ack(6)]).expect([]).check(|tcp| tcp.cwnd(), 6 * MSS);
        s.at_ms(2200).app(|tcp| tcp.send(Data::Virtual(9 * u64::from(MSS))));
        let seen = s.machine.flight() / MSS;
        s.expect((6..6 + seen).map(data));
        seen
    };
    assert_eq!((window_after(true), window_after(false)), (2, 6));
}

#[test]
fn a_partial_segment_waits_for_room_but_the_tail_leaves() {
    let mut s = established(Config { initial_window: 2, ..config() });
    s.app(|tcp| tcp.send(Data::Virtual(1500))).expect([
        data(1),
        segment(|s| {
            (s.source, s.destination) = (LOCAL, REMOTE);
            s.seq = number(2);
            s.ack = Some(PEER_ISS + 1);
            s.psh = true;
            s.payload = multihop_core::Payload::Virtual(500);
        }),
    ]);
}

#[test]
fn nagle_holds_the_tail_while_data_is_outstanding() {
    let mut s = established(Config { initial_window: 2, nagle: true, ..config() });
    let small = |at: u32| {
        segment(|s| {
            (s.source, s.destination) = (LOCAL, REMOTE);
            s.seq = ISS + at;
            s.ack = Some(PEER_ISS + 1);
            s.psh = true;
            s.payload = multihop_core::Payload::Virtual(100);
        })
    };
    s.app(|tcp| tcp.send(Data::Virtual(100))).expect([small(1)]);
    s.app(|tcp| tcp.send(Data::Virtual(100))).expect([]);
    s.at_ms(50).gets([segment(|s| s.ack = Some(ISS + 101))]).expect([small(101)]);
}
