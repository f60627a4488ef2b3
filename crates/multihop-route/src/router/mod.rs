//! The part of the daemon without sockets: datagrams, interfaces and time in, datagrams and routes out.

mod delays;
mod extension;
mod names;
mod neighbours;
mod on_demand;
mod proactive;
mod refusals;
mod reserved;
mod signature;
mod signing;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use multihop_core::{Duration, Instant, Interface, Machine, Rng, earliest};
use multihop_routing::host::HostAgent;
use multihop_routing::{aodv, apdr, olsr};
use serde::Serialize;

use crate::budget::before;
use crate::config::{Config, Routing};
use crate::flows::Flow;
use crate::prefix::{Family, Prefix};
use names::Names;
use neighbours::{Known, Neighbours};
use on_demand::{OnDemand, Outgoing};
use proactive::Found;
use refusals::Refusals;
use signing::Signing;

pub use neighbours::NeighbourInterface;
pub use on_demand::{OnDemandCounts, PacketOutcome};
pub use refusals::{Reason, Refusal};
pub use reserved::ReservedPath;
pub use signature::Key;

/// A routing agent behind several interfaces, and the routes that it has found.
///
/// The agent knows the interfaces by numbers. With IPv6 the agent refers to nodes by names of 32 bits;
/// [`receive`](Self::receive) translates addresses into names.
#[derive(Debug)]
pub struct Router {
    config: Config,
    agent: Option<Agent>,
    ports: Vec<Port>,
    /// All addresses of this host.
    own: Vec<IpAddr>,
    /// Addresses of all configured interfaces, even of those without a carrier, for which the kernel still accepts
    /// packets.
    aliases: Vec<IpAddr>,
    names: Names,
    neighbours: Neighbours,
    rng: Rng,
    /// Unix time at which the driver's clock was zero, s. Agents begin their sequence numbers with the present time, so
    /// that the numbers grow across restarts of the daemon.
    epoch: u64,
    /// Signs and checks packets; `None` without a key.
    signing: Option<Signing>,
    /// Paths of this host's flows; `None` if paths are not reserved.
    reservations: Option<apdr::Reservations<Flow>>,
    counters: Counters,
    refusals: Refusals,
}

#[derive(Debug)]
struct Agent {
    /// Name of this node's main address inside the agent.
    main: Ipv4Addr,
    protocol: Protocol,
    /// When the agent began.
    since: Instant,
}

#[derive(Debug)]
enum Protocol {
    Olsr(Box<olsr::Agent>),
    Aodv(Box<OnDemand>),
    Extension(Box<dyn HostAgent>),
}

/// Where, when and from whom a datagram arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrival {
    /// The number of the interface.
    pub interface: u32,
    /// Address from which the datagram came.
    pub from: IpAddr,
    /// Whether the datagram was sent to all neighbours. Routers do not forward such datagrams, so its sender
    /// is a neighbour.
    pub to_all: bool,
    /// IP TTL with which the datagram arrived.
    pub ttl: u8,
    /// Age of the datagram by the kernel's time stamp.
    pub ago: Duration,
}

/// An interface over which the daemon exchanges datagrams with neighbours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Port {
    /// The interface's number in the kernel.
    pub index: u32,
    /// Address of the interface from which datagrams leave.
    pub address: IpAddr,
    /// All other addresses of the interface, for protocols whose datagrams leave from link-local addresses.
    pub others: Vec<IpAddr>,
    /// Whether the interface is a Wi-Fi card.
    pub is_radio: bool,
    /// Name by which the agent refers to the interface's address.
    name: Ipv4Addr,
    /// The agent's number of the interface, constant while the interface exists.
    number: Interface,
    /// Sequence number of the next packet over the interface.
    sequence: u16,
}

/// Datagram from or to neighbours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Datagram {
    /// The number of the interface.
    pub interface: u32,
    /// Neighbour that receives the datagram; `None`: all nodes in reach of the interface.
    pub to: Option<IpAddr>,
    /// IP TTL with which the datagram leaves.
    pub ttl: u8,
    /// Payload of the UDP datagram.
    pub bytes: Vec<u8>,
}

/// State of a router of which its routes are a function.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Revision(pub(crate) u64, pub(crate) u64);

/// Next hop, interface, length and cost of the route to a destination.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Path {
    /// The next hop; `None` if the destination is a neighbour.
    pub via: Option<IpAddr>,
    /// The number of the interface.
    pub interface: u32,
    /// Hops to the destination, or to its gateway; `None` if the protocol does not count them.
    pub hops: Option<u8>,
    /// Cost of the path if routes are chosen by cost, in microseconds, thousandths of transmissions, or the protocol's unit.
    pub cost: Option<u64>,
    /// Source address for packets of this host; `None`: the kernel's choice.
    pub source: Option<IpAddr>,
}

/// Numbers of datagrams that were not used, by reason.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Counters {
    /// Number of datagrams that were processed.
    pub received: u64,
    /// Number of datagrams sent.
    pub sent: u64,
    /// Number of bytes sent, without headers of UDP and IP.
    pub bytes_sent: u64,
    /// Number of datagrams refused because they are no packet of the protocol, or contain a list longer than
    /// any node needs.
    pub malformed: u64,
    /// Number of datagrams refused because their sender is not in the list of neighbours.
    pub not_allowed: u64,
    /// Number of datagrams refused for want of a signature.
    pub unsigned: u64,
    /// Number of datagrams refused for a signature of another version.
    pub other_version: u64,
    /// Number of datagrams refused for a signature of another key or of another packet.
    pub wrong_key: u64,
    /// Number of datagrams refused as replays: their counter is not greater than that of an earlier packet.
    pub replayed: u64,
    /// Number of datagrams refused because the sender has not answered a challenge yet.
    pub unproven: u64,
    /// Number of datagrams refused because the sender was heard over another interface a moment ago.
    pub elsewhere: u64,
    /// Number of datagrams refused because the daemon remembers no more neighbours.
    pub too_many: u64,
    /// Number of datagrams refused because they are addressed to this host alone and their sender has never
    /// sent a broadcast.
    pub strangers: u64,
    /// Number of datagrams refused because their sender, a neighbour, sent more than the daemon had time for.
    pub too_frequent: u64,
    /// Number of datagrams that waited so long that their messages had expired.
    pub outdated: u64,
    /// Routes that were left out because their destination is outside of the allowed networks or is not
    /// routable.
    pub left_out: u64,
}

impl Port {
    /// An interface with this number and address.
    pub fn new(index: u32, address: impl Into<IpAddr>) -> Self {
        let address = address.into();
        let (name, number) = (Ipv4Addr::UNSPECIFIED, Interface(0));
        Self { index, address, others: Vec::new(), is_radio: false, name, number, sequence: 0 }
    }

    /// Whether an output of the agent for this interface, or for all interfaces, leaves through this port.
    fn is_meant_by(&self, interface: Option<Interface>) -> bool {
        interface.is_none_or(|number| number == self.number)
    }
}

impl Router {
    /// Creates a router without interfaces. `seed` is random and differs at each start. `epoch` is the time
    /// in seconds of a clock that continues across restarts.
    pub fn new(config: Config, seed: u64, epoch: u64) -> Self {
        let mut rng = Rng::stream(seed, "routing", 0);
        Self {
            signing: config.key.clone().map(|key| Signing::new(key, rng.next_u64())),
            reservations: config.reservation.map(apdr::Reservations::new),
            names: Names::new(if config.has_both_families() { Family::Ipv6 } else { config.family }),
            config,
            agent: None,
            ports: Vec::new(),
            own: Vec::new(),
            aliases: Vec::new(),
            neighbours: Neighbours::default(),
            rng,
            epoch,
            counters: Counters::default(),
            refusals: Refusals::default(),
        }
    }

    /// Configuration in use, which a reload replaces.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Changes the configuration, except for its family. The agent restarts if the parameters of the protocol
    /// change.
    pub fn configure(&mut self, now: Instant, config: Config) {
        if config.routing != self.config.routing {
            self.agent = None;
        }
        let is_signed_by_agent = config.has_both_families() && config.keys() != self.config.keys();
        if is_signed_by_agent {
            self.agent = None;
        }
        if config.key != self.config.key {
            self.signing = config.key.clone().map(|key| Signing::new(key, self.rng.next_u64()));
        }
        match (&mut self.reservations, config.reservation) {
            (Some(reservations), Some(reservation)) => reservations.configure(reservation),
            (reservations, reservation) => *reservations = reservation.map(apdr::Reservations::new),
        }
        self.config = Config { family: self.config.family, ..config };
        self.begin(now);
    }

    /// Sets the interfaces that are up, with their addresses. If the main address is lost, another address
    /// becomes the main address and the agent restarts, unless its protocol has no main address.
    pub fn set_ports(&mut self, now: Instant, ports: &[Port]) {
        let before = std::mem::take(&mut self.ports);
        for port in ports {
            // An address of the other family is not used.
            let Some(name) = self.names.own(now, port.address) else { continue };
            let known = before.iter().find(|old| old.index == port.index);
            let sequence = known.map_or(0, |old| old.sequence);
            // The number of a removed interface becomes free after the agent has ended the links of the
            // interface.
            let number = known.map(|old| old.number).or_else(|| free_number(&before, &self.ports));
            let Some(number) = number else { continue };
            self.ports.push(Port { name, number, sequence, ..port.clone() });
        }
        let counts = |index| ports.iter().any(|port| port.index == index);
        self.neighbours.keep(counts);
        if let Some(signing) = &mut self.signing {
            signing.keep(counts);
        }
        let has_main = |agent: &Agent| self.ports.iter().any(|port| port.name == agent.main);
        let lost = |agent: &Agent| !agent.is_extension() && !has_main(agent);
        if self.agent.as_ref().is_some_and(lost) {
            self.agent = None;
        }
        self.begin(now);
    }

    /// Creates the agent if it is missing, and passes the interfaces and the networks to announce to it.
    fn begin(&mut self, now: Instant) {
        self.names.release(now);
        for port in &self.ports {
            self.names.own(now, port.address);
        }
        let Some(main) = self.ports.first().map(|port| port.name) else { return };
        if self.config.has_both_families() {
            if self.agent.is_none() {
                self.agent = self.new_extension(now).map(|protocol| Agent { main, protocol, since: now });
            }
            return self.inform_extension(now);
        }
        let seconds = self.epoch + now.as_nanos() / 1_000_000_000;
        let (config, rng) = (&self.config, &mut self.rng);
        let agent = self.agent.get_or_insert_with(|| {
            let protocol = match &config.routing {
                Routing::Olsr(olsr) => {
                    let own = Rng::stream(rng.next_u64(), "olsr", 0);
                    let olsr = olsr::Config { count_changes: true, ..olsr.clone() };
                    Protocol::Olsr(Box::new(olsr::Agent::new(now, main, olsr, own).on_host(seconds)))
                }
                Routing::Aodv(aodv) => {
                    let own = Rng::stream(rng.next_u64(), "aodv", 0);
                    let agent = aodv::Agent::new(aodv.clone(), main, now, own).on_host(seconds);
                    Protocol::Aodv(Box::new(OnDemand::new(agent)))
                }
                Routing::Extension(_) => unreachable!("made above"),
            };
            Agent { main, protocol, since: now }
        });
        let interfaces = self.ports.iter().map(|port| (port.number, port.name)).collect();
        match &mut agent.protocol {
            Protocol::Olsr(olsr) => {
                olsr.set_interfaces(now, interfaces);
                let mut name = |address| self.names.own(now, address);
                let networks = config
                    .announce
                    .iter()
                    .filter_map(|network| Some((name(network.parts().0)?, name(network.mask())?)));
                olsr.announce(now, networks.collect());
            }
            Protocol::Aodv(aodv) => {
                let aliases = self.aliases.iter().filter_map(|address| self.names.find(*address));
                aodv.agent.set_interfaces(interfaces);
                aodv.agent.set_aliases(aliases.collect());
            }
            Protocol::Extension(_) => {}
        }
    }

    /// Sets all addresses of this host, and those by which other nodes may know it. Call it before
    /// [`set_ports`](Self::set_ports).
    pub fn set_own(&mut self, addresses: Vec<IpAddr>, aliases: Vec<IpAddr>) {
        (self.own, self.aliases) = (addresses, aliases);
    }

    /// Handles a datagram that has arrived.
    pub fn receive(&mut self, now: Instant, arrival: Arrival, bytes: &[u8]) {
        if self.admits(now, arrival, bytes) {
            self.process(now, arrival, bytes);
        }
    }

    /// Whether a datagram deserves processing: it comes from a host that may be a neighbour and, if packets
    /// are signed, has a valid signature that is no replay. The check is cheap for any contents.
    pub fn admits(&mut self, now: Instant, arrival: Arrival, bytes: &[u8]) -> bool {
        let from = arrival.from;
        if self.ports.iter().any(|port| port.address == from) {
            return false;
        }
        if !self.config.neighbors.is_empty() && !self.config.neighbors.contains(&from) {
            self.refuse(now, from, Reason::NotAllowed);
            return false;
        }
        match (&self.config.routing, from) {
            (Routing::Olsr(_), _) if !arrival.to_all => false,
            (Routing::Olsr(_), IpAddr::V4(from)) => self.is_genuine(now, arrival.interface, from, bytes),
            (Routing::Olsr(_), IpAddr::V6(from)) => self.is_genuine(now, arrival.interface, from, bytes),
            (Routing::Aodv(_), _) => true,
            (Routing::Extension(_), _) => self.extension_admits(now, arrival, bytes),
        }
    }

    /// Processes a datagram that [is admitted](Self::admits). The validity times in its messages count from
    /// its arrival.
    pub fn process(&mut self, now: Instant, arrival: Arrival, bytes: &[u8]) {
        match (&self.config.routing, arrival.from) {
            (Routing::Olsr(_), IpAddr::V4(from)) => self.receive_olsr(now, arrival, from, bytes),
            (Routing::Olsr(_), IpAddr::V6(from)) => self.receive_olsr(now, arrival, from, bytes),
            (Routing::Aodv(_), _) => self.receive_aodv(now, arrival, bytes),
            (Routing::Extension(_), _) => self.receive_extension(now, arrival, bytes),
        }
    }

    /// Whether an address belongs to a neighbour that was heard over this interface.
    pub fn is_neighbour(&self, interface: u32, address: IpAddr) -> bool {
        if self.extension().is_some() {
            return self.is_extension_neighbour(interface, address);
        }
        let name = self.names.find(address);
        name.is_some_and(|name| self.neighbours.interface(name) == Some(interface))
    }

    /// Whether a datagram is used, judged by the record of its sender; counts datagrams that are not used.
    fn is_used(&mut self, now: Instant, known: Known, from: IpAddr) -> bool {
        match known {
            Known::Yes => {}
            Known::Elsewhere => self.counters.elsewhere += 1,
            Known::TooMany => self.refuse(now, from, Reason::TooMany),
        }
        known == Known::Yes
    }

    /// Counts a datagram that is not used.
    fn refuse(&mut self, now: Instant, from: IpAddr, reason: Reason) {
        *reason.counter(&mut self.counters) += 1;
        self.refusals.note(now, from, reason);
        let limit = MAX_REFUSAL_LINES;
        if reason == Reason::Unproven {
            // Every new neighbour starts with a few refused packets.
            tracing::info!(limit, address = %from, reason = reason.name(), "peer refused");
        } else {
            tracing::warn!(limit, address = %from, reason = reason.name(), "peer refused");
        }
    }

    fn receive_aodv(&mut self, now: Instant, arrival: Arrival, bytes: &[u8]) {
        let Arrival { interface, to_all, ttl, ago, .. } = arrival;
        let arrived = before(now, ago);
        let Some(from) = self.names.find(arrival.from) else { return };
        let sound = on_demand::parse(bytes).filter(|_| Prefix::host(from).is_routable());
        let Some(message) = sound else {
            return self.refuse(now, arrival.from, Reason::Malformed);
        };
        // Routers forward unicast datagrams, so their sender may be no neighbour.
        if !to_all && self.neighbours.interface(from) != Some(interface) {
            self.counters.strangers += 1;
            return;
        }
        if self.aodv().is_some_and(|aodv| aodv.agent.validity(&message) <= ago) {
            self.counters.outdated += 1;
            return;
        }
        let known = self.neighbours.hear(arrived, interface, from, None, None);
        if !self.is_used(now, known, arrival.from) {
            return;
        }
        self.counters.received += 1;
        if let Some(aodv) = self.aodv() {
            aodv.receive(now, arrived, from, ttl, &message);
        }
    }

    /// Handles deadlines that have passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.neighbours.expire(now);
        if let Some(signing) = &mut self.signing {
            signing.expire(now);
        }
        match self.agent.as_mut().map(|agent| &mut agent.protocol) {
            None => {}
            Some(Protocol::Olsr(olsr)) => olsr.handle_timeout(now),
            Some(Protocol::Aodv(aodv)) => aodv.handle_timeout(now),
            Some(Protocol::Extension(agent)) => agent.handle_timeout(now),
        }
    }

    /// Deadline of the next timer; `None` if no timer runs.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.agent.as_ref()?.protocol {
            Protocol::Olsr(olsr) => {
                earliest(olsr.poll_timeout(), self.signing.as_ref().and_then(Signing::poll_timeout))
            }
            Protocol::Aodv(aodv) => aodv.agent.poll_timeout(),
            Protocol::Extension(agent) => agent.poll_timeout(),
        }
    }

    /// Takes the datagrams that must be sent now.
    pub fn take_datagrams(&mut self, now: Instant) -> Vec<Datagram> {
        let datagrams = match self.agent.as_ref().map(|agent| &agent.protocol) {
            None => Vec::new(),
            Some(Protocol::Olsr(_)) => self.take_olsr(now),
            Some(Protocol::Aodv(_)) => self.take_aodv(),
            Some(Protocol::Extension(_)) => self.take_extension(now),
        };
        self.counters.sent += datagrams.len() as u64;
        self.counters.bytes_sent += datagrams.iter().map(|datagram| datagram.bytes.len() as u64).sum::<u64>();
        datagrams
    }

    fn take_aodv(&mut self) -> Vec<Datagram> {
        let messages = self.aodv().map(OnDemand::take_messages).unwrap_or_default();
        let mut datagrams = Vec::new();
        for message in messages {
            let Outgoing { to, interface, ttl, bytes } = message;
            let index = to.map(|to| self.neighbours.interface(to));
            let leaves = |port: &&Port| {
                index.is_none_or(|index| index == Some(port.index)) && port.is_meant_by(interface)
            };
            for port in self.ports.iter().filter(leaves) {
                let (to, bytes) = (to.map(IpAddr::V4), bytes.clone());
                datagrams.push(Datagram { interface: port.index, to, ttl, bytes });
            }
        }
        datagrams
    }

    /// Handles a packet for which the kernel has no route.
    pub fn catch(&mut self, now: Instant, packet: &[u8]) {
        // The kernel silently drops packets that are not for one host, too.
        let Some(ends) = on_demand::ends(packet) else { return };
        let own = self.own.contains(&ends.0.into()) || self.ports.iter().any(|port| port.name == ends.0);
        let allowed = self.allows(Prefix::host(ends.1));
        if let Some(aodv) = self.aodv() {
            if allowed {
                aodv.catch(now, ends, own, packet);
            } else {
                aodv.refuse(packet);
            }
        }
    }

    /// Notes that the kernel has transmitted a packet from one host to another over an interface of this router.
    pub fn on_use(&mut self, now: Instant, source: Ipv4Addr, destination: Ipv4Addr) {
        let forwarded = (!self.own.contains(&source.into())).then_some(source);
        if let Some(aodv) = self.aodv() {
            aodv.agent.on_use(now, forwarded, destination);
        }
    }

    /// Notes that the kernel has not found a neighbour's link address.
    pub fn on_neighbour_failed(&mut self, now: Instant, interface: u32, neighbour: IpAddr) {
        let Some(neighbour) = self.names.find(neighbour) else { return };
        if self.neighbours.interface(neighbour) == Some(interface)
            && let Some(aodv) = self.aodv()
        {
            aodv.lose_neighbour(now, neighbour);
        }
    }

    /// Takes the outcomes of waiting packets. The caller must first install the routes of those that leave.
    pub fn take_outcomes(&mut self) -> Vec<PacketOutcome> {
        let ends = self.aodv().map(OnDemand::take_ends).unwrap_or_default();
        let outcome = |(next_hop, packet): (Option<Ipv4Addr>, Vec<u8>)| match next_hop
            .and_then(|next_hop| self.neighbours.interface(next_hop))
        {
            Some(interface) => PacketOutcome::Leaves { interface, packet },
            None => PacketOutcome::Refused { packet },
        };
        ends.into_iter().map(outcome).collect()
    }

    /// Counters of AODV, and the number of packets that wait for a route; `None` under other protocols.
    pub fn on_demand(&self) -> Option<(OnDemandCounts, usize)> {
        match &self.agent.as_ref()?.protocol {
            Protocol::Aodv(aodv) => Some((aodv.counts, aodv.waiting())),
            Protocol::Olsr(_) | Protocol::Extension(_) => None,
        }
    }

    fn aodv(&mut self) -> Option<&mut OnDemand> {
        match &mut self.agent.as_mut()?.protocol {
            Protocol::Aodv(aodv) => Some(aodv),
            Protocol::Olsr(_) | Protocol::Extension(_) => None,
        }
    }

    /// Whether routes may lead to this network.
    fn allows(&self, to: Prefix) -> bool {
        let within = &self.config.within;
        to.is_routable() && (within.is_empty() || within.iter().any(|network| network.contains(to)))
    }

    /// State of which the routes are a function, apart from [costs](Self::cost_interval); `None` if they may change at any
    /// time.
    pub(crate) fn revision(&self) -> Option<Revision> {
        match &self.agent.as_ref()?.protocol {
            Protocol::Olsr(olsr) => Some(Revision(olsr.revision(), self.neighbours.changes)),
            Protocol::Extension(agent) => Some(Revision(agent.revision()?, 0)),
            Protocol::Aodv(_) => None,
        }
    }

    /// Time in which each link has a new cost, if routes are chosen by measured costs: the interval of HELLOs.
    pub(crate) fn cost_interval(&self) -> Option<Duration> {
        let Routing::Olsr(config) = &self.config.routing else { return None };
        config.metric.map(|_| config.hello_interval)
    }

    /// All routes that the agent has at `now`, by their destination.
    pub fn routes(&mut self, now: Instant) -> BTreeMap<Prefix, Path> {
        let found = match self.agent.as_mut().map(|agent| &mut agent.protocol) {
            None => Vec::new(),
            Some(Protocol::Olsr(olsr)) => {
                let announced = &self.config.announce;
                Found { now, agent: olsr, neighbours: &self.neighbours, names: &mut self.names }
                    .all(announced)
            }
            Some(Protocol::Aodv(_)) => self.found_by_aodv(),
            Some(Protocol::Extension(_)) => self.found_by_extension(),
        };
        let (mut routes, mut left_out) = (BTreeMap::new(), 0);
        for (to, path) in found {
            if self.ports.iter().any(|port| to == Prefix::host(port.address)) {
                continue;
            }
            if !self.allows(to) || routes.len() >= 2 * MAX_ROUTES {
                left_out += 1;
                continue;
            }
            let via = path.via.filter(|via| to != Prefix::host(*via));
            routes.insert(to, Path { via, ..path });
        }
        self.counters.left_out = left_out;
        routes
    }

    /// Routes that AODV has found; hosts beyond the neighbours use this host's main address.
    fn found_by_aodv(&self) -> Vec<(Prefix, Path)> {
        let Some(Agent { main, protocol: Protocol::Aodv(aodv), .. }) = &self.agent else { return Vec::new() };
        let path = |(to, next_hop, hops): (Ipv4Addr, Ipv4Addr, u8)| {
            let interface = self.neighbours.interface(next_hop)?;
            let source = (to != next_hop).then_some((*main).into());
            Some((
                Prefix::host(to),
                Path { via: Some(next_hop.into()), interface, hops: Some(hops), cost: None, source },
            ))
        };
        aodv.routes().into_iter().filter_map(path).take(MAX_ROUTES).collect()
    }

    /// Time since the start of the agent.
    pub fn age(&self, now: Instant) -> Duration {
        self.agent.as_ref().map_or(Duration::ZERO, |agent| now.saturating_since(agent.since))
    }

    /// Main address of this host, under which other nodes know it.
    pub fn main(&self) -> Option<IpAddr> {
        let agent = self.agent.as_ref()?;
        if agent.is_extension() {
            let routed = self.ports.iter().find_map(|port| port.others.first().copied());
            return routed.or_else(|| self.ports.first().map(|port| port.address));
        }
        self.ports.iter().find(|port| port.name == agent.main).map(|port| port.address)
    }

    /// The agent of OLSR, for displays of its state. With IPv6 it refers to nodes by
    /// [names](NeighbourInterface::name).
    pub fn olsr_mut(&mut self) -> Option<&mut olsr::Agent> {
        match &mut self.agent.as_mut()?.protocol {
            Protocol::Olsr(olsr) => Some(olsr),
            Protocol::Aodv(_) | Protocol::Extension(_) => None,
        }
    }

    /// The interfaces from which neighbours were heard.
    pub fn heard(&mut self, now: Instant) -> impl Iterator<Item = NeighbourInterface> {
        let names = &mut self.names;
        self.neighbours.iter(move |name| names.address(now, name))
    }

    /// Number of messages that mentioned nodes for which the tables had no room.
    pub fn refused(&self) -> u64 {
        self.names.refused()
    }

    /// Senders whose datagrams were refused, and the reasons.
    pub fn refusals(&self) -> impl Iterator<Item = Refusal> {
        self.refusals.iter()
    }

    /// Counters of unused datagrams since the start.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
}

/// A number that no interface has or has just had.
fn free_number(before: &[Port], now: &[Port]) -> Option<Interface> {
    let is_free = |number: &Interface| before.iter().chain(now).all(|port| port.number != *number);
    (0..=u8::MAX).map(Interface).find(is_free)
}

/// Largest number of routes to nodes. Routes to further interfaces and to networks may be as many again.
const MAX_ROUTES: usize = 8_192;
/// Largest number of log lines per minute for each reason of refusals.
const MAX_REFUSAL_LINES: u64 = 10;

#[cfg(test)]
mod delay_tests;
#[cfg(test)]
mod on_demand_tests;
#[cfg(test)]
mod tests;
// Only debug builds count steps.
#[cfg(all(test, debug_assertions))]
mod work_tests;
