//! Packets of real programs: their entry into the simulated network, their forwarding, and their exit.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_core::{DropReason, Instant, NodeId};
use multihop_radio::frame::{BROADCAST, PacketHandle};

use super::World;
use super::agenda::Direction;
use super::context::Context;
use super::ids::Neighbour;
use super::ip::Ip;
use crate::packet::Body;
use crate::real::{EthernetFrame, RealPacket, Trouble};

/// A packet that leaves the simulated network.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exit {
    /// When it arrived.
    pub at: Instant,
    /// Where it arrived.
    pub node: NodeId,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl World<'_> {
    /// Handles overlapping frames in the order of time, so that exits do not depend on the lengths of the calls of
    /// [`run_until`](World::run_until).
    pub(crate) fn keep_order(&mut self) {
        self.airs.iter_mut().for_each(|air| air.reorders = false);
    }

    /// When the next event is due.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let at = self.first_passing().at().min(self.context.agenda.next_at());
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
            None => {
                context.note_drop(node, handle, DropReason::NoRoute);
                ip.tell_program(context, node, handle, Trouble::Unreachable);
                context.packets.release(handle);
            }
            Some(destination) if destination == node => context.leave(node, handle),
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

    /// An Ethernet frame of the kernel at `node` enters now.
    pub(crate) fn enter_ethernet(&mut self, node: NodeId, frame: EthernetFrame) {
        let context = &mut self.context;
        let is_station = |to: &NodeId| *to == BROADCAST || to.index() < context.scenario.topology.nodes();
        let neighbour = frame.destination().filter(is_station);
        let handle = context.packet(node, neighbour.unwrap_or(node), Body::Ethernet(frame));
        context.note_sent(node, handle);
        match neighbour {
            // The kernel has resolved the address itself.
            Some(next_hop) => {
                let next_hop = Neighbour::on_first(next_hop);
                context.pass(node, handle, Direction::Down { next_hop });
            }
            None => context.drop_packet(node, handle, DropReason::NoRoute),
        }
        self.act();
    }

    /// Whether the next packet of `node` will not be dropped because a queue is full.
    pub(crate) fn has_room(&self, node: NodeId) -> bool {
        if self.context.scenario.is_host(node) {
            return self.ip.wire_has_room(self.context.now, node);
        }
        let on_the_way = self.context.agenda.packets_down(node);
        // Whichever radio the next packet takes.
        self.airs_of(node).all(|air| air.room(node) > on_the_way)
    }

    /// The next packet that has left.
    pub(crate) fn poll_exit(&mut self) -> Option<Exit> {
        self.context.exits.pop_front()
    }
}

impl Ip {
    /// Receives a packet of a real program from a neighbour, or from the other end of a wire.
    pub(super) fn receive_real(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: Neighbour,
        packet: PacketHandle,
    ) {
        let arrived = context.packets.get(packet);
        if arrived.destination == node || arrived.destination == BROADCAST {
            context.observer.received(context.now, node, arrived, arrived.hops.saturating_add(1));
            context.leave(node, packet);
        } else if arrived.ttl > 1 {
            self.forward_real(context, node, from, packet);
        } else {
            context.note_drop(node, packet, DropReason::Ttl);
            self.tell_program(context, node, packet, Trouble::TimeExceeded);
            context.packets.release(packet);
        }
    }

    /// Forwards a packet of a real program, in fragments if it is too long for the radio.
    fn forward_real(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: Neighbour,
        packet: PacketHandle,
    ) {
        let mtu = context.scenario.emulation.mtu;
        let arrived = context.packets.get(packet);
        let Body::Real(real) = &arrived.body else { unreachable!("a packet of a real program") };
        let stays_on_wires = context.scenario.in_mesh(arrived.destination) == node;
        if stays_on_wires || real.len() <= usize::from(mtu) {
            self.receive(context, node, from, packet);
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
                    self.receive(context, node, from, part);
                }
            }
            None => {
                context.note_drop(node, packet, DropReason::TooBig);
                self.tell_program(context, node, packet, Trouble::TooBig(mtu));
                context.packets.release(packet);
            }
        }
    }

    /// Sends an ICMP error about a packet to the program that it came from.
    pub(super) fn tell_program(
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
            context.leave(node, answer);
        } else {
            context.packets.get_mut(answer).ip_extra = context.scenario.routing.ip_extra;
            self.send(context, node, answer);
        }
    }
}

impl Context<'_> {
    /// A station receives an Ethernet frame for itself or for all.
    pub(super) fn receive_ethernet(&mut self, node: NodeId, handle: PacketHandle) {
        self.observer.received(self.now, node, self.packets.get(handle), 1);
        self.leave(node, handle);
    }

    /// One holder's packet leaves the simulated network.
    fn leave(&mut self, node: NodeId, handle: PacketHandle) {
        let packet = self.packets.get(handle);
        let bytes = match &packet.body {
            Body::Real(real) => real.with_ttl(packet.ttl),
            Body::Ethernet(frame) => frame.bytes().to_vec(),
            _ => unreachable!("other packets stay inside"),
        };
        self.exits.push_back(Exit { at: self.now, node, bytes });
        self.packets.release(handle);
    }
}

/// Where a packet of `node` goes: to a node or host, to every neighbour, or nowhere.
pub(super) fn destination(context: &Context<'_>, node: NodeId, packet: &RealPacket) -> Option<NodeId> {
    let stations = context.scenario.topology.nodes() + context.scenario.hosts.len();
    let address = packet.destination();
    let (is_group, inside, station) = match address {
        IpAddr::V4(address) => {
            let (prefix, last) = subnet(stations);
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

/// The smallest subnet with the addresses of this many nodes and hosts: prefix length and broadcast address.
pub fn subnet(stations: usize) -> (u8, Ipv4Addr) {
    // The network's own address and that of broadcasts are nobody's.
    let addresses = stations as u64 + 2;
    let bits = addresses.next_power_of_two().trailing_zeros().clamp(8, 24);
    let first = u64::from(NodeId(0).addr().to_bits()) - 1;
    let last = u32::try_from(first + (1 << bits) - 1).expect("a part of 10.0.0.0/8");
    (u8::try_from(32 - bits).expect("8 to 24"), Ipv4Addr::from_bits(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subnet_has_all_stations_and_a_broadcast_address_of_its_own() {
        assert_eq!(subnet(2), (24, [10, 0, 0, 255].into()));
        assert_eq!(subnet(254), (24, [10, 0, 0, 255].into()));
        assert_eq!(subnet(255), (23, [10, 0, 1, 255].into()));
        assert_eq!(subnet(10_000), (18, [10, 0, 63, 255].into()));
    }
}
