use alloc::boxed::Box;

use multihop_core::{Instant, Notice, Payload};
use multihop_wire::mesh;

use super::{Connection, ConnectionConfig, Counters, Data, Flow, Output, Pace, Progress, RoundTrip, Segment};
use crate::event::SendError;
use crate::mesh::{Config, End};
use crate::tcp::Trip;

impl ConnectionConfig for Config {
    fn ends(&self, flow: &mut Flow<'_>) -> [Box<dyn Connection>; 2] {
        let config = Self { sink: flow.sink, ..self.clone() };
        [0, 1].map(|_| Box::new(End::new(config.clone(), flow.port)) as Box<dyn Connection>)
    }
}

impl Connection for End {
    fn send(&mut self, _now: Instant, data: Data) -> Result<(), SendError> {
        self.send(data)
    }

    fn read(&mut self, max: u32) -> Payload {
        self.read(max)
    }

    fn read_into(&mut self, into: &mut [u8]) -> usize {
        self.read_into(into)
    }

    fn set_mss(&mut self, mss: u16) {
        self.set_mss(mss.saturating_sub(mesh::Segment::DATA_HEADER));
    }

    fn shutdown(&mut self, _now: Instant) {
        self.shutdown();
    }

    fn receive(&mut self, now: Instant, segment: Segment, _trip: Option<Trip>) {
        if let Segment::Mesh(segment) = segment {
            self.receive(now, segment);
        }
    }

    fn notice(&mut self, _now: Instant, notice: Notice) {
        self.notice(notice);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        Some(match self.poll_output(now)? {
            crate::mesh::Output::Segment(segment) => Output::Segment(Segment::Mesh(segment)),
            crate::mesh::Output::Event(event) => Output::Event(event),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn counters(&self) -> Counters {
        self.counters()
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        Some(RoundTrip { latest: self.rtt().latest()?, samples: self.rtt().samples() })
    }

    fn progress(&self) -> Option<Progress> {
        let round_trip = self.round_trip();
        let pace = self.gap().map(|gap| Pace {
            rate_kbps: f64::from(self.mss()) * 8e-3 / gap.as_secs_f64().max(1e-9),
            cov: 0.0,
        });
        Some(Progress { cwnd: self.window(), round_trip, state: self.state(), pace })
    }
}
