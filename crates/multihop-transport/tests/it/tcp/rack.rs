//! Losses by time, and the probe of the tail, RFC 8985. Round trips last 100 ms; a quarter of that is the window for
//! reordering.

use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Phase};

use super::templates::*;

fn by_time() -> Config {
    Config { sack: true, rack: true, ..config() }
}

/// A script with a window of `segments`, all of them sent at 100 ms, after a first round trip of 100 ms.
fn sent(segments: u32) -> Tcp {
    let initial_window = u16::try_from(segments - 1).expect("a small window");
    let mut s = established(Config { initial_window, ..by_time() });
    s.app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([data(1)]);
    s.at_ms(100).gets([ack(2)]).expect([]);
    s.app(|tcp| tcp.send(Data::Virtual(u64::from(segments * MSS)))).expect((2..=segments + 1).map(data));
    s
}

/// §6.2 step 5: three later segments prove nothing as long as reordering has been seen and its window is not over.
#[test]
fn reordering_within_a_quarter_of_the_round_trip_is_no_loss() {
    let mut s = sent(6);
    // 2 arrives after 3, which shows reordering.
    s.at_ms(200).gets([sack(2, &[(3, 4)])]).expect([]);
    s.at_ms(205).gets([ack(4)]).expect([]);
    s.at_ms(210).gets([sack(4, &[(5, 8)])]).expect([]);
    s.at_ms(230).gets([ack(8)]).expect([]);
    s.check(|tcp| (tcp.counters().retransmitted, tcp.counters().fast_retransmits), (0, 0));
}

/// Without reordering so far, three segments reported by SACK end the wait (§6.2 step 4).
#[test]
fn the_third_reported_segment_shows_a_loss_at_once() {
    let mut s = sent(6);
    s.at_ms(200).gets([sack(2, &[(3, 4)]), sack(2, &[(3, 5)])]).expect([]);
    s.gets([sack(2, &[(3, 6)])]).expect([data(2)]);
    s.check(|tcp| tcp.phase(), Phase::FastRecovery);
    s.at_ms(300).gets([ack(8)]).expect([]);
    s.check(|tcp| (tcp.phase(), tcp.counters().retransmitted), (Phase::SlowStart, 1));
}

/// §6.2 step 3: an ACK that covers a segment whose ACK was delayed, and reports one behind a loss, shows no reordering.
#[test]
fn what_one_ack_delivers_has_no_order() {
    let mut s = sent(6);
    s.at_ms(200).gets([sack(3, &[(4, 5)]), sack(3, &[(4, 6)])]).expect([]);
    s.gets([sack(3, &[(4, 7)])]).expect([data(3)]);
}

/// §6.2 step 5: with fewer than three reported segments, a timer shows the loss a quarter of the shortest
/// round trip later.
#[test]
fn a_single_report_shows_a_loss_when_the_window_for_reordering_is_over() {
    let mut s = sent(2);
    s.at_ms(200).gets([sack(2, &[(3, 4)])]).expect([]);
    s.at_ms(224).expect([]);
    s.at_ms(225).expect([data(2)]);
    s.check(|tcp| (tcp.counters().timeouts, tcp.counters().fast_retransmits), (0, 1));
    s.at_ms(325).gets([ack(4)]).expect([]);
}

/// Section 3.1: the loss of a retransmission is detected as well, by segments that left after it.
#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let mut s = sent(8);
    s.app(|tcp| tcp.send(Data::Endless)).expect([]);
    // 2 is lost.
    s.at_ms(200).gets([sack(2, &[(3, 6)])]).expect([data(2)]);
    s.at_ms(210).gets([sack(2, &[(3, 10)])]).expect([data(10), data(11), data(12)]);
    // The retransmission is lost as well; later segments arrive.
    s.at_ms(309).gets([sack(2, &[(3, 11)])]).expect([data(2), data(13)]);
    s.check(|tcp| (tcp.counters().timeouts, tcp.counters().fast_retransmits), (0, 1));
    s.at_ms(409).gets([ack(14)]).expect([data(14), data(15)]);
}

/// Section 7: the last of three segments is lost, and no ACK can show it: two round trips later it leaves again.
#[test]
fn a_lost_tail_is_probed_for_after_two_round_trips() {
    let mut s = sent(3);
    s.at_ms(200).gets([ack(4)]).expect([]);
    // One segment is outstanding, so the probe waits for 2 SRTT and the longest delay of an ACK.
    s.at_ms(599).expect([]);
    s.at_ms(600).expect([data(4)]);
    s.check(|tcp| (tcp.counters().timeouts, tcp.cwnd()), (0, 4 * MSS));
    // §7.4.2: the loss was real, and the window shrinks for it.
    s.at_ms(700).gets([ack(5)]).expect([]);
    s.check(|tcp| (tcp.counters().timeouts, tcp.ssthresh() < 64 * MSS), (0, true));
}

/// §7.4.2: a report of a duplicate shows that nothing was lost.
#[test]
fn a_probe_that_was_not_necessary_costs_nothing() {
    let mut s = sent(3);
    s.at_ms(200).gets([ack(4)]).expect([]);
    s.at_ms(600).expect([data(4)]);
    // The ACK of the last segment was late; that of the probe reports a duplicate.
    s.at_ms(610).gets([sack(5, &[(4, 5)])]).expect([]);
    s.check(|tcp| tcp.ssthresh(), 64 * MSS);
}

/// §7.3: if there is data that has not been sent yet, the probe consists of this data.
#[test]
fn the_probe_carries_new_data_if_there_is_any() {
    let mut s = established(Config { initial_window: 2, ..by_time() });
    s.app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([data(1)]);
    s.at_ms(100).gets([ack(2)]).expect([]);
    s.app(|tcp| tcp.send(Data::Virtual(4 * u64::from(MSS)))).expect([data(2), data(3), data(4)]);
    // The window has no room for the fifth, but the probe needs none.
    s.at_ms(299).expect([]);
    s.at_ms(300).expect([data(5)]);
    s.at_ms(400).gets([ack(6)]).expect([]);
    s.check(|tcp| (tcp.counters().retransmitted, tcp.counters().timeouts), (0, 0));
}

/// Section 6.3: when the timer expires, everything counts as lost and is retransmitted as the window grows,
/// except for segments that arrived.
#[test]
fn after_a_timeout_only_what_is_missing_leaves_again() {
    let mut s = established(Config { initial_window: 4, ..by_time() });
    s.app(|tcp| tcp.send(Data::Virtual(4 * u64::from(MSS)))).expect((1..=4).map(data));
    // No round trip is known, so there is no probe.
    s.at_ms(1000).expect([data(1)]);
    s.at_ms(1100).gets([sack(2, &[(3, 4)])]).expect([data(2), data(4)]);
    s.at_ms(1200).gets([ack(5)]).expect([]).check(|tcp| tcp.flight(), 0);
    s.check(|tcp| tcp.counters().retransmitted, 3);
}

/// RFC 2883 §4: the first block of the option is what arrived twice.
#[test]
fn the_receiver_reports_what_arrives_twice() {
    let mut s = established(by_time());
    let report = |n, blocks: &[(u32, u32)]| {
        let Seen::Other(mut segment) = sack(n, blocks) else { unreachable!() };
        (segment.source, segment.destination) = (LOCAL, REMOTE);
        Seen::Other(segment)
    };
    s.at_ms(0).gets([data(1)]).expect([delivered(1), ack(2)]);
    s.gets([data(1)]).expect([report(2, &[(1, 2)])]);
    s.gets([data(3)]).expect([report(2, &[(3, 4)])]);
    s.gets([data(3)]).expect([report(2, &[(3, 4), (3, 4)])]);
    s.gets([data(2)]).expect([delivered(2), ack(4)]);
}

/// As in Linux, round trips are also measured while something is missing.
#[test]
fn what_sack_reports_is_a_sample() {
    for (all_rtt, samples) in [(false, 1), (true, 3)] {
        let mut s = established(Config { initial_window: 5, all_rtt, ..by_time() });
        s.app(|tcp| tcp.send(Data::Virtual(u64::from(MSS)))).expect([data(1)]);
        s.at_ms(100).gets([ack(2)]).expect([]);
        s.app(|tcp| tcp.send(Data::Virtual(u64::from(6 * MSS)))).expect((2..=7).map(data));
        s.at_ms(200).gets([sack(2, &[(3, 4)])]);
        s.at_ms(210).gets([sack(2, &[(3, 5)]), sack(2, &[(3, 5)])]).expect([]);
        s.check(|tcp| tcp.rtt().samples(), samples);
    }
}
