//! Measured links: the quality of each direction of a link over time, in place of path loss, shadowing and fading.

use std::collections::BTreeMap;

use multihop_core::settings::Field;
use multihop_core::{Instant, NodeId};

/// Traces of the links of a network. Nodes without a trace between them do not hear each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTraces {
    quantity: Quantity,
    interpolation: Interpolation,
    /// Traces of measured links, by sender and receiver.
    links: BTreeMap<(NodeId, NodeId), Trace>,
}

/// Quantity that a link trace contains.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Quantity {
    /// Ratio of signal to noise, dB; minus infinity: no signal.
    #[default]
    Snr,
    /// Probability that a frame is lost.
    Loss,
}

/// Values between two samples.
#[derive(Clone, Copy, Debug, Default, Eq, Field, PartialEq)]
pub enum Interpolation {
    /// The value of the earlier sample.
    #[default]
    Hold,
    /// Values change linearly between samples. Next to a sample without signal the value of the earlier sample holds.
    Linear,
}

/// One measured value of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Instant of the measurement.
    pub at: Instant,
    /// Transmitter of the measured direction.
    pub from: NodeId,
    /// Receiver of the measured direction.
    pub to: NodeId,
    /// SNR in dB, or the probability of a loss.
    pub value: f64,
}

/// The samples of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq)]
struct Trace {
    /// Samples in order of time; among samples at one instant only the last one is kept.
    samples: Vec<(Instant, f64)>,
    highest: f64,
}

impl LinkTraces {
    /// Creates traces from measurements in any order. A direction without measurements gets those of the
    /// other direction.
    pub fn new(quantity: Quantity, interpolation: Interpolation, measurements: &[Measurement]) -> Self {
        let mut links: BTreeMap<_, Trace> = BTreeMap::new();
        for &Measurement { at, from, to, value } in measurements {
            links.entry((from, to)).or_default().samples.push((at, value));
        }
        for trace in links.values_mut() {
            trace.settle();
        }
        Self { quantity, interpolation, links }
    }

    /// Quantity that the traces contain.
    pub fn quantity(&self) -> Quantity {
        self.quantity
    }

    /// Value of a link at an instant. Before the first sample it is the first value, after the last sample
    /// the last value.
    pub fn value(&self, from: NodeId, to: NodeId, at: Instant) -> Option<f64> {
        self.trace(from, to).map(|trace| trace.value(at, self.interpolation))
    }

    /// SNR of a link at an instant, dB; minus infinity without a trace or a signal.
    pub fn snr_db(&self, from: NodeId, to: NodeId, at: Instant) -> f64 {
        match self.quantity {
            Quantity::Snr => self.value(from, to, at).unwrap_or(f64::NEG_INFINITY),
            Quantity::Loss => self.highest_snr_db(from, to),
        }
    }

    /// The highest SNR of a link over all time.
    pub(crate) fn highest_snr_db(&self, from: NodeId, to: NodeId) -> f64 {
        match (self.trace(from, to), self.quantity) {
            (None, _) => f64::NEG_INFINITY,
            (Some(trace), Quantity::Snr) => trace.highest,
            (Some(_), Quantity::Loss) => STRONG_DB,
        }
    }

    fn trace(&self, from: NodeId, to: NodeId) -> Option<&Trace> {
        self.links.get(&(from, to)).or_else(|| self.links.get(&(to, from)))
    }
}

impl Trace {
    /// Sorts the samples by time and keeps the last one of each instant.
    fn settle(&mut self) {
        self.samples.sort_by_key(|(at, _)| *at);
        self.samples.reverse();
        self.samples.dedup_by_key(|(at, _)| *at);
        self.samples.reverse();
        self.samples.shrink_to_fit();
        self.highest = self.samples.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
    }

    fn value(&self, at: Instant, interpolation: Interpolation) -> f64 {
        let next = self.samples.partition_point(|(when, _)| *when <= at);
        let Some(&(begin, value)) = next.checked_sub(1).and_then(|index| self.samples.get(index)) else {
            return self.samples.first().map_or(f64::NEG_INFINITY, |(_, first)| *first);
        };
        match (interpolation, self.samples.get(next)) {
            (Interpolation::Linear, Some(&(end, then))) if value.is_finite() && then.is_finite() => {
                let share = (at - begin).as_secs_f64() / (end - begin).as_secs_f64();
                value + share * (then - value)
            }
            _ => value,
        }
    }
}

/// SNR in dB, sufficient for every rate, of links of which only losses were measured.
const STRONG_DB: f64 = 60.0;

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn traces(interpolation: Interpolation, rows: &[(u64, u32, u32, f64)]) -> LinkTraces {
        let measurement = |&(time, from, to, value)| Measurement {
            at: at(time),
            from: NodeId(from),
            to: NodeId(to),
            value,
        };
        let list: Vec<_> = rows.iter().map(measurement).collect();
        LinkTraces::new(Quantity::Snr, interpolation, &list)
    }

    #[test]
    fn values_hold_until_the_next_sample_or_lie_on_a_line() {
        let rows = [(20, 0, 1, 10.0), (10, 0, 1, 30.0), (20, 0, 1, 12.0)];
        let (hold, linear) = (traces(Interpolation::Hold, &rows), traces(Interpolation::Linear, &rows));
        let read =
            |traces: &LinkTraces| [0, 10, 15, 20, 99].map(|time| traces.value(A, B, at(time)).unwrap());
        assert_eq!(read(&hold).map(f64::to_bits), [30.0, 30.0, 30.0, 12.0, 12.0].map(f64::to_bits));
        assert_eq!(read(&linear).map(f64::to_bits), [30.0, 30.0, 21.0, 12.0, 12.0].map(f64::to_bits));
    }

    #[test]
    fn a_link_without_a_signal_holds_on_both_sides() {
        let lost = f64::NEG_INFINITY;
        let linear = traces(Interpolation::Linear, &[(0, 0, 1, 20.0), (10, 0, 1, lost), (20, 0, 1, 30.0)]);
        let read = [5, 10, 15, 20].map(|time| linear.snr_db(A, B, at(time)));
        assert_eq!(read.map(f64::to_bits), [20.0, lost, lost, 30.0].map(f64::to_bits));
    }

    #[test]
    fn directions_differ_if_both_were_measured() {
        let one = traces(Interpolation::Hold, &[(0, 0, 1, 20.0), (0, 1, 2, 25.0), (0, 2, 1, 15.0)]);
        let read = |from: u32, to: u32| one.snr_db(NodeId(from), NodeId(to), at(1));
        assert_eq!(
            [read(0, 1), read(1, 0), read(1, 2), read(2, 1)].map(f64::to_bits),
            [20.0, 20.0, 25.0, 15.0].map(f64::to_bits)
        );
        assert_eq!(one.value(A, NodeId(2), at(1)), None);
    }
}
