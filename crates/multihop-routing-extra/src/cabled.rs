//! Hosts of tests, connected by cables, in virtual time.

use core::net::{IpAddr, Ipv6Addr};

use multihop_core::{Duration, Instant, Interface};
use multihop_routing::host::{
    HostAgent, HostArrival, HostConfig, HostDatagram, HostInterface, HostRefusal, HostRoute, HostSetup,
};

/// The interfaces at both ends of a cable, each by its host and its number. Both numbers start at zero.
pub(crate) type Cable = [(usize, u8); 2];

/// Hosts and the cables between them.
pub(crate) struct Cabled {
    pub(crate) now: Instant,
    pub(crate) hosts: Vec<Box<dyn HostAgent>>,
    pub(crate) cables: Vec<Cable>,
    /// Reasons of all refused datagrams.
    pub(crate) refusals: Vec<HostRefusal>,
}

/// Link-local address that every interface of a host has: interfaces of a host differ by number only.
pub(crate) fn link(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, u16::try_from(host + 1).expect("few hosts"))
}

/// An interface that is no radio.
pub(crate) fn cable_end(host: usize, number: u8, addresses: [IpAddr; 2]) -> HostInterface {
    HostInterface {
        number: Interface(number),
        address: link(host),
        addresses: addresses.into(),
        is_radio: false,
    }
}

/// The agent of a host that starts at `now`. Each of its keys repeats a byte; `interface` describes an interface of a host.
pub(crate) fn start(
    now: Instant,
    config: &dyn HostConfig,
    (host, keys): (usize, &[u8]),
    cables: &[Cable],
    interface: fn(usize, u8) -> HostInterface,
) -> Box<dyn HostAgent> {
    let keys = keys.iter().map(|key| [*key; 32]).collect();
    let epoch = now.as_nanos() / 1_000_000_000;
    let mut agent = config.host_agent(HostSetup { now, seed: host as u64, epoch, keys });
    let ends = cables.iter().flatten().filter(|end| end.0 == host);
    let mut numbers: Vec<u8> = ends.map(|end| end.1).collect();
    numbers.sort_unstable();
    agent.set_interfaces(now, numbers.into_iter().map(|number| interface(host, number)).collect());
    agent
}

impl Cabled {
    /// Hosts that start together, one for each list of keys.
    pub(crate) fn new(
        config: &dyn HostConfig,
        keys: &[&[u8]],
        cables: &[Cable],
        interface: fn(usize, u8) -> HostInterface,
    ) -> Self {
        let now = Instant::ZERO;
        let hosts = keys.iter().enumerate();
        let hosts = hosts.map(|(host, keys)| start(now, config, (host, keys), cables, interface)).collect();
        Self { now, hosts, cables: cables.to_vec(), refusals: Vec::new() }
    }

    pub(crate) fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while self.now < end {
            self.now += Duration::from_millis(5);
            for from in 0..self.hosts.len() {
                if self.hosts[from].poll_timeout().is_some_and(|due| due <= self.now) {
                    self.hosts[from].handle_timeout(self.now);
                }
                while let Some(datagram) = self.hosts[from].poll_datagram(self.now) {
                    self.deliver(from, &datagram);
                }
            }
        }
    }

    /// Delivers a datagram of a host over the cable at its interface.
    pub(crate) fn deliver(&mut self, from: usize, datagram: &HostDatagram) {
        let source = (from, datagram.interface.0);
        for [a, b] in self.cables.clone() {
            let ends = [(a, b), (b, a)].into_iter().find(|(end, _)| *end == source);
            let Some((_, (to, number))) = ends else { continue };
            if datagram.to.is_some_and(|address| address != link(to)) {
                continue;
            }
            let to_all = datagram.to.is_none();
            let arrival = HostArrival { interface: Interface(number), from: link(from), to_all };
            let admitted = self.hosts[to].admits(self.now, arrival, &datagram.bytes);
            let done = admitted.and_then(|()| self.hosts[to].receive(self.now, arrival, &datagram.bytes));
            self.refusals.extend(done.err());
        }
    }

    /// The route of a host to an address.
    pub(crate) fn route(&self, host: usize, to: IpAddr) -> Option<HostRoute> {
        self.hosts[host].routes().into_iter().find(|route| route.destination.0 == to)
    }
}
