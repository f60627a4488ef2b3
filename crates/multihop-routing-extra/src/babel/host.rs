//! Babel on real interfaces: packets between link-local addresses of IPv6, prefixes of both families.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_core::settings::Visitor;
use multihop_core::{Duration, Instant, Interface, Machine, Rng};
use multihop_routing::host::{
    HostAgent, HostArrival, HostConfig, HostDatagram, HostInterface, HostNeighbour, HostNetwork, HostRefusal,
    HostRoute, HostSetup, Transport,
};
use multihop_routing::olsr::LinkFailure;

use super::interfaces::Own;
use super::mac::{self, Ends};
use super::neighbours::{Neighbour, Sensing};
use super::wire::{GROUP, INFINITY, INTERFERING, Ihu, PORT, Packet, Prefix, RouterId, Tlv, Trailer, Update};
use super::{Agent, Config, LinkCost, Timer};
use crate::STREAM;
use crate::authentication::Authentication;

/// State that only an agent on a real host has.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Keys and packet counters; `None` if packets are not signed.
    authentication: Option<Authentication>,
    datagrams: VecDeque<HostDatagram>,
    /// Networks that this host announces in addition to the addresses of its interfaces.
    announced: Vec<Prefix>,
    /// Addresses of the interfaces.
    addresses: Vec<Prefix>,
    /// The only networks to which routes may lead; empty if there is no restriction.
    within: Vec<Prefix>,
    /// Whether a second Hello immediately follows the next one.
    is_starting: bool,
    /// Instant of the last early Hellos.
    greeted: Option<Instant>,
    /// Number of Hellos that still come with an announcement of all routes.
    repeats: u8,
}

impl HostConfig for Config {
    fn transport(&self) -> Transport {
        Transport { port: PORT, group: GROUP, waits: self.hellos_wait }
    }

    fn host_agent(&self, setup: HostSetup) -> Box<dyn HostAgent> {
        let rng = Rng::stream(setup.seed, STREAM, 0);
        let mut agent = Agent::new(setup.now, Ipv4Addr::UNSPECIFIED, self.clone(), rng);
        // The router-id is new at each start, so that a forgotten sequence number of an earlier start does no
        // harm.
        agent.router_id = RouterId(agent.rng.next_u64().to_be_bytes());
        agent.originated.clear();
        let rng = Rng::stream(agent.rng.next_u64(), "mac", 0);
        let authentication = Authentication::new(setup.keys, rng);
        agent.host = Some(Box::new(State { authentication, ..State::default() }));
        Box::new(agent)
    }

    fn hold(&self) -> Duration {
        self.update_interval
    }

    fn check_on_host(&self, keys: &mut dyn Visitor) {
        if self.link_failure == LinkFailure::Mac {
            keys.refuse("link_failure", "found \"mac\", allowed on real interfaces: \"hello\"".into());
        }
    }
}

impl Agent {
    /// Queues a packet for a neighbour, or for all neighbours of an interface.
    pub(super) fn send_on_host(&mut self, to: Option<IpAddr>, interface: Option<Interface>, packet: &Packet) {
        let Some(interface) = interface.or_else(|| Some(self.neighbours.get(to?)?.interface)) else { return };
        let to = to.and_then(|to| if let IpAddr::V6(to) = to { Some(unscoped(to)) } else { None });
        let mut bytes = Vec::with_capacity(packet.wire_len());
        packet.emit(&mut bytes);
        self.transmit(interface, to, bytes);
    }

    /// Queues a packet, signed with the keys of this host.
    fn transmit(&mut self, interface: Interface, to: Option<Ipv6Addr>, mut bytes: Vec<u8>) {
        let Some(from) = self.link_address(interface) else { return };
        let Some(host) = &mut self.host else { return };
        if let Some(authentication) = &mut host.authentication {
            mac::sign(authentication, Ends { from, to: to.unwrap_or(GROUP) }, &mut bytes);
        }
        self.counters.packets += 1;
        self.counters.bytes += bytes.len() as u64;
        host.datagrams.push_back(HostDatagram { interface, to, bytes });
    }

    /// Address from which packets leave over an interface.
    fn link_address(&self, interface: Interface) -> Option<Ipv6Addr> {
        match self.own(interface)?.address {
            IpAddr::V6(address) => Some(unscoped(address)),
            IpAddr::V4(_) => None,
        }
    }

    fn ends(&self, arrival: HostArrival) -> Option<Ends> {
        let to = if arrival.to_all { GROUP } else { self.link_address(arrival.interface)? };
        Some(Ends { from: arrival.from, to })
    }

    /// Checks the counter of a packet with a valid MAC, and sends challenges and answers to challenges.
    fn authenticate(&mut self, now: Instant, arrival: HostArrival, bytes: &[u8]) -> Result<(), HostRefusal> {
        let HostArrival { interface, from, to_all } = arrival;
        let Some(authentication) = self.host.as_mut().and_then(|host| host.authentication.as_mut()) else {
            return Ok(());
        };
        let checked = mac::check(authentication, now, (interface, from), to_all, bytes);
        let reply = checked.reply.iter().map(|nonce| (mac::CHALLENGE_REPLY, &nonce[..]));
        let challenge = checked.challenge.iter().map(|nonce| (mac::CHALLENGE_REQUEST, &nonce[..]));
        let answers: Vec<_> = reply.chain(challenge).collect();
        if !answers.is_empty() {
            let mut bytes = Vec::new();
            Packet::default().emit(&mut bytes);
            answers.into_iter().for_each(|(kind, value)| Trailer::append(&mut bytes, kind, value));
            self.transmit(interface, Some(from), bytes);
        }
        checked.refusal.map_or(Ok(()), Err)
    }

    /// Converts a TLV for an interface; `None` if it cannot be sent there. IPv4 routes have the interface's
    /// address as next hop.
    pub(super) fn over(&self, interface: Option<Interface>, tlv: Tlv) -> Option<Tlv> {
        let Tlv::Update(update) = tlv else { return Some(tlv) };
        if self.host.is_none() || update.prefix.is_ipv6() {
            return Some(tlv);
        }
        let next_hop = interface.and_then(|interface| self.own(interface)?.ipv4).map(IpAddr::V4);
        (next_hop.is_some() || update.offer.is_none()).then_some(Tlv::Update(Update { next_hop, ..update }))
    }

    /// Whether routes may lead to a destination.
    pub(super) fn accepts(&self, destination: Prefix) -> bool {
        let Some(host) = &self.host else { return true };
        let within = &host.within;
        destination.is_routable()
            && (within.is_empty() || within.iter().any(|network| network.contains(destination)))
    }

    /// Originates the addresses of this host and its networks, and retracts all others.
    fn originate(&mut self, now: Instant) {
        let Some(host) = &self.host else { return };
        let wanted: BTreeSet<_> = host.announced.iter().chain(&host.addresses).copied().collect();
        let before = core::mem::replace(&mut self.originated, wanted);
        let changed: Vec<_> = before.symmetric_difference(&self.originated).copied().collect();
        for destination in changed {
            self.lose_destination(now, destination);
            self.announce_soon(now, destination);
        }
    }

    /// Forgets the routes to a destination that neighbours have announced.
    fn lose_destination(&mut self, now: Instant, destination: Prefix) {
        for neighbour in self.routes.neighbours(destination) {
            self.routes.forget(neighbour, destination);
        }
        self.select(now, destination);
    }
}

impl HostAgent for Agent {
    fn set_interfaces(&mut self, now: Instant, interfaces: Vec<HostInterface>) {
        // RFC 8966 leaves link sensing to the implementation (3.4.3). Appendix A.2.1 waits for two Hellos. A neighbour's second Hello
        // comes up to a Hello interval later if this host missed one at the neighbour's start. Meanwhile babeld would learn longer
        // routes, which it prefers to a direct one for half a minute. Cables rarely lose packets, so they are used after one Hello.
        let sensing = |is_radio: bool| Sensing {
            cost: if is_radio { self.config.link_cost } else { LinkCost::Hops },
            presumes_link: !is_radio,
        };
        let own = |interface: &HostInterface| Own {
            number: interface.number,
            address: scoped(interface.number, interface.address).into(),
            ipv4: interface.addresses.iter().find_map(|address| match address {
                IpAddr::V4(address) => Some(*address),
                IpAddr::V6(_) => None,
            }),
            sensing: sensing(interface.is_radio),
            channel: INTERFERING,
        };
        let before = core::mem::replace(&mut self.own, interfaces.iter().map(own).collect());
        let gone = |one: &Neighbour| self.own(one.interface).is_none();
        let lost: Vec<_> = self.neighbours.iter().filter(|one| gone(one)).map(|one| one.address).collect();
        lost.into_iter().for_each(|neighbour| self.lose(now, neighbour));
        let is_new = |own: &Own| before.iter().all(|old| old.number != own.number);
        if self.own.iter().any(is_new) {
            self.greet_soon(now);
            self.waiting.request_all();
        }
        let addresses = interfaces.iter().flat_map(|interface| &interface.addresses);
        let addresses = addresses.map(|&address| Prefix::host(address)).filter(Prefix::is_routable);
        if let Some(host) = &mut self.host {
            host.addresses = addresses.collect();
        }
        self.originate(now);
    }

    fn set_networks(&mut self, now: Instant, announced: Vec<HostNetwork>, within: Vec<HostNetwork>) {
        let prefixes = |networks: Vec<HostNetwork>| {
            networks.into_iter().filter_map(|(address, len)| Prefix::new(address, len)).collect()
        };
        if let Some(host) = &mut self.host {
            (host.announced, host.within) = (prefixes(announced), prefixes(within));
        }
        let refused: Vec<_> = self.routes.destinations().filter(|&to| !self.accepts(to)).collect();
        refused.into_iter().for_each(|destination| self.lose_destination(now, destination));
        self.originate(now);
    }

    fn is_neighbour(&self, interface: Interface, address: Ipv6Addr) -> bool {
        self.neighbours.get(scoped(interface, address).into()).is_some()
    }

    fn admits(&mut self, _: Instant, arrival: HostArrival, bytes: &[u8]) -> Result<(), HostRefusal> {
        if !arrival.from.is_unicast_link_local() || !Packet::has_header(bytes) {
            return Err(HostRefusal::Malformed);
        }
        let authentication = self.host.as_ref().and_then(|host| host.authentication.as_ref());
        match (authentication, self.ends(arrival)) {
            (Some(authentication), Some(ends)) => mac::admit(authentication, ends, bytes),
            _ => Ok(()),
        }
    }

    fn receive(&mut self, now: Instant, arrival: HostArrival, bytes: &[u8]) -> Result<(), HostRefusal> {
        let HostArrival { interface, from, .. } = arrival;
        let mut packet = Packet::parse(bytes).map_err(|_| HostRefusal::Malformed)?;
        self.authenticate(now, arrival, bytes)?;
        for tlv in &mut packet.tlvs {
            scope(interface, tlv);
        }
        self.process(now, interface, scoped(interface, from).into(), &packet);
        Ok(())
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Machine::poll_timeout(self)
    }

    fn poll_datagram(&mut self, _: Instant) -> Option<HostDatagram> {
        self.host.as_mut()?.datagrams.pop_front()
    }

    fn farewell(&mut self, _: Instant, interface: Interface) -> Option<HostDatagram> {
        self.send(None, Some(interface), [Tlv::RetractAll].into());
        self.host.as_mut()?.datagrams.pop_back()
    }

    fn routes(&self) -> Vec<HostRoute> {
        let route = |destination: Prefix| {
            let route = self.routes.get(destination)?;
            let via = on_wire(route.next_hop);
            let interface = self.neighbours.get(route.neighbour)?.interface;
            Some(HostRoute { destination: destination.parts(), via, interface, cost: route.metric.into() })
        };
        let mut routes: Vec<_> = self.routes.destinations().filter_map(route).collect();
        routes.sort_by_key(|route| route.cost);
        routes
    }

    fn neighbours(&self) -> Vec<HostNeighbour> {
        let neighbour = |one: &Neighbour| {
            let IpAddr::V6(address) = one.address else { return None };
            Some(HostNeighbour {
                interface: one.interface,
                address: unscoped(address),
                heard: one.heard_at,
                received: one.received(),
                cost: self.neighbours.cost(one.address).filter(|cost| *cost < INFINITY).map(u32::from),
                round_trip: one.rtt(),
            })
        };
        self.neighbours.iter().filter_map(neighbour).collect()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let counters = &self.counters;
        Vec::from([
            ("hellos", counters.hellos),
            ("updates", counters.updates),
            ("dumps", counters.dumps),
            ("requests", counters.requests),
            ("unfeasible", counters.unfeasible),
            ("lost", counters.lost),
        ])
    }
}

impl Agent {
    /// Sends early messages that a neighbour on a real host waits for: Hellos to a new neighbour, a report
    /// when the link begins or ceases to be heard, and all routes when the link becomes usable. `before`:
    /// whether the link was heard, and used.
    pub(super) fn follow_link_change(&mut self, now: Instant, neighbour: IpAddr, before: (bool, bool)) {
        let Some(found) = self.neighbours.get(neighbour).filter(|_| self.host.is_some()) else { return };
        let after = (found.is_heard(), found.is_used());
        if after.0 != before.0 {
            self.report_soon(now, neighbour);
        }
        if after.1 && !before.1 {
            self.dump_soon(now);
            if let Some(host) = &mut self.host {
                host.repeats = REPEATS;
            }
        }
    }

    /// Whether an announcement of all routes leaves with the next Hello although the update interval has not passed: with the first
    /// [`REPEATS`] Hellos after a link has become usable.
    ///
    /// RFC 8966 (3.7.1) bounds the interval between updates from above only. A neighbour that smooths metrics (A.3) may compare
    /// routes only when an update arrives, as babeld does. babeld starts the average of a new route at half of infinity, and
    /// keeps a longer route that it learned first for 20 s and more; with updates every 16 s it would notice up to 16 s later.
    pub(super) fn takes_repeat(&mut self) -> bool {
        let Some(host) = &mut self.host else { return false };
        let repeats = host.repeats > 0;
        host.repeats = host.repeats.saturating_sub(1);
        repeats
    }

    /// Sends Hellos soon, and once more a moment later: neighbours with the rule of appendix A.2.1 use a cable after two Hellos.
    pub(super) fn greet_soon(&mut self, now: Instant) {
        let Some(host) = &mut self.host else { return };
        host.is_starting = true;
        let earliest = host.greeted.map_or(now, |last| now.max(last + GREETING_INTERVAL));
        let at = earliest + self.rng.duration_below(FIRST_HELLO);
        let due = self.timers.at(Timer::Hello).map_or(at, |before| before.min(at));
        self.timers.set(Timer::Hello, due);
    }

    /// Requests the routes of neighbours that are heard, but have not reported that they hear this host.
    ///
    /// A neighbour answers the first request of a new link (RFC 8966, 3.8.1.1) before enough Hellos of this host have arrived, and
    /// its IHU then reports an infinite cost. babeld sends further IHUs with every third Hello, or in answer to a request. Without a
    /// request after the Hellos, the link would be used at one end only for up to three Hello intervals.
    pub(super) fn request_missing_reports(&mut self, now: Instant) {
        if self.host.is_none() {
            return;
        }
        let waits = |one: &&Neighbour| one.is_heard() && !one.is_used();
        let waiting: Vec<_> = self.neighbours.iter().filter(waits).map(|one| one.address).collect();
        waiting.into_iter().for_each(|neighbour| self.queue_for(now, neighbour, Tlv::RouteRequest(None)));
    }

    /// Whether another Hello immediately follows the one that is sent now.
    pub(super) fn takes_start(&mut self, now: Instant) -> bool {
        let Some(host) = self.host.as_mut().filter(|host| host.is_starting) else { return false };
        (host.is_starting, host.greeted) = (false, Some(now));
        true
    }
}

/// Adds the number of an interface to the link-local addresses in a TLV.
fn scope(interface: Interface, tlv: &mut Tlv) {
    let address = match tlv {
        Tlv::Ihu(Ihu { address, .. }) => address,
        Tlv::Update(Update { next_hop, .. }) => next_hop,
        _ => return,
    };
    if let Some(IpAddr::V6(address)) = address
        && address.is_unicast_link_local()
    {
        *address = scoped(interface, *address);
    }
}

/// A link-local address with the number of its interface in the third and fourth byte, as in BSD kernels,
/// because two interfaces may reach neighbours with equal addresses.
fn scoped(interface: Interface, address: Ipv6Addr) -> Ipv6Addr {
    let mut octets = address.octets();
    octets[3] = interface.0;
    octets.into()
}

/// Address in the form for packets, without interface number.
pub(super) fn on_wire(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => unscoped(address).into(),
        IpAddr::V4(_) => address,
    }
}

/// A link-local address without the number of its interface.
fn unscoped(address: Ipv6Addr) -> Ipv6Addr {
    if !address.is_unicast_link_local() {
        return address;
    }
    let mut octets = address.octets();
    octets[3] = 0;
    octets.into()
}

/// Number of Hellos that come with all routes after a link has become usable. An average that starts at 32767 and halves its
/// distance with every Hello is within 96, the cost of a cable, after the ninth.
const REPEATS: u8 = 9;
/// Shortest time between early Hellos.
const GREETING_INTERVAL: Duration = Duration::from_secs(1);
/// Longest wait before the first Hello over a new interface.
pub(super) const FIRST_HELLO: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
