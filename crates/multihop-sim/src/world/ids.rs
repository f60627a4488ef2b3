//! Indices of the objects that the parts of a network own.

use std::net::Ipv4Addr;

use multihop_core::{FlowId, Interface, NodeId};
use multihop_scenario::Scenario;

/// A neighbour as one of a node's interfaces reaches it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Neighbour {
    pub(super) interface: Interface,
    pub(super) node: NodeId,
}

impl Neighbour {
    /// A neighbour that the first interface reaches.
    pub(super) fn on_first(node: NodeId) -> Self {
        Self { interface: Interface(0), node }
    }
}

/// The addresses of interfaces: the node's own for its first interface. Those of the others follow the addresses of all nodes and
/// hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterfaceAddresses {
    nodes: u32,
    /// The number after those of all nodes and hosts.
    free: u32,
    radios: u8,
}

impl InterfaceAddresses {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let count = |n: usize| u32::try_from(n).expect("checked numbers of nodes and hosts");
        let (nodes, hosts) = (count(scenario.topology.nodes()), count(scenario.hosts.len()));
        let radios = u8::try_from(scenario.radios.len()).expect("a checked number of radios");
        Self { nodes, free: nodes + hosts, radios }
    }

    /// The addresses of a node's interfaces.
    pub(super) fn of(self, node: NodeId) -> Vec<Ipv4Addr> {
        let interfaces = (0..self.radios).map(Interface);
        interfaces.map(|interface| self.address(Neighbour { interface, node })).collect()
    }

    /// The address of a node's interface.
    pub(super) fn address(self, Neighbour { interface, node }: Neighbour) -> Ipv4Addr {
        match interface {
            Interface(0) => node.addr(),
            Interface(n) => NodeId(self.free + u32::from(n - 1) * self.nodes + node.0).addr(),
        }
    }

    /// The interface with an address.
    pub(super) fn neighbour(self, address: Ipv4Addr) -> Option<Neighbour> {
        let number = NodeId::from_addr(address)?;
        let Some(further) = number.0.checked_sub(self.free) else { return Some(Neighbour::on_first(number)) };
        let interface = u8::try_from(further / self.nodes + 1).ok().filter(|n| *n < self.radios)?;
        Some(Neighbour { interface: Interface(interface), node: NodeId(further % self.nodes) })
    }
}

/// An index into the table of ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EndId(pub(super) u32);

/// An index into the table of flights.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlightId(pub(super) u32);

impl EndId {
    pub(super) fn sender(flow: FlowId) -> Self {
        Self(2 * flow.0)
    }

    pub(super) fn receiver(flow: FlowId) -> Self {
        Self(2 * flow.0 + 1)
    }

    pub(super) fn flow(self) -> FlowId {
        FlowId(self.0 / 2)
    }

    pub(super) fn is_sender(self) -> bool {
        self.0.is_multiple_of(2)
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl FlightId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
