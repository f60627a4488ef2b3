//! The neighbours of neighbours (RFC 6130, section 7.2, and RFC 7181, section 8.2).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_routing::link_state::table::Table;

use super::wire::{Hello, Metrics};

/// The entries of the last HELLO over each link, by the neighbour's main address and its interface.
// DEVIATION olsrv2-2: A 2-hop neighbour stays until a HELLO omits it. In RFC 6130 (12.6) it stays until it is lost or
// expires, up to 6 s later.
pub(super) type TwoHops = Table<(Ipv4Addr, Ipv4Addr), Vec<TwoHop>>;

/// The neighbours of a neighbour; several of its links may list the same one.
pub(super) fn of(two_hops: &TwoHops, main: Ipv4Addr) -> impl Iterator<Item = &TwoHop> {
    let keys = two_hops.keys();
    let start = keys.partition_point(|(neighbour, _)| *neighbour < main);
    let links = keys[start..].iter().take_while(|(neighbour, _)| *neighbour == main).count();
    two_hops.values()[start..start + links].iter().flatten()
}

/// A symmetric neighbour of a neighbour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TwoHop {
    pub(super) address: Ipv4Addr,
    /// Costs of the link between the neighbour and the two-hop node.
    pub(super) metrics: Metrics,
}

/// The symmetric neighbours in a HELLO, without those for which `is_left_out` holds, sorted by address.
pub(super) fn listed(hello: &Hello, is_left_out: impl Fn(Ipv4Addr) -> bool) -> Vec<TwoHop> {
    let symmetric = hello.neighbours.iter().filter(|neighbour| neighbour.is_symmetric());
    let symmetric = symmetric.filter(|neighbour| !is_left_out(neighbour.address));
    let mut listed: Vec<_> = symmetric
        .map(|neighbour| TwoHop { address: neighbour.address, metrics: neighbour.metrics })
        .collect();
    listed.sort_by_key(|hop| hop.address);
    listed.dedup_by_key(|hop| hop.address);
    listed
}
