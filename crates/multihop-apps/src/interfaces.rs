//! The addresses of this host.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// Addresses at which other hosts may reach a socket that listens at `local`: its own address, or the
/// addresses of all interfaces. A host without a network returns the loopback address.
pub fn reachable_at(local: SocketAddr) -> Vec<IpAddr> {
    if !local.ip().is_unspecified() {
        return vec![local.ip()];
    }
    let mut found = of_interfaces();
    // A socket at :: also accepts IPv4.
    found.retain(|address| local.is_ipv6() || address.is_ipv4());
    found.sort_by_key(|address| !address.is_ipv4());
    found.dedup();
    if found.is_empty() {
        let [four, six] = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
        found.push(if local.is_ipv4() { four } else { six });
    }
    found
}

/// The broadcast addresses of the IPv4 networks of all interfaces, the loopback included.
pub(crate) fn broadcast_addresses() -> Vec<Ipv4Addr> {
    let Ok(all) = getifaddrs() else { return Vec::new() };
    let up = all.filter(|one| one.flags.contains(InterfaceFlags::IFF_UP));
    let mut found: Vec<_> = up
        .filter_map(|one| {
            let [address, mask] =
                [one.address?, one.netmask?].map(|it| it.as_sockaddr_in().map(|it| it.ip()));
            Some(address? | !mask?)
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

fn of_interfaces() -> Vec<IpAddr> {
    let Ok(all) = getifaddrs() else { return Vec::new() };
    let up = all.filter(|one| one.flags.contains(InterfaceFlags::IFF_UP));
    let addresses = up.filter_map(|one| {
        let address = one.address?;
        let four = address.as_sockaddr_in().map(|address| IpAddr::from(address.ip()));
        four.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::from(address.ip())))
    });
    addresses.filter(is_reachable).collect()
}

/// Whether other hosts can use an address. An IPv6 link-local address cannot be used, because it needs the
/// name of the other host's interface.
fn is_reachable(address: &IpAddr) -> bool {
    !address.is_loopback() && !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_network_can_be_asked() {
        assert!(broadcast_addresses().contains(&Ipv4Addr::new(127, 255, 255, 255)));
    }

    #[test]
    fn a_socket_for_all_addresses_has_those_of_the_host() {
        let at = |text: &str| reachable_at(text.parse().unwrap());
        assert_eq!(at("10.1.2.3:7450"), [IpAddr::from([10, 1, 2, 3])]);
        let found = at("0.0.0.0:7450");
        assert!(!found.is_empty() && found.iter().all(|address| address.is_ipv4()), "{found:?}");
        assert!(!found.iter().any(IpAddr::is_unspecified));
        assert!(!at("[::]:7450").is_empty());
    }
}
