//! Normal, congested, freeze (§3.3, §3.5), with link-failure notices and without; the backoff.

use multihop_core::{Duration, Instant, LostSegment, Machine, Notice, SegmentId};
use multihop_transport::connection::Data;
use multihop_transport::tpa::{Config, Input, Phase, TpaEnd};
use multihop_wire::tpa::{Body, Segment};

use super::templates::*;

fn with_notices() -> Config {
    Config { notices: true, ..config() }
}

/// A notice that this segment of the endpoint was lost.
fn link_failed(seen: &Segment) -> Notice {
    Notice::LinkFailed(lost(seen))
}

fn lost(seen: &Segment) -> LostSegment {
    LostSegment { source: seen.source, destination: seen.destination, segment: seen.id() }
}

/// The data segment of the endpoint under test with this block and position.
fn sent(block: u16, position: u8) -> Segment {
    let Seen::Other(segment) = own(block, |s| s.body = full(position)) else { unreachable!("own makes it") };
    *segment
}

/// Gives a notice at `ms`, at which nothing else must happen before.
fn notify(s: &mut Tpa, ms: u64, notice: Notice) -> &mut Tpa {
    s.at_ms(ms);
    let now = Instant::ZERO + Duration::from_millis(ms);
    s.app(|tpa| tpa.handle(now, Input::Notice(notice)))
}

#[test]
fn with_notices_a_timeout_means_congestion_until_the_next_ack() {
    let mut s = established(Config { cwnd_max: 3, ..with_notices() });
    s.app(|tpa| tpa.send(Data::Endless)).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(500).gets([ack(1, &[0, 1], 1)]).expect([data(1, 3, 3)]);
    s.at_ms(1000).expect([]).check(|tpa| (tpa.phase(), tpa.cwnd()), (Phase::Congested, 1));
    // A late ACK also ends the freeze, because it shows that ACKs arrive again.
    s.at_ms(1100).gets([ack(1, &[0, 1, 2], 2)]).expect([]).check(TpaEnd::phase, Phase::Normal);
    s.at_ms(1200).gets([ack(1, &[0, 1, 2, 3], 3)]);
    s.expect([data(2, 0, 0), data(2, 1, 1), data(2, 2, 2)]);
    s.check(|tpa| (tpa.counters().congested, tpa.counters().freezes), (1, 0));
    s.gets([ack(2, &[0, 1, 2], 2)]).expect([data(2, 3, 3)]).gets([ack(2, &[0, 1, 2, 3], 3)]);
    s.expect([data(3, 0, 0), data(3, 1, 1), data(3, 2, 2)]);
}

#[test]
fn thresholds_count_in_a_row() {
    let config = Config { th_cong: 2, th_ack: 2, ..with_notices() };
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(12_000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(10).gets([ack(1, &[1], 1)]).expect([data(1, 2, 2)]);
    // 0 expires; after an ACK of new data the next expiry counts as the first again.
    s.at_ms(1000).expect([data(1, 3, 3)]).check(TpaEnd::phase, Phase::Normal);
    s.gets([ack(1, &[1, 2], 99)]).expect([data(1, 0, 4)]);
    s.at_ms(1500).gets([ack(1, &[0, 1, 2], 99)]).expect([]).at_ms(2000).expect([data(1, 3, 5)]);
    s.check(TpaEnd::phase, Phase::Normal);
    s.at_ms(3000).expect([slow(1, 3, 6)]).check(TpaEnd::phase, Phase::Congested);
    s.gets([ack(1, &[0, 1, 2, 3], 6)]).expect([slow(2, 0, 0)]).check(TpaEnd::phase, Phase::Congested);
    // There are one ACK, an expiry, and one ACK: not two ACKs in a row.
    s.at_ms(4000).expect([slow(2, 1, 1)]);
    s.gets([ack(2, &[0], 0)]).expect([]).check(TpaEnd::phase, Phase::Congested);
    s.gets([ack(2, &[0, 1], 1)]).expect([data(2, 2, 2), data(2, 3, 3)]).check(TpaEnd::phase, Phase::Normal);
    s.gets([ack(2, &[0, 1, 2, 3], 3)]).expect([data(3, 0, 0), data(3, 1, 1)]);
    s.gets([ack(3, &[0, 1], 1)]).expect([data(3, 2, 2), data(3, 3, 3)]).gets([ack(3, &[0, 1, 2, 3], 3)]);
}

#[test]
fn without_notices_a_timeout_freezes_until_the_next_ack() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Endless)).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(1000).expect([slow(1, 2, 2)]).check(TpaEnd::phase, Phase::Freeze);
    // Late segments may have been delayed only by congestion, whichever transmission caused the ACK.
    s.at_ms(1100).gets([ack(1, &[0, 1], 1)]).expect([data(1, 3, 3)]).check(TpaEnd::phase, Phase::Normal);
    s.check(|tpa| (tpa.counters().congested, tpa.counters().freezes), (0, 1));
    s.at_ms(1200).gets([ack(1, &[0, 1, 2, 3], 3)]).expect([data(2, 0, 0), data(2, 1, 1)]);
}

#[test]
fn without_notices_th_ack_counts_the_acks_that_end_a_freeze() {
    let mut s = established(Config { th_ack: 2, ..config() });
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(1000).expect([slow(1, 2, 2)]);
    s.at_ms(1100).gets([ack(1, &[0], 0)]).expect([]).check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(1200).gets([ack(1, &[0, 1], 1)]).expect([data(1, 3, 3)]).check(TpaEnd::phase, Phase::Normal);
    s.gets([ack(1, &[0, 1, 2, 3], 3)]).expect([]);
}

#[test]
fn a_freeze_restarts_the_count_of_expiries() {
    let mut s = established(Config { th_route: 2, ..config() });
    s.app(|tpa| tpa.send(Data::Virtual(6000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(1000).expect([slow(1, 2, 2)]).check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(2000).expect([slow(1, 3, 3)]);
    // No new data, but the ACK names a transmission after the freeze.
    s.at_ms(2500).gets([ack(1, &[], 2)]).expect([data(1, 0, 4)]).check(TpaEnd::phase, Phase::Normal);
    s.at_ms(4000).expect([data(1, 1, 5)]).check(TpaEnd::phase, Phase::Normal);
    s.gets([ack(1, &[0, 1, 2, 3], 5)]).expect([data(2, 0, 0), data(2, 1, 1)]).gets([ack(2, &[0, 1], 1)]);
}

#[test]
fn a_frozen_sender_may_begin_a_block_whose_ack_ends_the_freeze() {
    let mut s = established(with_notices());
    s.app(|tpa| tpa.send(Data::Virtual(5000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(10).gets([ack(1, &[0, 1], 1)]).expect([data(1, 2, 2), data(1, 3, 3)]);
    notify(&mut s, 500, link_failed(&sent(1, 2))).expect([]);
    s.at_ms(1010).expect([slow(1, 2, 4)]);
    // Everything arrived by the first transmissions: the freeze does not end, but the next block begins.
    s.at_ms(1100)
        .gets([ack(1, &[0, 1, 2, 3], 3)])
        .expect([slow(2, 0, 0)])
        .check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(1200).gets([ack(2, &[0], 0)]).expect([]).check(TpaEnd::phase, Phase::Normal);
}

#[test]
fn only_segments_sent_outside_the_normal_state_double_the_timeout() {
    let mut s = established(Config { cwnd_max: 3, ..config() });
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    s.at_ms(1000).expect([slow(1, 3, 3)]).check(|tpa| tpa.rtt().rto(), Duration::from_secs(1));
    s.at_ms(2000).expect([slow(1, 0, 4)]);
    s.at_ms(4000).expect([slow(1, 1, 5)]);
    s.at_ms(8000).expect([slow(1, 2, 6)]).check(|tpa| tpa.rtt().rto(), Duration::from_secs(8));
    // The backoff remains until a sample of a later transmission.
    s.at_ms(9000).gets([ack(1, &[0, 1, 2, 3], 6)]).expect([]);
    s.check(|tpa| (tpa.phase(), tpa.rtt().rto()), (Phase::Normal, Duration::from_secs(8)));
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(2, 0, 0)]);
    s.at_ms(9100).gets([ack(2, &[0], 0)]).check(|tpa| tpa.rtt().rto(), Duration::from_secs(1));
}

/// Every ACK comes after its timer has expired, so that none is a sample; each ends the freeze.
#[test]
fn a_timeout_that_is_too_short_doubles_until_an_ack_is_in_time() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(1000).expect([slow(1, 2, 2)]);
    s.at_ms(1500).gets([ack(1, &[0, 1], 1)]).expect([data(1, 3, 3)]).check(TpaEnd::phase, Phase::Normal);
    // 2 had left frozen.
    s.at_ms(2000).expect([]).check(|tpa| tpa.rtt().rto(), Duration::from_secs(2));
    s.at_ms(2500).expect([slow(1, 2, 4)]);
    s.at_ms(3000).gets([ack(1, &[0, 1, 2, 3], 3)]).expect([]).check(TpaEnd::phase, Phase::Normal);
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(2, 0, 0)]);
    s.at_ms(4500).gets([ack(2, &[0], 0)]).check(|tpa| tpa.rtt().latest(), Some(Duration::from_millis(1500)));
    s.check(|tpa| tpa.rtt().rto() > Duration::from_millis(1500), true);
}

#[test]
fn a_notice_freezes_and_the_quoted_segment_times_out_at_once() {
    let mut s = established(Config { cwnd_max: 3, ..with_notices() });
    s.app(|tpa| tpa.send(Data::Endless)).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    notify(&mut s, 300, link_failed(&sent(1, 1))).expect([]);
    s.check(|tpa| (tpa.phase(), tpa.flight()), (Phase::Freeze, 2));
    // The timers of the other segments continue; with nothing in flight, the next data is the probe.
    s.at_ms(1000).expect([slow(1, 3, 3)]);
    s.at_ms(1200).gets([ack(1, &[0, 2], 2)]).expect([]).check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(2000).expect([slow(1, 1, 4)]).check(|tpa| tpa.counters().congested, 0);
    s.at_ms(2100).gets([ack(1, &[0, 1, 2], 4)]).expect([data(1, 3, 5)]);
    s.check(|tpa| (tpa.phase(), tpa.counters().notices, tpa.counters().timeouts), (Phase::Normal, 1, 3));
    s.gets([ack(1, &[0, 1, 2, 3], 5)]).expect([data(2, 0, 0), data(2, 1, 1), data(2, 2, 2)]);
}

#[test]
fn a_notice_moves_congested_to_freeze() {
    let mut s = established(with_notices());
    s.app(|tpa| tpa.send(Data::Endless)).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(1000).expect([slow(1, 2, 2)]).check(TpaEnd::phase, Phase::Congested);
    // 2 had left before: it times out at once, and 3 is the probe.
    notify(&mut s, 1100, link_failed(&sent(1, 2)))
        .expect([slow(1, 3, 3)])
        .check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(1200).gets([ack(1, &[0, 1, 2, 3], 3)]).expect([data(2, 0, 0), data(2, 1, 1)]);
}

#[test]
fn notices_of_what_is_not_in_flight_are_ignored() {
    let mut s = established(with_notices());
    s.app(|tpa| tpa.send(Data::Virtual(3000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.gets([ack(1, &[0], 0)]).expect([data(1, 2, 2)]);
    let bare = Segment { body: Body::Empty, ..sent(1, 1) };
    let other_port = Segment { destination: 81, ..sent(1, 1) };
    let ignored = [sent(1, 0), sent(1, 3), sent(0, 1), sent(2, 1), bare, other_port];
    for segment in &ignored {
        notify(&mut s, 0, link_failed(segment)).expect([]);
    }
    // A TCP segment between the same ports.
    let of_tcp = LostSegment { segment: SegmentId::Tcp(1), ..lost(&sent(1, 1)) };
    notify(&mut s, 0, Notice::LinkFailed(of_tcp)).expect([]);
    s.check(|tpa| (tpa.phase(), tpa.counters().notices, tpa.flight()), (Phase::Normal, 0, 2));
    s.gets([ack(1, &[0, 1, 2], 2)]);
}

/// A real network may deliver a notice although none can be expected.
#[test]
fn a_notice_freezes_whether_or_not_timeouts_alone_mean_congestion() {
    let Config { notices, rto, .. } = Config::net();
    assert!(!notices);
    let mut config = Config { notices, rto, cwnd_max: 3, ..config() };
    config.rto.min = Duration::from_secs(1);
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1), data(1, 2, 2)]);
    notify(&mut s, 300, link_failed(&sent(1, 1))).expect([]);
    s.check(|tpa| (tpa.phase(), tpa.counters().notices, tpa.flight()), (Phase::Freeze, 1, 2));
    // The route was lost after these segments had left.
    s.at_ms(400).gets([ack(1, &[0], 0)]).expect([]).check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(1000).expect([slow(1, 3, 3)]);
    s.at_ms(1100).gets([ack(1, &[0, 2], 2)]).expect([]).check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(1200).gets([ack(1, &[0, 2, 3], 3)]).expect([data(1, 1, 4)]).check(TpaEnd::phase, Phase::Normal);
    s.gets([ack(1, &[0, 1, 2, 3], 4)]).expect([]);
}

#[test]
fn a_notice_confirms_a_route_failure_that_a_timeout_assumed() {
    let mut s = established(config());
    s.app(|tpa| tpa.send(Data::Endless)).expect([data(1, 0, 0), data(1, 1, 1)]);
    s.at_ms(1000).expect([slow(1, 2, 2)]).check(TpaEnd::phase, Phase::Freeze);
    // 2 had left before the notice: it times out at once, and 3 is the probe.
    notify(&mut s, 1100, link_failed(&sent(1, 2))).expect([slow(1, 3, 3)]);
    s.at_ms(1200).gets([ack(1, &[0, 1], 1)]).expect([]).check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(1300).gets([ack(1, &[0, 1, 3], 3)]).expect([data(1, 2, 4)]).check(TpaEnd::phase, Phase::Normal);
    s.check(|tpa| (tpa.counters().freezes, tpa.counters().notices), (1, 1));
    s.gets([ack(1, &[0, 1, 2, 3], 4)]).expect([data(2, 0, 0), data(2, 1, 1)]);
}

/// A node without a route answers each probe at once: an immediate further probe would repeat this without end.
#[test]
fn a_notice_about_a_probe_does_not_advance_the_next() {
    let mut s = established(with_notices());
    s.app(|tpa| tpa.send(Data::Virtual(3000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    notify(&mut s, 10, link_failed(&sent(1, 0))).expect([]);
    notify(&mut s, 20, link_failed(&sent(1, 1))).expect([slow(1, 2, 2)]);
    notify(&mut s, 21, link_failed(&sent(1, 2))).expect([]).check(|tpa| tpa.flight(), 1);
    s.at_ms(1020).expect([slow(1, 0, 3)]);
    notify(&mut s, 1021, link_failed(&sent(1, 0))).expect([]);
    s.at_ms(3020).expect([slow(1, 1, 4)]);
    s.at_ms(3100).gets([ack(1, &[0, 1, 2], 4)]).expect([]).check(TpaEnd::phase, Phase::Normal);
}

#[test]
fn with_notices_a_frozen_sender_probes_once_and_is_silent_until_the_route_is_back() {
    let config = Config { route_notices: true, ..with_notices() };
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    notify(&mut s, 100, link_failed(&sent(1, 0))).expect([]);
    s.at_ms(1000).expect([slow(1, 2, 2)]);
    // Timers continue, and nothing leaves.
    s.at_ms(2000).expect([]).check(|tpa| tpa.flight(), 0);
    notify(&mut s, 4000, Notice::RouteRestored).expect([slow(1, 3, 3)]);
    s.at_ms(4100).gets([ack(1, &[3], 3)]).expect([data(1, 0, 4), data(1, 1, 5)]);
    s.check(TpaEnd::phase, Phase::Normal);
    s.gets([ack(1, &[0, 1, 3], 5)]).expect([data(1, 2, 6)]).gets([ack(1, &[0, 1, 2, 3], 6)]);
    s.at_ms(100_000).expect([]);
}

#[test]
fn a_route_that_breaks_again_silences_the_sender_again() {
    let config = Config { route_notices: true, ..with_notices() };
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    notify(&mut s, 100, link_failed(&sent(1, 0))).expect([]);
    s.at_ms(1000).expect([slow(1, 0, 2)]);
    s.at_ms(2000).expect([]);
    notify(&mut s, 4000, Notice::RouteRestored).expect([slow(1, 1, 3)]);
    notify(&mut s, 4010, link_failed(&sent(1, 1))).expect([]).check(|tpa| tpa.flight(), 1);
    s.at_ms(6000).expect([slow(1, 0, 4)]);
    // A further notice of the same kind does not delay the probe.
    notify(&mut s, 9000, Notice::RouteLost).expect([]);
    s.at_ms(10_000).expect([]).check(|tpa| tpa.flight(), 0);
    s.at_ms(16_000).expect([slow(1, 1, 5)]);
    s.at_ms(16_100).gets([ack(1, &[0, 1], 5)]).expect([]).check(TpaEnd::phase, Phase::Normal);
}

#[test]
fn a_silent_sender_probes_at_intervals() {
    let config = Config { route_notices: true, ..config_with(|life| life.user_timeout = None) };
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    notify(&mut s, 500, Notice::RouteLost).expect([]).check(TpaEnd::phase, Phase::Freeze);
    s.at_ms(1000).expect([slow(1, 0, 2)]);
    s.at_ms(11_000).expect([slow(1, 1, 3)]);
    s.at_ms(21_000).expect([slow(1, 0, 4)]);
    s.at_ms(21_100).gets([ack(1, &[0, 1], 4)]).expect([]).check(TpaEnd::phase, Phase::Normal);
    // With nothing in flight, a lost route has no effect.
    notify(&mut s, 22_000, Notice::RouteLost).expect([]).check(TpaEnd::phase, Phase::Normal);
    s.at_ms(100_000).expect([]);
}

#[test]
fn a_frozen_sender_of_the_net_profile_probes_every_second() {
    let Config { rto, notices, .. } = Config::net();
    let mut config = Config { rto, notices, ..config() };
    config.rto.min = Duration::from_secs(1);
    let mut s = established(config);
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect([data(1, 0, 0), data(1, 1, 1)]);
    for (n, at) in (1000..8000).step_by(1000).enumerate() {
        let position = u8::try_from(n % 2).expect("0 or 1");
        s.at_ms(at).expect([slow(1, position, u8::try_from(n).expect("few") + 2)]);
    }
    s.gets([ack(1, &[0, 1], 8)]).expect([]);
}

#[test]
fn a_restored_route_changes_the_estimates_quickly() {
    let mut s = established(config());
    let mut at = 0;
    for block in 1..=3 {
        s.at_ms(at).app(|tpa| tpa.send(Data::Virtual(4000))).expect([data(block, 0, 0), data(block, 1, 1)]);
        s.at_ms(at + 100).gets([ack(block, &[0, 1], 1)]).expect([data(block, 2, 2), data(block, 3, 3)]);
        s.at_ms(at + 200).gets([ack(block, &[0, 1, 2, 3], 3)]).expect([]);
        at += 1000;
    }
    let before = s.machine.rtt().srtt().expect("six samples");
    s.at_ms(at).app(|tpa| tpa.send(Data::Virtual(3000))).expect([data(4, 0, 0), data(4, 1, 1)]);
    s.at_ms(at + 1000).expect([slow(4, 2, 2)]);
    s.at_ms(at + 1100).gets([ack(4, &[0, 1, 2], 2)]).expect([]).check(|tpa| tpa.rtt().srtt(), Some(before));
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(4, 3, 3)]);
    s.at_ms(at + 1900).gets([ack(4, &[0, 1, 2, 3], 3)]);
    // g1 = 1/4
    s.check(|tpa| tpa.rtt().srtt(), Some(before + (Duration::from_millis(800) - before) / 4));
}
