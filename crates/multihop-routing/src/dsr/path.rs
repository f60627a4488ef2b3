//! Paths and source routes (RFC 4728 §6.7).

use core::net::Ipv4Addr;

use multihop_wire::dsr::{Addresses, SourceRoute};

/// The path of a packet, and its position on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Trip {
    /// Nodes on the path, from the node that chose it to the destination, without repetitions.
    pub(super) nodes: Addresses,
    /// Index of the node to which the packet is being sent; the node before it is the sender.
    pub(super) receiver: usize,
}

impl Trip {
    /// Positions of a packet's nodes on its route; `None` if the route is inconsistent, visits a node twice or is too
    /// long.
    pub(super) fn of(source: Ipv4Addr, destination: Ipv4Addr, route: &SourceRoute) -> Option<Self> {
        let head = (route.salvage == 0).then_some(source);
        let nodes = head.into_iter().chain(route.route.iter().copied()).chain([destination]);
        let nodes = Addresses::collect(nodes)?;
        let receiver = (nodes.len() - 1).checked_sub(usize::from(route.segments_left))?;
        (receiver > 0 && is_simple(&nodes)).then_some(Self { nodes, receiver })
    }
}

/// Whether no node occurs twice.
pub(super) fn is_simple(nodes: &[Ipv4Addr]) -> bool {
    nodes.iter().enumerate().all(|(n, node)| !nodes[..n].contains(node))
}

/// Copy of a path without loops.
pub(super) fn without_loops(nodes: &[Ipv4Addr]) -> Addresses {
    let mut straight = Addresses::EMPTY;
    for &node in nodes {
        match straight.iter().position(|&earlier| earlier == node) {
            Some(at) => straight.truncate(at + 1),
            None => _ = straight.push(node),
        }
    }
    straight
}

/// The path in the reverse direction.
pub(super) fn reversed(nodes: &[Ipv4Addr]) -> Addresses {
    Addresses::collect(nodes.iter().rev().copied()).expect("no longer than before")
}

/// The source route that node `chooser` makes of `path`; the first node of `path` is the next hop.
pub(super) fn source_route(chooser: Ipv4Addr, path: &[Ipv4Addr], salvage: u8) -> SourceRoute {
    let between = &path[..path.len() - 1];
    let segments_left = u8::try_from(between.len()).expect("paths are short");
    let chooser = (salvage > 0).then_some(chooser);
    let route = Addresses::collect(chooser.into_iter().chain(between.iter().copied()))
        .expect("a cached path leaves room for this node");
    SourceRoute { first_hop_external: false, last_hop_external: false, salvage, segments_left, route }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(n: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, n)
    }

    fn list(nodes: &[u8]) -> Addresses {
        Addresses::collect(nodes.iter().map(|&n| node(n))).unwrap()
    }

    #[test]
    fn a_source_route_becomes_a_trip() {
        let route = source_route(node(1), &list(&[2, 3, 4]), 0);
        assert_eq!((route.route, route.segments_left), (list(&[2, 3]), 2));
        let trip = Trip::of(node(1), node(4), &route).unwrap();
        assert_eq!(trip, Trip { nodes: list(&[1, 2, 3, 4]), receiver: 1 });
        let route = SourceRoute { segments_left: 0, ..route };
        assert_eq!(Trip::of(node(1), node(4), &route).unwrap().receiver, 3);
    }

    #[test]
    fn the_trip_of_a_salvaged_packet_begins_at_the_node_that_salvaged_it() {
        let route = source_route(node(5), &list(&[6, 4]), 2);
        assert_eq!((route.route, route.segments_left), (list(&[5, 6]), 1));
        let trip = Trip::of(node(1), node(4), &route).unwrap();
        assert_eq!(trip, Trip { nodes: list(&[5, 6, 4]), receiver: 1 });
    }

    #[test]
    fn inconsistent_source_routes_have_no_trip() {
        let route = |nodes: &[u8], salvage, segments_left| SourceRoute {
            first_hop_external: false,
            last_hop_external: false,
            salvage,
            segments_left,
            route: list(nodes),
        };
        let trip = |route| Trip::of(node(1), node(4), &route);
        assert_eq!(trip(route(&[2], 0, 2)), None); // more segments left than addresses
        assert_eq!(trip(route(&[2], 1, 1)), None); // sent to the node that salvaged it
        assert_eq!(trip(route(&[], 1, 0)), None);
        assert_eq!(trip(route(&[2, 1], 0, 1)), None); // a loop
        assert!(trip(route(&[2, 1], 1, 1)).is_some());
        let long: Vec<u8> = (10..26).collect();
        assert_eq!(trip(route(&long, 0, 1)), None);
        assert!(trip(route(&long[..14], 0, 1)).is_some());
    }

    #[test]
    fn loops_are_removed() {
        assert_eq!(without_loops(&list(&[1, 2, 3, 2, 4])), list(&[1, 2, 4]));
        assert_eq!(without_loops(&list(&[1, 2, 3, 4, 2, 3, 5])), list(&[1, 2, 3, 5]));
        assert_eq!(without_loops(&list(&[1, 2, 3])), list(&[1, 2, 3]));
    }
}
