//! A routing daemon survives whatever hosts on its links send, at any time, under each protocol.
#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use multihop_core::{Duration, Instant};
use multihop_route::{Arrival, Config, Port, Router, Routing};
use multihop_routing::aodv;

// The protocol; then each datagram: its length, the sender and how it was sent, and how long after the previous one it
// arrives. Under AODV each is a packet without a route as well.
fuzz_target!(|data: &[u8]| {
    let [protocol, rest @ ..] = data else { return };
    let mut config = Config::default();
    if protocol & 1 == 1 {
        (config.protocol, config.routing) = ("aodv", Routing::Aodv(aodv::Config::for_hosts()));
    }
    let mut router = Router::new(config, 1, 0);
    let ports = [Port::new(1, Ipv4Addr::new(10, 0, 1, 1)), Port::new(2, Ipv4Addr::new(10, 0, 2, 1))];
    let mut now = Instant::ZERO;
    router.set_ports(now, &ports);
    let mut rest = rest;
    while let [length, sender, pause, after @ ..] = rest {
        let (datagram, left) = after.split_at(usize::from(*length).min(after.len()));
        rest = left;
        now += Duration::from_millis(u64::from(*pause) * 20);
        let (interface, to_all) = (1 + u32::from(sender & 1), sender & 2 == 0);
        let from = Ipv4Addr::new(10, 0, 1, *sender);
        router.receive(now, Arrival { interface, from, to_all, ttl: *length }, datagram);
        router.catch(now, datagram);
        if router.poll_timeout().is_some_and(|at| at <= now) {
            router.handle_timeout(now);
        }
        router.take_fates();
        router.take_datagrams(now);
        router.routes(now);
    }
});
