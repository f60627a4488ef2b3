//! Tests of the delay of a link, in virtual time.

use std::net::Ipv6Addr;

use super::*;
use crate::prefix::Family;

fn address(family: Family, host: u8) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(10, 0, 1, host).into(),
        Family::Ipv6 => Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, host.into()).into(),
    }
}

/// The delays of their link that two neighbours measure, in microseconds. A HELLO takes 3 ms over the link.
/// Each daemon reads it some time after its arrival, and may know how late it is.
fn measured(family: Family, late: [u64; 2], knows: bool) -> [Option<u32>; 2] {
    let late = late.map(Duration::from_millis);
    let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
    let config = Config {
        routing: Routing::Olsr(olsr::Config::rfc().with_metric(metric)),
        family,
        ..Config::default()
    };
    let mut routers = [1, 2].map(|host| {
        let mut router = Router::new(config.clone(), host.into(), 0);
        router.set_ports(Instant::ZERO, &[Port::new(0, address(family, host))]);
        router
    });
    // Each entry is an arrival time, a receiver and the bytes of a datagram.
    let mut on_the_way: Vec<(Instant, usize, Vec<u8>)> = Vec::new();
    for millis in 0..20_000 {
        let now = Instant::ZERO + Duration::from_millis(millis);
        for (_, to, bytes) in on_the_way.extract_if(.., |(at, ..)| *at <= now) {
            let from = [address(family, 2), address(family, 1)][to];
            let ago = if knows { late[to] } else { Duration::ZERO };
            routers[to].receive(now, Arrival { interface: 0, from, to_all: true, ttl: 1, ago }, &bytes);
        }
        for (here, router) in routers.iter_mut().enumerate() {
            if router.poll_timeout().is_some_and(|due| due <= now) {
                router.handle_timeout(now);
            }
            let there = 1 - here;
            let arrives = now + Duration::from_millis(3) + late[there];
            on_the_way.extend(router.take_datagrams(now).into_iter().map(|one| (arrives, there, one.bytes)));
        }
    }
    routers.map(|mut router| {
        let heard = router.heard(Instant::ZERO).next().unwrap();
        router.measured(&heard)
    })
}

#[test]
fn time_stamps_of_the_kernel_take_late_daemons_out_of_delays() {
    for family in [Family::Ipv4, Family::Ipv6] {
        assert_eq!(measured(family, [0, 0], true), [Some(3_000); 2]);
        assert_eq!(measured(family, [20, 60], false), [Some(43_000); 2], "40 ms on average");
        assert_eq!(measured(family, [20, 60], true), [Some(3_000); 2]);
    }
}
