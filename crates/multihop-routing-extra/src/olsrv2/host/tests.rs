//! Tests of agents on hosts connected by cables, in virtual time.

use super::super::wire::{Hello, Metrics, Neighbour, Willingness};
use super::*;
use crate::cabled::{Cable, Cabled, cable_end, link, start};

/// Address of an interface: 10.interface.0.host.
fn four(host: usize, number: u8) -> IpAddr {
    IpAddr::from([10, number, 0, u8::try_from(host + 1).expect("few hosts")])
}

fn six(host: usize, number: u8) -> IpAddr {
    let host = u16::try_from(host + 1).expect("few hosts");
    Ipv6Addr::new(0xfd00, number.into(), 0, 0, 0, 0, 0, host).into()
}

fn interface(host: usize, number: u8) -> HostInterface {
    cable_end(host, number, [four(host, number), six(host, number)])
}

fn joined(keys: &[&[u8]], cables: &[Cable]) -> Cabled {
    Cabled::new(&Config::default(), keys, cables, interface)
}

fn agent(now: Instant, host: usize, keys: &[u8], cables: &[Cable]) -> Box<dyn HostAgent> {
    start(now, &Config::default(), (host, keys), cables, interface)
}

/// Next hop and interface of a host's route to an address.
fn route(net: &Cabled, host: usize, to: IpAddr) -> Option<(IpAddr, u8)> {
    net.route(host, to).map(|route| (route.via, route.interface.0))
}

/// Chain 0 - 1 - 2 - 3 in which the inner hosts reach both neighbours over interfaces with equal link-local addresses.
const CHAIN: [Cable; 3] = [[(0, 0), (1, 0)], [(1, 1), (2, 1)], [(2, 2), (3, 2)]];

#[test]
fn hosts_find_routes_of_both_families_to_all_interfaces_and_networks() {
    let mut net = joined(&[&[], &[], &[], &[]], &CHAIN);
    let network = (IpAddr::from([192, 168, 7, 0]), 24);
    net.hosts[3].set_networks(net.now, vec![network, (Ipv6Addr::UNSPECIFIED.into(), 0)], Vec::new());
    net.run(20);
    for to in [four(1, 1), four(2, 1), four(2, 2), four(3, 2), network.0] {
        assert_eq!(route(&net, 0, to), Some((four(1, 0), 0)), "{to}");
    }
    for to in [six(1, 1), six(2, 1), six(2, 2), six(3, 2), Ipv6Addr::UNSPECIFIED.into()] {
        assert_eq!(route(&net, 0, to), Some((link(1).into(), 0)), "{to}");
    }
    assert_eq!(route(&net, 3, four(0, 0)), Some((four(2, 2), 2)));
    let neighbours = net.hosts[1].neighbours();
    let expected = Some(Metric::at_least(21).value());
    assert!(neighbours.len() == 2 && neighbours.iter().all(|one| one.cost == expected), "{neighbours:?}");
    net.hosts[0].set_networks(net.now, Vec::new(), vec![(IpAddr::from([10, 0, 0, 0]), 8)]);
    assert_eq!(
        (route(&net, 0, network.0), route(&net, 0, six(3, 2))),
        (None, None),
        "outside of the allowed networks"
    );
    assert!(route(&net, 0, four(3, 2)).is_some());
}

#[test]
fn a_host_that_restarts_or_ends_is_accepted_and_forgotten() {
    let mut net = joined(&[&[], &[], &[], &[]], &CHAIN);
    net.run(20);
    net.hosts[3] = agent(net.now, 3, &[], &CHAIN);
    let network = (IpAddr::from([192, 168, 7, 0]), 24);
    net.hosts[3].set_networks(net.now, vec![network], Vec::new());
    net.run(8);
    assert_eq!(route(&net, 0, network.0), Some((four(1, 0), 0)), "the restarted host's new TC");
    let last = net.hosts[1].farewell(net.now, Interface(0)).expect("a farewell");
    net.deliver(1, &last);
    assert_eq!(net.hosts[0].routes(), [], "the link has ended");
}

#[test]
fn a_ring_heals_when_a_cable_is_cut() {
    let ring = [CHAIN[0], CHAIN[1], CHAIN[2], [(3, 3), (0, 3)]];
    let mut net = joined(&[&[], &[], &[], &[]], &ring);
    net.run(20);
    assert_eq!(route(&net, 0, four(1, 0)), Some((four(1, 0), 0)));
    net.cables.remove(0);
    let now = net.now;
    net.hosts[0].set_interfaces(now, vec![interface(0, 3)]);
    net.hosts[1].set_interfaces(now, vec![interface(1, 1)]);
    net.run(20);
    assert_eq!(route(&net, 0, four(1, 1)), Some((four(3, 3), 3)));
    assert_eq!(route(&net, 0, six(1, 1)), Some((link(3).into(), 3)));
    assert_eq!(route(&net, 0, four(1, 0)), None, "the address is gone");
}

#[test]
fn hosts_with_a_common_key_prove_themselves_and_others_are_refused() {
    // While the key changes from 7 to 8, the host in the middle has both keys.
    let chain = [CHAIN[0], CHAIN[1]];
    let mut net = joined(&[&[7], &[7, 8], &[8]], &chain);
    net.run(20);
    assert_eq!(route(&net, 0, six(2, 1)), Some((link(1).into(), 0)));
    assert!(net.refusals.iter().all(|reason| *reason == HostRefusal::Unproven), "{:?}", net.refusals);
    let mut net = joined(&[&[7], &[8], &[]], &chain);
    net.run(20);
    assert!(net.hosts.iter().all(|host| host.routes().is_empty()));
    assert!(net.refusals.contains(&HostRefusal::WrongKey) && net.refusals.contains(&HostRefusal::Unsigned));
}

#[test]
fn a_recorded_packet_is_refused_also_if_it_is_repeated_to_one_host() {
    let mut net = joined(&[&[7], &[7]], &CHAIN[..1]);
    net.run(20);
    let recorded = net.hosts[1].farewell(net.now, Interface(0)).expect("a packet");
    net.deliver(1, &recorded);
    net.refusals.clear();
    net.deliver(1, &HostDatagram { to: Some(link(0)), ..recorded });
    assert_eq!(net.refusals, [HostRefusal::Replayed]);
}

#[test]
fn datagrams_that_are_no_packets_of_a_neighbour_are_refused() {
    let mut net = joined(&[&[], &[]], &CHAIN[..1]);
    let mut receive = |from, bytes: &[u8]| {
        let arrival = HostArrival { interface: Interface(0), from, to_all: true };
        net.hosts[0].admits(net.now, arrival, bytes)?;
        net.hosts[0].receive(net.now, arrival, bytes)
    };
    assert_eq!(receive(link(1), &[0]), Ok(()));
    assert_eq!(receive(link(1), &[0x10]), Err(HostRefusal::Malformed));
    assert_eq!(receive(link(1), &[0, 1]), Err(HostRefusal::Malformed));
    assert_eq!(receive(Ipv6Addr::LOCALHOST, &[0]), Err(HostRefusal::Malformed), "not of the link");
}

#[test]
fn a_neighbour_that_changes_its_addresses_has_one_link() {
    let mut host = agent(Instant::ZERO, 0, &[], &CHAIN[..1]);
    let hello = |n: u32| {
        let name = Ipv4Addr::from_bits(0x0a00_0100 + n);
        let cost = Some(Metric::MIN);
        let link_metrics = Metrics { incoming: cost, outgoing: cost };
        let own = Ipv4Addr::new(10, 0, 0, 1);
        let own = Neighbour { link: Some(LinkStatus::Symmetric), link_metrics, ..Neighbour::new(own) };
        let hello = Hello {
            originator: name,
            validity: TimeCode(255),
            interval: None,
            willingness: Willingness::default(),
            addresses: vec![name],
            further: Vec::new(),
            neighbours: vec![own],
        };
        let mut bytes = Vec::new();
        Packet { sequence: None, messages: vec![Message::Hello(hello)] }.emit(&mut bytes);
        bytes
    };
    let arrival = HostArrival { interface: Interface(0), from: link(1), to_all: true };
    for n in 0..300 {
        assert_eq!(host.receive(Instant::ZERO, arrival, &hello(n)), Ok(()));
    }
    let destinations: Vec<_> = host.routes().iter().map(|route| route.destination.0).collect();
    assert_eq!(destinations, [IpAddr::from([10, 0, 2, 43])], "the last address");
    // The HELLOs claim to be valid for 45 days.
    host.handle_timeout(Instant::ZERO + Duration::from_secs(67));
    assert_eq!(host.routes(), []);
}

#[test]
fn only_changes_of_links_and_networks_change_the_revision() {
    let ring = [[(0, 0), (1, 0)], [(1, 1), (2, 0)], [(2, 1), (3, 0)], [(3, 1), (0, 1)]];
    let mut net = joined(&[&[], &[], &[], &[]], &ring);
    net.run(60);
    let (settled, routes) = (net.hosts[0].revision(), net.hosts[0].routes());
    net.run(60);
    assert_eq!((net.hosts[0].revision(), net.hosts[0].routes()), (settled, routes), "nothing has changed");
    let now = net.now;
    net.hosts[2].set_networks(now, vec![(IpAddr::from([192, 168, 0, 0]), 16)], Vec::new());
    net.run(20);
    let with = net.hosts[0].revision();
    assert_ne!(with, settled, "a new network");
    assert!(net.hosts[0].routes().iter().any(|route| route.destination.1 == 16));
    net.cables.pop();
    net.run(30);
    assert_ne!(net.hosts[0].revision(), with, "a cut cable");
}

#[test]
fn messages_of_ipv6_share_signed_packets_that_fit_into_the_least_mtu() {
    let name = |n: u16| IpAddr::from(Ipv6Addr::new(0xfd00, n, n, n, n, n, n, n));
    let message = |n: u16| {
        let addresses = (0..20).map(|k| rfc5444::Address { address: name(100 * n + k), prefix: 128 });
        let block = rfc5444::AddressBlock { addresses: addresses.collect(), tlvs: Vec::new() };
        let (originator, blocks) = (Some(name(n)), vec![block]);
        rfc5444::Message { kind: 1, is_ipv6: true, originator, blocks, ..rfc5444::Message::default() }
    };
    let messages: Vec<_> = (1..40).map(message).collect();
    let parts = packets(messages.clone());
    assert_eq!(parts.concat(), messages, "in their order");
    let mut keys = crate::authentication::tests::host(1, &[7, 8]);
    for messages in parts {
        assert!(messages.len() > 1);
        let packet = rfc5444::Packet { sequence: Some(1), tlvs: Vec::new(), messages };
        let len = 40 + 8 + mac::sign(&mut keys, link(0), packet).len();
        assert!(len <= 1280, "{len} bytes with headers");
    }
    let long = rfc5444::Message {
        blocks: [1, 2, 3, 4, 5].map(|n| message(n).blocks[0].clone()).into(),
        ..message(1)
    };
    assert_eq!(
        packets(vec![message(1), long, message(2)]).len(),
        3,
        "a long message has a packet of its own"
    );
}
