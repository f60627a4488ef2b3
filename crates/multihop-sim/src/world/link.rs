//! Between IP and MAC: a packet takes a moment each way, and needs the next hop's address first.

use std::collections::VecDeque;

use multihop_core::{DropReason, Duration, Instant, NodeId, earliest};
use multihop_radio::frame::{BROADCAST, Outgoing, PacketHandle};
use multihop_wire::olsr;

use super::World;
use super::arp::{AddressTable, Resolution};
use crate::engine::Rank;
use crate::packet::{Arp, Body, INITIAL_TTL, Packet, Pool, RoutingMessage};
use crate::scenario::{ArpKind, RoutingProtocol};

/// One node below IP.
#[derive(Debug)]
pub(super) struct Node {
    addresses: AddressTable,
    /// All wait equally long, so that the oldest is due first.
    passing: VecDeque<Passing>,
}

/// A packet on its way between IP and MAC.
#[derive(Debug)]
struct Passing {
    due: Instant,
    /// On the way up it may be held by other nodes that heard it.
    packet: PacketHandle,
    way: Way,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Up { from: NodeId },
    Down { next_hop: NodeId },
}

impl Node {
    pub(super) fn new(arp: ArpKind) -> Self {
        Self { addresses: AddressTable::new(arp), passing: VecDeque::new() }
    }

    /// Packets between IP and MAC, or held for want of an address.
    pub(super) fn into_waiting(self, packets: &mut Pool) -> impl Iterator<Item = Packet> {
        self.passing.into_iter().map(|waits| packets.claim(waits.packet)).chain(self.addresses.into_held())
    }
}

impl World<'_> {
    /// IP hands a packet down for `next_hop` ([`BROADCAST`]: for every neighbour).
    pub(super) fn pass_down(&mut self, node: NodeId, next_hop: NodeId, packet: Packet) {
        if next_hop == BROADCAST {
            self.send_down(node, next_hop, packet);
            return;
        }
        let resolution = self.nodes[node.index()].addresses.resolve(self.now, next_hop, packet);
        match resolution {
            Resolution::Known(packet) => self.send_down(node, next_hop, packet),
            Resolution::Asked { displaced } => {
                if let Some(displaced) = displaced {
                    self.drop_packet(node, &displaced, DropReason::Arp);
                }
                self.send_arp(node, next_hop, Arp::Request);
            }
            Resolution::Waiting { refused } => {
                if let Some(refused) = refused {
                    self.drop_packet(node, &refused, DropReason::Arp);
                }
            }
            Resolution::Failed(packets) => {
                for packet in packets {
                    self.unreachable(node, next_hop, packet, DropReason::Arp);
                }
            }
        }
        self.arm_link(node);
    }

    /// The MAC hands a packet up, which others hold as well.
    pub(super) fn pass_up(&mut self, node: NodeId, from: NodeId, packet: PacketHandle) {
        self.packets.hold(packet);
        self.pass(node, packet, Way::Up { from });
    }

    fn send_down(&mut self, node: NodeId, next_hop: NodeId, packet: Packet) {
        let packet = self.packets.insert(packet);
        self.pass(node, packet, Way::Down { next_hop });
    }

    pub(super) fn handle_link_timeout(&mut self, node: NodeId) {
        let now = self.now;
        while let Some(passing) = self.nodes[node.index()].passing.pop_front_if(|p| p.due <= now) {
            self.arrive(node, passing.packet, passing.way);
        }
        while let Some(expiry) = self.nodes[node.index()].addresses.handle_timeout(now) {
            if expiry.ask_again {
                self.send_arp(node, expiry.next_hop, Arp::Request);
            }
            for packet in expiry.failed {
                self.unreachable(node, expiry.next_hop, packet, DropReason::Arp);
            }
        }
        self.arm_link(node);
    }

    /// The MAC gave up on a packet.
    pub(super) fn link_failed(&mut self, node: NodeId, out: Outgoing) {
        let packet = self.packets.claim(out.packet);
        self.unreachable(node, out.to, packet, DropReason::RetryLimit);
    }

    fn pass(&mut self, node: NodeId, packet: PacketHandle, way: Way) {
        let delay = self.air.config.params.link_delay;
        if delay == Duration::ZERO {
            self.arrive(node, packet, way);
            return;
        }
        let passing = &mut self.nodes[node.index()].passing;
        passing.push_back(Passing { due: self.now + delay, packet, way });
        if passing.len() == 1 {
            self.arm_link(node);
        }
    }

    fn arrive(&mut self, node: NodeId, packet: PacketHandle, way: Way) {
        match way {
            Way::Up { from } => match self.packets.get(packet).body {
                Body::Arp(arp) => self.receive_arp(node, from, arp, packet),
                Body::Routing { .. } => self.receive_message(node, from, packet),
                _ => {
                    let packet = self.packets.claim(packet);
                    self.receive_ip(node, from, packet);
                }
            },
            Way::Down { next_hop } => self.enqueue(node, next_hop, packet),
        }
    }

    fn enqueue(&mut self, node: NodeId, next_hop: NodeId, packet: PacketHandle) {
        let going = self.packets.get(packet);
        let (bytes, urgent) = (going.bytes(), going.is_routing() && !self.waits(going));
        let out = Outgoing { packet, to: next_hop, bytes, urgent };
        if let Some(refused) = self.air.stations[node.index()].mac.enqueue(out) {
            let packet = self.packets.take(refused.packet);
            self.drop_packet(node, &packet, DropReason::QueueFull);
        }
        self.settle(node);
    }

    /// Whether a routing message measures the interface queue by waiting in it.
    fn waits(&self, packet: &Packet) -> bool {
        let waiting =
            matches!(self.scenario.routing.protocol, RoutingProtocol::Apdr { hellos_wait: true, .. });
        let Body::Routing { message: RoutingMessage::Olsr(packet), .. } = &packet.body else { return false };
        waiting && packet.messages.iter().any(|message| matches!(message.body, olsr::Body::Hello(_)))
    }

    fn send_arp(&mut self, node: NodeId, to: NodeId, arp: Arp) {
        let packet = Packet {
            uid: self.new_uid(),
            created: self.now,
            source: node,
            destination: to,
            ttl: INITIAL_TTL,
            hops: 0,
            ip_extra: 0,
            there: None,
            route: None,
            body: Body::Arp(arp),
        };
        self.observer.sent(self.now, node, &packet);
        let next_hop = if arp == Arp::Request { BROADCAST } else { to };
        let packet = self.packets.insert(packet);
        // DEVIATION arp-1: at once; ns-2 waits 5 us.
        self.enqueue(node, next_hop, packet);
    }

    /// Any ARP message tells its sender's address.
    fn receive_arp(&mut self, node: NodeId, from: NodeId, arp: Arp, packet: PacketHandle) {
        let heard = self.packets.get(packet);
        self.observer.received(self.now, node, heard, heard.hops);
        let is_for_us = heard.destination == node;
        self.packets.release(packet);
        let held = self.nodes[node.index()].addresses.learn(from);
        for held in held {
            self.send_down(node, from, held);
        }
        if arp == Arp::Request && is_for_us {
            self.send_arp(node, from, Arp::Reply);
        }
        self.arm_link(node);
    }

    fn arm_link(&mut self, node: NodeId) {
        let state = &self.nodes[node.index()];
        let passing = state.passing.front().map(|passing| passing.due);
        let at = earliest(passing, state.addresses.deadline());
        self.set_deadline(self.link_slot(node), Rank::Timer, node, at);
    }
}
