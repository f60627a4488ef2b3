//! Expected number of transmissions (De Couto et al., MobiCom 2003).

use multihop_wire::olsr::Quantity;

use super::LinkMetric;
use crate::olsr::gauge::{Gauge, MILLION};

/// Number of transmissions until a packet and its acknowledgement have arrived, in thousandths.
pub static ETX: LinkMetric = LinkMetric {
    name: "etx",
    about: "the expected number of transmissions (ETX)",
    quantity: Quantity(1),
    is_delay: false,
    measure: Gauge::received,
    cost: |there, back| {
        let cost = (1000 * MILLION * MILLION).checked_div(u64::from(there) * u64::from(back?));
        Some(cost.and_then(|cost| u32::try_from(cost).ok()).unwrap_or(u32::MAX))
    },
};
