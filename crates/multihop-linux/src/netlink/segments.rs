//! Segment routing over IPv6 (SRv6): routes that send packets along a list of routers, and rules that select these
//! routes by flow.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::libc;

use super::message::{Message, Request, address, attributes, family};

/// Default route of a routing table that sends IPv4 packets inside IPv6 packets along a list of routers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SegmentRoute {
    /// Number of the routing table, which has no other route.
    pub table: u32,
    /// Number of the interface to the first router.
    pub interface: u32,
    /// Addresses of the routers in their order, at least one; the last router takes the packet out of the IPv6
    /// packet.
    pub segments: Vec<Ipv6Addr>,
}

/// Rule that selects a routing table for the IPv4 packets of one flow.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct FlowRule {
    /// Source address of the packets.
    pub source: Ipv4Addr,
    /// Destination address of the packets.
    pub destination: Ipv4Addr,
    /// Protocol number of IP, that of TCP or UDP.
    pub protocol: u8,
    /// Source port and destination port.
    pub ports: (u16, u16),
    /// Number of the routing table.
    pub table: u32,
    /// Priority of the rule: the kernel looks at the rule with the smallest number first.
    pub priority: u32,
}

/// Adds a route with this protocol number, or replaces the route of the table.
pub fn add_segment_route(route: &SegmentRoute, protocol: u8) -> io::Result<()> {
    let mut request =
        Request::new(libc::RTM_NEWROUTE, libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE);
    let mut inside = Request::nested();
    inside.attribute(SEG6_IPTUNNEL_SRH, &encapsulation(&route.segments));
    default_route(&mut request, route.table, protocol)
        .attribute(libc::RTA_OIF, &route.interface.to_ne_bytes())
        .attribute(RTA_ENCAP_TYPE, &LWTUNNEL_ENCAP_SEG6.to_ne_bytes())
        .attribute(RTA_ENCAP, inside.content())
        .transact()
}

/// Removes the default route with this protocol number from a routing table. A missing route is no error.
pub fn remove_segment_route(table: u32, protocol: u8) -> io::Result<()> {
    let mut request = Request::new(libc::RTM_DELROUTE, libc::NLM_F_ACK);
    missing_is_fine(default_route(&mut request, table, protocol).transact())
}

fn default_route(request: &mut Request, table: u32, protocol: u8) -> &mut Request {
    let family = family(Ipv4Addr::UNSPECIFIED.into());
    let (scope, kind) = (libc::RT_SCOPE_LINK, libc::RTN_UNICAST);
    // struct rtmsg: family, lengths of the prefixes of destination and source, type of service, table (in an attribute),
    // protocol, scope, type, flags.
    request.bytes(&[family, 0, 0, 0, libc::RT_TABLE_UNSPEC, protocol, scope, kind]).u32(0);
    request.attribute(libc::RTA_TABLE, &table.to_ne_bytes())
}

/// `struct seg6_iptunnel_encap`: the mode, and the routing header of RFC 8754, whose list of segments begins with
/// the last router.
fn encapsulation(segments: &[Ipv6Addr]) -> Vec<u8> {
    let last = u8::try_from(segments.len().saturating_sub(1)).expect("a list of segments is short");
    let length = u8::try_from(2 * segments.len()).expect("a list of segments is short");
    let mut bytes = SEG6_IPTUN_MODE_ENCAP.to_ne_bytes().to_vec();
    // Next header (set by the kernel), length in units of 8 bytes, type, segments left, last entry, flags, tag.
    bytes.extend([0, length, SEGMENT_ROUTING_HEADER, last, last, 0, 0, 0]);
    bytes.extend(segments.iter().rev().flat_map(Ipv6Addr::octets));
    bytes
}

/// Adds a rule with this protocol number.
pub fn add_flow_rule(rule: &FlowRule, protocol: u8) -> io::Result<()> {
    let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    flow_rule(&mut Request::new(libc::RTM_NEWRULE, flags), rule, protocol).transact()
}

/// Removes a rule with this protocol number. A missing rule is no error.
pub fn remove_flow_rule(rule: &FlowRule, protocol: u8) -> io::Result<()> {
    missing_is_fine(
        flow_rule(&mut Request::new(libc::RTM_DELRULE, libc::NLM_F_ACK), rule, protocol).transact(),
    )
}

fn flow_rule<'a>(request: &'a mut Request, rule: &FlowRule, protocol: u8) -> &'a mut Request {
    let family = family(rule.source.into());
    // struct fib_rule_hdr: family, lengths of the prefixes of destination and source, type of service, table (in an
    // attribute), two reserved bytes, action, flags.
    request.bytes(&[family, 32, 32, 0, libc::RT_TABLE_UNSPEC, 0, 0, FR_ACT_TO_TBL]).u32(0);
    request.address(FRA_DST, rule.destination.into()).address(FRA_SRC, rule.source.into());
    request.attribute(FRA_PRIORITY, &rule.priority.to_ne_bytes());
    request.attribute(FRA_TABLE, &rule.table.to_ne_bytes());
    request.attribute(FRA_PROTOCOL, &[protocol]).attribute(FRA_IP_PROTO, &[rule.protocol]);
    for (kind, port) in [(FRA_SPORT_RANGE, rule.ports.0), (FRA_DPORT_RANGE, rule.ports.1)] {
        request.attribute(kind, &[port.to_ne_bytes(), port.to_ne_bytes()].concat());
    }
    request
}

/// The rules for flows of IPv4 that a program with this protocol number has added.
pub fn flow_rules(protocol: u8) -> io::Result<Vec<FlowRule>> {
    let mut request = Request::new(libc::RTM_GETRULE, libc::NLM_F_DUMP);
    let family = family(Ipv4Addr::UNSPECIFIED.into());
    let list = request.bytes(&[family, 0, 0, 0, 0, 0, 0, 0]).u32(0).dump()?;
    Ok(list.iter().filter_map(|message| parse_rule(message, protocol)).collect())
}

fn parse_rule(message: &Message, of: u8) -> Option<FlowRule> {
    if message.kind != libc::RTM_NEWRULE {
        return None;
    }
    let rest = message.body.get(12..)?;
    let attribute = |wanted: u16| attributes(rest).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let four = |wanted| match address(attribute(wanted)?)? {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    };
    let port = |wanted| attribute(wanted)?.first_chunk().map(|bytes: &[u8; 2]| u16::from_ne_bytes(*bytes));
    let number = |wanted| attribute(wanted)?.try_into().ok().map(u32::from_ne_bytes);
    if attribute(FRA_PROTOCOL)? != [of] {
        return None;
    }
    Some(FlowRule {
        source: four(FRA_SRC)?,
        destination: four(FRA_DST)?,
        protocol: *attribute(FRA_IP_PROTO)?.first()?,
        ports: (port(FRA_SPORT_RANGE)?, port(FRA_DPORT_RANGE)?),
        table: number(FRA_TABLE)?,
        priority: number(FRA_PRIORITY)?,
    })
}

/// Adds or removes the route that refuses packets to an IPv6 network. A route that is there already, or not there, is
/// no error.
pub fn set_unreachable(network: (Ipv6Addr, u8), is_there: bool, protocol: u8) -> io::Result<()> {
    let (kind, flags) = if is_there {
        (libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE)
    } else {
        (libc::RTM_DELROUTE, 0)
    };
    let mut request = Request::new(kind, libc::NLM_F_ACK | flags);
    let (family, scope) = (family(network.0.into()), libc::RT_SCOPE_UNIVERSE);
    let table = libc::RT_TABLE_MAIN;
    request.bytes(&[family, network.1, 0, 0, table, protocol, scope, libc::RTN_UNREACHABLE]).u32(0);
    missing_is_fine(request.address(libc::RTA_DST, network.0.into()).transact())
}

/// Adds an IPv6 address of one host to an interface, without a search for duplicates, or removes the address. A missing
/// address is no error.
pub fn set_host_address(interface: u32, address: Ipv6Addr, is_there: bool) -> io::Result<()> {
    let (kind, flags) = if is_there {
        (libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_REPLACE)
    } else {
        (libc::RTM_DELADDR, 0)
    };
    let mut request = Request::new(kind, libc::NLM_F_ACK | flags);
    let without_search = u8::try_from(libc::IFA_F_NODAD).expect("a flag of the first byte");
    // struct ifaddrmsg: family, length of the prefix, flags, scope, index.
    request.bytes(&[family(address.into()), 128, without_search, libc::RT_SCOPE_UNIVERSE]).u32(interface);
    missing_is_fine(request.address(libc::IFA_LOCAL, address.into()).transact())
}

/// Turns the error of a removal of something that is not there into a success.
fn missing_is_fine(done: io::Result<()>) -> io::Result<()> {
    let codes = [libc::ESRCH, libc::ENODEV, libc::ENOENT, libc::EADDRNOTAVAIL];
    match done {
        Err(error) if error.raw_os_error().is_some_and(|code| codes.contains(&code)) => Ok(()),
        result => result,
    }
}

// Attributes and values of linux/rtnetlink.h, linux/lwtunnel.h, linux/seg6.h and linux/seg6_iptunnel.h.
const RTA_ENCAP_TYPE: u16 = 21;
const RTA_ENCAP: u16 = 22;
const LWTUNNEL_ENCAP_SEG6: u16 = 5;
const SEG6_IPTUNNEL_SRH: u16 = 1;
const SEG6_IPTUN_MODE_ENCAP: u32 = 1;
/// Type of a routing header with segments (RFC 8754).
const SEGMENT_ROUTING_HEADER: u8 = 4;
// Attributes and values of linux/fib_rules.h.
const FRA_DST: u16 = 1;
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
const FRA_PROTOCOL: u16 = 21;
const FRA_IP_PROTO: u16 = 22;
const FRA_SPORT_RANGE: u16 = 23;
const FRA_DPORT_RANGE: u16 = 24;
const FR_ACT_TO_TBL: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::interfaces;
    use crate::netns::Namespace;

    #[test]
    fn a_list_of_segments_is_written_from_the_last_to_the_first() {
        let [first, last] = [1, 2].map(|n| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
        let bytes = encapsulation(&[first, last]);
        assert_eq!(bytes[4..12], [0, 4, 4, 1, 1, 0, 0, 0]);
        assert_eq!(bytes[12..28], last.octets());
        assert_eq!(bytes[28..], first.octets());
    }

    #[test]
    fn the_kernel_has_the_rules_and_routes_until_they_are_removed() {
        let made =
            Namespace::new().and_then(|made| made.ip("link add a0 type veth peer name a1").map(|()| made));
        let Ok(host) = made else {
            println!("skipped: network namespaces need root and the command ip");
            return;
        };
        host.ip("link set a0 up").unwrap();
        host.ip("link set a1 up").unwrap();
        let rule = FlowRule {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 5].into(),
            protocol: 6,
            ports: (40_000, 5_001),
            table: 7_700,
            priority: 698,
        };
        let own = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
        let changes = || -> io::Result<_> {
            let interface = interfaces()?.into_iter().find(|one| one.name == "a0").expect("a0").index;
            let segments = vec![Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2); 3];
            set_host_address(interface, own, true)?;
            set_unreachable((Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0), 96), true, 77)?;
            add_segment_route(&SegmentRoute { table: 7_700, interface, segments }, 77)?;
            add_flow_rule(&rule, 77)?;
            let there = (flow_rules(77)?, flow_rules(76)?, crate::netlink::routes(77)?.len());
            // A second removal finds nothing.
            for _ in 0..2 {
                remove_flow_rule(&rule, 77)?;
                remove_segment_route(7_700, 77)?;
                set_unreachable((Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0), 96), false, 77)?;
                set_host_address(interface, own, false)?;
            }
            let has_own = interfaces()?.iter().any(|one| one.addresses.iter().any(|of| of.address == own));
            Ok((there, (flow_rules(77)?, crate::netlink::routes(77)?.len(), has_own)))
        };
        let (there, after) = host.run(changes).unwrap().unwrap();
        assert_eq!(there, (vec![rule], vec![], 1));
        assert_eq!(after, (vec![], 0, false));
    }
}
