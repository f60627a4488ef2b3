//! Proportional rate reduction, RFC 9937. Round trips last 100 ms.

use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Phase};

use super::templates::*;

/// With a window of ten segments, 2 to 11 in flight at 100 ms, and no lack of data.
fn sent(config: Config) -> Tcp {
    let mut s = established(Config { sack: true, rack: true, initial_window: 9, ..config });
    s.app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([data(1)]);
    s.at_ms(100).gets([ack(2)]).expect([]);
    s.app(|tcp| tcp.send(Data::Endless)).expect((2..=11).map(data));
    s
}

/// Segment 2 is lost. Before the loss is known, each arrival releases a segment; the third one reveals the
/// loss.
fn in_recovery(config: Config) -> Tcp {
    let mut s = sent(config);
    s.at_ms(200).gets([sack(2, &[(3, 4)]), sack(2, &[(3, 5)])]).expect([data(12), data(13)]);
    s.gets([sack(2, &[(3, 6)])]).expect([data(2)]);
    s.check(|tcp| (tcp.phase(), tcp.ssthresh()), (Phase::FastRecovery, 5 * MSS));
    s
}

fn with_prr() -> Config {
    Config { prr: true, ..config() }
}

/// §6.2: of ten segments five are to remain, so that a segment leaves for every second one that arrives.
#[test]
fn segments_leave_for_every_second_arrival_until_the_flight_is_at_the_threshold() {
    let mut s = in_recovery(with_prr());
    s.gets([sack(2, &[(3, 7)])]).expect([]);
    s.gets([sack(2, &[(3, 8)])]).expect([data(14)]);
    s.gets([sack(2, &[(3, 9)])]).expect([]);
    s.gets([sack(2, &[(3, 10)])]).expect([data(15)]);
    s.gets([sack(2, &[(3, 11)])]).expect([]);
    // The retransmission arrives, and four are in flight.
    s.at_ms(300).gets([ack(12)]).expect([data(16)]);
    s.gets([ack(14)]).expect([data(17), data(18)]);
    s.check(|tcp| (tcp.phase(), tcp.cwnd(), tcp.flight()), (Phase::CongestionAvoidance, 5 * MSS, 5 * MSS));
}

/// RFC 6675 instead waits until half of the flight has arrived.
#[test]
fn without_it_nothing_leaves_until_half_of_the_flight_has_arrived() {
    let mut s = in_recovery(config());
    for next in 7..=10 {
        s.gets([sack(2, &[(3, next)])]).expect([]);
    }
    s.gets([sack(2, &[(3, 11)])]).expect([data(14)]);
}

/// §6.2, slow-start reduction bound: after many losses the flight is below the threshold, and grows up to it.
#[test]
fn after_many_losses_the_flight_grows_up_to_the_threshold() {
    let mut s = sent(with_prr());
    // 2 to 8 are lost; the fourth of what arrives is 12.
    s.at_ms(200).gets([sack(2, &[(9, 10)]), sack(2, &[(9, 11)])]).expect([data(12), data(13)]);
    // 12 and 13 are in flight, and three of five could leave: one does, for the one that arrived.
    s.gets([sack(2, &[(9, 12)])]).expect([data(2)]);
    // An ACK of new data without further losses releases two.
    s.at_ms(300).gets([sack(3, &[(9, 12)])]).expect([data(3), data(4)]);
    s.at_ms(400).gets([sack(4, &[(9, 14)])]).expect([data(5), data(6), data(7), data(8)]);
}

/// Losses that a timer shows count as if a segment had arrived with them, as in Linux.
#[test]
fn a_timer_that_shows_losses_counts_as_an_arrival() {
    let mut s = sent(with_prr());
    s.at_ms(200).gets([sack(2, &[(3, 4)])]).expect([data(12)]);
    // A quarter of the round trip later, segment 2 counts as lost.
    s.at_ms(225).expect([data(2)]);
    s.at_ms(226).gets([sack(2, &[(3, 5)])]).expect([]);
    s.gets([sack(2, &[(3, 6)])]).expect([data(13)]);
}
