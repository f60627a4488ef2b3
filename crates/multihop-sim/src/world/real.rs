//! Packets of real programs: their entry into the simulated network, their forwarding, and their exit.

use std::net::Ipv4Addr;

use multihop_core::{DropReason, Instant, NodeId};
use multihop_radio::frame::{BROADCAST, PacketHandle};

use super::World;
use super::context::Context;
use super::ip::Ip;
use crate::packet::Body;
use crate::real_packet::{RealPacket, Trouble};

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
        self.air.reorders = false;
    }

    /// When the next event is due.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let events = (self.air.flights.first(), self.context.agenda.first());
        multihop_core::earliest(events.0, events.1).map(|key| key.at())
    }

    /// A packet of a program at `node` enters now.
    pub(crate) fn enter(&mut self, node: NodeId, packet: RealPacket) {
        let Self { context, ip, .. } = self;
        let destination = destination(context, &packet);
        let ttl = packet.ttl();
        let handle = context.packet(node, destination.unwrap_or(node), Body::Real(packet));
        context.packets.get_mut(handle).ttl = ttl;
        match destination {
            None => {
                context.note_drop(node, handle, DropReason::NoRoute);
                ip.tell_program(context, node, handle, Trouble::Unreachable);
                context.packets.release(handle);
            }
            Some(BROADCAST) if context.scenario.is_host(node) => {
                context.drop_packet(node, handle, DropReason::NoRoute);
            }
            Some(BROADCAST) => ip.broadcast(context, node, handle),
            Some(destination) if destination == node => context.leave(node, handle),
            Some(_) => {
                context.packets.get_mut(handle).ip_extra = context.scenario.routing.ip_extra;
                ip.send(context, node, handle);
            }
        }
        self.act();
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
        from: NodeId,
        packet: PacketHandle,
    ) {
        let arrived = context.packets.get(packet);
        if arrived.destination == node || arrived.destination == BROADCAST {
            context.observer.received(context.now, node, arrived, arrived.hops.saturating_add(1));
            context.leave(node, packet);
        } else if arrived.ttl > 1 {
            self.receive(context, node, from, packet);
        } else {
            context.note_drop(node, packet, DropReason::Ttl);
            self.tell_program(context, node, packet, Trouble::TimeExceeded);
            context.packets.release(packet);
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
        let Some(error) = real.error(trouble, ttl, node.addr()) else { return };
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
    /// One holder's packet leaves the simulated network.
    fn leave(&mut self, node: NodeId, handle: PacketHandle) {
        let packet = self.packets.get(handle);
        if let Body::Real(real) = &packet.body {
            self.exits.push_back(Exit { at: self.now, node, bytes: real.with_ttl(packet.ttl) });
        }
        self.packets.release(handle);
    }
}

/// Where a packet goes: to a node or host, to every neighbour, or nowhere.
fn destination(context: &Context<'_>, packet: &RealPacket) -> Option<NodeId> {
    let address = packet.destination();
    let stations = context.scenario.topology.nodes() + context.scenario.hosts.len();
    if address.is_multicast() || address.is_broadcast() || address == subnet(stations).1 {
        return Some(BROADCAST);
    }
    NodeId::from_addr(address).filter(|node| node.index() < stations)
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
