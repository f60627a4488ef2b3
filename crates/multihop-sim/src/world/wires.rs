//! Hosts behind wires: a gateway's link to a computer without a radio.
//!
//! Through the mesh a packet to or from a host travels as one to or from its gateway, so that no
//! routing protocol has to know of hosts.

use std::collections::VecDeque;

use multihop_core::{DropReason, Instant, NodeId};

use super::World;
use crate::engine::Rank;
use crate::packet::Packet;
use multihop_scenario::{Host, Scenario};

/// One direction of a wire.
#[derive(Debug)]
pub(super) struct Wire {
    host: Host,
    /// Who hears what is sent.
    far: NodeId,
    near: NodeId,
    /// When the last of what was sent has left.
    free: Instant,
    /// In the order of arrival.
    packets: VecDeque<OnWire>,
}

/// A packet that waits to leave, is leaving, or is on its way.
#[derive(Debug)]
struct OnWire {
    leaves: Instant,
    arrives: Instant,
    packet: Packet,
}

impl Wire {
    /// Of each host: towards it, then from it.
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        let wire = |host: &Host, near, far| Self {
            host: *host,
            near,
            far,
            free: Instant::ZERO,
            packets: VecDeque::new(),
        };
        let both = |(id, host): (NodeId, &Host)| [wire(host, host.gateway, id), wire(host, id, host.gateway)];
        scenario.hosts().flat_map(both).collect()
    }

    /// Takes a packet, or gives it back if the queue is full.
    fn send(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let waiting = self.packets.len() - self.packets.partition_point(|sent| sent.leaves <= now);
        if waiting >= self.host.queue {
            return Some(packet);
        }
        // A second IP header belongs to the mesh.
        let bytes = packet.bytes() - packet.ip_extra;
        let leaves = self.free.max(now);
        self.free = leaves + self.host.rate.time_for(bytes);
        self.packets.push_back(OnWire { leaves, arrives: self.free + self.host.delay, packet });
        None
    }

    /// Packets that have not arrived.
    pub(super) fn into_packets(self) -> impl Iterator<Item = (NodeId, Packet)> {
        let near = self.near;
        self.packets.into_iter().map(move |sent| (near, sent.packet))
    }
}

impl World<'_> {
    /// The wire that a packet at `node` takes, if it takes one.
    pub(super) fn wire_to(&self, node: NodeId, destination: NodeId) -> Option<usize> {
        if self.wires.is_empty() {
            return None;
        }
        // A host has one way out, whoever the packet is for.
        let takes =
            |wire: &Wire| wire.near == node && (wire.far == destination || self.scenario.is_host(node));
        self.wires.iter().position(takes)
    }

    pub(super) fn send_by_wire(&mut self, wire: usize, mut packet: Packet) {
        packet.route = None;
        let near = self.wires[wire].near;
        if let Some(refused) = self.wires[wire].send(self.now, packet) {
            self.drop_packet(near, &refused, DropReason::QueueFull);
        }
        self.arm_wire(wire);
    }

    pub(super) fn handle_wire(&mut self, wire: usize) {
        let now = self.now;
        while let Some(sent) = self.wires[wire].packets.pop_front_if(|sent| sent.arrives <= now) {
            let Wire { near, far, .. } = self.wires[wire];
            self.receive_ip(far, near, sent.packet);
        }
        self.arm_wire(wire);
    }

    fn arm_wire(&mut self, wire: usize) {
        let Wire { far, ref packets, .. } = self.wires[wire];
        let at = packets.front().map(|sent| sent.arrives);
        self.set_deadline(self.wire_slot(wire), Rank::Timer, far, at);
    }
}
