//! The interfaces of a node: each has neighbours of its own, and Hellos that name them.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Interface;

use super::Agent;
use super::diversity::Link;
use super::wire::{Channels, INTERFERING};

/// An interface of a node that has several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    address: Ipv4Addr,
    /// The number of its channel; [`INTERFERING`] if it is unknown.
    channel: u8,
}

impl Agent {
    /// The agent of a node with several interfaces: their addresses, the main address first, and the numbers of their channels.
    ///
    /// Each interface sends Hellos for its neighbours. Updates and requests leave over all interfaces.
    #[must_use]
    pub fn with_interfaces(mut self, addresses: Vec<Ipv4Addr>, channels: &[u8]) -> Self {
        if addresses.len() > 1 {
            let channels = channels.iter().copied().chain(core::iter::repeat(INTERFERING));
            self.own = addresses
                .into_iter()
                .zip(channels)
                .map(|(address, channel)| Own { address, channel })
                .collect();
        }
        self
    }

    /// The numbers of all interfaces; `None` for the only one.
    pub(super) fn interfaces(&self) -> Vec<Option<Interface>> {
        match self.own.len() {
            0 => Vec::from([None]),
            several => (0..).map(Interface).map(Some).take(several).collect(),
        }
    }

    /// The address of an interface.
    pub(super) fn address_of(&self, interface: Interface) -> Ipv4Addr {
        self.own.get(interface.index()).map_or(self.address, |own| own.address)
    }

    /// Whether an address is one of this node's.
    pub(super) fn has(&self, address: Ipv4Addr) -> bool {
        address == self.address || self.own.iter().any(|own| own.address == address)
    }

    /// The channel of the link to a neighbour, if this node names channels.
    pub(super) fn channel_to(&self, neighbour: Ipv4Addr) -> Option<u8> {
        self.config.diversity?;
        let interface = self.neighbours.get(neighbour)?.interface;
        self.own.get(interface.index()).map(|own| own.channel)
    }

    /// The channels of the route in use, from this node's link on; `None` if this node names none.
    pub(super) fn channels_to(&self, destination: Ipv4Addr) -> Option<Channels> {
        let route = self.routes.get(destination)?;
        Some(route.channels.after(self.channel_to(route.next_hop)?))
    }

    /// The link to a neighbour.
    pub(super) fn link_to(&self, neighbour: Ipv4Addr) -> Option<Link> {
        let cost = self.neighbours.cost(neighbour)?;
        let over = self.channel_to(neighbour).zip(self.config.diversity);
        Some(Link { cost, over })
    }
}
