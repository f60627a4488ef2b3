//! Two endpoints over whole paths: one without losses, and one whose reverse path breaks (Appendix B).

use multihop_core::{Duration, Instant, Machine};
use multihop_testkit::{LinkConfig, Pair, Port};
use multihop_transport::connection::Data;
use multihop_transport::tpa::{AckPolicy, Config, Event, Input, Output, Phase, Ports, RtoConfig, TpaEnd};
use multihop_wire::tpa::{BlockSeq, Body, Segment};

/// An endpoint that receives nothing for a while.
struct Deaf {
    tpa: TpaEnd,
    from: Instant,
    until: Instant,
    /// When data left, and its place in its block.
    sent: Vec<(Instant, u8)>,
}

impl Machine for Deaf {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        if !(self.from..self.until).contains(&now) {
            self.tpa.handle(now, input);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.tpa.handle_timeout(now);
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        let output = self.tpa.poll_output(now);
        if let Some(Output::Segment(Segment { body: Body::Data { position, .. }, .. })) = output {
            self.sent.push((now, position));
        }
        output
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tpa.poll_timeout()
    }
}

fn take(output: Output) -> Result<Segment, Output> {
    match output {
        Output::Segment(segment) => Ok(segment),
        event @ Output::Event(_) => Err(event),
    }
}

/// An endless source that receives nothing for some time, over a path with a one-way delay of 20 ms.
fn pair(config: &Config, deaf: [Instant; 2]) -> Pair<Deaf, Segment> {
    let end = |local: u16, remote: u16, [from, until]: [Instant; 2]| {
        let tpa = TpaEnd::new(config.clone(), Ports { local, remote }, BlockSeq(0));
        Deaf { tpa, from, until, sent: Vec::new() }
    };
    let link = LinkConfig { delay: Duration::from_millis(20), ..LinkConfig::default() };
    let ends = [end(1, 2, deaf), end(2, 1, [Instant::ZERO; 2])];
    let mut pair = Pair::new(ends, Port { take, give: Input::Segment }, link, 1);
    pair.call(1, |end| end.tpa.listen());
    pair.call(0, |end| end.tpa.connect());
    pair.call(0, |end| end.tpa.send(Data::Endless)).expect("the connection is open");
    pair
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn tpa_star_3(notices: bool) -> Config {
    let ack_policy = AckPolicy::EveryWindow;
    Config { cwnd_max: 3, ack_policy, notices, sink: true, ..Config::paper() }
}

#[test]
fn a_clean_path_needs_no_retransmission() {
    // The ACK of the third of three segments waits for the next segment: two round trips for each.
    for (cwnd_max, ack_policy, each_round) in [
        (2, AckPolicy::EveryTwo, 2),
        (3, AckPolicy::EveryTwo, 2),
        (2, AckPolicy::EveryWindow, 2),
        (3, AckPolicy::EveryWindow, 3),
    ] {
        for profile in [Config::paper(), Config::net()] {
            let config = Config { cwnd_max, ack_policy, sink: true, ..profile };
            let mut pair = pair(&config, [Instant::ZERO; 2]);
            let end = at_ms(10_000);
            pair.drive(end, |pair| pair.now() >= end);
            let [sender, receiver] = pair.ends.each_ref().map(|end| *end.tpa.counters());
            assert_eq!((sender.retransmitted, sender.timeouts, receiver.duplicates), (0, 0, 0));
            assert_eq!((sender.dropped, receiver.dropped), (0, 0));
            assert!(receiver.acks_held == 0 || each_round < u64::from(cwnd_max));
            // 250 round trips of 40 ms, of which the SYN takes one.
            assert!(receiver.delivered >= each_round * 248, "{cwnd_max}: {receiver:?}");
        }
    }
}

/// With an ACK for every two segments, the third segment is acknowledged only by the receiver's timer.
#[test]
fn a_timeout_covers_the_hold_by_its_samples_or_by_a_term_of_its_own() {
    let of = |covers_hold| {
        let config = Config { ack_policy: AckPolicy::EveryTwo, sink: true, notices: true, ..Config::net() };
        let config = Config { rto: RtoConfig { covers_hold, ..config.rto }, ..config };
        let mut pair = pair(&config, [Instant::ZERO; 2]);
        let end = at_ms(10_000);
        pair.drive(end, |pair| pair.now() >= end);
        pair.ends[0].tpa.counters().timeouts
    };
    assert_eq!((of(true), of(false)), (0, 0));
}

/// Appendix B: the reverse path is broken for 11.36 s. The sender transmits one new segment at
/// each expiry, six or seven in all; all arrive, and none is retransmitted.
#[test]
fn while_acks_are_lost_new_segments_get_through() {
    for notices in [true, false] {
        for start in (1000..1400).step_by(7) {
            let deaf = [at_ms(start), at_ms(start + 11_360)];
            let mut pair = pair(&tpa_star_3(notices), deaf);
            pair.drive(deaf[1], |pair| pair.now() >= deaf[1]);
            let sender = &pair.ends[0];
            let phase = if notices { Phase::Congested } else { Phase::Freeze };
            assert_eq!(sender.tpa.phase(), phase);
            // The ACKs of segments sent before were lost; their timeouts change the state.
            let first = sender.sent.iter().position(|&(at, _)| at >= deaf[0] + Duration::from_millis(100));
            let during = &sender.sent[first.expect("it goes on")..];
            let in_order = during.windows(2).all(|pair| pair[1].1 == (pair[0].1 + 1) % 12);
            let new = during.len();
            if in_order && !during.iter().any(|&(_, position)| position == 0) {
                assert!((6..=7).contains(&new), "{new} from {start} ms");
                assert_eq!(sender.tpa.counters().retransmitted, 0);
            }
            let resumed = deaf[1] + Duration::from_secs(14);
            pair.drive(resumed, |pair| pair.ends[0].tpa.phase() == Phase::Normal);
            assert_eq!(pair.ends[0].tpa.phase(), Phase::Normal, "from {start} ms");
            let delivered = pair.ends[1].tpa.counters().bytes_delivered;
            assert!(delivered >= pair.ends[0].tpa.counters().bytes_acked);
        }
    }
}

/// The same with the place in the block of Figure 23: segments 0, 1 and 2 are in flight.
#[test]
fn figure_23_from_the_first_segment_of_a_block() {
    let mut found = None;
    for start in 1000..1200 {
        let deaf = [at_ms(start), at_ms(start + 11_360)];
        let mut pair = pair(&tpa_star_3(true), deaf);
        pair.drive(deaf[1], |pair| pair.now() >= deaf[1]);
        let during: Vec<_> = pair.ends[0].sent.iter().filter(|&&(at, _)| at >= deaf[0]).collect();
        let before: Vec<_> = pair.ends[0].sent.iter().filter(|&&(at, _)| at < deaf[0]).collect();
        if before.last().is_some_and(|&&(_, position)| position == 2) {
            found = Some((during.iter().map(|&&(_, p)| p).collect::<Vec<_>>(), pair));
            break;
        }
    }
    let (places, mut pair) = found.expect("some block begins in those 200 ms");
    assert!(places == [3, 4, 5, 6, 7, 8] || places == [3, 4, 5, 6, 7, 8, 9], "{places:?}");
    let until = pair.now() + Duration::from_secs(14);
    assert!(pair.drive(until, |pair| pair.ends[0].tpa.phase() == Phase::Normal));
    assert_eq!(pair.ends[0].tpa.counters().retransmitted, 0);
    let timed_out = |event: &Output| *event == Output::Event(Event::TimedOut);
    assert!(!pair.events.iter().flatten().any(timed_out));
}
