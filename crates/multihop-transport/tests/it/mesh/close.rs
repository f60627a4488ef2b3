//! Closing: each direction alone, in order or by reset.

use multihop_core::{Duration, Payload};
use multihop_transport::connection::{Data, Event, SendError};
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::Config;
use multihop_wire::control::Cause;
use multihop_wire::mesh::Segment;

use super::pair::Watched;
use super::templates::*;

fn send(bytes: u64) -> impl FnOnce(&mut Watched) {
    move |watched| watched.end.send(Data::Virtual(bytes)).expect("the stream is open")
}

fn shutdown(watched: &mut Watched) {
    watched.end.shutdown();
}

fn state(watched: &Watched) -> State {
    watched.end.state()
}

#[test]
fn a_fin_follows_all_data_and_each_direction_closes_alone() {
    let mut s = established(&config());
    s.app(send(1000)).app(shutdown).expect([Seen::Data(0, 1000), Seen::Fin(1)]);
    s.check(state, State::FinSent);
    s.app(|watched| assert_eq!(watched.end.send(Data::Virtual(1)), Err(SendError::Closed)));
    s.at_ms(50).gets([Seen::Ack(2)]).expect([event(Event::Acked(1000))]).check(state, State::HalfClosed);
    // The other direction remains open.
    s.gets([Seen::Data(101, 1000)]).expect([event(Event::Delivered(1000)), Seen::Ack(102)]);
    s.gets([Seen::Fin(102)]).expect([event(Event::PeerClosed), Seen::Ack(103)]);
    s.check(state, State::Linger);
    s.at_ms(120_050).expect([event(Event::Closed)]).check(state, State::Closed);
}

#[test]
fn the_peer_may_close_first() {
    let mut s = established(&config());
    s.gets([Seen::Fin(102)]).expect([Seen::Ack(101)]).check(state, State::Established);
    s.gets([Seen::Data(101, 1000)]);
    s.expect([event(Event::Delivered(1000)), event(Event::PeerClosed), Seen::Ack(103)]);
    s.check(state, State::PeerClosed);
    s.app(send(1000)).app(shutdown).expect([Seen::Data(0, 1000), Seen::Fin(1)]);
    s.check(state, State::LastAck);
    s.gets([Seen::Ack(2)]).expect([event(Event::Acked(1000))]).check(state, State::Linger);
    s.at_ms(120_000).expect([event(Event::Closed)]);
}

#[test]
fn both_may_close_at_once() {
    let mut s = established(&config());
    s.app(shutdown).expect([Seen::Fin(0)]);
    s.gets([Seen::Fin(101)]).expect([event(Event::PeerClosed), Seen::Ack(102)]);
    s.check(state, State::LastAck);
    s.gets([Seen::Ack(1)]).expect([]).check(state, State::Linger);
}

#[test]
fn a_lost_fin_leaves_again() {
    let mut s = established(&config());
    s.app(shutdown).expect([Seen::Fin(0)]);
    s.at_ms(1000).expect([Seen::Fin(0)]);
    s.at_ms(2000).expect([Seen::Probe(1)]);
    s.at_ms(3000).expect([Seen::Probe(1)]);
    // Both FINs are lost: the answer to the second probe does not acknowledge them.
    ack_of_retransmission(&mut s, 3050, (0, 3), 3000);
    s.expect([Seen::Fin(0)]);
    ack_of_retransmission(&mut s, 3100, (1, 4), 3050);
    s.expect([]).check(state, State::HalfClosed);
}

#[test]
fn a_lingering_end_answers_late_segments_and_repeats_the_last_ack() {
    let mut s = lingering();
    s.at_ms(60_000).gets([Seen::Fin(102), Seen::Data(101, 1000), Seen::Probe(103), keepalive(103)]);
    s.expect([103; 4].map(Seen::Ack));
    s.gets([reset(Cause::ABORTED, 1, ""), reset_of_ack(103)]).expect([]).check(state, State::Linger);
    s.app(|watched| watched.end.abort()).expect([]).check(state, State::Closed);
}

/// An end that lingers since time 0.
fn lingering() -> MeshScript {
    let mut s = established(&config());
    s.app(shutdown).expect([Seen::Fin(0)]);
    s.gets([Seen::Ack(1), Seen::Data(101, 1000)]).expect([event(Event::Delivered(1000)), Seen::Ack(102)]);
    s.gets([Seen::Fin(102)]).expect([event(Event::PeerClosed), Seen::Ack(103)]).check(state, State::Linger);
    s
}

#[test]
fn a_lingering_end_gives_way_only_to_a_new_connection() {
    let segment = |seen: Seen| {
        let Seen::Control(control) = seen else { unreachable!("a control segment") };
        Segment::Control(*control)
    };
    let new = segment(syn_with(|syn| syn.number = 5000));
    let s = lingering();
    assert!(s.machine.end.gives_way_to(&new));
    for other in [syn(1), syn_ack(0), keepalive(103)] {
        assert!(!s.machine.end.gives_way_to(&segment(other.clone())), "{other:?}");
    }
    assert!(!established(&config()).machine.end.gives_way_to(&new));
}

#[test]
fn an_abort_sends_a_reset_that_the_peer_believes() {
    let mut s = established(&config());
    s.gets([Seen::Data(101, 1000)]).expect([event(Event::Delivered(1000)), Seen::Ack(102)]);
    s.app(|watched| watched.end.abort()).expect([reset(Cause::ABORTED, 102, "")]);
    s.check(state, State::Closed).at_ms(500_000).expect([]);
}

#[test]
fn closing_with_unread_data_resets_and_so_does_data_after_closing() {
    let reading = || established(&Config { sink: false, ..config() });
    let mut s = reading();
    s.gets([Seen::Data(101, 1000)]).expect([event(Event::Delivered(1000)), Seen::Ack(102)]);
    s.app(|watched| watched.end.close()).expect([reset(Cause::ABORTED, 102, "")]);
    s.check(state, State::Closed);
    let mut s = reading();
    s.app(|watched| watched.end.close()).expect([Seen::Fin(0)]);
    s.gets([Seen::Data(101, 1000)]);
    s.expect([event(Event::Delivered(1000)), reset(Cause::ABORTED, 102, ""), event(Event::Reset)]);
    s.check(state, State::Closed);
    // After a shutdown, data is still read.
    let mut s = reading();
    s.app(shutdown).expect([Seen::Fin(0)]);
    s.gets([Seen::Data(101, 1000)]).expect([event(Event::Delivered(1000)), Seen::Ack(102)]);
    s.app(|watched| assert_eq!(watched.end.read(5000), Payload::Virtual(1000)));
}

#[test]
fn data_behind_a_fin_and_a_second_fin_are_ignored() {
    let mut s = established(&config());
    s.gets([Seen::Fin(103)]).expect([Seen::Ack(101)]);
    s.gets([Seen::Data(104, 1000), Seen::Fin(102)]).expect([Seen::Ack(101), Seen::Ack(101)]);
    s.gets([Seen::Data(101, 10), Seen::Data(102, 10)]);
    s.expect([
        event(Event::Delivered(10)),
        Seen::Ack(102),
        event(Event::Delivered(10)),
        event(Event::PeerClosed),
        Seen::Ack(104),
    ]);
    // A FIN in front of data that has arrived.
    let mut s = established(&config());
    s.gets([Seen::Data(102, 1000), Seen::Fin(101)]).expect([Seen::Ack(101), Seen::Ack(101)]);
    s.check(state, State::Established);
}

#[test]
fn a_silent_peer_gets_keepalives_and_the_connection_ends_without_an_answer() {
    let config = config_with(|life| {
        life.keepalive = Some(Duration::from_secs(20));
        life.user_timeout = Some(Duration::from_secs(30));
    });
    let mut s = established(&config);
    s.at_ms(20_000).expect([keepalive(0)]);
    s.at_ms(20_100).gets([Seen::Ack(0)]).expect([]);
    s.at_ms(40_100).expect([keepalive(0)]);
    s.at_ms(60_100).expect([keepalive(0)]);
    s.at_ms(70_100).expect([event(Event::TimedOut)]).check(state, State::Closed);
}

#[test]
fn a_keepalive_is_answered_by_an_ack() {
    let mut s = established(&config());
    s.gets([keepalive(101)]).expect([Seen::Ack(101)]);
}

#[test]
fn a_peer_that_never_answers_ends_the_connection() {
    let config = config_with(|life| life.user_timeout = Some(Duration::from_secs(3)));
    let mut s = established(&config);
    s.at_ms(5000).app(send(1000)).expect([Seen::Data(0, 1000)]);
    s.at_ms(6000).expect([Seen::Data(0, 1000)]);
    s.at_ms(7000).expect([Seen::Probe(1)]);
    s.at_ms(8000).expect([event(Event::TimedOut)]).check(state, State::Closed);
    // A peer that owes no answer does not cause a timeout.
    let mut s = established(&config);
    s.app(send(1000)).expect([Seen::Data(0, 1000)]);
    s.at_ms(900).gets([Seen::Ack(1)]).expect([event(Event::Acked(1000))]);
    s.at_ms(500_000).expect([]);
}
