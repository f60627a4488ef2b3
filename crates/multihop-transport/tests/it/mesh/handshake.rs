//! Opening a connection, refusing one, and resets.

use multihop_core::{Duration, LostSegment, Notice, SegmentId};
use multihop_transport::connection::{Data, Event};
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::{Config, MeshEnd};
use multihop_wire::control::Cause;
use multihop_wire::mesh::Segment;

use super::pair::{PORT, Watched};
use super::templates::*;

fn connect(watched: &mut Watched) {
    watched.end.connect();
}

fn send(bytes: u64) -> impl FnOnce(&mut Watched) {
    move |watched| watched.end.send(Data::Virtual(bytes)).expect("the stream is open")
}

fn state(watched: &Watched) -> State {
    watched.end.state()
}

/// Lets the script's SYN arrive.
fn opening() -> MeshScript {
    let mut s = listening(&config());
    s.gets([syn(0)]).expect([own_syn_ack(0)]).check(state, State::SynReceived);
    s
}

#[test]
fn data_follows_the_syn_ack_at_once_and_replaces_the_third_segment() {
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]).check(state, State::SynSent);
    s.app(send(1500)).expect([]);
    let data = [Seen::Data(0, 1000), Seen::Data(1, 500)];
    s.at_ms(50).gets([syn_ack(0)]).expect([event(Event::Connected)].into_iter().chain(data));
    s.gets([Seen::Ack(2)]).expect([event(Event::Acked(1500))]);
    let mut s = opening();
    s.gets([Seen::Data(101, 1000)]);
    s.expect([event(Event::Connected), event(Event::Delivered(1000)), Seen::Ack(102)]);
    s.check(state, State::Established);
}

#[test]
fn the_round_trip_of_the_handshake_lowers_the_first_timeout() {
    let config = Config { rto_min: Duration::from_millis(200), ..config() };
    for (ms, timeout) in [(10, 200), (50, 450), (500, 1000)] {
        let mut s = closed(&config);
        s.app(connect).expect([own_syn(0)]);
        s.at_ms(ms).gets([syn_ack(0)]).expect([event(Event::Connected), Seen::Ack(101)]);
        s.check(|watched| watched.end.rtt().rto(), Duration::from_millis(timeout));
    }
    // The end does not know which SYN was answered.
    let mut s = closed(&config);
    s.app(connect).expect([own_syn(0)]);
    s.at_ms(1000).expect([own_syn(1)]);
    s.at_ms(1010).gets([syn_ack(0)]).expect([event(Event::Connected), Seen::Ack(101)]);
    s.check(|watched| watched.end.rtt().rto(), Duration::from_secs(1));
}

#[test]
fn an_end_without_data_acknowledges_the_syn_ack() {
    established(&config()).check(state, State::Established);
    let mut s = opening();
    s.gets([Seen::Ack(0)]).expect([event(Event::Connected)]).check(state, State::Established);
}

#[test]
fn a_lost_syn_leaves_again_after_a_second_and_each_second_after_it() {
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    for (attempt, ms) in [(1, 1000), (2, 2000), (3, 3000)] {
        s.at_ms(ms).expect([own_syn(attempt)]);
    }
    let config =
        Config { rto_max: Duration::from_secs(60), ..config_with(|life| life.syn_retries = Some(2)) };
    let mut s = closed(&config);
    s.app(connect).expect([own_syn(0)]);
    s.at_ms(1000).expect([own_syn(1)]);
    s.at_ms(3000).expect([own_syn(2)]);
    s.at_ms(7000).expect([event(Event::TimedOut)]).check(state, State::Closed);
}

#[test]
fn a_lost_syn_ack_leaves_again_at_each_syn_and_after_a_second() {
    let mut s = opening();
    s.at_ms(900).gets([syn(1)]).expect([own_syn_ack(1)]);
    s.at_ms(1000).expect([own_syn_ack(1)]);
    s.gets([Seen::Ack(0)]).expect([event(Event::Connected)]);
    s.at_ms(60_000).expect([]);
}

#[test]
fn the_third_segment_is_repeated_for_each_syn_ack() {
    let mut s = established(&config());
    s.at_ms(1000).gets([syn_ack(0), syn_ack(0)]).expect([Seen::Ack(101), Seen::Ack(101)]);
}

#[test]
fn both_may_open_at_once() {
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    s.gets([syn(0)]).expect([own_syn_ack(0)]).check(state, State::SynReceived);
    s.gets([syn_ack(0)]).expect([event(Event::Connected), Seen::Ack(101)]);
}

#[test]
fn the_peer_announces_its_window_and_its_longest_payload() {
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    s.app(send(2000));
    s.gets([syn_with(|syn| {
        (syn.answers, syn.window) = (Some(OWN), 1);
        (syn.options.mss, syn.options.initial_ttl) = (700.try_into().ok(), 255.try_into().ok());
    })]);
    s.expect([event(Event::Connected), Seen::Data(0, 700)]);
    let options = s.machine.end.peer();
    assert_eq!(options.initial_ttl.map(u8::from), Some(255));
}

#[test]
fn a_syn_ack_for_another_syn_has_no_effect() {
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    s.gets([syn_with(|syn| syn.answers = Some(7))]).expect([]).check(state, State::SynSent);
    let mut s = listening(&config());
    s.gets([syn_ack(0), Seen::Data(101, 1), Seen::Ack(0), keepalive(101)]).expect([]);
    s.check(state, State::Listen);
}

#[test]
fn only_segments_of_the_new_connection_end_the_handshake() {
    let mut s = opening();
    s.gets([Seen::Ack(1), Seen::Ack(u32::MAX), Seen::Data(50_000, 1), keepalive(101)]).expect([]);
    s.check(state, State::SynReceived);
}

#[test]
fn another_version_and_unknown_mandatory_options_are_refused() {
    let mut s = listening(&config());
    let refused = |cause: Cause, text: &str| reset(cause, PEER, text);
    s.gets([syn_with(|syn| syn.options.version = 4)]);
    s.expect([refused(Cause::VERSION, "3")]);
    s.gets([syn_with(|syn| syn.options.unknown = Some(77))]);
    s.expect([refused(Cause::OPTION, "77")]).check(state, State::Listen);
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    s.gets([refused_syn("4")]).expect([event(Event::Reset)]);
    s.check(|watched| watched.end.reset().map(|reset| reset.text.clone()), Some("4".into()));
    s.check(state, State::Closed);
}

/// The refusal of the SYN of the end under test.
fn refused_syn(text: &str) -> Seen {
    reset(Cause::VERSION, OWN, text)
}

#[test]
fn a_forged_refusal_has_no_effect() {
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    s.gets([reset(Cause::VERSION, 7, ""), reset_of_ack(OWN), reset_of_ack(101)]).expect([]);
    s.check(state, State::SynSent);
}

#[test]
fn a_reset_half_way_leaves_a_listener_listening() {
    let mut s = opening();
    s.app(send(500)).app(|watched| watched.end.shutdown());
    s.gets([reset(Cause::ABORTED, OWN, "")]).expect([]).check(state, State::Listen);
    s.gets([syn_with(|syn| syn.number = 500)]);
    s.app(|_| {}).check(state, State::SynReceived);
    let answer = s.machine.end.peer().version;
    assert_eq!(answer, 3);
    s.expect([other_syn_ack(500)]);
    s.gets([Seen::Ack(0)]).expect([event(Event::Connected), Seen::Data(0, 500), Seen::Fin(1)]);
    // A closed listener with nothing to send is closed at once.
    let mut s = opening();
    s.app(|watched| watched.end.shutdown()).gets([reset(Cause::ABORTED, OWN, "")]);
    s.expect([event(Event::Closed)]);
}

/// The SYN ACK of the end under test for a SYN with this number.
fn other_syn_ack(number: u32) -> Seen {
    let Seen::Control(mut control) = own_syn_ack(0) else { unreachable!("a SYN ACK") };
    if let multihop_wire::control::Control::Syn(syn) = &mut *control {
        syn.answers = Some(number);
    }
    Seen::Control(control)
}

/// Numbers in flight are 2 to 4; 101 is expected.
#[test]
fn a_reset_counts_if_its_number_is_in_flight_or_expected() {
    let in_flight = || {
        let mut s = established(&config());
        s.app(send(100_000)).expect([Seen::Data(0, 1000), Seen::Data(1, 1000)]);
        s.gets([Seen::Ack(2)]).expect([
            event(Event::Acked(2000)),
            Seen::Data(2, 1000),
            Seen::Data(3, 1000),
            Seen::Data(4, 1000),
            Seen::Data(5, 1000),
        ]);
        s
    };
    let known = |number: u32| reset(Cause::UNKNOWN_CONNECTION, number, "");
    for forged in [known(1), known(7), known(1 << 31), reset_of_ack(100), reset_of_ack(102)] {
        let mut s = in_flight();
        s.gets([forged]).expect([]).check(state, State::Established);
    }
    for valid in [known(2), known(6), reset_of_ack(101)] {
        let mut s = in_flight();
        s.gets([valid]).expect([event(Event::Reset)]).check(state, State::Closed);
        s.at_ms(500_000).expect([]);
    }
}

#[test]
fn late_segments_of_an_earlier_connection_have_no_effect() {
    let mut s = established(&config());
    s.gets([Seen::Data(1_000_000, 1000), Seen::Fin(1_000_000), Seen::Probe(1_000_000)]).expect([]);
    s.gets([Seen::Ack(1_000_000), keepalive(1_000_000)]).expect([]);
    s.check(|watched| watched.end.counters().delivered, 0);
    // Their transmission numbers are not named either.
    s.gets([Seen::Data(101, 1000)]).expect([event(Event::Delivered(1000)), Seen::Ack(102)]);
}

/// The peer has restarted, and opens a new connection from the same port: it resets the old one.
#[test]
fn a_peer_that_has_restarted_resets_the_old_connection() {
    let mut old = established(&config());
    old.at_ms(10).gets([syn_with(|syn| syn.number = 5000)]).expect([Seen::Ack(101)]);
    let mut new = closed(&config());
    new.app(connect).expect([own_syn(0)]);
    new.gets([Seen::Ack(101), Seen::Ack(101)]).expect([reset_of_ack(101)]);
    new.check(state, State::SynSent);
    old.gets([reset_of_ack(101)]).expect([event(Event::Reset)]);
    // Data and keepalives are answered as well, at most once per second.
    for (ms, stray) in [(1000, Seen::Data(7, 100)), (2000, Seen::Probe(7)), (3000, keepalive(7))] {
        new.at_ms(ms).expect([own_syn(u8::try_from(ms / 1000).expect("a few"))]);
        new.gets([stray.clone(), stray]).expect([reset(Cause::UNKNOWN_CONNECTION, 7, "")]);
    }
}

#[test]
fn a_syn_leaves_again_after_a_notice_but_only_once() {
    let lost = |end: &MeshEnd, number: u32| {
        let mut start = [0; 16];
        start[0] = 0x30;
        start[4..8].copy_from_slice(&number.to_be_bytes());
        assert!(!end.state().is_synchronised());
        let segment = SegmentId::Custom(start);
        Notice::LinkFailed(LostSegment { source: PORT, destination: PORT, segment })
    };
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    s.at_ms(100).app(|watched| watched.end.notice(lost(&watched.end, 7))).expect([]);
    s.app(|watched| watched.end.notice(lost(&watched.end, OWN))).expect([own_syn(1)]);
    s.app(|watched| watched.end.notice(lost(&watched.end, OWN))).expect([]);
    s.app(|watched| watched.end.notice(Notice::RouteRestored)).expect([own_syn(2)]);
    s.check(|watched| watched.end.counters().notices, 2);
    s.at_ms(1000).expect([own_syn(3)]);
    s.app(|watched| watched.end.notice(Notice::RouteLost)).expect([own_syn(4)]);
}

#[test]
fn a_quoted_syn_names_its_connection() {
    let Seen::Control(control) = own_syn(0) else { unreachable!("a SYN") };
    let start = Segment::Control(*control).start();
    assert_eq!((start[0], &start[4..8]), (0x30, &[0xff; 4][..]));
}

#[test]
fn another_attempt_leaves_at_once_for_a_cookie() {
    let mut s = closed(&config());
    s.app(connect).expect([own_syn(0)]);
    s.at_ms(40).app(|watched| watched.end.connect_again()).expect([own_syn(1)]);
    s.at_ms(1000).expect([own_syn(2)]);
    s.gets([syn_ack(1)]).expect([event(Event::Connected), Seen::Ack(101)]);
    s.app(|watched| watched.end.connect_again()).expect([]);
}

#[test]
fn a_connection_that_is_never_opened_sends_nothing() {
    let mut s = closed(&config());
    s.gets([Seen::Data(0, 10), Seen::Ack(0), keepalive(0), syn(0)]).expect([]);
    s.app(|watched| assert!(watched.end.send(Data::Virtual(1)).is_err()));
    s.app(connect).expect([own_syn(0)]).app(|watched| watched.end.close());
    s.expect([event(Event::Closed)]).check(state, State::Closed);
}
