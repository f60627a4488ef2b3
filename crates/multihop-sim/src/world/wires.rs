//! Wires: links from gateways to hosts, which have no radio.
//!
//! In the mesh, a packet to or from a host has the address of its gateway, so that routing protocols need not know of
//! hosts.

use std::collections::VecDeque;

use multihop_core::{DropReason, Instant, NodeId, Rng};
use multihop_radio::frame::PacketHandle;

use super::action::Action;
use super::agenda::Owner;
use super::context::Context;
use crate::engine::Rank;
use multihop_scenario::{Host, Scenario};

/// All wires of a network.
#[derive(Debug)]
pub(super) struct Wires(Vec<Wire>);

/// One direction of a wire.
#[derive(Debug)]
struct Wire {
    host: Host,
    /// The receiver.
    far: NodeId,
    near: NodeId,
    /// Chance that a packet is lost in this direction.
    loss: f64,
    /// Draws which packets are lost.
    rng: Rng,
    /// When the last packet so far has been transmitted.
    free: Instant,
    /// In the order of arrival.
    packets: VecDeque<OnWire>,
}

/// A packet that is queued, being transmitted, or propagating.
#[derive(Debug)]
struct OnWire {
    leaves: Instant,
    arrives: Instant,
    packet: PacketHandle,
    /// Whether the packet is lost instead of arriving.
    is_lost: bool,
}

impl Wires {
    /// For each host: the direction towards it, then that from it.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let wire = |host: &Host, purpose, id: NodeId| Wire {
            host: *host,
            near: host.gateway,
            far: id,
            loss: host.loss_to_host,
            rng: Rng::stream(scenario.seed, purpose, u64::from(id.0)),
            free: Instant::ZERO,
            packets: VecDeque::new(),
        };
        let both = |(id, host): (NodeId, &Host)| {
            let back = Wire {
                near: id,
                far: host.gateway,
                loss: host.loss_from_host,
                ..wire(host, "wire/from-host", id)
            };
            [wire(host, "wire/to-host", id), back]
        };
        Self(scenario.hosts().flat_map(both).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Sends a packet over the wire from `node` to its destination, if there is one; true if it was sent.
    pub(super) fn send(&mut self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle) -> bool {
        if self.0.is_empty() {
            return false;
        }
        // A host has only one link, for all destinations.
        let (destination, is_host) =
            (context.packets.get(packet).destination, context.scenario.is_host(node));
        let takes = |wire: &Wire| wire.near == node && (wire.far == destination || is_host);
        let Some(place) = self.0.iter().position(takes) else { return false };
        let going = context.packets.get_mut(packet);
        going.route = None;
        // A second IP header is only used in the mesh.
        let bytes = going.bytes() - going.ip_extra;
        if !self.0[place].send(context.now, packet, bytes) {
            context.drop_packet(node, packet, DropReason::QueueFull);
        }
        self.arm(context, place);
        true
    }

    /// Whether the queue of a host has room for another packet.
    pub(super) fn has_room(&self, now: Instant, host: NodeId) -> bool {
        self.0.iter().any(|wire| wire.near == host && wire.has_room(now))
    }

    /// Handles the arrival of packets at the far end of a wire.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_>, wire: u32) {
        let now = context.now;
        let Wire { near, far, packets, .. } = &mut self.0[wire as usize];
        while let Some(sent) = packets.pop_front_if(|sent| sent.arrives <= now) {
            if sent.is_lost {
                context.drop_packet(*near, sent.packet, DropReason::ChannelError);
            } else {
                context.ask(Action::ReceiveIp { node: *far, from: *near, packet: sent.packet });
            }
        }
        self.arm(context, wire as usize);
    }

    /// Drops the packets on wires at the end of the run.
    pub(super) fn end_packets(&self, context: &mut Context<'_>) {
        for wire in &self.0 {
            for sent in &wire.packets {
                let packet = context.packets.get(sent.packet);
                context.observer.dropped(context.now, wire.near, packet, DropReason::End);
            }
        }
    }

    fn arm(&self, context: &mut Context<'_>, place: usize) {
        let Wire { far, ref packets, .. } = self.0[place];
        let wire = Owner::Wire(u32::try_from(place).expect("a checked number of hosts"));
        context.agenda.arm(wire, Rank::Timer, far, packets.front().map(|sent| sent.arrives));
    }
}

impl Wire {
    /// Sends a packet, unless the queue is full.
    fn send(&mut self, now: Instant, packet: PacketHandle, bytes: u32) -> bool {
        if !self.has_room(now) {
            return false;
        }
        let leaves = self.free.max(now);
        self.free = leaves + self.host.rate.time_for(bytes);
        let is_lost = self.loss > 0.0 && self.rng.chance(self.loss);
        self.packets.push_back(OnWire { leaves, arrives: self.free + self.host.delay, packet, is_lost });
        true
    }
    fn has_room(&self, now: Instant) -> bool {
        let waiting = self.packets.len() - self.packets.partition_point(|sent| sent.leaves <= now);
        waiting < self.host.queue
    }
}
