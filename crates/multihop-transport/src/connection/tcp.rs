use alloc::boxed::Box;

use multihop_core::{Instant, Machine, Notice, Payload};
use multihop_wire::tcp::SeqNumber;

use super::{
    Connection, ConnectionConfig, Counters, Data, Flow, Measurements, Output, Progress, Reactions, RoundTrip,
    Segment, endpoint::endpoint_calls, pace_of,
};
use crate::event::SendError;
use crate::tcp::{self, Config, Endpoint, State, Trip, window_for_hops};

impl ConnectionConfig for Config {
    fn ends(&self, flow: &mut Flow<'_>) -> [Box<dyn Connection>; 2] {
        let mut config = Self { sink: flow.sink, ..self.clone() };
        if config.window_by_hops
            && let Some(hops) = (flow.hops)()
        {
            config.window_max = window_for_hops(hops);
        }
        if let Some(pacing) = &mut config.pacing {
            pacing.pacer.bandwidth = flow.bandwidth;
        }
        flow.pair("tcp/iss", 32, |ports, initial| {
            let initial = u32::try_from(initial).expect("32 bits are left");
            Endpoint::new(config.clone(), ports, SeqNumber(initial))
        })
    }
}

impl Connection for Endpoint {
    endpoint_calls!(Tcp, tcp);

    fn shutdown(&mut self, _now: Instant) {
        self.close();
    }

    fn receive(&mut self, now: Instant, segment: Segment, trip: Option<Trip>) {
        let Segment::Tcp(segment) = segment else { return };
        self.handle(
            now,
            match trip {
                Some(trip) => tcp::Input::Timed(segment, trip),
                None => tcp::Input::Segment(segment),
            },
        );
    }

    fn wants_notices(&self) -> bool {
        self.config().elfn.is_some()
    }

    fn progress(&self) -> Option<Progress> {
        Some(Progress {
            cwnd: f64::from(self.cwnd()) / f64::from(self.mss()),
            round_trip: self.round_trip(),
            state: self.phase().name(),
            pace: self.pacer().and_then(|pacer| pace_of(pacer, self.mss())),
        })
    }

    fn measurements(&self) -> Option<Measurements> {
        let (metrics, levels) = (*self.metrics()?, *self.levels()?);
        Some(Measurements { metrics, levels, network: self.network_state()? })
    }

    fn reactions(&self) -> Option<Reactions> {
        let counters = self.counters();
        self.config().is_adtcp().then(|| Reactions {
            count: counters.fast_retransmits + counters.timeouts,
            reported: self.told_state(),
        })
    }
}
