//! Who decides where packets go next: routes that hold for the whole run, or an agent at each node.

mod fixed;
mod vocabulary;

use std::sync::Arc;

use multihop_core::{Instant, Machine, NodeId};
use multihop_radio::grid::Point;
use multihop_routing::{aodv, apdr, dsr, olsr};

use self::fixed::FixedRoutes;
pub(super) use self::vocabulary::{Said, Told};
use super::stream;
use crate::extension::{Extensions, RoutingAgent};
use crate::packet::RoutingMessage;
use multihop_scenario::{RoutingProtocol, Scenario};

/// Who decides where packets go next.
pub(super) enum Router {
    Fixed(FixedRoutes),
    // One agent for each node:
    Aodv(Vec<aodv::Aodv>),
    Olsr(Vec<olsr::Agent>),
    Reserving(Vec<apdr::Agent>),
    Dsr(Vec<dsr::Agent>),
    Custom(Vec<Box<dyn RoutingAgent>>),
}

/// Changes of routes in use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turns {
    pub(super) changes: u64,
    /// Returns to a next hop that had just been left.
    pub(super) oscillations: u64,
}

impl Turns {
    pub(super) fn since(self, before: Self) -> Self {
        Self { changes: self.changes - before.changes, oscillations: self.oscillations - before.oscillations }
    }

    fn of(agent: &olsr::Agent, more: u64) -> Self {
        let counters = agent.counters();
        Self { changes: counters.route_changes + more, oscillations: counters.oscillations }
    }
}

impl std::iter::Sum for Turns {
    fn sum<I: Iterator<Item = Self>>(turns: I) -> Self {
        turns.fold(Self::default(), |sum, turns| Self {
            changes: sum.changes + turns.changes,
            oscillations: sum.oscillations + turns.oscillations,
        })
    }
}

impl Router {
    pub(super) fn new(scenario: &Scenario, positions: &[Point], extensions: &Extensions<'_>) -> Self {
        let nodes = || (0..u32::try_from(positions.len()).expect("a checked number of nodes")).map(NodeId);
        let rng = |node| stream(scenario, "routing", node);
        if let Some(agent) = extensions.routing {
            return Self::Custom(nodes().map(agent).collect());
        }
        let start = Instant::ZERO;
        match &scenario.routing.protocol {
            RoutingProtocol::Static { next_hops } => {
                Self::Fixed(FixedRoutes::new(scenario.decode_range(), positions, next_hops.clone()))
            }
            RoutingProtocol::Aodv(config) => {
                let config = Arc::new(config.clone());
                let agent =
                    |node: NodeId| aodv::Aodv::new(Arc::clone(&config), node.addr(), start, rng(node));
                Self::Aodv(nodes().map(agent).collect())
            }
            RoutingProtocol::Olsr(config) => {
                let config = Arc::new(config.clone());
                let agent = |node: NodeId| olsr::Agent::new(start, node.addr(), config.clone(), rng(node));
                Self::Olsr(nodes().map(agent).collect())
            }
            RoutingProtocol::Apdr { config, reservation, .. } => {
                let config = Arc::new(config.clone());
                let olsr = |node: NodeId| olsr::Agent::new(start, node.addr(), config.clone(), rng(node));
                match reservation {
                    None => Self::Olsr(nodes().map(olsr).collect()),
                    Some(reservation) => {
                        let agent = |node: NodeId| apdr::Agent::new(node.addr(), olsr(node), *reservation);
                        Self::Reserving(nodes().map(agent).collect())
                    }
                }
            }
            RoutingProtocol::Dsr(config) => {
                let agent = |node: NodeId| dsr::Agent::new(node.addr(), *config, rng(node));
                Self::Dsr(nodes().map(agent).collect())
            }
        }
    }

    /// Links between two nodes, if the route is known from the start.
    pub(super) fn hops(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        let Self::Fixed(routes) = self else { return None };
        routes.hops(from, to)
    }

    /// Whether agents want to hear of frames for others.
    pub(super) fn wants_tap(&self) -> bool {
        matches!(self, Self::Dsr(agents) if agents.first().is_some_and(dsr::Agent::wants_tap))
    }

    /// A node overheard a frame for another; true if its agent may have something to do or to say.
    pub(super) fn tap(&mut self, now: Instant, node: NodeId, id: u32, heard: &dsr::Overheard) -> bool {
        let Self::Dsr(agents) = self else { return false };
        agents[node.index()].tap(now, id, heard)
    }

    /// A message of the protocol arrived; true if the node's agent may have something to do or to say.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        node: NodeId,
        from: NodeId,
        ttl: u8,
        message: &RoutingMessage,
    ) -> bool {
        if let (Self::Aodv(agents), RoutingMessage::Aodv(message)) = (&mut *self, message) {
            return agents[node.index()].hear(now, from.addr(), ttl, message);
        }
        self.handle(now, node, Told::Message { from, ttl, message: message.clone() });
        true
    }

    /// Tells a node's agent something.
    pub(super) fn handle(&mut self, now: Instant, node: NodeId, told: Told) {
        match self {
            Self::Fixed(_) => {}
            Self::Aodv(agents) => {
                if let Some(input) = told.for_aodv() {
                    agents[node.index()].handle(now, input);
                }
            }
            Self::Olsr(agents) => {
                if let Some(input) = told.for_olsr() {
                    agents[node.index()].handle(now, input);
                }
            }
            Self::Reserving(agents) => {
                if let Some(input) = told.for_apdr() {
                    agents[node.index()].handle(now, input);
                }
            }
            Self::Dsr(agents) => {
                if let Some(input) = told.for_dsr() {
                    agents[node.index()].handle(now, input);
                }
            }
            Self::Custom(agents) => {
                if let Some(input) = told.for_custom() {
                    agents[node.index()].handle(now, input);
                }
            }
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, node: NodeId) {
        match self {
            Self::Fixed(_) => {}
            Self::Aodv(agents) => agents[node.index()].handle_timeout(now),
            Self::Olsr(agents) => agents[node.index()].handle_timeout(now),
            Self::Reserving(agents) => agents[node.index()].handle_timeout(now),
            Self::Dsr(agents) => agents[node.index()].handle_timeout(now),
            Self::Custom(agents) => agents[node.index()].handle_timeout(now),
        }
    }

    /// The next thing that a node's agent wants done.
    pub(super) fn poll(&mut self, now: Instant, node: NodeId) -> Option<Said> {
        match self {
            Self::Fixed(_) => None,
            Self::Aodv(agents) => {
                let agent = &mut agents[node.index()];
                let preset = agent.config().preset;
                agent.poll_output(now).map(|output| Said::by_aodv(output, node, preset))
            }
            Self::Olsr(agents) => {
                agents[node.index()].poll_output(now).map(|output| Said::by_olsr(output, node))
            }
            Self::Reserving(agents) => {
                agents[node.index()].poll_output(now).map(|output| Said::by_apdr(output, node))
            }
            Self::Dsr(agents) => agents[node.index()].poll_output(now).map(Said::by_dsr),
            Self::Custom(agents) => {
                agents[node.index()].poll_output(now).map(|output| Said::by_custom(output, node))
            }
        }
    }

    /// Changes of routes in use, and those that were oscillations, where somebody counts them.
    pub(super) fn turns(&self) -> Option<Turns> {
        match self {
            Self::Olsr(agents) => {
                let counts = agents.first()?.counts_changes();
                counts.then(|| agents.iter().map(|agent| Turns::of(agent, 0)).sum())
            }
            Self::Reserving(agents) => {
                let turns = |agent: &apdr::Agent| Turns::of(agent.olsr(), agent.counters().reselected);
                Some(agents.iter().map(turns).sum())
            }
            _ => None,
        }
    }

    pub(super) fn deadline(&self, node: NodeId) -> Option<Instant> {
        match self {
            Self::Fixed(_) => None,
            Self::Aodv(agents) => agents[node.index()].poll_timeout(),
            Self::Olsr(agents) => agents[node.index()].poll_timeout(),
            Self::Reserving(agents) => agents[node.index()].poll_timeout(),
            Self::Dsr(agents) => agents[node.index()].poll_timeout(),
            Self::Custom(agents) => agents[node.index()].poll_timeout(),
        }
    }
}
