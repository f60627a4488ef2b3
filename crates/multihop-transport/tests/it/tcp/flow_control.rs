//! The peer's window, and ours: RFC 9293 §3.8.6.

use multihop_core::Payload;
use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, State};

use super::templates::*;

fn window(acked: u32, window: u16) -> Seen {
    segment(|s| (s.ack, s.window) = (Some(number(acked)), window))
}

fn own_ack(next: u32, window: u16) -> Seen {
    segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        (s.ack, s.window) = (Some(PEER_ISS + next), window);
    })
}

fn probe(at: u32) -> Seen {
    segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        (s.seq, s.ack) = (ISS + at, Some(PEER_ISS + 1));
        s.payload = Payload::Virtual(1);
    })
}

#[test]
fn the_peers_window_bounds_the_flight() {
    let mut s = established(Config { initial_window: 8, ..config() });
    s.at_ms(0).gets([window(1, 2500)]).expect([]);
    s.app(|tcp| tcp.send(Data::Endless)).expect([data(1), data(2)]);
    s.at_ms(10).gets([window(2, 1500)]).expect([]);
    s.at_ms(20).gets([window(2, 3000)]).expect([data(3), data(4)]);
}

#[test]
fn a_closed_window_is_probed_at_increasing_intervals() {
    let mut s = established(Config { initial_window: 2, ..config() });
    s.app(|tcp| tcp.send(Data::Virtual(5000))).expect([data(1), data(2)]);
    s.at_ms(100).gets([window(3, 0)]).expect([]);
    s.at_ms(1100).expect([probe(2001)]);
    s.at_ms(1150).gets([window(3, 0)]).expect([]);
    s.at_ms(3100).expect([probe(2001)]);
    s.at_ms(7100).expect([probe(2001)]).check(|tcp| tcp.counters().timeouts, 0);
    s.at_ms(7150).gets([window(3, 2000)]).expect([data(3), data(4)]);
}

#[test]
fn a_probe_that_is_taken_moves_the_window() {
    let mut s = established(config());
    s.at_ms(0).gets([window(1, 0)]).app(|tcp| tcp.send(Data::Virtual(1001))).expect([]);
    s.at_ms(1000).expect([probe(1)]);
    let taken = segment(|s| (s.ack, s.window) = (Some(ISS + 2), 3000));
    let rest = segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        (s.seq, s.psh, s.ack) = (ISS + 2, true, Some(PEER_ISS + 1));
        s.payload = Payload::Virtual(1000);
    });
    s.at_ms(1050).gets([taken]).expect([rest]);
}

#[test]
fn a_fin_waits_for_the_window_too() {
    let mut s = established(config());
    s.at_ms(0).gets([window(1, 0)]).app(|tcp| tcp.close()).expect([]);
    let fin = segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        (s.ack, s.fin) = (Some(PEER_ISS + 1), true);
    });
    s.at_ms(1000).expect([fin]);
    let acked = segment(|s| (s.ack, s.window) = (Some(ISS + 2), 0));
    s.at_ms(1010).gets([acked]).expect([]).check(|tcp| tcp.state(), State::FinWait2);
    s.at_ms(100_000).expect([]);
}

/// A receiver with room for 3000 bytes that the application has to read.
fn small_receiver() -> Tcp {
    let config = Config { handshake: false, sink: false, recv_buffer: Some(3000), ..config() };
    let mut s = closed(config);
    s.app(|tcp| tcp.connect()).expect([event(multihop_transport::tcp::Event::Connected)]);
    s
}

#[test]
fn unread_data_closes_our_window_and_reading_opens_it() {
    let mut s = small_receiver();
    s.at_ms(0).gets([data(1), data(2), data(3)]);
    s.expect([delivered(1), ack(2), delivered(1), ack(3), delivered(1), ack(4)]);
    // This segment is beyond the window: it is dropped, and an ACK reports this.
    s.gets([data(4)]).expect([ack(4)]).check(|tcp| tcp.unread(), 3000);
    // Half a segment of room is not worth a packet.
    s.app(|tcp| tcp.read(500)).expect([]);
    s.app(|tcp| tcp.read(500)).expect([ack(4)]);
    s.gets([data(4)]).expect([delivered(1), ack(5)]);
    s.app(|tcp| assert_eq!(tcp.read(9999), Payload::Virtual(3000))).expect([ack(5)]);
}

#[test]
fn the_window_counts_down_as_data_waits() {
    let mut s = small_receiver();
    let odd = |seq: u32, len: u32| segment(|s| (s.seq, s.payload) = (PEER_ISS + seq, Payload::Virtual(len)));
    s.at_ms(0).gets([odd(1, 700)]);
    s.expect([event(multihop_transport::tcp::Event::Delivered(700)), own_ack(701, 2300)]);
    s.gets([odd(701, 2299)]);
    s.expect([event(multihop_transport::tcp::Event::Delivered(2299)), own_ack(3000, 1)]);
    // This segment crosses the end of the window: the part inside is taken.
    s.gets([odd(3000, 700)]);
    s.expect([event(multihop_transport::tcp::Event::Delivered(1)), ack(4)]);
}

#[test]
fn the_window_opens_by_whole_segments_only() {
    let mut s = small_receiver();
    let odd = |seq: u32, len: u32| segment(|s| (s.seq, s.payload) = (PEER_ISS + seq, Payload::Virtual(len)));
    s.at_ms(0).gets([odd(1, 2999)]);
    s.expect([event(multihop_transport::tcp::Event::Delivered(2999)), own_ack(3000, 1)]);
    s.app(|tcp| tcp.read(500)).gets([odd(5000, 9)]).expect([own_ack(3000, 1)]);
    s.app(|tcp| tcp.read(500)).expect([own_ack(3000, 1001)]);
}

#[test]
fn an_old_ack_does_not_change_the_window() {
    let mut s = established(Config { initial_window: 2, ..config() });
    s.app(|tcp| tcp.send(Data::Virtual(2000))).expect([data(1), data(2)]);
    s.at_ms(10).gets([window(3, 2500), window(2, 9000)]).expect([]).check(|tcp| tcp.window(), 2500);
    let newer_data = segment(|s| {
        (s.seq, s.ack, s.window) = (PEER_ISS + 1001, Some(number(2)), 1);
        s.payload = Payload::Virtual(MSS);
    });
    s.gets([newer_data]).expect([ack(1)]).check(|tcp| tcp.window(), 2500);
    s.gets([window(3, 2000)]).expect([]).check(|tcp| tcp.window(), 2000);
}

#[test]
fn acks_count_while_our_window_is_closed() {
    let mut s = small_receiver();
    s.app(|tcp| tcp.send(Data::Virtual(3000))).expect([data(1)]);
    s.at_ms(0).gets([data(1), data(2), data(3)]);
    s.expect([delivered(1), ack(2), delivered(1), ack(3), delivered(1), ack(4)]);
    let beyond = segment(|s| {
        (s.seq, s.ack) = (number(4), Some(number(2)));
        s.payload = Payload::Virtual(MSS);
    });
    s.at_ms(10).gets([beyond]).expect([ack(4), data(2), data(3)]);
}
