//! Tests of one DSR agent, driven message by message.

use alloc::vec;
use alloc::vec::Vec;

use multihop_core::{Duration, Notice};
use multihop_wire::Quoted;
use multihop_wire::dsr::{RouteReply, RouteRequest};

use super::*;
use crate::agent::{NO_FLOW, Ticket};

mod discovery;
mod maintenance;
mod robustness;
mod snooping;

/// The agent of the node with address 10.0.0.1, and the current time.
struct Node {
    agent: Agent,
    now: Instant,
    seen: Vec<Output>,
}

impl Node {
    fn new(config: Config) -> Self {
        let agent = Agent::new(node(1), config, Rng::stream(1, "dsr", 1));
        Self { agent, now: Instant::ZERO, seen: Vec::new() }
    }

    /// Creates an agent with this path in its cache.
    fn knowing(config: Config, path: &[u8]) -> Self {
        let mut n = Self::new(config);
        n.agent.cache.learn(n.now, Part::Primary, &list(path));
        n
    }

    fn input(&mut self, input: Input) -> &mut Self {
        self.agent.handle(self.now, input);
        self.drain();
        self
    }

    /// Handles timers until `ms` milliseconds after the start.
    fn run_to(&mut self, ms: u64) -> &mut Self {
        let until = Instant::ZERO + Duration::from_millis(ms);
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= until) {
            self.now = self.now.max(due);
            self.agent.handle_timeout(self.now);
            self.drain();
            assert!(self.agent.poll_timeout().is_none_or(|next| next > self.now));
        }
        self.now = until;
        self
    }

    fn drain(&mut self) {
        while let Some(output) = self.agent.poll_output(self.now) {
            self.seen.push(output);
        }
    }

    /// The outputs since the last call.
    fn out(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.seen)
    }

    /// The outputs since the last call, without notices.
    fn sent(&mut self) -> Vec<Output> {
        self.out().into_iter().filter(|output| !matches!(output, Output::Notice { .. })).collect()
    }

    fn notices(&mut self) -> Vec<(u8, Notice)> {
        let notice = |output| match output {
            Output::Notice { peer, notice } => Some((peer.octets()[3], notice)),
            _ => None,
        };
        self.out().into_iter().filter_map(notice).collect()
    }

    /// The only message since the last call.
    #[track_caller]
    fn message(&mut self) -> (Option<Ipv4Addr>, u8, DsrMessage) {
        let mut sent = self.sent();
        match (sent.pop(), sent.is_empty()) {
            (Some(Output::Message { to, ttl, message: Message::Dsr(message), .. }), true) => {
                (to, ttl, (*message).clone())
            }
            (last, _) => panic!("not one message but {sent:?} and {last:?}"),
        }
    }

    fn path_to(&self, n: u8) -> Option<Addresses> {
        self.agent.path_to(self.now, node(n))
    }
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn list(nodes: &[u8]) -> Addresses {
    Addresses::collect(nodes.iter().map(|&n| node(n))).unwrap()
}

/// Source route through these nodes, with `left` segments left.
fn route(nodes: &[u8], left: u8) -> SourceRoute {
    salvaged(nodes, left, 0)
}

fn salvaged(nodes: &[u8], left: u8, salvage: u8) -> SourceRoute {
    SourceRoute {
        first_hop_external: false,
        last_hop_external: false,
        salvage,
        segments_left: left,
        route: list(nodes),
    }
}

fn data(ticket: u32, source: u8, destination: u8) -> Routable {
    Routable {
        ticket: Ticket(ticket),
        source: node(source),
        destination: node(destination),
        previous_hop: None,
        hops: 0,
        flow: NO_FLOW,
        route: None,
    }
}

/// A packet to `destination` that this node originates.
fn own(ticket: u32, destination: u8) -> Input {
    Input::Packet(data(ticket, 1, destination))
}

/// A packet to be forwarded.
fn passing(ticket: u32, source: u8, destination: u8, route: SourceRoute) -> Input {
    Input::Packet(routed(data(ticket, source, destination), route))
}

fn routed(packet: Routable, route: SourceRoute) -> Routable {
    Routable { route: Some(Arc::new(route)), ..packet }
}

fn failed(next_hop: u8, packet: Routable, route: SourceRoute) -> Input {
    let quoted = Some(quoted(&packet));
    Input::LinkFailed { next_hop: node(next_hop), packet: routed(packet, route), quoted }
}

fn quoted(packet: &Routable) -> Quoted {
    Quoted { source: packet.source, destination: packet.destination, protocol: 6, transport: [7; 20] }
}

fn forward(ticket: u32, next_hop: u8, route: SourceRoute) -> Output {
    Output::Forward { ticket: Ticket(ticket), next_hop: node(next_hop), route: Some(Arc::new(route)) }
}

fn dropped(ticket: u32, reason: DropReason) -> Output {
    Output::Drop { ticket: Ticket(ticket), reason, tell_source: false }
}

fn message(source: u8, destination: Ipv4Addr) -> DsrMessage {
    DsrMessage { source: node(source), destination, header: Header::new(NO_NEXT_HEADER) }
}

fn arrives(ttl: u8, message: DsrMessage) -> Input {
    // DSR ignores the address of the sending neighbour.
    Input::Message {
        interface: multihop_core::Interface(0),
        from: node(99),
        ttl,
        message: Message::Dsr(Arc::new(message)),
    }
}

fn request(source: u8, id: u16, target: u8, passed: &[u8]) -> DsrMessage {
    let mut message = message(source, Ipv4Addr::BROADCAST);
    message.header.request = Some(RouteRequest { id, target: node(target), route: list(passed) });
    message
}

/// A reply from `source` to `destination` with a path that begins at `destination`.
fn reply(source: u8, destination: u8, path: &[u8], back: SourceRoute) -> DsrMessage {
    let mut message = message(source, node(destination));
    message.header.replies = vec![RouteReply { last_hop_external: false, route: list(path) }];
    message.header.source_route = Some(back);
    message
}

fn error(source: u8, destination: u8, unreachable: u8) -> RouteError {
    RouteError {
        salvage: 0,
        source: node(source),
        destination: node(destination),
        fault: Fault::NodeUnreachable(node(unreachable)),
        quoted: None,
    }
}

fn errors(source: u8, destination: u8, errors: &[RouteError], back: SourceRoute) -> DsrMessage {
    let mut message = message(source, node(destination));
    message.header.errors = errors.to_vec();
    message.header.source_route = Some(back);
    message
}
