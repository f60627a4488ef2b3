//! OLSRv2 on real interfaces: an agent for each family of addresses, whose messages share packets of RFC 5444.
//!
//! Datagrams leave from link-local addresses of IPv6 to the group of all MANET routers (RFC 5498). The addresses of a message
//! belong to one family (RFC 5444), so routes of IPv4 and IPv6 are found by separate messages.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_core::settings::Visitor;
use multihop_core::{BitRate, Duration, Instant, Interface, Machine, Rng};
use multihop_routing::agent::Output;
use multihop_routing::host::{
    HostAgent, HostArrival, HostConfig, HostDatagram, HostInterface, HostNeighbour, HostNetwork, HostRefusal,
    HostRoute, HostSetup, Transport,
};
use multihop_routing::olsr::LinkFailure;

use super::links::NeighbourLink;
use super::mac;
use super::names::Given;
use super::wire::{self, Attached, LinkStatus, Message, Metric, Names, PORT, Packet, Same, TimeCode};
use super::{Agent, Config, Counters};
use crate::authentication::Authentication;
use crate::{STREAM, rfc5444};

/// The agents of both families behind the sockets of a host.
#[derive(Clone, Debug)]
struct Host {
    config: Arc<Config>,
    families: [Family; 2],
    interfaces: Vec<HostInterface>,
    /// Sequence numbers of the next packets over each interface, counted for both families.
    sequences: BTreeMap<Interface, u16>,
    /// The interfaces of neighbours, by this host's interface and their link-local address.
    neighbours: BTreeMap<(Interface, Ipv6Addr), Known>,
    authentication: Option<Authentication>,
    datagrams: VecDeque<HostDatagram>,
    announced: Vec<HostNetwork>,
    within: Vec<HostNetwork>,
    rng: Rng,
    /// Unix time at which the clock was zero, s.
    epoch: u64,
    /// Number of changes of what routes and neighbours depend on.
    revision: u64,
}

/// The agent of one family, and the names of its addresses.
#[derive(Clone, Debug)]
struct Family {
    /// `None` if no interface has an address of the family.
    agent: Option<Agent>,
    addresses: Addresses,
    /// Counters of earlier agents.
    earlier: Counters,
}

#[derive(Clone, Debug)]
enum Addresses {
    Ipv4,
    Ipv6(Box<Given>),
}

/// The interface of a neighbour.
#[derive(Clone, Copy, Debug)]
struct Known {
    heard: Instant,
    /// Names of the interface's address in each family.
    names: [Option<Ipv4Addr>; 2],
}

impl HostConfig for Config {
    fn transport(&self) -> Transport {
        Transport { port: PORT, group: GROUP, waits: false }
    }

    fn host_agent(&self, setup: HostSetup) -> Box<dyn HostAgent> {
        let mut rng = Rng::stream(setup.seed, STREAM, 0);
        let family = |addresses| Family { agent: None, addresses, earlier: Counters::default() };
        Box::new(Host {
            config: Arc::new(self.clone()),
            families: [family(Addresses::Ipv4), family(Addresses::Ipv6(Box::default()))],
            interfaces: Vec::new(),
            sequences: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            authentication: Authentication::new(setup.keys, Rng::stream(rng.next_u64(), "mac", 0)),
            datagrams: VecDeque::new(),
            announced: Vec::new(),
            within: Vec::new(),
            rng,
            epoch: setup.epoch,
            revision: 0,
        })
    }

    fn hold(&self) -> Duration {
        self.topology_hold
    }

    fn check_on_host(&self, keys: &mut dyn Visitor) {
        if self.link_failure == LinkFailure::Mac {
            keys.refuse("link_failure", "found \"mac\", allowed on real interfaces: \"hello\"".into());
        }
    }
}

impl Host {
    /// Creates missing agents, and passes interfaces and networks to all.
    fn inform(&mut self, now: Instant) {
        let wanted = |address: &IpAddr, family: usize| {
            usize::from(address.is_ipv6()) == family && is_routable(*address)
        };
        for at in 0..self.families.len() {
            let found = self.interfaces.iter().filter_map(|interface| {
                Some((interface.number, *interface.addresses.iter().find(|address| wanted(address, at))?))
            });
            let found: Vec<_> = found.collect();
            let family = &mut self.families[at];
            family.addresses.advance(now);
            let named = found
                .iter()
                .filter_map(|(number, address)| Some((*number, family.addresses.name(*address)?)));
            let list: Vec<_> = named.collect();
            let main = family.agent.as_ref().map(|agent| agent.address);
            let Some(&(_, first)) = list.first() else {
                family.end();
                continue;
            };
            let main = main.filter(|main| list.iter().any(|(_, address)| address == main)).unwrap_or(first);
            if family.agent.as_ref().is_none_or(|agent| agent.address != main) {
                family.end();
                let rng = Rng::stream(self.rng.next_u64(), STREAM, 0);
                let seconds = self.epoch + now.as_nanos() / 1_000_000_000;
                family.agent = Some(Agent::new(now, main, self.config.clone(), rng).on_host(seconds));
            }
            let own = family.addresses.find(main);
            let all = self.interfaces.iter().flat_map(|interface| &interface.addresses);
            let further = all.filter(|address| wanted(address, at) && Some(**address) != own);
            let further = further.map(|address| (*address, if at == 0 { 32 } else { 128 }));
            let announced = self.announced.iter().filter(|(address, _)| usize::from(address.is_ipv6()) == at);
            let attached = |(network, prefix)| Attached { network, prefix, distance: 1, metric: Metric::MIN };
            let mut networks: Vec<_> = further.chain(announced.copied()).map(attached).collect();
            networks.sort_unstable();
            networks.dedup();
            networks.truncate(MAX_NETWORKS);
            if let Some(agent) = &mut family.agent {
                agent.set_interfaces(now, list);
                agent.networks = networks;
            }
        }
        self.revision += 1;
        self.settle(now);
    }

    /// Recomputes routes, and encodes the messages that the agents send.
    fn settle(&mut self, now: Instant) {
        for at in 0..self.families.len() {
            if let Some(agent) = &mut self.families[at].agent {
                self.revision += u64::from(agent.find_routes());
            }
            while let Some(output) = self.families[at].agent.as_mut().and_then(|agent| agent.poll_output(now))
            {
                let Output::Message { interface, message, .. } = output else { continue };
                if let Some(packet) = message.content::<Packet>() {
                    self.send(at, interface, &packet.messages);
                }
            }
        }
    }

    /// Sends messages of a family over an interface, or over all interfaces with an address of the family.
    fn send(&mut self, at: usize, interface: Option<Interface>, messages: &[Message]) {
        let family = &mut self.families[at];
        let messages: Vec<_> = messages
            .iter()
            .filter_map(|message| wire::emit::message(message, &mut family.addresses))
            .collect();
        let all = family.agent.iter().flat_map(|agent| agent.numbers.iter().copied());
        let over: Vec<_> =
            all.filter(|number| interface.is_none_or(|interface| interface == *number)).collect();
        for part in packets(messages) {
            over.iter().for_each(|number| self.transmit(*number, None, part.clone()));
        }
    }

    fn transmit(&mut self, interface: Interface, to: Option<Ipv6Addr>, messages: Vec<rfc5444::Message>) {
        let next = self.sequences.entry(interface).or_default();
        let sequence = Some(*next);
        *next = next.wrapping_add(1);
        self.emit(interface, to, rfc5444::Packet { sequence, tlvs: Vec::new(), messages });
    }

    /// Queues a packet, signed with the keys of this host.
    fn emit(&mut self, interface: Interface, to: Option<Ipv6Addr>, packet: rfc5444::Packet) {
        let Some(own) = self.interfaces.iter().find(|own| own.number == interface) else { return };
        let bytes = if let Some(authentication) = &mut self.authentication {
            mac::sign(authentication, own.address, packet)
        } else {
            let mut bytes = Vec::new();
            packet.emit(&mut bytes);
            bytes
        };
        self.datagrams.push_back(HostDatagram { interface, to, bytes });
    }

    /// Checks the counter of a packet with a valid signature, and sends challenges and answers to challenges.
    fn authenticate(
        &mut self,
        now: Instant,
        arrival: HostArrival,
        packet: &rfc5444::Packet,
    ) -> Result<(), HostRefusal> {
        let HostArrival { interface, from, .. } = arrival;
        let Some(authentication) = &mut self.authentication else { return Ok(()) };
        let checked = mac::check(authentication, now, (interface, from), packet);
        if let Some(answer) = mac::answer(&checked) {
            self.emit(interface, Some(from), answer);
        }
        checked.refusal.map_or(Ok(()), Err)
    }

    /// Passes the messages of one family to its agent.
    fn process(&mut self, now: Instant, arrival: HostArrival, at: usize, packet: &rfc5444::Packet) {
        let HostArrival { interface, from, .. } = arrival;
        let rate = self.rate_of(interface);
        let family = &mut self.families[at];
        let Some(agent) = family.agent.as_mut().filter(|agent| agent.numbers.contains(&interface)) else {
            return;
        };
        family.addresses.advance(now);
        let messages = packet.messages.iter();
        let mut messages: Vec<_> =
            messages.filter_map(|message| wire::parse::message(message, &mut family.addresses)).collect();
        let Some(known) = self.neighbours.get_mut(&(interface, from)) else { return };
        for message in &mut messages {
            if let Message::Hello(hello) = message {
                hello.validity = hello.validity.min(TimeCode::at_least(MAX_VALIDITY));
                let name = hello.addresses.first().copied().unwrap_or(hello.originator);
                let before = known.names[at].replace(name);
                self.revision += u64::from(before != Some(name));
                if let Some(before) = before.filter(|before| *before != name) {
                    agent.links.keep(now, |link| link.address != before);
                }
            }
        }
        let Some(name) = known.names[at] else { return };
        agent.expire(now);
        agent.process(now, interface, name, &Packet { sequence: packet.sequence, messages });
        agent.links.set_rate(name, rate);
    }

    /// Bit rate by which the metric of links over an interface is computed.
    // DEVIATION olsrv2-4: On hosts the rate of a link is 100 Mb/s for a cable and 6 Mb/s for a radio. RFC 7779
    // leaves open how a host learns the true rate. Routes over radios have the fewest expected transmissions.
    fn rate_of(&self, interface: Interface) -> BitRate {
        let is_radio = self.interfaces.iter().any(|own| own.number == interface && own.is_radio);
        BitRate(if is_radio { 6_000_000 } else { 100_000_000 })
    }

    /// Whether routes may lead to a network.
    fn accepts(&self, (address, prefix): HostNetwork) -> bool {
        let is_default = prefix == 0;
        let own = self.interfaces.iter().flat_map(|own| &own.addresses);
        (is_default || is_routable(address))
            && own.clone().all(|own| *own != address)
            && (self.within.is_empty() || self.within.iter().any(|one| contains(*one, (address, prefix))))
    }

    /// Routes of a family, the cheapest first, with several for a network that several nodes announce.
    fn routes_of(&self, at: usize) -> Vec<HostRoute> {
        let family = &self.families[at];
        let Some(agent) = &family.agent else { return Vec::new() };
        let bits = if at == 0 { 32 } else { 128 };
        let mut found = Vec::new();
        for route in agent.routes.list() {
            let Some(link) = agent.links.get(route.next_hop) else { continue };
            let Some(via) = self.via(at, link) else { continue };
            let mut add = |destination, cost: u64| {
                let cost = u32::try_from(cost).unwrap_or(u32::MAX);
                found.push(HostRoute { destination, via, interface: link.interface, cost });
            };
            if let Some(address) = family.addresses.find(route.destination) {
                add((address, bits), route.cost);
            }
            for one in agent.topology.get(route.destination).iter().flat_map(|tc| &tc.networks) {
                add((one.network, one.prefix), route.cost + u64::from(one.metric.value()));
            }
        }
        found
    }

    /// Address of the next hop at the end of a link: of IPv6 the link-local address, which needs no common network.
    fn via(&self, at: usize, link: &NeighbourLink) -> Option<IpAddr> {
        if at == 0 {
            return Some(link.address.into());
        }
        let mut here = self.neighbours.iter().filter(|((interface, _), _)| *interface == link.interface);
        here.find(|(_, known)| known.names[at] == Some(link.address)).map(|((_, from), _)| (*from).into())
    }
}

impl Family {
    fn end(&mut self) {
        if let Some(agent) = self.agent.take() {
            self.earlier = sum(self.earlier, agent.counters);
        }
    }

    fn counters(&self) -> Counters {
        self.agent.as_ref().map_or(self.earlier, |agent| sum(self.earlier, agent.counters))
    }
}

impl Addresses {
    fn advance(&mut self, now: Instant) {
        if let Self::Ipv6(given) = self {
            given.advance(now);
        }
    }

    fn find(&self, name: Ipv4Addr) -> Option<IpAddr> {
        match self {
            Self::Ipv4 => Some(name.into()),
            Self::Ipv6(given) => given.find(name),
        }
    }
}

impl Names for Addresses {
    fn name(&mut self, address: IpAddr) -> Option<Ipv4Addr> {
        match self {
            Self::Ipv4 => Same.name(address),
            Self::Ipv6(given) => given.name(address),
        }
    }

    fn address(&mut self, name: Ipv4Addr) -> Option<IpAddr> {
        match self {
            Self::Ipv4 => Same.address(name),
            Self::Ipv6(given) => given.address(name),
        }
    }

    fn is_ipv6(&self) -> bool {
        matches!(self, Self::Ipv6(_))
    }
}

impl HostAgent for Host {
    fn set_interfaces(&mut self, now: Instant, interfaces: Vec<HostInterface>) {
        self.interfaces = interfaces;
        let own = &self.interfaces;
        let stays = |number: Interface| own.iter().any(|one| one.number == number);
        self.neighbours.retain(|(interface, _), _| stays(*interface));
        self.inform(now);
    }

    fn set_networks(&mut self, now: Instant, announced: Vec<HostNetwork>, within: Vec<HostNetwork>) {
        (self.announced, self.within) = (announced, within);
        self.inform(now);
    }

    fn is_neighbour(&self, interface: Interface, address: Ipv6Addr) -> bool {
        self.neighbours.contains_key(&(interface, address))
    }

    fn admits(&mut self, _: Instant, arrival: HostArrival, bytes: &[u8]) -> Result<(), HostRefusal> {
        if !arrival.from.is_unicast_link_local() || bytes.first().is_none_or(|first| first >> 4 != 0) {
            return Err(HostRefusal::Malformed);
        }
        self.authentication
            .as_ref()
            .map_or(Ok(()), |authentication| mac::admit(authentication, arrival.from, bytes))
    }

    fn receive(&mut self, now: Instant, arrival: HostArrival, bytes: &[u8]) -> Result<(), HostRefusal> {
        let packet = rfc5444::Packet::parse(bytes).map_err(|_| HostRefusal::Malformed)?;
        self.authenticate(now, arrival, &packet)?;
        let place = (arrival.interface, arrival.from);
        if !self.neighbours.contains_key(&place) && self.neighbours.len() >= MAX_NEIGHBOURS {
            return Err(HostRefusal::TooMany);
        }
        let known = self.neighbours.entry(place).or_insert(Known { heard: now, names: [None; 2] });
        known.heard = now;
        for at in 0..self.families.len() {
            self.process(now, arrival, at, &packet);
        }
        self.settle(now);
        Ok(())
    }

    fn handle_timeout(&mut self, now: Instant) {
        let hold = self.config.neighbour_hold * 2;
        let before = self.neighbours.len();
        self.neighbours.retain(|_, known| now.saturating_since(known.heard) < hold);
        self.revision += u64::from(self.neighbours.len() < before);
        for family in &mut self.families {
            family.addresses.advance(now);
            if let Some(agent) = &mut family.agent {
                Machine::handle_timeout(agent, now);
            }
        }
        self.settle(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.families.iter().filter_map(|family| Machine::poll_timeout(family.agent.as_ref()?)).min()
    }

    fn poll_datagram(&mut self, _: Instant) -> Option<HostDatagram> {
        self.datagrams.pop_front()
    }

    fn farewell(&mut self, now: Instant, interface: Interface) -> Option<HostDatagram> {
        let mut messages = Vec::new();
        for family in &mut self.families {
            let Some(agent) = family.agent.as_ref().filter(|agent| agent.numbers.contains(&interface)) else {
                continue;
            };
            let Message::Hello(mut hello) = agent.hello_over(now, Some(interface)) else { continue };
            for neighbour in &mut hello.neighbours {
                *neighbour = wire::Neighbour {
                    link: Some(LinkStatus::Lost),
                    ..wire::Neighbour::new(neighbour.address)
                };
            }
            messages.extend(wire::emit::message(&Message::Hello(hello), &mut family.addresses));
        }
        self.transmit(interface, None, messages);
        self.datagrams.pop_back()
    }

    fn routes(&self) -> Vec<HostRoute> {
        let mut routes: Vec<_> = (0..self.families.len()).flat_map(|at| self.routes_of(at)).collect();
        routes.retain(|route| self.accepts(route.destination));
        routes.sort_by_key(|route| route.cost);
        let mut cheapest = BTreeMap::new();
        for route in routes {
            cheapest.entry(route.destination).or_insert(route);
        }
        let mut routes: Vec<_> = cheapest.into_values().collect();
        routes.sort_by_key(|route| route.cost);
        routes
    }

    fn revision(&self) -> Option<u64> {
        Some(self.revision)
    }

    fn neighbours(&self) -> Vec<HostNeighbour> {
        let neighbour = |(&(interface, address), known): (&(Interface, Ipv6Addr), &Known)| {
            let links = self.families.iter().zip(known.names);
            let links = links.filter_map(|(family, name)| family.agent.as_ref()?.links.get(name?));
            let cost = links.clone().filter(|link| link.symmetric).find_map(|link| link.metrics.outgoing);
            let received = links.filter_map(NeighbourLink::received).fold(0.0, f64::max);
            let cost = cost.map(Metric::value);
            HostNeighbour { interface, address, heard: known.heard, received, cost, round_trip: None }
        };
        self.neighbours.iter().map(neighbour).collect()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let [a, b] = [0, 1].map(|at: usize| self.families[at].counters());
        let all = sum(a, b);
        Vec::from([
            ("hellos", all.hellos),
            ("tcs", all.tcs),
            ("forwarded", all.forwarded),
            ("duplicates", all.duplicates),
            ("strangers", all.strangers),
            ("outdated", all.outdated),
            ("refused", all.refused),
        ])
    }
}

/// Messages in parts for one packet each. A message is not divided, so a part may consist of one message that is longer than
/// [`MAX_MESSAGE_BYTES`]; IP then fragments the datagram.
fn packets(messages: Vec<rfc5444::Message>) -> Vec<Vec<rfc5444::Message>> {
    let (mut parts, mut len) = (Vec::<Vec<_>>::new(), 0);
    for message in messages {
        let more = message.wire_len();
        match parts.last_mut().filter(|_| len + more <= MAX_MESSAGE_BYTES) {
            Some(part) => part.push(message),
            None => {
                parts.push(Vec::from([message]));
                len = 0;
            }
        }
        len += more;
    }
    parts
}

fn sum(a: Counters, b: Counters) -> Counters {
    Counters {
        hellos: a.hellos + b.hellos,
        tcs: a.tcs + b.tcs,
        forwarded: a.forwarded + b.forwarded,
        packets: a.packets + b.packets,
        duplicates: a.duplicates + b.duplicates,
        strangers: a.strangers + b.strangers,
        outdated: a.outdated + b.outdated,
        refused: a.refused + b.refused,
    }
}

/// Whether packets to an address may pass routers.
fn is_routable(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast())
        }
        IpAddr::V6(address) => {
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_unicast_link_local()
                || address.is_multicast())
        }
    }
}

/// Whether all addresses of a network belong to another network.
fn contains((outer, len): HostNetwork, (inner, inner_len): HostNetwork) -> bool {
    let same = |a: u128, b: u128, width: u8| len == 0 || (a ^ b) >> (width - len) == 0;
    len <= inner_len
        && match (outer, inner) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
}

/// Group of all MANET routers on a link (RFC 5498).
const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x6d);
/// Largest number of neighbours, a limit of memory.
const MAX_NEIGHBOURS: usize = 256;
/// Largest number of bytes of the messages that share a packet. With the headers of IPv6 and UDP (48 bytes), the packet header (5),
/// a counter (15) and two signatures (78), the packet fits into 1280 bytes, the least MTU of IPv6.
const MAX_MESSAGE_BYTES: usize = 1_100;
/// Longest time for which a HELLO is valid, so that false neighbours soon make room for others.
const MAX_VALIDITY: Duration = Duration::from_secs(60);
/// Largest number of networks that this host announces, so that a TC has room for its neighbours as well.
const MAX_NETWORKS: usize = 500;

#[cfg(test)]
mod tests;
