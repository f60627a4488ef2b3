//! Every loss pattern of the first twelve packets: two machines, two blocks of two segments.

use multihop_transport::connection::Data;
use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Machine, earliest};
use multihop_transport::tpa::{AckPolicy, Config, Event, Fill, Input, Output, Ports, State, TpaEnd};
use multihop_wire::tpa::{BlockSeq, Segment};

const PACKETS: u32 = 12;
const DELAY: Duration = Duration::from_millis(30);

/// Two endpoints with a delay of 30 ms; some of the first twelve packets are lost.
struct Run {
    ends: [TpaEnd; 2],
    lost: u32,
    sent: u32,
    under_way: VecDeque<(Instant, usize, Segment)>,
    now: Instant,
    delivered: u64,
    failed: bool,
}

impl Run {
    fn new(config: &Config, lost: u32) -> Self {
        let end = |local: u16, remote: u16, iss: u16| {
            TpaEnd::new(config.clone(), Ports { local, remote }, BlockSeq(iss))
        };
        let ends = [end(1, 2, 0xffff), end(2, 1, 7)];
        let under_way = VecDeque::new();
        Self { ends, lost, sent: 0, under_way, now: Instant::ZERO, delivered: 0, failed: false }
    }

    fn drain(&mut self) {
        for side in 0..2 {
            loop {
                let (flight, allowed) = (self.ends[side].flight(), self.ends[side].window());
                match self.ends[side].poll_output(self.now) {
                    None => break,
                    Some(Output::Segment(segment)) => {
                        assert!(self.ends[side].flight() <= flight || flight < allowed);
                        self.put(side, segment);
                    }
                    Some(Output::Event(Event::Delivered(bytes))) => self.delivered += bytes,
                    Some(Output::Event(Event::PeerClosed)) => {
                        self.ends[side].close();
                    }
                    Some(Output::Event(event)) => {
                        self.failed |= matches!(event, Event::Reset | Event::TimedOut);
                    }
                }
            }
        }
    }

    fn put(&mut self, side: usize, segment: Segment) {
        let vanishes = self.sent < PACKETS && self.lost >> self.sent & 1 == 1;
        self.sent += 1;
        if !vanishes {
            self.under_way.push_back((self.now + DELAY, 1 - side, segment));
        }
    }

    /// Runs until both linger; false if that never happens.
    fn finish(&mut self) -> bool {
        let limit = Instant::ZERO + Duration::from_secs(1000);
        while self.ends.iter().any(|end| end.state() != State::Linger) {
            let ends = earliest(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
            let next = earliest(ends, self.under_way.front().map(|&(at, ..)| at));
            let Some(at) = next.filter(|&at| at < limit) else { return false };
            self.now = at;
            while self.under_way.front().is_some_and(|&(at, ..)| at == self.now) {
                let (_, side, segment) = self.under_way.pop_front().expect("there is a first one");
                self.ends[side].handle(self.now, Input::Segment(segment));
                self.drain();
            }
            for side in 0..2 {
                self.ends[side].handle_timeout(self.now);
                self.drain();
                assert!(self.ends[side].poll_timeout().is_none_or(|due| due > self.now));
            }
        }
        true
    }
}

fn every_pattern(config: &Config) {
    // The first five SYNs are among the twelve.
    let mut config = Config { mss: 1000, block_size: 2, sink: true, ..config.clone() };
    config.lifecycle.syn_retries = None;
    for lost in 0..1 << PACKETS {
        let mut run = Run::new(&config, lost);
        run.ends[1].listen();
        run.ends[0].connect();
        run.ends[0].send(Data::Virtual(4000)).expect("the connection is open");
        run.ends[0].close();
        run.drain();
        let over = run.finish();
        let states = run.ends.each_ref().map(TpaEnd::state);
        assert!(over && !run.failed, "{lost:012b}: {states:?} at {}", run.now);
        let [sender, receiver] = run.ends.each_ref().map(TpaEnd::counters);
        assert_eq!((run.delivered, receiver.delivered, sender.bytes_acked), (4000, 4, 4000), "{lost:012b}");
        assert_eq!((sender.dropped, receiver.dropped), (0, 0), "{lost:012b}");
        if lost == 0 {
            assert_eq!((sender.retransmitted, receiver.duplicates), (0, 0));
        }
    }
}

#[test]
fn tpa() {
    every_pattern(&Config::paper());
}

#[test]
fn tpa_with_notices_and_a_window_of_one() {
    every_pattern(&Config { notices: true, cwnd_max: 1, ..Config::paper() });
}

#[test]
fn tpa_star_with_the_end_of_blocks_acknowledged() {
    let (ack_policy, fill) = (AckPolicy::EveryWindow, Fill::Segment);
    every_pattern(&Config { ack_policy, fill, ack_block_end: true, ..Config::paper() });
}

#[test]
fn tpa_for_real_networks() {
    every_pattern(&Config::net());
}
