use alloc::boxed::Box;

use multihop_core::{Instant, Machine, Notice, Payload};
use multihop_wire::tpa::{BlockSeq, MAX_BLOCK};

use super::{
    Connection, ConnectionConfig, Counters, Data, FlowSetup, Output, RoundTrip, Segment, StreamCounters,
    Summary, endpoint::endpoint_calls,
};
use crate::event::{SendError, Trip};
use crate::observe::{Quantity, Row, Value};
use crate::pacing::Pacer;
use crate::tpa::{self, Config, OBSERVED, State, TpaEnd};

impl ConnectionConfig for Config {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        let mut config = Self { sink: flow.sink, initial_ttl: flow.initial_ttl, ..self.clone() };
        if let Some(pacing) = &mut config.pacing {
            pacing.bandwidth = flow.bandwidth;
        }
        if let Some(lifecycle) = flow.lifecycle {
            config.lifecycle = lifecycle;
        }
        flow.pair("tpa/iss", 16, |ports, initial| {
            let initial = u16::try_from(initial).expect("16 bits are left");
            TpaEnd::new(config.clone(), ports, BlockSeq(initial))
        })
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }

    /// Number of bytes that wait to be read, and of the incomplete block.
    fn receive_buffer(&self) -> u64 {
        self.recv_capacity() + u64::from(self.mss) * u64::from(MAX_BLOCK)
    }
}

impl Connection for TpaEnd {
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

    fn close(&mut self, _now: Instant) {
        self.close();
    }

    fn connect_again(&mut self) {
        self.connect_again();
    }

    fn state(&self) -> State {
        self.state()
    }

    fn peer_ttl(&self) -> Option<u8> {
        // Before the peer's SYN arrives, its options have default values.
        let is_known = !matches!(self.state(), State::Closed | State::Listen | State::SynSent);
        is_known.then(|| self.peer().initial_ttl)
    }

    fn gives_way_to(&self, segment: &Segment) -> bool {
        matches!(segment, Segment::Tpa(segment) if self.gives_way_to(segment))
    }

    fn unacked(&self) -> u64 {
        self.unacked()
    }

    fn unread(&self) -> u64 {
        self.unread()
    }

    fn summary(&self) -> Summary {
        let (rtt, counters) = (self.rtt(), self.counters());
        Summary {
            phase: self.phase().name(),
            smoothed_rtt: rtt.srtt(),
            latest_rtt: rtt.latest(),
            rto: rtt.rto(),
            cwnd: self.cwnd().into(),
            window: self.window().into(),
            flight: self.flight().into(),
            mss: self.mss(),
            ssthresh: None,
            pacing_gap: self.pacer().and_then(Pacer::gap),
            counters: StreamCounters {
                segments_sent: counters.segments_sent,
                data_sent: counters.data_sent,
                retransmitted: counters.retransmitted,
                acks_sent: counters.acks_sent,
                timeouts: counters.timeouts,
                freezes: counters.freezes,
                notices: counters.notices,
                probes: counters.probes,
                data_received: counters.data_received,
                delivered: counters.delivered,
                out_of_order: counters.out_of_order,
                duplicates: counters.duplicates,
                dropped: counters.dropped,
                bytes_acked: counters.bytes_acked,
                bytes_delivered: counters.bytes_delivered,
            },
        }
    }

    fn wants_notices(&self) -> bool {
        self.config().notices
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }

    fn value(&self, index: usize) -> Option<Value> {
        OBSERVED.get(index)?.value(self)
    }
}
