//! Datagrams of a neighbour never end the agent of a host, and its own datagrams are packets.

use std::net::Ipv6Addr;

use multihop_core::{Duration, Instant, Interface};
use multihop_routing::host::{HostAgent, HostArrival, HostConfig, HostInterface, HostSetup};
use multihop_routing_extra::{babel, olsrv2, rfc5444};

pub fn fuzz(data: &[u8]) {
    let keys = if data.len() % 2 == 0 { Vec::new() } else { vec![[7; 32]] };
    let setup = HostSetup { now: Instant::ZERO, seed: 1, epoch: 1_800_000_000, keys };
    if data.len() % 4 < 2 {
        run(babel::Config::default().host_agent(setup), data, &[SEPARATOR], |bytes| {
            babel::wire::Packet::parse(bytes).expect("a packet of Babel");
        });
    } else {
        run(olsrv2::Config::default().host_agent(setup), data, &[], |bytes| {
            rfc5444::Packet::parse(bytes).expect("a packet of OLSRv2");
        });
    }
}

/// Gives the datagrams in `data` to an agent, each behind `prefix`, and those that it sends to `check`.
fn run(mut agent: Box<dyn HostAgent>, data: &[u8], prefix: &[u8], check: fn(&[u8])) {
    let mut now = Instant::ZERO;
    let (number, address) = (Interface(1), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));
    let addresses = vec![[10, 0, 0, 1].into()];
    agent.set_interfaces(now, vec![HostInterface { number, address, addresses, is_radio: false }]);
    let from = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
    for datagram in data.split(|byte| *byte == SEPARATOR) {
        let bytes = [prefix, datagram].concat();
        let arrival = HostArrival { interface: number, from, to_all: true };
        let _ = agent.admits(now, arrival, &bytes);
        let _ = agent.receive(now, arrival, &bytes);
        now = now + Duration::from_millis(700);
        agent.handle_timeout(now);
        while let Some(sent) = agent.poll_datagram(now) {
            check(&sent.bytes);
        }
        assert!(agent.poll_timeout().is_some_and(|at| at > now));
    }
    assert!(agent.routes().len() <= 65_536);
}

/// The byte between two datagrams; each packet of Babel begins with it.
const SEPARATOR: u8 = 42;
