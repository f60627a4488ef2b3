//! When the receiver acknowledges (§3.6).

use multihop_core::Duration;
use multihop_transport::connection::Data;
use multihop_transport::tpa::Config;
use multihop_wire::tpa::Options;

use super::templates::*;

fn one() -> Seen {
    delivered(1000)
}

#[test]
fn every_other_segment_in_whatever_order() {
    let mut s = established(config());
    s.at_ms(0).gets([data(1, 1, 0)]).expect([]);
    s.gets([data(1, 3, 1)]).expect([ack(1, &[1, 3], 1)]);
    s.gets([data(1, 0, 2)]).expect([delivered(2000)]);
    s.gets([data(1, 2, 3)]).expect([delivered(2000), ack(1, &[0, 1, 2, 3], 3)]);
    s.check(|tpa| (tpa.counters().delivered, tpa.counters().out_of_order), (4, 2));
}

#[test]
fn every_window_of_the_peer_if_it_asks_for_that() {
    let mut s = established_with(config(), peer_every(3));
    s.at_ms(0).gets([data(1, 0, 0), data(1, 1, 1)]).expect([one(), one()]);
    s.gets([data(1, 2, 2)]).expect([one(), ack(1, &[0, 1, 2], 2)]);
}

#[test]
fn a_block_shorter_than_that_bounds_the_count() {
    let peer = Options { block_size: 2, ..peer_every(12) };
    let mut s = established_with(config(), peer);
    s.at_ms(0).gets([data(1, 0, 0)]).expect([one()]);
    let last = segment(|s| {
        s.block = number(PEER_ISS, 1);
        s.tx_seq = 1;
        s.body = multihop_wire::tpa::Body::Data {
            position: 1,
            last: true,
            payload: multihop_core::Payload::Virtual(MSS),
        };
    });
    s.gets([last]).expect([one(), ack(1, &[0, 1], 1)]);
}

#[test]
fn our_window_bounds_the_count_too() {
    let config = Config { sink: false, recv_buffer: Some(3000), ..config() };
    let mut s = established_with_window(config, peer_every(3), 3);
    let room = |tx_seq: u8, positions: &[u8], window: u16| {
        own(0, |s| {
            (s.ack, s.window) = (Some(peer_acked(1, positions, tx_seq)), window);
        })
    };
    s.at_ms(0).gets([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.expect([one(), one(), one(), room(2, &[0, 1, 2], 0)]);
    // The buffer is full: further segments are answered one by one. Reading opens the window.
    s.gets([data(1, 3, 3)]).expect([one(), room(3, &[0, 1, 2, 3], 0)]);
    s.app(|tpa| tpa.read(1000)).expect([]);
    s.app(|tpa| tpa.read(1000)).expect([room(131, &[0, 1, 2, 3], 1)]);
    s.gets([data(2, 0, 0)])
        .expect([one(), own(0, |s| (s.ack, s.window) = (Some(peer_acked(2, &[0], 0)), 0))]);
}

#[test]
fn acks_to_a_congested_sender_are_not_delayed() {
    let mut s = established(config());
    s.at_ms(0).gets([slow(1, 0, 0)]).expect([one(), ack(1, &[0], 0)]);
    s.gets([slow(1, 1, 1)]).expect([one(), ack(1, &[0, 1], 1)]);
}

#[test]
fn the_interval_ends_the_wait_and_names_the_segment_that_began_it() {
    let mut s = established_with(config(), peer_every(4));
    s.at_ms(50).gets([data(1, 0, 7)]).expect([one()]);
    s.at_ms(90).gets([data(1, 1, 8)]).expect([one()]);
    s.at_ms(150).expect([held(1, &[0, 1], 7)]);
    s.check(|tpa| tpa.counters().acks_held, 1);
    s.at_ms(500).gets([data(1, 2, 9)]).expect([one()]);
    s.at_ms(600).expect([held(1, &[0, 1, 2], 9)]);
}

#[test]
fn the_interval_is_at_most_half_of_the_peers_shortest_timeout() {
    let mut s = established_with(config(), Options { rto_min: 60_000, ..peer_options() });
    s.at_ms(50).gets([data(1, 0, 0)]).expect([one()]);
    s.at_ms(80).expect([held(1, &[0], 0)]);
}

/// The newest segment may have waited, so such an ACK must not be a sample.
#[test]
fn an_ack_that_no_segment_caused_names_none() {
    let mut s = established(config());
    s.at_ms(0).gets([data(1, 0, 3)]).expect([one()]);
    s.at_ms(90).gets([segment(|_| {})]).expect([ack(1, &[0], 131)]);
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    let before = s.machine.rtt().samples();
    s.at_ms(600).gets([ack(1, &[0, 1], 129)]).check(|tpa| tpa.rtt().samples(), before);
}

#[test]
fn at_once_for_a_duplicate_of_this_block_and_of_the_one_before() {
    let mut s = established(config());
    s.at_ms(0).gets([data(1, 0, 0)]).expect([one()]);
    s.gets([data(1, 0, 5)]).expect([ack(1, &[0], 5)]);
    s.gets([data(1, 1, 6), data(1, 2, 7)]).expect([one(), one(), ack(1, &[0, 1, 2], 7)]);
    s.gets([data(1, 3, 8)]).expect([one()]);
    s.at_ms(100).expect([held(1, &[0, 1, 2, 3], 8)]);
    s.gets([data(2, 0, 0)]).expect([one()]);
    // The answer about the previous block does not change the count of this one.
    s.gets([data(1, 2, 9)]).expect([ack(1, &[0, 1, 2, 3], 9)]);
    s.gets([data(2, 1, 1)]).expect([one(), ack(2, &[0, 1], 1)]);
    s.check(|tpa| (tpa.counters().duplicates, tpa.counters().stale), (2, 0));
}

#[test]
fn blocks_before_the_last_are_dropped_silently() {
    let mut s = established(config());
    s.at_ms(0);
    for block in 1..=2 {
        s.gets([data(block, 0, 0), data(block, 1, 1), data(block, 2, 2), data(block, 3, 3)]);
        s.expect([one(), one(), ack(block, &[0, 1], 1), one(), one(), ack(block, &[0, 1, 2, 3], 3)]);
    }
    s.gets([data(3, 0, 0)]).expect([one()]);
    s.gets([data(1, 0, 9)]).expect([]).check(|tpa| (tpa.counters().stale, tpa.counters().dropped), (1, 0));
    s.at_ms(100).expect([held(3, &[0], 0)]);
}

#[test]
fn a_block_is_accepted_only_after_the_one_before_is_whole() {
    let mut s = established(config());
    s.at_ms(0).gets([data(1, 0, 0), data(1, 1, 1)]).expect([one(), one(), ack(1, &[0, 1], 1)]);
    s.gets([data(2, 0, 0), data(3, 0, 0)]).expect([]).check(|tpa| tpa.counters().dropped, 2);
}

#[test]
fn the_end_of_a_block_waits_like_any_segment_by_default() {
    let three = [data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)];
    let seen = [one(), one(), one(), ack(1, &[0, 1, 2], 2)];
    let mut s = established_with(config(), peer_every(3));
    s.at_ms(0).gets(three.clone()).expect(seen.clone());
    s.gets([data(1, 3, 3)]).expect([one()]);
    s.at_ms(100).expect([held(1, &[0, 1, 2, 3], 3)]);
    let mut s = established_with(config(), Options { ack_block_end: true, ..peer_every(3) });
    s.at_ms(0).gets(three).expect(seen);
    s.gets([data(1, 3, 3)]).expect([one(), ack(1, &[0, 1, 2, 3], 3)]);
}

#[test]
fn data_carries_an_ack_that_is_due() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Virtual(3000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(10).gets([data(1, 0, 0)]).expect([one()]);
    // The second segment makes an ACK due and acknowledges the segment of the end under test, so that more
    // can be sent.
    let both = segment(|s| {
        (s.block, s.tx_seq, s.body) = (number(PEER_ISS, 1), 1, full(1));
        s.ack = Some(acked(1, &[0, 1], 1));
    });
    let rides = own(1, |s| {
        (s.tx_seq, s.body) = (2, full(2));
        s.ack = Some(peer_acked(1, &[0, 1], 1));
    });
    s.gets([both]).expect([one(), rides]);
    s.at_ms(20).gets([ack(1, &[0, 1, 2], 2)]).expect([]);
    s.check(|tpa| tpa.counters().acks_sent, 1);
}

#[test]
fn a_probe_is_answered_at_once_with_what_has_arrived() {
    let mut s = established(config());
    s.at_ms(0).gets([data(1, 0, 4)]).expect([one()]);
    s.at_ms(30).gets([segment(|s| s.block = number(PEER_ISS, 1))]).expect([ack(1, &[0], 132)]);
    s.at_ms(1000).expect([]);
}

/// Only the options of the sender count; those of the receiving end do not matter.
#[test]
fn the_sender_of_the_data_requests_when_it_is_acknowledged() {
    let config = Config { ack_interval: Duration::from_millis(20), ack_block_end: true, ..config() };
    let mut s = established_with(config, peer_every(3));
    s.at_ms(0).gets([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2), data(1, 3, 3)]);
    s.expect([one(), one(), one(), ack(1, &[0, 1, 2], 2), one()]);
    s.at_ms(100).expect([held(1, &[0, 1, 2, 3], 3)]);
}

#[test]
fn the_segment_that_begins_the_wait_can_request_its_length() {
    let mut s = established_with(config(), peer_every(4));
    let requesting = |position: u8, ms: u8| {
        segment(|s| {
            (s.block, s.tx_seq, s.body) = (number(PEER_ISS, 1), position, full(position));
            s.ack_delay = ms;
        })
    };
    s.at_ms(0).gets([requesting(0, 60), requesting(1, 10)]).expect([one(), one()]);
    s.at_ms(60).expect([held(1, &[0, 1], 0)]);
    s.gets([requesting(2, 0)]).expect([one()]);
    s.at_ms(160).expect([held(1, &[0, 1, 2], 2)]);
}

#[test]
fn at_once_while_a_segment_is_missing_if_the_sender_requests_it() {
    let mut s = established_with(config(), Options { ack_gaps: true, ..peer_every(4) });
    s.at_ms(0).gets([data(1, 1, 1)]).expect([ack(1, &[1], 1)]);
    s.gets([data(1, 2, 2)]).expect([ack(1, &[1, 2], 2)]);
    s.gets([data(1, 0, 3)]).expect([delivered(3000), ack(1, &[0, 1, 2], 3)]);
    s.gets([data(1, 3, 4)]).expect([one()]);
    s.at_ms(100).expect([held(1, &[0, 1, 2, 3], 4)]);
}
