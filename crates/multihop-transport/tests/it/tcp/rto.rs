//! Retransmission timeout and backoff, RFC 6298 and RFC 5681 §3.1.

use multihop_core::Duration;
use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Event, State};

use super::templates::*;

#[test]
fn backs_off_until_a_segment_sent_once_is_acknowledged() {
    let mut s = established(config());
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
    s.at_ms(1000).expect([data(1)]);
    s.at_ms(3000).expect([data(1)]);
    s.at_ms(7000).expect([data(1)]);
    // Karn: no sample from a segment sent four times, so the timeout stays at 8 s.
    s.at_ms(7100).gets([ack(2)]).expect([data(2), data(3)]).check(|tcp| tcp.rtt().samples(), 0);
    s.at_ms(15_100).expect([data(2)]);
    s.at_ms(15_200).gets([ack(4)]).expect([data(4), data(5)]);
    s.check(|tcp| (tcp.rtt().samples(), tcp.rtt().rto()), (0, Duration::from_secs(16)));
    s.at_ms(15_300).gets([ack(5)]).expect([data(6)]);
    s.check(
        |tcp| (tcp.rtt().latest(), tcp.rtt().rto()),
        (Some(Duration::from_millis(100)), Duration::from_secs(1)),
    );
}

#[test]
fn goes_back_to_the_first_hole_and_skips_what_arrived() {
    let mut s = established(Config { initial_window: 6, ..config() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=6).map(data));
    s.at_ms(1000).expect([data(1)]);
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh(), tcp.flight()), (MSS, 3 * MSS, MSS));
    s.at_ms(1100).gets([ack(2)]).expect([data(2), data(3)]);
    // 3 to 5 had arrived the first time.
    s.at_ms(1200).gets([ack(6)]).expect([data(6), data(7), data(8)]);
    s.check(|tcp| (tcp.cwnd(), tcp.counters().retransmitted), (3 * MSS, 4));
}

#[test]
fn the_threshold_is_held_while_the_same_segment_times_out() {
    let mut s = established(Config { initial_window: 8, ..config() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=8).map(data));
    s.at_ms(1000).expect([data(1)]).check(|tcp| tcp.ssthresh(), 4 * MSS);
    s.at_ms(3000).expect([data(1)]).check(|tcp| tcp.ssthresh(), 4 * MSS);
    let mut s = established(Config { initial_window: 8, mss: 1000, ..Config::ns2_1999() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=8).map(data));
    s.at_ms(6000).expect([data(1)]).check(|tcp| tcp.ssthresh(), 4 * MSS);
    s.at_ms(18_000).expect([data(1)]).check(|tcp| tcp.ssthresh(), 2 * MSS);
}

#[test]
fn the_timer_restarts_with_each_new_ack_and_stops_with_the_last() {
    let mut s = established(Config { initial_window: 2, ..config() });
    s.app(|tcp| tcp.send(Data::Virtual(2 * u64::from(MSS)))).expect([data(1), data(2)]);
    s.at_ms(900).gets([ack(2)]).expect([]);
    // The sample of 900 ms makes the timeout 900 + 4 * 450 ms.
    s.at_ms(3600).expect([data(2)]);
    s.at_ms(3700).gets([ack(3)]).expect([]).check(|tcp| tcp.unacked(), 0);
    s.at_ms(100_000).expect([]);
}

#[test]
fn gives_up_after_the_last_retry() {
    let mut s = established(Config { max_retries: Some(2), ..config() });
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
    s.at_ms(1000).expect([data(1)]);
    s.at_ms(3000).expect([data(1)]);
    s.at_ms(7000).expect([event(Event::TimedOut)]).check(|tcp| tcp.state(), State::Closed);
}

#[test]
fn presets_time_out_as_their_simulators_did() {
    let first_timeout = |config| {
        let mut s = established(Config { mss: 1000, initial_window: 1, ..config });
        s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
        s.at_ms(100).gets([ack(2)]).expect([data(2), data(3)]);
        s.machine.rtt().rto()
    };
    assert_eq!(first_timeout(Config::ns2_1999()), Duration::from_secs(1));
    assert_eq!(first_timeout(Config::ns2_2005()), Duration::from_secs(1));
    assert_eq!(first_timeout(Config::ns2_2_30()), Duration::from_millis(300));
    let initial = |config: Config| config.rto.initial;
    assert_eq!(initial(Config::ns2_2_30()), Duration::from_secs(3));
    assert_eq!(initial(Config::ns2_2002()), Duration::from_secs(6));
}
