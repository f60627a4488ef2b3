//! MPR selection (RFC 3626 §8.3.1, and §16 for coverage).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_wire::olsr::Willingness;

use super::neighbours::Neighbour;
use super::two_hops::TwoHops;
use crate::link_state::relays::{self, Relay};

/// Selects MPRs among the symmetric neighbours, so that each strict 2-hop neighbour is covered by `coverage`
/// of them, or by as many as possible. The result is sorted by address.
pub(super) fn elect(
    own: Ipv4Addr,
    neighbours: &[Neighbour],
    two_hops: &TwoHops,
    coverage: u8,
) -> Vec<Ipv4Addr> {
    let symmetric = |main: Ipv4Addr| {
        let found = neighbours.binary_search_by_key(&main, |neighbour| neighbour.main);
        found.is_ok_and(|at| neighbours[at].via.is_some())
    };
    let strict = |main: &Ipv4Addr| *main != own && !symmetric(*main);
    let willing =
        |neighbour: &Neighbour| neighbour.via.is_some() && neighbour.willingness > Willingness::NEVER;
    let mut candidates = Vec::with_capacity(neighbours.len().next_power_of_two());
    candidates.extend(neighbours.iter().copied().filter(willing));
    let candidates = candidates.iter().map(|&Neighbour { main: address, willingness, .. }| Relay {
        address,
        willingness: willingness.0,
        always: willingness == Willingness::ALWAYS,
        covers: two_hops.of(address).filter(strict),
    });
    relays::elect(candidates, two_hops.len(), coverage)
}

#[cfg(test)]
mod tests;
