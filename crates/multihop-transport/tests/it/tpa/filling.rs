//! How data becomes blocks and segments (§3.2).

use multihop_core::{Duration, Payload};
use multihop_transport::connection::Data;
use multihop_transport::tpa::{Config, Fill, TpaEnd};
use multihop_wire::tpa::Body;

use super::templates::*;

fn block() -> Config {
    Config { fill: Fill::Block, block_fill: Duration::from_millis(10), cwnd_max: 4, ..config() }
}

fn segments() -> Config {
    Config { block_fill: Duration::from_millis(10), cwnd_max: 4, ..config() }
}

/// A data segment that is short, or that ends its block early.
fn piece(block: u16, position: u8, len: u32, last: bool) -> Seen {
    own(block, |s| {
        s.tx_seq = position;
        s.body = Body::Data { position, last, payload: Payload::Virtual(len) };
    })
}

#[test]
fn a_block_waits_for_all_of_its_data() {
    let mut s = established(block());
    s.app(|tpa| tpa.send(Data::Virtual(3999))).expect([]);
    s.at_ms(9).app(|tpa| tpa.send(Data::Virtual(1)));
    s.expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2), data(1, 3, 3)]);
    s.gets([ack(1, &[0, 1, 2, 3], 3)]);
}

#[test]
fn an_incomplete_block_leaves_after_a_time() {
    let mut s = established(block());
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([]);
    s.at_ms(5).app(|tpa| tpa.send(Data::Virtual(500))).expect([]);
    s.at_ms(10).expect([data(1, 0, 0), data(1, 1, 1), piece(1, 2, 500, true)]);
    s.gets([ack(1, &[0, 1, 2], 2)]).expect([]);
    // Full segments can end a block early as well.
    s.at_ms(20).app(|tpa| tpa.send(Data::Virtual(2000))).expect([]);
    s.at_ms(30).expect([data(2, 0, 0), piece(2, 1, 1000, true)]);
    s.at_ms(35).app(|tpa| tpa.send(Data::Virtual(4000))).expect([]);
    s.gets([ack(2, &[0, 1], 1)]).expect([data(3, 0, 0), data(3, 1, 1), data(3, 2, 2), data(3, 3, 3)]);
    s.gets([ack(3, &[0, 1, 2, 3], 3)]);
}

#[test]
fn closing_does_not_wait_and_the_fin_shares_the_block() {
    let mut s = established(block());
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([]);
    let fin = own(1, |s| (s.body, s.tx_seq) = (Body::Fin { position: 2 }, 2));
    s.app(TpaEnd::shutdown).expect([data(1, 0, 0), data(1, 1, 1), fin]);
    s.gets([ack(1, &[0, 1, 2], 2)]).expect([]);
}

#[test]
fn full_segments_leave_at_once_and_the_block_stays_open() {
    let mut s = established(segments());
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
    s.at_ms(100).gets([ack(1, &[0], 0)]).app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 1, 1)]);
    s.gets([ack(1, &[0, 1], 1)]).expect([]);
}

#[test]
fn a_partial_segment_waits_for_the_fill_timer_and_ends_the_block() {
    let mut s = established(segments());
    s.app(|tpa| tpa.send(Data::Virtual(1300))).expect([data(1, 0, 0)]);
    s.at_ms(6).app(|tpa| tpa.send(Data::Virtual(300))).expect([]);
    s.at_ms(10).expect([piece(1, 1, 600, true)]);
    // The block has ended, so new data waits until it is acknowledged.
    s.at_ms(20).app(|tpa| tpa.send(Data::Virtual(1000))).expect([]);
    s.at_ms(50).gets([ack(1, &[0, 1], 1)]).expect([data(2, 0, 0)]);
    s.gets([ack(2, &[0], 0)]);
}

#[test]
fn a_partial_segment_grows_until_it_is_sent() {
    let mut s = established(Config { cwnd_max: 1, ..segments() });
    s.app(|tpa| tpa.send(Data::Virtual(1300))).expect([slow(1, 0, 0)]);
    s.at_ms(30).app(|tpa| tpa.send(Data::Virtual(300))).expect([]);
    let partial = own(1, |s| {
        (s.tx_seq, s.congested) = (1, true);
        s.body = Body::Data { position: 1, last: true, payload: Payload::Virtual(600) };
    });
    s.at_ms(50).gets([ack(1, &[0], 0)]).expect([partial.clone()]);
    // The retransmission has the same bytes.
    s.at_ms(60).app(|tpa| tpa.send(Data::Virtual(100))).expect([]);
    s.at_ms(1050).expect([own(1, |s| {
        (s.tx_seq, s.congested) = (2, true);
        s.body = Body::Data { position: 1, last: true, payload: Payload::Virtual(600) };
    })]);
    let next = own(2, |s| {
        s.congested = true;
        s.body = Body::Data { position: 0, last: true, payload: Payload::Virtual(100) };
    });
    s.at_ms(1100).gets([ack(1, &[0, 1], 2)]).expect([next]).gets([ack(2, &[0], 0)]);
}

#[test]
fn data_that_fills_the_segment_in_time_stops_the_timer() {
    let mut s = established(segments());
    s.app(|tpa| tpa.send(Data::Virtual(600))).expect([]);
    s.at_ms(8).app(|tpa| tpa.send(Data::Virtual(700))).expect([data(1, 0, 0)]);
    // The rest of the data waits again.
    s.at_ms(17).expect([]);
    s.at_ms(18).expect([piece(1, 1, 300, true)]).gets([ack(1, &[0, 1], 1)]);
}

#[test]
fn bytes_arrive_as_they_were_sent() {
    let mut s = established(Config { cwnd_max: 4, ..config() });
    let bytes: Vec<u8> = (0..=255).cycle().take(1500).collect();
    s.app(|tpa| tpa.send(Payload::Bytes(bytes.clone())));
    let part = |range: core::ops::Range<usize>, position: u8, last: bool| {
        own(1, |s| {
            s.tx_seq = position;
            s.body = Body::Data { position, last, payload: Payload::Bytes(bytes[range].to_vec()) };
        })
    };
    s.expect([part(0..1000, 0, false), part(1000..1500, 1, true)]);
    s.gets([ack(1, &[0, 1], 1)]);
}

#[test]
fn a_smaller_path_holds_from_the_next_block() {
    let mut s = established(segments());
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.app(|tpa| tpa.set_mss(600))
        .app(|tpa| tpa.send(Data::Virtual(3200)))
        .expect([data(1, 2, 2), data(1, 3, 3)]);
    s.gets([ack(1, &[0, 1, 2, 3], 3)]).expect([piece(2, 0, 600, false), piece(2, 1, 600, false)]);
    s.check(TpaEnd::mss, 600).gets([ack(2, &[0, 1], 1)]).expect([]);
    // No larger than the peer takes.
    s.app(|tpa| tpa.set_mss(9000)).check(TpaEnd::mss, 1000);
}
