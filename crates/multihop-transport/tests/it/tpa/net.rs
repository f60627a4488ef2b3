//! Additions of the profile for real networks: ACK delays that follow the round trip, late samples, short outages.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Machine, Payload};
use multihop_transport::connection::Data;
use multihop_transport::tpa::{Config, Event, Input, Output, Ports, TpaEnd};
use multihop_wire::tpa::{Ack, Bitmap, BlockSeq, Body, Options, Segment};

use super::templates::*;

fn net() -> Config {
    Config { mss: 1000, block_size: K, sink: true, block_fill: Duration::ZERO, ..Config::net() }
}

/// An endpoint whose SYN was answered after `ms`.
fn connected_after(ms: u64, config: Config) -> Tpa {
    let options = own_options(&config);
    let mut s = closed(config);
    s.app(TpaEnd::connect).expect([own(0, |s| s.body = Body::Syn(options))]);
    let answer = segment(|s| (s.body, s.ack) = (Body::Syn(peer_options()), Some(acked(0, &[], 0))));
    s.at_ms(ms).gets([answer]).expect([event(Event::Connected), ack(0, &[], 0)]);
    s
}

/// The first data segment, which requests this delay of ACKs.
fn first(ack_delay: u8) -> Seen {
    own(1, |s| (s.body, s.ack_delay) = (full(0), ack_delay))
}

#[test]
fn data_requests_an_ack_delay_of_one_round_trip_within_bounds() {
    for (round_trip, delay) in [(3, 20), (60, 60), (400, 100)] {
        let mut s = connected_after(round_trip, net());
        s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([first(delay)]);
        s.gets([ack(1, &[0], 0)]);
    }
    let fixed = Config { ack_interval_min: None, ..net() };
    let mut s = connected_after(60, fixed);
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([data(1, 0, 0)]).gets([ack(1, &[0], 0)]);
}

#[test]
fn the_requested_delay_is_left_out_of_a_sample_and_covered_by_the_timeout() {
    let mut s = connected_after(60, net());
    s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([first(60)]);
    // Nine times the handshake, and the delay.
    s.check(|tpa| tpa.rtt().rto(), Duration::from_millis(9 * 60 + 60));
    s.at_ms(60 + 130).gets([held(1, &[0], 0)]);
    s.check(|tpa| tpa.rtt().latest(), Some(Duration::from_millis(70)));
}

#[test]
fn an_ack_after_the_timeout_is_a_sample_of_at_most_twice_the_timeout() {
    for (config, ms, latest) in
        [(net(), 700, 700), (net(), 3000, 1200), (Config { late_samples: false, ..net() }, 700, 60)]
    {
        let mut s = connected_after(60, config);
        s.app(|tpa| tpa.send(Data::Virtual(1000))).expect([first(60)]);
        while s.machine.counters().timeouts == 0 {
            let due = s.machine.poll_timeout().expect("the segment waits for its ACK");
            s.machine.handle_timeout(due);
        }
        let now = Instant::ZERO + Duration::from_millis(60 + ms);
        let late = Segment { ack: Some(acked(1, &[0], 0)), ..from_peer() };
        s.machine.handle(now, Input::Segment(late));
        s.check(|tpa| tpa.rtt().latest(), Some(Duration::from_millis(latest)));
    }
}

/// The times are those of two hops at 2 Mb/s: a SYN or a short request takes 8 ms there and back, the first
/// ACK of a window comes later.
#[test]
fn data_that_takes_longer_than_a_short_request_does_not_time_out() {
    let mut s = connected_after(8, net());
    let request = own(1, |s| {
        s.ack_delay = 20;
        s.body = Body::Data { position: 0, last: true, payload: Payload::Virtual(45) };
    });
    s.app(|tpa| tpa.send(Data::Virtual(45))).expect([request]);
    s.at_ms(16).gets([ack(1, &[0], 0)]);
    let two = [0, 1].map(|n| own(2, |s| (s.body, s.ack_delay, s.tx_seq) = (full(n), 20, n)));
    s.app(|tpa| tpa.send(Data::Virtual(2000))).expect(two);
    s.check(|tpa| tpa.rtt().rto(), Duration::from_millis(9 * 8 + 20));
    s.at_ms(16 + 74).gets([held(2, &[0], 0)]);
    // The timeout follows from the first round trip of a full segment alone: 54 ms besides the delay. The
    // timer of the second segment starts again.
    s.check(|tpa| tpa.rtt().rto(), Duration::from_millis(3 * 54 + 20));
    s.at_ms(16 + 74 + 3 * 54 + 19).gets([]);
    s.check(|tpa| tpa.counters().timeouts, 0);
}

/// A sender, and a peer that acknowledges each segment by itself.
struct Path {
    tpa: TpaEnd,
    now: Instant,
    answers: VecDeque<(Instant, Segment)>,
    arrived: (BlockSeq, Bitmap),
    /// Times at which data left.
    sent: Vec<Instant>,
}

impl Path {
    /// A sender with endless data, whose SYN was answered at once.
    fn new(config: Config) -> Self {
        let tpa = TpaEnd::new(config, Ports { local: LOCAL, remote: REMOTE }, ISS);
        let arrived = (ISS, Bitmap::EMPTY);
        let mut path = Self { tpa, now: Instant::ZERO, answers: VecDeque::new(), arrived, sent: Vec::new() };
        path.tpa.connect();
        path.drain(None);
        let answer =
            Segment { body: Body::Syn(Options::default()), ack: Some(acked(0, &[], 0)), ..from_peer() };
        path.tpa.handle(path.now, Input::Segment(answer));
        path.tpa.send(Data::Endless).expect("the connection is open");
        path
    }

    /// Continues until `ms`; data segments are acknowledged after `delay`, or lost.
    fn until(&mut self, ms: u64, delay: Option<Duration>) {
        let end = Instant::ZERO + Duration::from_millis(ms);
        loop {
            self.drain(delay);
            let answer = self.answers.front().map(|(at, _)| *at);
            let Some(next) = multihop_core::earliest(answer, self.tpa.poll_timeout()).filter(|at| *at < end)
            else {
                self.now = end;
                return;
            };
            self.now = next;
            match self.answers.pop_front_if(|(at, _)| *at <= next) {
                Some((_, segment)) => self.tpa.handle(next, Input::Segment(segment)),
                None => self.tpa.handle_timeout(next),
            }
        }
    }

    fn drain(&mut self, delay: Option<Duration>) {
        while let Some(output) = self.tpa.poll_output(self.now) {
            let Output::Segment(segment) = output else { continue };
            let Body::Data { position, .. } = segment.body else { continue };
            self.sent.push(self.now);
            let Some(delay) = delay else { continue };
            if segment.block != self.arrived.0 {
                self.arrived = (segment.block, Bitmap::EMPTY);
            }
            self.arrived.1 |= Bitmap::one(position);
            let (block, bitmap) = self.arrived;
            let ack = Ack { block, bitmap, tx_seq: segment.tx_seq, held: false };
            self.answers.push_back((self.now + delay, Segment { ack: Some(ack), ..from_peer() }));
        }
    }
}

/// An empty queue answers the SYN at once, but the full queue keeps data waiting.
#[test]
fn timeouts_shorter_than_the_round_trip_are_corrected() {
    let wide = Config { cwnd_max: 12, ..Config::net() };
    let mut path = Path::new(wide);
    path.until(2000, Some(Duration::from_millis(150)));
    let before = path.tpa.counters().timeouts;
    path.until(30_000, Some(Duration::from_millis(150)));
    assert!(before > 0, "the first timeout should be too short");
    assert_eq!(path.tpa.counters().timeouts - before, 0, "of {} segments", path.sent.len());
}

/// The link is back for one ACK, and lost again for a moment.
#[test]
fn after_a_long_outage_a_short_one_lasts_no_longer_than_a_probe() {
    let mut path = Path::new(Config::net());
    let delay = Some(Duration::from_millis(30));
    path.until(2000, delay);
    path.until(15_000, None);
    let mut at = 15_000;
    while path.answers.is_empty() {
        at += 1;
        path.until(at, delay);
    }
    path.until(at + 31, None);
    path.until(at + 500, None);
    let lost = path.sent.len();
    path.until(at + 20_000, delay);
    let silence = path.sent[lost] - path.sent[lost - 1];
    assert!(silence <= Duration::from_secs(1), "silent for {silence}");
}
