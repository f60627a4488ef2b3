//! The interfaces of a node: each has separate neighbours and Hellos.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use multihop_core::Interface;

use super::Agent;
use super::diversity::Link;
use super::neighbours::Sensing;
use super::wire::{Channels, INTERFERING, Prefix};

/// An interface of a node that has several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) number: Interface,
    /// Address from which packets leave.
    pub(super) address: IpAddr,
    /// Next hop of this node's IPv4 routes, if packets leave from an IPv6 address.
    pub(super) ipv4: Option<Ipv4Addr>,
    /// Rules for links over this interface.
    pub(super) sensing: Sensing,
    /// Channel number of the interface; [`INTERFERING`] if it is unknown.
    pub(super) channel: u8,
}

impl Agent {
    /// Configures the agent for several interfaces: their addresses, the main address first, and the numbers
    /// of their channels. Each interface sends Hellos for its neighbours. Updates and requests leave over all
    /// interfaces.
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
                sensing: Sensing { cost: self.config.link_cost, presumes_link: false },
                channel,
            };
            self.own = (0..).zip(addresses.into_iter().zip(channels)).map(own).collect();
        }
        self
    }

    /// Numbers of all interfaces; a single `None` for the only interface of a simulated node.
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

    /// Rules for links over an interface.
    pub(super) fn sensing_of(&self, interface: Interface) -> Sensing {
        let default = Sensing { cost: self.config.link_cost, presumes_link: false };
        self.own(interface).map_or(default, |own| own.sensing)
    }

    /// Cost of the cheapest kind of link. A metric that changes by at least this cost is announced at once.
    pub(super) fn margin(&self) -> u16 {
        let least = self.own.iter().map(|own| own.sensing.cost.nominal()).min();
        least.unwrap_or(self.config.link_cost.nominal())
    }

    /// Whether an address belongs to an interface of this node.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        address == self.address || self.own.iter().any(|own| own.address == address)
    }

    /// The channel of the link to a neighbour; `None` if this node announces no channels.
    pub(super) fn channel_to(&self, neighbour: IpAddr) -> Option<u8> {
        // The channels of real interfaces are unknown.
        self.config.diversity.filter(|_| self.host.is_none())?;
        let interface = self.neighbours.get(neighbour)?.interface;
        self.own(interface).map(|own| own.channel)
    }

    /// The channels of the selected route, from this node's link on; `None` if this node announces no
    /// channels.
    pub(super) fn channels_to(&self, destination: Prefix) -> Option<Channels> {
        let route = self.routes.get(destination)?;
        Some(route.channels.after(self.channel_to(route.neighbour)?))
    }

    /// The link to a neighbour, with its cost and channel.
    pub(super) fn link_to(&self, neighbour: IpAddr) -> Option<Link> {
        let cost = self.neighbours.cost(neighbour)?;
        let over = self.channel_to(neighbour).zip(self.config.diversity);
        Some(Link { cost, over })
    }
}
