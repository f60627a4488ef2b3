//! Packets of real programs: their entry into the simulated network, their forwarding, and their exit.

use std::net::{IpAddr, Ipv6Addr};

use multihop_core::{DropReason, Instant, Interface, NodeId};
use multihop_radio::frame::{BROADCAST, PacketHandle};
use multihop_scenario::Port;

use super::World;
use super::agenda::Direction;
use super::context::{Context, Exit, Incoming};
use super::ids::{InterfaceAddresses, Neighbour};
use super::ip::Ip;
use crate::packet::Body;
use crate::real::{EthernetFrame, RealPacket, Trouble};

impl World<'_> {
    /// Makes overlapping frames be handled in order of time, so that exits do not depend on the lengths of
    /// calls of [`run_until`](World::run_until).
    pub(crate) fn keep_order(&mut self) {
        self.airs.iter_mut().for_each(|air| air.reorders = false);
    }

    /// Instant of the next event.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let at = self.airs.first_passing().at().min(self.context.agenda.next_at());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// A packet of a program at `node` enters now.
    pub(crate) fn enter(&mut self, node: NodeId, packet: RealPacket) {
        let Self { context, ip, .. } = self;
        let destination = destination(context, node, &packet);
        let (ttl, is_for_neighbours) = (packet.ttl(), packet.is_for_neighbours());
        let handle = context.packet(node, destination.unwrap_or(node), Body::Real(packet));
        context.packets.get_mut(handle).ttl = ttl;
        match destination {
            None => context.drop_and_notify(node, handle, DropReason::NoRoute),
            Some(destination) if destination == node => context.leave(node, FIRST, handle),
            Some(destination) if is_for_neighbours || destination == BROADCAST => {
                if context.scenario.is_host(node) || context.scenario.is_host(destination) {
                    context.drop_packet(node, handle, DropReason::NoRoute);
                } else {
                    ip.send_to_neighbour(context, node, destination, handle);
                }
            }
            Some(_) => {
                context.packets.get_mut(handle).ip_extra = context.scenario.routing.ip_extra;
                ip.send(context, node, handle);
            }
        }
        self.act();
    }

    /// Lets an Ethernet frame of the kernel at `node` enter now over this interface.
    pub(crate) fn enter_ethernet(&mut self, node: NodeId, interface: Interface, frame: EthernetFrame) {
        let context = &mut self.context;
        let neighbour = frame.destination().and_then(|to| on_link(context, interface, to));
        let handle = context.packet(node, neighbour.unwrap_or(node), Body::Ethernet(frame));
        context.note_sent(node, handle);
        match neighbour {
            // The frame has the address, because the kernel has resolved it.
            Some(next_hop) => {
                let next_hop = Neighbour { interface, node: next_hop };
                context.pass(node, handle, Direction::Down { next_hop });
            }
            None => context.drop_packet(node, handle, DropReason::NoRoute),
        }
        self.act();
    }

    /// Whether the next packet that enters over an interface of `node` will not be dropped because a queue is full.
    pub(crate) fn has_room(&self, node: NodeId, interface: Interface) -> bool {
        if self.context.scenario.is_host(node) {
            return self.ip.wires.has_room(self.context.now, node);
        }
        if self.context.scenario.port(node) == Port::Tap {
            let on_the_way = self.context.agenda.packets_down(node, |over| over == interface);
            return self.airs[interface].room(node) > on_the_way;
        }
        let on_the_way = self.context.agenda.packets_down(node, |_| true);
        // The next packet may use any radio.
        self.airs.of(self.context.scenario, node).all(|air| air.room(node) > on_the_way)
    }

    /// The next packet that has left the network.
    pub(crate) fn poll_exit(&mut self) -> Option<Exit> {
        self.context.exits.pop_front()
    }
}

impl Ip {
    /// Receives a packet of a real program.
    pub(super) fn receive_real(&mut self, context: &mut Context<'_>, incoming: Incoming) {
        let Incoming { node, packet, .. } = incoming;
        let arrived = context.packets.get(packet);
        if arrived.destination == node || arrived.destination == BROADCAST {
            context.observer.received(context.now, node, arrived, arrived.hops.saturating_add(1));
            context.leave(node, FIRST, packet);
        } else if arrived.ttl > 1 {
            self.forward_real(context, incoming);
        } else {
            context.note_drop(node, packet, DropReason::Ttl);
            self.send_error(context, node, packet, Trouble::TimeExceeded);
            context.packets.release(packet);
        }
    }

    /// Forwards a packet of a real program, in fragments if it is too long for the radio.
    fn forward_real(&mut self, context: &mut Context<'_>, incoming: Incoming) {
        let Incoming { node, packet, .. } = incoming;
        let mtu = context.scenario.emulation.mtu;
        let arrived = context.packets.get(packet);
        let Body::Real(real) = &arrived.body else { unreachable!("a packet of a real program") };
        let stays_on_wires = context.scenario.in_mesh(arrived.destination) == node;
        if stays_on_wires || real.len() <= usize::from(mtu) {
            self.receive(context, incoming);
            return;
        }
        match real.fragments(mtu.into()) {
            Some(fragments) => {
                let (source, destination, ttl) = (arrived.source, arrived.destination, arrived.ttl);
                let (hops, ip_extra) = (arrived.hops, arrived.ip_extra);
                context.packets.release(packet);
                for fragment in fragments {
                    let part = context.packet(source, destination, Body::Real(fragment));
                    let going = context.packets.get_mut(part);
                    (going.ttl, going.hops, going.ip_extra) = (ttl, hops, ip_extra);
                    self.receive(context, Incoming { packet: part, ..incoming });
                }
            }
            None => {
                context.note_drop(node, packet, DropReason::TooBig);
                self.send_error(context, node, packet, Trouble::TooBig(mtu));
                context.packets.release(packet);
            }
        }
    }

    /// Sends an ICMP error about a packet to the program that sent the packet.
    pub(super) fn send_error(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        packet: PacketHandle,
        trouble: Trouble,
    ) {
        let lost = context.packets.get(packet);
        let (source, ttl) = (lost.source, lost.ttl);
        let Body::Real(real) = &lost.body else { return };
        let Some(error) = real.error(trouble, ttl, node) else { return };
        let answer = context.packet(node, source, Body::Real(error));
        if source == node {
            context.leave(node, FIRST, answer);
        } else {
            context.packets.get_mut(answer).ip_extra = context.scenario.routing.ip_extra;
            self.send(context, node, answer);
        }
    }
}

impl Context<'_> {
    /// Handles an Ethernet frame, addressed to this node or broadcast, that a station received over an
    /// interface.
    pub(super) fn receive_ethernet(&mut self, node: NodeId, interface: Interface, handle: PacketHandle) {
        self.observer.received(self.now, node, self.packets.get(handle), 1);
        self.leave(node, interface, handle);
    }

    /// Passes a packet of one holder to the program at an interface: the packet leaves the simulated network.
    fn leave(&mut self, node: NodeId, interface: Interface, handle: PacketHandle) {
        let packet = self.packets.get(handle);
        let bytes = match &packet.body {
            Body::Real(real) => real.with_ttl(packet.ttl),
            Body::Ethernet(frame) => frame.bytes().to_vec(),
            _ => unreachable!("other packets stay inside"),
        };
        self.exits.push_back(Exit { at: self.now, node, interface, bytes });
        self.packets.release(handle);
    }
}

/// The only interface for programs at a node without TAP interfaces.
const FIRST: Interface = Interface(0);

/// The node with this [number](InterfaceAddresses::number) on the link of an interface, or all neighbours for
/// the broadcast address.
fn on_link(context: &Context<'_>, interface: Interface, number: NodeId) -> Option<NodeId> {
    if number == BROADCAST {
        return Some(BROADCAST);
    }
    let scenario = context.scenario;
    let to = InterfaceAddresses::new(scenario).numbered(number)?;
    let has_radio = !scenario.is_host(to.node) && scenario.radios[interface.index()].is_at(to.node);
    (to.interface == interface && has_radio).then_some(to.node)
}

/// Destination of a packet of `node`: a node, a host, or all neighbours ([`BROADCAST`]); `None` if there is
/// no such destination.
pub(super) fn destination(context: &Context<'_>, node: NodeId, packet: &RealPacket) -> Option<NodeId> {
    let stations = context.scenario.topology.nodes() + context.scenario.hosts.len();
    let address = packet.destination();
    let (is_group, inside, station) = match address {
        IpAddr::V4(address) => {
            let (prefix, last) = InterfaceAddresses::new(context.scenario).subnet(FIRST);
            let is_inside = (address.to_bits() ^ last.to_bits()) >> (32 - prefix) == 0;
            (address.is_broadcast() || address == last, is_inside, NodeId::from_addr(address))
        }
        IpAddr::V6(address) => {
            let prefix = |address: Ipv6Addr| address.to_bits() >> 64;
            let is_inside = prefix(address) == prefix(NodeId(0).addr6()) || packet.is_for_neighbours();
            (false, is_inside, NodeId::from_addr6(address))
        }
    };
    if is_group || address.is_multicast() {
        return Some(BROADCAST);
    }
    if inside {
        return station.filter(|node| node.index() < stations);
    }
    let gateway = context.scenario.emulation.gateway.as_ref();
    gateway.map(|gateway| gateway.node).filter(|gateway| *gateway != node)
}
