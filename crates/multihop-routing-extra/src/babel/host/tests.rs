//! Tests of agents on hosts connected by cables, in virtual time.

use super::*;
use crate::babel::wire::{Centis, Hello, Seqno};
use crate::cabled::{Cable, Cabled, cable_end, link};

fn four(host: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, u8::try_from(host + 1).expect("few hosts")])
}

fn six(host: usize) -> IpAddr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, u16::try_from(host + 1).expect("few hosts")).into()
}

/// An interface with the addresses that all interfaces of the host have.
fn interface(host: usize, number: u8) -> HostInterface {
    cable_end(host, number, [four(host), six(host)])
}

fn joined(keys: &[&[u8]], cables: &[Cable]) -> Cabled {
    Cabled::new(&Config::default(), keys, cables, interface)
}

/// Next hop, interface and cost of a host's route to an address.
fn route(net: &Cabled, host: usize, to: IpAddr) -> Option<(IpAddr, u8, u32)> {
    net.route(host, to).map(|route| (route.via, route.interface.0, route.cost))
}

/// Chain 0 - 1 - 2 in which host 1 reaches both neighbours over interfaces with equal addresses.
const CHAIN: [Cable; 2] = [[(0, 0), (1, 0)], [(1, 1), (2, 1)]];

#[test]
fn hosts_find_routes_of_both_families_within_two_seconds() {
    let mut net = joined(&[&[], &[], &[]], &CHAIN);
    net.run(2);
    assert_eq!(route(&net, 0, four(2)), Some((four(1), 0, 192)));
    assert_eq!(route(&net, 0, six(2)), Some((link(1).into(), 0, 192)));
    assert_eq!(route(&net, 2, four(0)), Some((four(1), 1, 192)));
    assert_eq!(net.hosts[1].neighbours().len(), 2);
}

#[test]
fn a_host_that_starts_a_moment_later_has_its_routes_within_two_seconds() {
    let mut net = joined(&[&[], &[], &[]], &CHAIN);
    let now = net.now;
    net.hosts[0].set_interfaces(now, Vec::new());
    net.run(1);
    let now = net.now;
    net.hosts[0].set_interfaces(now, vec![interface(0, 0)]);
    net.run(2);
    assert_eq!(route(&net, 0, four(2)), Some((four(1), 0, 192)));
    assert_eq!(route(&net, 2, four(0)), Some((four(1), 1, 192)));
}

/// Number of announcements of all routes that a host has sent.
fn dumps(net: &Cabled, host: usize) -> u64 {
    net.hosts[host].counts().into_iter().find(|(name, _)| *name == "dumps").expect("a counter").1
}

/// RFC 8966, 3.7.1 and A.3: a neighbour with smoothed metrics may compare routes only when an update arrives.
#[test]
fn all_routes_come_with_each_of_the_first_nine_hellos_over_a_new_link_and_then_at_their_interval() {
    let mut net = joined(&[&[], &[]], &[[(0, 0), (1, 0)]]);
    net.run(1);
    let before = dumps(&net, 0);
    // The second Hello at the start was the first of the nine, which are 3 to 4 s apart.
    net.run(9 * 4);
    let early = dumps(&net, 0) - before;
    assert!((8..=9).contains(&early), "{early}");
    net.run(16);
    let rest = dumps(&net, 0);
    net.run(160);
    // 160 s are 10 to 14 update intervals, whose last Hello may come a quarter early.
    assert!((10..=14).contains(&(dumps(&net, 0) - rest)), "{}", dumps(&net, 0) - rest);
}

#[test]
fn a_cable_that_is_cut_ends_routes_and_networks_are_announced() {
    let mut net = joined(&[&[], &[], &[]], &CHAIN);
    let network = (IpAddr::from([192, 168, 7, 0]), 24);
    net.hosts[2].set_networks(net.now, vec![network], Vec::new());
    net.run(2);
    assert_eq!(route(&net, 0, network.0), Some((four(1), 0, 192)));
    net.hosts[0].set_networks(net.now, Vec::new(), vec![(IpAddr::from([10, 0, 0, 0]), 8)]);
    assert_eq!(route(&net, 0, network.0), None, "outside of the allowed networks");
    assert!(route(&net, 0, four(2)).is_some());
    let now = net.now;
    net.hosts[1].set_interfaces(now, vec![interface(1, 0)]);
    net.run(1);
    assert_eq!(route(&net, 0, four(2)), None);
    assert_eq!(route(&net, 0, four(1)), Some((four(1), 0, 96)));
}

#[test]
fn equal_addresses_at_two_interfaces_are_two_neighbours() {
    // Two cables lead to the same neighbour, whose interfaces have equal addresses.
    let mut net = joined(&[&[], &[]], &[[(0, 0), (1, 0)], [(0, 1), (1, 1)]]);
    net.run(2);
    assert_eq!(net.hosts[0].neighbours().iter().filter(|one| one.cost == Some(96)).count(), 2);
    let now = net.now;
    net.hosts[0].set_interfaces(now, vec![interface(0, 1)]);
    assert_eq!(route(&net, 0, four(1)), Some((four(1), 1, 96)), "the other cable");
}

#[test]
fn hosts_with_a_common_key_prove_themselves_and_others_are_refused() {
    // While the key changes from 7 to 8, the host in the middle has both keys.
    let mut net = joined(&[&[7], &[7, 8], &[8]], &CHAIN);
    net.run(6);
    assert_eq!(route(&net, 0, six(2)), Some((link(1).into(), 0, 192)));
    assert!(net.refusals.iter().all(|reason| *reason == HostRefusal::Unproven), "{:?}", net.refusals);
    let mut net = joined(&[&[7], &[8], &[]], &CHAIN);
    net.run(6);
    assert_eq!((route(&net, 0, six(1)), route(&net, 1, six(0)), route(&net, 1, six(2))), (None, None, None));
    assert!(net.refusals.contains(&HostRefusal::WrongKey) && net.refusals.contains(&HostRefusal::Unsigned));
}

#[test]
fn hellos_for_this_host_alone_make_a_link() {
    let mut net = joined(&[&[], &[]], &[[(0, 0), (1, 0)]]);
    let arrival = HostArrival { interface: Interface(0), from: link(7), to_all: false };
    for seqno in 1..=2 {
        let hello = Hello { unicast: true, seqno: Seqno(seqno), interval: Centis(400), timestamp: None };
        let ihu = Ihu { address: Some(link(0).into()), rxcost: 96, interval: Centis(1200), echo: None };
        let mut bytes = Vec::new();
        Packet { tlvs: vec![Tlv::Hello(hello), Tlv::Ihu(ihu)] }.emit(&mut bytes);
        assert_eq!(net.hosts[0].receive(net.now, arrival, &bytes), Ok(()));
    }
    assert_eq!(net.hosts[0].neighbours()[0].cost, Some(96));
}

/// Messages of a host during some seconds: H for each Hello to all, R for each request of all routes to this neighbour.
fn sent(host: &mut dyn HostAgent, from: u64, to: u64, neighbour: usize) -> String {
    let mut found = String::new();
    for ms in (1000 * from..1000 * to).step_by(5) {
        let now = Instant::ZERO + Duration::from_millis(ms);
        if host.poll_timeout().is_some_and(|due| due <= now) {
            host.handle_timeout(now);
        }
        while let Some(datagram) = host.poll_datagram(now) {
            let tlvs = Packet::parse(&datagram.bytes).expect("a packet").tlvs;
            let has = |wanted: fn(&Tlv) -> bool| tlvs.iter().any(wanted);
            let is_request =
                datagram.to == Some(link(neighbour)) && has(|tlv| *tlv == Tlv::RouteRequest(None));
            found.extend(has(|tlv| matches!(tlv, Tlv::Hello(_))).then_some('H'));
            found.extend(is_request.then_some('R'));
        }
    }
    found
}

#[test]
fn a_neighbour_is_asked_after_the_hellos_until_it_reports_that_it_hears_this_host() {
    let mut net = joined(&[&[], &[]], &[[(0, 0), (1, 0)]]);
    let host = &mut *net.hosts[0];
    let arrival = HostArrival { interface: Interface(0), from: link(7), to_all: true };
    let hear = |host: &mut dyn HostAgent, seqno, rxcost, second| {
        let hello = Hello { unicast: false, seqno: Seqno(seqno), interval: Centis(1000), timestamp: None };
        let ihu = Ihu { address: Some(link(0).into()), rxcost, interval: Centis(3000), echo: None };
        let mut bytes = Vec::new();
        Packet { tlvs: vec![Tlv::Ihu(ihu), Tlv::Hello(hello)] }.emit(&mut bytes);
        assert_eq!(host.receive(Instant::ZERO + Duration::from_secs(second), arrival, &bytes), Ok(()));
    };
    hear(host, 1, INFINITY, 0);
    hear(host, 2, INFINITY, 0);
    let first = sent(host, 0, 3, 7);
    assert!(first.contains("HH") && first.ends_with('R'), "{first}: the Hellos come before a request");
    assert_eq!(sent(host, 3, 5, 7), "HR", "again");
    hear(host, 3, 96, 5);
    assert_eq!(host.neighbours()[0].cost, Some(96));
    let later = sent(host, 5, 13, 7);
    assert!(later.contains('H') && !later.contains('R'), "{later}");
}

#[test]
fn datagrams_that_are_no_packets_of_a_neighbour_are_refused() {
    let mut net = joined(&[&[], &[]], &[[(0, 0), (1, 0)]]);
    let mut admits = |from, bytes: &[u8]| {
        net.hosts[0].admits(net.now, HostArrival { interface: Interface(0), from, to_all: true }, bytes)
    };
    assert_eq!(admits(link(1), &[42, 2, 0, 0]), Ok(()));
    assert_eq!(admits(link(1), &[42, 3, 0, 0]), Err(HostRefusal::Malformed));
    assert_eq!(admits(Ipv6Addr::LOCALHOST, &[42, 2, 0, 0]), Err(HostRefusal::Malformed), "not of the link");
}
