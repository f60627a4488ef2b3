//! Quantities that an endpoint declares for results and time series: the table of this file, then the rows of
//! ADTCP or of a user-defined congestion control.

use super::adtcp::OBSERVED as OF_ADTCP;
use super::{Config, TcpEnd};
use crate::observe::Side::Sender;
use crate::observe::{Quantity, RoundTrip, Row, Value};

/// The observable quantities of every TCP endpoint.
pub(crate) static OBSERVED: [Row<TcpEnd>; 10] = [
    Row::cwnd(|end| Some(f64::from(end.cwnd()) / f64::from(end.mss()))),
    Row::round_trip(|end| RoundTrip::newest(end.rtt().latest(), end.rtt().samples())),
    Row::phase(TcpEnd::state_name),
    Row::rate(TcpEnd::rate_kbps),
    Row::cov(TcpEnd::pace_cov),
    Row::recorded_counter("fast_retransmits", "Fast retransmits.", Sender, |end| {
        end.counters().fast_retransmits
    }),
    Row::recorded_counter(
        "standbys",
        "Times that the sender was on stand-by for a lost path.",
        Sender,
        |end| end.counters().standbys,
    ),
    Row::probes(|end| end.counters().probes),
    Row::recorded_counter("undone", "Reductions of the window that were undone.", Sender, |end| {
        end.counters().undone
    }),
    Row::duplicates(|end| end.counters().duplicates),
];

impl Config {
    /// Row with this index, in this table or in the tables after it.
    pub(crate) fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        if let Some(row) = OBSERVED.get(index) {
            return Some(row.quantity());
        }
        let index = index - OBSERVED.len();
        if self.is_adtcp() { OF_ADTCP.get(index).map(Row::quantity) } else { self.congestion.quantity(index) }
    }
}

impl TcpEnd {
    /// Value of the row with this index, in this table or in the tables after it.
    pub(crate) fn value(&self, index: usize) -> Option<Value> {
        if let Some(row) = OBSERVED.get(index) {
            return row.value(self);
        }
        let index = index - OBSERVED.len();
        if self.config.is_adtcp() {
            OF_ADTCP.get(index)?.value(self)
        } else {
            self.congestion.control().value(index)
        }
    }

    /// Pacing rate in kb/s of the pacer, or else of the congestion control.
    fn rate_kbps(&self) -> Option<f64> {
        let paced = self.pacer().and_then(|pacer| pacer.rate_kbps(self.mss()));
        paced.or_else(|| self.pacing_rate().map(|bytes| bytes as f64 * 8e-3))
    }

    /// Coefficient of variation of the pacer's round trips; 0 if the congestion control paces.
    fn pace_cov(&self) -> Option<f64> {
        let paced = self.pacer().filter(|pacer| pacer.rate().is_some()).map(|pacer| pacer.cov());
        paced.or_else(|| self.pacing_rate().map(|_| 0.0))
    }
}
