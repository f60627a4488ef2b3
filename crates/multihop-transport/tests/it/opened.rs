//! Connections of transports that do not open and close them, in virtual time.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, earliest};
use multihop_transport::connection::{Connection, Data, Event, Opened, OpenedConfig, Output, Segment, State};
use multihop_transport::lifecycle;
use multihop_transport::tcp::{Config, Ports, TcpEnd};
use multihop_wire::tcp::SeqNumber;

const DELAY: Duration = Duration::from_millis(30);
const PACKETS: u32 = 10;
const BYTES: usize = 3000;

/// Two ends, the first of which sends and closes. Some of the first ten segments are lost.
struct Run {
    ends: [Opened; 2],
    lost: u32,
    sent: u32,
    under_way: VecDeque<(Instant, usize, Segment)>,
    now: Instant,
    received: Vec<u8>,
    failed: bool,
}

impl Run {
    fn new(lost: u32) -> Self {
        let config = OpenedConfig {
            lifecycle: lifecycle::Config {
                syn_wait: Duration::from_secs(1),
                syn_wait_max: Some(Duration::from_secs(1)),
                syn_retries: None,
                keepalive: None,
                user_timeout: None,
                linger: Duration::from_secs(10_000),
            },
            initial_ttl: 64,
            capacity: 100_000,
        };
        let ends = [1, 2].map(|number| {
            let ports = Ports { local: 7, remote: 7 };
            let inner = TcpEnd::new(Config { sink: false, ..Config::default() }, ports, SeqNumber(number));
            Opened::new(Box::new(inner), config, number)
        });
        let under_way = VecDeque::new();
        Self { ends, lost, sent: 0, under_way, now: Instant::ZERO, received: Vec::new(), failed: false }
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(output) = self.ends[side].poll_output(self.now) {
                match output {
                    Output::Segment(segment) => self.put(side, segment),
                    Output::Event(Event::Delivered(_)) => {
                        let mut bytes = [0; 2 * BYTES];
                        let taken = self.ends[side].read_into(&mut bytes);
                        self.received.extend_from_slice(&bytes[..taken]);
                    }
                    Output::Event(Event::PeerClosed) => self.ends[side].close(self.now),
                    Output::Event(event) => {
                        self.failed |= matches!(event, Event::Reset | Event::TimedOut);
                    }
                }
            }
        }
    }

    fn put(&mut self, side: usize, segment: Segment) {
        assert!(matches!(segment, Segment::Opened(_)), "{segment:?}");
        let vanishes = self.sent < PACKETS && self.lost >> self.sent & 1 == 1;
        self.sent += 1;
        if !vanishes {
            self.under_way.push_back((self.now + DELAY, 1 - side, segment));
        }
    }

    /// Runs until both linger; false if that does not happen within 3000 s.
    fn finish(&mut self) -> bool {
        let limit = Instant::ZERO + Duration::from_secs(3000);
        while self.ends.iter().any(|end| end.state() != State::Linger) {
            let ends = earliest(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
            let next = earliest(ends, self.under_way.front().map(|&(at, ..)| at));
            let Some(at) = next.filter(|&at| at < limit) else { return false };
            self.now = at;
            while self.under_way.front().is_some_and(|&(at, ..)| at == self.now) {
                let (_, side, segment) = self.under_way.pop_front().expect("there is a first one");
                self.ends[side].receive(self.now, segment, None);
                self.drain();
            }
            for side in 0..2 {
                self.ends[side].handle_timeout(self.now);
                self.drain();
            }
        }
        true
    }
}

/// Data that is queued before the connection is open arrives whole, and both ends close, whatever is lost.
#[test]
fn every_pattern_of_losses_ends_with_all_data_and_both_closed() {
    let data: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
    for lost in 0..1 << PACKETS {
        let mut run = Run::new(lost);
        run.ends[1].listen();
        run.ends[0].connect();
        run.ends[0].send(Instant::ZERO, Data::Bytes(data.clone())).expect("the stream is open");
        run.ends[0].shutdown(Instant::ZERO);
        assert_eq!(run.ends[0].unacked(), BYTES as u64);
        run.drain();
        let states = |run: &Run| run.ends.each_ref().map(Connection::state);
        assert!(run.finish() && !run.failed, "{lost:010b}: {:?} at {}", states(&run), run.now);
        assert!(run.received == data, "{lost:010b}: {} bytes", run.received.len());
        assert_eq!(run.ends[0].unacked(), 0, "{lost:010b}");
    }
}
