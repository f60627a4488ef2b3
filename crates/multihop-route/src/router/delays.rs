//! Extra costs of links, which the host of a router reports.

use multihop_core::Instant;

use super::{NeighbourInterface, Protocol, Router};

impl Router {
    /// Sets the costs of packets to neighbours in addition to what HELLOs measure, in the unit of the metric.
    pub fn set_local_delays(&mut self, now: Instant, cost: impl Fn(&NeighbourInterface) -> u32) {
        let costs: Vec<_> = self.heard(now).map(|heard| (heard.link, cost(&heard))).collect();
        if let Some(agent) = self.olsr_mut() {
            agent.set_local_delays(&costs);
        }
    }

    /// Cost of the link to a neighbour as measured by HELLOs, in the unit of the metric.
    pub fn measured(&self, of: &NeighbourInterface) -> Option<u32> {
        match &self.agent.as_ref()?.protocol {
            Protocol::Olsr(olsr) => olsr.measured(of.link),
            Protocol::Aodv(_) | Protocol::Extension(_) => None,
        }
    }
}
