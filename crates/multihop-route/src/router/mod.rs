//! The part of the daemon without sockets: datagrams, interfaces and time in, datagrams and routes out.

mod hello;
mod neighbours;
mod signing;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use multihop_core::{Duration, Instant, Machine, Rng};
use multihop_routing::agent::{Input, Output};
use multihop_routing::message::Message as RoutingMessage;
use multihop_routing::olsr;
use multihop_wire::olsr::{Body, Message, Packet};
use serde::Serialize;

use crate::config::{Config, Prefix};
use neighbours::Neighbours;

pub use neighbours::Heard;
pub use signing::Key;

/// An OLSR agent behind several interfaces, and the routes that it has found.
///
/// The agent has one interface, that of the main address. HELLOs that arrive are changed so that they name it, and
/// those that leave so that each interface declares its own links (RFC 3626 §6.2).
#[derive(Debug)]
pub struct Router {
    config: Config,
    agent: Option<Agent>,
    ports: Vec<Port>,
    neighbours: Neighbours,
    rng: Rng,
    /// Seconds of a clock that goes on between two starts, at the zero of the driver's clock.
    epoch: u64,
    /// Time stamp of the last packet that was signed.
    stamp: u64,
    counters: Counters,
}

#[derive(Debug)]
struct Agent {
    /// The main address.
    main: Ipv4Addr,
    olsr: olsr::Agent,
    /// When the agent began.
    since: Instant,
}

/// An interface over which the daemon talks to neighbours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Port {
    /// The interface's number in the kernel.
    pub index: u32,
    /// Its address.
    pub address: Ipv4Addr,
    /// Of its next packet.
    sequence: u16,
}

/// A datagram for all neighbours of an interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Datagram {
    /// The number of the interface.
    pub interface: u32,
    /// What it contains.
    pub bytes: Vec<u8>,
}

/// Where packets to a destination leave.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Path {
    /// The neighbour; `None` if the destination is one.
    pub via: Option<Ipv4Addr>,
    /// The number of the interface.
    pub interface: u32,
    /// Hops to the destination, or to its gateway.
    pub hops: u8,
    /// What the path costs, if routes are chosen by cost: microseconds, or thousandths of transmissions.
    pub cost: Option<u64>,
}

/// Datagrams that were not used, by the reason.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Counters {
    /// Datagrams that were used.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Bytes of these, without UDP and IP.
    pub bytes_sent: u64,
    /// Not a packet of the protocol, or with a list that no node has.
    pub malformed: u64,
    /// From an address that is not in the list of neighbours.
    pub not_allowed: u64,
    /// Without a signature of the key, or one that was used before.
    pub unsigned: u64,
    /// From an address that was heard over another interface a moment ago.
    pub elsewhere: u64,
    /// From one neighbour more than the daemon remembers.
    pub too_many: u64,
    /// Routes that were left out because they lead outside of the allowed networks, or to no host.
    pub left_out: u64,
}

impl Port {
    /// An interface with this number and address.
    pub const fn new(index: u32, address: Ipv4Addr) -> Self {
        Self { index, address, sequence: 0 }
    }
}

impl Router {
    /// A router without interfaces. `epoch`: seconds of a clock that goes on between two starts.
    pub fn new(config: Config, seed: u64, epoch: u64) -> Self {
        Self {
            config,
            agent: None,
            ports: Vec::new(),
            neighbours: Neighbours::default(),
            rng: Rng::stream(seed, "routing", 0),
            epoch,
            stamp: 0,
            counters: Counters::default(),
        }
    }

    /// The configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Changes the configuration. If the protocol has other parameters, the agent begins anew.
    pub fn configure(&mut self, now: Instant, config: Config) {
        if config.olsr != self.config.olsr {
            self.agent = None;
        }
        self.config = config;
        self.begin(now);
    }

    /// The interfaces that are up, with their addresses. Without that of the main address, another becomes the main
    /// address, and the agent begins anew.
    pub fn set_ports(&mut self, now: Instant, ports: &[Port]) {
        let before = std::mem::take(&mut self.ports);
        let sequence =
            |port: &Port| before.iter().find(|old| old.index == port.index).map_or(0, |old| old.sequence);
        self.ports = ports.iter().map(|port| Port { sequence: sequence(port), ..*port }).collect();
        self.neighbours.keep(|index| ports.iter().any(|port| port.index == index));
        let lost = |agent: &Agent| !ports.iter().any(|port| port.address == agent.main);
        if self.agent.as_ref().is_some_and(lost) {
            self.agent = None;
        }
        self.begin(now);
    }

    /// Makes the agent if it is missing, and tells it what to announce.
    fn begin(&mut self, now: Instant) {
        let Some(first) = self.ports.first() else { return };
        let seconds = self.epoch + now.as_nanos() / 1_000_000_000;
        let (config, rng, main) = (&self.config, &mut self.rng, first.address);
        let agent = self.agent.get_or_insert_with(|| {
            let own = Rng::stream(rng.next_u64(), "olsr", 0);
            let config = olsr::Config { count_changes: true, ..config.olsr.clone() };
            let olsr = olsr::Agent::new(now, main, config, own).on_host(seconds);
            Agent { main, olsr, since: now }
        });
        let others = self.ports.iter().map(|port| port.address).filter(|address| *address != agent.main);
        let networks = config.announce.iter().map(|network| (network.parts().0, network.mask()));
        agent.olsr.announce(olsr::Announced { interfaces: others.collect(), networks: networks.collect() });
    }

    /// A datagram has arrived over an interface.
    pub fn receive(&mut self, now: Instant, interface: u32, from: Ipv4Addr, bytes: &[u8]) {
        if self.ports.iter().any(|port| port.address == from) {
            return;
        }
        if !self.config.neighbors.is_empty() && !self.config.neighbors.contains(&from) {
            self.counters.not_allowed += 1;
            return;
        }
        let Some(port) = self.ports.iter().find(|port| port.index == interface) else { return };
        let Some(mut packet) = parse(from, bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let stamp = match &self.config.key {
            None => None,
            Some(key) => {
                let (last, clock) = (self.neighbours.stamp(from), self.clock(now));
                let stamp = key.verify(&mut packet, from, bytes);
                let stamp = stamp.filter(|stamp| signing::is_fresh(*stamp, last, clock));
                if stamp.is_none() {
                    self.counters.unsigned += 1;
                    return;
                }
                stamp
            }
        };
        let main = packet.messages.iter().find(|message| matches!(message.body, Body::Hello(_)));
        let main = main.map(|message| message.originator);
        let known = self.neighbours.hear(now, interface, from, main, packet.sequence, stamp);
        if let Some(counter) = known.counter(&mut self.counters) {
            *counter += 1;
            return;
        }
        let Some(agent) = &mut self.agent else { return };
        let own = hello::Own { main: agent.main, port: port.address, ports: &self.ports };
        for message in &mut packet.messages {
            if let Body::Hello(hello) = &mut message.body {
                own.translate(hello);
            }
        }
        self.counters.received += 1;
        let message = RoutingMessage::Olsr(Arc::new(packet));
        agent.olsr.handle(now, Input::Message { from, ttl: 1, message });
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.neighbours.expire(now);
        if let Some(agent) = &mut self.agent {
            agent.olsr.handle_timeout(now);
        }
    }

    /// When there is something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.agent.as_ref()?.olsr.poll_timeout()
    }

    /// The datagrams to send.
    pub fn take_datagrams(&mut self, now: Instant) -> Vec<Datagram> {
        let mut datagrams = Vec::new();
        self.stamp = self.stamp.max(self.clock(now));
        let Some(agent) = &mut self.agent else { return datagrams };
        while let Some(output) = agent.olsr.poll_output(now) {
            let Output::Message { message: RoutingMessage::Olsr(packet), .. } = output else { continue };
            for port in &mut self.ports {
                let mut packet = packet_of(&packet, port, &self.neighbours);
                port.sequence = port.sequence.wrapping_add(1);
                self.stamp += 1;
                let bytes = match &self.config.key {
                    Some(key) => key.sign(&mut packet, port.address, agent.main, self.stamp),
                    None => emitted(&packet),
                };
                self.counters.sent += 1;
                self.counters.bytes_sent += bytes.len() as u64;
                datagrams.push(Datagram { interface: port.index, bytes });
            }
        }
        datagrams
    }

    /// Microseconds of a clock that goes on between two starts.
    fn clock(&self, now: Instant) -> u64 {
        self.epoch * 1_000_000 + now.as_nanos() / 1_000
    }

    /// All routes.
    pub fn routes(&mut self, now: Instant) -> BTreeMap<Prefix, Path> {
        let mut found = BTreeMap::new();
        let Some(agent) = &mut self.agent else { return found };
        let mut hosts = agent.olsr.routes().to_vec();
        hosts.sort_by_key(|route| route.hops);
        let mut paths = BTreeMap::new();
        for route in hosts.into_iter().take(MOST_ROUTES) {
            let next_hop = agent.olsr.choose_next_hop(now, route.destination).unwrap_or(route.next_hop);
            if let Some(interface) = self.neighbours.interface(next_hop) {
                let cost = agent.olsr.cost(route.destination);
                let path = Path { via: Some(next_hop), interface, hops: route.hops, cost };
                paths.insert(route.destination, path);
            }
        }
        let aliases = agent.olsr.aliases().filter_map(|(alias, main)| Some((alias, *paths.get(&main)?)));
        let mains = paths.iter().map(|(main, path)| (*main, *path));
        // A node's own announcement of an address is overridden by the claim of another node to be that address.
        let hosts = aliases.chain(mains).map(|(to, path)| (Prefix::host(to), path));
        let mut left_out = 0;
        let mut add = |to: Prefix, path: Path| {
            let allowed =
                self.config.within.is_empty() || self.config.within.iter().any(|net| net.contains(to));
            let own = self.ports.iter().any(|port| to == Prefix::host(port.address));
            if own {
                return;
            }
            if !to.is_routable() || !allowed || found.len() >= 2 * MOST_ROUTES {
                left_out += 1;
                return;
            }
            let via = path.via.filter(|via| to != Prefix::host(*via));
            found.insert(to, Path { via, ..path });
        };
        hosts.for_each(|(to, path)| add(to, path));
        for (network, path) in gateways(&agent.olsr, &paths, &self.config.announce) {
            add(network, path);
        }
        self.counters.left_out = left_out;
        found
    }

    /// How long the agent has been at work.
    pub fn age(&self, now: Instant) -> Duration {
        self.agent.as_ref().map_or(Duration::ZERO, |agent| now.saturating_since(agent.since))
    }

    /// The main address.
    pub fn main(&self) -> Option<Ipv4Addr> {
        self.agent.as_ref().map(|agent| agent.main)
    }

    /// The agent, for those who show its state.
    pub fn agent_mut(&mut self) -> Option<&mut olsr::Agent> {
        self.agent.as_mut().map(|agent| &mut agent.olsr)
    }

    /// The interfaces of neighbours that were heard.
    pub fn heard(&self) -> impl Iterator<Item = Heard> {
        self.neighbours.iter()
    }

    /// The counters so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
}

fn emitted(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(packet.len());
    packet.emit(&mut bytes);
    bytes
}

/// The nearest gateway of each network that this host does not announce itself.
fn gateways(agent: &olsr::Agent, paths: &BTreeMap<Ipv4Addr, Path>, own: &[Prefix]) -> BTreeMap<Prefix, Path> {
    let mut nearest: BTreeMap<Prefix, Path> = BTreeMap::new();
    for network in agent.networks() {
        let Some(path) = paths.get(&network.gateway) else { continue };
        let Some(to) = Prefix::with_mask(network.address, network.mask) else { continue };
        if own.contains(&to) {
            continue;
        }
        let best = nearest.entry(to).or_insert(*path);
        if (path.cost, path.hops) < (best.cost, best.hops) {
            *best = *path;
        }
    }
    nearest
}

fn parse(from: Ipv4Addr, bytes: &[u8]) -> Option<Packet> {
    let packet = Packet::parse(bytes).ok()?;
    let listed = |message: &Message| match &message.body {
        Body::Hello(hello) => hello.links.len(),
        Body::Tc(tc) => tc.neighbours.len(),
        Body::Mid(mid) => mid.interfaces.len(),
        Body::Hna(hna) => hna.networks.len(),
        Body::Costs(costs) => costs.costs.len(),
        Body::Opaque(_) => 0,
    };
    let is_host = |address: Ipv4Addr| Prefix::host(address).is_routable();
    let sound = |message: &Message| listed(message) <= MOST_LISTED && is_host(message.originator);
    (is_host(from) && packet.messages.iter().all(sound)).then_some(packet)
}

/// What leaves over one interface of what the agent sends.
fn packet_of(packet: &Packet, port: &Port, neighbours: &Neighbours) -> Packet {
    let message = |message: &Message| match &message.body {
        Body::Hello(hello) => {
            let body = Body::Hello(hello::of_port(hello, port.index, neighbours));
            Message { body, ..message.clone() }
        }
        _ => message.clone(),
    };
    Packet { sequence: port.sequence, messages: packet.messages.iter().map(message).collect() }
}

/// Routes to nodes; those to their further interfaces and to networks may be as many again.
const MOST_ROUTES: usize = 8_192;
/// Addresses in one message. A node with more neighbours than this would need several HELLOs.
const MOST_LISTED: usize = 512;

#[cfg(test)]
mod tests;
