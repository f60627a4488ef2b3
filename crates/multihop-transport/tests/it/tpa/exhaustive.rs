//! Every loss pattern of the first twelve packets: two machines, two blocks of two segments.

use multihop_core::{Duration, Instant, Machine};
use multihop_transport::connection::Data;
use multihop_transport::tpa::{AckPolicy, Config, Fill, Input, Output, Ports, State, TpaEnd};
use multihop_wire::tpa::{BlockSeq, Segment};

use crate::losses::{LossyEnd, LossyRun};

const PACKETS: u32 = 12;

impl LossyEnd for TpaEnd {
    type Segment = Segment;

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        let (flight, allowed) = (self.flight(), self.window());
        let output = Machine::poll_output(self, now);
        assert!(self.flight() <= flight || flight < allowed);
        output
    }

    fn receive(&mut self, now: Instant, segment: Segment) {
        self.handle(now, Input::Segment(segment));
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Machine::poll_timeout(self)
    }

    fn close(&mut self, _now: Instant) {
        self.close();
    }

    fn state(&self) -> State {
        self.state()
    }
}

fn every_pattern(config: &Config) {
    // The first five SYNs are among the twelve.
    let mut config = Config { mss: 1000, block_size: 2, sink: true, ..config.clone() };
    config.lifecycle.syn_retries = None;
    for lost in 0..1 << PACKETS {
        let ends = [(1, 2, 0xffff), (2, 1, 7)]
            .map(|(local, remote, iss)| TpaEnd::new(config.clone(), Ports { local, remote }, BlockSeq(iss)));
        let mut run = LossyRun::new(ends, lost);
        run.ends[1].listen();
        run.ends[0].connect();
        run.ends[0].send(Data::Virtual(4000)).expect("the connection is open");
        run.ends[0].close();
        run.drain();
        let over = run.finish(Duration::from_secs(1000));
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
