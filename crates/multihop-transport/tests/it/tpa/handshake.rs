//! Opening a connection, and refusing one.

use multihop_core::{BitRate, Duration, Instant, Machine, Notice, Payload};
use multihop_transport::connection::Data;
use multihop_transport::pacing::{Pacer, PacingConfig};
use multihop_transport::tpa::{Config, Event, Input, State, TpaEnd};
use multihop_wire::tpa::{Ack, Body, Options, Segment};

use super::templates::*;

fn syn(try_number: u8) -> Seen {
    own(0, |s| (s.body, s.tx_seq) = (Body::Syn(own_options(&config())), try_number))
}

fn answer(names: u8) -> Seen {
    segment(|s| (s.body, s.ack) = (Body::Syn(peer_options()), Some(acked(0, &[], names))))
}

/// The SYN of a script that opens the connection.
fn peer_syn(try_number: u8) -> Seen {
    segment(|s| (s.body, s.tx_seq) = (Body::Syn(peer_options()), try_number))
}

fn own_answer(try_number: u8, names: u8) -> Seen {
    own(0, |s| {
        (s.body, s.tx_seq) = (Body::Syn(own_options(&config())), try_number);
        s.ack = Some(peer_acked(0, &[], names));
    })
}

fn listening() -> Tpa {
    let mut s = closed(config());
    s.app(TpaEnd::listen).expect([]);
    s
}

fn reset(names: Ack) -> Seen {
    segment(|s| (s.body, s.ack) = (Body::Reset, Some(names)))
}

#[test]
fn a_syn_is_tried_again_after_1_2_4_and_8_seconds() {
    let mut s = closed(config());
    s.app(TpaEnd::connect).expect([syn(0)]);
    for (try_number, at) in [(1, 1), (2, 3), (3, 7), (4, 15)] {
        s.at_ms(1000 * at).expect([syn(try_number)]);
    }
    s.at_ms(31_000).expect([event(Event::TimedOut)]).check(TpaEnd::state, State::Closed);
}

#[test]
fn a_syn_that_leaves_again_at_once_is_a_try_of_its_own() {
    let mut s = closed(config());
    s.app(TpaEnd::connect).expect([syn(0)]);
    s.at_ms(40).app(TpaEnd::connect_again).expect([syn(1)]);
    // The next SYN is due at the same time as without the answer.
    s.at_ms(1000).expect([syn(2)]);
    s.at_ms(1070).gets([answer(2)]).expect([event(Event::Connected), ack(0, &[], 0)]);
    s.check(|tpa| tpa.rtt().srtt(), Some(Duration::from_millis(70)));
    s.app(TpaEnd::connect_again).expect([]);
}

#[test]
fn the_round_trip_of_the_try_that_was_answered_is_a_sample() {
    let mut s = closed(config());
    s.app(TpaEnd::connect).expect([syn(0)]);
    s.at_ms(1000).expect([syn(1)]);
    s.at_ms(1600).gets([answer(1)]).expect([event(Event::Connected), ack(0, &[], 0)]);
    s.check(|tpa| tpa.rtt().srtt(), Some(Duration::from_millis(600)));
    let mut s = closed(config());
    s.app(TpaEnd::connect).expect([syn(0)]);
    s.at_ms(1000).expect([syn(1)]);
    s.at_ms(1600).gets([answer(0)]).expect([event(Event::Connected), ack(0, &[], 0)]);
    s.check(|tpa| tpa.rtt().srtt(), None);
}

#[test]
fn both_ends_learn_what_the_other_announces() {
    let peer = Options { mss: 700, cwnd_max: 7, initial_ttl: 255, ..peer_options() };
    let mut s = established_with(config(), peer);
    s.check(|tpa| (*tpa.peer(), tpa.mss()), (peer, 700));
    s.app(|tpa| tpa.send(Data::Virtual(700)));
    s.expect([own(1, |s| {
        s.body = Body::Data { position: 0, last: false, payload: Payload::Virtual(700) };
    })]);
    s.gets([ack(1, &[0], 0)]);
}

#[test]
fn a_listener_answers_the_same_syn_in_the_same_way() {
    let mut s = listening();
    s.at_ms(0).gets([peer_syn(0)]).expect([own_answer(0, 0)]).check(TpaEnd::state, State::SynReceived);
    s.at_ms(900).gets([peer_syn(1)]).expect([own_answer(1, 1)]);
    s.at_ms(1000).expect([own_answer(2, 1)]);
    s.at_ms(1050).gets([ack(0, &[], 2)]).expect([event(Event::Connected)]);
    s.check(|tpa| tpa.rtt().latest(), Some(Duration::from_millis(50)));
}

#[test]
fn data_replaces_the_third_ack() {
    let mut s = listening();
    s.at_ms(0).gets([peer_syn(0)]).expect([own_answer(0, 0)]);
    s.gets([data(2, 0, 0)]).expect([]);
    s.gets([data(1, 0, 0)]).expect([event(Event::Connected), delivered(1000)]);
    s.at_ms(100).expect([held(1, &[0], 0)]);
}

#[test]
fn an_ack_of_another_syn_does_not_connect() {
    let mut s = listening();
    s.at_ms(0).gets([peer_syn(0)]).expect([own_answer(0, 0)]);
    s.gets([ack(1, &[], 0), ack(0xfff0, &[], 0)]).expect([]).check(TpaEnd::state, State::SynReceived);
    let mut s = closed(config());
    s.app(TpaEnd::connect).expect([syn(0)]);
    let wrong = segment(|s| (s.body, s.ack) = (Body::Syn(peer_options()), Some(acked(1, &[], 0))));
    s.gets([wrong]).expect([]).check(|tpa| tpa.counters().dropped, 1);
}

#[test]
fn a_lost_third_ack_is_retransmitted_for_a_retransmitted_answer() {
    let mut s = established(config());
    s.at_ms(1000).gets([answer(0)]).expect([ack(0, &[], 0)]);
    let again = segment(|s| {
        (s.body, s.tx_seq) = (Body::Syn(peer_options()), 1);
        s.ack = Some(acked(0, &[], 0));
    });
    s.gets([again]).expect([ack(0, &[], 1)]);
}

#[test]
fn both_may_open_at_once() {
    let mut s = closed(config());
    s.app(TpaEnd::connect).expect([syn(0)]);
    s.at_ms(100).gets([peer_syn(0)]).expect([own_answer(1, 0)]);
    s.at_ms(200).gets([answer(1)]).expect([event(Event::Connected), ack(0, &[], 0)]);
}

#[test]
fn another_version_is_refused() {
    let mut s = listening();
    let other = Options { version: 1, ..peer_options() };
    let refusal = own(1, |s| {
        (s.block, s.window) = (multihop_wire::tpa::BlockSeq(0), 0);
        (s.body, s.ack) = (Body::Reset, Some(peer_acked(0, &[], 0)));
    });
    s.gets([segment(|s| s.body = Body::Syn(other))]).expect([refusal]).check(TpaEnd::state, State::Listen);
}

#[test]
fn a_reset_counts_if_it_names_our_syn() {
    let mut s = closed(config());
    s.app(TpaEnd::connect).expect([syn(0)]);
    s.gets([reset(acked(1, &[], 0)), segment(|s| s.body = Body::Reset)]).expect([]);
    s.gets([reset(acked(0, &[], 0))]).expect([event(Event::Reset)]).check(TpaEnd::state, State::Closed);
}

#[test]
fn later_a_reset_counts_if_it_names_our_block_or_the_one_before() {
    for (block, counts) in [(0, false), (1, true), (2, true), (3, false)] {
        let mut s = established(config());
        s.app(|tpa| tpa.send(Data::Virtual(5000))).expect([data(1, 0, 0), data(1, 1, 1)]);
        s.gets([ack(1, &[0, 1], 1)]).expect([data(1, 2, 2), data(1, 3, 3)]);
        s.gets([ack(1, &[0, 1, 2, 3], 3)]).expect([data(2, 0, 0)]);
        s.gets([reset(acked(block, &[], 0))]);
        s.expect(counts.then_some(event(Event::Reset)));
        s.check(|tpa| tpa.state() == State::Closed, counts);
        s.gets([ack(2, &[0], 0)]);
    }
}

#[test]
fn a_reset_half_way_leaves_a_listener_listening() {
    let mut s = listening();
    s.at_ms(0).gets([peer_syn(0)]).expect([own_answer(0, 0)]);
    s.gets([reset(acked(0, &[], 0))]).expect([]).check(TpaEnd::state, State::Listen);
    s.gets([peer_syn(0)]).expect([own_answer(0, 0)]);
    s.gets([ack(0, &[], 0)]).expect([event(Event::Connected)]);
}

#[test]
fn a_reset_during_the_handshake_keeps_the_settings_and_data_of_the_listener() {
    let pacing = Some(PacingConfig::new(BitRate(2_000_000)));
    let mut s = closed(Config { pacing, ..config() });
    s.app(TpaEnd::listen).gets([peer_syn(0)]).expect([own_answer(0, 0)]);
    s.app(|tpa| tpa.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 3 })));
    s.app(|tpa| tpa.set_mss(500)).app(|tpa| tpa.send(Data::Virtual(400))).app(TpaEnd::close);
    s.gets([reset(acked(0, &[], 0))]).expect([]).check(TpaEnd::state, State::Listen);
    s.check(|tpa| tpa.pacer().and_then(Pacer::hops), Some(3)).check(TpaEnd::mss, 500);
    s.gets([peer_syn(0)]).expect([own_answer(0, 0)]);
    let all = own(1, |s| {
        s.body = Body::Data { position: 0, last: true, payload: Payload::Virtual(400) };
    });
    s.gets([ack(0, &[], 0)]).expect([event(Event::Connected), all]);
    s.gets([ack(1, &[0], 0)]).at_ms(3).expect([own(2, |s| s.body = Body::Fin { position: 0 })]);
    // A closed listener with nothing to send is closed at once.
    let mut s = listening();
    s.gets([peer_syn(0)]).expect([own_answer(0, 0)]).app(TpaEnd::close);
    s.gets([reset(acked(0, &[], 0))]).expect([event(Event::Closed)]);
}

/// The peer has restarted, and opens a new connection from the same port: it resets the old one.
#[test]
fn a_peer_that_has_restarted_resets_the_old_connection() {
    let mut s = established(config());
    let again = |s: &mut Segment| {
        s.block = multihop_wire::tpa::BlockSeq(0x1234);
        s.body = Body::Syn(peer_options());
    };
    s.at_ms(10).gets([segment(again)]).expect([ack(0, &[], 128)]);
    let mut forgetful = closed(config());
    forgetful.app(TpaEnd::connect).expect([syn(0)]);
    let known = segment(|s| (s.block, s.ack) = (number(PEER_ISS, 9), Some(acked(0x4000, &[], 0))));
    let refusal = own(1, |s| {
        (s.block, s.window) = (multihop_wire::tpa::BlockSeq(0), 0);
        (s.body, s.ack) = (Body::Reset, Some(peer_acked(9, &[], 0)));
    });
    forgetful.gets([known.clone(), known]).expect([refusal]);
}

#[test]
fn impossible_acks_are_dropped_with_all_they_carry_and_never_answered() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    // A block never sent, segments never sent, a block before the SYN.
    for wrong in [acked(2, &[], 0), acked(1, &[0, 2], 0), acked(1, &[11], 0), acked(0xffff, &[], 0)] {
        let carries = segment(|s| {
            (s.block, s.body) = (number(PEER_ISS, 1), full(0));
            s.ack = Some(wrong);
        });
        s.gets([carries]).expect([]);
    }
    s.check(|tpa| (tpa.counters().dropped, tpa.unacked()), (4, 2000));
    s.gets([ack(1, &[0, 1], 1)]);
}

#[test]
fn impossible_data_is_dropped_and_never_answered() {
    let mut s = established(config());
    let piece = |position: u8, last: bool, len: u32| {
        segment(move |s| {
            s.block = number(PEER_ISS, 1);
            s.body = Body::Data { position, last, payload: Payload::Virtual(len) };
        })
    };
    // The first segment is at position K; the second has the last position of a block, but does not end it;
    // the third is longer than was announced.
    s.gets([piece(4, true, 1), piece(3, false, 1), piece(0, false, 1001)]).expect([]);
    s.gets([piece(2, true, 1)]).expect([]);
    // The first segment is a second end behind the end of the block, the other one an end before data that
    // has arrived.
    s.gets([piece(3, true, 1), piece(1, true, 1)]).expect([]);
    s.check(|tpa| (tpa.counters().dropped, tpa.counters().delivered), (5, 1));
    // A segment of the SYN's block is dropped.
    s.gets([data(0, 0, 0)]).expect([]).check(|tpa| tpa.counters().dropped, 6);
    s.at_ms(100).expect([held(1, &[2], 0)]);
}

#[test]
fn a_connection_that_is_never_opened_sends_nothing() {
    let mut s = closed(config());
    s.gets([data(1, 0, 0), ack(0, &[], 0)]).expect([]);
    s.check(|tpa| tpa.counters().dropped, 2);
    s.app(|tpa| assert!(tpa.send(Data::Virtual(1)).is_err()));
    let mut s = closed(config_with(|life| life.syn_retries = None));
    s.app(|tpa| {
        tpa.connect();
        tpa.close();
    });
    s.expect([event(Event::Closed)]);
}
