//! Forwarding: to this node, or one hop further.

use multihop_core::{DropReason, FlowId, NodeId, Notice};
use multihop_radio::frame::{Frame, Outgoing, PacketHandle};
use multihop_routing::agent::{Routable, Ticket};
use multihop_routing::dsr;

use super::World;
use super::routing::{Router, Said, Told};
use crate::engine::Rank;
use crate::packet::{Body, INITIAL_TTL, Packet, RoutingMessage};

impl World<'_> {
    /// A packet of this node's own.
    pub(super) fn send_ip(&mut self, node: NodeId, packet: Packet) {
        self.observer.sent(self.now, node, &packet);
        self.route(node, None, packet);
    }

    /// A packet of somebody's transport from a neighbour.
    pub(super) fn receive_ip(&mut self, node: NodeId, from: NodeId, mut packet: Packet) {
        packet.hops = packet.hops.saturating_add(1);
        if packet.destination == node {
            self.observer.received(self.now, node, &packet, packet.hops);
            match packet.body {
                Body::Unreachable(lost) => {
                    self.notify(node, lost.destination, Notice::LinkFailed(lost.lost_segment()));
                }
                _ => self.deliver(node, packet),
            }
            return;
        }
        packet.ttl -= 1;
        if packet.ttl == 0 {
            // DEVIATION ip-1: no ICMP time exceeded.
            self.drop_packet(node, &packet, DropReason::Ttl);
            return;
        }
        self.observer.forwarded(self.now, node, &packet);
        self.route(node, Some(from), packet);
    }

    /// A message of the routing protocol from a neighbour, which other nodes may be about to read.
    pub(super) fn receive_message(&mut self, node: NodeId, from: NodeId, packet: PacketHandle) {
        let heard = self.packets.get(packet);
        self.observer.received(self.now, node, heard, heard.hops.saturating_add(1));
        let Body::Routing { message, .. } = &heard.body else { return };
        let concerns_it = self.router.hear(self.now, node, from, heard.ttl, message);
        self.packets.release(packet);
        if concerns_it {
            self.drain_router(node);
        }
    }

    /// A neighbour does not answer.
    pub(super) fn unreachable(&mut self, node: NodeId, next_hop: NodeId, packet: Packet, reason: DropReason) {
        if reason == DropReason::RetryLimit {
            self.note_given_up(node, next_hop, &packet);
        }
        if matches!(self.router, Router::Fixed(_)) || matches!(packet.body, Body::Arp(_)) {
            self.drop_packet(node, &packet, reason);
            return;
        }
        if packet.is_routing() {
            self.drop_packet(node, &packet, reason);
            if let Body::Routing { message, .. } = packet.body {
                self.tell_router(node, Told::MessageLost { next_hop, message });
            }
            return;
        }
        let (quoted, route) = (packet.quoted(), packet.route.clone());
        let packet = self.ticket(node, None, packet);
        self.tell_router(node, Told::LinkFailed { next_hop, packet, route, quoted });
        self.forget_given_up();
    }

    /// A frame for another station was heard without error.
    ///
    /// Not inlined where frames end: most networks have no use for it, and are to go through less.
    #[inline(never)]
    pub(super) fn overhear(&mut self, node: NodeId, frame: &Frame) {
        let packet = self.packets.get(frame.body);
        let heard = match (&packet.body, &packet.route) {
            (Body::Routing { message: RoutingMessage::Dsr(message), .. }, _) => {
                dsr::Overheard::Message(message.clone())
            }
            (_, Some(route)) => dsr::Overheard::Data {
                source: packet.source.addr(),
                destination: packet.destination.addr(),
                route: **route,
            },
            _ => return,
        };
        let id = u32::try_from(packet.uid & u64::from(u32::MAX)).expect("32 bits are left");
        if self.router.tap(self.now, node, id, &heard) {
            self.drain_router(node);
        }
    }

    pub(super) fn start_router(&mut self) {
        for node in (0..self.node_count()).map(NodeId) {
            self.drain_router(node);
        }
    }

    pub(super) fn handle_router_timeout(&mut self, node: NodeId) {
        self.router.handle_timeout(self.now, node);
        self.drain_router(node);
    }

    fn route(&mut self, node: NodeId, from: Option<NodeId>, packet: Packet) {
        if let Some(wire) = self.wire_to(node, packet.destination) {
            self.send_by_wire(wire, packet);
            return;
        }
        self.observer.routed();
        if let Router::Fixed(routes) = &mut self.router {
            match routes.next_hop(node, self.scenario.in_mesh(packet.destination)) {
                Some(next_hop) => self.pass_down(node, next_hop, packet),
                None => self.drop_packet(node, &packet, DropReason::NoRoute),
            }
            return;
        }
        let (flow, route) = (packet.flow(), packet.route.clone());
        let packet = self.ticket(node, from, packet);
        self.tell_router(node, Told::Packet { packet, flow, route });
    }

    /// Keeps a packet for a node's agent.
    fn ticket(&mut self, node: NodeId, from: Option<NodeId>, packet: Packet) -> Routable {
        let [source, destination] =
            [packet.source, packet.destination].map(|end| self.scenario.in_mesh(end).addr());
        let previous_hop = from.filter(|&from| !self.scenario.is_host(from)).map(NodeId::addr);
        let hops = packet.hops;
        let handle = self.packets.insert(packet);
        let place = handle.0 as usize;
        if place >= self.with_agents.len() {
            self.with_agents.resize(place + 1, None);
        }
        self.with_agents[place] = Some(node);
        Routable { ticket: Ticket(handle.0), source, destination, previous_hop, hops }
    }

    fn redeem(&mut self, ticket: Ticket) -> Packet {
        self.with_agents[ticket.0 as usize] = None;
        self.packets.take(PacketHandle(ticket.0))
    }

    fn tell_router(&mut self, node: NodeId, told: Told) {
        self.router.handle(self.now, node, told);
        self.drain_router(node);
    }

    fn drain_router(&mut self, node: NodeId) {
        while let Some(said) = self.router.poll(self.now, node) {
            self.obey_router(node, said);
        }
        let at = self.router.deadline(node);
        self.set_deadline(self.router_slot(node), Rank::Timer, node, at);
    }

    fn obey_router(&mut self, node: NodeId, said: Said) {
        match said {
            Said::Forward { ticket, next_hop, route } => {
                let mut packet = self.redeem(ticket);
                packet.route = route;
                self.pass_down(node, next_hop, packet);
            }
            Said::Drop { ticket, reason, tell_source } => {
                let packet = self.redeem(ticket);
                self.drop_packet(node, &packet, reason);
                if tell_source {
                    self.tell_source(node, &packet);
                }
            }
            Said::Message(out) => {
                let bytes = u32::try_from(out.bytes).expect("packets are below 64 KiB");
                let packet = Packet {
                    uid: self.new_uid(),
                    created: self.now,
                    source: out.source,
                    destination: out.destination,
                    ttl: out.ttl,
                    hops: 0,
                    ip_extra: 0,
                    there: None,
                    route: None,
                    body: Body::Routing { message: out.message, bytes },
                };
                self.observer.sent(self.now, node, &packet);
                self.pass_down(node, out.next_hop, packet);
            }
            Said::Purge { next_hop } => self.purge(node, next_hop),
            Said::Discard { next_hop, destination } => self.discard(node, next_hop, destination),
            Said::Notice { peer, notice } => self.notify(node, peer, notice),
        }
    }

    /// Packets for a lost neighbour go back to the agent, which is still being drained.
    fn purge(&mut self, node: NodeId, next_hop: NodeId) {
        for out in self.take_queued(node, |out| out.to == next_hop) {
            let packet = self.packets.take(out.packet);
            let told = match packet.body {
                Body::Arp(_) => {
                    self.drop_packet(node, &packet, DropReason::RetryLimit);
                    continue;
                }
                Body::Routing { ref message, .. } => {
                    self.drop_packet(node, &packet, DropReason::RetryLimit);
                    Told::MessagePurged { next_hop, message: message.clone() }
                }
                _ => {
                    let route = packet.route.clone();
                    Told::Purged { next_hop, packet: self.ticket(node, None, packet), route }
                }
            };
            self.router.handle(self.now, node, told);
        }
    }

    fn discard(&mut self, node: NodeId, next_hop: NodeId, destination: Option<NodeId>) {
        let packets = &self.packets;
        let doomed = |out: &Outgoing| {
            let packet = packets.get(out.packet);
            out.to == next_hop
                && !packet.is_routing()
                && destination.is_none_or(|destination| packet.destination == destination)
        };
        let station = &mut self.air.stations[node.index()];
        for out in station.mac.queue_mut().remove_if(doomed) {
            let packet = self.packets.take(out.packet);
            self.drop_packet(node, &packet, DropReason::NoRoute);
        }
    }

    fn take_queued(&mut self, node: NodeId, which: impl Fn(&Outgoing) -> bool) -> Vec<Outgoing> {
        self.air.stations[node.index()].mac.queue_mut().remove_if(which)
    }

    /// A packet could not be forwarded: its source may want to know.
    ///
    /// DEVIATION icmp-1: only transports that listen to notices are told, so that the others are
    /// measured as they were published, without this traffic.
    fn tell_source(&mut self, node: NodeId, lost: &Packet) {
        let listens = lost.flow().is_some_and(|flow| self.listens(flow));
        if !listens || matches!(lost.body, Body::Unreachable(_)) {
            return;
        }
        if lost.source == node {
            self.notify(node, lost.destination, Notice::LinkFailed(lost.lost_segment()));
            return;
        }
        let packet = Packet {
            uid: self.new_uid(),
            created: self.now,
            source: node,
            destination: lost.source,
            ttl: INITIAL_TTL,
            hops: 0,
            ip_extra: self.scenario.routing.ip_extra,
            there: None,
            route: None,
            body: Body::Unreachable(Box::new(lost.clone())),
        };
        self.send_ip(node, packet);
    }

    /// News for this node's connections with `peer`.
    fn notify(&mut self, node: NodeId, peer: NodeId, notice: Notice) {
        for flow in (0..self.flow_count()).map(FlowId) {
            self.notify_flow(flow, node, peer, notice);
        }
    }
}
