//! The border between nodes that the simulated network routes for and nodes whose kernels route. A packet
//! that crosses it is converted to an Ethernet frame, or to a packet of the simulator.

use std::sync::Arc;

use multihop_core::{DropReason, NodeId};
use multihop_radio::frame::{BROADCAST, PacketHandle};
use multihop_routing::agent::LinkRates;
use multihop_routing::message::Message;
use multihop_scenario::Scenario;
use multihop_wire::{arp, dot11, ipv4, olsr, udp};

use super::context::{Context, Exit, Incoming};
use super::ids::InterfaceAddresses;
use super::ip::Ip;
use super::real;
use crate::packet::{Arp, Body, INITIAL_TTL};
use crate::real::RealPacket;
use crate::trace::Stations;

impl Context<'_> {
    /// Converts a packet that arrives at a node with a kernel of its own into an Ethernet frame, which leaves the
    /// simulated network.
    fn leave_as_frame(&mut self, Incoming { node, from, packet: handle }: Incoming) {
        let packet = self.packets.get(handle);
        self.observer.received(self.now, node, packet, packet.hops.saturating_add(1));
        let is_for_all = packet.destination == BROADCAST || matches!(packet.body, Body::Arp(Arp::Request));
        let stations =
            Stations { interface: from.interface, addresses: InterfaceAddresses::new(self.scenario) };
        let to = if is_for_all { BROADCAST } else { node };
        // The EtherType is in the last two bytes of LLC/SNAP.
        let bytes = stations.packet_bytes(from.node, handle, &self.packets);
        let bytes =
            [&stations.mac(to)[..], &stations.mac(from.node), &bytes[dot11::Snap::LEN - 2..]].concat();
        self.exits.push_back(Exit { at: self.now, node, interface: from.interface, bytes });
        self.packets.release(handle);
    }
}

impl Ip {
    /// Receives a packet from a neighbour on the other side of the border.
    pub(super) fn cross(
        &mut self,
        context: &mut Context<'_>,
        incoming: Incoming,
        rates: impl FnOnce() -> LinkRates,
    ) -> Option<PacketHandle> {
        let Incoming { node, from, packet } = incoming;
        let Body::Ethernet(frame) = &context.packets.get(packet).body else {
            context.leave_as_frame(incoming);
            return None;
        };
        let frame = frame.clone();
        let (scenario, payload) = (context.scenario, frame.payload());
        let read = match frame.ethertype() {
            arp::ETHERTYPE => {
                resolution(scenario, payload).map(|(to, arp)| (from.node, Some(to), Body::Arp(arp)))
            }
            ipv4::ETHERTYPE => match routing(scenario, payload) {
                Some(messages) => Some((from.node, Some(BROADCAST), messages)),
                None => datagram(context, node, from.node, payload),
            },
            // The simulator ignores IPv6 and other protocols between kernels.
            _ => None,
        };
        let Some((source, destination, body)) = read else {
            context.drop_packet(node, packet, DropReason::NoRoute);
            return None;
        };
        let packet = context.packets.claim(packet);
        let arrived = context.packets.get_mut(packet);
        arrived.ttl = if let Body::Real(real) = &body { real.ttl() } else { INITIAL_TTL };
        (arrived.source, arrived.destination) = (source, destination.unwrap_or(node));
        arrived.body = body;
        if destination.is_some() {
            return self.arrive(context, Incoming { packet, ..incoming }, rates);
        }
        context.drop_and_notify(node, packet, DropReason::NoRoute);
        None
    }
}

/// Source, destination (if it exists) and bytes of the IP packet in a frame.
fn datagram(
    context: &Context<'_>,
    node: NodeId,
    from: NodeId,
    payload: &[u8],
) -> Option<(NodeId, Option<NodeId>, Body)> {
    let packet = RealPacket::parse(payload).ok()?;
    let (header, _) = ipv4::Header::parse(payload).ok()?;
    let source = station(context.scenario, header.source).unwrap_or(from);
    Some((source, real::destination(context, node, &packet), Body::Real(packet)))
}

/// The node whose address an ARP packet contains or requests, and the packet's kind.
fn resolution(scenario: &Scenario, payload: &[u8]) -> Option<(NodeId, Arp)> {
    let packet = arp::Packet::parse(payload).ok()?;
    let message = match packet.operation {
        arp::Operation::Request => Arp::Request,
        arp::Operation::Reply => Arp::Reply,
    };
    Some((station(scenario, packet.target)?, message))
}

/// The OLSR messages in an IP packet to all neighbours. Messages about unknown nodes are left out, because
/// agents of the simulator need next hops among its nodes.
fn routing(scenario: &Scenario, payload: &[u8]) -> Option<Body> {
    let bytes = u32::try_from(payload.len()).ok()?;
    let (header, payload) = ipv4::Header::parse(payload).ok()?;
    if header.protocol != udp::PROTOCOL || header.destination.octets()[3] != 255 {
        return None;
    }
    let datagram = udp::Datagram::parse(payload, header.source, header.destination).ok()?;
    if datagram.destination != olsr::PORT {
        return None;
    }
    let mut content = Vec::new();
    datagram.payload.emit(&mut content);
    let mut packet = olsr::Packet::parse(&content).unwrap_or_default();
    packet.messages.retain(|message| station(scenario, message.originator).is_some());
    Some(Body::Routing { message: Message::Olsr(Arc::new(packet)), bytes, urgent: false })
}

fn station(scenario: &Scenario, address: std::net::Ipv4Addr) -> Option<NodeId> {
    NodeId::from_addr(address).filter(|node| node.index() < scenario.topology.nodes())
}
