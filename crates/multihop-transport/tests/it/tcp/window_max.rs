//! The sender's clamp, and the windows that go with it.

use multihop_transport::tcp::Config;

use super::templates::*;

#[test]
fn never_more_than_the_clamp_is_in_flight() {
    let mut s = established(Config { initial_window: 4, window_max: 2, ..config() });
    s.app(|tcp| tcp.send_forever()).expect([data(1), data(2)]);
    for n in 2..20 {
        s.at_ms(u64::from(n) * 10).gets([ack(n)]).expect([data(n + 1)]);
    }
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (2 * MSS, 2 * MSS));
}

#[test]
fn a_clamp_above_65535_bytes_turns_window_scaling_on() {
    let offered = |window_max| {
        let mut s = closed(Config { window_max, mss: 1460, ..Config::default() });
        let mut scale = None;
        s.app(|tcp| {
            tcp.connect();
            let now = multihop_core::Instant::ZERO;
            if let Some(multihop_transport::tcp::Output::Segment(syn)) =
                multihop_core::Machine::poll_output(tcp, now)
            {
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
        s.app(|tcp| tcp.send_virtual(4 * u64::from(MSS))).expect([data(1), data(2)]);
        s.at_ms(100).gets([ack(2), ack(3)]).expect([data(3), data(4)]);
        s.at_ms(200).gets([ack(5)]).expect([]).check(|tcp| tcp.cwnd(), 5 * MSS);
        s.at_ms(1100).app(|tcp| tcp.send_virtual(u64::from(MSS))).expect([data(5)]);
        s.at_ms(1150).gets([ack(6)]).expect([]).check(|tcp| tcp.cwnd(), 6 * MSS);
        s.at_ms(2200).app(|tcp| tcp.send_virtual(9 * u64::from(MSS)));
        let seen = s.machine.flight() / MSS;
        s.expect((6..6 + seen).map(data));
        seen
    };
    assert_eq!((window_after(true), window_after(false)), (2, 6));
}

#[test]
fn a_partial_segment_waits_for_room_but_the_tail_leaves() {
    let mut s = established(Config { initial_window: 2, ..config() });
    s.app(|tcp| tcp.send_virtual(1500)).expect([
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
    s.app(|tcp| tcp.send_virtual(100)).expect([small(1)]);
    s.app(|tcp| tcp.send_virtual(100)).expect([]);
    s.at_ms(50).gets([segment(|s| s.ack = Some(ISS + 101))]).expect([small(101)]);
}
