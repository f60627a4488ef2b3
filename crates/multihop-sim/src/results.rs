//! What one run found. The fields are the keys of the JSON document, in its order.
//!
//! Every key is always there; a quantity of which nothing was measured is `null` (`None`), never
//! NaN. Rates are in kb/s (1000 bits), MB are 10^6 bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One run of one scenario with one seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Root of the random streams.
    pub seed: u64,
    /// Simulated time, warm-up included.
    pub sim_seconds: f64,
    /// Wall time of the run. This and `events_per_second` are the only keys that may differ between two
    /// identical runs; they are `null` in files that are to be compared.
    pub wall_seconds: Option<f64>,
    /// Events handled.
    pub events: u64,
    /// Events handled in each second of wall time.
    pub events_per_second: Option<f64>,
    /// In the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// Over all flows.
    pub totals: Totals,
    /// Over all stations.
    pub mac: MacResult,
    /// Over all nodes.
    pub routing: RoutingResult,
    /// `null` unless the scenario gives powers.
    pub energy: Option<EnergyResult>,
    /// Packets dropped after warm-up, by reason; reasons that never occurred are left out.
    pub drops: BTreeMap<String, u64>,
}

impl RunResult {
    /// Without what depends on the machine: the same bytes for the same run.
    #[must_use]
    pub fn timeless(self) -> Self {
        Self { wall_seconds: None, events_per_second: None, ..self }
    }
}

/// One flow, after warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct FlowResult {
    /// Place in the scenario, from 0.
    pub id: u32,
    /// Number of the sending node.
    pub from: u32,
    /// Number of the receiving node.
    pub to: u32,
    /// `ftp`, `file`, ...
    pub app: String,
    /// Short name of the transport.
    pub transport: String,
    /// When the application began, s.
    pub start: f64,
    /// When it ended, s; the end of the run if it never did.
    pub stop: f64,
    /// Application bytes delivered in order, over the time the flow was active.
    pub goodput_kbps: f64,
    /// Bytes acknowledged at the sender, over the same time; `null` for a transport without ACKs.
    pub acked_kbps: Option<f64>,
    /// Retransmitted segments / distinct segments delivered; `null` if none was delivered.
    pub retransmission_index: Option<f64>,
    /// Data segments that left the sender, retransmissions included.
    pub segments_sent: u64,
    /// Of these, the retransmissions.
    pub segments_retransmitted: u64,
    /// Distinct data segments that arrived.
    pub segments_delivered: u64,
    /// Arrivals above the expected number.
    pub out_of_order: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time from sender to receiver, ms; `null` if no segment arrived.
    pub delay_ms: Option<Summary>,
    /// The sender's round-trip samples, ms; `null` if there was none.
    pub rtt_ms: Option<Summary>,
    /// Links that delivered segments crossed; `null` if none arrived.
    pub mean_hops: Option<f64>,
    /// Links of the true shortest path: the mean over the time from `start` to `stop` in which there
    /// was one. `null` if there never was, and in very large networks that move.
    pub shortest_hops: Option<f64>,
    /// Links that delivered segments crossed / links of the shortest path when each arrived; segments
    /// that arrived when there was none are left out. Below 1 only where paths lengthen while segments
    /// are under way.
    pub stretch: Option<f64>,
    /// Share of the time from `start` to `stop` in which there was no path.
    pub partitioned: Option<f64>,
    /// What a chain as long as the shortest path was measured to deliver, averaged over the same
    /// time, nothing while there was no path: Holland & Vaidya's Equation 3.1. `null` unless the
    /// scenario gives the measurements.
    pub expected_goodput_kbps: Option<f64>,
    /// Why segments were lost, and whether that was seen. Only there for ADTCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identification: Option<Identification>,
}

/// How ADTCP classified the losses of a flow.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Identification {
    /// Data segments lost on the way, by cause: `congestion` (a queue overflowed), `channel-error`
    /// (also where a MAC gave up on a link that exists), `route-change`, `disconnection` (there was
    /// no path).
    pub losses: BTreeMap<String, u64>,
    /// By cause: in which state the receiver was at the moment of the loss. Several may hold at once.
    pub states: BTreeMap<String, BTreeMap<String, u64>>,
    /// Congestion or not, by the receiver's metrics at the moment of the loss: both metrics together.
    pub joint: Accuracy,
    /// The same by the delays' differences alone.
    pub idd: Accuracy,
    /// The same by the throughput alone.
    pub stt: Accuracy,
    /// The same by the state that the receiver had reported when the sender acted on the loss.
    pub acted: Accuracy,
}

/// How reliably congestion was distinguished from other causes of loss.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Accuracy {
    /// Losses judged.
    pub losses: u64,
    /// Share of them judged wrongly; `null` if there were none.
    pub wrong: Option<f64>,
    /// Share of them that were congestion and not recognised as such, so that TCP would have slowed
    /// down more.
    pub incompatible: Option<f64>,
}

/// Summary of several values.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// Over all flows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Totals {
    /// Sum of the flows' goodput; what a relay passes on counts once.
    pub goodput_kbps: f64,
    /// Jain's fairness index of the flows' goodput; `null` if nothing was delivered.
    pub jain: Option<f64>,
    /// Mean of the index over windows of 2 s in which something was delivered; `null` without any.
    pub jain_instant: Option<f64>,
    /// Mean of the flows' indices, each weighted by what the flow delivered; `null` if nothing was.
    pub retransmission_index: Option<f64>,
    /// Sum of the flows' expected goodput; `null` if no flow has one.
    pub expected_goodput_kbps: Option<f64>,
}

/// Medium access, over all stations, after warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MacResult {
    /// Frames sent, by kind: `rts`, `cts`, `data`, `ack`, `broadcast`.
    pub frames: BTreeMap<String, u64>,
    /// Frames that a receiver in range lost to another frame.
    pub collisions: u64,
    /// Frames retransmitted because no CTS or ACK arrived.
    pub retries: u64,
    /// Packets dropped after the last retry.
    pub drops: u64,
    /// Time on the air of all frames / simulated time; above 1 where the channel is reused in space.
    pub airtime_share: f64,
}

/// Routing, over all nodes, after warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RoutingResult {
    /// Packets of the routing protocol sent, by kind; each hop counts.
    pub packets: BTreeMap<String, u64>,
    /// Their bytes, IP header included.
    pub bytes: BTreeMap<String, u64>,
    /// Packets dropped without a valid route / packets routed; `null` if none was routed.
    pub invalid_routes: Option<f64>,
    /// How often a packet had another next hop than the previous one at the same node to the same
    /// destination within 10 s. Left out where it is not counted (`count_changes` under OLSR).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_changes: Option<u64>,
    /// Of these, the returns to a next hop that was left less than 10 s before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oscillations: Option<u64>,
}

/// Energy, after warm-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EnergyResult {
    /// J spent by each node.
    pub node_joules: Vec<f64>,
    /// J spent by all nodes / MB delivered; `null` if nothing was delivered.
    pub joules_per_mb: Option<f64>,
}
