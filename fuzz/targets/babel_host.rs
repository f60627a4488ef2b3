//! Datagrams of a neighbour never end the agent of a host, and its own datagrams are packets.

use std::net::Ipv6Addr;

use multihop_core::{Duration, Instant, Interface};
use multihop_routing::host::{HostArrival, HostConfig, HostInterface, HostSetup};
use multihop_routing_extra::babel::{Config, wire::Packet};

pub fn fuzz(data: &[u8]) {
    let mut now = Instant::ZERO;
    let (number, address) = (Interface(1), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));
    let keys = if data.len() % 2 == 0 { Vec::new() } else { vec![[7; 32]] };
    let mut agent = Config::default().host_agent(HostSetup { now, seed: 1, keys });
    let addresses = vec![[10, 0, 0, 1].into()];
    agent.set_interfaces(now, vec![HostInterface { number, address, addresses, is_radio: false }]);
    let from = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
    for datagram in data.split(|byte| *byte == 42) {
        let bytes = [&[42], datagram].concat();
        let arrival = HostArrival { interface: number, from, to_all: true };
        let _ = agent.admits(now, arrival, &bytes);
        let _ = agent.receive(now, arrival, &bytes);
        now = now + Duration::from_millis(700);
        agent.handle_timeout(now);
        while let Some(sent) = agent.poll_datagram(now) {
            Packet::parse(&sent.bytes).expect("a packet of the protocol");
        }
        assert!(agent.poll_timeout().is_some_and(|at| at > now));
    }
    assert!(agent.routes().len() <= 65_536);
}
