//! Adaptive pacing within the window. Four hops at 2 Mb/s and segments of 1000 bytes: the delay of
//! four hops is RTT / 2 + 8 ms. The history is one sample, so that nothing varies.

use multihop_core::{BitRate, Duration, Instant, Machine, Notice};
use multihop_transport::connection::Data;
use multihop_transport::pacing::{PacingConfig, Rules};
use multihop_transport::tcp::{Config, Event, Input, Pacing, RoundTrips, Standby, Trip};
use multihop_wire::tcp::Segment;

use super::templates::*;

fn pacing() -> Pacing {
    Pacing::new(PacingConfig { history: 1, ..PacingConfig::new(BitRate(2_000_000)) })
}

fn paced(round_trips: RoundTrips, initial_window: u16) -> Tcp {
    paced_by(Pacing { round_trips, ..pacing() }, initial_window)
}

fn paced_by(pacing: Pacing, initial_window: u16) -> Tcp {
    let mut s = established(Config { pacing: Some(pacing), initial_window, ..config() });
    s.app(|tcp| tcp.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 4 })));
    s.app(|tcp| tcp.send(Data::Endless));
    s
}

trait Timed {
    /// An ACK up to segment `n`, whose round trip was `there` and `back` ms on its way.
    fn acked(&mut self, ms: u64, n: u32, there: u64, back: u64) -> &mut Self;

    fn gap_is(&mut self, ms: Option<u64>) -> &mut Self;
}

impl Timed for Tcp {
    #[track_caller]
    fn acked(&mut self, ms: u64, n: u32, there: u64, back: u64) -> &mut Self {
        let segment = Segment { ack: Some(number(n)), ..from_peer() };
        let [there, back] = [there, back].map(Duration::from_millis);
        let trip = Trip { there, back, ..Trip::default() };
        let now = Instant::ZERO + Duration::from_millis(ms);
        self.at_ms(ms).app(|tcp| tcp.handle(now, Input::Timed(segment, trip)))
    }

    #[track_caller]
    fn gap_is(&mut self, ms: Option<u64>) -> &mut Self {
        self.check(|tcp| tcp.pacer().and_then(|pacer| pacer.gap()), ms.map(Duration::from_millis))
    }
}

#[test]
fn none_before_the_first_sample_then_one_segment_to_a_gap() {
    let mut s = paced(RoundTrips::Net, 3);
    s.expect([data(1), data(2), data(3)]).gap_is(None);
    // 92 / 2 + 8: the 8 ms that the peer held the ACK do not count.
    s.acked(100, 2, 60, 32).expect([data(4)]).gap_is(Some(54));
    s.at_ms(154).expect([data(5)]);
    s.at_ms(300).expect([]);
}

#[test]
fn a_new_sample_moves_the_segment_that_waits() {
    for (round_trip, gap) in [(52, 48), (132, 60)] {
        let mut s = paced(RoundTrips::Net, 3);
        s.expect([data(1), data(2), data(3)]);
        s.acked(100, 2, 60, 32).expect([data(4)]);
        // 0.7 * 54 + 0.3 * 34, and 0.7 * 54 + 0.3 * 74
        s.acked(110, 3, round_trip, 0).expect([]).gap_is(Some(gap));
        s.at_ms(100 + gap).expect([data(5)]);
        s.at_ms(100 + 2 * gap).expect([data(6)]);
    }
}

#[test]
fn the_window_delays_segments_that_the_pacer_allows() {
    let mut s = paced(RoundTrips::Net, 1);
    s.expect([data(1)]);
    s.acked(100, 2, 60, 32).expect([data(2)]);
    s.at_ms(154).expect([data(3)]);
    s.at_ms(900).expect([]);
    s.acked(1000, 3, 60, 32).expect([data(4)]);
}

#[test]
fn retransmissions_are_paced_and_give_no_sample() {
    let mut s = paced(RoundTrips::Net, 4);
    s.expect([data(1), data(2), data(3), data(4)]);
    s.acked(100, 2, 60, 32).expect([data(5)]);
    // Segment 2 is lost.
    s.acked(101, 2, 60, 33).acked(102, 2, 60, 34).acked(103, 2, 60, 35).expect([]).gap_is(Some(54));
    s.check(|tcp| tcp.counters().fast_retransmits, 1);
    s.at_ms(154).expect([data(2)]);
    s.acked(200, 6, 900, 900).expect([]).gap_is(Some(54));
    s.at_ms(208).expect([data(6)]);
    // The next ACK is for a segment that was sent once: 0.7 * 54 + 0.3 * 34.
    s.at_ms(262).expect([data(7)]);
    s.acked(270, 7, 52, 0).expect([]).gap_is(Some(48));
}

#[test]
fn after_a_timeout_no_retransmitted_segment_is_a_sample() {
    let mut s = paced(RoundTrips::Net, 3);
    s.expect([data(1), data(2), data(3)]);
    s.at_ms(1000).expect([data(1)]);
    s.acked(1100, 2, 60, 32).expect([data(2), data(3)]).gap_is(None);
    // Segment 3 was retransmitted as well.
    s.acked(1150, 4, 60, 32).gap_is(None);
    s.expect([data(4), data(5)]);
    s.acked(1250, 5, 60, 32).gap_is(Some(54));
    s.expect([data(6)]);
}

#[test]
fn segments_outstanding_at_a_timeout_are_samples_only_if_configured() {
    // 0.7 * 54 + 0.3 * (1012 / 2 + 8)
    for (across_timeouts, gap) in [(true, 192), (false, 54)] {
        let mut s = paced_by(Pacing { across_timeouts, ..pacing() }, 4);
        s.expect([data(1), data(2), data(3), data(4)]);
        s.acked(100, 2, 60, 32).expect([data(5)]).gap_is(Some(54));
        s.at_ms(154).expect([data(6)]);
        // The ACKs are held up for a second. Segment 2 is retransmitted, segment 3 waits for its turn.
        s.at_ms(1100).expect([data(2)]);
        s.acked(1110, 3, 600, 412).gap_is(Some(54));
        s.acked(1110, 4, 600, 412).gap_is(Some(gap)).expect([]);
        s.at_ms(1100 + gap).expect([data(4)]);
    }
}

#[test]
fn segments_outstanding_at_a_notice_are_no_samples() {
    // Before the notice, each ACK of a new segment is a sample: 0.7 * 54 + 0.3 * 514.
    for (fails, gap) in [(false, 192), (true, 54)] {
        let config = Config { elfn: Some(Standby::elfn()), pacing: Some(pacing()), ..config() };
        let mut s = established(Config { initial_window: 4, ..config });
        s.app(|tcp| tcp.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 4 })));
        s.app(|tcp| tcp.send(Data::Endless)).expect([data(1), data(2), data(3), data(4)]);
        s.acked(100, 2, 60, 32).expect([data(5)]).gap_is(Some(54));
        s.at_ms(110).gets(fails.then(|| broken(4))).expect([]);
        s.acked(111, 3, 600, 412).gap_is(Some(gap)).expect([]);
    }
}

#[test]
fn timed_samples_are_those_of_the_retransmission_timer() {
    let mut s = paced(RoundTrips::Timed, 3);
    s.expect([data(1), data(2), data(3)]);
    // 100 / 2 + 8, whatever part of it the peer held the ACK.
    s.acked(100, 2, 60, 32).expect([data(4)]).gap_is(Some(58));
    s.acked(110, 3, 1, 1).expect([]).gap_is(Some(58));
    s.check(|tcp| tcp.rtt().samples(), 1);
}

#[test]
fn without_trips_the_connections_own_round_trips_do() {
    let mut s = paced(RoundTrips::Net, 3);
    s.expect([data(1), data(2), data(3)]);
    s.at_ms(100).gets([ack(2)]).expect([data(4)]).gap_is(Some(58));
}

#[test]
fn the_handshake_is_no_sample() {
    let pacer = PacingConfig::new(BitRate(2_000_000));
    let pacing = Some(Pacing { round_trips: RoundTrips::Timed, ..Pacing::new(pacer) });
    let mut s = closed(Config { pacing, ..config() });
    s.app(|tcp| tcp.handle(Instant::ZERO, Input::Notice(Notice::PathInfo { hops: 4 })));
    s.app(|tcp| {
        tcp.connect();
        tcp.send(Data::Endless)
    });
    s.expect([segment(|s| {
        (s.source, s.destination, s.seq, s.ack) = (LOCAL, REMOTE, ISS, None);
        (s.syn, s.options.mss) = (true, Some(1000));
    })]);
    s.at_ms(50).gets([segment(|s| {
        (s.seq, s.syn, s.options.mss) = (PEER_ISS, true, Some(1000));
    })]);
    s.expect([event(Event::Connected), data(1)]);
    s.check(|tcp| (tcp.rtt().samples(), tcp.pacer().and_then(|pacer| pacer.gap())), (1, None));
}

#[test]
fn a_new_length_of_the_path_holds_from_the_next_sample_on() {
    let mut s = paced(RoundTrips::Net, 3);
    s.expect([data(1), data(2), data(3)]);
    s.acked(100, 2, 60, 32).expect([data(4)]).gap_is(Some(54));
    s.app(|tcp| tcp.handle(Instant::from_nanos(100_000_000), Input::Notice(Notice::PathInfo { hops: 8 })));
    s.gap_is(Some(54));
    // 0.7 * 54 + 0.3 * 2 (48 / 8 + 4)
    s.acked(101, 3, 24, 24).expect([]);
    s.check(|tcp| tcp.pacer().and_then(|pacer| pacer.gap()), Some(Duration::from_micros(43_800)));
}

#[test]
fn an_ack_of_two_segments_releases_one_for_each_gap() {
    let mut s = paced(RoundTrips::Net, 4);
    s.expect([data(1), data(2), data(3), data(4)]);
    s.acked(100, 3, 60, 32).expect([data(5)]);
    s.at_ms(154).expect([data(6)]);
    s.at_ms(208).expect([data(7)]);
}

fn paced_by_authors(initial_window: u16) -> Tcp {
    let pacer = PacingConfig { history: 1, ..PacingConfig::new(BitRate(2_000_000)) };
    paced_by(Pacing::new(pacer.with_rules(Rules::Authors)), initial_window)
}

/// An ACK up to segment `n` over four hops: the segment took 60 ms, the ACK was held for 10 ms and took 22
/// ms. The delay is 92 / 2 + 8 ms.
fn echoes(s: &mut Tcp, ms: u64, n: u32) -> &mut Tcp {
    let [there, held, back] = [60, 10, 22].map(Duration::from_millis);
    let segment = Segment { ack: Some(number(n)), ..from_peer() };
    let now = Instant::ZERO + Duration::from_millis(ms);
    s.at_ms(ms).app(|tcp| tcp.handle(now, Input::Timed(segment, Trip { there, back, held, hops: 4 })))
}

#[test]
fn by_the_authors_rules_one_segment_leaves_at_each_expiry_of_a_free_timer() {
    let mut s = paced_by_authors(4);
    s.expect([data(1)]).gap_is(None);
    s.at_ms(50).expect([data(2)]);
    s.at_ms(100).expect([data(3)]);
    echoes(&mut s, 110, 2).gap_is(Some(54)).expect([]);
    // The timer was set by the old gap.
    s.at_ms(150).expect([data(4)]);
    s.at_ms(204).expect([data(5)]);
    s.at_ms(258).expect([data(6)]);
    // The window is full: a segment that becomes ready between two expiries waits for the next.
    s.at_ms(312).expect([]);
    echoes(&mut s, 320, 3).expect([]);
    s.at_ms(366).expect([data(7)]);
}

#[test]
fn by_the_authors_rules_a_fast_retransmission_leaves_at_once_and_stops_the_timer() {
    let mut s = paced_by_authors(4);
    s.expect([data(1)]);
    for (ms, n) in [(50, 2), (100, 3), (150, 4)] {
        s.at_ms(ms).expect([data(n)]);
    }
    echoes(&mut s, 160, 2).expect([]);
    s.at_ms(200).expect([data(5)]);
    for ms in [201, 202] {
        echoes(&mut s, ms, 2).expect([]);
    }
    echoes(&mut s, 203, 2).expect([data(2)]);
    s.at_ms(290).expect([]);
    // Retransmitted or not, each ACK is a sample.
    echoes(&mut s, 300, 6).gap_is(Some(54)).expect([]);
    s.at_ms(354).expect([data(6)]);
}

#[test]
fn by_the_authors_rules_a_timeout_does_not_back_off_and_stops_the_timer() {
    let mut s = paced_by_authors(3);
    s.expect([data(1)]);
    s.at_ms(50).expect([data(2)]);
    s.at_ms(100).expect([data(3)]);
    s.at_ms(1000).expect([data(1)]);
    s.check(|tcp| tcp.rtt().rto(), Duration::from_secs(1));
    s.at_ms(1900).expect([]);
    s.at_ms(2000).expect([data(1)]);
    echoes(&mut s, 2100, 2).expect([]);
    s.at_ms(2154).expect([data(2)]);
    s.at_ms(2208).expect([data(3)]);
}
