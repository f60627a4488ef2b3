//! Every loss pattern of the first twelve packets, from the first SYN to the last ACK.

use multihop_core::{Duration, Instant, Machine};
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
