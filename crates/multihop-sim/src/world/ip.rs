//! IP at every node: routing, forwarding, and failure reports.

use std::net::Ipv4Addr;

use multihop_core::{DropReason, NodeId};
use multihop_radio::frame::{BROADCAST, Outgoing, PacketHandle};
use multihop_routing::agent::{Input, LinkRates, NO_FLOW, Output, Overheard, Routable, RouteChanges, Ticket};
use multihop_routing::message::Message;

use super::action::{Action, GivenUp};
use super::agenda::Owner;
use super::air::Taps;
use super::context::{Context, Incoming};
use super::ids::{InterfaceAddresses, Neighbour};
use super::link::AddressResolution;
use super::routing::Router;
use super::wires::Wires;
use crate::engine::Rank;
use crate::packet::Body;

/// The IP layers of all nodes, with address resolution below them.
pub(super) struct Ip {
    pub(super) router: Router,
    pub(super) links: AddressResolution,
    /// For each packet handle, the node whose agent holds the packet; `None` if no agent does.
    with_agents: Vec<Option<NodeId>>,
    pub(super) wires: Wires,
    addresses: InterfaceAddresses,
    /// Route changes during the warm-up.
    changes_before: RouteChanges,
}

impl Ip {
    pub(super) fn new(
        router: Router,
        links: AddressResolution,
        wires: Wires,
        addresses: InterfaceAddresses,
    ) -> Self {
        let changes_before = RouteChanges::default();
        Self { router, links, with_agents: Vec::new(), wires, addresses, changes_before }
    }

    /// Restarts the counters at the end of the warm-up.
    pub(super) fn restart(&mut self) {
        self.changes_before = self.router.route_changes().unwrap_or_default();
    }

    /// Route changes since the end of the warm-up.
    pub(super) fn route_changes(&self) -> Option<RouteChanges> {
        self.router.route_changes().map(|changes| changes.since(self.changes_before))
    }

    /// Sends a packet that originates at this node.
    pub(super) fn send(&mut self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle) {
        context.note_sent(node, packet);
        self.route(context, node, None, packet);
    }

    /// Sends a packet that originates at this node to one neighbour, or to all ([`BROADCAST`]).
    pub(super) fn send_to_neighbour(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        neighbour: NodeId,
        packet: PacketHandle,
    ) {
        context.note_sent(node, packet);
        if neighbour == BROADCAST {
            self.links.pass_down_to_all(context, node, packet);
        } else {
            let next_hop = self.router.neighbour(node, neighbour);
            self.links.pass_down(context, node, next_hop, packet);
        }
    }

    /// Receives a packet; returns it if its destination is an end at this node. `rates` returns the bit rates
    /// of the link to the neighbour.
    pub(super) fn arrive(
        &mut self,
        context: &mut Context<'_>,
        incoming: Incoming,
        rates: impl FnOnce() -> LinkRates,
    ) -> Option<PacketHandle> {
        let Incoming { node, from, packet } = incoming;
        if context.has_border && context.crosses(node, packet) {
            return self.cross(context, incoming, rates);
        }
        match context.packets.get(packet).body {
            Body::Arp(arp) => self.links.receive_arp(context, incoming, arp),
            Body::Routing { .. } => {
                if context.reports_rates
                    && let Some(agent) = self.router.agent_mut(node)
                {
                    agent.note_rates(self.addresses.address(from), rates());
                }
                self.receive_message(context, incoming);
            }
            Body::Real(_) => self.receive_real(context, incoming),
            Body::Ethernet(_) => context.receive_ethernet(node, from.interface, packet),
            Body::Wifi(_) => context.receive_wifi(node, from, packet),
            Body::Spread { .. } => {
                let heard = context.packets.get(packet);
                context.observer.received(context.now, node, heard, heard.hops.saturating_add(1));
                return Some(packet);
            }
            Body::Segment { .. } | Body::Unreachable(_) => return self.receive(context, incoming),
        }
        None
    }

    /// Receives an IP packet; returns it if its destination is an end at this node.
    pub(super) fn receive(&mut self, context: &mut Context<'_>, incoming: Incoming) -> Option<PacketHandle> {
        let Incoming { node, from, packet } = incoming;
        let arrived = context.packets.get(packet);
        let hops = arrived.hops.saturating_add(1);
        if arrived.destination == node {
            context.observer.received(context.now, node, arrived, hops);
            return Some(packet);
        }
        let packet = context.packets.claim(packet);
        let arrived = context.packets.get_mut(packet);
        arrived.hops = hops;
        arrived.ttl -= 1;
        if arrived.ttl == 0 {
            // DEVIATION ip-1: Only packets of real programs cause ICMP time exceeded (RFC 792). Simulated packets
            // count in `drops.ttl`, and their sources are not notified of loops.
            context.drop_packet(node, packet, DropReason::Ttl);
            return None;
        }
        context.observer.forwarded(context.now, node, arrived);
        self.route(context, node, Some(from), packet);
        None
    }

    /// Receives a routing message. Other nodes may still hold the packet.
    fn receive_message(&mut self, context: &mut Context<'_>, incoming: Incoming) {
        let Incoming { node, from, packet } = incoming;
        let heard = context.packets.get(packet);
        context.observer.received(context.now, node, heard, heard.hops.saturating_add(1));
        let (Body::Routing { message, .. }, Some(agent)) = (&heard.body, self.router.agent_mut(node)) else {
            return;
        };
        let has_changed =
            agent.receive(context.now, from.interface, self.addresses.address(from), heard.ttl, message);
        context.packets.release(packet);
        if has_changed {
            self.drain_router(context, node);
        }
    }

    /// Handles a packet that could not be delivered to a neighbour: the agent repairs the route, or the
    /// packet is dropped.
    pub(super) fn unreachable(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: Neighbour,
        packet: PacketHandle,
        reason: DropReason,
    ) {
        let packet = context.packets.claim(packet);
        let lost = context.packets.get(packet);
        if reason == DropReason::RetryLimit {
            let (at, uid, link) = (context.now, lost.uid, [node, next_hop.node]);
            context.given_up = Some(GivenUp { at, uid, link });
        }
        let next_hop = self.addresses.address(next_hop);
        let input = match &lost.body {
            Body::Real(real)
                if real.is_for_neighbours() || self.router.is_fixed() && reason == DropReason::Arp =>
            {
                return context.drop_and_notify(node, packet, reason);
            }
            _ if self.router.is_fixed() => None,
            Body::Arp(_) | Body::Ethernet(_) | Body::Wifi(_) => None,
            Body::Routing { message, .. } => Some(Input::MessageLost { next_hop, message: message.clone() }),
            _ => {
                let quoted = Some(lost.quoted());
                let packet = self.ticket(context, node, None, packet);
                self.input_to_router(context, node, Input::LinkFailed { next_hop, packet, quoted });
                return;
            }
        };
        context.drop_packet(node, packet, reason);
        if let Some(input) = input {
            self.input_to_router(context, node, input);
        }
    }

    pub(super) fn handle_router_timeout(&mut self, context: &mut Context<'_>, node: NodeId) {
        if let Some(agent) = self.router.agent_mut(node) {
            agent.handle_timeout(context.now);
            self.drain_router(context, node);
        }
    }

    /// Processes the outputs of a node's agent, and its next deadline. Pauses if other parts must act first.
    pub(super) fn drain_router(&mut self, context: &mut Context<'_>, node: NodeId) {
        while let Some(output) = self.router.agent_mut(node).and_then(|agent| agent.poll_output(context.now))
        {
            self.apply_router_output(context, node, output);
            if context.actions.has_new() {
                context.actions.request(Action::DrainRouter(node));
                return;
            }
        }
        let at = self.router.agent(node).and_then(|agent| agent.poll_timeout());
        context.agenda.arm(Owner::Router(node), Rank::Timer, node, at);
    }

    /// Returns packets for a lost neighbour from the interface queue to the agent.
    pub(super) fn take_back(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: Neighbour,
        queued: Vec<Outgoing>,
    ) {
        let next_hop = self.addresses.address(next_hop);
        for Outgoing { packet, .. } in queued {
            let input = match &context.packets.get(packet).body {
                Body::Arp(_) | Body::Ethernet(_) | Body::Wifi(_) => {
                    context.drop_packet(node, packet, DropReason::RetryLimit);
                    continue;
                }
                Body::Routing { message, .. } => {
                    let message = message.clone();
                    context.drop_packet(node, packet, DropReason::RetryLimit);
                    Input::MessagePurged { next_hop, message }
                }
                _ => Input::Purged { next_hop, packet: self.ticket(context, node, None, packet) },
            };
            if let Some(agent) = self.router.agent_mut(node) {
                agent.handle(context.now, input);
            }
        }
    }

    /// Sends ICMP destination unreachable to the source of a packet.
    pub(super) fn send_unreachable(&mut self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle) {
        let lost = context.packets.get(packet);
        let (source, body) = (lost.source, Body::Unreachable(Box::new(lost.clone())));
        let answer = context.packet(node, source, body);
        context.packets.get_mut(answer).ip_extra = context.scenario.routing.ip_extra;
        self.send(context, node, answer);
    }

    /// Drops the packets that agents hold, and those on wires.
    pub(super) fn end_packets(&self, context: &mut Context<'_>) {
        self.wires.end_packets(context);
        for (handle, holder) in (0..).map(PacketHandle).zip(&self.with_agents) {
            if let Some(node) = *holder {
                let packet = context.packets.get(handle);
                context.observer.dropped(context.now, node, packet, DropReason::End);
            }
        }
    }

    /// Passes a packet to the wire, the fixed next hop or the agent that leads to its destination. `from` is
    /// the neighbour that sent it; `None` if it originates here.
    fn route(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: Option<Neighbour>,
        packet: PacketHandle,
    ) {
        if self.wires.send(context, node, packet) {
            return;
        }
        context.observer.routed();
        if self.router.is_fixed() {
            let destination = context.packets.get(packet).destination;
            match self.router.fixed(node, context.scenario.in_mesh(destination)) {
                Some(next_hop) => self.links.pass_down(context, node, next_hop, packet),
                // Without agents, simulated transports receive no notices.
                None if matches!(context.packets.get(packet).body, Body::Real(_)) => {
                    context.drop_and_notify(node, packet, DropReason::NoRoute);
                }
                None => context.drop_packet(node, packet, DropReason::NoRoute),
            }
            return;
        }
        let packet = self.ticket(context, node, from, packet);
        self.input_to_router(context, node, Input::Packet(packet));
    }

    /// Creates the ticket with which a node's agent refers to a packet that it holds.
    fn ticket(
        &mut self,
        context: &Context<'_>,
        node: NodeId,
        from: Option<Neighbour>,
        handle: PacketHandle,
    ) -> Routable {
        let (scenario, packet) = (context.scenario, context.packets.get(handle));
        let [source, destination] =
            [packet.source, packet.destination].map(|end| scenario.in_mesh(end).addr());
        let previous_hop =
            from.filter(|from| !scenario.is_host(from.node)).map(|from| self.addresses.address(from));
        let (hops, route) = (packet.hops, packet.route.clone());
        let flow = packet.flow().map_or(NO_FLOW, |flow| flow.0);
        let place = handle.0 as usize;
        if place >= self.with_agents.len() {
            self.with_agents.resize(place + 1, None);
        }
        self.with_agents[place] = Some(node);
        Routable { ticket: Ticket(handle.0), source, destination, previous_hop, hops, flow, route }
    }

    /// Ends the validity of an agent's ticket and returns its packet.
    fn redeem(&mut self, ticket: Ticket) -> PacketHandle {
        self.with_agents[ticket.0 as usize] = None;
        PacketHandle(ticket.0)
    }

    fn input_to_router(&mut self, context: &mut Context<'_>, node: NodeId, input: Input) {
        if let Some(agent) = self.router.agent_mut(node) {
            agent.handle(context.now, input);
            self.drain_router(context, node);
        }
    }

    fn apply_router_output(&mut self, context: &mut Context<'_>, node: NodeId, output: Output) {
        match output {
            Output::Forward { ticket, next_hop, route } => {
                let packet = self.redeem(ticket);
                context.packets.get_mut(packet).route = route;
                self.links.pass_down(context, node, self.neighbour_at(next_hop), packet);
            }
            Output::Drop { ticket, reason, tell_source } => {
                let packet = self.redeem(ticket);
                let lost = context.packets.get(packet);
                // Simulated transports at this node receive their notices from the agent.
                let is_own = matches!(lost.body, Body::Real(_)) && lost.source == node;
                if tell_source || is_own {
                    context.drop_and_notify(node, packet, reason);
                } else {
                    context.drop_packet(node, packet, reason);
                }
            }
            Output::Message { to, interface, ttl, message } => {
                let to = to.map(|to| self.neighbour_at(to));
                let over = interface.map(|interface| Neighbour { interface, node: BROADCAST });
                let radios = &context.scenario.radios;
                if over.is_some_and(|over| !radios[over.interface.index()].is_at(node)) {
                    return;
                }
                self.send_message(context, node, to.or(over), ttl, message);
            }
            Output::Purge { next_hop } => {
                context.actions.request(Action::Purge { node, next_hop: self.neighbour_at(next_hop) })
            }
            Output::Discard { next_hop, destination } => {
                let (next_hop, destination) = (self.neighbour_at(next_hop), destination.map(node_at));
                context.actions.request(Action::Discard { node, next_hop, destination });
            }
            Output::Notice { peer, notice } => {
                context.actions.request(Action::Notify { node, peer: node_at(peer), notice });
            }
        }
    }

    fn neighbour_at(&self, address: Ipv4Addr) -> Neighbour {
        self.addresses.neighbour(address).expect("agents only know addresses of the simulated network")
    }

    /// Sends a message of a node's agent to a neighbour, to all neighbours of an interface, or to all neighbours (`None`).
    fn send_message(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: Option<Neighbour>,
        ttl: u8,
        message: Message,
    ) {
        let Some(agent) = self.router.agent(node) else { return };
        let bytes = u32::try_from(agent.accounted_len(&message)).expect("packets are below 64 KiB");
        let urgent = agent.overtakes_data(&message);
        let to = next_hop.map_or(BROADCAST, |next_hop| next_hop.node);
        let (source, destination) = message.endpoints().map_or((node, to), |(source, destination)| {
            (node_at(source), NodeId::from_addr(destination).unwrap_or(BROADCAST))
        });
        let packet = context.packet(source, destination, Body::Routing { message, bytes, urgent });
        context.packets.get_mut(packet).ttl = ttl;
        context.note_sent(node, packet);
        match next_hop {
            Some(next_hop) => self.links.pass_down(context, node, next_hop, packet),
            None => self.links.pass_down_to_all(context, node, packet),
        }
    }
}

impl Taps for Ip {
    /// Passes an overheard packet to the agent. Not inlined, because the code for the end of frames is hot
    /// and most networks do not overhear.
    #[inline(never)]
    fn overhear(&mut self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle) {
        let packet = context.packets.get(packet);
        let overheard = match &packet.body {
            Body::Arp(_) | Body::Ethernet(_) | Body::Wifi(_) => return,
            Body::Routing { message, .. } => Overheard::Message(message.clone()),
            _ => Overheard::Data {
                source: packet.source.addr(),
                destination: packet.destination.addr(),
                route: packet.route.clone(),
            },
        };
        let id = u32::try_from(packet.uid & u64::from(u32::MAX)).expect("32 bits are left");
        let Some(agent) = self.router.agent_mut(node) else { return };
        if agent.overhear(context.now, id, &overheard) {
            self.drain_router(context, node);
        }
    }
}

fn node_at(address: Ipv4Addr) -> NodeId {
    NodeId::from_addr(address).expect("agents only know addresses of the simulated network")
}
