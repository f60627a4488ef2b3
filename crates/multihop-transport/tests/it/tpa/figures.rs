//! The sender driven by hand through Figures 2 and 3 (§3.2): what it sends after an ACK, after a
//! timeout, and in the second round. Without congestion control, as there.

use multihop_core::Duration;
use multihop_transport::connection::Data;
use multihop_transport::tpa::{Config, Phase};

use super::templates::*;

/// A window of 3 that timeouts do not change.
fn open() -> Config {
    Config { cwnd_max: 3, th_route: u8::MAX, ..config() }
}

/// With a whole block of the paper's 12 segments to send.
fn blocks_of_12(config: Config) -> Config {
    Config { block_size: 12, ..config }
}

#[test]
fn figure_2a_an_ack_slides_the_window_over_the_block() {
    let mut s = established(open());
    s.app(|tpa| tpa.send(Data::Virtual(6000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(100).gets([ack(1, &[0, 1], 1)]).expect([data(1, 3, 3)]);
    // The block is complete: no segment of the next block leaves before all of this one is acknowledged.
    s.at_ms(150).gets([ack(1, &[0, 1, 2], 2)]).expect([]);
    s.at_ms(200).gets([ack(1, &[0, 1, 2, 3], 3)]);
    s.expect([data(2, 0, 0), data(2, 1, 1)]);
    s.at_ms(300).gets([ack(2, &[0, 1], 1)]).expect([]);
    s.check(|tpa| (tpa.unacked(), tpa.counters().retransmitted), (0, 0));
}

#[test]
fn figure_2b_a_timeout_slides_it_as_well_without_a_retransmission() {
    let mut s = established(blocks_of_12(open()));
    s.app(|tpa| tpa.send(Data::Virtual(12_000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(100).gets([ack(1, &[0, 1], 1)]).expect([data(1, 3, 3), data(1, 4, 4)]);
    // Segment 2 of time 0 expires; 5 leaves in its place.
    s.at_ms(1000).expect([data(1, 5, 5)]);
    s.at_ms(1100).expect([data(1, 6, 6), data(1, 7, 7)]);
    // A late ACK of 2 frees no place, because its place in the window is taken; the same holds for 3 and 4.
    s.at_ms(1200).gets([ack(1, &[0, 1, 2, 3, 4], 4)]).expect([]);
    s.at_ms(1300).gets([ack(1, &[0, 1, 2, 3, 4, 5], 5)]).expect([data(1, 8, 8)]);
    s.check(|tpa| (tpa.counters().timeouts, tpa.counters().retransmitted, tpa.flight()), (3, 0, 3));
    s.gets([ack(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8], 8)]).expect([data(1, 9, 9), data(1, 10, 10), last(1, 11)]);
    s.gets([ack(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 11)]).expect([]);
}

/// The twelfth of a block of 12.
fn last(block: u16, position: u8) -> Seen {
    own(block, |s| {
        s.body = multihop_wire::tpa::Body::Data {
            position,
            last: true,
            payload: multihop_core::Payload::Virtual(MSS),
        };
        s.tx_seq = position;
    })
}

#[test]
fn figure_3_segments_that_timed_out_form_the_next_round() {
    let mut s = established(open());
    s.app(|tpa| tpa.send(Data::Virtual(8000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(100).gets([ack(1, &[1], 1)]).expect([data(1, 3, 3)]);
    // 0 and 2 time out: the first round is over, so the second begins, in block order.
    s.at_ms(1000).expect([data(1, 0, 4), data(1, 2, 5)]);
    // 3 times out in the second round: it belongs to the third, after 0 and 2 of the second.
    s.at_ms(1100).expect([data(1, 3, 6)]);
    // An ACK of the first transmission takes 2 out of the stream; 0 times out again.
    s.at_ms(1500).gets([ack(1, &[1, 2], 2)]).expect([]);
    s.at_ms(2000).expect([data(1, 0, 7)]);
    s.at_ms(2050).gets([ack(1, &[0, 1, 2], 7)]).expect([]);
    s.at_ms(2060).gets([ack(1, &[0, 1, 2, 3], 6)]);
    s.expect([data(2, 0, 0), data(2, 1, 1), data(2, 2, 2)]);
    s.gets([ack(2, &[0, 1, 2], 2)]).expect([data(2, 3, 3)]).gets([ack(2, &[0, 1, 2, 3], 3)]).expect([]);
}

#[test]
fn an_ack_of_a_segment_in_the_stream_takes_it_out_before_it_is_sent() {
    let mut s = established(Config { cwnd_max: 2, ..open() });
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(1000).expect([data(1, 2, 2), data(1, 3, 3)]);
    // Both segments are waiting, so that neither frees a place.
    s.at_ms(1100).gets([ack(1, &[0, 1], 1)]).expect([]);
    s.at_ms(1200).gets([ack(1, &[0, 1, 2], 2)]).expect([]).gets([ack(1, &[0, 1, 2, 3], 3)]).expect([]);
    s.check(|tpa| (tpa.counters().timeouts, tpa.counters().retransmitted), (2, 0));
}

#[test]
fn a_round_goes_on_in_block_order_after_new_data_of_the_block() {
    let mut s = established(Config { cwnd_max: 1, ..open() });
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([slow(1, 0, 0)]);
    s.at_ms(1000).expect([slow(1, 1, 1)]);
    // There is no new data: the second round begins. New data then follows the rest of the round.
    s.at_ms(2000).expect([slow(1, 0, 2)]).app(|tpa| tpa.send(Data::Virtual(1000))).expect([]);
    s.at_ms(3000).expect([slow(1, 1, 3)]);
    s.at_ms(4000).expect([slow(1, 2, 4)]);
    s.at_ms(5000).expect([slow(1, 0, 5)]);
    s.gets([ack(1, &[0, 1, 2], 5)]).expect([]);
}

/// Appendix B, driven by hand: ACKs are lost for 11.36 s.
#[test]
fn figure_23_one_new_segment_leaves_per_expiry() {
    let mut config = Config { cwnd_max: 3, notices: true, ..blocks_of_12(config()) };
    config.rto.min = Duration::from_millis(200);
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Endless)).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    // Expiries that indicate congestion do not double the timeout at first; each later expiry does.
    s.at_ms(200).expect([slow(1, 3, 3)]).check(|tpa| tpa.phase(), Phase::Congested);
    for (position, at) in [(4, 400), (5, 800), (6, 1600), (7, 3200), (8, 6400)] {
        s.at_ms(at).expect([slow(1, position, position)]);
    }
    s.at_ms(12_800).expect([slow(1, 9, 9)]);
    // The path is restored: one ACK acknowledges everything, and the window opens at once.
    s.at_ms(12_850).gets([ack(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 9)]);
    s.expect([data(1, 10, 10), last(1, 11)]);
    s.check(|tpa| (tpa.phase(), tpa.counters().retransmitted), (Phase::Normal, 0));
    s.at_ms(12_900).gets([ack(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 11)]);
    s.expect([data(2, 0, 0), data(2, 1, 1), data(2, 2, 2)]);
    s.at_ms(12_950).gets([ack(2, &[0, 1, 2], 2)]);
    s.expect([data(2, 3, 3), data(2, 4, 4), data(2, 5, 5)]);
}
