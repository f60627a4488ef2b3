//! Costs of links: what HELLOs measure, and what the network is told of it.

use alloc::sync::Arc;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::olsr::{Body, Costs, Message, Report, Tc};

use super::Agent;
use super::cheapest::{Priced, Prices};
use super::config::Metric;
use super::gauges::Gauges;

/// What a node that chooses routes by cost knows of costs.
#[derive(Clone, Debug)]
pub(super) struct Pricing {
    metric: Metric,
    gauges: Gauges,
    prices: Prices,
    /// Of the next HELLO.
    number: u16,
}

impl Pricing {
    pub(super) fn new(metric: Metric) -> Self {
        Self { metric, gauges: Gauges::new(), prices: Prices::new(), number: 0 }
    }

    pub(super) const fn priced(&self) -> Priced<'_> {
        Priced { metric: &self.metric, gauges: &self.gauges, prices: &self.prices }
    }

    /// What the next HELLO says.
    pub(super) fn report(&mut self) -> Report {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.gauges.report(number, &self.metric)
    }

    /// Says whether something was forgotten.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        self.gauges.expire(now) | self.prices.expire(now)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.gauges.due().into_iter().chain(self.prices.due()).min()
    }
}

impl Agent {
    pub(super) fn hear_report(&mut self, now: Instant, from: Ipv4Addr, report: &Report, validity: Duration) {
        let own = self.address;
        if let Some(pricing) = &mut self.pricing {
            let Pricing { metric, gauges, .. } = &mut **pricing;
            self.stale.routes |= gauges.hear(now, [from, own], report, metric, now + validity);
        }
    }

    pub(super) fn learn_costs(&mut self, message: &Message, costs: &Arc<Costs>, until: Instant) {
        let Some(pricing) = &mut self.pricing else { return };
        if costs.quantity == pricing.metric.quantity {
            let before = pricing.prices.get(message.originator);
            self.stale.routes |= before != Some(costs);
            pricing.prices.put(message.originator, costs.clone(), until);
        }
    }

    /// What the links of this node's TC cost.
    pub(super) fn costs_of(&self, tc: &Tc) -> Option<Body> {
        let Pricing { metric, gauges, .. } = &**self.pricing.as_ref()?;
        let via = |main| self.neighbours.get(main).and_then(|neighbour| neighbour.via).unwrap_or(main);
        let costs = tc.neighbours.iter().map(|&main| gauges.cost(via(main), metric)).collect();
        Some(Body::Costs(Arc::new(Costs { sequence: tc.sequence, quantity: metric.quantity, costs })))
    }
}
