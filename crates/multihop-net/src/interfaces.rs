//! The addresses of this host.

use std::net::{IpAddr, SocketAddr};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// Addresses at which other hosts may reach a socket that listens at `local`: its own, or those of all interfaces. A
/// host without a network has the loopback.
pub fn reachable_at(local: SocketAddr) -> Vec<IpAddr> {
    if !local.ip().is_unspecified() {
        return vec![local.ip()];
    }
    let mut found = of_interfaces();
    // A socket at :: serves IPv4 as well.
    found.retain(|address| local.is_ipv6() || address.is_ipv4());
    found.sort_by_key(|address| !address.is_ipv4());
    found.dedup();
    if found.is_empty() {
        let [four, six] = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
        found.push(if local.is_ipv4() { four } else { six });
    }
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

/// A link-local address of IPv6 would need the name of the other host's interface.
fn is_reachable(address: &IpAddr) -> bool {
    !address.is_loopback() && !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

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
