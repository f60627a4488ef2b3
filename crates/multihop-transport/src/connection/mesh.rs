use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU8;

use multihop_core::{Instant, Notice, Payload};
use multihop_wire::mesh;

use super::{
    Buffers, Connection, ConnectionConfig, Counters, Data, FlowSetup, Output, RoundTrip, Segment, State,
    Summary,
};
use crate::channel::Channels;
use crate::event::{SendError, Trip};
use crate::mesh::{Config, GUARANTEED, MeshEnd, OBSERVED};
use crate::observe::{Quantity, Row, Value};

impl ConnectionConfig for Config {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        let channels = flow.channels || self.channels;
        let config = Self { sink: flow.sink, channels, initial_ttl: flow.initial_ttl, ..self.clone() };
        let config = flow.lifecycle.map_or(config.clone(), |lifecycle| Self { lifecycle, ..config });
        flow.pair("mesh/number", 32, |ports, initial| {
            let number = u32::try_from(initial).expect("32 bits are left");
            MeshEnd::with_pool(config.clone(), ports.local, number, flow.pool.clone())
        })
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn receive_buffer(&self) -> u64 {
        u64::from(self.recv_buffer) * u64::from(self.mss)
    }

    fn channel_buffer(&self, has_channels: bool) -> u64 {
        let channels = if has_channels || self.channels { GUARANTEED } else { 0 };
        u64::from(self.channel_credit) * channels as u64
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }
}

impl Connection for MeshEnd {
    fn listen(&mut self) {
        self.listen();
    }

    fn connect(&mut self) {
        self.connect();
    }

    fn abort(&mut self) {
        self.abort();
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

    fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    fn peer_ttl(&self) -> Option<u8> {
        self.peer().initial_ttl.map(NonZeroU8::get)
    }

    fn gives_way_to(&self, segment: &Segment) -> bool {
        matches!(segment, Segment::Mesh(segment) if self.gives_way_to(segment))
    }

    fn unacked(&self) -> u64 {
        self.unacked()
    }

    fn unread(&self) -> u64 {
        self.unread()
    }

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

    fn add_path(&mut self) -> bool {
        self.add_path()
    }

    fn channels(&mut self) -> Option<&mut dyn Channels> {
        Some(self)
    }

    fn shutdown(&mut self, _now: Instant) {
        self.shutdown();
    }

    fn receive(&mut self, now: Instant, segment: Segment, _trip: Option<Trip>) {
        if let Segment::Mesh(segment) = segment {
            self.receive(now, segment);
        }
    }

    fn reuse(&mut self, memory: Vec<u8>) {
        self.reuse(memory);
    }

    fn spare(&mut self) -> Option<Vec<u8>> {
        self.spare()
    }

    fn notice(&mut self, _now: Instant, notice: Notice) {
        self.notice(notice);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn segment_priority(&self) -> Option<u8> {
        self.segment_priority()
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
        let crate::mesh::Counters { sent, retransmitted, timeouts, delivered, out_of_order, .. } =
            self.counters();
        Counters { sent, retransmitted, timeouts, delivered, out_of_order }
    }

    fn buffers(&self) -> Buffers {
        self.buffers()
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        Some(RoundTrip { latest: self.rtt().latest()?, samples: self.rtt().samples() })
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }

    fn value(&self, index: usize) -> Option<Value> {
        OBSERVED.get(index)?.value(self)
    }

    fn summary(&self) -> Summary {
        let whole = |segments: usize| u32::try_from(segments).unwrap_or(u32::MAX);
        Summary {
            smoothed_rtt: self.rtt().srtt(),
            rto: self.rtt().rto(),
            window: whole(self.flight_limit()),
            flight: whole(self.flight()),
            mss: self.mss(),
            pacing_gap: self.gap(),
            ..Summary::of(self)
        }
    }
}
