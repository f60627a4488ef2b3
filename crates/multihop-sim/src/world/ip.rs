//! IP at every node: routing, forwarding, and what a node is told of failures.

use multihop_core::{DropReason, NodeId, Notice};
use multihop_radio::frame::{Outgoing, PacketHandle};
use multihop_routing::agent::{Routable, Ticket};
use multihop_routing::dsr;

use super::action::Action;
use super::agenda::Owner;
use super::air::Taps;
use super::context::Context;
use super::routing::{Router, Said, Told, Turns};
use super::wires::Wires;
use crate::engine::Rank;
use crate::packet::{Body, Packet, RoutingMessage};

/// The IP layers of all nodes.
pub(super) struct Ip {
    router: Router,
    /// By handle: the node whose agent has the packet, if one has.
    with_agents: Vec<Option<NodeId>>,
    wires: Wires,
    /// Changes of routes before the warm-up ended.
    turns_before: Turns,
}

impl Ip {
    pub(super) fn new(router: Router, wires: Wires) -> Self {
        Self { router, with_agents: Vec::new(), wires, turns_before: Turns::default() }
    }

    /// The warm-up is over.
    pub(super) fn restart(&mut self) {
        self.turns_before = self.router.turns().unwrap_or_default();
    }

    /// Changes of routes since the warm-up ended.
    pub(super) fn turns(&self) -> Option<Turns> {
        self.router.turns().map(|turns| turns.since(self.turns_before))
    }

    /// Links between two nodes, if the route is known from the start.
    pub(super) fn hops(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        self.router.hops(from, to)
    }

    pub(super) fn wants_taps(&self) -> bool {
        self.router.wants_tap()
    }

    /// A packet of this node's own.
    pub(super) fn send(&mut self, context: &mut Context<'_>, node: NodeId, packet: Packet) {
        context.observer.sent(context.now, node, &packet);
        self.route(context, node, None, packet);
    }

    /// A packet from a neighbour, or from the other end of a wire.
    pub(super) fn receive(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: NodeId,
        mut packet: Packet,
    ) {
        packet.hops = packet.hops.saturating_add(1);
        if packet.destination == node {
            context.observer.received(context.now, node, &packet, packet.hops);
            match packet.body {
                Body::Unreachable(lost) => notify(context, node, &lost),
                _ => context.ask(Action::Receive { node, packet }),
            }
            return;
        }
        packet.ttl -= 1;
        if packet.ttl == 0 {
            // DEVIATION ip-1: no ICMP time exceeded.
            context.drop_packet(node, &packet, DropReason::Ttl);
            return;
        }
        context.observer.forwarded(context.now, node, &packet);
        self.route(context, node, Some(from), packet);
    }

    /// A message of the routing protocol from a neighbour, which other nodes may be about to read.
    pub(super) fn receive_message(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: NodeId,
        packet: PacketHandle,
    ) {
        let heard = context.packets.get(packet);
        context.observer.received(context.now, node, heard, heard.hops.saturating_add(1));
        let Body::Routing { message, .. } = &heard.body else { return };
        let concerns_it = self.router.hear(context.now, node, from, heard.ttl, message);
        context.packets.release(packet);
        if concerns_it {
            self.drain_router(context, node);
        }
    }

    /// A neighbour does not answer.
    pub(super) fn unreachable(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: NodeId,
        packet: Packet,
        reason: DropReason,
    ) {
        if matches!(self.router, Router::Fixed(_)) || matches!(packet.body, Body::Arp(_)) {
            context.drop_packet(node, &packet, reason);
            return;
        }
        if packet.is_routing() {
            context.drop_packet(node, &packet, reason);
            if let Body::Routing { message, .. } = packet.body {
                self.tell_router(context, node, Told::MessageLost { next_hop, message });
            }
            return;
        }
        let (quoted, route) = (packet.quoted(), packet.route.clone());
        let packet = self.ticket(context, node, None, packet);
        self.tell_router(context, node, Told::LinkFailed { next_hop, packet, route, quoted });
    }

    pub(super) fn handle_router_timeout(&mut self, context: &mut Context<'_>, node: NodeId) {
        self.router.handle_timeout(context.now, node);
        self.drain_router(context, node);
    }

    pub(super) fn handle_wire(&mut self, context: &mut Context<'_>, wire: u32) {
        self.wires.handle_timeout(context, wire);
    }

    /// Takes what a node's agent has to say, and its next deadline. Pauses where other parts have
    /// to act.
    pub(super) fn drain_router(&mut self, context: &mut Context<'_>, node: NodeId) {
        while let Some(said) = self.router.poll(context.now, node) {
            self.obey_router(context, node, said);
            if !context.actions.is_empty() {
                context.ask(Action::DrainRouter(node));
                return;
            }
        }
        let at = self.router.deadline(node);
        context.agenda.arm(Owner::Router(node), Rank::Timer, node, at);
    }

    /// Packets for a lost neighbour come back from the interface queue to the agent.
    pub(super) fn take_back(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: NodeId,
        queued: Vec<Outgoing>,
    ) {
        for out in queued {
            let packet = context.packets.take(out.packet);
            let told = match packet.body {
                Body::Arp(_) => {
                    context.drop_packet(node, &packet, DropReason::RetryLimit);
                    continue;
                }
                Body::Routing { ref message, .. } => {
                    context.drop_packet(node, &packet, DropReason::RetryLimit);
                    Told::MessagePurged { next_hop, message: message.clone() }
                }
                _ => {
                    let route = packet.route.clone();
                    Told::Purged { next_hop, packet: self.ticket(context, node, None, packet), route }
                }
            };
            self.router.handle(context.now, node, told);
        }
    }

    /// A packet could not be forwarded: its source may want to know.
    pub(super) fn tell_source(&mut self, context: &mut Context<'_>, node: NodeId, lost: &Packet) {
        if lost.source == node {
            notify(context, node, lost);
            return;
        }
        let body = Body::Unreachable(Box::new(lost.clone()));
        let packet = context.packet(node, lost.source, body);
        let packet = Packet { ip_extra: context.scenario.routing.ip_extra, ..packet };
        self.send(context, node, packet);
    }

    /// The packets that agents hold, and those on wires.
    pub(super) fn end_packets(&mut self, context: &mut Context<'_>) {
        self.wires.end_packets(context);
        for (handle, holder) in (0..).map(PacketHandle).zip(&self.with_agents) {
            if let Some(node) = *holder {
                let packet = context.packets.get(handle);
                context.observer.dropped(context.now, node, packet, DropReason::End);
            }
        }
    }

    fn route(&mut self, context: &mut Context<'_>, node: NodeId, from: Option<NodeId>, packet: Packet) {
        let Some(packet) = self.wires.send(context, node, packet) else { return };
        context.observer.routed();
        if let Router::Fixed(routes) = &mut self.router {
            match routes.next_hop(node, context.scenario.in_mesh(packet.destination)) {
                Some(next_hop) => context.ask(Action::PassDown { node, next_hop, packet }),
                None => context.drop_packet(node, &packet, DropReason::NoRoute),
            }
            return;
        }
        let (flow, route) = (packet.flow(), packet.route.clone());
        let packet = self.ticket(context, node, from, packet);
        self.tell_router(context, node, Told::Packet { packet, flow, route });
    }

    /// Keeps a packet for a node's agent.
    fn ticket(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: Option<NodeId>,
        packet: Packet,
    ) -> Routable {
        let scenario = context.scenario;
        let [source, destination] =
            [packet.source, packet.destination].map(|end| scenario.in_mesh(end).addr());
        let previous_hop = from.filter(|&from| !scenario.is_host(from)).map(NodeId::addr);
        let hops = packet.hops;
        let handle = context.packets.insert(packet);
        let place = handle.0 as usize;
        if place >= self.with_agents.len() {
            self.with_agents.resize(place + 1, None);
        }
        self.with_agents[place] = Some(node);
        Routable { ticket: Ticket(handle.0), source, destination, previous_hop, hops }
    }

    fn redeem(&mut self, context: &mut Context<'_>, ticket: Ticket) -> Packet {
        self.with_agents[ticket.0 as usize] = None;
        context.packets.take(PacketHandle(ticket.0))
    }

    fn tell_router(&mut self, context: &mut Context<'_>, node: NodeId, told: Told) {
        self.router.handle(context.now, node, told);
        self.drain_router(context, node);
    }

    fn obey_router(&mut self, context: &mut Context<'_>, node: NodeId, said: Said) {
        match said {
            Said::Forward { ticket, next_hop, route } => {
                let mut packet = self.redeem(context, ticket);
                packet.route = route;
                context.ask(Action::PassDown { node, next_hop, packet });
            }
            Said::Drop { ticket, reason, tell_source } => {
                let packet = self.redeem(context, ticket);
                context.drop_packet(node, &packet, reason);
                if tell_source && !matches!(packet.body, Body::Unreachable(_)) {
                    context.ask(Action::TellSource { node, packet });
                }
            }
            Said::Message(out) => {
                let bytes = u32::try_from(out.bytes).expect("packets are below 64 KiB");
                let body = Body::Routing { message: out.message, bytes };
                let packet = context.packet(out.source, out.destination, body);
                let packet = Packet { ttl: out.ttl, ..packet };
                context.observer.sent(context.now, node, &packet);
                context.ask(Action::PassDown { node, next_hop: out.next_hop, packet });
            }
            Said::Purge { next_hop } => context.ask(Action::Purge { node, next_hop }),
            Said::Discard { next_hop, destination } => {
                context.ask(Action::Discard { node, next_hop, destination });
            }
            Said::Notice { peer, notice } => context.ask(Action::Notify { node, peer, notice }),
        }
    }
}

impl Taps for Ip {
    /// Not inlined where frames end: most networks have no use for it.
    #[inline(never)]
    fn overhear(&mut self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle) {
        let packet = context.packets.get(packet);
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
        if self.router.tap(context.now, node, id, &heard) {
            self.drain_router(context, node);
        }
    }
}

/// News for the connection that a lost packet belongs to.
fn notify(context: &mut Context<'_>, node: NodeId, lost: &Packet) {
    let notice = Notice::LinkFailed(lost.lost_segment());
    context.ask(Action::Notify { node, peer: lost.destination, notice });
}
