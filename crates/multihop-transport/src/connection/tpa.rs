use alloc::boxed::Box;

use multihop_core::{Instant, Machine, Notice, Payload};
use multihop_wire::tpa::BlockSeq;

use super::{
    Connection, ConnectionConfig, Counters, Data, Flow, MeshCounters, Output, Progress, RoundTrip, Segment,
    endpoint::endpoint_calls, pace_of,
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
    endpoint_calls!(Tpa, tpa);

    fn notice(&mut self, now: Instant, notice: Notice) {
        self.handle(now, tpa::Input::Notice(notice));
    }

    fn read_into(&mut self, into: &mut [u8]) -> usize {
        self.read_into(into)
    }

    fn set_mss(&mut self, mss: u16) {
        self.set_mss(mss);
    }

    fn shutdown(&mut self, _now: Instant) {
        self.shutdown();
    }

    fn receive(&mut self, now: Instant, segment: Segment, _trip: Option<Trip>) {
        let Segment::Tpa(segment) = segment else { return };
        self.handle(now, tpa::Input::Segment(segment));
    }

    fn wants_notices(&self) -> bool {
        self.config().notices
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
