//! A routing daemon survives whatever hosts on its links send, at any time.
#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use multihop_core::{Duration, Instant};
use multihop_route::{Config, Port, Router};

// Each datagram: its length, the sender, and how long after the previous one it arrives.
fuzz_target!(|data: &[u8]| {
    let mut router = Router::new(Config::default(), 1, 0);
    let ports = [Port::new(1, Ipv4Addr::new(10, 0, 1, 1)), Port::new(2, Ipv4Addr::new(10, 0, 2, 1))];
    let mut now = Instant::ZERO;
    router.set_ports(now, &ports);
    let mut rest = data;
    while let [length, sender, pause, after @ ..] = rest {
        let (datagram, left) = after.split_at(usize::from(*length).min(after.len()));
        rest = left;
        now += Duration::from_millis(u64::from(*pause) * 20);
        let interface = 1 + u32::from(sender & 1);
        router.receive(now, interface, Ipv4Addr::new(10, 0, 1, *sender), datagram);
        if router.poll_timeout().is_some_and(|at| at <= now) {
            router.handle_timeout(now);
        }
        router.take_datagrams(now);
        router.routes(now);
    }
});
