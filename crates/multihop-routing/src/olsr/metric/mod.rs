//! Link metrics: the cost of a link from measurements.
//!
//! A metric is one file of this folder and one row of [`METRICS`]. It converts the measurements of HELLOs
//! into a cost; routes minimize the sum of costs.

mod delay;
mod etx;

use core::fmt;

use multihop_wire::olsr::Quantity;

use super::gauge::Gauge;

pub use delay::DELAY;
pub use etx::ETX;

/// The metrics that a scenario can choose, the default first.
pub static METRICS: &[&LinkMetric] = &[&DELAY, &ETX];

/// Metric that turns measurements of links into costs. Metrics are equal if their names are.
pub struct LinkMetric {
    /// Name of the metric in scenarios.
    pub name: &'static str,
    /// Description of a link's cost under the metric, for the settings' help.
    pub about: &'static str,
    /// Number of the metric in messages.
    pub quantity: Quantity,
    /// Whether costs are delays in microseconds, which `max_delay` can limit.
    pub is_delay: bool,
    /// Quantity that HELLOs report about the direction from a neighbour; `None` before a measurement.
    pub(super) measure: fn(&Gauge) -> Option<u32>,
    /// Cost of the link to a neighbour, from the measurement `there` of the direction to the neighbour and `back` of
    /// the opposite direction. Before the first report of the neighbour, `there` has the value of `back`.
    pub(super) cost: fn(there: u32, back: Option<u32>) -> Option<u32>,
}

impl LinkMetric {
    /// Cost of the link to the neighbour of this gauge; `None` if it was not measured.
    pub(super) fn cost_of(&self, gauge: &Gauge) -> Option<u32> {
        let back = (self.measure)(gauge);
        (self.cost)(gauge.reported.or(back)?, back)
    }
}

impl PartialEq for LinkMetric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for LinkMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_differ_in_name_and_number() {
        for (n, metric) in METRICS.iter().enumerate() {
            for other in &METRICS[..n] {
                assert!(metric != other && metric.quantity != other.quantity, "{metric:?} and {other:?}");
            }
        }
    }
}
