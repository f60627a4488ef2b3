//! AODV on a host: the messages of the agent, and the packets that wait for routes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use multihop_core::{Instant, Interface, Machine as _};
use multihop_routing::agent::{Input, NO_FLOW, Output, Routable, Ticket};
use multihop_routing::aodv::{Agent, RouteState};
use multihop_routing::message::Message as RoutingMessage;
use multihop_wire::aodv::{Message, Reply};
use serde::Serialize;

use crate::prefix::Prefix;

/// Outcome for a packet that had no route when it arrived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PacketOutcome {
    /// The packet leaves over this interface.
    Leaves {
        /// The number of the interface.
        interface: u32,
        /// Bytes of the IP packet.
        packet: Vec<u8>,
    },
    /// The packet is dropped, and its source gets an ICMP error.
    Refused {
        /// Bytes of the IP packet.
        packet: Vec<u8>,
    },
}

/// Counters of AODV's messages, and of packets that had no route.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct OnDemandCounts {
    /// Number of HELLOs sent.
    pub hellos: u64,
    /// Route requests sent or forwarded.
    pub requests: u64,
    /// Route replies sent or forwarded.
    pub replies: u64,
    /// Number of route errors sent.
    pub errors: u64,
    /// Number of packets that had no route when they arrived.
    pub caught: u64,
    /// Packets that left as soon as a route was found.
    pub released: u64,
    /// Packets without a route that were dropped.
    pub dropped: u64,
    /// Neighbours that the kernel reported as unreachable.
    pub failed_neighbours: u64,
}

/// AODV agent with the packets that wait for its routes.
#[derive(Debug)]
pub(super) struct OnDemand {
    pub(super) agent: Agent,
    pub(super) counts: OnDemandCounts,
    held: BTreeMap<Ticket, Vec<u8>>,
    next_ticket: u32,
    /// Packets whose wait has ended: the next hop of each that leaves, `None` for each that is refused.
    ends: Vec<(Option<Ipv4Addr>, Vec<u8>)>,
    messages: Vec<Outgoing>,
}

/// A message that leaves over one interface or all interfaces.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The neighbour that receives the message; `None`: all neighbours.
    pub(super) to: Option<Ipv4Addr>,
    /// Interface over which the message leaves. `None`: all interfaces, or with `to` the interface that
    /// reaches the neighbour.
    pub(super) interface: Option<Interface>,
    pub(super) ttl: u8,
    pub(super) bytes: Vec<u8>,
}

impl OnDemand {
    pub(super) fn new(agent: Agent) -> Self {
        Self {
            agent,
            counts: OnDemandCounts::default(),
            held: BTreeMap::new(),
            next_ticket: 0,
            ends: Vec::new(),
            messages: Vec::new(),
        }
    }

    /// Handles a neighbour's message, which arrived at `arrived`.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        arrived: Instant,
        from: Ipv4Addr,
        ttl: u8,
        message: &Message,
    ) {
        self.agent.receive_late(now, arrived, from, ttl, message);
        self.drain(now);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.agent.handle_timeout(now);
        self.drain(now);
    }

    /// Handles a packet for which the kernel has no route; `own` if this host is the source.
    pub(super) fn catch(
        &mut self,
        now: Instant,
        (source, destination): AddressPair,
        own: bool,
        packet: &[u8],
    ) {
        self.counts.caught += 1;
        if self.held.len() >= MAX_HELD {
            return self.end(None, packet.to_vec());
        }
        self.next_ticket = self.next_ticket.wrapping_add(1);
        let ticket = Ticket(self.next_ticket);
        self.held.insert(ticket, packet.to_vec());
        let previous_hop = (!own).then_some(source);
        let packet =
            Routable { ticket, source, destination, previous_hop, hops: 0, flow: NO_FLOW, route: None };
        self.agent.handle(now, Input::Packet(packet));
        self.drain(now);
    }

    /// Drops a packet whose destination no route may lead to.
    pub(super) fn refuse(&mut self, packet: &[u8]) {
        self.counts.caught += 1;
        self.end(None, packet.to_vec());
    }

    pub(super) fn lose_neighbour(&mut self, now: Instant, neighbour: Ipv4Addr) {
        self.counts.failed_neighbours += 1;
        self.agent.on_neighbour_lost(now, neighbour);
        self.drain(now);
    }

    /// Takes the packets whose wait has ended, with the next hops of packets that leave.
    pub(super) fn take_ends(&mut self) -> Vec<(Option<Ipv4Addr>, Vec<u8>)> {
        std::mem::take(&mut self.ends)
    }

    pub(super) fn take_messages(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.messages)
    }

    /// Number of packets that wait for a route.
    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Destinations with their next hops and distances, the nearest first.
    pub(super) fn routes(&self) -> Vec<(Ipv4Addr, Ipv4Addr, u8)> {
        let valid = self.agent.routes().filter(|(_, route)| route.state == RouteState::Valid);
        let mut routes: Vec<_> = valid.map(|(to, route)| (to, route.next_hop, route.hops)).collect();
        routes.sort_unstable_by_key(|(to, _, hops)| (*hops, *to));
        routes
    }

    /// Discards outputs that a daemon does not use, because the kernel has its own interface queues and
    /// failure reports.
    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.agent.poll_output(now) {
            match output {
                Output::Forward { ticket, next_hop, .. } => {
                    if let Some(packet) = self.held.remove(&ticket) {
                        self.end(Some(next_hop), packet);
                    }
                }
                Output::Drop { ticket, .. } => {
                    if let Some(packet) = self.held.remove(&ticket) {
                        self.end(None, packet);
                    }
                }
                Output::Message { to, interface, ttl, message: RoutingMessage::Aodv(message) } => {
                    *self.counter(&message) += 1;
                    let mut bytes = Vec::with_capacity(message.wire_len());
                    message.emit(&mut bytes);
                    self.messages.push(Outgoing { to, interface, ttl, bytes });
                }
                Output::Message { .. }
                | Output::Purge { .. }
                | Output::Discard { .. }
                | Output::Notice { .. } => {}
            }
        }
    }

    fn end(&mut self, next_hop: Option<Ipv4Addr>, packet: Vec<u8>) {
        match next_hop {
            Some(_) => self.counts.released += 1,
            None => self.counts.dropped += 1,
        }
        self.ends.push((next_hop, packet));
    }

    fn counter(&mut self, message: &Message) -> &mut u64 {
        match message {
            Message::Request(_) => &mut self.counts.requests,
            Message::Reply(reply) if is_hello(reply) => &mut self.counts.hellos,
            Message::Reply(_) | Message::ReplyAck => &mut self.counts.replies,
            Message::Error(_) => &mut self.counts.errors,
        }
    }
}

/// Whether a reply is a HELLO: originator and destination are equal, and no node requests a route to itself.
fn is_hello(reply: &Reply) -> bool {
    reply.originator == reply.destination
}

/// A message that names hosts only.
pub(super) fn parse(bytes: &[u8]) -> Option<Message> {
    let is_host = |address: Ipv4Addr| Prefix::host(address).is_routable();
    let message = Message::parse(bytes).ok()?;
    let sound = match &message {
        Message::Request(request) => is_host(request.originator) && is_host(request.destination),
        Message::Reply(reply) => {
            is_host(reply.originator) && is_host(reply.destination) && reply.lifetime_ms <= LONGEST_LIFE
        }
        Message::Error(_) | Message::ReplyAck => true,
    };
    sound.then_some(message)
}

/// Source and destination of a packet.
pub(super) type AddressPair = (Ipv4Addr, Ipv4Addr);

/// Source and destination of a unicast IPv4 packet; `None` for other packets.
pub(super) fn ends(packet: &[u8]) -> Option<AddressPair> {
    let address = |at: usize| packet.get(at..at + 4)?.try_into().ok().map(|bytes: [u8; 4]| bytes.into());
    let (source, destination): AddressPair = (address(12)?, address(16)?);
    let version = packet.first()? >> 4;
    (version == 4 && Prefix::host(destination).is_routable()).then_some((source, destination))
}

/// Largest number of packets that wait for routes; each search keeps at least one of them.
const MAX_HELD: usize = 256;
/// Longest lifetime that a reply may give a route: a day, in ms.
const LONGEST_LIFE: u32 = 86_400_000;
