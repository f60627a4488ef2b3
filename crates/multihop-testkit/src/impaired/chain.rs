//! Chains of network namespaces whose kernels forward packets.

use std::io;
use std::net::Ipv4Addr;

use multihop_linux::netns::Namespace;

/// A chain of hosts, each joined to the next by a veth pair; the inner ones forward packets.
#[derive(Debug)]
pub struct Chain {
    /// Hosts of the chain, in order. The first has the address 10.0.0.1, the last that of [`Chain::address`].
    pub hosts: Vec<Namespace>,
}

impl Chain {
    /// A chain of this many hops, with routes in both directions from end to end.
    pub fn new(hops: u8) -> io::Result<Self> {
        let hosts = (0..=hops).map(|_| Namespace::new()).collect::<io::Result<Vec<_>>>()?;
        for (hop, pair) in (0..hops).zip(hosts.windows(2)) {
            let (left, right) = (format!("10.0.{hop}.1/24"), format!("10.0.{hop}.2/24"));
            pair[0].join(("right", &left), &pair[1], ("left", &right))?;
        }
        let chain = Self { hosts };
        for host in 0..=hops {
            chain.hosts[usize::from(host)].set("net/ipv4/ip_forward", "1")?;
            for network in (0..host.saturating_sub(1)).chain(host + 1..hops) {
                chain.route("add", host, network)?;
            }
        }
        Ok(chain)
    }

    /// Deletes a host's route towards the last network. The host then answers packets with ICMP errors.
    pub fn lose_route(&self, host: u8) -> io::Result<()> {
        self.route("del", host, self.hops() - 1)
    }

    /// Restores a host's route towards the last network after [`lose_route`](Self::lose_route).
    pub fn restore_route(&self, host: u8) -> io::Result<()> {
        self.route("add", host, self.hops() - 1)
    }

    /// The address of the last host.
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, self.hops() - 1, 2)
    }

    fn hops(&self) -> u8 {
        u8::try_from(self.hosts.len() - 1).expect("a chain was made of at most 255 hops")
    }

    /// Changes the route from a host to a network to which it is not connected.
    fn route(&self, verb: &str, host: u8, network: u8) -> io::Result<()> {
        let next = if network < host { format!("10.0.{}.1", host - 1) } else { format!("10.0.{host}.2") };
        self.hosts[usize::from(host)].ip(&format!("route {verb} 10.0.{network}.0/24 via {next}"))
    }
}
