use alloc::boxed::Box;

use multihop_core::{Instant, Machine, Notice, Payload};
use multihop_wire::tpa::BlockSeq;

use super::{
    Connection, ConnectionConfig, Counters, Data, Flow, Output, Progress, RoundTrip, Segment, pace_of,
};
use crate::event::SendError;
use crate::tcp::Trip;
use crate::tpa::{self, Config, Endpoint, State};

impl ConnectionConfig for Config {
    fn ends(&self, flow: &mut Flow<'_>) -> [Box<dyn Connection>; 2] {
        let mut config = Self { sink: flow.sink, initial_ttl: flow.initial_ttl, ..self.clone() };
        if let Some(pacing) = &mut config.pacing {
            pacing.bandwidth = flow.bandwidth;
        }
        flow.pair("tpa/iss", 16, |ports, initial| {
            let initial = u16::try_from(initial).expect("16 bits are left");
            Endpoint::new(config.clone(), ports, BlockSeq(initial))
        })
    }
}

impl Connection for Endpoint {
    fn listen(&mut self) {
        self.listen();
    }

    fn connect(&mut self) {
        self.connect();
    }

    fn send(&mut self, _now: Instant, data: Data) -> Result<(), SendError> {
        match data {
            Data::Bytes(bytes) => self.send(bytes.into()),
            Data::Virtual(bytes) => self.send_virtual(bytes),
            Data::Endless => self.send_forever(),
        }
    }

    fn read(&mut self, max: u32) -> Payload {
        self.read(max)
    }

    fn shutdown(&mut self, _now: Instant) {
        self.shutdown();
    }

    fn abort(&mut self) {
        self.abort();
    }

    fn receive(&mut self, now: Instant, segment: Segment, _trip: Option<Trip>) {
        let Segment::Tpa(segment) = segment else { return };
        self.handle(now, tpa::Input::Segment(segment));
    }

    fn notice(&mut self, now: Instant, notice: Notice) {
        self.handle(now, tpa::Input::Notice(notice));
    }

    fn wants_notices(&self) -> bool {
        self.config().notices
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        Some(match Machine::poll_output(self, now)? {
            tpa::Output::Segment(segment) => Output::Segment(Segment::Tpa(segment)),
            tpa::Output::Event(event) => Output::Event(event),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Machine::poll_timeout(self)
    }

    fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    fn counters(&self) -> Counters {
        let counters = self.counters();
        Counters {
            sent: counters.data_sent,
            retransmitted: counters.retransmitted,
            timeouts: counters.timeouts,
            delivered: counters.delivered,
            out_of_order: counters.out_of_order,
        }
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        Some(RoundTrip { latest: self.rtt().latest()?, samples: self.rtt().samples() })
    }

    fn progress(&self) -> Option<Progress> {
        Some(Progress {
            cwnd: f64::from(self.cwnd()),
            round_trip: self.round_trip(),
            state: self.phase().name(),
            pace: self.pacer().and_then(|pacer| pace_of(pacer, self.mss())),
        })
    }
}
