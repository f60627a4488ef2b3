//! The choice of relays (RFC 7181, section 18): every node two hops away is reached over the cheapest path.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_routing::link_state::relays::{self, Relay};

use super::links::NeighbourLinks;
use super::two_hops::{self, TwoHops};
use super::wire::{Metric, Metrics, Willingness};

/// Purpose of a relay: flooding TCs, or routes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    /// Relays forward messages of this node, so that the costs of links from this node count.
    Flooding,
    /// Relays announce routes to this node, so that the costs of links to this node count.
    Routing,
}

impl Purpose {
    fn willingness(self, of: Willingness) -> u8 {
        match self {
            Self::Flooding => of.flooding,
            Self::Routing => of.routing,
        }
    }

    /// Cost of the link for this purpose; `None` if it was not measured.
    fn cost(self, metrics: Metrics) -> Option<u32> {
        let metric = match self {
            Self::Flooding => metrics.outgoing,
            Self::Routing => metrics.incoming,
        };
        metric.map(Metric::value)
    }
}

/// A path over two links.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Path {
    to: Ipv4Addr,
    cost: u32,
    via: Ipv4Addr,
}

/// Chooses relays among the symmetric neighbours. The result is sorted by address.
pub(super) fn elect(
    own: Ipv4Addr,
    links: &NeighbourLinks,
    two_hops: &TwoHops,
    purpose: Purpose,
) -> Vec<Ipv4Addr> {
    // List of neighbours whose links have a cost.
    let mut near = Vec::new();
    let mut paths = Vec::new();
    for neighbour in links.neighbours() {
        let Some(first) = purpose.cost(neighbour.metrics) else { continue };
        let willingness = purpose.willingness(neighbour.willingness);
        near.push((neighbour.main, first, willingness));
        if willingness > Willingness::NEVER {
            let second = two_hops::of(two_hops, neighbour.main).filter(|hop| hop.address != own);
            paths.extend(second.filter_map(|hop| {
                let cost = first + purpose.cost(hop.metrics)?;
                Some(Path { to: hop.address, cost, via: neighbour.main })
            }));
        }
    }
    paths.sort_unstable();
    let direct =
        |to: Ipv4Addr| near.binary_search_by_key(&to, |&(address, ..)| address).ok().map(|at| near[at].1);
    let mut covered: Vec<(Ipv4Addr, Ipv4Addr)> = Vec::new();
    for of_one in paths.chunk_by(|a, b| a.to == b.to) {
        let Path { to, cost: least, .. } = of_one[0];
        if direct(to).is_none_or(|cost| least < cost) {
            let best = of_one.iter().take_while(|path| path.cost == least);
            covered.extend(best.map(|path| (path.via, to)));
        }
    }
    covered.sort_unstable();
    // Two links to a neighbour may list the same node.
    covered.dedup();
    let willing: Vec<_> =
        near.iter().filter(|(_, _, willingness)| *willingness > Willingness::NEVER).collect();
    let candidates = willing.into_iter().map(|&(address, _, willingness)| {
        let start = covered.partition_point(|&(via, _)| via < address);
        let covers = covered[start..].iter().take_while(move |&&(via, _)| via == address).map(|&(_, to)| to);
        Relay { address, willingness, always: willingness == Willingness::ALWAYS, covers }
    });
    relays::elect(candidates, covered.len(), 1)
}
