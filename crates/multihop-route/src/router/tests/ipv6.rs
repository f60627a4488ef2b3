//! Tests of routers with IPv6 addresses. Behaviour that does not depend on the length of addresses is tested
//! with IPv4.

use std::net::Ipv6Addr;

use super::*;

fn six(network: u16, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, network, 0, 0, 0, host)
}

fn config() -> Config {
    Config { family: Family::Ipv6, ..Config::default() }
}

fn net(addresses: &[&[Ipv6Addr]], config: &Config) -> Net {
    Net::new(addresses, config)
}

/// Chain 0 -- 1 == 2 -- 3, in which routers 1 and 2 have two interfaces each. Addresses do not ascend in the
/// order in which nodes hear each other.
fn line(config: &Config) -> Net {
    let net = net(&[&[six(1, 9)], &[six(1, 2), six(2, 2)], &[six(2, 3), six(3, 3)], &[six(3, 1)]], config);
    net.link((0, 0), (1, 0)).link((1, 1), (2, 0)).link((2, 1), (3, 0))
}

fn via(net: &mut Net, router: usize, to: Ipv6Addr) -> Option<IpAddr> {
    net.next_hop(router, to.into())
}

fn packet(messages: Vec<Message<Ipv6Addr>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Packet { sequence: 0, messages }.emit(&mut bytes);
    bytes
}

fn long(originator: Ipv6Addr, sequence: u16, body: Body<Ipv6Addr>) -> Message<Ipv6Addr> {
    let validity = TimeCode::at_least(Duration::from_secs(15));
    Message { validity, originator, ttl: 9, hop_count: 0, sequence, body }
}

/// A HELLO of a neighbour that hears the address `own` of this host and has the neighbours `others`.
fn hears(from: Ipv6Addr, own: Ipv6Addr, others: &[Ipv6Addr]) -> Message<Ipv6Addr> {
    let link = |&address: &Ipv6Addr| HelloLink { code: LinkCode::Symmetric { mpr: true }, address };
    let links = [own].iter().chain(others).map(link).collect();
    let interval = TimeCode::at_least(Duration::from_secs(2));
    let hello = Hello { interval, willingness: Willingness::DEFAULT, links, report: None };
    Message { ttl: 1, ..long(from, 1, Body::Hello(hello)) }
}

#[test]
fn nodes_find_routes_to_all_interfaces_and_to_networks_behind_a_gateway() {
    let mut net = line(&config());
    let network = |text: &str| Family::Ipv6.network(text).unwrap();
    let announce = vec![network("default"), network("2001:db8::/32")];
    net.routers[3].configure(net.now, Config { announce, ..config() });
    net.run(40);
    for (router, to, through) in [
        (0, six(3, 1), six(1, 2)),
        (0, six(2, 3), six(1, 2)),
        (0, six(3, 3), six(1, 2)),
        (0, six(2, 2), six(1, 2)),
        (0, six(1, 2), six(1, 2)),
        (3, six(1, 9), six(3, 3)),
        (2, six(1, 9), six(2, 2)),
        (1, six(3, 1), six(2, 3)),
    ] {
        assert_eq!(via(&mut net, router, to), Some(through.into()), "from {router} to {to}");
    }
    let routes = net.routers[0].routes(net.now);
    for to in ["default", "2001:db8::/32"] {
        assert_eq!(routes[&network(to)], Path { hops: Some(3), ..routes[&Prefix::host(six(3, 1))] }, "{to}");
    }
    assert_eq!(net.routers[0].main(), Some(six(1, 9).into()));
    let heard: Vec<_> = net.routers[2].heard(net.now).map(|heard| (heard.address, heard.main)).collect();
    for (address, main) in [(six(2, 2), six(1, 2)), (six(3, 1), six(3, 1))] {
        assert!(heard.contains(&(address.into(), main.into())), "{heard:?}");
    }
}

#[test]
fn a_broken_link_is_routed_around() {
    let net = net(
        &[&[six(1, 1), six(3, 1)], &[six(1, 2), six(2, 2)], &[six(3, 3), six(4, 3)], &[six(2, 4), six(4, 4)]],
        &config(),
    );
    let net = net.link((0, 0), (1, 0)).link((1, 1), (3, 0));
    let mut net = net.link((0, 1), (2, 0)).link((2, 1), (3, 1));
    net.run(40);
    assert!(via(&mut net, 0, six(2, 4)).is_some());
    net.links[1].1 = false;
    net.run(30);
    assert_eq!(via(&mut net, 0, six(2, 4)), Some(six(3, 3).into()));
    net.links[2].1 = false;
    net.run(30);
    assert_eq!(via(&mut net, 0, six(2, 4)), None);
}

#[test]
fn routes_by_delay_follow_the_costs_of_links() {
    let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
    let routing = Routing::Olsr(olsr::Config::rfc().with_metric(metric));
    let config = Config { routing, ..config() };
    // The last router is reached over 1 or 2; its link to 1 is slow. Its HELLOs list neighbours in the order
    // in which it first heard them.
    let net = net(
        &[&[six(1, 1), six(3, 1)], &[six(1, 9), six(2, 9)], &[six(3, 3), six(4, 3)], &[six(2, 4), six(4, 4)]],
        &config,
    );
    let net = net.link((0, 0), (1, 0)).link((1, 1), (3, 0));
    let mut net = net.link((0, 1), (2, 0)).link((2, 1), (3, 1));
    for (slow, through) in [(1, six(3, 3)), (3, six(1, 9))] {
        net.late = Some((slow, Duration::from_millis(300)));
        net.run(120);
        let routes = net.routers[0].routes(net.now);
        let path = routes[&Prefix::host(six(2, 4))];
        assert_eq!(path.via, Some(through.into()));
        assert!(path.cost.unwrap() < 100_000, "without the slow link: {path:?}");
    }
}

#[test]
fn hosts_with_the_same_key_hear_each_other_only() {
    let mut net = line(&config());
    for (router, byte) in [(0, 1), (1, 1), (2, 1), (3, 2)] {
        net.routers[router].configure(net.now, Config { family: Family::Ipv6, ..keyed(byte) });
    }
    net.run(40);
    assert_eq!(via(&mut net, 0, six(3, 3)), Some(six(1, 2).into()));
    assert_eq!(via(&mut net, 2, six(3, 1)), None, "another key");
    assert!(net.routers[2].counters().wrong_key > 0 && net.routers[3].counters().wrong_key > 0);
}

#[test]
fn messages_of_the_other_family_are_not_used() {
    let mut router = Router::new(config(), 1, 0);
    router.set_ports(Instant::ZERO, &ports(&[six(1, 1)]));
    let now = Instant::ZERO + Duration::from_secs(1);
    let short =
        bytes(&Packet { sequence: 0, messages: vec![hello(address(1, 2), address(1, 1), true, &[])] });
    router.hear(now, 0, address(1, 2), &short);
    router.hear(now, 0, six(1, 2), &short);
    assert_eq!(router.counters().received, 0);
    router.hear(now, 0, six(1, 2), &packet(vec![hears(six(1, 2), six(1, 1), &[])]));
    assert_eq!((router.counters().received, router.routes(now).len()), (1, 1));
}

#[test]
fn a_neighbour_may_send_from_the_address_of_its_link() {
    let mut router = Router::new(config(), 1, 0);
    router.set_ports(Instant::ZERO, &ports(&[six(1, 1)]));
    let now = Instant::ZERO + Duration::from_secs(1);
    let from: Ipv6Addr = "fe80::2".parse().unwrap();
    router.hear(now, 0, from, &packet(vec![hears(six(1, 2), six(1, 1), &[])]));
    let routes = router.routes(now);
    let to = Prefix::host(six(1, 2));
    assert_eq!((routes.len(), routes[&to].via, routes[&to].hops), (1, Some(from.into()), Some(1)));
    router.handle_timeout(now + Duration::from_secs(2));
    let sent = router.take_datagrams(now + Duration::from_secs(2));
    let sent = sent.iter().map(|datagram| Packet::<Ipv6Addr>::parse(&datagram.bytes).unwrap());
    let bodies: Vec<_> = sent.flat_map(|packet| packet.messages).map(|message| message.body).collect();
    let is_its = |link: &HelloLink<Ipv6Addr>| link.address == from;
    let names_it =
        |body: &Body<Ipv6Addr>| matches!(body, Body::Hello(hello) if hello.links.iter().any(is_its));
    assert!(bodies.iter().any(names_it), "{bodies:?}");
}

#[test]
fn addresses_that_nobody_can_have_get_no_route() {
    let mut router = Router::new(config(), 1, 0);
    router.set_ports(Instant::ZERO, &ports(&[six(1, 1)]));
    let (now, from) = (Instant::ZERO + Duration::from_secs(1), six(1, 2));
    let texts = ["::1", "::", "::ffff:10.0.0.1", "fe80::1", "ff02::6d", "fd00::9", "fd00:0:0:1::1"];
    let neighbours = texts.map(|text| text.parse().unwrap());
    let network = |text: &str, mask: &str| (text.parse().unwrap(), mask.parse().unwrap());
    let networks =
        vec![network("fd00::", "ffff:0:ffff::"), network("fd00::1", "ffff::"), network("fe80::", "ffc0::")];
    let hna = long(from, 2, Body::Hna(Hna { networks }));
    for message in [hears(from, six(1, 1), &neighbours), hna] {
        router.hear(now, 0, from, &packet(vec![message]));
    }
    let routes: Vec<_> = router.routes(now).into_keys().collect();
    assert_eq!(routes, ["fd00::9".parse().unwrap(), Prefix::host(from)]);
}

#[test]
fn a_neighbour_that_claims_everything_fills_neither_memory_nor_tables_and_others_stay() {
    let mut net = line(&config());
    net.run(40);
    let stranger = six(1, 200);
    net.routers[1].hear(net.now, 0, stranger, &packet(vec![hears(stranger, six(1, 2), &[])]));
    for n in 0..600_u16 {
        let neighbours = (0..500).map(|k| Ipv6Addr::new(0xfd01, n, k, 0, 0, 0, 0, 1)).collect();
        let claim = long(six(7, n), n, Body::Tc(Arc::new(Tc { sequence: 1, neighbours })));
        net.routers[1].hear(net.now, 0, stranger, &packet(vec![claim]));
    }
    assert!(net.routers[1].refused() > 0);
    assert!(net.routers[1].names.len() <= 65_536 + 2);
    assert!(net.routers[1].routes(net.now).len() <= 2 * MAX_ROUTES);
    for _ in 0..20 {
        net.run(1);
        assert_eq!(via(&mut net, 1, six(3, 1)), Some(six(2, 3).into()));
        assert_eq!(via(&mut net, 1, six(1, 9)), Some(six(1, 9).into()));
    }
    net.run(300);
    assert_eq!(net.routers[1].routes(net.now).len(), 4, "the claims have expired");
    // Names of other addresses expire while new ones are given.
    let next = six(1, 201);
    net.routers[1].hear(net.now, 0, next, &packet(vec![hears(next, six(1, 2), &[])]));
    assert!(net.routers[1].names.len() < 20, "{}", net.routers[1].names.len());
}

#[test]
fn mutated_datagrams_leave_the_routes_between_others() {
    let mut net = line(&config());
    net.run(40);
    let stranger = six(1, 200);
    let mut rng = Rng::stream(1, "fuzz", 0);
    let mut host = |address: Ipv4Addr| {
        let own =
            [(address.to_bits() == 1).then_some(six(1, 2)), (address.to_bits() == 2).then_some(stranger)];
        Some(
            own.into_iter()
                .flatten()
                .next()
                .unwrap_or_else(|| Ipv6Addr::from_bits(0xfd02 << 112 | u128::from(address.to_bits()))),
        )
    };
    for round in 0..200 {
        for _ in 0..50 {
            let (claim, own) = (Ipv4Addr::from_bits(2), Ipv4Addr::from_bits(1));
            let Ok(claim) = <Packet>::parse(&mutated(&mut rng, claim, own)) else { continue };
            let messages: Vec<_> =
                claim.messages.iter().filter_map(|message| message.readdress(&mut host)).collect();
            let mut datagram = packet(messages);
            let at = rng.below(u32::try_from(datagram.len()).unwrap()) as usize;
            if rng.below(4) == 0 {
                datagram.truncate(at);
            } else {
                datagram[at] ^= 1 << rng.below(8);
            }
            net.routers[1].hear(net.now, 0, stranger, &datagram);
        }
        for _ in 0..4 {
            net.step();
        }
        for (to, through) in [(six(1, 9), six(1, 9)), (six(2, 3), six(2, 3)), (six(3, 1), six(2, 3))] {
            assert_eq!(via(&mut net, 1, to), Some(through.into()), "in round {round}");
        }
    }
    let counters = net.routers[1].counters();
    assert!(counters.malformed > 1_000 && counters.received > 1_000, "{counters:?}");
}
