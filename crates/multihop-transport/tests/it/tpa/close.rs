//! Closing: each direction alone, in order or by reset.

use multihop_core::{Duration, Payload};
use multihop_transport::connection::Data;
use multihop_transport::tpa::{Config, Event, SendError, State, TpaEnd};
use multihop_wire::tpa::{BlockSeq, Body, Options};

use super::templates::*;

fn own_fin(block: u16, position: u8, tx_seq: u8) -> Seen {
    own(block, |s| (s.body, s.tx_seq) = (Body::Fin { position }, tx_seq))
}

fn fin(block: u16, position: u8, tx_seq: u8) -> Seen {
    segment(|s| {
        s.block = number(PEER_ISS, block);
        (s.body, s.tx_seq) = (Body::Fin { position }, tx_seq);
    })
}

#[test]
fn a_fin_takes_the_next_place_of_the_block_and_is_timed() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
    s.app(TpaEnd::shutdown).expect([own_fin(1, 1, 1)]).check(TpaEnd::state, State::FinSent);
    s.app(|tpa| assert_eq!(tpa.send(Data::Virtual(1)), Err(SendError::Closed)));
    s.at_ms(500).gets([ack(1, &[0], 0)]).expect([]);
    let again = own(1, |s| (s.body, s.tx_seq, s.congested) = (Body::Fin { position: 1 }, 2, true));
    s.at_ms(1000).expect([again]);
    s.at_ms(1100).gets([ack(1, &[0, 1], 2)]).expect([]).check(TpaEnd::state, State::HalfClosed);
    // The other direction remains open.
    s.gets([data(1, 0, 0), data(1, 1, 1)]).expect([delivered(1000), delivered(1000), ack(1, &[0, 1], 1)]);
    s.gets([fin(1, 2, 2)]).expect([event(Event::PeerClosed)]).check(TpaEnd::state, State::Linger);
    s.at_ms(1200).expect([held(1, &[0, 1, 2], 2)]);
    s.at_ms(121_100).expect([event(Event::Closed)]).check(TpaEnd::state, State::Closed);
}

#[test]
fn after_a_full_block_a_fin_opens_a_new_one() {
    let mut s = established(Config { cwnd_max: 4, ..config() });
    s.app(|tpa| {
        tpa.send(Data::Virtual(4000)).expect("the connection is open");
        tpa.shutdown();
    });
    s.expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2), data(1, 3, 3)]);
    s.at_ms(10).gets([ack(1, &[0, 1, 2, 3], 3)]).expect([own_fin(2, 0, 0)]);
    s.gets([ack(2, &[0], 0)]).expect([]).check(TpaEnd::state, State::HalfClosed);
}

#[test]
fn an_endless_source_stops_at_what_has_been_sent() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Endless)).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.app(|tpa| assert_eq!(tpa.send(Data::Virtual(1)), Err(SendError::Endless)));
    s.app(TpaEnd::close).expect([]);
    s.at_ms(10).gets([ack(1, &[0, 1], 1)]).expect([own_fin(1, 2, 2)]);
    s.gets([ack(1, &[0, 1, 2], 2)]).expect([]);
}

#[test]
fn the_peer_may_close_first() {
    let mut s = established(config());
    s.gets([fin(1, 1, 1)]).expect([]).check(TpaEnd::state, State::Established);
    s.gets([data(1, 0, 0)]).expect([delivered(1000), event(Event::PeerClosed), ack(1, &[0, 1], 0)]);
    s.check(TpaEnd::state, State::PeerClosed);
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
    s.app(TpaEnd::shutdown).expect([own_fin(1, 1, 1)]).check(TpaEnd::state, State::LastAck);
    s.gets([ack(1, &[0, 1], 1)]).expect([]).check(TpaEnd::state, State::Linger);
    s.at_ms(120_000).expect([event(Event::Closed)]);
}

/// An endpoint that lingers since time 0.
fn lingering() -> Tpa {
    let mut s = established(config());
    s.app(TpaEnd::close).expect([own_fin(1, 0, 0)]);
    s.gets([ack(1, &[0], 0), data(1, 0, 0)]).expect([delivered(1000)]);
    s.gets([fin(1, 1, 1)]).expect([event(Event::PeerClosed), ack(1, &[0, 1], 1)]);
    s.check(TpaEnd::state, State::Linger);
    s
}

#[test]
fn a_lingering_endpoint_answers_late_segments() {
    let mut s = lingering();
    s.at_ms(60_000).gets([fin(1, 1, 2)]).expect([ack(1, &[0, 1], 2)]);
    s.gets([data(1, 0, 3)]).expect([ack(1, &[0, 1], 3)]);
    s.gets([segment(|s| s.block = number(PEER_ISS, 1))]).expect([ack(1, &[0, 1], 131)]);
    let reset = segment(|s| (s.body, s.ack) = (Body::Reset, Some(acked(1, &[], 0))));
    s.gets([reset]).expect([]).check(TpaEnd::state, State::Linger);
    s.app(TpaEnd::abort).expect([]).check(TpaEnd::state, State::Closed);
}

#[test]
fn a_lingering_endpoint_gives_way_only_to_a_new_connection() {
    let mut s = lingering();
    let syn = |iss: BlockSeq| {
        let Seen::Other(segment) = segment(|s| (s.block, s.body) = (iss, Body::Syn(Options::default())))
        else {
            unreachable!("made above")
        };
        segment
    };
    s.check(|tpa| tpa.gives_way_to(&syn(number(PEER_ISS, 77))), true);
    s.check(|tpa| tpa.gives_way_to(&syn(PEER_ISS)), false);
    s.at_ms(120_000).expect([event(Event::Closed)]);
    let open = established(config());
    assert!(!open.machine.gives_way_to(&syn(number(PEER_ISS, 77))));
}

#[test]
fn an_abort_sends_a_reset_that_the_peer_believes() {
    let mut s = established(config());
    s.at_ms(0).gets([data(1, 0, 0)]).expect([delivered(1000)]);
    let reset = own(0, |s| (s.body, s.ack) = (Body::Reset, Some(peer_acked(1, &[], 0))));
    s.app(TpaEnd::abort).expect([reset]).check(TpaEnd::state, State::Closed);
    s.at_ms(500_000).expect([]);
}

#[test]
fn closing_with_unread_data_resets_and_so_does_data_after_closing() {
    let reading = || {
        let config = Config { sink: false, recv_buffer: Some(64_000), ..config() };
        established(config)
    };
    let reset = |window: u16| {
        own(0, |s| (s.body, s.ack, s.window) = (Body::Reset, Some(peer_acked(1, &[], 0)), window))
    };
    let mut s = reading();
    s.at_ms(0).gets([data(1, 0, 0)]).expect([delivered(1000)]);
    s.app(TpaEnd::close).expect([reset(63)]).check(TpaEnd::state, State::Closed);
    let mut s = reading();
    s.app(TpaEnd::close).expect([own_fin(1, 0, 0)]);
    s.gets([data(1, 0, 0)]);
    let sent = own(1, |s| (s.body, s.ack, s.window) = (Body::Reset, Some(peer_acked(1, &[], 0)), 63));
    s.expect([delivered(1000), sent, event(Event::Reset)]).check(TpaEnd::state, State::Closed);
    // After a shutdown, data is still read.
    let mut s = reading();
    s.app(TpaEnd::shutdown).expect([own_fin(1, 0, 0)]);
    s.gets([data(1, 0, 0)]).expect([delivered(1000)]);
    s.app(|tpa| assert_eq!(tpa.read(5000), Payload::Virtual(1000)));
}

#[test]
fn a_peer_that_never_answers_ends_the_connection() {
    let mut config = config_with(|life| life.user_timeout = Some(Duration::from_secs(10)));
    config.rto.max = Duration::from_secs(60);
    let mut s = established(config.clone());
    s.at_ms(5000).app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
    for (at, tx_seq) in [(6000, 1), (7000, 2), (9000, 3), (13_000, 4)] {
        s.at_ms(at).expect([slow(1, 0, tx_seq)]);
    }
    s.at_ms(15_000).expect([event(Event::TimedOut)]).check(TpaEnd::state, State::Closed);
    // A peer that owes no answer does not cause a timeout.
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
    s.at_ms(900).gets([ack(1, &[0], 0)]).expect([]);
    s.at_ms(500_000).expect([]);
}

#[test]
fn a_silent_peer_is_probed_and_the_connection_ends_without_an_answer() {
    let config = config_with(|life| {
        life.keepalive = Some(Duration::from_secs(20));
        life.user_timeout = Some(Duration::from_secs(30));
    });
    let probe = || own(0, |_| {});
    let mut s = established(config);
    s.at_ms(20_000).expect([probe()]);
    s.at_ms(20_100).gets([ack(0, &[], 0)]).expect([]);
    s.at_ms(40_100).expect([probe()]);
    s.at_ms(60_100).expect([probe()]);
    s.at_ms(70_100).expect([event(Event::TimedOut)]);
}
