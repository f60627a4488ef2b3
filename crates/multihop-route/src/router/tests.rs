//! Tests of routers on links, in virtual time.

use std::sync::Arc;

use multihop_wire::olsr::{
    Body, Hello, HelloLink, Hna, LinkCode, Message, Mid, Opaque, Packet, Tc, TimeCode, Willingness,
};

use super::names::OfFamily as _;
use super::*;
use crate::prefix::Family;
use net::Net;
pub(super) use net::ports;

mod early;
mod ipv6;
mod net;
mod revision;
mod signed;

const fn address(network: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, network, host)
}

/// An address of IPv4.
pub(super) fn four(address: IpAddr) -> Ipv4Addr {
    Ipv4Addr::of(address).unwrap()
}

impl Net {
    /// Next hop of packets from a router to an IPv4 address.
    fn via(&mut self, router: usize, to: Ipv4Addr) -> Option<Ipv4Addr> {
        self.next_hop(router, to.into()).map(four)
    }
}

fn network(text: &str) -> Prefix {
    Family::Ipv4.network(text).unwrap()
}

/// Chain 0 -- 1 == 2 -- 3, in which routers 1 and 2 have two interfaces each.
fn line() -> Net {
    let addresses: [&[_]; 4] = [
        &[address(1, 1)],
        &[address(1, 2), address(2, 2)],
        &[address(2, 3), address(3, 3)],
        &[address(3, 4)],
    ];
    Net::new(&addresses, &Config::default()).link((0, 0), (1, 0)).link((1, 1), (2, 0)).link((2, 1), (3, 0))
}

#[test]
fn nodes_with_several_interfaces_find_routes_to_all_of_them() {
    let mut net = line();
    net.run(40);
    for (router, to, via) in [
        (0, address(3, 4), address(1, 2)),
        (0, address(2, 3), address(1, 2)),
        (0, address(3, 3), address(1, 2)),
        (0, address(2, 2), address(1, 2)),
        (0, address(1, 2), address(1, 2)),
        (3, address(1, 1), address(3, 3)),
        (2, address(1, 1), address(2, 2)),
        (1, address(3, 4), address(2, 3)),
    ] {
        assert_eq!(net.via(router, to), Some(via), "from {router} to {to}");
    }
    let paths = net.routers[1].routes(net.now);
    assert_eq!(paths[&Prefix::host(address(1, 1))].interface, 0);
    assert_eq!(paths[&Prefix::host(address(3, 4))].interface, 1);
    assert!(!paths.contains_key(&Prefix::host(address(2, 2))), "its own address");
}

#[test]
fn each_interface_declares_its_links_and_names_other_neighbours_by_their_main_addresses() {
    let mut net = line();
    net.run(40);
    let last = |interface: u32| {
        let of = |(router, port, packet): &(usize, u32, Packet)| {
            let hello = packet.messages.iter().find_map(|message| match &message.body {
                Body::Hello(hello) => Some(hello.clone()),
                _ => None,
            });
            hello.filter(|_| (*router, *port) == (2, interface))
        };
        let hello: Hello = net.sent.iter().rev().find_map(of).unwrap();
        hello.links.into_iter().map(|link| (link.address, link.code)).collect::<Vec<_>>()
    };
    let symmetric = |mpr| LinkCode::Symmetric { mpr };
    let other = |kind| LinkCode::Unspecified(kind);
    use multihop_wire::olsr::NeighbourType::{Mpr, Symmetric};
    assert_eq!(last(0), [(address(3, 4), other(Symmetric)), (address(2, 2), symmetric(true))]);
    // The main address of node 1 belongs to its other interface.
    assert_eq!(last(1), [(address(1, 2), other(Mpr)), (address(3, 4), symmetric(false))]);
}

#[test]
fn packets_of_each_interface_are_numbered_without_gaps() {
    let mut net = line();
    net.run(20);
    for interface in [0, 1] {
        let numbers = net.sent.iter().filter(|(router, port, _)| (*router, *port) == (1, interface));
        let numbers: Vec<_> = numbers.map(|(.., packet)| usize::from(packet.sequence)).collect();
        assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
    }
}

#[test]
fn a_broken_link_is_routed_around() {
    let addresses: [&[_]; 4] = [
        &[address(1, 1), address(3, 1)],
        &[address(1, 2), address(2, 2)],
        &[address(3, 3), address(4, 3)],
        &[address(2, 4), address(4, 4)],
    ];
    let net = Net::new(&addresses, &Config::default()).link((0, 0), (1, 0)).link((1, 1), (3, 0));
    let mut net = net.link((0, 1), (2, 0)).link((2, 1), (3, 1));
    net.run(40);
    assert!(net.via(0, address(2, 4)).is_some());
    net.links[1].1 = false;
    net.run(30);
    assert_eq!(net.via(0, address(2, 4)), Some(address(3, 3)));
    assert_eq!(net.via(0, address(2, 2)), Some(address(1, 2)), "the other end of the broken link");
    net.links[2].1 = false;
    net.run(30);
    assert_eq!(net.via(0, address(2, 4)), None);
}

#[test]
fn an_interface_that_replaces_another_has_links_of_its_own() {
    let addresses: [&[_]; 3] =
        [&[address(1, 1), address(2, 1)], &[address(1, 2)], &[address(2, 3), address(3, 3)]];
    let mut net = Net::new(&addresses, &Config::default()).link((0, 0), (1, 0)).link((0, 1), (2, 0));
    net.run(20);
    assert_eq!(net.via(1, address(3, 3)), Some(address(1, 1)));
    // The link to the third router now belongs to another interface at both ends.
    let now = net.now;
    net.routers[0].set_ports(now, &[Port::new(0, address(1, 1)), Port::new(7, address(3, 1))]);
    assert_eq!(net.via(0, address(2, 3)), None);
    net.links[1].0 = [(0, 7), (2, 1)];
    net.run(20);
    assert_eq!(net.routers[0].routes(net.now)[&Prefix::host(address(3, 3))].interface, 7);
    assert_eq!(net.via(1, address(2, 3)), Some(address(1, 1)));
    assert_eq!(net.via(2, address(1, 2)), Some(address(3, 1)));
}

#[test]
fn a_neighbour_on_two_interfaces_is_used_over_one_until_that_is_silent() {
    let addresses: [&[_]; 2] = [&[address(1, 1), address(2, 1)], &[address(1, 2)]];
    let mut net = Net::new(&addresses, &Config::default()).link((0, 0), (1, 0)).link((0, 1), (1, 0));
    net.run(20);
    assert_eq!(net.routers[0].routes(net.now)[&Prefix::host(address(1, 2))].interface, 0);
    assert!(net.routers[0].counters().elsewhere > 0);
    net.links[0].1 = false;
    net.run(20);
    assert_eq!(net.routers[0].routes(net.now)[&Prefix::host(address(1, 2))].interface, 1);
}

#[test]
fn only_the_nearest_gateway_counts_and_not_that_of_networks_of_our_own() {
    let mut net = line();
    let announce = |net: &mut Net, router: usize, networks: &[&str]| {
        let announce = networks.iter().map(|text| network(text)).collect();
        net.routers[router].configure(net.now, Config { announce, ..Config::default() });
    };
    announce(&mut net, 2, &["default", "192.168.0.0/16"]);
    announce(&mut net, 3, &["default"]);
    net.run(40);
    let default = network("default");
    assert_eq!(net.routers[0].routes(net.now)[&default].hops, Some(2));
    assert_eq!(net.routers[0].routes(net.now)[&network("192.168.0.0/16")].via, Some(address(1, 2).into()));
    assert!(!net.routers[3].routes(net.now).contains_key(&default), "it announces the same");
    assert!(net.routers[3].routes(net.now).contains_key(&network("192.168.0.0/16")));
    announce(&mut net, 2, &[]);
    net.run(30);
    assert_eq!(net.routers[0].routes(net.now)[&default].hops, Some(3));
    assert!(!net.routers[0].routes(net.now).contains_key(&network("192.168.0.0/16")), "no longer announced");
}

#[test]
fn only_neighbours_in_the_list_and_destinations_within_the_networks_count() {
    let mut net = line();
    let neighbors = vec![address(2, 3).into()];
    net.routers[1].configure(net.now, Config { neighbors, ..Config::default() });
    let within = vec![network("10.0.2.0/24")];
    net.routers[3].configure(net.now, Config { within, ..Config::default() });
    net.run(40);
    assert_eq!(net.via(1, address(3, 4)), Some(address(2, 3)));
    assert_eq!(net.via(1, address(1, 1)), None);
    assert!(net.routers[1].counters().not_allowed > 0);
    let routes: Vec<_> = net.routers[3].routes(net.now).into_keys().collect();
    assert_eq!(routes, [Prefix::host(address(2, 2)), Prefix::host(address(2, 3))]);
    assert!(net.routers[3].counters().left_out > 0);
}

#[test]
fn messages_of_unknown_types_are_forwarded_as_they_are() {
    let mut net = line();
    net.run(40);
    let before = net.sent.len();
    let body = Body::Opaque(Opaque::new(99, vec![1, 2, 3, 4]).unwrap());
    let message = flooded(address(1, 1), 7, body);
    let packet = Packet { sequence: 1, messages: vec![message.clone()] };
    net.routers[1].hear(net.now, 0, address(1, 1), &bytes(&packet));
    net.run(2);
    let forwarded: Vec<_> = net.sent[before..]
        .iter()
        .flat_map(|(router, port, packet)| {
            packet.messages.iter().map(move |message| (*router, *port, message))
        })
        .filter(|(.., message)| matches!(message.body, Body::Opaque(_)))
        .collect();
    let routers: Vec<_> = forwarded.iter().map(|(router, port, _)| (*router, *port)).collect();
    assert_eq!(routers, [(1, 0), (1, 1), (2, 0), (2, 1)]);
    let expected = |hop_count| Message { ttl: 9 - hop_count, hop_count, ..message.clone() };
    assert_eq!(*forwarded[0].2, expected(1));
    assert_eq!(*forwarded[2].2, expected(2));
}

/// A HELLO of a neighbour that hears the address `own` of this host and has the neighbours `others`. `mpr`:
/// this host is its relay.
fn hello(from: Ipv4Addr, own: Ipv4Addr, mpr: bool, others: &[Ipv4Addr]) -> Message {
    let link = |&address: &Ipv4Addr| HelloLink { code: LinkCode::Symmetric { mpr }, address };
    let links = [own].iter().chain(others).map(link).collect();
    let interval = TimeCode::at_least(Duration::from_secs(2));
    let hello = Hello { interval, willingness: Willingness::DEFAULT, links, report: None };
    Message { ttl: 1, ..flooded(from, 1, Body::Hello(hello)) }
}

/// A router with the symmetric neighbour 10.0.1.2, which claims these neighbours and sends these messages.
fn claims(neighbours: &[Ipv4Addr], bodies: Vec<Body>) -> (Router, Instant) {
    let mut router = Router::new(Config::default(), 1, 0);
    router.set_ports(Instant::ZERO, &ports(&[address(1, 1)]));
    let (now, from) = (Instant::ZERO + Duration::from_secs(1), address(1, 2));
    let messages = vec![hello(from, address(1, 1), true, neighbours)];
    router.hear(now, 0, from, &bytes(&Packet { sequence: 0, messages }));
    for (body, sequence) in bodies.into_iter().zip(10..) {
        let packet = Packet { sequence, messages: vec![flooded(from, sequence, body)] };
        router.hear(now, 0, from, &bytes(&packet));
    }
    (router, now)
}

#[test]
fn a_flood_is_forwarded_when_it_comes_from_a_selector_over_a_second_interface() {
    let mut router = Router::new(Config::default(), 1, 0);
    router.set_ports(Instant::ZERO, &ports(&[address(1, 1), address(2, 1)]));
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let flood = flooded(address(9, 9), 1, Body::Opaque(Opaque::new(99, vec![1]).unwrap()));
    let mut forwarded = Vec::new();
    for (interface, network, mpr) in [(0, 1, false), (1, 2, true), (1, 2, true)] {
        let (own, from) = (address(network, 1), address(network, 2));
        for message in [hello(from, own, mpr, &[]), flood.clone()] {
            router.hear(now, interface, from, &bytes(&Packet { sequence: 0, messages: vec![message] }));
        }
        now += Duration::from_secs(1);
        router.handle_timeout(now);
        let floods = router.take_datagrams(now).into_iter().filter(|datagram| {
            let packet = <Packet>::parse(&datagram.bytes).unwrap();
            packet.messages.iter().any(|message| message.originator == flood.originator)
        });
        forwarded.push(floods.count());
    }
    assert_eq!(forwarded, [0, 2, 0], "over both interfaces, once");
}

fn flooded(originator: Ipv4Addr, sequence: u16, body: Body) -> Message {
    let validity = TimeCode::at_least(Duration::from_secs(15));
    Message { validity, originator, ttl: 9, hop_count: 0, sequence, body }
}

fn bytes(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

#[test]
fn addresses_that_nobody_can_have_get_no_route() {
    let neighbours = ["127.0.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0", "10.9.9.9", "10.0.1.1"]
        .map(|text| text.parse().unwrap());
    let hna = Hna {
        networks: vec![(address(0, 0), Ipv4Addr::new(255, 0, 255, 0)), (address(9, 1), address(0, 0))],
    };
    let (mut router, now) = claims(&neighbours, vec![Body::Hna(hna)]);
    let routes: Vec<_> = router.routes(now).into_keys().collect();
    assert_eq!(routes, [Prefix::host(address(1, 2)), "10.9.9.9".parse().unwrap()]);
}

#[test]
fn a_neighbour_that_claims_everything_fills_neither_memory_nor_tables() {
    let claim = |n: u32| {
        let many = (0..500).map(|k| Ipv4Addr::from_bits(0x0b00_0000 + n * 500 + k));
        match n % 3 {
            0 => Body::Tc(Arc::new(Tc { sequence: 1, neighbours: many.collect() })),
            1 => Body::Mid(Mid { interfaces: many.collect() }),
            _ => Body::Hna(Hna { networks: many.map(|to| (to, Ipv4Addr::BROADCAST)).collect() }),
        }
    };
    let (mut router, now) = claims(&[], Vec::new());
    for n in 0..2_000_u32 {
        let originator = Ipv4Addr::from_bits(0x0a10_0000 + n);
        let message = flooded(originator, 1, claim(n));
        router.hear(now, 0, address(1, 2), &bytes(&Packet { sequence: 0, messages: vec![message] }));
    }
    let agent = router.olsr_mut().unwrap();
    assert!(agent.refused() > 0);
    assert!(agent.networks().len() <= 4_096 && agent.aliases().count() <= 4_096);
    assert!(router.routes(now).len() <= 2 * MAX_ROUTES);
    // A list longer than any node needs is not read.
    let malformed = router.counters().malformed;
    let tc = Body::Tc(Arc::new(Tc { sequence: 1, neighbours: vec![address(9, 9); 513] }));
    let packet = Packet { sequence: 0, messages: vec![flooded(address(9, 9), 1, tc)] };
    router.hear(now, 0, address(1, 2), &bytes(&packet));
    assert_eq!(router.counters().malformed, malformed + 1);
    // Further neighbours of a full table are ignored.
    for n in 0..300 {
        router.hear(now, 0, Ipv4Addr::from_bits(0x0a20_0000 + n), &bytes(&Packet::default()));
    }
    assert_eq!(router.counters().too_many, 45, "256 are remembered, one of them from before");
}

#[test]
fn numbers_go_on_after_a_restart() {
    let numbers = |epoch: u64| {
        let mut net = line();
        net.routers[1] = Router::new(Config::default(), 1, epoch);
        net.routers[1].set_ports(Instant::ZERO, &ports(&[address(1, 2), address(2, 2)]));
        net.run(20);
        let own = |message: &Message| match &message.body {
            Body::Tc(tc) if message.originator == address(1, 2) => Some((message.sequence, tc.sequence)),
            _ => None,
        };
        let sent = net.sent.iter().flat_map(|(.., packet)| packet.messages.iter().filter_map(own));
        sent.collect::<Vec<_>>()
    };
    let (before, after) = (numbers(5_000), numbers(5_020));
    let newest = before.iter().max().unwrap();
    let oldest = after.iter().min().unwrap();
    assert!(oldest.0 > newest.0 && oldest.1 > newest.1, "{newest:?}, then {oldest:?}");
}

/// Datagrams of a stranger: genuine messages, and copies with changed bits, bytes and lengths.
fn mutated(rng: &mut Rng, stranger: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let sequence = u16::from_le_bytes([rng.next_u64().to_le_bytes()[0], rng.next_u64().to_le_bytes()[1]]);
    let any = |rng: &mut Rng| Ipv4Addr::from_bits(0x6400_0000 | rng.below(1 << 24));
    let some: Vec<_> = (0..rng.below(20)).map(|_| any(rng)).collect();
    let body = match rng.below(6) {
        0 | 1 => hello(stranger, to, rng.below(2) == 0, &some).body,
        2 => Body::Tc(Arc::new(Tc { sequence, neighbours: some })),
        3 => Body::Mid(Mid { interfaces: some }),
        4 => Body::Hna(Hna { networks: some.into_iter().map(|to| (to, Ipv4Addr::BROADCAST)).collect() }),
        _ => Body::Opaque(Opaque::new(99, vec![7; 40]).unwrap()),
    };
    let originator = if rng.below(4) == 0 { any(rng) } else { stranger };
    let message = Message { originator, ..flooded(stranger, sequence, body) };
    let mut bytes = bytes(&Packet { sequence, messages: vec![message] });
    for _ in 0..rng.below(4) {
        let at = rng.below(u32::try_from(bytes.len()).unwrap()) as usize;
        match rng.below(3) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.next_u64().to_le_bytes()[0],
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

#[test]
fn a_hundred_thousand_mutated_datagrams_leave_the_routes_between_others() {
    let mut net = line();
    net.run(40);
    let (stranger, to) = (address(1, 200), address(1, 2));
    let mut rng = Rng::stream(1, "fuzz", 0);
    let genuine =
        [(address(1, 1), address(1, 1)), (address(2, 3), address(2, 3)), (address(3, 4), address(2, 3))];
    for round in 0..1_000 {
        for _ in 0..100 {
            let datagram = mutated(&mut rng, stranger, to);
            net.routers[1].hear(net.now, 0, stranger, &datagram);
        }
        for _ in 0..4 {
            net.step();
        }
        let routes = net.routers[1].routes(net.now);
        let via = |to: Ipv4Addr| routes.get(&Prefix::host(to)).map(|path| path.via.map_or(to, four));
        assert_eq!(genuine.map(|(to, _)| via(to)), genuine.map(|(_, via)| Some(via)), "in round {round}");
    }
    let counters = net.routers[1].counters();
    assert!(counters.malformed > 10_000 && counters.received > 10_000, "{counters:?}");
    net.run(60);
    let routes = net.routers[1].routes(net.now);
    assert_eq!(routes.len(), 4, "the claims of the stranger have expired");
}

#[test]
fn a_route_by_cost_changes_only_if_the_options_let_it() {
    // Two paths of two hops lead from the first router to the last; the HELLOs of the upper relay are late
    // from 60 s on.
    let changes = |hysteresis: u32| {
        let metric = olsr::Metric {
            clocks: olsr::Clocks::Echoed,
            weight: 800_000,
            switching: olsr::Switching { hysteresis, ..olsr::Switching::default() },
            ..olsr::Metric::default()
        };
        let config =
            Config { routing: Routing::Olsr(olsr::Config::rfc().with_metric(metric)), ..Config::default() };
        let addresses: [&[_]; 4] = [
            &[address(1, 1), address(3, 1)],
            &[address(1, 2), address(2, 2)],
            &[address(3, 3), address(4, 3)],
            &[address(2, 4), address(4, 4)],
        ];
        let net = Net::new(&addresses, &config).link((0, 0), (1, 0)).link((1, 1), (3, 0));
        let mut net = net.link((0, 1), (2, 0)).link((2, 1), (3, 1));
        net.run(60);
        let before = net.via(0, address(2, 4)).unwrap();
        let slow = if before == address(1, 2) { 0 } else { 2 };
        net.late = Some((slow, Duration::from_millis(500)));
        net.run(60);
        (before, net.via(0, address(2, 4)).unwrap())
    };
    let (before, after) = changes(0);
    assert_ne!(before, after, "the other path is faster");
    let (before, after) = changes(1_000_000);
    assert_eq!(before, after, "the path is kept");
}

fn keyed(byte: u8) -> Config {
    Config { key: Some(Key::new([byte; 32])), ..Config::default() }
}
