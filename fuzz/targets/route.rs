//! A routing daemon survives whatever hosts on its links send, at any time, under each protocol and family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_core::{Duration, Instant};
use multihop_route::{Arrival, Config, Family, Key, Port, Router, Routing};
use multihop_routing::aodv;

// The protocol, family, and whether packets are signed, whose tags are not checked here; then each datagram: its length, the sender and how it was sent, and how long after the previous one it
// arrives. Under AODV each is a packet without a route as well.
pub fn fuzz(data: &[u8]) {
    let [protocol, rest @ ..] = data else { return };
    let mut config = Config::default();
    if protocol & 1 == 1 {
        (config.protocol, config.routing) = ("aodv", Routing::Aodv(aodv::Config::for_hosts()));
    }
    if protocol & 3 == 2 {
        config.family = Family::Ipv6;
    }
    if protocol & 5 == 4 {
        config.key = Some(Key::new([7; 32]));
    }
    let address = |network: u8, host: u8| match config.family {
        Family::Ipv4 => IpAddr::from(Ipv4Addr::new(10, 0, network, host)),
        Family::Ipv6 => Ipv6Addr::new(0xfd00, 0, 0, network.into(), 0, 0, 0, host.into()).into(),
    };
    let mut router = Router::new(config.clone(), 1, 0);
    let ports = [Port::new(1, address(1, 1)), Port::new(2, address(2, 1))];
    let mut now = Instant::ZERO;
    router.set_ports(now, &ports);
    let mut rest = rest;
    while let [length, sender, pause, after @ ..] = rest {
        let (datagram, left) = after.split_at(usize::from(*length).min(after.len()));
        rest = left;
        now += Duration::from_millis(u64::from(*pause) * 20);
        let (interface, to_all) = (1 + u32::from(sender & 1), sender & 2 == 0);
        let (from, ago) = (address(1, *sender), Duration::from_millis(u64::from(*length)));
        router.receive(now, Arrival { interface, from, to_all, ttl: *length, ago }, datagram);
        router.catch(now, datagram);
        if router.poll_timeout().is_some_and(|at| at <= now) {
            router.handle_timeout(now);
        }
        router.take_outcomes();
        router.take_datagrams(now);
        router.routes(now);
    }
}
