//! Every loss pattern of the first twelve packets, from the first SYN to the last ACK.

use multihop_core::{Duration, Instant, Machine};
use multihop_transport::channel::{ChannelId, Channels, Content, Options};
use multihop_transport::connection::Data;
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::{Config, Output};
use multihop_wire::mesh::Segment;

use super::pair::Watched;
use crate::losses::{LossyEnd, LossyRun};

const PACKETS: u32 = 12;
const BYTES: u64 = 6000;

impl LossyEnd for Watched {
    type Segment = Segment;

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        Machine::poll_output(self, now)
    }

    fn receive(&mut self, now: Instant, segment: Segment) {
        self.handle(now, segment);
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Machine::poll_timeout(self)
    }

    fn close(&mut self, _now: Instant) {
        self.end.close();
    }

    fn state(&self) -> State {
        self.end.state()
    }
}

fn every_pattern(config: &Config) {
    let config = Config { mss: 1000, sink: true, ..config.clone() };
    for lost in 0..1 << PACKETS {
        let mut run = LossyRun::new(Watched::two([&config; 2]), lost);
        run.ends[0].end.send(Data::Virtual(BYTES)).expect("the stream is open");
        run.ends[0].end.close();
        run.drain();
        assert!(
            run.finish(Duration::from_secs(20)) && !run.failed,
            "{lost:012b}: {:?} at {}",
            run.ends,
            run.now
        );
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

/// An end that sends messages in two channels once the connection is established, or reads them.
#[derive(Debug)]
struct Messenger {
    watched: Watched,
    sends: bool,
    /// Messages and gaps read: channel, number, and bytes or none for a gap.
    read: Vec<(ChannelId, u64, Option<usize>)>,
}

impl Messenger {
    fn send(&mut self, now: Instant) {
        let deadline = Some(Duration::from_millis(150));
        let reliable = Options { priority: 5, ..Options::default() };
        let fresh = Options { priority: 0, is_ordered: false, deadline, ..Options::default() };
        let [reliable, fresh] = [reliable, fresh]
            .map(|options| self.watched.end.open_channel(options).expect("the peer has channels"));
        for (channel, len) in [(reliable, 900), (fresh, 300), (reliable, 1200), (fresh, 1100)] {
            self.watched.end.send_message(now, channel, Data::Virtual(len)).expect("there is room");
        }
        self.watched.end.close();
    }
}

impl LossyEnd for Messenger {
    type Segment = Segment;

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if self.sends && self.watched.end.state() == State::Established {
            self.sends = false;
            self.send(now);
        }
        Machine::poll_output(&mut self.watched, now)
    }

    fn receive(&mut self, now: Instant, segment: Segment) {
        self.watched.handle(now, segment);
        while let Some(received) = self.watched.end.poll_message(now) {
            let (len, count) = match received.content {
                Content::Whole(data) => (Some(data.len()), 1),
                Content::Gap(count) => (None, count),
                part @ Content::Part { .. } => panic!("{part:?} of a short message"),
            };
            let numbers = received.message..received.message + count;
            self.read.extend(numbers.map(|number| (received.channel, number, len)));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(&mut self.watched, now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Machine::poll_timeout(&self.watched)
    }

    fn close(&mut self, _now: Instant) {
        self.watched.end.close();
    }

    fn state(&self) -> State {
        self.watched.end.state()
    }
}

#[test]
fn messages_of_two_channels() {
    let config = Config { mss: 1000, channels: true, ..Config::default() };
    let mut gaps = 0;
    for lost in 0..1 << PACKETS {
        let mut ends =
            Watched::two([&config; 2]).map(|watched| Messenger { watched, sends: false, read: vec![] });
        ends[0].sends = true;
        let mut run = LossyRun::new(ends, lost);
        run.drain();
        assert!(
            run.finish(Duration::from_secs(20)) && !run.failed,
            "{lost:012b}: {:?} at {}",
            run.ends,
            run.now
        );
        let of = |channel: u16| -> Vec<(u64, Option<usize>)> {
            let read = run.ends[1].read.iter().filter(|(id, ..)| id.0 == channel);
            read.map(|&(_, number, len)| (number, len)).collect()
        };
        assert_eq!(of(1), [(0, Some(900)), (1, Some(1200))], "{lost:012b}");
        let mut fresh = of(3);
        fresh.sort_unstable();
        let expected = [(0, Some(300)), (1, Some(1100))];
        assert_eq!(fresh.len(), 2, "{lost:012b}: {fresh:?}");
        for (found, expected) in fresh.iter().zip(expected) {
            assert!(*found == expected || *found == (expected.0, None), "{lost:012b}: {fresh:?}");
            gaps += u64::from(found.1.is_none());
        }
        assert!(lost > 0 || fresh == expected, "no gap without a loss");
    }
    assert!(gaps > 100, "{gaps} messages were given up");
}
