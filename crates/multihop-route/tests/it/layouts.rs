//! Layouts of hosts with addresses of both families, for protocols that have routes of both.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_route::{Config, HostProtocol, Prefix, Routing};

use super::network::{Host, eventually, hosts};

pub(super) const fn four(network: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, network, host))
}

pub(super) const fn six(network: u16, host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, network, 0, 0, 0, host))
}

/// A configuration with a registered protocol.
pub(super) fn extension(name: &'static str, protocol: HostProtocol, interfaces: &[&str]) -> Config {
    let interfaces = interfaces.iter().map(|name| (*name).to_owned()).collect();
    Config { interfaces, routing: Routing::Extension(protocol), protocol: name, ..Config::default() }
}

/// Hosts whose addresses can be used at once.
pub(super) fn quick_hosts<const N: usize>() -> Option<[Host; N]> {
    let hosts = hosts()?;
    for host in &hosts {
        host.namespace.set("net/ipv6/conf/default/accept_dad", "0").unwrap();
    }
    Some(hosts)
}

/// Interfaces with addresses of both families: 10.0.network.host and fd00:0:0:network::host.
pub(super) fn join(one: &Host, mine: &str, other: &Host, theirs: &str, (network, a, b): (u8, u8, u8)) {
    let text = |host: u8| format!("{}/24", four(network, host));
    one.join((mine, &text(a)), other, (theirs, &text(b)));
    for (end, name, host) in [(one, mine, a), (other, theirs, b)] {
        let address = six(network.into(), host.into());
        end.namespace.ip(&format!("addr add {address}/64 dev {name} nodad")).unwrap();
    }
}

/// a - b - c - d, with networks 10.0.1 to 10.0.3, and a network behind either end.
pub(super) fn chain() -> Option<[Host; 4]> {
    let [a, b, c, d] = quick_hosts()?;
    join(&a, "veth-a", &b, "veth-b", (1, 1, 2));
    join(&b, "veth-c", &c, "veth-d", (2, 2, 3));
    join(&c, "veth-e", &d, "veth-f", (3, 3, 4));
    for (host, number) in [(&a, 1), (&d, 4)] {
        let addresses = [format!("{}/32", four(9, number)), format!("{}/128", six(9, number.into()))];
        for address in addresses {
            host.namespace.ip(&format!("addr add {address} dev lo")).unwrap();
        }
    }
    Some([a, b, c, d])
}

pub(super) fn networks(host: &str) -> Vec<Prefix> {
    vec![format!("10.0.9.{host}/32").parse().unwrap(), format!("fd00:0:0:9::{host}/128").parse().unwrap()]
}

pub(super) fn reach_each_other(a: &Host, d: &Host) {
    for (from, to, address) in [
        (a, d, four(3, 4)),
        (a, d, six(3, 4)),
        (d, a, four(1, 1)),
        (d, a, six(1, 1)),
        (a, d, four(9, 4)),
        (a, d, six(9, 4)),
    ] {
        eventually(&format!("a way to {address}"), || from.reaches(to, address));
    }
}

/// Whether a host shows in its status that the kernel has its route to a network.
pub(super) fn has_installed(host: &Host, to: &str) -> bool {
    host.status().is_some_and(|status| status["routes"][to]["installed"] == true)
}

pub(super) fn metric(host: &Host, to: &str) -> Option<u64> {
    host.status()?["routes"][to]["cost"].as_u64()
}

/// Cables from left over upper to right, and from left over lower to right. The right host has a network behind it.
pub(super) fn diamond() -> Option<[Host; 4]> {
    let all = quick_hosts()?;
    let [left, upper, lower, right] = &all;
    for host in &all {
        // The kernel otherwise removes addresses of IPv6 when a link goes down.
        host.namespace.set("net/ipv6/conf/all/keep_addr_on_down", "1").unwrap();
    }
    join(left, "veth-a", upper, "veth-b", (1, 1, 2));
    join(upper, "veth-c", right, "veth-d", (2, 2, 4));
    join(left, "veth-e", lower, "veth-f", (3, 1, 3));
    join(lower, "veth-g", right, "veth-h", (4, 3, 4));
    right.namespace.ip("addr add 10.0.9.4/32 dev lo").unwrap();
    right.namespace.ip("addr add fd00:0:0:9::4/128 dev lo").unwrap();
    Some(all)
}

/// Cuts a link on each side of a diamond in turn, and expects packets over the other side. `is_whole`: both sides work again.
pub(super) fn heals([left, lower, right]: [&Host; 3], is_whole: impl Fn() -> bool) {
    for cut in ["veth-d", "veth-g"] {
        let (host, other) = if cut == "veth-d" { (right, four(3, 3)) } else { (lower, four(1, 2)) };
        host.namespace.ip(&format!("link set {cut} down")).unwrap();
        eventually("a route by the other side", || left.via(four(9, 4)) == Some(other));
        eventually("packets of IPv4", || left.reaches(right, four(9, 4)));
        eventually("packets of IPv6", || left.reaches(right, six(9, 4)));
        host.namespace.ip(&format!("link set {cut} up")).unwrap();
        eventually("a way on both sides", &is_whole);
    }
}

/// Number of neighbours of a host that hear it, too.
pub(super) fn symmetric_neighbours(host: &Host) -> usize {
    let status = host.status().unwrap();
    status["neighbours"].as_array().unwrap().iter().filter(|one| one["symmetric"] == true).count()
}

/// Number of datagrams that a host refused for a reason.
pub(super) fn refused(host: &Host, reason: &str) -> u64 {
    host.status().and_then(|status| status["datagrams"][reason].as_u64()).unwrap_or(0)
}
