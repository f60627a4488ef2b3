//! A router with a proactive protocol: packets of OLSR and APDR, and the routes that they lead to.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use multihop_core::{Instant, Machine};
use multihop_routing::agent::Output;
use multihop_routing::message::Message as RoutingMessage;
use multihop_routing::olsr;
use multihop_wire::olsr::{Body, Message, Packet};

use super::names::{Names, OfFamily};
use super::neighbours::Neighbours;
use super::signing::Signing;
use super::{Agent, Arrival, Datagram, MAX_ROUTES, Path, Port, Protocol, Reason, Router};
use crate::budget::{before, take_turns};
use crate::prefix::{Prefix, is_of_link};

impl Router {
    /// Handles a datagram for all neighbours.
    pub(super) fn receive_olsr<A: OfFamily>(
        &mut self,
        now: Instant,
        arrival: Arrival,
        from: A,
        bytes: &[u8],
    ) {
        let Arrival { interface, ago, .. } = arrival;
        let Some(port) = self.ports.iter().find(|port| port.index == interface) else { return };
        let (own, number) = (A::of(port.address), port.number);
        let Some((mut packet, own)) = parse(from, bytes).zip(own) else {
            return self.refuse(now, from.into(), Reason::Malformed);
        };
        if let Some(signing) = &mut self.signing
            && let Err(reason) = signing.check(now, (interface, own), from, &mut packet, bytes)
        {
            return self.refuse(now, from.into(), reason);
        }
        let count = packet.messages.len();
        packet.messages.retain(|message| message.validity.time() > ago);
        if packet.messages.is_empty() && count > 0 {
            self.counters.outdated += 1;
            return;
        }
        let main = packet.messages.iter().find(|message| matches!(message.body, Body::Hello(_)));
        let main = main.and_then(|message| self.names.mention(now, message.originator.into(), now));
        let Some(from) = self.names.mention(now, from.into(), now) else { return };
        let arrived = before(now, ago);
        let known = self.neighbours.hear(arrived, interface, from, main, Some(packet.sequence));
        if !self.is_used(now, known, arrival.from) {
            return;
        }
        let Some(Agent { protocol: Protocol::Olsr(olsr), .. }) = &mut self.agent else { return };
        let named = packet.messages.iter().filter_map(|message| self.names.named(now, message));
        let packet = Packet { sequence: packet.sequence, messages: named.collect() };
        self.counters.received += 1;
        olsr.receive_late(now, arrived, (number, from), &packet);
    }

    /// Whether a datagram is signed with the network's key and is no replay. Always true if datagrams need no signature.
    pub(super) fn is_genuine<A: OfFamily>(
        &mut self,
        now: Instant,
        interface: u32,
        from: A,
        bytes: &[u8],
    ) -> bool {
        let Some(signing) = &self.signing else { return true };
        let checked = match parse(from, bytes) {
            Some(mut packet) => signing.admits(interface, from, &mut packet, bytes),
            None => Err(Reason::Malformed),
        };
        if let Err(reason) = checked {
            self.refuse(now, from.into(), reason);
        }
        checked.is_ok()
    }

    /// Takes the OLSR datagrams that must be sent now.
    pub(super) fn take_olsr(&mut self, now: Instant) -> Vec<Datagram> {
        let mut datagrams = Vec::new();
        let Some(Agent { main, protocol: Protocol::Olsr(olsr), .. }) = &mut self.agent else {
            return datagrams;
        };
        let mut seal = Seal { now, names: &mut self.names, signing: self.signing.as_mut(), main: *main };
        while let Some(output) = olsr.poll_output(now) {
            let Output::Message { message: RoutingMessage::Olsr(packet), interface, .. } = output else {
                continue;
            };
            for port in self.ports.iter_mut().filter(|port| port.is_meant_by(interface)) {
                datagrams.push(seal.datagram(&packet.messages, port));
            }
        }
        for port in &mut self.ports {
            if seal.signing.as_mut().is_some_and(|signing| signing.takes_turn(now, port.index)) {
                datagrams.push(seal.datagram(&[], port));
            }
        }
        datagrams
    }

    /// The last message over an interface that is given up or has lost its address: it ends the links and
    /// leaves from that address.
    pub(crate) fn farewell(&mut self, now: Instant, interface: u32) -> Option<Datagram> {
        if self.extension().is_some() {
            return self.extension_farewell(now, interface);
        }
        let Some(Agent { main, protocol: Protocol::Olsr(olsr), .. }) = &mut self.agent else { return None };
        let port = self.ports.iter_mut().find(|port| port.index == interface)?;
        let packet = olsr.farewell(now, port.number)?;
        let mut seal = Seal { now, names: &mut self.names, signing: self.signing.as_mut(), main: *main };
        Some(seal.datagram(&packet.messages, port))
    }
}

/// Makes datagrams of packets.
struct Seal<'a> {
    now: Instant,
    names: &'a mut Names,
    signing: Option<&'a mut Signing>,
    /// The agent's name for the main address of this host.
    main: Ipv4Addr,
}

impl Seal<'_> {
    /// Puts these messages into the next packet of an interface.
    fn datagram(&mut self, messages: &[Message], port: &mut Port) -> Datagram {
        let sequence = port.sequence;
        port.sequence = sequence.wrapping_add(1);
        let bytes = match port.address {
            IpAddr::V4(from) => self.bytes((sequence, messages), port.index, from),
            IpAddr::V6(from) => self.bytes((sequence, messages), port.index, from),
        };
        Datagram { interface: port.index, to: None, ttl: 1, bytes }
    }

    fn bytes<A: OfFamily>(
        &mut self,
        (sequence, messages): (u16, &[Message]),
        interface: u32,
        from: A,
    ) -> Vec<u8> {
        let messages = messages.iter().filter_map(|message| self.names.addressed(self.now, message));
        let mut packet = Packet::<A> { sequence, messages: messages.collect() };
        let main = self.names.address(self.now, self.main).and_then(A::of);
        if let (Some(signing), Some(main)) = (&mut self.signing, main) {
            return signing.sign(self.now, (interface, from), main, &mut packet);
        }
        let mut bytes = Vec::with_capacity(packet.len());
        packet.emit(&mut bytes);
        bytes
    }
}

/// View of an agent of OLSR at one instant, from which routes for the kernel are made.
pub(super) struct Found<'a> {
    pub(super) now: Instant,
    pub(super) agent: &'a mut olsr::Agent,
    pub(super) neighbours: &'a Neighbours,
    pub(super) names: &'a mut Names,
}

impl Found<'_> {
    /// All routes: nodes, then their further addresses, then networks behind gateways. Later entries replace
    /// earlier ones, so a node's own announcement of an address yields to the claim of another node to be
    /// that address.
    pub(super) fn all(mut self, announced: &[Prefix]) -> Vec<(Prefix, Path)> {
        let paths = self.paths();
        let aliases = self.agent.aliases().filter_map(|(alias, main)| Some((alias, *paths.get(&main)?)));
        let mains = paths.iter().map(|(main, path)| (*main, *path));
        let hosts: Vec<_> = aliases.chain(mains).collect();
        let host = |(name, path)| Some((Prefix::host(self.names.address(self.now, name)?), path));
        let mut all: Vec<_> = hosts.into_iter().filter_map(host).collect();
        all.extend(self.gateways(&paths, announced));
        all
    }

    /// Paths to the main addresses of the nearest nodes. If there are too many nodes, each neighbour gets an
    /// equal share of the paths.
    fn paths(&mut self) -> BTreeMap<Ipv4Addr, Path> {
        let mut hosts = self.agent.routes().to_vec();
        hosts.sort_by_key(|route| route.hops);
        if hosts.len() > MAX_ROUTES {
            take_turns(&mut hosts, |route| route.next_hop);
        }
        let mut paths = BTreeMap::new();
        for route in hosts.into_iter().take(MAX_ROUTES) {
            let next_hop = self.agent.choose_next_hop(self.now, route.destination).unwrap_or(route.next_hop);
            let via = self.names.address(self.now, next_hop);
            if let Some((interface, via)) = self.neighbours.interface(next_hop).zip(via) {
                let (cost, hops) = (self.agent.cost(route.destination), Some(route.hops));
                let path = Path { via: Some(via), interface, hops, cost, source: None };
                paths.insert(route.destination, path);
            }
        }
        paths
    }

    /// The nearest gateway of each network that this host does not announce itself.
    fn gateways(&mut self, paths: &BTreeMap<Ipv4Addr, Path>, own: &[Prefix]) -> BTreeMap<Prefix, Path> {
        let mut nearest: BTreeMap<Prefix, Path> = BTreeMap::new();
        for network in self.agent.networks() {
            let Some(path) = paths.get(&network.gateway) else { continue };
            let [address, mask] =
                [network.address, network.mask].map(|name| self.names.address(self.now, name));
            let to = address.zip(mask).and_then(|(address, mask)| Prefix::with_mask(address, mask));
            let Some(to) = to.filter(|to| !own.contains(to)) else { continue };
            let best = nearest.entry(to).or_insert(*path);
            if (path.cost, path.hops) < (best.cost, best.hops) {
                *best = *path;
            }
        }
        nearest
    }
}

fn parse<A: OfFamily>(from: A, bytes: &[u8]) -> Option<Packet<A>> {
    let packet = Packet::<A>::parse(bytes).ok()?;
    let listed = |message: &Message<A>| match &message.body {
        Body::Hello(hello) => hello.links.len(),
        Body::Tc(tc) => tc.neighbours.len(),
        Body::Mid(mid) => mid.interfaces.len(),
        Body::Hna(hna) => hna.networks.len(),
        Body::Costs(costs) => costs.costs.len(),
        Body::Opaque(_) => 0,
    };
    let is_host = |address: A| Prefix::host(address).is_routable();
    // Some daemons send from the link-local address of an interface and name that address in their HELLOs.
    let is_neighbour = is_host(from) || is_of_link(from.into());
    let sound = |message: &Message<A>| listed(message) <= MAX_LISTED && is_host(message.originator);
    (is_neighbour && packet.messages.iter().all(sound)).then_some(packet)
}

/// Largest number of addresses in one message. A node with more neighbours would need several HELLOs.
const MAX_LISTED: usize = 512;
