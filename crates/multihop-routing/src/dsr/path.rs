//! Ways as lists of nodes.

use core::net::Ipv4Addr;

use multihop_wire::dsr::{Addresses, SourceRoute};

/// A packet on its way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Trip {
    /// From the node that chose the way to the destination, none twice.
    pub(super) nodes: Addresses,
    /// Index of the node that the packet is being sent to; the one before sends it.
    pub(super) receiver: usize,
}

impl Trip {
    /// `None` if the route contradicts itself, visits a node twice or is too long.
    pub(super) fn of(source: Ipv4Addr, destination: Ipv4Addr, route: &SourceRoute) -> Option<Self> {
        let head = (route.salvage == 0).then_some(source);
        let nodes = head.into_iter().chain(route.route.iter().copied()).chain([destination]);
        let nodes = Addresses::collect(nodes)?;
        let receiver = (nodes.len() - 1).checked_sub(usize::from(route.segments_left))?;
        (receiver > 0 && is_simple(&nodes)).then_some(Self { nodes, receiver })
    }
}

/// Whether no node comes twice.
pub(super) fn is_simple(nodes: &[Ipv4Addr]) -> bool {
    nodes.iter().enumerate().all(|(n, node)| !nodes[..n].contains(node))
}

/// The nodes without the detours that lead back to a node.
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

/// The nodes from the last to the first.
pub(super) fn reversed(nodes: &[Ipv4Addr]) -> Addresses {
    Addresses::collect(nodes.iter().rev().copied()).expect("ways have no more nodes than a list")
}

/// The source route from `chooser` over the nodes of `way` to its last; the first node is next.
pub(super) fn source_route(chooser: Ipv4Addr, way: &[Ipv4Addr], salvage: u8) -> SourceRoute {
    let between = &way[..way.len() - 1];
    let segments_left = u8::try_from(between.len()).expect("ways are short");
    let chooser = (salvage > 0).then_some(chooser);
    let route = Addresses::collect(chooser.into_iter().chain(between.iter().copied()))
        .expect("a way that begins here leaves room for this node");
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
    fn a_route_and_its_trip() {
        let route = source_route(node(1), &list(&[2, 3, 4]), 0);
        assert_eq!((route.route, route.segments_left), (list(&[2, 3]), 2));
        let trip = Trip::of(node(1), node(4), &route).unwrap();
        assert_eq!(trip, Trip { nodes: list(&[1, 2, 3, 4]), receiver: 1 });
        let route = SourceRoute { segments_left: 0, ..route };
        assert_eq!(Trip::of(node(1), node(4), &route).unwrap().receiver, 3);
    }

    #[test]
    fn the_trip_of_a_salvaged_packet_begins_where_it_was_salvaged() {
        let route = source_route(node(5), &list(&[6, 4]), 2);
        assert_eq!((route.route, route.segments_left), (list(&[5, 6]), 1));
        let trip = Trip::of(node(1), node(4), &route).unwrap();
        assert_eq!(trip, Trip { nodes: list(&[5, 6, 4]), receiver: 1 });
    }

    #[test]
    fn routes_that_make_no_sense_have_no_trip() {
        let route = |nodes: &[u8], salvage, segments_left| SourceRoute {
            first_hop_external: false,
            last_hop_external: false,
            salvage,
            segments_left,
            route: list(nodes),
        };
        let trip = |route| Trip::of(node(1), node(4), &route);
        assert_eq!(trip(route(&[2], 0, 2)), None); // more left than there are
        assert_eq!(trip(route(&[2], 1, 1)), None); // to the node that salvaged it
        assert_eq!(trip(route(&[], 1, 0)), None);
        assert_eq!(trip(route(&[2, 1], 0, 1)), None); // a loop
        assert!(trip(route(&[2, 1], 1, 1)).is_some());
        let long: Vec<u8> = (10..26).collect();
        assert_eq!(trip(route(&long, 0, 1)), None);
        assert!(trip(route(&long[..14], 0, 1)).is_some());
    }

    #[test]
    fn detours_are_cut() {
        assert_eq!(without_loops(&list(&[1, 2, 3, 2, 4])), list(&[1, 2, 4]));
        assert_eq!(without_loops(&list(&[1, 2, 3, 4, 2, 3, 5])), list(&[1, 2, 3, 5]));
        assert_eq!(without_loops(&list(&[1, 2, 3])), list(&[1, 2, 3]));
    }
}
