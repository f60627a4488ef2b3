//! Connections of transports that do not open and close them, in virtual time.

use multihop_core::{Duration, Instant};
use multihop_transport::connection::{Connection, Data, Opened, OpenedConfig, Output, Segment, State};
use multihop_transport::lifecycle;
use multihop_transport::tcp::{Config, Ports, TcpEnd};
use multihop_wire::tcp::SeqNumber;

use super::losses::{LossyEnd, LossyRun};

const PACKETS: u32 = 10;
const BYTES: usize = 3000;

/// An end, and the data that has been read from it.
struct Reading {
    end: Opened,
    received: Vec<u8>,
}

impl Reading {
    fn new(number: u32) -> Self {
        let config = OpenedConfig {
            lifecycle: lifecycle::Config {
                syn_wait_max: Some(Duration::from_secs(1)),
                user_timeout: None,
                linger: Duration::from_secs(10_000),
                ..lifecycle::Config::USUAL
            },
            initial_ttl: 64,
            capacity: 100_000,
        };
        let ports = Ports { local: 7, remote: 7 };
        let inner = TcpEnd::new(Config { sink: false, ..Config::default() }, ports, SeqNumber(number));
        Self { end: Opened::new(Box::new(inner), config, number), received: Vec::new() }
    }
}

impl LossyEnd for Reading {
    type Segment = Segment;

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        let output = self.end.poll_output(now);
        assert!(!matches!(output, Some(Output::Segment(Segment::Tcp(_) | Segment::Custom(_)))), "{output:?}");
        output
    }

    fn receive(&mut self, now: Instant, segment: Segment) {
        self.end.receive(now, segment, None);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.end.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.end.poll_timeout()
    }

    fn close(&mut self, now: Instant) {
        self.end.close(now);
    }

    fn state(&self) -> State {
        self.end.state()
    }

    fn read(&mut self) {
        let mut bytes = [0; 2 * BYTES];
        let taken = self.end.read_into(&mut bytes);
        self.received.extend_from_slice(&bytes[..taken]);
    }
}

/// Data that is queued before the connection is open arrives whole, and both ends close, whatever is lost.
#[test]
fn every_pattern_of_losses_ends_with_all_data_and_both_closed() {
    let data: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
    for lost in 0..1 << PACKETS {
        let mut run = LossyRun::new([1, 2].map(Reading::new), lost);
        let [sender, receiver] = run.ends.each_mut().map(|side| &mut side.end);
        receiver.listen();
        sender.connect();
        sender.send(Instant::ZERO, Data::Bytes(data.clone())).expect("the stream is open");
        sender.shutdown(Instant::ZERO);
        assert_eq!(sender.unacked(), BYTES as u64);
        run.drain();
        let is_over = run.finish(Duration::from_secs(3000));
        let states = run.ends.each_ref().map(LossyEnd::state);
        assert!(is_over && !run.failed, "{lost:010b}: {states:?} at {}", run.now);
        let [sender, receiver] = &run.ends;
        assert!(receiver.received == data, "{lost:010b}: {} bytes", receiver.received.len());
        assert_eq!(sender.end.unacked(), 0, "{lost:010b}");
    }
}
