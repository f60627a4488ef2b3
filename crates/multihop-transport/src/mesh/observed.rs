//! Quantities that an end of `mesh` declares for results and time series.

use super::MeshEnd;
use crate::observe::Side::Receiver;
use crate::observe::{RoundTrip, Row};

/// The rows of an end.
pub(crate) static OBSERVED: [Row<MeshEnd>; 10] = [
    Row::cwnd(|end| Some(end.window())),
    Row::round_trip(|end| RoundTrip::newest(end.rtt().latest(), end.rtt().samples())),
    Row::phase(MeshEnd::phase),
    Row::rate(|end| end.gap().map(|gap| f64::from(end.mss()) * 8e-3 / gap.as_secs_f64().max(1e-9))),
    Row::cov(|end| end.gap().map(|_| 0.0)),
    Row::freezes(|end| end.counters().freezes),
    Row::notices(|end| end.counters().notices),
    Row::probes(|end| end.counters().probes),
    Row::recorded_counter("acks", "ACKs sent.", Receiver, |end| end.counters().acks),
    Row::recorded_counter(
        "unwanted",
        "Segments with data that had arrived before, or for which there was no room.",
        Receiver,
        |end| end.counters().unwanted,
    ),
];
