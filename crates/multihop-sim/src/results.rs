//! The result of a run. The fields are the keys of the JSON document, in the same order.
//!
//! Every key is always present. A quantity that could not be measured is `null` (`None`), never NaN. Rates are in kb/s
//! (1000 bits), MB are 10^6 bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One run of one scenario with one seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run, from which all random streams derive.
    pub seed: u64,
    /// Simulated time, warm-up included.
    pub sim_seconds: f64,
    /// Wall-clock time of the run, s. `wall_seconds` and `events_per_second` are the only keys that may
    /// differ between two identical runs; they are `null` in files for comparison.
    pub wall_seconds: Option<f64>,
    /// Number of events that the simulation handled.
    pub events: u64,
    /// Events handled per second of wall-clock time.
    pub events_per_second: Option<f64>,
    /// Results of the flows, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// Totals of all flows together.
    pub totals: Totals,
    /// Counters of the MAC, summed over all stations.
    pub mac: MacResult,
    /// Counters of routing, summed over all nodes.
    pub routing: RoutingResult,
    /// Energy of the nodes; `null` unless the scenario has an `[energy]` table.
    pub energy: Option<EnergyResult>,
    /// Packets dropped after warm-up, by reason; reasons that never occurred are omitted.
    pub drops: BTreeMap<String, u64>,
    /// Results of the nodes by number; empty in networks of more than 1000 nodes.
    #[serde(default)]
    pub nodes: Vec<NodeResult>,
    /// Links that transmitted unicast frames, by sender and receiver; empty in networks of more than 1000
    /// nodes.
    #[serde(default)]
    pub links: Vec<LinkResult>,
    /// Interface queues that at least one packet entered, by node; empty in networks of more than 1000 nodes.
    #[serde(default)]
    pub queues: Vec<QueueResult>,
}

impl RunResult {
    /// Copy of the result without the values that depend on the machine: equal runs give equal bytes.
    #[must_use]
    pub fn timeless(self) -> Self {
        Self { wall_seconds: None, events_per_second: None, ..self }
    }
}

/// Results of one flow, after the warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct FlowResult {
    /// Index in the scenario, from 0.
    pub id: u32,
    /// Number of the sending node.
    pub from: u32,
    /// Number of the receiving node.
    pub to: u32,
    /// Name of the application, such as `ftp` or `file`.
    pub app: String,
    /// Short name of the transport.
    pub transport: String,
    /// Instant at which the application began, s.
    pub start: f64,
    /// Instant at which the flow ended, s; at the latest the end of the run.
    pub stop: f64,
    /// Application bytes delivered in order, divided by the time in which the flow was active.
    pub goodput_kbps: f64,
    /// Application bytes acknowledged at the sender, divided by the same time; `null` for a transport without
    /// ACKs.
    pub acked_kbps: Option<f64>,
    /// Retransmitted segments / distinct segments delivered; `null` if no segment was delivered.
    pub retransmission_index: Option<f64>,
    /// Number of data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Number of retransmissions among the segments sent.
    pub segments_retransmitted: u64,
    /// Number of distinct data segments that arrived.
    pub segments_delivered: u64,
    /// Stream segments that arrived while an earlier one was missing, and datagrams that arrived after one
    /// with a higher number (RFC 4737).
    pub out_of_order: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Distinct data segments that arrived / distinct data segments sent, at most 1; `null` if none was sent.
    /// A segment in transit at the end of the run counts as not delivered.
    #[serde(default)]
    pub delivery_ratio: Option<f64>,
    /// One-way delay, ms; `null` if no segment arrived.
    pub delay_ms: Option<Summary>,
    /// Interarrival jitter of RFC 3550 (section 6.4.1), ms: its estimate at each arrival of new data, averaged; `null` if
    /// fewer than two segments arrived.
    #[serde(default)]
    pub jitter_ms: Option<f64>,
    /// Round-trip samples of the sender, ms; `null` without samples.
    pub rtt_ms: Option<Summary>,
    /// Mean number of links that delivered segments crossed; `null` if none arrived.
    pub mean_hops: Option<f64>,
    /// Mean number of links of the true shortest path, over the time from `start` to `stop` in which a path
    /// existed. `null` if there never was a path, and in very large mobile networks.
    pub shortest_hops: Option<f64>,
    /// Links that delivered segments crossed / links of the shortest path at each arrival. Segments that
    /// arrived while there was no path are left out. Below 1 only if paths lengthen while segments are in
    /// transit.
    pub stretch: Option<f64>,
    /// Fraction of the time from `start` to `stop` without a path.
    pub partitioned: Option<f64>,
    /// Equation 3.1 of Holland and Vaidya: the measured goodput of a chain as long as the shortest path,
    /// averaged over the time from `start` to `stop`; 0 while there was no path. `null` unless the scenario
    /// contains the measurements.
    pub expected_goodput_kbps: Option<f64>,
    /// Causes of losses, and the receiver's identification of them. Only present for ADTCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identification: Option<Identification>,
    /// Quality that the user of the application notices. Only present for `voice`, `web` and `video`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationResult>,
    /// Messages of each channel, by its name. Only present for `messages`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, ChannelResult>,
    /// One file to every node. Only present for `spread`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<SpreadResult>,
    /// Counters that the transport declares, by name. Only present for user-defined transports and congestion controls
    /// with counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

/// Messages of one channel, sent after the warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ChannelResult {
    /// Number of messages sent, except for those that may still arrive before their deadline after the end.
    pub sent: u64,
    /// Messages that arrived, in time or late.
    pub delivered: u64,
    /// Messages that arrived before their deadline / messages sent; `null` if none was sent. Without a deadline every message
    /// that arrives is in time.
    pub in_time: Option<f64>,
    /// Time from sending to the arrival of the whole message, ms; `null` if none arrived.
    pub delay_ms: Option<Summary>,
    /// Age of the newest message that has arrived, ms: its mean over the time since the first arrival; `null`
    /// if none arrived.
    pub age_mean_ms: Option<f64>,
    /// Age of the newest message that is exceeded for 1% of the time, ms, with a resolution of 2%.
    pub age_p99_ms: Option<f64>,
    /// Bytes of the messages that arrived in time, over the time in which the flow was active.
    pub goodput_kbps: f64,
}

/// One file to every node.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SpreadResult {
    /// Number of nodes that have received the whole file.
    pub complete: u64,
    /// Time from the start of the flow until all nodes had the file, s; `null` if a node lacks it.
    pub all_s: Option<f64>,
    /// Time from the start of the flow until each node had the file, s, in the order of nodes; `null` for the source and for
    /// nodes without the file.
    pub node_s: Vec<Option<f64>>,
    /// Frames of all nodes after the warm-up, by kind: `content` of the source, `relay` of others, `repair`, `need`, `report`,
    /// `offer`, `seek`.
    pub frames: BTreeMap<String, u64>,
    /// Frames of all nodes and kinds / symbols of the file.
    pub frames_per_symbol: f64,
    /// Airtime of these frames, summed over all nodes, s.
    pub airtime_s: f64,
    /// Airtime / time from the start of the flow until all nodes had the file, or until the end of the run. Frames that overlap
    /// count each, so that it can exceed 1.
    pub airtime_share: Option<f64>,
}

/// Quality that the user of an application experiences.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ApplicationResult {
    /// Quality of a flow with `app = "voice"`.
    Voice(VoiceResult),
    /// Quality of a flow with `app = "web"`.
    Web(WebResult),
    /// Quality of a flow with `app = "video"`.
    Video(VideoResult),
}

/// The quality of speech, by the E-model.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct VoiceResult {
    /// Mean opinion score, from 1 to 4.5; `null` if no packet was sent.
    pub mos: Option<f64>,
    /// Rating factor R of the E-model, from which the quality follows; `null` if no packet was sent.
    pub r_factor: Option<f64>,
    /// Delay from the talker's mouth to the listener's ear, ms: length of a packet, look-ahead of the codec,
    /// and playout delay.
    pub mouth_to_ear_ms: f64,
    /// Number of packets sent, except for those at the end that may still arrive in time.
    pub packets: u64,
    /// Packets that arrived after their playout time.
    pub late: u64,
    /// Fraction of the packets that arrived late or never; `null` if none was sent.
    pub lost: Option<f64>,
}

/// Quality of web browsing: pages and their load times.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct WebResult {
    /// Number of pages that arrived completely.
    pub pages: u64,
    /// Number of pages that were still loading at the end.
    pub unfinished_pages: u64,
    /// Loading time of a page, ms; `null` if none was complete.
    pub page_load_ms: Option<Summary>,
}

/// Quality of video streaming: start-up and stalls.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct VideoResult {
    /// Time from the first request to the first picture, s; `null` if no picture was shown.
    pub startup_seconds: Option<f64>,
    /// Number of times that the buffer ran empty during the playout.
    pub stalls: u64,
    /// Total time for which the picture stood, s; without the start.
    pub stalled_seconds: f64,
    /// Time for which the video was played, s.
    pub played_seconds: f64,
    /// Number of segments that arrived.
    pub segments: u64,
}

/// Results of one node, after the warm-up. Counts and delays are over all links of the node.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct NodeResult {
    /// Number of the node.
    pub id: u32,
    /// Number of the node's radio, from 0; absent if nodes have one radio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<u8>,
    /// Shares of the time that the node's radio spent in each state.
    pub airtime: AirtimeShares,
    /// Number of unicast packets that were acknowledged, over all links of the node ([`LinkResult::delivered`]).
    pub delivered: u64,
    /// Number of unicast packets dropped after the last retry, over all links of the node ([`LinkResult::dropped`]).
    pub dropped: u64,
    /// Number of further attempts after the first of each packet, over all links of the node ([`LinkResult::retries`]).
    pub retries: u64,
    /// Packets delivered / (delivered + dropped), over all links of the node ([`LinkResult::delivery_ratio`]).
    pub delivery_ratio: Option<f64>,
    /// Time from the interface queue to the acknowledgement, in ms, over all links of the node
    /// ([`LinkResult::delay_ms`]).
    pub delay_ms: Option<Summary>,
    /// Mean of the links' jitter, weighted by packets, ms.
    pub jitter_ms: Option<f64>,
}

/// Shares of a radio's time. Their sum is 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct AirtimeShares {
    /// Share of the time in which the station transmits.
    pub transmit: f64,
    /// Share of the time in which the station receives frames for it, or broadcasts, without error.
    pub receive: f64,
    /// Share of the time in which the receiver is occupied by frames for other nodes, by signals too weak to
    /// decode, or by collisions.
    pub busy: f64,
    /// Share of the time in which the station neither transmits, receives nor senses anything.
    pub idle: f64,
    /// Share of the time in which the radio is asleep or without power.
    pub sleep: f64,
}

/// Unicast packets from one node to a neighbour, after the warm-up: data, routing messages and ARP.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LinkResult {
    /// Number of the sending node.
    pub from: u32,
    /// Number of the receiving node.
    pub to: u32,
    /// Number of the sender's radio, from 0; absent if nodes have one radio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<u8>,
    /// Number of packets that were acknowledged.
    pub delivered: u64,
    /// Packets dropped after the last retry.
    pub dropped: u64,
    /// Number of data frames sent, retransmissions included; in an aggregate each MPDU counts.
    pub frames: u64,
    /// Number of attempts after the first one of each packet, with an RTS or with data; under aggregation,
    /// retransmissions of the packet's MPDU.
    pub retries: u64,
    /// Packets delivered / (delivered + dropped); `null` if there were none.
    pub delivery_ratio: Option<f64>,
    /// Time from the entry into the interface queue to the acknowledgement, ms; `null` if no packet was delivered.
    pub delay_ms: Option<Summary>,
    /// Jitter of `delay_ms` (see [`FlowResult::jitter_ms`]), ms; `null` with fewer than two packets.
    pub jitter_ms: Option<f64>,
    /// Airtime of all frames in exchanges over the link (RTS, CTS, data, ACK, ...) / simulated time.
    pub airtime_share: f64,
}

/// Results of one interface queue, after the warm-up. Broadcasts count as well.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct QueueResult {
    /// Number of the queue's node.
    pub node: u32,
    /// Number of the node's radio, from 0; absent if nodes have one radio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<u8>,
    /// Access category of the queue; `null` without EDCA.
    pub category: Option<String>,
    /// Number of packets that entered the queue, dropped ones included.
    pub packets: u64,
    /// Number of packets dropped because the queue was full, or by its active queue management.
    pub dropped: u64,
    /// Packets not dropped / packets.
    pub delivery_ratio: Option<f64>,
    /// Time from the entry into the queue to the start of the service, ms, for packets whose service has
    /// ended; `null` if there were none.
    pub delay_ms: Option<Summary>,
    /// Jitter of `delay_ms` (see [`FlowResult::jitter_ms`]), ms; `null` with fewer than two packets.
    pub jitter_ms: Option<f64>,
}

/// ADTCP's classification of a flow's losses.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Identification {
    /// Data segments lost, by cause: `congestion` (a queue overflowed), `channel-error` (also if a MAC gave up on an
    /// existing link), `route-change`, `disconnection` (there was no path).
    pub losses: BTreeMap<String, u64>,
    /// Network states that the receiver inferred at the time of a loss, by the cause of the loss. Several
    /// states may hold at once.
    pub states: BTreeMap<String, BTreeMap<String, u64>>,
    /// Identification of congestion by both of the receiver's metrics at the time of the loss.
    pub joint: Accuracy,
    /// Identification of congestion by the inter-packet delay difference (IDD) alone.
    pub idd: Accuracy,
    /// Identification of congestion by the short-term throughput (STT) alone.
    pub stt: Accuracy,
    /// Identification of congestion by the state that the receiver had reported when the sender acted on the loss.
    pub acted: Accuracy,
}

/// Reliability with which congestion was distinguished from other causes of loss.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Accuracy {
    /// Number of losses that were judged.
    pub losses: u64,
    /// Fraction of the losses that were misjudged; `null` if there were no losses.
    pub wrong: Option<f64>,
    /// Fraction of the losses that were unrecognised congestion, for which TCP would have reduced its rate
    /// more.
    pub incompatible: Option<f64>,
}

/// Summary of several values.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean of the values.
    pub mean: f64,
    /// Median of the values.
    pub p50: f64,
    /// 95th percentile of the values.
    pub p95: f64,
    /// 99th percentile; `null` only in results of versions that did not measure it.
    #[serde(default)]
    pub p99: Option<f64>,
}

/// Totals over all flows of a run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Totals {
    /// Sum of the flows' goodput; data that a relay forwards counts once.
    pub goodput_kbps: f64,
    /// Jain's fairness index of the flows' goodput; `null` if nothing was delivered.
    pub jain: Option<f64>,
    /// Mean of Jain's index over windows of 2 s with deliveries; `null` if there were none.
    pub jain_instant: Option<f64>,
    /// Mean of the flows' indices, weighted by the segments delivered; `null` if none was delivered.
    pub retransmission_index: Option<f64>,
    /// Distinct data segments that arrived / distinct data segments sent, over all flows, at most 1; `null`
    /// if none was sent.
    #[serde(default)]
    pub delivery_ratio: Option<f64>,
    /// One-way delay of the segments of all flows, ms; `null` if none arrived.
    #[serde(default)]
    pub delay_ms: Option<Summary>,
    /// Mean of the flows' jitter, weighted by arrivals, ms; `null` if no flow has one.
    #[serde(default)]
    pub jitter_ms: Option<f64>,
    /// Sum of the flows' expected goodput; `null` if no flow has one.
    pub expected_goodput_kbps: Option<f64>,
}

/// Results of medium access over all stations, after the warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MacResult {
    /// Frames sent, by kind: `rts`, `cts`, `data`, `ack`, `broadcast`. If stations aggregate, also
    /// `aggregate`, `block_ack` and `block_ack_request`; `data` then counts the MPDUs.
    pub frames: BTreeMap<String, u64>,
    /// Numbers of unicast data frames sent at each used rate, retransmissions included. Omitted if the rate
    /// is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<BTreeMap<String, u64>>,
    /// Number of frames that a receiver in range lost because of another frame.
    pub collisions: u64,
    /// Number of frames retransmitted because no CTS or ACK arrived.
    pub retries: u64,
    /// Packets dropped after the last retry.
    pub drops: u64,
    /// Airtime of all frames / simulated time; above 1 with spatial reuse.
    pub airtime_share: f64,
}

/// Results of routing over all nodes, after the warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RoutingResult {
    /// Numbers of packets of the routing protocol sent, by kind; each hop counts.
    pub packets: BTreeMap<String, u64>,
    /// Bytes of the messages sent, by kind, IP header included.
    pub bytes: BTreeMap<String, u64>,
    /// Packets dropped without a valid route / packets routed; `null` if none was routed.
    pub invalid_routes: Option<f64>,
    /// Number of packets whose next hop differed from that of the previous packet at the same node to the
    /// same destination within 10 s. Omitted if it is not counted (`count_changes` under OLSR).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_changes: Option<u64>,
    /// Number of returns to a next hop that was abandoned less than 10 s before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oscillations: Option<u64>,
}

/// Energy spent after the warm-up, in joules.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EnergyResult {
    /// Joules that each node spent.
    pub node_joules: Vec<f64>,
    /// Joules spent by all nodes / MB delivered; `null` if nothing was delivered.
    pub joules_per_mb: Option<f64>,
    /// Joules that each node spent transmitting.
    #[serde(default)]
    pub transmit_joules: Vec<f64>,
    /// Joules that each node spent receiving.
    #[serde(default)]
    pub receive_joules: Vec<f64>,
    /// Joules that each node spent awake, neither transmitting nor receiving.
    #[serde(default)]
    pub idle_joules: Vec<f64>,
    /// Joules that each node spent asleep.
    #[serde(default)]
    pub sleep_joules: Vec<f64>,
    /// Instant at which the first battery was empty, s; `null` if none was.
    #[serde(default)]
    pub first_empty: Option<f64>,
    /// Instant at which each node's battery was empty, s; only with batteries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<Vec<Option<f64>>>,
}
