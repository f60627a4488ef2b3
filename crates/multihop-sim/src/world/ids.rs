//! Indices of the objects that the parts of a network own.

use std::net::Ipv4Addr;

use multihop_core::{FlowId, Interface, NodeId};
use multihop_scenario::{Port, Scenario};

/// Neighbour of a node, with the interface over which the node reaches it.
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

/// Address plan of all interfaces. The first interface of a node has the node's own address. With TAP
/// interfaces each further radio has a subnet, in which a node has the host part of its own address.
/// Otherwise the addresses of further interfaces follow those of all nodes and hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterfaceAddresses {
    nodes: u32,
    hosts: u32,
    radios: u8,
    /// Number of bits of the host part in an interface's subnet.
    host_bits: u32,
    /// Number of the second interface of node 0.
    second: u32,
    /// Difference between the numbers of a node's second and third interface.
    stride: u32,
}

impl InterfaceAddresses {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let count = |n: usize| u32::try_from(n).expect("checked numbers of nodes and hosts");
        let (nodes, hosts) = (count(scenario.topology.nodes()), count(scenario.hosts.len()));
        let radios = u8::try_from(scenario.radios.len()).expect("a checked number of radios");
        let subnets = Self::in_subnets(nodes, hosts, radios);
        match scenario.emulation.interface {
            Port::Tap => subnets,
            // The addresses of TUN interfaces affect the lengths of OLSRv2's messages.
            Port::Tun => Self { second: nodes + hosts, stride: nodes, ..subnets },
        }
    }

    /// Address plan with a subnet for each radio.
    fn in_subnets(nodes: u32, hosts: u32, radios: u8) -> Self {
        let host_bits = host_bits(nodes + hosts);
        Self { nodes, hosts, radios, host_bits, second: 1 << host_bits, stride: 1 << host_bits }
    }

    /// Length of the prefix and broadcast address of the subnet of the first interface, and with TAP interfaces of each interface.
    pub(crate) fn subnet(self, interface: Interface) -> (u8, Ipv4Addr) {
        let prefix = u8::try_from(32 - self.host_bits).expect("at most 32");
        // The range ends after the last address that a node can have.
        (prefix, self.number(interface, NodeId((1 << self.host_bits) - 2)).addr())
    }

    /// The addresses of a node's interfaces.
    pub(super) fn of(self, node: NodeId) -> Vec<Ipv4Addr> {
        let interfaces = (0..self.radios).map(Interface);
        interfaces.map(|interface| self.address(Neighbour { interface, node })).collect()
    }

    /// The address of a node's interface.
    pub(super) fn address(self, Neighbour { interface, node }: Neighbour) -> Ipv4Addr {
        self.number(interface, node).addr()
    }

    /// Number from which all addresses of a node's interface are computed, as a node's addresses are from its
    /// number.
    pub(crate) fn number(self, interface: Interface, node: NodeId) -> NodeId {
        match interface {
            Interface(0) => node,
            Interface(n) => NodeId(self.second + u32::from(n - 1) * self.stride + node.0),
        }
    }

    /// The node and interface with this address; `None` if there is none.
    pub(super) fn neighbour(self, address: Ipv4Addr) -> Option<Neighbour> {
        self.numbered(NodeId::from_addr(address)?)
    }

    /// The node and interface with this [`number`](Self::number).
    pub(super) fn numbered(self, number: NodeId) -> Option<Neighbour> {
        if number.0 < self.nodes + self.hosts {
            return Some(Neighbour::on_first(number));
        }
        let further = number.0.checked_sub(self.second)?;
        let interface = u8::try_from(further / self.stride + 1).ok().filter(|n| *n < self.radios)?;
        let node = NodeId(further % self.stride);
        (node.0 < self.nodes).then_some(Neighbour { interface: Interface(interface), node })
    }
}

/// Number of host bits, at least 8, in the smallest subnet for this many nodes and hosts.
fn host_bits(stations: u32) -> u32 {
    // The network address and the broadcast address belong to no station.
    (stations + 2).next_power_of_two().trailing_zeros().max(8)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_has_all_stations_and_a_broadcast_address_of_its_own() {
        let subnet =
            |stations, interface| InterfaceAddresses::in_subnets(stations, 0, 8).subnet(Interface(interface));
        assert_eq!(subnet(2, 0), (24, [10, 0, 0, 255].into()));
        assert_eq!(subnet(254, 0), (24, [10, 0, 0, 255].into()));
        assert_eq!(subnet(255, 0), (23, [10, 0, 1, 255].into()));
        assert_eq!(subnet(10_000, 0), (18, [10, 0, 63, 255].into()));
        assert_eq!(subnet(254, 1), (24, [10, 0, 1, 255].into()));
        assert_eq!(subnet(10_000, 7), (18, [10, 1, 255, 255].into()));
    }

    #[test]
    fn addresses_of_interfaces_map_back_to_them() {
        let own = InterfaceAddresses::in_subnets(300, 2, 3);
        for (interface, node, address) in
            [(0, 0, [10, 0, 0, 1]), (0, 301, [10, 0, 1, 46]), (2, 299, [10, 0, 5, 44])]
        {
            let neighbour = Neighbour { interface: Interface(interface), node: NodeId(node) };
            assert_eq!(own.address(neighbour), Ipv4Addr::from(address));
            assert_eq!(own.neighbour(address.into()), Some(neighbour));
        }
        // Hosts have no radio, and no node has a fourth radio.
        for nobody in [[10, 0, 1, 47], [10, 0, 5, 45], [10, 0, 6, 1]] {
            assert_eq!(own.neighbour(nobody.into()), None, "{nobody:?}");
        }
    }
}
