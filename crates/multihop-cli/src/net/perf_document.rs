//! The JSON document of `multihop perf --json`. The fields are its keys.

use std::collections::BTreeMap;
use std::time::Duration;

use multihop_apps::perf::{Direction, EndTotals, FlowOutcome, FlowSample, Plan, Sample};
use multihop_net::{Config, Security};
use serde::Serialize;

/// The complete result of a measurement.
#[derive(Debug, Serialize)]
pub(crate) struct PerfDocument {
    /// Direction of the data: `forward`, `reverse` or `both`.
    pub(crate) direction: &'static str,
    /// Protocol of the data: `udp`, or the name of the transport, such as `tpa` or `mesh/3`.
    pub(crate) protocol: String,
    /// Protection of the connections: `plain`, `token` or `keys`.
    pub(crate) security: &'static str,
    /// Number of connections in each direction.
    pub(crate) parallel: usize,
    /// Sum of the connections that send to the listening end, with the longest time; `None` if there were none.
    pub(crate) forward: Option<FlowResult>,
    /// Sum of the connections that send to the connecting end, with the longest time; `None` if there were none.
    pub(crate) reverse: Option<FlowResult>,
    /// Result of each connection, forward ones first.
    pub(crate) flows: Vec<FlowResult>,
    /// Intervals of `--interval` seconds; the last one ends with the measurement.
    pub(crate) intervals: Vec<IntervalResult>,
}

/// Result of a connection, or of all connections of a direction.
#[derive(Debug, Serialize)]
pub(crate) struct FlowResult {
    /// Direction of the data: `forward` or `reverse`.
    pub(crate) direction: &'static str,
    /// Received bytes / time from the first byte to the end, both at the receiver.
    pub(crate) goodput_kbps: f64,
    /// Segments that the sender retransmitted / segments delivered at the receiver; `None` if none was delivered.
    pub(crate) retransmission_index: Option<f64>,
    /// Datagrams lost; `None` without `--udp`.
    pub(crate) lost: Option<u64>,
    /// Share of the datagrams lost, in percent; `None` without `--udp`.
    pub(crate) lost_percent: Option<f64>,
    /// Datagrams that arrived out of order; `None` without `--udp`.
    pub(crate) out_of_order: Option<u64>,
    /// Jitter of the datagrams (RFC 3550); `None` without `--udp`.
    pub(crate) jitter_ms: Option<f64>,
    /// Hops between the ends, if known.
    pub(crate) hops: Option<u8>,
    /// Payload of a full segment or of a datagram, bytes. With other transports than TPA it includes the headers of messages.
    pub(crate) mss: u32,
    /// Totals of the sending end.
    pub(crate) sender: EndResult,
    /// Totals of the receiving end.
    pub(crate) receiver: EndResult,
}

/// Totals of an end. With `--udp` only datagrams count.
#[derive(Debug, Serialize)]
pub(crate) struct EndResult {
    /// Bytes sent or received.
    pub(crate) bytes: u64,
    /// Time from the first byte to the end, s.
    pub(crate) seconds: f64,
    /// Processor time of the whole process, s.
    pub(crate) cpu_seconds: f64,
    /// Processor time for 10^9 bytes, s.
    pub(crate) cpu_seconds_per_gb: Option<f64>,
    /// Segments with data sent, retransmissions included.
    pub(crate) data_sent: u64,
    /// Number of segments that the sender retransmitted.
    pub(crate) retransmitted: u64,
    /// Number of distinct segments that were delivered.
    pub(crate) delivered: u64,
    /// Number of retransmission timeouts.
    pub(crate) timeouts: u64,
    /// Times that the sender froze.
    pub(crate) freezes: u64,
    /// Number of UDP datagrams sent.
    pub(crate) datagrams_sent: u64,
    /// Number of UDP datagrams received.
    pub(crate) datagrams_received: u64,
    /// Counters that the transport declares at this end, by name.
    pub(crate) counters: BTreeMap<String, u64>,
}

/// Progress in an interval.
#[derive(Debug, Serialize)]
pub(crate) struct IntervalResult {
    /// Start of the interval, s since the measurement began.
    pub(crate) from: f64,
    /// End of the interval, s since the measurement began.
    pub(crate) to: f64,
    /// Sum of the connections that send to the listening end; `None` if there are none.
    pub(crate) forward: Option<FlowProgress>,
    /// Sum of the connections that send to the connecting end; `None` if there are none.
    pub(crate) reverse: Option<FlowProgress>,
    /// Progress of each connection.
    pub(crate) flows: Vec<FlowProgress>,
}

/// Progress of a connection, or of all connections of a direction, in an interval.
#[derive(Debug, Serialize)]
pub(crate) struct FlowProgress {
    /// Direction of the data: `forward` or `reverse`.
    pub(crate) direction: &'static str,
    /// Bytes acknowledged; received with `--reverse`; sent with `--udp` and without `--reverse`.
    pub(crate) bytes: u64,
    /// Rate of these bytes.
    pub(crate) goodput_kbps: f64,
    /// Segments retransmitted; `None` if the other end sends, and with `--udp`.
    pub(crate) retransmitted: Option<u64>,
    /// Newest round-trip time; `None` with `--udp` and for sums.
    pub(crate) rtt_ms: Option<f64>,
    /// Congestion window, segments; `None` with `--udp` and for sums.
    pub(crate) cwnd: Option<u32>,
    /// Datagrams lost; only with `--udp` at the receiver.
    pub(crate) lost: Option<u64>,
    /// Jitter of the datagrams; only with `--udp` at the receiver.
    pub(crate) jitter_ms: Option<f64>,
}

impl PerfDocument {
    /// The document of a complete measurement.
    pub(crate) fn new(
        plan: &Plan,
        config: &Config,
        flows: &[FlowOutcome],
        intervals: Vec<IntervalResult>,
    ) -> Self {
        let is_udp = plan.udp.is_some();
        let sum = |reverse| direction(flows, reverse).1.map(|sum| FlowResult::new(&sum, is_udp));
        Self {
            direction: match plan.direction {
                Direction::Forward => "forward",
                Direction::Reverse => "reverse",
                Direction::Both => "both",
            },
            protocol: protocol(plan, flows),
            security: match config.security {
                Security::Plain => "plain",
                Security::Token(_) => "token",
                Security::Keys { .. } => "keys",
            },
            parallel: plan.flows,
            forward: sum(false),
            reverse: sum(true),
            flows: flows.iter().map(|flow| FlowResult::new(flow, is_udp)).collect(),
            intervals,
        }
    }
}

impl FlowResult {
    fn new(flow: &FlowOutcome, is_udp: bool) -> Self {
        Self {
            direction: way(flow.reverse),
            goodput_kbps: flow.goodput() / 1e3,
            retransmission_index: flow.retransmission_index(),
            lost: is_udp.then(|| flow.lost()),
            lost_percent: lost_percent(flow).filter(|_| is_udp),
            out_of_order: is_udp.then_some(flow.receiver.out_of_order),
            jitter_ms: is_udp.then(|| milliseconds(flow.receiver.jitter)),
            hops: flow.hops,
            mss: flow.mss,
            sender: EndResult::new(&flow.sender),
            receiver: EndResult::new(&flow.receiver),
        }
    }
}

impl EndResult {
    fn new(totals: &EndTotals) -> Self {
        Self {
            bytes: totals.bytes,
            seconds: totals.time.as_secs_f64(),
            cpu_seconds: totals.cpu.as_secs_f64(),
            cpu_seconds_per_gb: totals.cpu_per_gb(),
            data_sent: totals.data_sent,
            retransmitted: totals.retransmitted,
            delivered: totals.delivered,
            timeouts: totals.timeouts,
            freezes: totals.freezes,
            datagrams_sent: totals.datagrams_sent,
            datagrams_received: totals.datagrams_received,
            counters: totals.counters.clone(),
        }
    }
}

impl IntervalResult {
    /// The interval of a sample.
    pub(crate) fn new(sample: &Sample) -> Self {
        let of = |reverse| {
            let part: Vec<_> = sample.flows.iter().filter(|flow| flow.reverse == reverse).copied().collect();
            sum(&part).map(|sum| FlowProgress::new(sample, &sum))
        };
        Self {
            from: sample.from.as_secs_f64(),
            to: sample.to.as_secs_f64(),
            forward: of(false),
            reverse: of(true),
            flows: sample.flows.iter().map(|flow| FlowProgress::new(sample, flow)).collect(),
        }
    }
}

impl FlowProgress {
    fn new(sample: &Sample, flow: &FlowSample) -> Self {
        Self {
            direction: way(flow.reverse),
            bytes: flow.bytes,
            goodput_kbps: rate(sample, flow) / 1e3,
            retransmitted: flow.retransmitted,
            rtt_ms: flow.rtt.map(milliseconds),
            cwnd: flow.cwnd,
            lost: flow.lost,
            jitter_ms: flow.jitter.map(milliseconds),
        }
    }
}

fn way(reverse: bool) -> &'static str {
    if reverse { "reverse" } else { "forward" }
}

/// Several flows of one direction as one.
pub(super) fn sum(flows: &[FlowSample]) -> Option<FlowSample> {
    let add = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
    flows.iter().copied().reduce(|one, other| FlowSample {
        reverse: one.reverse,
        bytes: one.bytes + other.bytes,
        retransmitted: add(one.retransmitted, other.retransmitted),
        rtt: None,
        cwnd: None,
        lost: add(one.lost, other.lost),
        jitter: one.jitter.max(other.jitter),
    })
}

/// Bits per second in an interval.
pub(super) fn rate(sample: &Sample, flow: &FlowSample) -> f64 {
    8.0 * flow.bytes as f64 / (sample.to - sample.from).as_secs_f64().max(1e-9)
}

/// The flows of one direction, and their sum.
pub(super) fn direction(flows: &[FlowOutcome], reverse: bool) -> (Vec<FlowOutcome>, Option<FlowOutcome>) {
    let part: Vec<_> = flows.iter().filter(|flow| flow.reverse == reverse).cloned().collect();
    let sum = FlowOutcome::sum(&part);
    (part, sum)
}

/// Name of the protocol of the flows, as the ends agreed on it.
pub(super) fn protocol(plan: &Plan, flows: &[FlowOutcome]) -> String {
    let transport = flows.first().map(|flow| flow.transport).unwrap_or_default();
    if plan.udp.is_some() { "udp".to_owned() } else { transport.to_string() }
}

pub(super) fn lost_percent(flow: &FlowOutcome) -> Option<f64> {
    let sent = flow.sender.datagrams_sent;
    (sent > 0).then(|| 100.0 * flow.lost() as f64 / sent as f64)
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}
