//! Two ends that must not transmit while the window is full.

use multihop_core::{Instant, Machine};
use multihop_testkit::{LinkConfig, Pair, Port};
use multihop_transport::mesh::{Config, End, Output};
use multihop_wire::mesh::Segment;

pub(super) type Connection = Pair<Watched, Segment>;

/// An end, and what it has transmitted.
pub(super) struct Watched {
    pub(super) end: End,
    pub(super) acks: u64,
    pub(super) probes: u64,
}

impl Watched {
    pub(super) fn new(config: &Config) -> Self {
        Self { end: End::new(config.clone(), PORT), acks: 0, probes: 0 }
    }
}

impl Machine for Watched {
    type Input = Segment;
    type Output = Output;

    fn handle(&mut self, now: Instant, segment: Segment) {
        self.end.receive(now, segment);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.end.handle_timeout(now);
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        let (flight, limit) = (self.end.flight(), self.end.flight_limit());
        let output = self.end.poll_output(now);
        match &output {
            Some(Output::Segment(Segment::Ack(_))) => self.acks += 1,
            Some(Output::Segment(Segment::Data(data))) if data.payload.is_empty() => self.probes += 1,
            // A probe repeats what is in flight.
            Some(Output::Segment(Segment::Data(_))) if self.end.flight() > flight => {
                assert!(flight < limit || self.end.state() == "freeze", "{flight} of {limit} in flight");
            }
            _ => {}
        }
        output
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.end.poll_timeout()
    }
}

fn take(output: Output) -> Result<Segment, Output> {
    match output {
        Output::Segment(segment) => Ok(segment),
        event @ Output::Event(_) => Err(event),
    }
}

pub(super) fn connect(configs: [&Config; 2], link: LinkConfig, seed: u64) -> Connection {
    let ends = configs.map(Watched::new);
    Pair::new(ends, Port { take, give: |segment| segment }, link, seed)
}

pub(super) const PORT: u16 = 1024;
