//! A router whose protocol is registered by the program: an agent with packets and routes of its own.

use std::net::IpAddr;

use multihop_core::{Instant, Interface};
use multihop_routing::host::{
    HostAgent, HostArrival, HostDatagram, HostInterface, HostNeighbour, HostRefusal, HostRoute, HostSetup,
};

use super::{Agent, Arrival, Datagram, MAX_ROUTES, Path, Port, Protocol, Reason, Router};
use crate::config::Routing;
use crate::prefix::Prefix;

impl Router {
    /// The agent of a registered protocol.
    pub(crate) fn extension(&self) -> Option<&dyn HostAgent> {
        match &self.agent.as_ref()?.protocol {
            Protocol::Extension(agent) => Some(&**agent),
            Protocol::Olsr(_) | Protocol::Aodv(_) => None,
        }
    }

    pub(super) fn extension_mut(&mut self) -> Option<&mut Box<dyn HostAgent>> {
        match &mut self.agent.as_mut()?.protocol {
            Protocol::Extension(agent) => Some(agent),
            Protocol::Olsr(_) | Protocol::Aodv(_) => None,
        }
    }

    /// The neighbours of a registered protocol, each with the number of the interface in the kernel.
    pub(crate) fn extension_neighbours(&self) -> Vec<(u32, HostNeighbour)> {
        let neighbours = self.extension().map(HostAgent::neighbours).unwrap_or_default();
        let with_index = |one: HostNeighbour| Some((self.port(one.interface)?.index, one));
        neighbours.into_iter().filter_map(with_index).collect()
    }

    pub(super) fn new_extension(&mut self, now: Instant) -> Option<Protocol> {
        let Routing::Extension(protocol) = &self.config.routing else { return None };
        let setup = HostSetup { now, seed: self.rng.next_u64(), epoch: self.epoch, keys: self.config.keys() };
        Some(Protocol::Extension(protocol.config().host_agent(setup)))
    }

    /// Passes the interfaces and networks of this host to the agent.
    pub(super) fn inform_extension(&mut self, now: Instant) {
        let interface = |port: &Port| {
            let IpAddr::V6(address) = port.address else { return None };
            let (number, addresses, is_radio) = (port.number, port.others.clone(), port.is_radio);
            Some(HostInterface { number, address, addresses, is_radio })
        };
        let interfaces = self.ports.iter().filter_map(interface).collect();
        let parts = |networks: &[Prefix]| networks.iter().map(|network| network.parts()).collect();
        let (announced, within) = (parts(&self.config.announce), parts(&self.config.within));
        if let Some(agent) = self.extension_mut() {
            agent.set_networks(now, announced, within);
            agent.set_interfaces(now, interfaces);
        }
    }

    fn arrival(&self, arrival: Arrival) -> Option<HostArrival> {
        let IpAddr::V6(from) = arrival.from else { return None };
        let interface = self.ports.iter().find(|port| port.index == arrival.interface)?.number;
        Some(HostArrival { interface, from, to_all: arrival.to_all })
    }

    pub(super) fn is_extension_neighbour(&self, interface: u32, address: IpAddr) -> bool {
        let number = self.ports.iter().find(|port| port.index == interface).map(|port| port.number);
        let (Some(agent), Some(number), IpAddr::V6(address)) = (self.extension(), number, address) else {
            return false;
        };
        agent.is_neighbour(number, address)
    }

    pub(super) fn extension_admits(&mut self, now: Instant, arrival: Arrival, bytes: &[u8]) -> bool {
        let Some(from) = self.arrival(arrival) else { return false };
        let Some(agent) = self.extension_mut() else { return false };
        let admitted = agent.admits(now, from, bytes);
        if let Err(refusal) = admitted {
            self.refuse(now, arrival.from, refusal.into());
        }
        admitted.is_ok()
    }

    pub(super) fn receive_extension(&mut self, now: Instant, arrival: Arrival, bytes: &[u8]) {
        let Some(from) = self.arrival(arrival) else { return };
        let Some(agent) = self.extension_mut() else { return };
        match agent.receive(now, from, bytes) {
            Ok(()) => self.counters.received += 1,
            Err(refusal) => self.refuse(now, arrival.from, refusal.into()),
        }
    }

    pub(super) fn take_extension(&mut self, now: Instant) -> Vec<Datagram> {
        let mut datagrams = Vec::new();
        while let Some(datagram) = self.extension_mut().and_then(|agent| agent.poll_datagram(now)) {
            datagrams.extend(self.outgoing(datagram));
        }
        datagrams
    }

    pub(super) fn extension_farewell(&mut self, now: Instant, interface: u32) -> Option<Datagram> {
        let number = self.ports.iter().find(|port| port.index == interface)?.number;
        let datagram = self.extension_mut()?.farewell(now, number)?;
        self.outgoing(datagram)
    }

    fn outgoing(&self, datagram: HostDatagram) -> Option<Datagram> {
        let interface = self.port(datagram.interface)?.index;
        Some(Datagram { interface, to: datagram.to.map(IpAddr::V6), ttl: 1, bytes: datagram.bytes })
    }

    fn port(&self, number: Interface) -> Option<&Port> {
        self.ports.iter().find(|port| port.number == number)
    }

    pub(super) fn found_by_extension(&self) -> Vec<(Prefix, Path)> {
        let routes = self.extension().map(HostAgent::routes).unwrap_or_default();
        let path = |route: HostRoute| {
            let interface = self.port(route.interface)?.index;
            let (address, bits) = route.destination;
            let cost = Some(route.cost.into());
            let path = Path { via: Some(route.via), interface, hops: None, cost, source: None };
            Some((Prefix::around(address, bits), path))
        };
        routes.into_iter().filter_map(path).take(2 * MAX_ROUTES).collect()
    }
}

impl Agent {
    pub(super) const fn is_extension(&self) -> bool {
        matches!(self.protocol, Protocol::Extension(_))
    }
}

impl From<HostRefusal> for Reason {
    fn from(refusal: HostRefusal) -> Self {
        match refusal {
            HostRefusal::Malformed => Self::Malformed,
            HostRefusal::Unsigned => Self::Unsigned,
            HostRefusal::WrongKey => Self::WrongKey,
            HostRefusal::Replayed => Self::Replayed,
            HostRefusal::Unproven => Self::Unproven,
            HostRefusal::TooMany => Self::TooMany,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use multihop_core::Duration;
    use multihop_routing_extra::babel;

    use super::*;
    use crate::config::{Config, HostProtocol};

    #[test]
    fn an_agent_without_main_address_goes_on_when_the_first_interface_is_gone() {
        let routing = Routing::Extension(HostProtocol::new(babel::Config::default()).unwrap());
        let mut router = Router::new(Config { routing, ..Config::default() }, 1, 0);
        let [one, two] = [1, 2].map(|n| Port::new(n.into(), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n)));
        router.set_ports(Instant::ZERO, &[one, two.clone()]);
        let later = Instant::ZERO + Duration::from_secs(5);
        router.set_ports(later, std::slice::from_ref(&two));
        assert_eq!((router.age(later), router.main()), (Duration::from_secs(5), Some(two.address)));
    }
}
