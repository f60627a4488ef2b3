//! The peer's window, and ours.

use multihop_core::{Duration, Payload};
use multihop_transport::connection::Data;
use multihop_transport::tpa::Config;

use super::templates::*;

/// An ACK that offers another window than usual.
fn window(block: u16, positions: &[u8], tx_seq: u8, window: u16) -> Seen {
    segment(|s| (s.ack, s.window) = (Some(acked(block, positions, tx_seq)), window))
}

fn own_ack(block: u16, positions: &[u8], tx_seq: u8, window: u16) -> Seen {
    own(0, |s| (s.ack, s.window) = (Some(peer_acked(block, positions, tx_seq)), window))
}

fn probe(block: u16) -> Seen {
    own(block, |_| {})
}

#[test]
fn the_peers_window_bounds_the_flight() {
    let mut s = established(Config { cwnd_max: 4, ..config() });
    s.gets([window(0, &[], 0, 1)]).expect([]);
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0)]);
    s.at_ms(10).gets([window(1, &[0], 0, 2)]).expect([data(1, 1, 1), data(1, 2, 2)]);
    // The window shrinks: the flight exceeds it, and nothing leaves.
    s.at_ms(20).gets([window(1, &[0, 1], 1, 1)]).expect([]).check(|tpa| (tpa.flight(), tpa.window()), (1, 1));
    s.at_ms(30).gets([window(1, &[0, 1, 2], 2, 3)]).expect([data(1, 3, 3)]);
    s.gets([ack(1, &[0, 1, 2, 3], 3)]);
}

#[test]
fn a_closed_window_is_probed_at_increasing_intervals() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(100).gets([window(1, &[0, 1], 1, 0)]).expect([]);
    s.at_ms(1100).expect([probe(1)]);
    s.at_ms(1150).gets([window(1, &[0, 1], 1, 0)]).expect([]);
    s.at_ms(3100).expect([probe(1)]);
    s.at_ms(7100).expect([probe(1)]);
    s.check(|tpa| (tpa.counters().timeouts, tpa.counters().probes), (0, 3));
    s.at_ms(7150).gets([ack(1, &[0, 1], 1)]).expect([data(1, 2, 2), data(1, 3, 3)]);
    s.gets([ack(1, &[0, 1, 2, 3], 3)]);
    s.at_ms(100_000).expect([]);
}

#[test]
fn segments_in_flight_when_the_window_closes_time_out_and_wait() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Virtual(3000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(100).gets([window(1, &[0], 0, 0)]).expect([]);
    s.at_ms(1000).expect([]).check(|tpa| tpa.flight(), 0);
    s.at_ms(2000).expect([own(1, |s| s.congested = true)]);
    s.at_ms(2050).gets([ack(1, &[0], 0)]).expect([slow(1, 2, 2)]);
    s.at_ms(2100).gets([ack(1, &[0, 1, 2], 2)]).expect([]);
}

#[test]
fn the_window_in_an_ack_of_the_previous_block_counts_until_the_current_block_is_acknowledged() {
    let mut s = established(Config { cwnd_max: 4, ..config() });
    s.app(|tpa| tpa.send(Data::Virtual(8000))).expect([
        data(1, 0, 0),
        data(1, 1, 1),
        data(1, 2, 2),
        data(1, 3, 3),
    ]);
    s.gets([window(1, &[0, 1, 2, 3], 3, 1)]).expect([data(2, 0, 0)]);
    s.gets([window(1, &[0, 1, 2, 3], 3, 2)]).expect([data(2, 1, 1)]);
    // An older window, and one that arrives after an ACK of the current block, have no effect.
    s.gets([window(1, &[0, 1], 1, 9)]).expect([]);
    s.gets([window(2, &[0], 0, 2)]).expect([data(2, 2, 2)]);
    s.gets([window(1, &[0, 1, 2, 3], 3, 9)]).expect([]).check(|tpa| tpa.counters().late_acks, 3);
    s.gets([ack(2, &[0, 1, 2], 2)]).expect([data(2, 3, 3)]).gets([ack(2, &[0, 1, 2, 3], 3)]);
}

#[test]
fn an_overtaken_ack_does_not_change_the_window() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Virtual(3000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.gets([window(1, &[0, 1], 1, 1)]).expect([data(1, 2, 2)]);
    s.gets([window(1, &[0], 0, 0)]).expect([]).check(|tpa| tpa.window(), 1);
    s.gets([ack(1, &[0, 1, 2], 2)]);
}

/// A receiver with room for `segments` and a block, whose application has to read.
fn receiver(segments: u16) -> Tpa {
    let buffer = u32::from(segments) * MSS + 999;
    let config = Config { sink: false, recv_buffer: Some(buffer), ..config() };
    established_with_window(config, peer_options(), segments)
}

#[test]
fn unread_data_closes_our_window_and_reading_opens_it() {
    let mut s = receiver(2);
    s.at_ms(0).gets([data(1, 0, 0), data(1, 1, 1)]);
    s.expect([delivered(1000), delivered(1000), own_ack(1, &[0, 1], 1, 0)]);
    s.app(|tpa| tpa.read(0)).expect([]);
    s.app(|tpa| assert_eq!(tpa.read(1000), Payload::Virtual(1000))).expect([own_ack(1, &[0, 1], 129, 1)]);
    // A change of the window from one to more needs no window update.
    s.app(|tpa| tpa.read(1000)).expect([]).check(|tpa| tpa.unread(), 0);
}

#[test]
fn holes_can_be_filled_while_there_is_no_room() {
    let mut s = receiver(1);
    s.at_ms(0).gets([data(1, 1, 0)]).expect([own_ack(1, &[1], 0, 1)]);
    s.gets([data(1, 2, 1), data(1, 3, 2)]).expect([own_ack(1, &[1, 2], 1, 1), own_ack(1, &[1, 2, 3], 2, 1)]);
    s.gets([data(1, 0, 3)]).expect([delivered(4000), own_ack(1, &[0, 1, 2, 3], 3, 0)]);
}

#[test]
fn a_peer_that_ignores_the_window_cannot_fill_our_memory() {
    let mut s = receiver(1);
    for block in 1..100 {
        for position in 0..K {
            s.gets([data(block, position, position)]);
        }
    }
    // The buffer has one segment and the reserve of 12.
    s.check(|tpa| tpa.unread(), 13_000);
    s.check(|tpa| tpa.counters().dropped, 99 * 4 - 13);
    let sent: Vec<Seen> = (1..=3_u16)
        .flat_map(|block| (0..K).map(move |position| (block, position)))
        .chain([(4, 0)])
        .flat_map(|(block, position)| {
            let positions: Vec<u8> = (0..=position).collect();
            let window = u16::from((block, position) == (0, 0));
            [delivered(1000), own_ack(block, &positions, position, window)]
        })
        .collect();
    s.expect(sent);
}

#[test]
fn a_lost_window_update_is_replaced_by_the_answer_to_a_probe() {
    let config = config_with(|life| life.user_timeout = Some(Duration::from_secs(4)));
    let mut s = established(config);
    s.gets([window(0, &[], 0, 0)]).app(|tpa| tpa.send(Data::Virtual(1000))).expect([]);
    s.at_ms(1000).expect([probe(0)]);
    // An answer restarts the user timeout, even if it does not open the window.
    s.at_ms(1100).gets([window(0, &[], 0, 0)]).expect([]);
    s.at_ms(3000).expect([probe(0)]);
    s.at_ms(3100).gets([ack(0, &[], 0)]).expect([data(1, 0, 0)]);
    s.gets([ack(1, &[0], 0)]);
}
