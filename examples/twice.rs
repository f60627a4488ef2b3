//! A user-defined transport with three counters of its own: each segment leaves twice, and nothing is acknowledged.
//!
//!     cargo run --release -p multihop-cli --example my_protocols -- run examples/twice.toml
use multihop_core::settings::Settings;
use multihop_core::{Duration, Instant, Payload};
use multihop_scenario::Extension;
use multihop_transport::connection::{
    Connection, ConnectionConfig, Counters, Data, Event, FlowSetup, Message, Output, Segment, SendError, Trip,
};
use multihop_transport::observe::{Quantity, Row, Side, Value};
use std::collections::VecDeque;

pub(crate) const TWICE: Extension = Extension { name: "twice", version: "1", help: "Segments leave twice." };
static OBSERVED: [Row<TwiceEnd>; 3] = [
    Row::counter("copies", "Second copies sent.", Side::Sender, |end| end.sent),
    Row::counter("spare", "Copies of segments that had arrived.", Side::Receiver, |end| end.spare),
    Row::counter("missed", "Segments that never arrived.", Side::Receiver, |end| end.missed),
];

#[derive(Clone, Debug, Default, Settings)]
pub(crate) struct Twice;
impl ConnectionConfig for Twice {
    fn ends(&self, _: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        [(); 2].map(|()| Box::new(TwiceEnd::default()) as Box<dyn Connection>)
    }
    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }
}
/// Either end. `next` is the number after the highest that has arrived.
#[derive(Default)]
struct TwiceEnd {
    due: Option<Instant>,
    sent: u64,
    next: u64,
    missed: u64,
    spare: u64,
    out: VecDeque<Output>,
}
impl Connection for TwiceEnd {
    fn send(&mut self, now: Instant, _: Data) -> Result<(), SendError> {
        self.due = Some(now);
        Ok(())
    }
    fn receive(&mut self, _: Instant, segment: Segment, _: Option<Trip>) {
        let Segment::Custom(Message { header, data }) = segment else { return };
        let number = header.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        self.spare += u64::from(number < self.next);
        if number >= self.next {
            (self.next, self.missed) = (number + 1, self.missed + number - self.next);
            self.out.push_back(Output::Event(Event::Delivered(data.len() as u64)));
        }
    }
    fn handle_timeout(&mut self, now: Instant) {
        let header = self.sent.to_be_bytes().to_vec();
        let copy = Output::Segment(Segment::Custom(Message { header, data: Payload::Virtual(1000) }));
        self.out.extend([copy.clone(), copy]);
        (self.sent, self.due) = (self.sent + 1, Some(now + Duration::from_millis(50)));
    }
    fn poll_output(&mut self, _: Instant) -> Option<Output> {
        self.out.pop_front()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
    fn counters(&self) -> Counters {
        let delivered = self.next - self.missed;
        Counters { sent: 2 * self.sent, retransmitted: self.sent, delivered, ..Counters::default() }
    }
    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }
    fn value(&self, index: usize) -> Option<Value> {
        OBSERVED.get(index)?.value(self)
    }
}
