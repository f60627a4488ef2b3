//! Undoing reductions that prove unnecessary: RFC 3708, RFC 4015, RFC 5682.

use multihop_core::{Duration, Payload};
use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Phase};
use multihop_wire::tcp::{Options, SackBlocks, Segment, Timestamps};

use super::templates::*;

fn with_undo() -> Config {
    Config { sack: true, rack: true, undo: true, ..config() }
}

/// With a window of six segments, 2 to 7 in flight at 100 ms. 2 seems lost at 200 ms, and leaves again.
fn in_recovery(config: Config) -> Tcp {
    let mut s = established(Config { initial_window: 5, ..config });
    s.app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([data(1)]);
    s.at_ms(100).gets([ack(2)]).expect([]);
    s.app(|tcp| tcp.send(Data::Virtual(6 * u64::from(MSS)))).expect((2..=7).map(data));
    s.at_ms(200).gets([sack(2, &[(3, 4)]), sack(2, &[(3, 5)])]).expect([]);
    s.gets([sack(2, &[(3, 6)])]).expect([data(2)]);
    s.check(|tcp| (tcp.phase(), tcp.cwnd()), (Phase::FastRecovery, 3 * MSS));
    s
}

fn windows(tcp: &multihop_transport::tcp::TcpEnd) -> (u32, u32, u64) {
    (tcp.cwnd() / MSS, tcp.ssthresh() / MSS, tcp.counters().undone)
}

/// RFC 3708: the reduction is undone once every retransmission has been reported as a duplicate.
#[test]
fn a_duplicate_of_the_only_retransmission_undoes_the_reduction() {
    let mut s = in_recovery(with_undo());
    // The first transmission arrives late, and then the second one.
    s.at_ms(210).gets([ack(8)]).expect([]).check(windows, (2, 3, 0));
    s.at_ms(300).gets([sack(8, &[(2, 3)])]).expect([]).check(windows, (6, 64, 1));
}

#[test]
fn it_ends_a_recovery_that_is_still_under_way() {
    let mut s = in_recovery(with_undo());
    s.at_ms(210).gets([ack(6)]).check(|tcp| tcp.phase(), Phase::FastRecovery);
    s.at_ms(300).gets([sack(6, &[(2, 3)])]).expect([]).check(windows, (6, 64, 1));
    s.check(|tcp| tcp.phase(), Phase::SlowStart);
}

/// RFC 3708 §3: a single retransmission that was necessary prevents the undoing.
#[test]
fn a_second_retransmission_without_a_duplicate_forbids_it() {
    let mut s = in_recovery(with_undo());
    // 6 is lost as well.
    s.at_ms(201).gets([sack(2, &[(3, 6), (7, 8)])]).expect([data(6)]);
    s.at_ms(300).gets([sack(6, &[(2, 3), (7, 8)])]).expect([]);
    s.at_ms(301).gets([ack(8)]).expect([]);
    s.check(|tcp| tcp.counters().undone, 0);
    s.at_ms(310).gets([sack(8, &[(6, 7)])]).expect([]);
    s.check(|tcp| tcp.counters().undone, 1);
}

#[test]
fn a_duplicate_of_earlier_data_says_nothing() {
    let mut s = in_recovery(with_undo());
    s.at_ms(300).gets([sack(8, &[(1, 2)])]).expect([]);
    s.check(|tcp| tcp.counters().undone, 0);
}

#[test]
fn without_the_option_nothing_is_undone() {
    let mut s = in_recovery(Config { undo: false, ..with_undo() });
    s.at_ms(210).gets([ack(8)]).expect([]);
    s.at_ms(300).gets([sack(8, &[(2, 3)])]).expect([]).check(windows, (2, 3, 0));
}

/// An endpoint with timestamps, whose peer's clock is at 0. The sixth segment of the window is in flight at 100 ms.
fn stamped() -> Tcp {
    let timestamps = Some(Duration::from_millis(1));
    let mut s = established(Config { timestamps, mss: 1012, initial_window: 5, ..with_undo() });
    s.app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([own(0, 1)]);
    s.at_ms(100).gets([echo(0, 2, &[])]).expect([]);
    s.app(|tcp| tcp.send(Data::Virtual(6 * u64::from(MSS)))).expect((2..=7).map(|n| own(100, n)));
    s.at_ms(200).gets([echo(0, 2, &[(3, 4)]), echo(0, 2, &[(3, 5)])]).expect([]);
    s.gets([echo(0, 2, &[(3, 6)])]).expect([own(200, 2)]);
    s.check(windows, (3, 3, 0));
    s
}

fn stamps(value: u32, echo: u32) -> Options {
    Options { timestamps: Some(Timestamps { value, echo }), ..Options::default() }
}

/// The data segment `n` that leaves when the clock of the end under test is `value`.
fn own(value: u32, n: u32) -> Seen {
    segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        (s.seq, s.payload, s.options) = (number(n), Payload::Virtual(MSS), stamps(value, 0));
        s.psh = n == 1 || n == 7;
    })
}

/// An ACK of everything before `n` with this echo and these blocks.
fn echo(echo: u32, n: u32, blocks: &[(u32, u32)]) -> Seen {
    segment(|s: &mut Segment| {
        s.ack = Some(number(n));
        s.options = stamps(0, echo);
        s.options.sack = SackBlocks::default();
        for &(from, to) in blocks {
            assert!(s.options.sack.push(number(from), number(to)));
        }
    })
}

/// Eifel, RFC 3522 §3.2: the ACK that ends the recovery echoes a time before the retransmission.
#[test]
fn an_echo_of_the_first_transmission_undoes_the_reduction() {
    let mut s = stamped();
    s.at_ms(210).gets([echo(100, 8, &[])]).expect([]).check(windows, (6, 64, 1));
}

#[test]
fn an_echo_of_the_retransmission_keeps_the_reduction() {
    let mut s = stamped();
    s.at_ms(300).gets([echo(200, 8, &[])]).expect([]).check(windows, (2, 3, 0));
}

/// After a timeout likewise, and nothing counts as lost any more.
#[test]
fn an_echo_undoes_a_timeout() {
    let timestamps = Some(Duration::from_millis(1));
    let mut s = established(Config { timestamps, mss: 1012, initial_window: 4, ..with_undo() });
    let plain = |value, n| {
        let Seen::Other(mut segment) = own(value, n) else { unreachable!() };
        segment.psh = false;
        Seen::Other(segment)
    };
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(|n| plain(0, n)));
    s.at_ms(1000).expect([plain(1000, 1)]).check(windows, (1, 2, 0));
    // The window is 4, and as many segments are in flight except for the one that arrived.
    s.at_ms(1010).gets([echo(0, 2, &[])]).expect([plain(1010, 5)]).check(windows, (4, 64, 1));
    s.check(|tcp| tcp.counters().retransmitted, 1);
}

/// 1 to 4 in flight, and the timer has expired at 1 s: 1 leaves again.
fn after_timeout() -> Tcp {
    let mut s = established(Config { initial_window: 4, ..with_undo() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.at_ms(1000).expect([data(1)]).check(windows, (1, 2, 0));
    s
}

/// F-RTO, RFC 5682 §3.1: the first ACK lets new data out; then data arrives that has not left again.
#[test]
fn arrivals_without_a_retransmission_undo_a_timeout() {
    let mut s = after_timeout();
    s.at_ms(1100).gets([ack(2)]).expect([data(5), data(6)]);
    s.at_ms(1110).gets([ack(3)]).expect([]).check(windows, (4, 64, 1));
    s.at_ms(1120).gets([ack(4)]).expect([data(7), data(8)]);
    s.check(|tcp| (tcp.counters().timeouts, tcp.counters().retransmitted), (1, 1));
}

/// Step 3a: if the new data shows holes, the timeout was real.
#[test]
fn new_data_that_arrives_alone_confirms_a_timeout() {
    let mut s = after_timeout();
    s.at_ms(1100).gets([ack(2)]).expect([data(5), data(6)]);
    s.at_ms(1200).gets([sack(2, &[(5, 6)])]).expect([data(2)]);
    s.gets([sack(2, &[(5, 7)])]).expect([data(3)]);
    s.at_ms(1300).gets([sack(4, &[(5, 7)])]).expect([data(4), data(7)]);
    s.check(|tcp| (tcp.counters().undone, tcp.ssthresh()), (0, 2 * MSS));
}

/// Step 2a: an ACK of everything repairs the timeout, but does not show whether it was spurious.
#[test]
fn without_new_data_the_lost_leaves_again() {
    let mut s = established(Config { initial_window: 4, ..with_undo() });
    s.app(|tcp| tcp.send(Data::Virtual(4 * u64::from(MSS)))).expect((1..=4).map(data));
    s.at_ms(1000).expect([data(1)]);
    s.at_ms(1100).gets([ack(2)]).expect([data(2), data(3)]);
    s.at_ms(1200).gets([ack(4)]).expect([data(4)]);
    s.at_ms(1300).gets([ack(5)]).check(|tcp| tcp.counters().undone, 0);
}

/// After that, what arrives late changes nothing.
#[test]
fn a_confirmed_timeout_is_not_undone_by_late_arrivals() {
    let mut s = after_timeout();
    s.at_ms(1100).gets([ack(2)]).expect([data(5), data(6)]);
    s.at_ms(1200).gets([sack(2, &[(5, 6)])]).expect([data(2)]);
    s.at_ms(1210).gets([sack(2, &[(4, 7)])]);
    s.expect([data(3)]).check(|tcp| tcp.counters().undone, 0);
}
