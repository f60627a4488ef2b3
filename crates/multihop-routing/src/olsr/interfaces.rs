//! Several interfaces: what each of them declares and hears in HELLOs (RFC 3626 §6.2), and by which one packets leave.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Interface;
use multihop_wire::olsr::{Body, Hello, HelloLink, LinkCode, Message, NeighbourType, Packet};

use super::Agent;
use super::links::LinkTuple;

impl Agent {
    /// The agent of a node with several interfaces, whose addresses these are, the main address first.
    ///
    /// Each interface declares its own links in HELLOs, and MID messages announce the addresses of the others. A packet of another
    /// node leaves over another interface than it came, if the next hop has a link there.
    #[must_use]
    pub fn with_interfaces(mut self, addresses: Vec<Ipv4Addr>) -> Self {
        if addresses.len() > 1 {
            self.own = addresses;
        }
        self
    }

    /// The code of the link that a HELLO declares to the interface over which it came. If it declares none, what it says of this
    /// node.
    pub(super) fn reported(&self, interface: Interface, hello: &Hello) -> Option<LinkCode> {
        let code = |address| hello.links.iter().find(|link| link.address == address).map(|link| link.code);
        let Some(&own) = self.own.get(interface.index()) else { return code(self.address) };
        let of_node = || code(self.address).filter(|_| own != self.address);
        code(own).or_else(|| of_node().map(|code| LinkCode::Unspecified(code.neighbour())))
    }

    /// What leaves over one interface.
    pub(super) fn packet_over(&self, interface: Interface, packet: &Packet) -> Arc<Packet> {
        let message = |message: &Message| match &message.body {
            Body::Hello(hello) => {
                Message { body: Body::Hello(self.hello_over(interface, hello)), ..message.clone() }
            }
            _ => message.clone(),
        };
        Arc::new(Packet {
            sequence: packet.sequence,
            messages: packet.messages.iter().map(message).collect(),
        })
    }

    /// The links of one interface, and the neighbours that are reached over others by their main addresses.
    fn hello_over(&self, interface: Interface, hello: &Hello) -> Hello {
        let known = hello.links.iter().filter_map(|link| Some((link, self.links.get(link.address)?)));
        let (here, elsewhere): (Vec<_>, Vec<_>) = known.partition(|(_, tuple)| tuple.interface == interface);
        let mut links: Vec<HelloLink> = here.iter().map(|(link, _)| **link).collect();
        let mut mains: Vec<_> = here.iter().map(|(_, tuple)| tuple.main).collect();
        for (link, &LinkTuple { main, .. }) in elsewhere {
            let kind = link.code.neighbour();
            if kind != NeighbourType::Not && !mains.contains(&main) {
                mains.push(main);
                links.push(HelloLink { code: LinkCode::Unspecified(kind), address: main });
            }
        }
        links.sort_unstable_by_key(|link| (link.code, link.address));
        Hello { links, report: hello.report.clone(), ..*hello }
    }

    /// The address of the same neighbour on a symmetric link over another interface than that over which a packet came, if there
    /// is one. Stations of different radios may then transmit at the same time.
    pub(super) fn over_another_interface(
        &self,
        next_hop: Ipv4Addr,
        previous_hop: Option<Ipv4Addr>,
    ) -> Ipv4Addr {
        if self.own.is_empty() {
            return next_hop;
        }
        let came = previous_hop.and_then(|previous| self.links.get(previous)).map(|link| link.interface);
        let Some(usual) = self.links.get(next_hop).filter(|link| Some(link.interface) == came) else {
            return next_hop;
        };
        let other = |link: &&LinkTuple| {
            link.main == usual.main && link.symmetric && link.interface != usual.interface
        };
        self.links.iter().find(other).map_or(next_hop, |link| link.address)
    }
}
