//! Interfaces of nodes and hosts through which packets of real programs enter and leave.

use std::net::{Ipv4Addr, Ipv6Addr};

use multihop_core::{Interface, NodeId};
use multihop_scenario::{Port, Scenario};

use super::stations;
use crate::world::InterfaceAddresses;

/// Interface of a node or host, with the addresses that the simulated network expects at this interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StationInterface {
    /// Number of the interface: with TAP interfaces the number of its radio, otherwise 0.
    pub interface: Interface,
    /// IPv4 address of the interface.
    pub address: Ipv4Addr,
    /// Length of the prefix of the IPv4 subnet.
    pub prefix: u8,
    /// Broadcast address of the IPv4 subnet.
    pub broadcast: Ipv4Addr,
    /// IPv6 address of the interface; its prefix has 64 bits.
    pub address6: Ipv6Addr,
    /// MAC address of the interface, for TAP interfaces.
    pub mac: [u8; 6],
}

/// The interfaces of a node or host: one for each of its radios with TAP interfaces, otherwise one.
pub fn interfaces(scenario: &Scenario, node: NodeId) -> Vec<StationInterface> {
    let radios = u8::try_from(scenario.radios.len()).expect("a checked number of radios");
    let all = (0..radios).map(Interface).filter(|interface| exists(scenario, node, *interface));
    let addresses = InterfaceAddresses::new(scenario);
    let described = |interface: Interface| {
        let number = addresses.number(interface, node);
        let (prefix, broadcast) = addresses.subnet(interface);
        let address6 = Ipv6Addr::from_bits(node.addr6().to_bits() | u128::from(interface.0) << 64);
        StationInterface { interface, address: number.addr(), prefix, broadcast, address6, mac: number.mac() }
    };
    all.map(described).collect()
}

/// Whether the node or host exists and has this interface.
pub(crate) fn exists(scenario: &Scenario, node: NodeId, interface: Interface) -> bool {
    node.index() < stations(scenario)
        && match scenario.port(node) {
            Port::Tun => interface == Interface(0),
            Port::Tap => scenario.radios.get(interface.index()).is_some_and(|radio| radio.is_at(node)),
        }
}
