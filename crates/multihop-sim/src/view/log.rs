//! Stores the events of a run as records of twelve 32-bit words, which a browser reads without parsing. Each
//! record contains its kind (with the number of the radio from the ninth bit on), its time in ns (low and
//! high word), its node or flow, and up to eight values. The functions of [`View`] list the values;
//! `web/src/records.ts` reads them.

use std::collections::BTreeMap;

use multihop_core::{Duration, FlowId, Instant, Interface, NodeId};
use multihop_radio::decibels::mw_to_dbm;
use multihop_radio::frame::{BROADCAST, Frame, FrameKind, PacketHandle};
use multihop_radio::mac::{Access, Waiting};
use multihop_radio::phy::Verdict;
use multihop_transport::connection::Connection;
use multihop_transport::observe::{self, Quantity, RoundTrip, Side, Value};

use super::fields::fields;
use crate::observe::Sent;
use crate::packet::{Body, Packet, Pool};
use crate::signals::Reception;
use crate::trace::{self, Event};

/// Number of words in a record.
pub(crate) const WORDS: usize = 12;

/// The events that were not taken yet.
#[derive(Default)]
pub(crate) struct View {
    on: bool,
    /// Whether states of stations and fields of packets are stored, too.
    detailed: bool,
    records: Vec<u32>,
    /// Fields of the packets sent, by uid.
    fields: Vec<(u64, Vec<(&'static str, String)>)>,
    names: Vec<&'static str>,
    /// State of each station as last recorded; a new record follows only when it changes.
    accesses: BTreeMap<Station, Access>,
    queues: BTreeMap<Station, usize>,
    progress: BTreeMap<FlowId, Progress>,
    timeouts: BTreeMap<FlowId, u64>,
    /// Values of the quantities that transports declare, by flow, side and index in the table; only while
    /// detailed.
    observed: BTreeMap<(FlowId, bool, usize), Value>,
    /// The last next hop, by node and destination.
    routes: BTreeMap<(NodeId, NodeId), NodeId>,
}

/// Quantities whose values are in records of [`Kind::Progress`].
const IN_CHARTS: [&str; 4] = [observe::CWND, observe::RTT, observe::STATE, observe::RATE];

/// The state of a sender in charts: quantities that every transport with a window declares.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Progress {
    cwnd: f64,
    round_trip: Option<RoundTrip>,
    state: &'static str,
    /// Pacing rate in kb/s; 0 without pacing.
    rate_kbps: f64,
}

impl Progress {
    /// Progress of an end's window; `None` for an end without a window.
    fn of(end: &dyn Connection) -> Option<Self> {
        let cwnd = end.observed(observe::CWND)?.number()?;
        let state = match end.observed(observe::STATE) {
            Some(Value::State(name)) => name,
            _ => "",
        };
        let rate_kbps = end.observed(observe::RATE).and_then(Value::number).unwrap_or(0.0);
        Some(Self { cwnd, round_trip: end.round_trip(), state, rate_kbps })
    }
}

/// A radio of a node.
type Station = (Interface, NodeId);

/// Kinds of records of the viewer's log.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Kind {
    Frame = 1,
    Received,
    Collided,
    Packet,
    Progress,
    Delivered,
    Queue,
    Access,
    Route,
    Timeout,
    Heard,
    Observed,
}

impl View {
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Whether states of stations, fields of packets and powers of frames are stored.
    pub(crate) fn is_detailed(&self) -> bool {
        self.on && self.detailed
    }

    pub(crate) fn turn_on(&mut self) {
        self.on = true;
    }

    /// Sets whether states of stations and fields of packets are stored. If so, records of the current
    /// queues, senders and routes come first.
    pub(crate) fn set_detailed(&mut self, now: Instant, detailed: bool) {
        self.detailed = detailed;
        self.accesses.clear();
        self.observed.clear();
        if detailed {
            for (station, len) in self.queues.clone() {
                self.queue_record(now, station, len);
            }
            for (flow, sender) in self.progress.clone() {
                self.progress_record(now, flow, &sender);
            }
            for ((node, destination), next) in self.routes.clone() {
                self.route_record(now, node, destination, [next; 2]);
            }
        }
    }

    pub(crate) fn records(&self) -> &[u32] {
        &self.records
    }

    /// The fields of packets sent while the view was detailed.
    pub(crate) fn fields(&self) -> &[(u64, Vec<(&'static str, String)>)] {
        &self.fields
    }

    /// Names of packet kinds and of transport states, by their number in records.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.fields.clear();
    }

    /// Records a packet event: event (0 sent, 1 received, 2 forwarded, 3 dropped), uid, flow + 1, kind,
    /// source, destination, hops or reason, bytes.
    pub(crate) fn packet(&mut self, now: Instant, node: NodeId, packet: &Packet, event: Event) {
        if !self.on {
            return;
        }
        let (number, last) = match event {
            Event::Sent => (0, u32::from(packet.hops)),
            Event::Received { hops } => (1, u32::from(hops)),
            Event::Forwarded => (2, u32::from(packet.hops)),
            Event::Dropped(reason) => (3, self.name(reason.name())),
        };
        if self.detailed && event == Event::Sent {
            self.fields.push((packet.uid, fields(packet)));
        }
        let kind = self.name(trace::kind(packet));
        let (source, destination) = (packet.source.0, packet.destination.0);
        let bytes = packet.bytes();
        let values = [number, word(packet.uid), flow(packet), kind, source, destination, last, bytes];
        self.record(Kind::Packet, now, node.0, values);
    }

    /// Records a frame that `node` begins to send: receiver, kind, airtime, bytes, uid, NAV, flags, flow + 1.
    /// Or records the end of a frame that it has received: transmitter, kind, uid. Times are in ns.
    pub(crate) fn frame(&mut self, now: Instant, node: NodeId, sent: &Sent<'_>, packets: &Pool) {
        if !self.on {
            return;
        }
        let frame = &sent.transmission.frame;
        let first = sent.load.and_then(|(load, _)| load.packets.first());
        let handle = first.map_or(frame.body, |packed| packed.out.packet);
        let packet = (handle != PacketHandle::NONE).then(|| packets.get(handle));
        let uid = packet.map_or(0, |packet| word(packet.uid));
        if frame.from != node {
            let values = [frame.from.0, kind(frame), uid, 0, 0, 0, 0, 0];
            self.record_of((Kind::Received, sent.interface), now, node.0, values);
            return;
        }
        let flags = u32::from(frame.retry) | u32::from(frame.sequence) << 1 | u32::from(frame.rate.0) << 13;
        let (airtime, nav) = (nanos(sent.transmission.airtime), nanos(frame.nav));
        // A CTS to the station itself is meant for all stations that hear it.
        let to = if frame.to == node { BROADCAST } else { frame.to };
        let values = [to.0, kind(frame), airtime, frame.bytes, uid, nav, flags, packet.map_or(0, flow)];
        self.record_of((Kind::Frame, sent.interface), now, node.0, values);
        if let Some(packet) = packet.filter(|packet| frame.to != BROADCAST && follows_routes(packet)) {
            self.note_route(now, node, packet.destination, frame.to);
        }
    }

    fn note_route(&mut self, now: Instant, node: NodeId, destination: NodeId, next: NodeId) {
        match self.routes.insert((node, destination), next) {
            Some(before) if before != next => self.route_record(now, node, destination, [before, next]),
            None if self.detailed => self.route_record(now, node, destination, [next; 2]),
            _ => {}
        }
    }

    /// Records a change of route: destination, previous next hop, next hop.
    fn route_record(&mut self, now: Instant, node: NodeId, destination: NodeId, hops: [NodeId; 2]) {
        self.record(Kind::Route, now, node.0, [destination.0, hops[0].0, hops[1].0, 0, 0, 0, 0, 0]);
    }

    /// Records the reception of a frame at its receiver, at a station that should have heard a broadcast, or
    /// at a station where it collided. Values: transmitter, verdict, power in dBm, SINR in dB or NaN,
    /// interferer + 1, kind of the interfering frame (with its radio from the ninth bit on), and power of the
    /// interferer in dBm. Powers and the SINR are floating-point numbers.
    pub(crate) fn ended(
        &mut self,
        now: Instant,
        (interface, node): Station,
        frame: &Frame,
        verdict: Verdict,
        reception: impl FnOnce() -> Option<Reception>,
    ) {
        let is_for_all = frame.to == BROADCAST || frame.to == frame.from;
        let is_heard = is_for_all && verdict != Verdict::Ignored;
        let is_collision = matches!(verdict, Verdict::Collision | Verdict::MissedCollision);
        if !self.is_detailed() || (frame.to != node && !is_heard && !is_collision) {
            return;
        }
        let Some(reception) = reception() else { return };
        let sinr = reception.sinr().map_or(f64::NAN, mw_to_dbm);
        let [other, its_kind, its_power] = reception.interferer.map_or([0, 0, 0], |other| {
            let kind = with_radio(kind_of(other.kind, false), other.interface);
            [other.node.0 + 1, kind, float(mw_to_dbm(other.power_mw))]
        });
        let power = float(mw_to_dbm(reception.power_mw));
        let values = [frame.from.0, code(verdict), power, float(sinr), other, its_kind, its_power, 0];
        self.record_of((Kind::Heard, interface), now, node.0, values);
    }

    /// Records that a station lost a frame to a collision: the frame's transmitter and kind.
    pub(crate) fn collided(&mut self, now: Instant, (interface, node): Station, frame: &Frame) {
        if self.on {
            let values = [frame.from.0, kind(frame), 0, 0, 0, 0, 0, 0];
            self.record_of((Kind::Collided, interface), now, node.0, values);
        }
    }

    /// Records a station's channel access: carrier, remaining NAV, backoff (0 none, 1 paused, 2 running),
    /// remaining slots or time to the end, contention window, time to the first slot.
    pub(crate) fn access(&mut self, now: Instant, station: Station, access: impl FnOnce() -> Access) {
        if !self.on || !self.detailed {
            return;
        }
        let access = access();
        if self.accesses.insert(station, access) == Some(access) {
            return;
        }
        let left = |at: Instant| nanos(at.saturating_since(now));
        let (backoff, rest, first) = match access.waiting {
            Waiting::No => (0, 0, 0),
            Waiting::Paused(slots) => (1, slots, 0),
            Waiting::Running(from, end) => (2, left(end), left(from)),
        };
        let values = [u32::from(access.busy), left(access.nav), backoff, rest, access.window, first, 0, 0];
        let (interface, node) = station;
        self.record_of((Kind::Access, interface), now, node.0, values);
    }

    /// Records the progress and the observed values of a connection if they have changed.
    pub(crate) fn observed(&mut self, now: Instant, flow: FlowId, side: Side, end: &dyn Connection) {
        if side == Side::Sender
            && let Some(progress) = Progress::of(end)
            && self.progress.insert(flow, progress) != Some(progress)
        {
            self.progress_record(now, flow, &progress);
        }
        if self.detailed {
            self.declared(now, flow, side, end);
        }
    }

    /// Records the values of all other quantities that an end declares.
    fn declared(&mut self, now: Instant, flow: FlowId, side: Side, end: &dyn Connection) {
        let rows = (0..).map_while(|index| Some((index, end.quantity(index)?)));
        for (index, quantity) in rows.filter(|(_, row)| row.side == side && !IN_CHARTS.contains(&row.name)) {
            if let Some(value) = end.value(index)
                && self.observed.insert((flow, side == Side::Receiver, index), value) != Some(value)
            {
                self.observed_record(now, flow, quantity, value);
            }
        }
    }

    /// Records an observed quantity: name, unit, value (floating point), and number of the state's name plus
    /// 1 (0 if none).
    fn observed_record(&mut self, now: Instant, flow: FlowId, quantity: &Quantity, value: Value) {
        let state = match value {
            Value::State(name) => self.name(name) + 1,
            _ => 0,
        };
        let [name, unit] = [quantity.name, quantity.unit].map(|text| self.name(text));
        let number = float(value.number().unwrap_or(f64::NAN));
        self.record(Kind::Observed, now, flow.0, [name, unit, number, state, 0, 0, 0, 0]);
    }

    /// Records the progress of a sender: window, round-trip time in us or 0, state, allowed rate in kb/s.
    /// Window and rate are floating-point numbers.
    fn progress_record(&mut self, now: Instant, flow: FlowId, sender: &Progress) {
        let rtt = sender.round_trip.map_or(0, |trip| word(trip.latest.as_micros()));
        let state = self.name(sender.state);
        let values = [float(sender.cwnd), rtt, state, float(sender.rate_kbps), 0, 0, 0, 0];
        self.record(Kind::Progress, now, flow.0, values);
    }

    /// Records that a flow delivered `bytes` to its application.
    pub(crate) fn delivered(&mut self, now: Instant, flow: FlowId, bytes: u64) {
        if self.on {
            self.record(Kind::Delivered, now, flow.0, [word(bytes), 0, 0, 0, 0, 0, 0, 0]);
        }
    }

    /// Records the length of a station's queue if it has changed.
    pub(crate) fn queue(&mut self, now: Instant, station: Station, len: usize) {
        let before = self.queues.insert(station, len).unwrap_or(0);
        if before != len {
            self.queue_record(now, station, len);
        }
    }

    fn queue_record(&mut self, now: Instant, (interface, node): Station, len: usize) {
        let values = [word(len as u64), 0, 0, 0, 0, 0, 0, 0];
        self.record_of((Kind::Queue, interface), now, node.0, values);
    }

    /// Records the number of expiries of a flow's retransmission timer.
    pub(crate) fn timeouts(&mut self, now: Instant, flow: FlowId, timeouts: impl FnOnce() -> u64) {
        if !self.on {
            return;
        }
        let count = timeouts();
        if self.timeouts.insert(flow, count).unwrap_or(0) != count {
            self.record(Kind::Timeout, now, flow.0, [word(count), 0, 0, 0, 0, 0, 0, 0]);
        }
    }

    /// Adds a record about a node or a flow.
    fn record(&mut self, kind: Kind, now: Instant, subject: u32, values: [u32; WORDS - 4]) {
        self.record_of((kind, Interface(0)), now, subject, values);
    }

    /// Adds a record about a radio of a node.
    fn record_of(
        &mut self,
        (kind, interface): (Kind, Interface),
        now: Instant,
        subject: u32,
        values: [u32; WORDS - 4],
    ) {
        let nanos = now.as_nanos();
        let kind = with_radio(kind as u32, interface);
        self.records.extend([kind, word(nanos & u64::from(u32::MAX)), word(nanos >> 32), subject]);
        self.records.extend(values);
    }

    fn name(&mut self, name: &'static str) -> u32 {
        let known = self.names.iter().position(|&known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        word(number as u64)
    }
}

/// Number of a frame's kind in records: RTS, CTS, ACK, data, broadcast. An aggregate counts as data, a block
/// ACK as an ACK, and a block ACK request as an RTS, because it requests a response.
fn kind(frame: &Frame) -> u32 {
    kind_of(frame.kind, frame.to == BROADCAST)
}

fn kind_of(kind: FrameKind, is_broadcast: bool) -> u32 {
    match kind {
        FrameKind::Rts | FrameKind::BlockAckRequest => 0,
        FrameKind::Cts => 1,
        FrameKind::Ack | FrameKind::BlockAck => 2,
        FrameKind::Data if is_broadcast => 4,
        FrameKind::Data | FrameKind::Aggregate => 3,
    }
}

/// Combines a kind below 256 with the number of a radio, which is stored from the ninth bit on.
fn with_radio(kind: u32, interface: Interface) -> u32 {
    kind | u32::from(interface.0) << 8
}

fn code(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::Ignored => 0,
        Verdict::Deaf => 1,
        Verdict::Good => 2,
        Verdict::Missed => 3,
        Verdict::Error => 4,
        Verdict::Collision | Verdict::MissedCollision => 5,
    }
}

/// Whether routers forward a packet: it belongs to a flow, or a real program sent it as an IP packet.
fn follows_routes(packet: &Packet) -> bool {
    packet.flow().is_some() || matches!(packet.body, Body::Real(_))
}

fn flow(packet: &Packet) -> u32 {
    packet.flow().map_or(0, |flow| flow.0 + 1)
}

fn nanos(duration: Duration) -> u32 {
    word(duration.as_nanos())
}

fn word(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "for a chart")]
fn float(value: f64) -> u32 {
    (value as f32).to_bits()
}
