//! Test network of routers and links in virtual time.

use multihop_wire::olsr::Packet;

use super::super::*;

/// Routers, and links between their interfaces. Router and interface numbers start at zero.
pub(super) struct Net {
    pub(super) now: Instant,
    pub(super) routers: Vec<Router>,
    /// Links: a pair of (router, interface), and whether the link works.
    pub(super) links: Vec<([(usize, u32); 2], bool)>,
    /// A link that delays its datagrams, and the delay.
    pub(super) late: Option<(usize, Duration)>,
    delayed: Vec<(Instant, usize, u32, IpAddr, Vec<u8>)>,
    /// Packets of IPv4 that were sent, by the router.
    pub(super) sent: Vec<(usize, u32, Packet)>,
}

impl Net {
    /// Creates routers whose interfaces have these addresses.
    pub(super) fn new<A: Into<IpAddr> + Copy>(addresses: &[&[A]], config: &Config) -> Self {
        let routers = addresses.iter().zip(1..).map(|(own, seed)| {
            let mut router = Router::new(config.clone(), seed, 1_000_000);
            router.set_ports(Instant::ZERO, &ports(own));
            router
        });
        Self {
            now: Instant::ZERO,
            routers: routers.collect(),
            links: Vec::new(),
            late: None,
            delayed: Vec::new(),
            sent: Vec::new(),
        }
    }

    pub(super) fn link(mut self, a: (usize, u32), b: (usize, u32)) -> Self {
        self.links.push(([a, b], true));
        self
    }

    pub(super) fn address(&self, (router, interface): (usize, u32)) -> IpAddr {
        let port = self.routers[router].ports.iter().find(|port| port.index == interface);
        port.expect("a link joins interfaces").address
    }

    pub(super) fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while self.now < end {
            self.step();
        }
    }

    /// Advances the network by ten milliseconds.
    pub(super) fn step(&mut self) {
        self.now += Duration::from_millis(10);
        let now = self.now;
        for (_, router, interface, source, bytes) in self.delayed.extract_if(.., |(at, ..)| *at <= now) {
            self.routers[router].hear(now, interface, source, &bytes);
        }
        for n in 0..self.routers.len() {
            let router = &mut self.routers[n];
            if router.poll_timeout().is_some_and(|at| at <= self.now) {
                router.handle_timeout(self.now);
            }
            for datagram in router.take_datagrams(self.now) {
                self.deliver(n, &datagram);
            }
        }
    }

    pub(super) fn deliver(&mut self, from: usize, datagram: &Datagram) {
        let here = (from, datagram.interface);
        let source = self.address(here);
        if source.is_ipv4() {
            self.sent.push((from, datagram.interface, Packet::parse(&datagram.bytes).unwrap()));
        }
        for (number, (ends, works)) in self.links.clone().into_iter().enumerate() {
            let to = ends.iter().position(|end| *end == here).map(|at| ends[1 - at]);
            let Some((router, interface)) = to.filter(|_| works) else { continue };
            match self.late.filter(|(link, _)| *link == number) {
                None => self.routers[router].hear(self.now, interface, source, &datagram.bytes),
                Some((_, late)) => {
                    self.delayed.push((self.now + late, router, interface, source, datagram.bytes.clone()));
                }
            }
        }
    }

    /// Next hop of packets from a router to an address.
    pub(super) fn next_hop(&mut self, router: usize, to: IpAddr) -> Option<IpAddr> {
        self.routers[router].routes(self.now).get(&Prefix::host(to)).map(|path| path.via.unwrap_or(to))
    }
}

impl Router {
    /// A datagram for all neighbours has arrived.
    pub(in super::super) fn hear(
        &mut self,
        now: Instant,
        interface: u32,
        from: impl Into<IpAddr>,
        bytes: &[u8],
    ) {
        let arrival = Arrival { interface, from: from.into(), to_all: true, ttl: 1, ago: Duration::ZERO };
        self.receive(now, arrival, bytes);
    }
}

pub(in super::super) fn ports<A: Into<IpAddr> + Copy>(addresses: &[A]) -> Vec<Port> {
    (0..).zip(addresses).map(|(index, address)| Port::new(index, *address)).collect()
}
