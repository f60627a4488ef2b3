//! Every loss pattern of the first twelve packets, from the first SYN to the last ACK.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Machine, earliest};
use multihop_transport::connection::{Data, Event};
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::{Config, Output};
use multihop_wire::mesh::Segment;

use super::pair::Watched;

const PACKETS: u32 = 12;
const DELAY: Duration = Duration::from_millis(30);
const BYTES: u64 = 6000;

/// Two ends with a delay of 30 ms; some of the first twelve packets are lost.
struct Run {
    ends: [Watched; 2],
    lost: u32,
    sent: u32,
    under_way: VecDeque<(Instant, usize, Segment)>,
    now: Instant,
    delivered: u64,
    failed: bool,
}

impl Run {
    fn new(config: &Config, lost: u32) -> Self {
        let (ends, under_way) = (Watched::two([config; 2]), VecDeque::new());
        Self { ends, lost, sent: 0, under_way, now: Instant::ZERO, delivered: 0, failed: false }
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(output) = self.ends[side].poll_output(self.now) {
                match output {
                    Output::Segment(segment) => self.put(side, segment),
                    Output::Event(Event::Delivered(bytes)) => self.delivered += bytes,
                    Output::Event(Event::PeerClosed) => self.ends[side].end.close(),
                    Output::Event(event) => {
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

    /// Runs until both linger; false if that does not happen within 20 s.
    fn finish(&mut self) -> bool {
        let limit = Instant::ZERO + Duration::from_secs(20);
        while self.ends.iter().any(|watched| watched.end.state() != State::Linger) {
            let ends = earliest(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
            let next = earliest(ends, self.under_way.front().map(|&(at, ..)| at));
            let Some(at) = next.filter(|&at| at < limit) else { return false };
            self.now = at;
            while self.under_way.front().is_some_and(|&(at, ..)| at == self.now) {
                let (_, side, segment) = self.under_way.pop_front().expect("there is a first one");
                self.ends[side].handle(self.now, segment);
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
    let config = Config { mss: 1000, sink: true, ..config.clone() };
    for lost in 0..1 << PACKETS {
        let mut run = Run::new(&config, lost);
        run.ends[0].end.send(Data::Virtual(BYTES)).expect("the stream is open");
        run.ends[0].end.close();
        run.drain();
        assert!(run.finish() && !run.failed, "{lost:012b}: {:?} at {}", run.ends, run.now);
        assert!(run.ends.iter().all(|watched| watched.end.unacked() == 0), "{lost:012b}");
        let [sender, receiver] = run.ends.each_ref().map(|watched| watched.end.counters());
        assert_eq!((run.delivered, receiver.delivered), (BYTES, 6), "{lost:012b}");
        if lost == 0 {
            assert_eq!((sender.sent, sender.retransmitted), (6, 0));
        }
    }
}

#[test]
fn mesh() {
    every_pattern(&Config::default());
}

#[test]
fn mesh_with_a_window_of_one() {
    every_pattern(&Config { window_max: 1, ..Config::default() });
}

#[test]
fn mesh_with_room_for_two_segments() {
    every_pattern(&Config { recv_buffer: 2, ack_every: 3, ..Config::default() });
}
