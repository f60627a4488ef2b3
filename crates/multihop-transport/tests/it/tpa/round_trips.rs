//! Which ACKs are samples of the round trip (§3.4), and what follows from transmission numbers.

use multihop_core::{BitRate, Duration, Instant, Machine, Notice};
use multihop_transport::connection::Data;
use multihop_transport::pacing::PacingConfig;
use multihop_transport::tpa::{Config, HoldIn, Input, TpaEnd};

use super::templates::*;

fn latest(tpa: &TpaEnd) -> Option<u64> {
    tpa.rtt().latest().map(|rtt| rtt.as_nanos() / 1_000_000)
}

#[test]
fn an_ack_times_the_transmission_that_it_names_once() {
    let mut s = established(config());
    s.at_ms(100).app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(150).gets([ack(1, &[0], 0)]).expect([data(1, 2, 2)]).check(latest, Some(50));
    s.at_ms(190).gets([ack(1, &[0], 0)]).check(|tpa| tpa.rtt().samples(), 2);
    s.at_ms(230).gets([ack(1, &[0, 2], 2)]).expect([data(1, 3, 3)]).check(latest, Some(80));
    // A number that was never used is no sample.
    s.at_ms(240).gets([ack(1, &[0, 2], 9)]).check(|tpa| tpa.rtt().samples(), 3);
    s.gets([ack(1, &[0, 1, 2, 3], 3)]);
}

#[test]
fn a_retransmission_is_a_sample_too_for_its_number_is_its_own() {
    let mut s = established(Config { cwnd_max: 2, th_route: 9, ..config() });
    s.at_ms(100).app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
    s.at_ms(1100).expect([data(1, 0, 1)]);
    s.at_ms(1160).gets([ack(1, &[0], 1)]).check(latest, Some(60));
}

#[test]
fn segments_that_expired_or_were_sent_outside_the_normal_state_are_no_samples() {
    let mut s = established(config());
    s.at_ms(100).app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    let before = s.machine.rtt().samples();
    s.at_ms(1100).expect([slow(1, 0, 2)]);
    s.at_ms(1150).gets([ack(1, &[], 0)]).expect([]);
    s.at_ms(1200).gets([ack(1, &[0], 2)]).expect([data(1, 1, 3)]).check(|tpa| tpa.rtt().samples(), before);
    s.at_ms(1300).gets([ack(1, &[0, 1], 3)]).check(|tpa| tpa.rtt().samples(), before + 1);
}

#[test]
fn the_interval_that_an_ack_was_held_is_in_the_samples_of_the_timeout() {
    let mut s = established(config());
    s.at_ms(100).app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(260).gets([held(1, &[0], 0)]).check(latest, Some(160));
}

#[test]
fn the_time_that_an_ack_was_held_is_in_the_samples_that_hold_in_names() {
    let after_one_held = |hold_in: HoldIn| {
        let mut s = established(Config { hold_in, ..paced() });
        s.app(|tpa| tpa.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 4 })));
        s.at_ms(100).app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
        s.at_ms(260).gets([held(1, &[0], 0)]);
        (latest(&s.machine), gap(&s.machine))
    };
    // FHD = 2 (60 / 4 + 1000 * 8 / 2000) ms, or 2 (160 / 4 + 4) ms.
    let (travel, all) = (Some(Duration::from_millis(38)), Some(Duration::from_millis(88)));
    assert_eq!(after_one_held(HoldIn::Neither), (Some(60), travel));
    assert_eq!(after_one_held(HoldIn::Timeout), (Some(160), travel));
    assert_eq!(after_one_held(HoldIn::Both), (Some(160), all));
}

/// The interval is taken out of samples of the timeout only if the timeout adds it, and out of those of the
/// pacer by default.
#[test]
fn the_interval_that_an_ack_was_held_is_taken_out() {
    let config = || {
        let mut config = config();
        config.rto.covers_hold = true;
        config
    };
    let mut s = established(config());
    s.at_ms(100).app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(260).gets([held(1, &[0], 0)]).check(latest, Some(60));
    s.at_ms(300).gets([ack(1, &[0, 1], 1)]).check(latest, Some(200));
    // An ACK waits for at most half of our shortest timeout.
    let mut config = config();
    config.rto.min = Duration::from_millis(80);
    let mut s = established(config);
    s.at_ms(100).app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]);
    s.at_ms(170).gets([held(1, &[0], 0)]).check(latest, Some(30));
}

#[test]
fn a_segment_that_three_acknowledged_ones_overtook_joins_the_next_round() {
    let config = Config { cwnd_max: 3, loss_by_txseq: Some(3), block_size: 12, ..config() };
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(6000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(100).gets([ack(1, &[1, 2], 2)]).expect([data(1, 3, 3), data(1, 4, 4)]);
    s.at_ms(200).gets([ack(1, &[1, 2, 3], 3)]);
    // Segment 0 counts as lost, and its place is free. There was no expiry, so the sender is not congested. It waits for its round.
    s.expect([data(1, 5, 5), data(1, 0, 6)]);
    s.check(|tpa| (tpa.counters().lost_by_txseq, tpa.counters().timeouts, tpa.cwnd()), (1, 0, 3));
    // The new transmission is younger than those of segments 4 and 5.
    s.at_ms(300).gets([ack(1, &[1, 2, 3, 4, 5], 5)]).expect([]).check(|tpa| tpa.flight(), 1);
    s.gets([ack(1, &[0, 1, 2, 3, 4, 5], 6)]).expect([]);
}

/// A late ACK may be for a transmission before the one that it would have to overtake.
#[test]
fn a_retransmitted_segment_overtakes_only_by_a_transmission_that_an_ack_names() {
    let config = Config { cwnd_max: 3, loss_by_txseq: Some(1), th_route: 9, ..config() };
    let mut s = established(config);
    s.at_ms(0).app(|tpa| tpa.send(Data::Virtual(3000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(1000).expect([data(1, 0, 3), data(1, 1, 4), data(1, 2, 5)]);
    let lost = |tpa: &TpaEnd| tpa.counters().lost_by_txseq;
    s.at_ms(1100).gets([ack(1, &[1], 1)]).expect([]).check(lost, 0);
    // The transmission is named later, without other new information.
    s.at_ms(1200).gets([ack(1, &[1], 4)]).expect([data(1, 0, 6)]).check(lost, 1);
    s.at_ms(1300).gets([ack(1, &[1, 2], 5)]).expect([]).check(lost, 1);
    s.gets([ack(1, &[0, 1, 2], 6)]);
}

#[test]
fn without_that_rule_only_the_timer_detects_a_loss() {
    let config = Config { cwnd_max: 3, block_size: 12, ..config() };
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(100).gets([ack(1, &[1, 2], 2)]).expect([data(1, 3, 3)]);
    s.at_ms(200).gets([ack(1, &[1, 2, 3], 3)]).expect([]);
    s.at_ms(1000).expect([slow(1, 0, 4)]).gets([ack(1, &[0, 1, 2, 3], 4)]);
}

/// TPA-AP over four hops at 2 Mb/s.
fn paced() -> Config {
    let pacing = PacingConfig::new(BitRate(2_000_000));
    Config { pacing: Some(pacing), cwnd_max: 4, ..config() }
}

#[test]
fn once_there_is_a_sample_every_data_segment_is_spaced() {
    let mut s = established(paced());
    s.app(|tpa| tpa.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 4 })));
    s.app(|tpa| tpa.send(Data::Virtual(12_000)));
    s.expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2), data(1, 3, 3)]);
    s.at_ms(100).gets([ack(1, &[0, 1, 2, 3], 3)]).expect([data(2, 0, 0)]);
    // FHD is 2 (100 / 4 + 1000 * 8 / 2000) ms; the SYN is no sample of it.
    s.check(gap, Some(Duration::from_millis(58)));
    s.at_ms(158).expect([data(2, 1, 1)]);
    s.at_ms(216).expect([data(2, 2, 2)]);
    s.at_ms(274).expect([data(2, 3, 3)]);
    s.at_ms(1000).gets([ack(2, &[0, 1, 2, 3], 3)]).expect([data(3, 0, 0)]);
}

#[test]
fn retransmissions_are_spaced_and_a_new_sample_moves_a_waiting_segment() {
    let mut config = paced();
    config.th_route = 9;
    let mut s = established(config);
    s.app(|tpa| tpa.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 1 })));
    s.app(|tpa| tpa.send(Data::Virtual(8000)));
    s.expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2), data(1, 3, 3)]);
    // FHD = (800 + 4) / 2 = 402 ms
    s.at_ms(800).gets([ack(1, &[3], 3)]).expect([]).check(gap, Some(Duration::from_millis(402)));
    s.at_ms(1000).expect([data(1, 0, 4)]);
    s.at_ms(1402).expect([data(1, 1, 5)]).check(Machine::poll_timeout, Some(instant(1804)));
    // 0.7 * 402 + 0.3 * (450 + 4) / 2 = 349.5, and the two differ: 1 + 2 * 247.487 / 625.
    s.at_ms(1450).gets([ack(1, &[0, 3], 4)]).expect([]);
    let gap = gap(&s.machine).expect("two samples");
    assert_eq!(gap.as_micros() / 100, 6262);
    s.check(Machine::poll_timeout, Some(instant(1402) + gap));
}

fn instant(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn gap(tpa: &TpaEnd) -> Option<Duration> {
    tpa.pacer().and_then(|pacer| pacer.gap())
}
