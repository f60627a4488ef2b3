//! Rules by which a gateway allows or denies targets.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::address::{Address, Host};

/// Hosts and ports that a gateway may connect to: `web.example:80`, `10.0.0.0/8:1-1023`, `[fd00::]:443`, `*:*`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    hosts: Hosts,
    ports: RangeInclusive<u16>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Hosts {
    All,
    Loopback,
    Name(String),
    /// Hosts whose address has this prefix.
    Net(IpAddr, u32),
}

/// Whether the rules may allow a target, before its name is resolved: otherwise nobody asks a name server for it.
pub(super) fn may_allow(rules: &[Rule], wanted: &Address) -> bool {
    rules.iter().any(|rule| rule.ports.contains(&wanted.port) && rule.may_match(&wanted.host))
}

/// The addresses of a host that the rules allow.
pub(super) fn allowed(rules: &[Rule], wanted: &Address, found: &[SocketAddr]) -> Vec<SocketAddr> {
    let may = |to: &&SocketAddr| rules.iter().any(|rule| rule.allows(wanted, to));
    found.iter().filter(may).copied().collect()
}

impl Rule {
    /// Whether the rule matches this host, or some address to which the host's name may resolve.
    fn may_match(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::Name(name), Host::Name(wanted)) => name == wanted,
            (Hosts::Name(_), Host::Ip(_)) => false,
            _ => true,
        }
    }

    fn allows(&self, wanted: &Address, to: &SocketAddr) -> bool {
        let ip = to.ip().to_canonical();
        self.ports.contains(&to.port())
            && match &self.hosts {
                Hosts::All => true,
                Hosts::Loopback => ip.is_loopback(),
                // Whoever answers for the name does not decide that it is this host, or a neighbour.
                Hosts::Name(name) => wanted.host == Host::Name(name.clone()) && !is_local(ip),
                Hosts::Net(net, bits) => begins(ip, *net, *bits),
            }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (hosts, ports) = text.rsplit_once(':').ok_or("allowed: HOST:PORT, where either may be *")?;
        let port = |text: &str| text.parse().map_err(|_| format!("'{}' is not a port", text.escape_debug()));
        let ports = match ports.split_once('-') {
            _ if ports == "*" => 0..=u16::MAX,
            Some((first, last)) => port(first)?..=port(last)?,
            None => port(ports)?..=port(ports)?,
        };
        Ok(Self { hosts: hosts.parse()?, ports })
    }
}

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::All);
        }
        let (text, bits) = match text.split_once('/') {
            Some((net, bits)) => {
                (net, Some(bits.parse().map_err(|_| format!("'{bits}' is not a prefix length"))?))
            }
            None => (text, None),
        };
        match (text.parse()?, bits) {
            (Host::Name(name), None) if name == "localhost" => Ok(Self::Loopback),
            (Host::Name(name), None) => Ok(Self::Name(name)),
            (Host::Name(_), Some(_)) => Err("only an address can have a prefix length".to_owned()),
            (Host::Ip(ip), bits) => {
                let all = if ip.is_ipv4() { 32 } else { 128 };
                match bits.unwrap_or(all) {
                    bits if bits <= all => Ok(Self::Net(ip, bits)),
                    bits => Err(format!("the prefix length is {bits}, allowed: at most {all}")),
                }
            }
        }
    }
}

/// Whether an address is that of this host, or of the link: cloud services keep credentials at 169.254.169.254. A
/// connection to the unspecified address reaches this host.
fn is_local(ip: IpAddr) -> bool {
    let is_link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    ip.is_loopback() || ip.is_unspecified() || is_link_local
}

/// Whether an address has the first bits of another.
pub(super) fn begins(ip: IpAddr, net: IpAddr, bits: u32) -> bool {
    match (ip, net) {
        (IpAddr::V4(ip), IpAddr::V4(net)) => {
            (u32::from(ip) ^ u32::from(net)).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(ip), IpAddr::V6(net)) => {
            (u128::from(ip) ^ u128::from(net)).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, wanted: &str, found: &str) -> bool {
        let rules = [rule.parse().unwrap()];
        !allowed(&rules, &wanted.parse().unwrap(), &[found.parse().unwrap()]).is_empty()
    }

    #[test]
    fn a_rule_allows_what_it_names_and_nothing_else() {
        let web = "web.example:80";
        assert!(allows("web.example:80", web, "10.0.0.1:80"));
        assert!(allows("WEB.example:*", web, "10.0.0.1:80"));
        assert!(!allows("web.example:81", web, "10.0.0.1:80"));
        assert!(!allows("other.example:80", web, "10.0.0.1:80"));
        assert!(allows("10.0.0.0/8:1-1023", web, "10.255.0.1:80"));
        assert!(!allows("10.0.0.0/8:81-1023", web, "10.255.0.1:80"));
        assert!(!allows("10.0.0.0/8:*", web, "11.0.0.1:80"));
        assert!(allows("0.0.0.0/0:*", web, "11.0.0.1:80"));
        assert!(!allows("0.0.0.0/0:*", web, "[fd00::1]:80"));
        assert!(allows("[fd00::]/8:*", web, "[fd00::1]:80"));
        assert!(allows("10.0.0.1:80", "10.0.0.1:80", "10.0.0.1:80"));
        assert!(allows("*:*", web, "127.0.0.1:80"));
    }

    #[test]
    fn a_name_does_not_give_access_to_the_gateway_itself() {
        assert!(allows("localhost:80", "127.0.0.1:80", "127.0.0.1:80"));
        assert!(allows("localhost:80", "localhost:80", "[::1]:80"));
        // A malicious name server resolves evil.example to 127.0.0.1.
        assert!(!allows("web.example:80", "evil.example:80", "127.0.0.1:80"));
        assert!(!allows("10.0.0.0/8:*", "evil.example:80", "127.0.0.1:80"));
        // The same address, IPv4-mapped.
        assert!(allows("127.0.0.1:80", "[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:80"));
    }

    #[test]
    fn a_rule_by_name_does_not_reach_loopback_and_link_local_addresses() {
        let web = "web.example:80";
        let local =
            ["127.0.0.1", "0.0.0.0", "169.254.169.254", "[::1]", "[::]", "[fe80::1]", "[::ffff:127.0.0.1]"];
        for ip in local {
            let found = format!("{ip}:80");
            assert!(!allows("web.example:80", web, &found), "{ip}");
            assert!(
                allows(
                    &format!("{}:80", ip.replace("::ffff:", "").replace("[127.0.0.1]", "127.0.0.1")),
                    web,
                    &found
                ),
                "{ip}"
            );
        }
        let rules = ["web.example:80", "169.254.0.0/16:80"].map(|rule| rule.parse().unwrap());
        let found = ["169.254.1.1:80", "127.0.0.1:80", "10.0.0.1:80"].map(|found| found.parse().unwrap());
        assert_eq!(allowed(&rules, &web.parse().unwrap(), &found), [found[0], found[2]]);
    }

    #[test]
    fn what_no_rule_can_allow_is_known_before_a_name_is_resolved() {
        for (rule, wanted, expected) in [
            ("web.example:80", "web.example:80", true),
            ("web.example:80", "web.example:81", false),
            ("web.example:80", "evil.example:80", false),
            ("web.example:80", "10.0.0.1:80", false),
            ("10.0.0.0/8:80", "evil.example:80", true),
            ("10.0.0.0/8:80", "evil.example:81", false),
            ("localhost:80", "evil.example:80", true),
            ("*:80", "evil.example:80", true),
        ] {
            let rules = [rule.parse().unwrap()];
            assert_eq!(may_allow(&rules, &wanted.parse().unwrap()), expected, "{rule} {wanted}");
        }
    }

    #[test]
    fn invalid_rules_are_rejected() {
        for text in ["", "*", "a", "a:", "a:1-", "10.0.0.0/33:1", "a/8:1", "10.0.0.0/x:1", "a b:1", "a:70000"]
        {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}
