//! The neighbours of neighbours (RFC 6130, section 7.2, and RFC 7181, section 8.2).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_wire::olsrv2::{Hello, Metrics};

use crate::table::Table;

/// What each neighbour's last HELLO lists.
// DEVIATION olsrv2-2: a HELLO replaces what the last one listed.
pub(super) type TwoHops = Table<Ipv4Addr, Vec<TwoHop>>;

/// A symmetric neighbour of a neighbour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TwoHop {
    pub(super) address: Ipv4Addr,
    /// What the neighbour's link to it costs.
    pub(super) metrics: Metrics,
}

/// The symmetric neighbours in a HELLO, sorted by address.
pub(super) fn listed(hello: &Hello) -> Vec<TwoHop> {
    let symmetric = hello.neighbours.iter().filter(|neighbour| neighbour.is_symmetric());
    let mut listed: Vec<_> = symmetric
        .map(|neighbour| TwoHop { address: neighbour.address, metrics: neighbour.metrics })
        .collect();
    listed.sort_by_key(|hop| hop.address);
    listed.dedup_by_key(|hop| hop.address);
    listed
}
