//! Closing and resetting, RFC 9293 §3.6 and §3.10.7.4, RFC 5961.

use multihop_core::Duration;
use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Event, SendError, State};
use multihop_wire::tcp::{Segment, SeqNumber};

use super::templates::*;

fn start() -> Tcp {
    established(Config { msl: Duration::from_secs(30), ..config() })
}

fn ours(change: impl FnOnce(&mut Segment)) -> Seen {
    segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        change(s);
    })
}

/// The FIN of the end under test at `seq`; the script's `acked` FINs and data have arrived.
fn own_fin(seq: u32, acked: u32) -> Seen {
    ours(|s| (s.seq, s.ack, s.fin) = (ISS + seq, Some(PEER_ISS + acked), true))
}

fn own_ack(seq: u32, acked: u32) -> Seen {
    ours(|s| (s.seq, s.ack) = (ISS + seq, Some(PEER_ISS + acked)))
}

fn peer_fin(acked: u32) -> Seen {
    segment(|s| (s.ack, s.fin) = (Some(ISS + acked), true))
}

fn peer_ack(seq: u32, acked: u32) -> Seen {
    segment(|s| (s.seq, s.ack) = (PEER_ISS + seq, Some(ISS + acked)))
}

#[test]
fn we_close_first() {
    let mut s = start();
    s.app(|tcp| tcp.close()).expect([own_fin(1, 1)]).check(|tcp| tcp.state(), State::FinWait1);
    s.at_ms(50).gets([peer_ack(1, 2)]).expect([]).check(|tcp| tcp.state(), State::FinWait2);
    // The peer still sends data.
    s.gets([segment(|s| {
        s.ack = Some(ISS + 2);
        s.payload = multihop_core::Payload::Virtual(MSS);
    })]);
    s.expect([delivered(1), ack(2)]);
    s.at_ms(100).gets([segment(|s| (s.seq, s.ack, s.fin) = (number(2), Some(ISS + 2), true))]);
    s.expect([event(Event::PeerClosed), own_ack(2, 1002)]).check(|tcp| tcp.state(), State::TimeWait);
    // A retransmitted FIN is acknowledged again, and TIME-WAIT restarts.
    s.at_ms(10_000).gets([segment(|s| (s.seq, s.ack, s.fin) = (number(2), Some(ISS + 2), true))]);
    s.expect([own_ack(2, 1002)]);
    s.at_ms(70_000).expect([event(Event::Closed)]).check(|tcp| tcp.state(), State::Closed);
}

#[test]
fn the_peer_closes_first() {
    let mut s = start();
    s.at_ms(0).gets([peer_fin(1)]).expect([event(Event::PeerClosed), own_ack(1, 2)]);
    s.check(|tcp| tcp.state(), State::CloseWait);
    s.app(|tcp| tcp.send(Data::Virtual(1000))).expect([data(1)]);
    s.at_ms(10).gets([peer_ack(2, 1001)]).expect([]);
    s.app(|tcp| tcp.close()).expect([own_fin(1001, 2)]).check(|tcp| tcp.state(), State::LastAck);
    s.at_ms(50).gets([peer_ack(2, 1002)]).expect([event(Event::Closed)]);
    s.at_ms(100_000).expect([]);
}

#[test]
fn both_close_at_once() {
    let mut s = start();
    s.app(|tcp| tcp.close()).expect([own_fin(1, 1)]);
    s.at_ms(20).gets([peer_fin(1)]).expect([event(Event::PeerClosed), own_ack(2, 2)]);
    s.check(|tcp| tcp.state(), State::Closing);
    s.at_ms(40).gets([peer_ack(2, 2)]).expect([]).check(|tcp| tcp.state(), State::TimeWait);
    s.at_ms(60_040).expect([event(Event::Closed)]);
}

#[test]
fn a_lost_fin_is_retransmitted() {
    let mut s = start();
    s.app(|tcp| tcp.close()).expect([own_fin(1, 1)]);
    s.at_ms(1000).expect([own_fin(1, 1)]);
    s.at_ms(3000).expect([own_fin(1, 1)]);
    s.at_ms(3001).gets([peer_ack(1, 2)]).expect([]).check(|tcp| tcp.state(), State::FinWait2);
}

#[test]
fn the_fin_follows_the_last_byte_in_its_segment() {
    let mut s = start();
    s.app(|tcp| {
        tcp.send(Data::Virtual(1500)).unwrap();
        tcp.close();
    });
    s.expect([data(1)]).app(|tcp| assert_eq!(tcp.send(Data::Endless), Err(SendError::Closed)));
    s.at_ms(10).gets([ack(2)]).expect([ours(|s| {
        s.seq = number(2);
        (s.psh, s.fin) = (true, true);
        s.payload = multihop_core::Payload::Virtual(500);
    })]);
}

#[test]
fn an_endless_source_stops_at_what_has_been_sent() {
    let mut s = start();
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
    s.app(|tcp| tcp.close()).expect([]);
    s.at_ms(10).gets([ack(2)]).expect([own_fin(1001, 1)]);
}

#[test]
fn a_fin_before_its_data_waits() {
    let mut s = start();
    let late_fin = segment(|s| (s.seq, s.fin) = (number(2), true));
    s.at_ms(0).gets([late_fin]).expect([ack(1)]).check(|tcp| tcp.state(), State::Established);
    s.at_ms(10).gets([data(1)]).expect([delivered(1), event(Event::PeerClosed), own_ack(1, 1002)]);
    s.check(|tcp| tcp.state(), State::CloseWait);
}

#[test]
fn only_an_exact_reset_counts() {
    let mut s = start();
    let reset_at = |seq: SeqNumber| segment(|s| (s.seq, s.rst) = (seq, true));
    // In the window: challenged. Outside: ignored.
    s.at_ms(0).gets([reset_at(PEER_ISS + 500)]).expect([ack(1)]);
    s.gets([reset_at(PEER_ISS + 200_000), reset_at(PEER_ISS - 10)]).expect([]);
    s.check(|tcp| tcp.state(), State::Established);
    s.gets([reset_at(PEER_ISS + 1)]).expect([event(Event::Reset)]).check(|tcp| tcp.state(), State::Closed);
}

#[test]
fn a_syn_in_the_window_is_challenged() {
    let mut s = start();
    s.at_ms(0).gets([segment(|s| s.syn = true)]).expect([ack(1)]);
    s.check(|tcp| tcp.state(), State::Established);
}

#[test]
fn acks_of_unsent_and_of_very_old_data_are_challenged() {
    let mut s = start();
    s.at_ms(0).gets([peer_ack(1, 5000)]).expect([ack(1)]);
    s.gets([segment(|s| s.ack = Some(ISS - 70_000))]).expect([ack(1)]);
}

#[test]
fn abort_tells_the_peer() {
    let mut s = start();
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
    let reset = ours(|s| (s.seq, s.rst, s.window) = (number(2), true, 0));
    s.app(|tcp| tcp.abort()).expect([reset]).check(|tcp| tcp.state(), State::Closed);
    s.at_ms(100_000).expect([]).app(|tcp| assert_eq!(tcp.send(Data::Endless), Err(SendError::Closed)));
}
