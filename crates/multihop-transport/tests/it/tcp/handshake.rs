//! Opening a connection, RFC 9293 §3.5.

use multihop_core::{BitRate, Duration, Instant, Machine, Notice, Payload};
use multihop_transport::connection::Data;
use multihop_transport::pacing::{Pacer, PacingConfig};
use multihop_transport::tcp::{Config, Event, Input, Pacing, State};
use multihop_wire::tcp::{Options, Segment};

use super::templates::*;

fn with_handshake() -> Config {
    Config { window_max: 20, ..config() }
}

fn options() -> Options {
    Options { mss: Some(1000), ..Options::default() }
}

fn own_syn() -> Segment {
    Segment {
        source: LOCAL,
        destination: REMOTE,
        seq: ISS,
        syn: true,
        window: 65_535,
        options: options(),
        ..Segment::default()
    }
}

fn peer_syn() -> Segment {
    Segment { source: REMOTE, destination: LOCAL, seq: PEER_ISS, window: WINDOW, ..own_syn() }
}

fn other(segment: Segment) -> Seen {
    Seen::Other(Box::new(segment))
}

fn answering(syn: Segment) -> Seen {
    let to = if syn.source == LOCAL { PEER_ISS } else { ISS };
    other(Segment { ack: Some(to + 1), ..syn })
}

fn connecting(config: Config) -> Tcp {
    let mut s = closed(config);
    s.app(|tcp| tcp.connect()).expect([other(own_syn())]);
    s
}

fn listening() -> Tcp {
    let mut s = closed(with_handshake());
    s.app(|tcp| tcp.listen()).expect([]).check(|tcp| tcp.state(), State::Listen);
    s
}

#[test]
fn active_open() {
    let mut s = connecting(with_handshake());
    s.check(|tcp| tcp.state(), State::SynSent);
    s.at_ms(100).gets([answering(peer_syn())]).expect([event(Event::Connected), ack(1)]);
    s.check(|tcp| (tcp.state(), tcp.mss()), (State::Established, 1000));
    s.check(|tcp| tcp.rtt().latest(), Some(Duration::from_millis(100)));
    s.at_ms(200_000).expect([]);
}

#[test]
fn data_queued_early_leaves_with_the_handshake() {
    let mut s = connecting(with_handshake());
    s.app(|tcp| tcp.send(Data::Virtual(1000))).expect([]);
    s.at_ms(100).gets([answering(peer_syn())]).expect([event(Event::Connected), data(1)]);
}

#[test]
fn passive_open() {
    let mut s = listening();
    s.at_ms(0).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.check(|tcp| (tcp.state(), tcp.ports().remote), (State::SynReceived, REMOTE));
    s.at_ms(50).gets([ack(1)]).expect([event(Event::Connected)]);
    s.check(|tcp| tcp.state(), State::Established);
}

#[test]
fn data_on_the_last_ack_of_the_handshake_counts() {
    let mut s = listening();
    s.at_ms(0).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.at_ms(50).gets([data(1)]).expect([event(Event::Connected), delivered(1), ack(2)]);
}

#[test]
fn simultaneous_open() {
    let mut s = connecting(with_handshake());
    s.at_ms(50).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.check(|tcp| tcp.state(), State::SynReceived);
    s.at_ms(100).gets([answering(peer_syn())]).expect([event(Event::Connected)]);
    s.check(|tcp| tcp.state(), State::Established);
}

#[test]
fn a_lost_syn_is_retransmitted_and_the_window_starts_at_one() {
    let mut s = connecting(Config { initial_window: 3, ..with_handshake() });
    s.app(|tcp| tcp.send(Data::Endless)).expect([]);
    s.at_ms(1000).expect([other(own_syn())]);
    s.at_ms(3000).expect([other(own_syn())]);
    s.at_ms(3100).gets([answering(peer_syn())]).expect([event(Event::Connected), data(1)]);
    // RFC 6298 §5.7: data starts with 3 s.
    s.check(|tcp| (tcp.cwnd(), tcp.rtt().rto()), (MSS, Duration::from_secs(3)));
    s.at_ms(6100).expect([data(1)]);
}

#[test]
fn a_lost_answer_is_retransmitted() {
    let mut s = listening();
    s.at_ms(0).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.at_ms(500).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.at_ms(1000).expect([answering(own_syn())]);
    s.at_ms(1050).gets([ack(1)]).expect([event(Event::Connected)]);
}

#[test]
fn a_refused_connection_is_reset() {
    let mut s = connecting(with_handshake());
    s.at_ms(10).gets([segment(|s| (s.ack, s.rst) = (None, true))]).expect([]);
    s.check(|tcp| tcp.state(), State::SynSent);
    s.gets([segment(|s| s.rst = true)]).expect([event(Event::Reset)]);
    s.check(|tcp| tcp.state(), State::Closed);
    s.at_ms(100_000).expect([]);
}

#[test]
fn an_ack_of_what_was_never_sent_is_reset() {
    let mut s = connecting(with_handshake());
    let reset = segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        (s.seq, s.ack, s.rst, s.window) = (ISS + 900, None, true, 0);
    });
    s.at_ms(10).gets([segment(|s| s.ack = Some(ISS + 900))]).expect([reset]);
    s.check(|tcp| tcp.state(), State::SynSent);
}

#[test]
fn an_endpoint_without_connection_resets() {
    let mut s = closed(with_handshake());
    let reset = segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        (s.seq, s.ack, s.rst, s.window) = (PEER_ISS, Some(PEER_ISS + 1), true, 0);
        s.seq = ISS;
    });
    s.at_ms(0).gets([other(peer_syn())]).expect([reset]);
    s.gets([segment(|s| s.rst = true)]).expect([]);
}

#[test]
fn a_reset_half_open_listener_listens_again() {
    let mut s = listening();
    s.at_ms(0).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.at_ms(5).gets([segment(|s| s.rst = true)]).expect([]).check(|tcp| tcp.state(), State::Listen);
    s.at_ms(10).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.at_ms(20).gets([ack(1)]).expect([event(Event::Connected)]);
}

#[test]
fn a_reset_half_open_listener_keeps_its_settings_and_data() {
    let pacing = Some(Pacing::new(PacingConfig::new(BitRate(2_000_000))));
    let mut s = closed(Config { pacing, ..with_handshake() });
    s.app(|tcp| tcp.listen()).gets([other(peer_syn())]).expect([answering(own_syn())]);
    s.app(|tcp| tcp.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 3 })));
    s.app(|tcp| tcp.send(Data::Virtual(1000))).app(|tcp| tcp.close());
    s.gets([segment(|s| s.rst = true)]).expect([]).check(|tcp| tcp.state(), State::Listen);
    s.check(|tcp| tcp.pacer().and_then(Pacer::hops), Some(3));
    s.gets([other(peer_syn())]).expect([answering(own_syn())]);
    let all = segment(|s| {
        (s.source, s.destination, s.window) = (LOCAL, REMOTE, 65_535);
        (s.seq, s.ack) = (ISS + 1, Some(PEER_ISS + 1));
        (s.psh, s.fin, s.payload) = (true, true, Payload::Virtual(1000));
    });
    s.gets([ack(1)]).expect([event(Event::Connected), all]).check(|tcp| tcp.state(), State::FinWait1);
}

#[test]
fn segments_are_as_large_as_the_peer_takes() {
    let mut s = connecting(with_handshake());
    let mut small = Segment { ack: Some(ISS + 1), ..peer_syn() };
    small.options.mss = None;
    s.at_ms(10).gets([other(small)]).expect([event(Event::Connected), ack(1)]);
    s.check(|tcp| tcp.mss(), 536);
}

#[test]
fn the_first_window_is_not_scaled_and_later_ones_are() {
    let config = Config { recv_buffer: Some(4 * 65_535), ..with_handshake() };
    let mut s = closed(config);
    let mut syn = own_syn();
    syn.options.window_scale = Some(2);
    s.app(|tcp| tcp.connect()).expect([other(syn)]);
    let mut answer = Segment { ack: Some(ISS + 1), window: 500, ..peer_syn() };
    answer.options.window_scale = Some(7);
    let own_ack = segment(|s| (s.source, s.destination, s.window) = (LOCAL, REMOTE, 65_535));
    let Seen::Other(own_ack) = own_ack else { unreachable!() };
    s.at_ms(10).gets([other(answer)]).expect([event(Event::Connected), ack(1)]);
    assert_eq!(own_ack.window, 65_535);
    s.check(|tcp| tcp.window(), 500);
    s.gets([segment(|s| s.window = 100)]).expect([]).check(|tcp| tcp.window(), 1000);
    s.app(|tcp| tcp.send(Payload::Virtual(1000))).expect([data(1)]);
}

#[test]
fn without_a_handshake_data_leaves_at_once() {
    let mut s = closed(Config { mss: 1000, ..Config::ns2_1999() });
    s.app(|tcp| tcp.connect()).expect([event(Event::Connected)]);
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
}
