//! Quantities that ADTCP declares for results and time series, at both ends.

use multihop_wire::tcp::NetworkState;

use super::super::TcpEnd;
use super::{Identify, Values};
use crate::observe::Row;
use crate::observe::Side::{Receiver, Sender};

/// The observable quantities of an endpoint with ADTCP.
pub(crate) static OBSERVED: [Row<TcpEnd>; 10] = [
    Row::gauge(
        ["idd", "ms"],
        "Newest inter-packet delay difference at an ADTCP receiver.",
        Receiver,
        |end| end.metric(|metrics| 1e3 * metrics.idd),
    ),
    Row::gauge(["iad", "ms"], "Newest inter-packet arrival delay at an ADTCP receiver.", Receiver, |end| {
        end.metric(|metrics| 1e3 * metrics.iad)
    }),
    Row::gauge(
        ["stt", ""],
        "Newest short-term throughput at an ADTCP receiver, packets/s.",
        Receiver,
        |end| end.metric(|metrics| metrics.stt),
    ),
    Row::gauge(
        ["por", ""],
        "Newest share of packets that arrived out of order at an ADTCP receiver.",
        Receiver,
        |end| end.metric(|metrics| metrics.por),
    ),
    Row::gauge(["plr", ""], "Newest share of lost packets at an ADTCP receiver.", Receiver, |end| {
        end.metric(|metrics| metrics.plr)
    }),
    Row::gauge(
        ["network", ""],
        "State of the network that an ADTCP receiver infers, in bits.",
        Receiver,
        |end| end.network_state().map(bits),
    ),
    Row::gauge(
        ["congested_joint", ""],
        "Whether IDD and STT together indicate congestion to an ADTCP receiver: 0 or 1.",
        Receiver,
        |end| end.is_congested(Identify::Joint),
    ),
    Row::gauge(
        ["congested_idd", ""],
        "Whether IDD alone indicates congestion to an ADTCP receiver: 0 or 1.",
        Receiver,
        |end| end.is_congested(Identify::Idd),
    ),
    Row::gauge(
        ["congested_stt", ""],
        "Whether STT alone indicates congestion to an ADTCP receiver: 0 or 1.",
        Receiver,
        |end| end.is_congested(Identify::Stt),
    ),
    Row::gauge(
        ["reported", ""],
        "State of the network that an ADTCP sender was told last, in bits.",
        Sender,
        |end| end.peer_state().map(bits),
    ),
];

fn bits(state: NetworkState) -> f64 {
    f64::from(state.bits())
}

impl TcpEnd {
    /// Newest sample of a metric of the receiver.
    fn metric(&self, pick: fn(&Values) -> f64) -> Option<f64> {
        self.metrics().map(pick)
    }

    /// Whether the receiver's metrics indicate congestion by `rule` (1) or not (0).
    fn is_congested(&self, rule: Identify) -> Option<f64> {
        let congested = |levels| rule.state(levels).has(NetworkState::CONGESTION);
        self.levels().map(|levels| f64::from(u8::from(congested(levels))))
    }
}
