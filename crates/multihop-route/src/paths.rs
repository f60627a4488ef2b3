//! Reserved paths in the kernel: addresses of routers, routes along lists of routers, and rules for flows.
//!
//! Each router has an IPv6 address for segments, made of its main address. A packet of a flow with a reserved path leaves
//! inside an IPv6 packet with a segment routing header (RFC 8754) that lists the address of each router of the path. Each
//! router has routes to the addresses of its neighbours only, so that no router deviates from the path.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_linux::netlink::{
    FlowRule, Interface, Route, SegmentRoute, add_flow_rule, add_route, add_segment_route, flow_rules,
    interfaces, remove_flow_rule, remove_route, remove_segment_route, routes, set_host_address,
    set_unreachable,
};

use crate::flows::Flow;
use crate::kernel::{PROTOCOL, resolve};
use crate::router::ReservedPath;

/// Addresses, routes and rules of reserved paths that are in the kernel.
#[derive(Debug, Default)]
pub(crate) struct InstalledPaths {
    /// Interfaces that have the address for segments, with the address.
    addresses: BTreeSet<(u32, Ipv6Addr)>,
    /// Routes to the neighbours' addresses for segments.
    neighbours: BTreeSet<Route>,
    /// The table of each flow, and the route in the table.
    flows: BTreeMap<Flow, Installed>,
}

#[derive(Debug)]
struct Installed {
    rule: FlowRule,
    route: SegmentRoute,
}

/// State that the kernel must have.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Main address of this host.
    pub(crate) main: Ipv4Addr,
    /// Numbers of the interfaces of the daemon.
    pub(crate) interfaces: Vec<u32>,
    /// Main addresses of the neighbours, with the number of the interface.
    pub(crate) neighbours: BTreeMap<Ipv4Addr, u32>,
    /// Flows with their paths.
    pub(crate) flows: Vec<ReservedPath>,
}

impl InstalledPaths {
    /// Makes the kernel's state equal to the wanted one. A failed change is tried again with the next update.
    pub(crate) fn update(&mut self, wanted: &Wanted) {
        let own = segment(wanted.main);
        let addresses = wanted.interfaces.iter().map(|interface| (*interface, own)).collect();
        change(&mut self.addresses, addresses, "address", |(interface, address), is_there| {
            set_host_address(*interface, *address, is_there)
        });
        let route = |(main, interface): (&Ipv4Addr, &u32)| Route {
            destination: (segment(*main).into(), 128),
            via: None,
            interface: *interface,
            table: MAIN_TABLE,
            priority: PRIORITY,
            source: None,
        };
        let neighbours = wanted.neighbours.iter().map(route).collect();
        change(&mut self.neighbours, neighbours, "route", |route, is_there| {
            if is_there {
                add_route(route, PROTOCOL).map(|()| resolve(route))
            } else {
                remove_route(route, PROTOCOL)
            }
        });
        self.update_flows(wanted);
    }

    fn update_flows(&mut self, wanted: &Wanted) {
        let paths: BTreeMap<_, _> = wanted.flows.iter().map(|path| (path.flow, path)).collect();
        let gone: Vec<_> = self.flows.keys().filter(|flow| !paths.contains_key(flow)).copied().collect();
        for flow in gone {
            let Some(Installed { rule, .. }) = self.flows.remove(&flow) else { continue };
            let done = remove_flow_rule(&rule, PROTOCOL);
            report(done.and_then(|()| remove_segment_route(rule.table, PROTOCOL)), "path");
            tracing::info!(limit = MAX_LINES, flow = %flow, "path released");
        }
        for (flow, path) in paths {
            let segments: Vec<_> = path.routers.iter().map(|router| segment(*router)).collect();
            let interface = path.routers.first().and_then(|first| wanted.neighbours.get(first)).copied();
            let known = self.flows.get(&flow);
            // The interface of a lost neighbour stays: the flow keeps its path.
            let interface = interface.or_else(|| known.map(|known| known.route.interface));
            let Some(interface) = interface else { continue };
            let table = known.map_or_else(|| self.free_table(), |known| Some(known.rule.table));
            let Some(table) = table else { continue };
            let route = SegmentRoute { table, interface, segments };
            if known.is_some_and(|known| known.route == route) {
                continue;
            }
            if let Err(error) = self.install(flow, route) {
                report(Err(error), "path");
                continue;
            }
            let routers = path.routers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            tracing::info!(limit = MAX_LINES, flow = %flow, routers, "path reserved");
        }
    }

    /// Installs or replaces the path of a flow. The rule comes after the route, so that no packet finds an empty table.
    fn install(&mut self, flow: Flow, route: SegmentRoute) -> io::Result<()> {
        add_segment_route(&route, PROTOCOL)?;
        let Flow { source, destination, protocol, ports } = flow;
        let rule = FlowRule { source, destination, protocol, ports, table: route.table, priority: PRIORITY };
        if !self.flows.contains_key(&flow) {
            add_flow_rule(&rule, PROTOCOL)?;
        }
        self.flows.insert(flow, Installed { rule, route });
        Ok(())
    }

    fn free_table(&self) -> Option<u32> {
        let is_free = |table: &u32| self.flows.values().all(|flow| flow.rule.table != *table);
        TABLES.into_iter().find(is_free)
    }

    /// Reads the kernel's state, because the kernel removes the addresses and routes of an interface that goes down.
    pub(crate) fn look(&mut self, all: &[Interface]) -> io::Result<()> {
        let there = addresses(all);
        self.addresses.retain(|address| there.contains(address));
        let routes = routes(PROTOCOL)?;
        self.neighbours.retain(|route| routes.contains(route));
        let has_route = |table| routes.iter().any(|route| route.table == table);
        let lost = self.flows.extract_if(.., |_, flow| !has_route(flow.rule.table));
        for (_, Installed { rule, .. }) in lost {
            remove_flow_rule(&rule, PROTOCOL)?;
        }
        Ok(())
    }
}

/// Makes one kind of the kernel's objects equal to `wanted`: `set` adds (true) or removes (false) one.
fn change<T: Clone + Ord>(
    there: &mut BTreeSet<T>,
    wanted: BTreeSet<T>,
    what: &str,
    set: impl Fn(&T, bool) -> io::Result<()>,
) {
    for old in there.difference(&wanted).cloned().collect::<Vec<_>>() {
        report(set(&old, false), what);
        there.remove(&old);
    }
    for new in wanted.difference(&there.clone()) {
        match set(new, true) {
            Ok(()) => drop(there.insert(new.clone())),
            Err(error) => report(Err(error), what),
        }
    }
}

fn report(done: io::Result<()>, what: &str) {
    if let Err(error) = done {
        tracing::warn!(limit = MAX_LINES, %error, what, "cannot change what reserved paths need");
    }
}

/// Makes packets to routers that are no neighbours unreachable, so that none leaves by a default route.
pub(crate) fn prepare() -> io::Result<()> {
    set_unreachable(SEGMENTS, true, PROTOCOL)
}

/// Removes all that daemons need for reserved paths from the kernel; returns the number of removed routes.
pub(crate) fn flush_paths() -> io::Result<usize> {
    for rule in flow_rules(PROTOCOL)? {
        remove_flow_rule(&rule, PROTOCOL)?;
    }
    let mut left = routes(PROTOCOL)?;
    left.retain(|route| is_segment(route.destination.0) || TABLES.contains(&route.table));
    for route in &left {
        remove_route(route, PROTOCOL)?;
    }
    set_unreachable(SEGMENTS, false, PROTOCOL)?;
    for (interface, address) in addresses(&interfaces()?) {
        set_host_address(interface, address, false)?;
    }
    Ok(left.len())
}

/// The addresses for segments of this host, with the numbers of their interfaces.
fn addresses(all: &[Interface]) -> BTreeSet<(u32, Ipv6Addr)> {
    let of = |one: &Interface| {
        let addresses = one.addresses.iter().filter_map(|one| match one.address {
            IpAddr::V6(address) if is_segment(one.address) => Some(address),
            _ => None,
        });
        addresses.map(|address| (one.index, address)).collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

/// The address for segments of the router with this main address.
pub fn segment(main: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(SEGMENTS.0.to_bits() | u128::from(main.to_bits()))
}

/// Whether an address is one for segments.
pub(crate) fn is_segment(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.octets()[..12] == SEGMENTS.0.octets()[..12])
}

/// Network of the addresses for segments, a unique local one (RFC 4193). Its last 32 bits are main addresses.
const SEGMENTS: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfd9c, 0x7482, 0x121c, 0, 0, 0, 0, 0), 96);
/// Routing tables of flows, one for each flow.
const TABLES: std::ops::Range<u32> = 77_000..77_256;
const MAIN_TABLE: u32 = 254;
/// Priority of rules and of routes to neighbours.
const PRIORITY: u32 = 698;
/// Largest number of log lines per minute for each kind of change.
const MAX_LINES: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_have_one_address_for_segments() {
        let address = segment(Ipv4Addr::new(10, 0, 0, 5));
        assert_eq!(address.to_string(), "fd9c:7482:121c::a00:5");
        assert!(is_segment(address.into()));
        assert!(!is_segment("fd9c:7482:121c:1::a00:5".parse().unwrap()));
        assert!(!is_segment(Ipv4Addr::new(10, 0, 0, 5).into()));
    }
}
