//! Routes of one protocol number in the kernel's tables.

use std::io;
use std::net::IpAddr;

use nix::libc;

use super::message::{Message, Request, address, attributes, family, number, unspecified};

/// A route in the kernel's tables.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Route {
    /// Destination of the route: the network's address, and the bits of its prefix.
    pub destination: (IpAddr, u8),
    /// The neighbour; `None` if the destination is on the link.
    pub via: Option<IpAddr>,
    /// Number of the interface through which packets leave.
    pub interface: u32,
    /// The number of the routing table.
    pub table: u32,
    /// Priority among routes to the same network: the smallest number is used.
    pub priority: u32,
    /// The address from which packets of this host leave; `None`: the kernel's choice.
    pub source: Option<IpAddr>,
}

/// The routes that a routing program with this number has added, of both families.
pub fn routes(protocol: u8) -> io::Result<Vec<Route>> {
    let mut request = Request::new(libc::RTM_GETROUTE, libc::NLM_F_DUMP);
    let list = request.bytes(&header(0, 0, 0, 0)).u32(0).dump()?;
    Ok(list.iter().filter_map(|message| route(message, protocol)).collect())
}

/// Adds a route of this protocol number, or replaces the one with the same destination, table and priority.
pub fn add_route(route: &Route, protocol: u8) -> io::Result<()> {
    change(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, route, protocol)
}

/// Removes a route of this thread's network namespace. One that is not there is no error.
pub fn remove_route(route: &Route, protocol: u8) -> io::Result<()> {
    match change(libc::RTM_DELROUTE, 0, route, protocol) {
        // The kernel has removed it together with its interface.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV)) => Ok(()),
        result => result,
    }
}

fn change(kind: u16, flags: i32, route: &Route, protocol: u8) -> io::Result<()> {
    let scope = if route.via.is_some() { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
    let (destination, bits) = route.destination;
    let mut request = Request::new(kind, libc::NLM_F_ACK | flags);
    // The neighbour need not have an address in a network of this interface.
    let on_link = if route.via.is_some() { RTNH_F_ONLINK } else { 0 };
    request.bytes(&header(family(destination), bits, protocol, scope)).u32(on_link);
    request.address(libc::RTA_DST, destination);
    if let Some(via) = route.via {
        request.address(libc::RTA_GATEWAY, via);
    }
    if let Some(source) = route.source {
        request.address(libc::RTA_PREFSRC, source);
    }
    request.attribute(libc::RTA_OIF, &route.interface.to_ne_bytes());
    request.attribute(libc::RTA_PRIORITY, &route.priority.to_ne_bytes());
    request.attribute(libc::RTA_TABLE, &route.table.to_ne_bytes());
    request.transact()
}

/// struct rtmsg without its flags: family, lengths of the prefixes of destination and source, type of service, table
/// (in an attribute), protocol, scope, type.
fn header(family: u8, bits: u8, protocol: u8, scope: u8) -> [u8; 8] {
    [family, bits, 0, 0, libc::RT_TABLE_UNSPEC, protocol, scope, libc::RTN_UNICAST]
}

fn route(message: &Message, of: u8) -> Option<Route> {
    let [family, bits, _, _, table, protocol, _, kind, ..] = message.body[..] else { return None };
    if message.kind != libc::RTM_NEWROUTE || protocol != of || kind != libc::RTN_UNICAST {
        return None;
    }
    let mut route = Route {
        destination: (unspecified(family)?, bits),
        via: None,
        interface: 0,
        table: table.into(),
        priority: 0,
        source: None,
    };
    for (kind, value) in attributes(message.body.get(12..)?) {
        match kind {
            libc::RTA_DST => route.destination.0 = address(value)?,
            libc::RTA_GATEWAY => route.via = Some(address(value)?),
            libc::RTA_PREFSRC => route.source = Some(address(value)?),
            libc::RTA_OIF => route.interface = number(value)?,
            libc::RTA_PRIORITY => route.priority = number(value)?,
            libc::RTA_TABLE => route.table = number(value)?,
            _ => {}
        }
    }
    Some(route)
}

/// Flag of a next hop that is on the link although no network of the interface contains it (linux/rtnetlink.h).
const RTNH_F_ONLINK: u32 = 4;
