//! Tests of AODV behind several interfaces, in virtual time.

use multihop_routing::aodv::Config as Aodv;
use multihop_wire::aodv::{Message as AodvMessage, Reply, Request, Sequence};
use multihop_wire::ipv4;

use super::tests::four;
use super::*;

const fn address(network: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, network, host)
}

fn config() -> Config {
    Config { protocol: "aodv", routing: Routing::Aodv(Aodv::for_hosts()), ..Config::default() }
}

fn packet(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let header =
        ipv4::Header { tos: 0, id: 0, dont_fragment: false, ttl: 9, protocol: 17, source, destination };
    let mut packet = Vec::new();
    header.emit(&[0; 8], &mut packet);
    packet
}

/// Routers, and links between their interfaces. Router and interface numbers start at zero.
struct Net {
    now: Instant,
    routers: Vec<Router>,
    links: Vec<([(usize, u32); 2], bool)>,
    /// Outcome of each packet, with the router at which it ended.
    outcomes: Vec<(usize, PacketOutcome)>,
}

impl Net {
    fn new(addresses: &[&[Ipv4Addr]]) -> Self {
        let routers = addresses.iter().zip(1..).map(|(own, seed)| router(own, seed, 1_000));
        Self { now: Instant::ZERO, routers: routers.collect(), links: Vec::new(), outcomes: Vec::new() }
    }

    fn link(mut self, a: (usize, u32), b: (usize, u32)) -> Self {
        self.links.push(([a, b], true));
        self
    }

    fn run(&mut self, milliseconds: u64) {
        let end = self.now + Duration::from_millis(milliseconds);
        while self.now < end {
            self.now += Duration::from_millis(5);
            for n in 0..self.routers.len() {
                self.settle(n);
            }
        }
    }

    fn settle(&mut self, n: usize) {
        let router = &mut self.routers[n];
        if router.poll_timeout().is_some_and(|at| at <= self.now) {
            router.handle_timeout(self.now);
        }
        self.outcomes.extend(router.take_outcomes().into_iter().map(|outcome| (n, outcome)));
        for datagram in router.take_datagrams(self.now) {
            self.deliver(n, &datagram);
        }
    }

    fn deliver(&mut self, from: usize, datagram: &Datagram) {
        let here = (from, datagram.interface);
        let address = |net: &Self, (router, interface): (usize, u32)| {
            net.routers[router].ports.iter().find(|port| port.index == interface).unwrap().address
        };
        let source = address(self, here);
        for (ends, works) in self.links.clone() {
            let there = ends.iter().position(|end| *end == here).map(|at| ends[1 - at]);
            let Some(there) = there.filter(|_| works) else { continue };
            if datagram.to.is_none_or(|to| to == address(self, there)) {
                let (to_all, ttl) = (datagram.to.is_none(), datagram.ttl);
                let arrival = Arrival { interface: there.1, from: source, to_all, ttl, ago: Duration::ZERO };
                self.routers[there.0].receive(self.now, arrival, &datagram.bytes);
            }
        }
    }

    /// Hands a packet without a route to a router.
    fn catch(&mut self, router: usize, source: Ipv4Addr, destination: Ipv4Addr) {
        let now = self.now;
        self.routers[router].catch(now, &packet(source, destination));
        self.settle(router);
    }

    fn via(&mut self, router: usize, to: Ipv4Addr) -> Option<Ipv4Addr> {
        let now = self.now;
        self.routers[router].routes(now).get(&Prefix::host(to)).map(|path| path.via.map_or(to, four))
    }

    fn counts(&self, router: usize) -> OnDemandCounts {
        self.routers[router].on_demand().unwrap().0
    }
}

fn router(own: &[Ipv4Addr], seed: u64, epoch: u64) -> Router {
    let mut router = Router::new(config(), seed, epoch);
    let all: Vec<_> = own.iter().map(|address| IpAddr::V4(*address)).collect();
    router.set_own(all.clone(), all);
    let ports: Vec<_> = (0..).zip(own).map(|(index, address)| Port::new(index, *address)).collect();
    router.set_ports(Instant::ZERO, &ports);
    router
}

/// Chain 0 -- 1 -- 2 -- 3, in which routers 1 and 2 have two interfaces each and all neighbours have heard
/// each other.
fn line() -> Net {
    let addresses: [&[_]; 4] = [
        &[address(1, 1)],
        &[address(1, 2), address(2, 2)],
        &[address(2, 3), address(3, 3)],
        &[address(3, 4)],
    ];
    let net = Net::new(&addresses).link((0, 0), (1, 0)).link((1, 1), (2, 0)).link((2, 1), (3, 0));
    let mut net = net;
    net.run(2_500);
    net
}

/// Network in which router 0 reaches router 3 over router 1 or router 2.
fn diamond() -> Net {
    let addresses: [&[_]; 4] = [
        &[address(1, 1), address(2, 1)],
        &[address(1, 2), address(3, 2)],
        &[address(2, 3), address(4, 3)],
        &[address(3, 4), address(4, 4)],
    ];
    let net = Net::new(&addresses).link((0, 0), (1, 0)).link((1, 1), (3, 0));
    let mut net = net.link((0, 1), (2, 0)).link((2, 1), (3, 1));
    net.run(2_500);
    net
}

#[test]
fn a_packet_waits_for_its_route_and_leaves() {
    let mut net = line();
    assert_eq!(net.via(0, address(1, 2)), Some(address(1, 2)), "a neighbour");
    assert_eq!(net.via(0, address(3, 4)), None, "nobody has searched for it");
    net.catch(0, address(1, 1), address(3, 4));
    assert_eq!((net.outcomes.len(), net.routers[0].on_demand().unwrap().1), (0, 1), "it waits");
    net.run(1_500);
    let sent = packet(address(1, 1), address(3, 4));
    assert_eq!(net.outcomes, [(0, PacketOutcome::Leaves { interface: 0, packet: sent })]);
    let routes = [(0, 3, 4, 1, 2), (1, 3, 4, 2, 3), (2, 3, 4, 3, 4), (3, 1, 1, 3, 3), (2, 1, 1, 2, 2)];
    for (router, network, host, via_network, via_host) in routes {
        let to = address(network, host);
        assert_eq!(net.via(router, to), Some(address(via_network, via_host)), "from {router} to {to}");
    }
    let path = net.routers[0].routes(net.now)[&Prefix::host(address(3, 4))];
    assert_eq!((path.hops, path.source), (Some(3), Some(address(1, 1).into())));
}

#[test]
fn each_interface_sends_hellos_with_its_own_address() {
    let mut router = router(&[address(1, 1), address(2, 1)], 1, 0);
    let mut named: BTreeMap<u32, Vec<Ipv4Addr>> = BTreeMap::new();
    for _ in 0..600 {
        let now = router.poll_timeout().expect("the next HELLO is due");
        router.handle_timeout(now);
        for datagram in router.take_datagrams(now) {
            let Ok(AodvMessage::Reply(hello)) = AodvMessage::parse(&datagram.bytes) else { continue };
            assert_eq!((hello.originator, datagram.to), (hello.destination, None));
            named.entry(datagram.interface).or_default().push(hello.destination);
        }
    }
    for (interface, own) in [(0, address(1, 1)), (1, address(2, 1))] {
        let named = &named[&interface];
        assert!(named.len() > 5 && named.iter().all(|name| *name == own), "{interface}: {named:?}");
    }
}

#[test]
fn every_address_of_a_node_is_found() {
    for to in [address(2, 2), address(2, 3), address(3, 3)] {
        let mut net = line();
        net.catch(0, address(1, 1), to);
        net.run(1_500);
        assert_eq!(net.via(0, to), Some(address(1, 2)), "{to}");
        assert!(matches!(net.outcomes[..], [(0, PacketOutcome::Leaves { .. })]), "{to}");
    }
}

#[test]
fn a_host_that_nobody_knows_is_searched_for_and_its_packets_refused() {
    let mut net = line();
    net.catch(0, address(1, 1), address(9, 9));
    net.run(10_000);
    let sent = packet(address(1, 1), address(9, 9));
    assert_eq!(net.outcomes, [(0, PacketOutcome::Refused { packet: sent })]);
    assert!(net.counts(3).requests > 0, "the last node has forwarded a request");
}

#[test]
fn routes_live_as_long_as_the_kernel_uses_them() {
    let mut net = line();
    net.catch(0, address(1, 1), address(3, 4));
    net.run(1_500);
    for _ in 0..100 {
        net.run(100);
        for router in 0..3 {
            let now = net.now;
            net.routers[router].on_use(now, address(1, 1), address(3, 4));
        }
    }
    for (router, to) in [(0, address(3, 4)), (1, address(3, 4)), (1, address(1, 1)), (2, address(1, 1))] {
        assert!(net.via(router, to).is_some(), "in use: from {router} to {to}");
    }
    net.run(3_500);
    for router in 0..2 {
        assert_eq!(net.via(router, address(3, 4)), None, "not in use, at {router}");
    }
    assert_eq!(net.via(0, address(1, 2)), Some(address(1, 2)), "a neighbour stays");
}

#[test]
fn a_router_without_a_route_tells_the_source_and_the_nodes_before_it() {
    let mut net = line();
    net.catch(0, address(1, 1), address(3, 4));
    net.run(1_500);
    net.outcomes.clear();
    net.links[2].1 = false;
    net.run(2_300);
    assert_eq!(net.via(2, address(3, 4)), None, "its HELLOs are missing");
    assert_eq!(net.via(0, address(3, 4)), None, "a route error has come");
    // The packet has another source: this node only forwards it.
    let before = net.counts(1);
    net.catch(1, address(1, 1), address(3, 4));
    let sent = packet(address(1, 1), address(3, 4));
    assert_eq!(net.outcomes, [(1, PacketOutcome::Refused { packet: sent })]);
    let after = net.counts(1);
    assert_eq!((after.requests, after.errors), (before.requests, before.errors + 1), "told, not searched");
}

#[test]
fn a_neighbour_that_the_kernel_does_not_find_is_routed_around() {
    let mut net = diamond();
    net.catch(0, address(1, 1), address(3, 4));
    net.run(1_500);
    assert_eq!(net.via(0, address(3, 4)), Some(address(1, 2)));
    net.links[0].1 = false;
    let now = net.now;
    net.routers[0].on_neighbour_failed(now, 1, address(1, 2).into());
    assert_eq!(net.via(0, address(3, 4)), Some(address(1, 2)), "it is no neighbour over that interface");
    net.routers[0].on_neighbour_failed(now, 0, address(1, 2).into());
    assert_eq!(net.via(0, address(3, 4)), None);
    net.outcomes.clear();
    net.catch(0, address(1, 1), address(3, 4));
    net.run(1_500);
    assert_eq!(net.via(0, address(3, 4)), Some(address(2, 3)));
    assert!(
        matches!(net.outcomes[..], [(0, PacketOutcome::Leaves { interface: 1, .. })]),
        "{:?}",
        net.outcomes
    );
}

#[test]
fn packets_to_groups_or_outside_of_the_networks_are_not_searched_for() {
    let mut net = line();
    for to in ["224.0.0.251", "255.255.255.255", "0.0.0.0"] {
        net.catch(0, address(1, 1), to.parse().unwrap());
    }
    assert_eq!((net.outcomes.len(), net.counts(0).caught), (0, 0));
    let within = vec!["10.0.1.0/24".parse().unwrap()];
    net.routers[0].configure(net.now, Config { within, ..config() });
    net.catch(0, address(1, 1), address(3, 4));
    assert!(matches!(net.outcomes[..], [(0, PacketOutcome::Refused { .. })]), "{:?}", net.outcomes);
    for length in 0..packet(address(1, 1), address(3, 4)).len() {
        let now = net.now;
        net.routers[0].catch(now, &packet(address(1, 1), address(3, 4))[..length]);
    }
}

#[test]
fn a_message_for_one_host_counts_from_neighbours_only() {
    let mut net = line();
    let reply = Reply {
        repair: false,
        ack_required: false,
        prefix_size: 0,
        hop_count: 0,
        destination: address(9, 9),
        destination_sequence: Sequence(5),
        originator: address(1, 1),
        lifetime_ms: 10_000,
    };
    let mut bytes = Vec::new();
    AodvMessage::Reply(reply).emit(&mut bytes);
    let now = net.now;
    let stranger =
        Arrival { interface: 0, from: address(7, 7).into(), to_all: false, ttl: 60, ago: Duration::ZERO };
    net.routers[0].receive(now, stranger, &bytes);
    assert_eq!((net.via(0, address(9, 9)), net.routers[0].counters().strangers), (None, 1));
    net.routers[0].receive(now, Arrival { from: address(1, 2).into(), ..stranger }, &bytes);
    assert_eq!(net.via(0, address(9, 9)), Some(address(1, 2)));
}

#[test]
fn a_restarted_node_is_believed() {
    // If the clock was set back, the sequence numbers restart lower, and other nodes mistake new requests for
    // old ones.
    for (epoch, is_believed) in [(1_013, true), (500, false)] {
        let mut net = line();
        net.catch(0, address(1, 1), address(3, 4));
        net.run(10_000);
        net.routers[0] = router(&[address(1, 1)], 9, epoch);
        net.outcomes.clear();
        net.run(1_500);
        net.catch(0, address(1, 1), address(3, 4));
        net.run(1_500);
        let leaves = matches!(net.outcomes[..], [(0, PacketOutcome::Leaves { .. })]);
        assert_eq!(leaves, is_believed, "{:?}", net.outcomes);
    }
}

#[test]
fn a_flood_of_requests_fills_neither_memory_nor_tables() {
    let mut net = line();
    let request = |n: u32| {
        let request = Request {
            join: false,
            repair: false,
            gratuitous: false,
            destination_only: false,
            hop_count: 0,
            id: n,
            destination: Ipv4Addr::from_bits(0x0c00_0000 + n),
            destination_sequence: None,
            originator: Ipv4Addr::from_bits(0x0b00_0000 + n),
            originator_sequence: Sequence(1),
        };
        let mut bytes = Vec::new();
        AodvMessage::Request(request).emit(&mut bytes);
        bytes
    };
    let arrival =
        Arrival { interface: 0, from: address(1, 2).into(), to_all: true, ttl: 9, ago: Duration::ZERO };
    let mut sent = 0;
    for second in 0..20 {
        for _ in 0..500 {
            sent += 1;
            let now = net.now;
            net.routers[0].receive(now, arrival, &request(sent));
        }
        assert!(net.routers[0].aodv().unwrap().agent.destinations() <= 8_192, "in second {second}");
        net.now += Duration::from_secs(1);
        net.settle(0);
    }
    let now = net.now;
    assert!(
        net.routers[0].routes(now).len() <= 4_096,
        "one neighbour leads to half of the destinations at most"
    );
    // Routes that have expired are remembered for 15 s.
    net.run(21_000);
    net.catch(0, address(1, 1), address(3, 4));
    net.run(2_000);
    assert_eq!(net.via(0, address(3, 4)), Some(address(1, 2)), "it still finds routes");
}
