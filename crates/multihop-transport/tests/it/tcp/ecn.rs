//! Marks in place of losses: RFC 3168, and the feedback of RFC 8257 for a scalable control.

use multihop_core::Payload;
use multihop_transport::congestion::Variant;
use multihop_transport::connection::Data;
use multihop_transport::tcp::{AckRule, Config, DelayedAck, Event, Phase};
use multihop_wire::tcp::{Ecn, Segment};

use super::templates::*;

fn classic() -> Config {
    Config { ecn: true, ..config() }
}

fn scalable() -> Config {
    Config { congestion: Variant::Prague.into(), ack_rule: AckRule::Delayed(DelayedAck::Ns2), ..config() }
}

/// A segment of the endpoint under test.
fn own(change: impl FnOnce(&mut Segment)) -> Seen {
    segment(|s| {
        (s.source, s.destination, s.seq, s.ack) = (LOCAL, REMOTE, ISS + 1, Some(PEER_ISS + 1));
        change(s);
    })
}

/// The data segment `n` of the end under test.
fn sends(n: u32, ecn: Ecn, cwr: bool) -> Seen {
    own(|s| (s.seq, s.payload, s.ecn, s.cwr) = (number(n), Payload::Virtual(MSS), ecn, cwr))
}

/// The ACK by the end under test of everything before `n`.
fn reports(n: u32, ece: bool) -> Seen {
    if ece { own(|s| (s.ack, s.ece) = (Some(number(n)), true)) } else { ack(n) }
}

/// Data segment `n` of the peer.
fn arrives(n: u32, ecn: Ecn, cwr: bool) -> Seen {
    segment(|s| (s.seq, s.payload, s.ecn, s.cwr) = (number(n), Payload::Virtual(MSS), ecn, cwr))
}

/// The peer's ACK with the echo of a mark.
fn echo(n: u32) -> Seen {
    segment(|s| (s.ack, s.ece) = (Some(number(n)), true))
}

fn syn(ece: bool, cwr: bool) -> Seen {
    let mut seen = segment(|s| (s.seq, s.ack, s.syn) = (PEER_ISS, Some(ISS + 1), true));
    let Seen::Other(syn) = &mut seen else { unreachable!("made above") };
    (syn.ece, syn.cwr, syn.options.mss) = (ece, cwr, Some(1000));
    seen
}

/// RFC 3168 §6.1.1: a SYN with both flags requests marks, and an answer with the first flag agrees.
#[test]
fn both_ends_must_want_marks() {
    for (answer, expected) in
        [((true, false), Ecn::Ect0), ((false, false), Ecn::NotEct), ((true, true), Ecn::NotEct)]
    {
        let mut s = closed(classic());
        let asks = own(|s| {
            (s.seq, s.ack, s.syn, s.ece, s.cwr, s.options.mss) = (ISS, None, true, true, true, Some(1000))
        });
        s.app(|tcp| tcp.connect()).expect([asks]);
        s.gets([syn(answer.0, answer.1)]).expect([event(Event::Connected), ack(1)]);
        let first = if expected == Ecn::NotEct { data(1) } else { sends(1, expected, false) };
        s.app(|tcp| tcp.send(Data::Endless)).expect([first]);
    }
}

/// §6.1.2: the window is reduced as for a loss, once in each round trip and without a retransmission; the
/// next segment announces this.
#[test]
fn an_echo_halves_the_window_once_in_a_round_trip() {
    let mut s = established(Config { initial_window: 8, ..classic() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=8).map(|n| sends(n, Ecn::Ect0, false)));
    s.at_ms(100).gets([echo(2)]);
    s.check(|tcp| (tcp.ssthresh(), tcp.phase()), (4 * MSS, Phase::CongestionAvoidance));
    s.expect([]);
    // Further echoes in the same window change nothing.
    s.gets([echo(3), echo(4), echo(5)]).expect([]);
    s.check(|tcp| tcp.ssthresh(), 4 * MSS);
    s.gets([ack(6)]).expect([sends(9, Ecn::Ect0, true), sends(10, Ecn::Ect0, false)]);
    s.gets([ack(7)]).expect([sends(11, Ecn::Ect0, false)]);
    s.check(|tcp| (tcp.counters().retransmitted, tcp.counters().fast_retransmits), (0, 0));
    // An echo for data behind that which was outstanding at the first echo counts again.
    s.gets([ack(8), ack(9)]).expect([sends(12, Ecn::Ect0, false), sends(13, Ecn::Ect0, false)]);
    // Five segments are in flight.
    s.gets([echo(10)]).check(|tcp| tcp.ssthresh(), 5 * MSS / 2);
    s.expect([]);
}

/// §6.1.3: ACKs carry the echo until the sender has reduced its window.
#[test]
fn the_echo_lasts_until_the_peer_has_reduced_its_window() {
    let mut s = established(classic());
    s.gets([arrives(1, Ecn::Ect0, false)]).expect([delivered(1), reports(2, false)]);
    s.gets([arrives(2, Ecn::Ce, false)]).expect([delivered(1), reports(3, true)]);
    s.gets([arrives(3, Ecn::Ect0, false)]).expect([delivered(1), reports(4, true)]);
    s.gets([arrives(4, Ecn::Ect0, true)]).expect([delivered(1), reports(5, false)]);
    // The segment is marked again on its way.
    s.gets([arrives(5, Ecn::Ce, true)]).expect([delivered(1), reports(6, true)]);
}

/// §6.1.5: a retransmission is not to be marked.
#[test]
fn retransmissions_do_not_allow_marks() {
    let mut s = established(Config { initial_window: 4, ..classic() });
    s.app(|tcp| tcp.send(Data::Virtual(4 * u64::from(MSS))));
    s.expect([sends(1, Ecn::Ect0, false), sends(2, Ecn::Ect0, false), sends(3, Ecn::Ect0, false), last(4)]);
    s.at_ms(100).gets(acks(1, 3)).expect([data(1)]);
    s.at_ms(200).gets([ack(5)]).expect([]);
}

/// The last segment of the data that the application has written.
fn last(n: u32) -> Seen {
    own(|s| (s.seq, s.payload, s.ecn, s.psh) = (number(n), Payload::Virtual(MSS), Ecn::Ect0, true))
}

/// RFC 8257 §3.2: with delayed ACKs, a change of marks acknowledges at once all data before the change.
#[test]
fn a_scalable_receiver_reports_which_segments_were_marked() {
    let mut s = established(scalable());
    s.gets([arrives(1, Ecn::Ect1, false)]).expect([delivered(1)]);
    s.gets([arrives(2, Ecn::Ce, false)]).expect([reports(2, false), delivered(1)]);
    s.gets([arrives(3, Ecn::Ce, false)]).expect([delivered(1), reports(4, true)]);
    s.gets([arrives(4, Ecn::Ect1, false)]).expect([delivered(1)]);
    s.gets([arrives(5, Ecn::Ect1, false)]).expect([delivered(1), reports(6, false)]);
}

/// RFC 9331 §4.3: packets of a scalable control carry ECT(1).
#[test]
fn a_scalable_sender_says_that_it_is_one() {
    let mut s = established(Config { initial_window: 2, ..scalable() });
    s.app(|tcp| tcp.send(Data::Endless)).expect([sends(1, Ecn::Ect1, false), sends(2, Ecn::Ect1, false)]);
}
