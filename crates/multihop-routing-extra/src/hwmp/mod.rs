//! HWMP, the path selection of mesh stations (IEEE 802.11s; IEEE 802.11-2020, 14.10), on demand: nodes search
//! for paths of least airtime when packets need them, and again before the paths expire.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Instant, Interface, Machine, Rng};
use multihop_routing::agent::{Input, LinkRates, Output, Routable, RouteChanges, RoutingAgent};
use multihop_routing::forwarder::Forwarder;
use multihop_routing::message::Message as RoutingMessage;
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_routing::peers::Peers;
use multihop_wire::aodv::Sequence;

use crate::STREAM;
use discovery::Discovery;
use links::LinkRateTable;
use paths::Paths;
use wire::{Message, Request};

mod config;
mod discovery;
mod links;
mod messages;
mod paths;
pub mod wire;

pub use config::{Config, LinkMetric};
pub use paths::Path;

/// The HWMP agent of a node.
#[derive(Clone, Debug)]
pub struct Agent {
    config: Arc<Config>,
    address: Ipv4Addr,
    rng: Rng,
    sequence: Sequence,
    last_request: u32,
    /// Earliest instant of the next path request (rate limit).
    next_request: Instant,
    next_error: Instant,
    links: LinkRateTable,
    paths: Paths,
    discoveries: BTreeMap<Ipv4Addr, Discovery>,
    /// Requests of other nodes that wait to be forwarded, with the instant of forwarding.
    waiting: Vec<(Instant, Request)>,
    peers: Peers,
    forwarder: Forwarder,
}

impl Agent {
    /// Creates an agent without paths. `rng` draws jitter. Nodes may share their configuration.
    pub fn new(address: Ipv4Addr, config: impl Into<Arc<Config>>, rng: Rng) -> Self {
        Self {
            config: config.into(),
            address,
            rng,
            sequence: Sequence(0),
            last_request: 0,
            next_request: Instant::ZERO,
            next_error: Instant::ZERO,
            links: LinkRateTable::default(),
            paths: Paths::default(),
            discoveries: BTreeMap::new(),
            waiting: Vec::new(),
            peers: Peers::default(),
            forwarder: Forwarder::default(),
        }
    }

    /// The valid path to a node; `None` without one.
    pub fn path(&self, now: Instant, destination: Ipv4Addr) -> Option<&Path> {
        self.paths.valid(now, destination)
    }

    fn route(&mut self, now: Instant, packet: Routable) {
        let destination = packet.destination;
        let path = self.paths.valid(now, destination).map(|path| (path.next_hop, path.hops, path.until));
        if packet.previous_hop.is_none() {
            self.peers.watch(destination);
        }
        match (path, packet.previous_hop) {
            (Some((next_hop, hops, until)), previous_hop) => {
                self.forwarder.forward(now, &packet, next_hop);
                if previous_hop.is_none() {
                    self.notify_found(destination, hops);
                    if until.saturating_since(now) <= self.config.path_refresh_time {
                        self.seek(now, destination);
                    }
                }
            }
            (None, None) => self.wait(now, packet),
            (None, Some(previous_hop)) => {
                self.forwarder.drop(&packet, DropReason::NoRoute, true);
                self.refuse(now, previous_hop, destination);
            }
        }
    }

    fn on_link_failed(&mut self, now: Instant, next_hop: Ipv4Addr) {
        if self.break_link(now, next_hop) {
            self.forwarder.push(Output::Purge { next_hop });
        }
    }

    fn notify_found(&mut self, peer: Ipv4Addr, hops: u8) {
        let notices = self.peers.found(peer, hops);
        self.forwarder.notify(peer, notices);
    }

    fn notify_lost(&mut self, peer: Ipv4Addr) {
        let notice = self.peers.lost(peer);
        self.forwarder.notify(peer, notice);
    }

    fn send(&mut self, to: Option<Ipv4Addr>, message: Message) {
        self.forwarder.send(to, None, RoutingMessage::custom(message));
    }
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet(packet) | Input::Purged { packet, .. } => self.route(now, packet),
            Input::Message { interface, from, ttl, message } => {
                self.receive(now, interface, from, ttl, &message);
            }
            Input::LinkFailed { next_hop, packet, .. } => {
                self.forwarder.drop(&packet, DropReason::RetryLimit, true);
                self.on_link_failed(now, next_hop);
            }
            Input::MessageLost { next_hop, .. } => self.on_link_failed(now, next_hop),
            Input::MessagePurged { .. } | Input::Overheard { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (_, request) in self.waiting.extract_if(.., |(at, _)| *at <= now).collect::<Vec<_>>() {
            self.send(None, Message::Request(request));
        }
        self.run_discoveries(now);
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.forwarder.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.iter().map(|(at, _)| *at).chain(self.next_discovery()).min()
    }
}

impl RoutingAgent for Agent {
    fn receive(
        &mut self,
        now: Instant,
        _interface: Interface,
        from: Ipv4Addr,
        _ttl: u8,
        message: &RoutingMessage,
    ) -> bool {
        match message.content() {
            Some(Message::Request(request)) => return self.on_request(now, from, request),
            Some(Message::Reply(reply)) => self.on_reply(now, from, reply),
            Some(Message::Error(error)) => self.on_error(now, from, error),
            None => return false,
        }
        true
    }

    fn wants_rates(&self) -> bool {
        self.config.metric == LinkMetric::Airtime
    }

    fn note_rates(&mut self, from: Ipv4Addr, rates: LinkRates) {
        self.links.set_rates(from, rates);
    }

    fn route_changes(&self) -> Option<RouteChanges> {
        Some(self.forwarder.changes())
    }
}

impl AgentConfig for Config {
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable> {
        let config = Arc::new(self.clone());
        network.agents(STREAM, |address, rng| Agent::new(address, config.clone(), rng))
    }
}

#[cfg(test)]
mod tests;
