//! Forwarding: to this node, or one hop further.

use multihop_core::{DropReason, NodeId};
use multihop_radio::frame::{BROADCAST, PacketHandle};

use super::World;
use super::routes::Router;
use crate::engine::Rank;
use crate::extension::{Routable, RoutingInput, RoutingOutput};
use crate::packet::{Body, Packet};

impl World<'_> {
    /// A packet of this node's own.
    pub(super) fn send_ip(&mut self, node: NodeId, packet: Packet) {
        self.observer.sent(self.now, node, &packet);
        self.route(node, packet);
    }

    /// A packet from a neighbour.
    pub(super) fn receive_ip(&mut self, node: NodeId, from: NodeId, mut packet: Packet) {
        packet.hops = packet.hops.saturating_add(1);
        if let Body::Routing { bytes, .. } = packet.body {
            self.tell_router(node, RoutingInput::Message { from, bytes });
            return;
        }
        if packet.destination == node {
            self.observer.received(self.now, node, &packet);
            self.deliver(node, packet);
            return;
        }
        packet.ttl -= 1;
        if packet.ttl == 0 {
            // DEVIATION ip-1: no ICMP time exceeded.
            self.drop_packet(node, &packet, DropReason::Ttl);
            return;
        }
        self.observer.forwarded(self.now, node, &packet);
        self.route(node, packet);
    }

    /// A neighbour does not answer.
    pub(super) fn unreachable(&mut self, node: NodeId, next_hop: NodeId, packet: Packet, reason: DropReason) {
        let routed = !matches!(packet.body, Body::Routing { .. } | Body::Arp(_));
        if matches!(self.router, Router::Custom(_)) && routed {
            let packet = self.ticket(packet);
            self.tell_router(node, RoutingInput::LinkFailed { next_hop, packet });
        } else {
            self.drop_packet(node, &packet, reason);
        }
    }

    pub(super) fn start_router(&mut self) {
        for node in 0..self.node_count() {
            self.drain_router(NodeId(node));
        }
    }

    pub(super) fn handle_router_timeout(&mut self, node: NodeId) {
        if let Router::Custom(agents) = &mut self.router {
            agents[node.index()].handle_timeout(self.now);
        }
        self.drain_router(node);
    }

    fn route(&mut self, node: NodeId, packet: Packet) {
        self.observer.routed();
        match &mut self.router {
            Router::Static(routes) => match routes.next_hop(node, packet.destination) {
                Some(next_hop) => self.pass_down(node, next_hop, packet),
                None => self.drop_packet(node, &packet, DropReason::NoRoute),
            },
            Router::Custom(_) => {
                let packet = self.ticket(packet);
                self.tell_router(node, RoutingInput::Packet(packet));
            }
        }
    }

    fn ticket(&mut self, packet: Packet) -> Routable {
        let (source, destination, hops) = (packet.source, packet.destination, packet.hops);
        Routable { ticket: self.packets.insert(packet).0, source, destination, hops }
    }

    fn tell_router(&mut self, node: NodeId, input: RoutingInput) {
        if let Router::Custom(agents) = &mut self.router {
            agents[node.index()].handle(self.now, input);
        }
        self.drain_router(node);
    }

    fn drain_router(&mut self, node: NodeId) {
        loop {
            let Router::Custom(agents) = &mut self.router else { return };
            let Some(output) = agents[node.index()].poll_output(self.now) else { break };
            self.obey_router(node, output);
        }
        let Router::Custom(agents) = &self.router else { return };
        let at = agents[node.index()].poll_timeout();
        self.set_deadline(self.router_slot(node), Rank::Timer, node, at);
    }

    fn obey_router(&mut self, node: NodeId, output: RoutingOutput) {
        match output {
            RoutingOutput::Forward { ticket, next_hop } => {
                let packet = self.packets.take(PacketHandle(ticket));
                self.pass_down(node, next_hop, packet);
            }
            RoutingOutput::Drop { ticket, reason } => {
                let packet = self.packets.take(PacketHandle(ticket));
                self.drop_packet(node, &packet, reason);
            }
            RoutingOutput::Message { to, kind, bytes } => {
                let next_hop = to.unwrap_or(BROADCAST);
                let packet = Packet {
                    uid: self.new_uid(),
                    created: self.now,
                    source: node,
                    destination: next_hop,
                    ttl: 1,
                    hops: 0,
                    ip_extra: 0,
                    body: Body::Routing { kind, bytes },
                };
                self.observer.sent(self.now, node, &packet);
                self.pass_down(node, next_hop, packet);
            }
        }
    }
}
