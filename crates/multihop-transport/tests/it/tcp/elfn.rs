//! Stand-by after notices of failed links (Holland and Vaidya, section 6).

use multihop_core::{Duration, Instant, LostSegment, Machine, Notice, Payload, SegmentId};
use multihop_transport::connection::Data;
use multihop_transport::tcp::{
    Config, Ending, Event, Exit, Input, Phase, Probe, ProbeInterval, Probing, Restore, Standby, State,
};

use super::templates::*;

const ELFN: Standby = Standby::elfn();

const fn ending(end: Ending) -> Standby {
    Standby { end, ..ELFN }
}

fn with(plan: Standby) -> Config {
    Config { elfn: Some(plan), initial_window: 4, ..reno() }
}

/// Four segments are in flight; the first had a round trip of 100 ms, and segment 2 was lost at a failed link.
fn on_standby(config: Config) -> Tcp {
    let mut s = established(config);
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.at_ms(100).gets([ack(2)]).expect([data(5), data(6)]);
    s.at_ms(200).gets([broken(2)]).expect([]).check(|tcp| tcp.phase(), Phase::StandBy);
    s
}

fn notice(s: &mut Tcp, ms: u64, lost: LostSegment) {
    let now = Instant::ZERO + Duration::from_millis(ms);
    s.machine.handle(now, Input::Notice(Notice::LinkFailed(lost)));
}

#[test]
fn only_probes_leave_every_two_seconds_and_nothing_backs_off() {
    let mut s = on_standby(with(ELFN));
    for ms in [2200, 4200, 6200, 8200] {
        s.at_ms(ms).expect([data(2)]);
    }
    s.check(|tcp| (tcp.rtt().rto(), tcp.cwnd(), tcp.ssthresh()), (Duration::from_secs(1), 5 * MSS, 64 * MSS));
    s.check(|tcp| (tcp.counters().probes, tcp.counters().retransmitted, tcp.counters().timeouts), (4, 4, 0));
}

#[test]
fn after_an_ack_the_connection_continues_where_the_notice_stopped_it() {
    let mut s = on_standby(with(ELFN));
    s.at_ms(2200).expect([data(2)]);
    // Segments 3 to 6 count as under way: the window of 5 has room for one segment in the place of segment 2,
    // and one more.
    s.at_ms(2300).gets([ack(3)]).expect([data(7), data(8)]);
    s.check(|tcp| (tcp.phase(), tcp.cwnd()), (Phase::SlowStart, 6 * MSS));
    s.at_ms(3300).expect([data(3)]).check(|tcp| tcp.counters().timeouts, 1);
}

#[test]
fn further_notices_do_not_move_the_probes() {
    let mut s = on_standby(with(ELFN));
    s.at_ms(1000).gets([broken(3), broken(4)]).expect([]);
    s.at_ms(2200).expect([data(2)]).check(|tcp| tcp.counters().standbys, 1);
}

#[test]
fn a_duplicate_ack_ends_it_with_exit_any_and_counts() {
    let mut s = on_standby(with(ELFN));
    s.at_ms(300).gets([ack(2)]).expect([]);
    s.check(|tcp| (tcp.phase(), tcp.counters().dup_acks), (Phase::SlowStart, 1));
    s.at_ms(1300).expect([data(2)]).check(|tcp| tcp.counters().timeouts, 1);
}

#[test]
fn only_new_data_ends_it_with_exit_new() {
    let mut s = on_standby(with(ending(Ending { exit: Exit::New, ..ELFN.end })));
    s.at_ms(300).gets(acks(2, 2)).expect([]).check(|tcp| tcp.phase(), Phase::StandBy);
    s.at_ms(2200).expect([data(2)]);
    s.at_ms(2300).gets([ack(3)]).expect([data(7), data(8)]).check(|tcp| tcp.phase(), Phase::SlowStart);
}

#[test]
fn the_lowest_lost_segment_is_the_probe() {
    let mut s = established(with(ending(Ending { probe: Probe::LowestLost, ..ELFN.end })));
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.at_ms(200).gets([broken(4), broken(2), broken(3)]).expect([]);
    s.at_ms(2200).expect([data(2)]);
    s.at_ms(3000).gets([broken(1)]).expect([]);
    s.at_ms(4200).expect([data(1)]);
}

/// Segment 1 was lost without a notice.
#[test]
fn a_probe_beyond_the_hole_makes_the_next_one_fill_it() {
    let mut s = established(with(ending(Ending { probe: Probe::LowestLost, exit: Exit::New, ..ELFN.end })));
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.at_ms(200).gets([broken(3)]).expect([]);
    s.at_ms(2200).expect([data(3)]);
    s.at_ms(2300).gets([ack(1)]).expect([]);
    s.at_ms(4200).expect([data(1)]);
    s.at_ms(4300).gets([ack(4)]).expect([data(5), data(6), data(7), data(8)]);
}

#[test]
fn restore_window_starts_from_one_segment() {
    let mut s = on_standby(with(ending(Ending { restore: Restore::Window, ..ELFN.end })));
    // Nothing may leave until four of the five outstanding segments are acknowledged.
    s.at_ms(300).gets([ack(2)]).expect([]).check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (MSS, 64 * MSS));
    s.at_ms(400).gets([ack(7)]).expect([data(7), data(8)]);
}

#[test]
fn restore_rto_window_waits_as_long_as_a_new_connection() {
    let mut config = with(ending(Ending { restore: Restore::RtoWindow, ..ELFN.end }));
    config.rto.initial = Duration::from_secs(6);
    let mut s = on_standby(config);
    s.at_ms(300).gets([ack(2)]).expect([]);
    s.check(|tcp| (tcp.cwnd(), tcp.rtt().rto()), (MSS, Duration::from_secs(6)));
    s.at_ms(6300).expect([data(2)]);
}

#[test]
fn back_off_before_the_notice_is_kept() {
    let mut s = established(with(ELFN));
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.at_ms(1000).expect([data(1)]);
    s.at_ms(3000).expect([data(1)]);
    s.at_ms(3500).gets([broken(1)]).expect([]);
    s.at_ms(5500).expect([data(1)]).check(|tcp| tcp.rtt().rto(), Duration::from_secs(4));
    // Karn: the probe gives no sample.
    s.at_ms(5600).gets([ack(2)]).expect([data(2), data(3)]);
    s.check(|tcp| (tcp.rtt().rto(), tcp.rtt().samples()), (Duration::from_secs(4), 0));
}

#[test]
fn a_notice_without_outstanding_data_is_ignored() {
    let mut s = established(with(ELFN));
    s.app(|tcp| tcp.send(Data::Virtual(2 * u64::from(MSS)))).expect([data(1), data(2)]);
    s.at_ms(100).gets([ack(3)]).expect([]);
    s.gets([broken(2)]).at_ms(60_000).expect([]).check(|tcp| tcp.counters().standbys, 0);
}

#[test]
fn only_an_outstanding_segment_of_this_connection_counts() {
    let mut s = established(with(ELFN));
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.at_ms(100).gets([ack(2)]).expect([data(5), data(6)]);
    let ours = lost(LOCAL, REMOTE, number(3));
    let others = [
        lost(LOCAL + 1, REMOTE, number(3)),
        lost(LOCAL, REMOTE + 1, number(3)),
        lost(REMOTE, LOCAL, number(3)),
        LostSegment { segment: SegmentId::Other, ..ours },
        lost(LOCAL, REMOTE, number(1)), // acknowledged
        lost(LOCAL, REMOTE, number(7)), // not sent
        lost(LOCAL, REMOTE, number(3) + (1 << 31)),
    ];
    for other in others {
        notice(&mut s, 100, other);
        assert_eq!(s.machine.phase(), Phase::SlowStart, "{other:?}");
    }
    notice(&mut s, 100, ours);
    s.check(|tcp| tcp.phase(), Phase::StandBy);
}

#[test]
fn without_the_option_notices_change_nothing() {
    let mut s = established(Config { initial_window: 4, ..reno() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s.gets([broken(1)]).check(|tcp| tcp.phase(), Phase::SlowStart);
    s.at_ms(1000).expect([data(1)]);
}

#[test]
fn probes_follow_the_round_trip_time_within_bounds() {
    let interval_after = |rtt_ms: Option<u64>| {
        let mut config = with(Standby {
            probing: Probing { interval: ProbeInterval::RoundTrips, ..ELFN.probing },
            ..ELFN
        });
        config.initial_window = 1;
        let mut s = established(config);
        s.app(|tcp| tcp.send(Data::Endless)).expect([data(1)]);
        let mut now = 0;
        if let Some(rtt) = rtt_ms {
            now = rtt;
            s.at_ms(now).gets([ack(2)]).expect([data(2), data(3)]);
        }
        s.gets([broken(if rtt_ms.is_some() { 2 } else { 1 })]);
        let due = s.machine.poll_timeout().unwrap();
        (due - (Instant::ZERO + Duration::from_millis(now))).as_nanos() / 1_000_000
    };
    assert_eq!(interval_after(Some(20)), 200);
    assert_eq!(interval_after(Some(150)), 600);
    assert_eq!(interval_after(Some(900)), 2000);
    assert_eq!(interval_after(None), 2000);
}

#[test]
fn it_gives_up_after_the_configured_number_of_probes() {
    let mut s =
        on_standby(with(Standby { probing: Probing { max_probes: Some(2), ..ELFN.probing }, ..ELFN }));
    s.at_ms(2200).expect([data(2)]);
    s.at_ms(4200).expect([data(2)]);
    s.at_ms(6200).expect([event(Event::TimedOut)]);
    s.check(|tcp| tcp.state(), State::Closed);
}

#[test]
fn the_peers_data_is_acknowledged_meanwhile() {
    let mut s = on_standby(with(ending(Ending { exit: Exit::New, ..ELFN.end })));
    let from_peer = segment(|s| {
        s.ack = Some(number(2));
        s.payload = Payload::Virtual(MSS);
    });
    s.at_ms(300).gets([from_peer]);
    s.expect([delivered(1), ack(2)]).check(|tcp| tcp.phase(), Phase::StandBy);
}

#[test]
fn newreno_stands_by_during_recovery_and_continues_it() {
    let mut s = established(Config { elfn: Some(ELFN), initial_window: 6, ..config() });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=6).map(data));
    s.at_ms(100).gets(acks(1, 3)).expect([data(1)]).check(|tcp| tcp.phase(), Phase::FastRecovery);
    s.at_ms(200).gets([broken(1)]).at_ms(2200).expect([data(1)]);
    // This is a partial ACK: the next hole is 3, and the window of 6 less 2 plus 1 has room for one more.
    s.at_ms(2300).gets([ack(3)]).expect([data(3), data(7)]).check(|tcp| tcp.phase(), Phase::FastRecovery);
}

#[test]
fn a_fin_is_probed_like_data() {
    let mut s = established(with(ELFN));
    s.app(|tcp| {
        tcp.send(Data::Virtual(u64::from(MSS))).unwrap();
        tcp.close();
    });
    let last = || {
        segment(|s| {
            (s.source, s.destination, s.fin, s.psh) = (LOCAL, REMOTE, true, true);
            s.seq = number(1);
            s.ack = Some(number(1));
            s.payload = Payload::Virtual(MSS);
        })
    };
    s.expect([last()]);
    s.at_ms(100).gets([broken(1)]).at_ms(2100).expect([last()]);
    let acked = segment(|s| s.ack = Some(number(2) + 1));
    s.at_ms(2200).gets([acked]).check(|tcp| tcp.state(), State::FinWait2);
    s.at_ms(60_000).expect([]);
}
