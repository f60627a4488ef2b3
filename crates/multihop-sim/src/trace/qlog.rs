//! Events of each flow's sender in the format qlog (draft-ietf-quic-qlog-main-schema, -quic-events), as text sequences of
//! JSON (RFC 7464).
//!
//! The events are those of QUIC's schema. A packet is a segment of the transport; packets that the sender transmits and
//! receives are numbered from 0 in the order of their events, because most transports have no packet numbers, and all are
//! of type `1RTT`. A packet counts as lost when its number in traces is transmitted again, or when the transport's
//! counter [`LOST_PACKETS`] grows.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use multihop_core::{Duration, FlowId, Instant, NodeId};
use multihop_scenario::Scenario;
use multihop_transport::connection::Connection;
use multihop_transport::observe::{self, Value};
use serde_json::{Map, Value as Json, json};

use super::Event;
use crate::packet::{Body, Packet};
use crate::segment::format;

/// The files of all flows.
pub(crate) struct Qlogs(Vec<Qlog>);

/// The file of one flow's sender.
struct Qlog {
    out: Box<dyn Write + Send>,
    sender: NodeId,
    /// Numbers of the next sent and of the next received packet.
    next: [u64; 2],
    /// Packet numbers of the newest sent packets with data, by their numbers in traces.
    sent: BTreeMap<String, u64>,
    metrics: Metrics,
    state: &'static str,
    lost: u64,
}

/// The metrics of recovery that the file has last reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Metrics {
    min_rtt: Option<Duration>,
    smoothed_rtt: Option<Duration>,
    latest_rtt: Option<Duration>,
    congestion_window: Option<u64>,
    bytes_in_flight: Option<u64>,
    ssthresh: Option<u64>,
    /// Pacing rate, bits per second.
    pacing_rate: Option<u64>,
}

impl Qlogs {
    /// Begins the files of all flows, which `outs` lists in their order. Fails if a flow has none.
    pub(crate) fn new(outs: Vec<Box<dyn Write + Send>>, scenario: &Scenario) -> io::Result<Self> {
        let (found, flows) = (outs.len(), scenario.flows.len());
        if found != flows {
            return Err(io::Error::other(format!(
                "found {found} files of qlog, allowed: {flows}, one for each flow"
            )));
        }
        let flows = outs.into_iter().zip(&scenario.flows).enumerate();
        let begun = flows.map(|(id, (out, flow))| Qlog::new(out, id, flow.from, &flow.transport.name));
        Ok(Self(begun.collect::<io::Result<_>>()?))
    }

    /// Records an event of a packet at a node.
    pub(crate) fn packet(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: &Packet,
        event: Event,
    ) -> io::Result<()> {
        let Body::Segment { flow, .. } = packet.body else { return Ok(()) };
        let qlog = &mut self.0[flow.index()];
        match event {
            Event::Sent if node == qlog.sender && packet.source == node => qlog.sent(now, packet),
            Event::Received { .. } if node == qlog.sender && packet.destination == node => {
                qlog.received(now, packet)
            }
            _ => Ok(()),
        }
    }

    /// Records changes of the state of a flow's sender.
    pub(crate) fn observed(&mut self, now: Instant, flow: FlowId, end: &dyn Connection) -> io::Result<()> {
        self.0[flow.index()].observed(now, end)
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        self.0.into_iter().try_for_each(|mut qlog| qlog.out.flush())
    }
}

impl Qlog {
    fn new(out: Box<dyn Write + Send>, id: usize, sender: NodeId, transport: &str) -> io::Result<Self> {
        let mut qlog = Self {
            out,
            sender,
            next: [0; 2],
            sent: BTreeMap::new(),
            metrics: Metrics::default(),
            state: "",
            lost: 0,
        };
        qlog.record(&json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": format!("multihop, flow {id}, {transport}"),
            "trace": {
                "vantage_point": { "name": format!("sender of flow {id}"), "type": "client" },
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                },
                "event_schemas": [EVENTS],
            },
        }))?;
        Ok(qlog)
    }

    fn sent(&mut self, now: Instant, packet: &Packet) -> io::Result<()> {
        let number = self.next[0];
        if let Some(name) = name(packet) {
            if let Some(lost) = self.sent.insert(name, number) {
                self.event(now, "packet_lost", json!({ "header": header(lost) }))?;
            }
            self.forget_oldest();
        }
        self.next[0] += 1;
        self.event(now, "packet_sent", transferred(number, packet))
    }

    /// Halves a full list of sent packets, so that the cost per packet is small.
    fn forget_oldest(&mut self) {
        if self.sent.len() < 2 * MAX_SENT {
            return;
        }
        let mut numbers: Vec<u64> = self.sent.values().copied().collect();
        let (_, &mut oldest, _) = numbers.select_nth_unstable(MAX_SENT);
        self.sent.retain(|_, number| *number >= oldest);
    }

    fn received(&mut self, now: Instant, packet: &Packet) -> io::Result<()> {
        let number = self.next[1];
        self.next[1] += 1;
        self.event(now, "packet_received", transferred(number, packet))
    }

    fn observed(&mut self, now: Instant, end: &dyn Connection) -> io::Result<()> {
        if let Some(Value::Count(lost)) = end.observed(LOST_PACKETS) {
            for _ in self.lost..lost {
                self.event(now, "packet_lost", json!({}))?;
            }
            self.lost = lost;
        }
        let metrics = Metrics::of(end, self.metrics.min_rtt);
        let changes = metrics.changes_since(&self.metrics);
        self.metrics = metrics;
        if !changes.is_empty() {
            self.event(now, "recovery_metrics_updated", Json::Object(changes))?;
        }
        let Some(Value::State(new)) = end.observed(observe::STATE) else { return Ok(()) };
        let old = std::mem::replace(&mut self.state, new);
        if new == old {
            return Ok(());
        }
        let old = (!old.is_empty()).then_some(old);
        let names = [("old", old), ("new", Some(new))];
        let names = names.into_iter().filter_map(|(key, name)| Some((key.to_owned(), Json::from(name?))));
        self.event(now, "congestion_state_updated", names.collect())
    }

    fn event(&mut self, now: Instant, name: &str, data: Json) -> io::Result<()> {
        let name = format!("quic:{name}");
        self.record(&json!({ "time": 1e-6 * now.as_nanos() as f64, "name": name, "data": data }))
    }

    /// Writes one record of the text sequence.
    fn record(&mut self, record: &Json) -> io::Result<()> {
        writeln!(self.out, "\u{1e}{record}")
    }
}

impl Metrics {
    /// The present metrics of a sender whose shortest round trip has been `min_rtt` so far.
    fn of(end: &dyn Connection, min_rtt: Option<Duration>) -> Self {
        let summary = end.summary();
        let mss = f64::from(summary.mss);
        let number = |name| end.observed(name).and_then(Value::number);
        let latest_rtt = end.round_trip().map(|round_trip| round_trip.latest);
        Self {
            min_rtt: min_rtt.into_iter().chain(latest_rtt).min(),
            smoothed_rtt: summary.smoothed_rtt,
            latest_rtt,
            congestion_window: number(observe::CWND).map(|segments| whole(segments * mss)),
            // Without a window, the transport does not report its flight.
            bytes_in_flight: (summary.window > 0).then(|| u64::from(summary.flight) * u64::from(summary.mss)),
            ssthresh: summary.ssthresh,
            pacing_rate: number(observe::RATE).map(|kbps| whole(1e3 * kbps)),
        }
    }

    /// The metrics that differ from the `earlier` ones. Times are in ms.
    fn changes_since(&self, earlier: &Self) -> Map<String, Json> {
        let ms = |time: Option<Duration>| time.map(|time| json!(1e3 * time.as_secs_f64()));
        let of = |metrics: &Self| {
            [
                ("min_rtt", ms(metrics.min_rtt)),
                ("smoothed_rtt", ms(metrics.smoothed_rtt)),
                ("latest_rtt", ms(metrics.latest_rtt)),
                ("congestion_window", metrics.congestion_window.map(Json::from)),
                ("bytes_in_flight", metrics.bytes_in_flight.map(Json::from)),
                ("ssthresh", metrics.ssthresh.map(Json::from)),
                ("pacing_rate", metrics.pacing_rate.map(Json::from)),
            ]
        };
        if self == earlier {
            return Map::new();
        }
        let pairs = of(self).into_iter().zip(of(earlier));
        let changed = pairs.filter(|((_, new), (_, old))| new != old);
        changed.filter_map(|((key, new), _)| Some((key.to_owned(), new?))).collect()
    }
}

/// Number in traces of a packet's segment with data; `None` for other segments and for those without number.
fn name(packet: &Packet) -> Option<String> {
    let (_, segment) = packet.segment()?;
    let format = format(segment);
    let has_data = !["ack", "probe", "syn", "fin", "rst"].contains(&format.kind());
    let name = has_data.then(|| fmt::from_fn(|f| format.number(f)).to_string());
    name.filter(|name| name != "-")
}

fn header(number: u64) -> Json {
    json!({ "packet_type": "1RTT", "packet_number": number })
}

/// Data of the event of a packet that was sent or received.
fn transferred(number: u64, packet: &Packet) -> Json {
    json!({ "header": header(number), "raw": { "length": packet.bytes() } })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Name of the counter of lost packets of transports whose segments have no numbers.
pub(crate) const LOST_PACKETS: &str = "lost_packets";
/// Schema of the events.
const EVENTS: &str = "urn:ietf:params:qlog:events:quic-12";
/// Least number of sent packets among which a retransmission finds the lost one.
const MAX_SENT: usize = 4096;
