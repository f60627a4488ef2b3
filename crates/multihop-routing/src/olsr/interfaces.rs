//! Several interfaces: the contents of HELLOs over each of them (RFC 3626 §6.2), and the choice of the
//! interface for packets.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Interface};
use multihop_wire::olsr::{Body, Hello, HelloLink, LinkCode, Message, NeighbourType, Packet};

use super::Agent;
use super::links::LinkTuple;
use crate::link_state::interfaces::OwnInterfaces;

impl Agent {
    /// Configures the agent for several interfaces with these addresses, the main address first.
    ///
    /// Each interface declares its own links in HELLOs, and MID messages announce the addresses of the
    /// others. A packet of another node leaves over a different interface than it arrived, if the next hop
    /// has a link there.
    #[must_use]
    pub fn with_interfaces(mut self, addresses: Vec<Ipv4Addr>) -> Self {
        self.own = OwnInterfaces::new((0..).map(Interface).zip(addresses).collect());
        self
    }

    /// Replaces the interfaces: their numbers and addresses, one of which is the main address. Links over interfaces that are not in
    /// the list end.
    pub fn set_interfaces(&mut self, now: Instant, list: Vec<(Interface, Ipv4Addr)>) {
        self.links.keep(now, |interface| list.iter().any(|(number, _)| *number == interface));
        let before = self.own.as_ref().map_or(&[][..], |own| own.list());
        let after = if list.len() > 1 { &list[..] } else { &[] };
        if before != after {
            self.own = OwnInterfaces::new(list);
            self.hasten_tc(now);
        }
        self.review_links(now);
        self.schedule_early(now);
    }

    /// The address of an interface.
    pub(super) fn address_of(&self, interface: Interface) -> Ipv4Addr {
        self.own.as_ref().and_then(|own| own.address(interface)).unwrap_or(self.address)
    }

    /// The addresses of the interfaces other than the main address.
    pub(super) fn further_addresses(&self) -> Vec<Ipv4Addr> {
        let all = self.own.iter().flat_map(|own| own.list()).map(|(_, address)| *address);
        all.filter(|address| *address != self.address).collect()
    }

    /// Whether a message may be forwarded, by the record of earlier copies; `is_new` if there was no earlier
    /// copy.
    pub(super) fn may_forward(&mut self, now: Instant, message: &Message, is_new: bool) -> bool {
        let until = now + self.config.duplicate_hold;
        let Message { originator, sequence, .. } = *message;
        self.own.as_mut().map_or(is_new, |own| own.may_forward(now, originator, sequence, until))
    }

    /// Link code that a HELLO declares for the interface of this node at which it arrived. If there is none,
    /// the neighbour type that the HELLO declares for this node's main address.
    pub(super) fn reported(&self, interface: Interface, hello: &Hello) -> Option<LinkCode> {
        let code = |address| hello.links.iter().find(|link| link.address == address).map(|link| link.code);
        let own = self.address_of(interface);
        let of_node = || code(self.address).filter(|_| own != self.address);
        code(own).or_else(|| of_node().map(|code| LinkCode::Unspecified(code.neighbour())))
    }

    /// Copy of a packet for one interface, in which each HELLO lists the links of that interface.
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

    /// Copy of a HELLO for one interface: the interface's links with their measurements, and neighbours over
    /// other interfaces by their main addresses.
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
        let is_here = |address| self.links.get(address).is_some_and(|link| link.interface == interface);
        let report = hello.report.clone().map(|mut report| {
            report.heard.retain(|(address, _)| is_here(*address));
            report.echoes.retain(|echo| is_here(echo.address));
            report
        });
        Hello { links, report, ..*hello }
    }

    /// An address of the same neighbour on a symmetric link over another interface than that of the packet's
    /// arrival. Stations of different radios may then transmit at the same time.
    pub(super) fn over_another_interface(
        &self,
        next_hop: Ipv4Addr,
        previous_hop: Option<Ipv4Addr>,
    ) -> Ipv4Addr {
        if self.own.is_none() {
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
