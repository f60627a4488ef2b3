//! Quantities that an end of TPA declares for results and time series.

use super::TpaEnd;
use crate::observe::Side::Sender;
use crate::observe::{RoundTrip, Row};

/// The observable quantities of a TPA endpoint.
pub(crate) static OBSERVED: [Row<TpaEnd>; 12] = [
    Row::cwnd(|end| Some(f64::from(end.cwnd()))),
    Row::round_trip(|end| RoundTrip::newest(end.rtt().latest(), end.rtt().samples())),
    Row::phase(|end| end.phase().name()),
    Row::rate(|end| end.pacer()?.rate_kbps(end.mss())),
    Row::cov(|end| end.pacer().filter(|pacer| pacer.rate().is_some()).map(|pacer| pacer.cov())),
    Row::recorded_counter("congested", "Times that the sender entered the congested state.", Sender, |end| {
        end.counters().congested
    }),
    Row::freezes(|end| end.counters().freezes),
    Row::notices(|end| end.counters().notices),
    Row::recorded_counter("route_changes", "Route changes detected by round-trip times.", Sender, |end| {
        end.counters().route_changes
    }),
    Row::recorded_counter(
        "lost_by_txseq",
        "Segments counted as lost by the numbers of later transmissions.",
        Sender,
        |end| end.counters().lost_by_txseq,
    ),
    Row::probes(|end| end.counters().probes),
    Row::duplicates(|end| end.counters().duplicates),
];
