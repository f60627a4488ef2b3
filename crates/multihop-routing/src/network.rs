//! The agents of a whole network, for drivers that run all nodes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::net::Ipv4Addr;

use multihop_core::settings::Settings;
use multihop_core::{Instant, Rng, prefetch_start};

use crate::agent::{RouteChanges, RoutingAgent};
use crate::host::HostConfig;

/// A routing protocol with its parameters, which [`Settings`] lists.
pub trait AgentConfig: Settings + Any + fmt::Debug + Send + Sync {
    /// An agent for each node, usually by [`Network::agents`].
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable>;

    /// Whether routing messages have a separate interface queue, as under DSR in ns-2. Otherwise they go to
    /// the head of the only queue.
    fn separate_queue(&self) -> bool {
        false
    }

    /// Whether the agents support nodes with several interfaces.
    fn has_interfaces(&self) -> bool {
        false
    }

    /// The configuration for agents on real hosts; `None` if the protocol runs in simulations only.
    fn on_host(&self) -> Option<&dyn HostConfig> {
        None
    }
}

/// The nodes for which [`AgentConfig`] makes agents.
pub struct Network<'a> {
    /// Addresses of all nodes, by the node's number.
    pub addresses: &'a [Ipv4Addr],
    /// Addresses of all interfaces of each node, the main address first. Empty if each node has one interface.
    pub interfaces: &'a [Vec<Ipv4Addr>],
    /// Number of each interface's channel. Empty if each node has one interface.
    pub channels: &'a [u8],
    /// Position of each node at `start`, m, for protocols that use geography. Empty if positions are unknown.
    pub positions: &'a [[f64; 2]],
    /// Instant at which the agents start.
    pub start: Instant,
    /// Root of the agents' random streams.
    pub seed: u64,
}

/// Agents of one protocol, by node.
///
/// The agents are contiguous in memory, which a trait object per agent would prevent.
pub trait AgentTable {
    /// The routing agent of a node.
    fn agent(&self, node: usize) -> &dyn RoutingAgent;

    /// Mutable access to the agent of a node.
    fn agent_mut(&mut self, node: usize) -> &mut dyn RoutingAgent;

    /// The sum of all agents' route changes; `None` if they do not count them.
    fn route_changes(&self) -> Option<RouteChanges>;

    /// Prefetches the agent of a node, which will receive a packet soon. Does nothing by default.
    fn prefetch(&self, _node: usize) {}
}

impl Network<'_> {
    /// An agent for each node, with its random stream of this purpose.
    pub fn agents<A: RoutingAgent + 'static>(
        &self,
        purpose: &str,
        mut agent: impl FnMut(Ipv4Addr, Rng) -> A,
    ) -> Box<dyn AgentTable> {
        let streams = (0..).map(|node| Rng::stream(self.seed, purpose, node));
        let agents = self.addresses.iter().zip(streams).map(|(&address, rng)| agent(address, rng));
        Box::new(agents.collect::<Vec<A>>())
    }

    /// The addresses of the interfaces of the node with this main address.
    pub fn interfaces_of(&self, address: Ipv4Addr) -> Vec<Ipv4Addr> {
        let interfaces = self.interfaces.iter().find(|interfaces| interfaces.first() == Some(&address));
        interfaces.cloned().unwrap_or_else(|| [address].into())
    }
}

impl<A: RoutingAgent> AgentTable for Vec<A> {
    fn agent(&self, node: usize) -> &dyn RoutingAgent {
        &self[node]
    }

    fn agent_mut(&mut self, node: usize) -> &mut dyn RoutingAgent {
        &mut self[node]
    }

    fn route_changes(&self) -> Option<RouteChanges> {
        self.iter().map(A::route_changes).sum()
    }

    fn prefetch(&self, node: usize) {
        if let Some(agent) = self.get(node) {
            prefetch_start(agent);
        }
    }
}

/// Purpose string of the random streams of built-in protocols.
pub(crate) const STREAM: &str = "routing";
