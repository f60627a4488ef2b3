//! Between IP and MAC: a packet takes a moment each way, and needs the next hop's address first.

use std::collections::VecDeque;

use multihop_core::{DropReason, Duration, NodeId};
use multihop_radio::frame::{BROADCAST, Outgoing, PacketHandle};
use multihop_wire::olsr;

use super::World;
use super::arp::{AddressTable, Resolution};
use crate::engine::{Key, Rank};
use crate::packet::{Arp, Body, INITIAL_TTL, Packet, RoutingMessage};
use multihop_scenario::{ArpKind, RoutingProtocol};

/// One node below IP.
#[derive(Debug)]
pub(super) struct Node {
    addresses: AddressTable,
}

/// Packets on their way between IP and MAC, at all nodes.
///
/// All take equally long, so that they need no heap: the next one comes first.
#[derive(Debug, Default)]
pub(super) struct Passages {
    packets: VecDeque<Passage>,
    version: u64,
}

/// A packet on its way between a node's IP and MAC.
#[derive(Clone, Copy, Debug)]
struct Passage {
    key: Key,
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
        Self { addresses: AddressTable::new(arp) }
    }

    /// Packets held for want of an address.
    pub(super) fn into_held(self) -> impl Iterator<Item = Packet> {
        self.addresses.into_held()
    }
}

impl Passages {
    /// When the next one arrives.
    #[inline]
    pub(super) fn first(&self) -> Option<Key> {
        self.packets.front().map(|passage| passage.key)
    }

    /// Differs from before if something arrives earlier than what came first.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    fn push(&mut self, passage: Passage) {
        self.version += u64::from(self.first().is_none_or(|first| passage.key < first));
        self.packets.push_back(passage);
        // Frames that pass at once are not always told of in order.
        let mut place = self.packets.len() - 1;
        while place > 0 && passage.key < self.packets[place - 1].key {
            self.packets.swap(place - 1, place);
            place -= 1;
        }
    }

    fn pop(&mut self, key: Key) -> Option<Passage> {
        self.packets.pop_front_if(|passage| passage.key == key)
    }

    /// Those at each node, in the order of nodes.
    pub(super) fn into_packets(mut self) -> impl Iterator<Item = (NodeId, PacketHandle)> {
        self.packets.make_contiguous().sort_by_key(|passage| passage.key.node());
        self.packets.into_iter().map(|passage| (passage.key.node(), passage.packet))
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
            Resolution::Known(packet) => return self.send_down(node, next_hop, packet),
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

    /// Packets arrive at a node's IP or MAC.
    pub(super) fn handle_passages(&mut self, key: Key) {
        while let Some(passage) = self.passages.pop(key) {
            self.arrive(key.node(), passage.packet, passage.way);
        }
    }

    /// Nobody has answered a node's search for an address.
    pub(super) fn handle_link_timeout(&mut self, node: NodeId) {
        let now = self.now;
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
        let key = Key::new(self.now + delay, Rank::Timer, node, self.link_slot(node));
        self.passages.push(Passage { key, packet, way });
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
        let at = self.nodes[node.index()].addresses.deadline();
        self.set_deadline(self.link_slot(node), Rank::Timer, node, at);
    }
}
