//! The interfaces of a node: each has neighbours of its own, and Hellos that name them.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use multihop_core::Interface;

use super::Agent;
use super::config::LinkCost;
use super::diversity::Link;
use super::wire::{Channels, INTERFERING, Prefix};

/// An interface of a node that has several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) number: Interface,
    /// Address from which packets leave.
    pub(super) address: IpAddr,
    /// Next hop of this node's routes of IPv4 if packets leave from an address of IPv6.
    pub(super) ipv4: Option<Ipv4Addr>,
    /// Rule by which links over this interface cost.
    pub(super) kind: LinkCost,
    /// The number of its channel; [`INTERFERING`] if it is unknown.
    pub(super) channel: u8,
}

impl Agent {
    /// The agent of a node with several interfaces: their addresses, the main address first, and the numbers of their channels.
    ///
    /// Each interface sends Hellos for its neighbours. Updates and requests leave over all interfaces.
    #[must_use]
    pub fn with_interfaces(mut self, addresses: Vec<Ipv4Addr>, channels: &[u8]) -> Self {
        if addresses.len() > 1 {
            let channels = channels.iter().copied().chain(core::iter::repeat(INTERFERING));
            let own = |(number, (address, channel)): (u8, (Ipv4Addr, u8))| Own {
                number: Interface(number),
                address: address.into(),
                ipv4: None,
                kind: self.config.link_cost,
                channel,
            };
            self.own = (0..).zip(addresses.into_iter().zip(channels)).map(own).collect();
        }
        self
    }

    /// The numbers of all interfaces; `None` for the only one of a simulated node.
    pub(super) fn interfaces(&self) -> Vec<Option<Interface>> {
        if self.own.is_empty() && self.host.is_none() {
            return Vec::from([None]);
        }
        self.own.iter().map(|own| Some(own.number)).collect()
    }

    pub(super) fn own(&self, interface: Interface) -> Option<&Own> {
        self.own.iter().find(|own| own.number == interface)
    }

    /// The address of an interface.
    pub(super) fn address_of(&self, interface: Interface) -> IpAddr {
        self.own(interface).map_or(self.address, |own| own.address)
    }

    /// Rule by which links over an interface cost.
    pub(super) fn kind_of(&self, interface: Interface) -> LinkCost {
        self.own(interface).map_or(self.config.link_cost, |own| own.kind)
    }

    /// Cost of the cheapest kind of link. Changes of a metric by this much are announced at once.
    pub(super) fn margin(&self) -> u16 {
        let least = self.own.iter().map(|own| own.kind.nominal()).min();
        least.unwrap_or(self.config.link_cost.nominal())
    }

    /// Whether an address is one of this node's interfaces.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        address == self.address || self.own.iter().any(|own| own.address == address)
    }

    /// The channel of the link to a neighbour, if this node names channels.
    pub(super) fn channel_to(&self, neighbour: IpAddr) -> Option<u8> {
        // Channels of real interfaces are not known.
        self.config.diversity.filter(|_| self.host.is_none())?;
        let interface = self.neighbours.get(neighbour)?.interface;
        self.own(interface).map(|own| own.channel)
    }

    /// The channels of the route in use, from this node's link on; `None` if this node names none.
    pub(super) fn channels_to(&self, destination: Prefix) -> Option<Channels> {
        let route = self.routes.get(destination)?;
        Some(route.channels.after(self.channel_to(route.neighbour)?))
    }

    /// The link to a neighbour.
    pub(super) fn link_to(&self, neighbour: IpAddr) -> Option<Link> {
        let cost = self.neighbours.cost(neighbour)?;
        let over = self.channel_to(neighbour).zip(self.config.diversity);
        Some(Link { cost, over })
    }
}
