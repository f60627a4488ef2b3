//! The source of next hops: routes that are fixed for the whole run, or a routing agent at each node.

mod diverse;
mod fixed;

use std::collections::{BTreeMap, BTreeSet};

use multihop_core::{Instant, NodeId};
use multihop_radio::grid::Point;
use multihop_routing::agent::{RouteChanges, RoutingAgent};
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_scenario::{Port, RoutingProtocol, Scenario};

use self::diverse::DiverseRoutes;
use self::fixed::FixedRoutes;
use super::ids::{InterfaceAddresses, Neighbour};

/// The source of the next hops in a network.
pub(super) enum Router {
    Fixed(FixedRoutes),
    /// Fixed routes over several radios.
    Diverse(DiverseRoutes),
    /// A routing agent at each node; unused at nodes whose kernels route.
    Agents {
        agents: Box<dyn AgentTable>,
        unused: BTreeSet<NodeId>,
    },
}

impl Router {
    pub(super) fn new(scenario: &Scenario, positions: &[Point]) -> Self {
        match &scenario.routing.protocol {
            RoutingProtocol::Static { next_hops } if scenario.has_several_radios() => {
                Self::Diverse(DiverseRoutes::new(scenario, positions, next_hops.clone()))
            }
            RoutingProtocol::Static { next_hops } => {
                Self::Fixed(fixed_routes(scenario, positions, next_hops))
            }
            RoutingProtocol::Agents(protocol) => {
                let nodes = (0..).map(NodeId).take(positions.len());
                let unused = nodes.filter(|node| scenario.port(*node) == Port::Tap).collect();
                Self::Agents { agents: agents(&*protocol.config, scenario, positions), unused }
            }
        }
    }

    /// Number of links between two nodes, if the route is known from the start.
    pub(super) fn hops(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        match self {
            Self::Fixed(routes) => routes.hops(from, to),
            Self::Diverse(routes) => routes.hops(from, to),
            Self::Agents { .. } => None,
        }
    }

    /// The next hop of a node to a destination, if routes are fixed.
    #[inline]
    pub(super) fn fixed(&mut self, node: NodeId, destination: NodeId) -> Option<Neighbour> {
        match self {
            Self::Fixed(routes) => routes.next_hop(node, destination).map(Neighbour::on_first),
            Self::Diverse(routes) => routes.next_hop(node, destination),
            Self::Agents { .. } => None,
        }
    }

    /// Whether routes are fixed.
    #[inline]
    pub(super) fn is_fixed(&self) -> bool {
        !matches!(self, Self::Agents { .. })
    }

    /// A neighbour, with the interface by which a node reaches it.
    pub(super) fn neighbour(&self, node: NodeId, neighbour: NodeId) -> Neighbour {
        match self {
            Self::Diverse(routes) => routes.neighbour(node, neighbour),
            _ => Neighbour::on_first(neighbour),
        }
    }

    /// Routing agent of a node; `None` with static routes.
    pub(super) fn agent(&self, node: NodeId) -> Option<&dyn RoutingAgent> {
        let Self::Agents { agents, unused } = self else { return None };
        if unused.contains(&node) { None } else { Some(agents.agent(node.index())) }
    }

    /// Routing agent of a node, to change it; None with static routes.
    pub(super) fn agent_mut(&mut self, node: NodeId) -> Option<&mut dyn RoutingAgent> {
        let Self::Agents { agents, unused } = self else { return None };
        if unused.contains(&node) { None } else { Some(agents.agent_mut(node.index())) }
    }

    /// Prefetches a node's routing agent, if there is one.
    pub(super) fn prefetch(&self, node: NodeId) {
        if let Self::Agents { agents, .. } = self {
            agents.prefetch(node.index());
        }
    }

    /// Whether agents use overheard frames.
    pub(super) fn wants_overheard(&self) -> bool {
        matches!(self, Self::Agents { agents, .. } if agents.agent(0).wants_overheard())
    }

    /// Whether agents use the bit rates of links.
    pub(super) fn wants_rates(&self) -> bool {
        matches!(self, Self::Agents { agents, .. } if agents.agent(0).wants_rates())
    }

    /// Number of changes of used routes, if the agents count them.
    pub(super) fn route_changes(&self) -> Option<RouteChanges> {
        let Self::Agents { agents, .. } = self else { return None };
        agents.route_changes()
    }
}

/// Number of links between two of `nodes` nodes along next hops; `None` for a loop, which configured next
/// hops may form.
fn hops(
    from: NodeId,
    to: NodeId,
    nodes: usize,
    mut next_hop: impl FnMut(NodeId) -> Option<NodeId>,
) -> Option<u32> {
    let mut node = from;
    for hops in (0..).take(nodes) {
        if node == to {
            return Some(hops);
        }
        node = next_hop(node)?;
    }
    None
}

/// Static routes over links that work at the data rates. Under rate control, destinations without a route at
/// the scenario's rate get routes over links within the longest range.
fn fixed_routes(
    scenario: &Scenario,
    positions: &[Point],
    next_hops: &BTreeMap<(NodeId, NodeId), NodeId>,
) -> FixedRoutes {
    let radio = scenario.radio();
    let longest = radio.longest_range();
    let mut routes = FixedRoutes::new(next_hops.clone());
    if radio.measured().is_some() {
        let carries = |rate, from, to| radio.measured_link_carries(from, to, rate) == Some(true);
        routes.add_links(ANY_DISTANCE, positions, |from, to, _| carries(radio.rate, from, to));
        if scenario.mac().rate_control.adapts() {
            routes.add_links(ANY_DISTANCE, positions, |from, to, _| {
                radio.usable_rates().any(|rate| carries(rate, from, to))
            });
        }
        return routes;
    }
    if radio.link_rates.is_empty() {
        routes.add_links(radio.decode_range(), positions, |_, _, _| true);
    } else {
        routes.add_links(longest, positions, |from, to, metres| metres <= radio.range_between(from, to));
    }
    if scenario.mac().rate_control.adapts() && longest > radio.decode_range() {
        routes.add_links(longest, positions, |_, _, _| true);
    }
    routes
}

/// Search radius in metres for measured links, which do not depend on positions.
const ANY_DISTANCE: f64 = 4e7;

/// Whether static routing has a route between each of these pairs of nodes.
pub(crate) fn routed_from_start(
    scenario: &Scenario,
    positions: &[Point],
    pairs: impl Iterator<Item = (NodeId, NodeId)>,
) -> Vec<bool> {
    let mut router = Router::new(scenario, positions);
    pairs.map(|(from, to)| router.hops(from, to).is_some()).collect()
}

fn agents(config: &dyn AgentConfig, scenario: &Scenario, positions: &[Point]) -> Box<dyn AgentTable> {
    let id = |node: usize| NodeId(u32::try_from(node).expect("a checked number of nodes"));
    let addresses: Vec<_> = (0..positions.len()).map(|node| id(node).addr()).collect();
    let own = InterfaceAddresses::new(scenario);
    let count = if scenario.has_several_radios() { positions.len() } else { 0 };
    let interfaces: Vec<_> = (0..count).map(|node| own.of(id(node))).collect();
    let positions: Vec<_> = positions.iter().map(|place| [place.x, place.y]).collect();
    let (start, seed) = (Instant::ZERO, scenario.seed);
    let channels: Vec<_> = scenario.radios.iter().filter_map(|radio| radio.channel).collect();
    let (addresses, interfaces, channels, positions) = (&addresses, &interfaces, &channels, &positions);
    config.agents(&Network { addresses, interfaces, channels, positions, start, seed })
}
