//! Two ends that must not transmit while the window is full.

use multihop_core::{Instant, Machine};
use multihop_testkit::{LinkConfig, Pair, Port};
use multihop_transport::mesh::{Config, MeshEnd, Output};
use multihop_wire::control::{Control, Features, Options, Syn, VERSION};
use multihop_wire::mesh::Segment;

pub(super) type MeshPair = Pair<Watched, Segment>;

/// An end, and the segments that it has transmitted.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) end: MeshEnd,
    pub(super) acks: u64,
    pub(super) probes: u64,
}

impl Watched {
    /// An end that is closed.
    pub(super) fn new(config: &Config, number: u32) -> Self {
        Self { end: MeshEnd::new(config.clone(), PORT, number), acks: 0, probes: 0 }
    }

    /// Segments that left whatever the window.
    fn unbounded(&self) -> u64 {
        let counters = self.end.counters();
        counters.probes + counters.trickles
    }

    /// Two ends: the first one opens the connection, the second one listens.
    pub(super) fn two(configs: [&Config; 2]) -> [Self; 2] {
        let [mut caller, mut listener] = [0, 1].map(|side| Self::new(configs[side], NUMBERS[side]));
        caller.end.connect();
        listener.end.listen();
        [caller, listener]
    }
}

/// An end whose connection is established: the segments of both sides are counted from 0.
pub(super) fn established(config: Config) -> MeshEnd {
    established_with(config, Features::default())
}

/// An end whose connection is established with a peer that has these features.
pub(super) fn established_with(config: Config, features: Features) -> MeshEnd {
    let mut end = MeshEnd::new(config, PORT, u32::MAX);
    end.connect();
    assert!(end.poll_output(Instant::ZERO).is_some(), "a SYN");
    let options = Options { features, ..syn_ack().options };
    end.receive(Instant::ZERO, Segment::Control(Control::Syn(Syn { options, ..syn_ack() })));
    while end.poll_output(Instant::ZERO).is_some() {}
    end
}

/// The SYN ACK of a peer whose segments are counted from 0, as those of this end.
pub(super) fn syn_ack() -> Syn {
    let options = Options { version: VERSION, ..Options::default() };
    Syn { number: u32::MAX, attempt: 0, answers: Some(u32::MAX), window: 4096, options }
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
        let unbounded = self.unbounded();
        let output = self.end.poll_output(now);
        match &output {
            Some(Output::Segment(Segment::Ack(_))) => self.acks += 1,
            Some(Output::Segment(Segment::Data(data)))
                if data.payload.is_empty() && data.chunks.is_empty() =>
            {
                self.probes += u64::from(!data.is_fin);
            }
            // A probe repeats what is in flight, or considered lost. Messages with a deadline may leave without room.
            Some(Output::Segment(Segment::Data(data)))
                if self.end.flight() > flight && self.unbounded() == unbounded =>
            {
                // Two segments of a short message may leave without room, too.
                let most = limit + if data.chunks.is_empty() { 0 } else { 2 };
                assert!(flight < most || self.end.phase() == "freeze", "{flight} of {limit} in flight");
            }
            _ => {}
        }
        output
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.end.poll_timeout()
    }
}

pub(super) fn take(output: Output) -> Result<Segment, Output> {
    match output {
        Output::Segment(segment) => Ok(segment),
        event @ Output::Event(_) => Err(event),
    }
}

pub(super) fn connect(configs: [&Config; 2], link: LinkConfig, seed: u64) -> MeshPair {
    Pair::new(Watched::two(configs), Port { take, give: |segment| segment }, link, seed)
}

pub(super) const PORT: u16 = 1024;
/// The connection numbers of two ends, chosen so that the numbers of segments soon wrap.
const NUMBERS: [u32; 2] = [u32::MAX - 3, u32::MAX - 1];
