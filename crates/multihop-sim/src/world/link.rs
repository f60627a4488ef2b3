//! The layer between IP and MAC: resolves the next hop's address before a packet enters the interface queue.

use multihop_core::{DropReason, Interface, NodeId};
use multihop_radio::frame::{BROADCAST, PacketHandle};

use super::action::Action;
use super::agenda::{Direction, Owner};
use super::arp::{AddressTable, Resolution};
use super::context::{Context, Incoming};
use super::ids::Neighbour;
use crate::engine::Rank;
use crate::packet::{Arp, Body};
use multihop_scenario::ArpKind;

/// Address resolution at every node.
#[derive(Debug)]
pub(super) struct AddressResolution {
    /// Tables of the first interfaces of all nodes, then of their second interfaces, and so on.
    tables: Vec<AddressTable>,
    nodes: usize,
    interfaces: u8,
}

impl AddressResolution {
    /// Creates tables for `nodes` nodes; each interface has a kind of ARP and a seed.
    pub(super) fn new(nodes: u32, interfaces: impl ExactSizeIterator<Item = (ArpKind, u64)>) -> Self {
        let count = u8::try_from(interfaces.len()).expect("a checked number of radios");
        let tables = interfaces
            .flat_map(|(arp, seed)| (0..nodes).map(move |node| AddressTable::new(arp, seed, NodeId(node))));
        Self { tables: tables.collect(), nodes: nodes as usize, interfaces: count }
    }

    fn table(&mut self, interface: Interface, node: NodeId) -> &mut AddressTable {
        let place = self.place(interface, node);
        &mut self.tables[place]
    }

    #[inline]
    fn place(&self, interface: Interface, node: NodeId) -> usize {
        interface.index() * self.nodes + node.index()
    }

    /// ARP tables of a node, one per interface.
    fn tables(&self, node: NodeId) -> impl Iterator<Item = &AddressTable> {
        let places = (0..self.interfaces).map(move |interface| self.place(Interface(interface), node));
        places.map(|place| &self.tables[place])
    }

    /// Sends a packet of IP to every neighbour of all interfaces.
    pub(super) fn pass_down_to_all(&self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle) {
        let radios = &context.scenario.radios;
        let interfaces = (0..self.interfaces).map(Interface);
        for interface in interfaces.filter(|interface| radios[interface.index()].is_at(node)) {
            context.packets.hold(packet);
            send_down(context, node, Neighbour { interface, node: BROADCAST }, packet);
        }
        context.packets.release(packet);
    }

    /// Sends a packet of IP to `next_hop` ([`BROADCAST`]: to every neighbour of the interface).
    pub(super) fn pass_down(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: Neighbour,
        packet: PacketHandle,
    ) {
        if next_hop.node == BROADCAST {
            send_down(context, node, next_hop, packet);
            return;
        }
        let now = context.now;
        match self.table(next_hop.interface, node).resolve(now, next_hop.node, packet) {
            Resolution::Known(packet) => return send_down(context, node, next_hop, packet),
            Resolution::Requested { displaced } => {
                if let Some(displaced) = displaced {
                    context.drop_packet(node, displaced, DropReason::Arp);
                }
                send_arp(context, node, next_hop, Arp::Request);
            }
            Resolution::Waiting { refused } => {
                if let Some(refused) = refused {
                    context.drop_packet(node, refused, DropReason::Arp);
                }
            }
            Resolution::Failed(packets) => give_up(context, node, next_hop, packets),
        }
        self.arm(context, node);
    }

    /// Handles an ARP timeout at a node.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_>, node: NodeId) {
        for interface in (0..self.interfaces).map(Interface) {
            while let Some(expiry) = self.table(interface, node).handle_timeout(context.now) {
                let next_hop = Neighbour { interface, node: expiry.next_hop };
                if expiry.is_request {
                    send_arp(context, node, next_hop, Arp::Request);
                }
                give_up(context, node, next_hop, expiry.failed);
            }
        }
        self.arm(context, node);
    }

    /// Receives an ARP message. Every message contains its sender's address.
    pub(super) fn receive_arp(
        &mut self,
        context: &mut Context<'_>,
        Incoming { node, from, packet }: Incoming,
        arp: Arp,
    ) {
        let heard = context.packets.get(packet);
        context.observer.received(context.now, node, heard, heard.hops);
        let is_for_us = heard.destination == node;
        context.packets.release(packet);
        for held in self.table(from.interface, node).learn(from.node) {
            send_down(context, node, from, held);
        }
        if arp == Arp::Request && is_for_us {
            send_arp(context, node, from, Arp::Reply);
        }
        self.arm(context, node);
    }

    /// The packets that wait for address resolution at a node.
    pub(super) fn held(&self, node: NodeId) -> impl Iterator<Item = PacketHandle> {
        self.tables(node).flat_map(AddressTable::held)
    }

    fn arm(&self, context: &mut Context<'_>, node: NodeId) {
        let at = self.tables(node).filter_map(AddressTable::deadline).min();
        context.agenda.arm(Owner::Link(node), Rank::Timer, node, at);
    }
}

fn send_down(context: &mut Context<'_>, node: NodeId, next_hop: Neighbour, packet: PacketHandle) {
    context.pass(node, packet, Direction::Down { next_hop });
}

fn send_arp(context: &mut Context<'_>, node: NodeId, to: Neighbour, arp: Arp) {
    let packet = context.packet(node, to.node, Body::Arp(arp));
    context.note_sent(node, packet);
    let next_hop = if arp == Arp::Request { Neighbour { node: BROADCAST, ..to } } else { to };
    // DEVIATION arp-1: ARP messages leave without the delay of 5 us in ns-2. The first packet is up to 10 us earlier.
    let direction = Direction::Down { next_hop };
    context.actions.request(Action::Arrive { node, packet, direction });
}

/// Reports packets for a neighbour whose address has not been resolved.
fn give_up(
    context: &mut Context<'_>,
    node: NodeId,
    next_hop: Neighbour,
    packets: impl IntoIterator<Item = PacketHandle>,
) {
    for packet in packets {
        let reason = DropReason::Arp;
        context.actions.request(Action::Unreachable { node, next_hop, packet, reason });
    }
}
