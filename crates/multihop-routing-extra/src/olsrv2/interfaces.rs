//! Several interfaces: their addresses and packets, and the choice of the interface for packets.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Interface};
use multihop_routing::link_state::interfaces::OwnInterfaces;

use super::links::NeighbourLink;
use super::room::Senders;
use super::wire::{Metric, Tc};
use super::{Agent, DUPLICATE_HOLD};

impl Agent {
    /// Configures the agent for several interfaces with these addresses, the main address first. Each
    /// interface declares its own links in HELLOs, which list neighbours over other interfaces, too. Flooded
    /// messages leave over all interfaces. A packet of another node leaves over a different interface than it
    /// arrived, if the next hop has a link there that costs at most twice as much.
    #[must_use]
    pub fn with_interfaces(mut self, addresses: Vec<Ipv4Addr>) -> Self {
        self.packet_sequences.resize(addresses.len().max(1), 0);
        self.own = OwnInterfaces::new((0..).map(Interface).zip(addresses).collect());
        self
    }

    /// Prepares the agent for a real host. `seconds` is the present time, which grows across restarts, so that other nodes
    /// accept the sequence numbers of a host that has restarted. The memory for TCs has limits.
    pub(super) fn on_host(mut self, seconds: u64) -> Self {
        let [.., a, b] = seconds.to_be_bytes();
        let seconds = u16::from_be_bytes([a, b]);
        // A host sends fewer TCs per second than this.
        self.announcement.begin(seconds.wrapping_mul(8));
        self.message_sequence = seconds.wrapping_mul(8);
        self.packet_sequences.resize(usize::from(u8::MAX) + 1, 0);
        self.senders = Some(Senders::new());
        self
    }

    /// Changes the interfaces of a host: their numbers and addresses, which include the main address. Links over other
    /// interfaces are lost.
    pub(super) fn set_interfaces(&mut self, now: Instant, list: Vec<(Interface, Ipv4Addr)>) {
        self.numbers = list.iter().map(|(number, _)| *number).collect();
        self.links.keep(now, |link| list.iter().any(|(number, _)| *number == link.interface));
        let before = self.own.as_ref().map_or(&[][..], |own| own.list());
        if list.len() < 2 || list != before {
            self.own = OwnInterfaces::new(list);
        }
        self.review_links(now);
    }

    /// Numbers of all interfaces; a single `None` for the only interface.
    pub(super) fn interfaces(&self) -> Vec<Option<Interface>> {
        let several = self.own.iter().flat_map(|own| own.list()).map(|(interface, _)| Some(*interface));
        let only = self.own.is_none().then_some(None);
        several.chain(only).collect()
    }

    /// The address of an interface.
    pub(super) fn address_of(&self, interface: Interface) -> Ipv4Addr {
        self.own.as_ref().and_then(|own| own.address(interface)).unwrap_or(self.address)
    }

    /// Address of an interface, and the addresses of all other interfaces.
    pub(super) fn addresses_over(&self, interface: Option<Interface>) -> (Ipv4Addr, Vec<Ipv4Addr>) {
        let address = interface.map_or(self.address, |interface| self.address_of(interface));
        let all = self.own.iter().flat_map(|own| own.list()).map(|(_, address)| *address);
        (address, all.filter(|other| *other != address).collect())
    }

    /// Whether an address belongs to this node.
    pub(super) fn has(&self, address: Ipv4Addr) -> bool {
        address == self.address || self.own.as_ref().is_some_and(|own| own.has(address))
    }

    /// The sequence number of the next packet over an interface.
    pub(super) fn next_sequence(&mut self, interface: Option<Interface>) -> u16 {
        let next = &mut self.packet_sequences[interface.map_or(0, Interface::index)];
        let sequence = *next;
        *next = sequence.wrapping_add(1);
        sequence
    }

    /// Whether a TC may be forwarded, by the record of earlier copies; `is_new` if there was none.
    pub(super) fn may_forward(&mut self, now: Instant, tc: &Tc, is_new: bool) -> bool {
        let until = now + DUPLICATE_HOLD;
        self.own.as_mut().map_or(is_new, |own| own.may_forward(now, tc.originator, tc.sequence, until))
    }

    /// The interface of the same neighbour over which a packet leaves: a different one than that of its
    /// arrival, if the link there costs at most twice as much. Two hops on one channel cannot be
    /// simultaneous, so that the second one would cost twice its airtime.
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
        let cost = |link: &NeighbourLink| link.metrics.outgoing.map(Metric::value);
        let Some(most) = cost(usual).map(|cost| cost.saturating_mul(2)) else { return next_hop };
        let others = self.links.symmetric().filter(|link| {
            let is_cheap = cost(link).is_some_and(|cost| cost <= most);
            link.main == usual.main && link.interface != usual.interface && is_cheap
        });
        others.min_by_key(|link| cost(link)).map_or(next_hop, |link| link.address)
    }
}
