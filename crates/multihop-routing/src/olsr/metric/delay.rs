//! Average delay: the metric of average path-delay routing.

use multihop_wire::olsr::Quantity;

use super::LinkMetric;
use crate::olsr::gauge::Gauge;

/// Metric of the average delay of HELLOs in the direction of the packets.
pub static DELAY: LinkMetric = LinkMetric {
    name: "delay",
    about: "the average delay of HELLOs",
    quantity: Quantity(0),
    is_delay: true,
    measure: Gauge::delay,
    cost: |there, _| Some(there),
};
