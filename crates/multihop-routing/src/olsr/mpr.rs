//! MPR selection (RFC 3626 §8.3.1, and §16 for coverage).

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;
use core::ops::Range;

use multihop_wire::olsr::Willingness;

use super::neighbours::Neighbour;
use super::two_hops::TwoHops;

/// Selects MPRs among the symmetric neighbours, so that each strict 2-hop neighbour is covered by
/// `coverage` of them, or by as many as possible. Sorted by address.
pub(super) fn elect(
    own: Ipv4Addr,
    neighbours: &[Neighbour],
    two_hops: &TwoHops,
    coverage: u8,
) -> Vec<Ipv4Addr> {
    let mut election = Election::new(own, neighbours, two_hops, u32::from(coverage));
    for at in 0..election.candidates.len() {
        if election.candidates[at].willingness == Willingness::ALWAYS {
            election.choose(at);
        }
    }
    // 2-hop neighbours that have no more candidates than they need leave no choice.
    for at in 0..election.candidates.len() {
        if election.targets_of(at).any(|target| target.providers <= election.coverage) {
            election.choose(at);
        }
    }
    while let Some(best) = election.best() {
        election.choose(best);
    }
    election.candidates.iter().filter(|candidate| candidate.chosen).map(|candidate| candidate.main).collect()
}

struct Election {
    coverage: u32,
    candidates: Vec<Candidate>,
    /// N2 of the RFC.
    targets: Vec<Target>,
    /// Indices of the targets that each candidate covers, candidate by candidate.
    edges: Vec<u32>,
}

/// A symmetric neighbour that is willing to forward.
struct Candidate {
    main: Ipv4Addr,
    willingness: Willingness,
    edges: Range<usize>,
    chosen: bool,
}

/// A strict 2-hop neighbour that some candidate covers.
#[derive(Clone, Copy, Default)]
struct Target {
    providers: u32,
    covered: u32,
}

impl Election {
    fn new(own: Ipv4Addr, neighbours: &[Neighbour], two_hops: &TwoHops, coverage: u32) -> Self {
        let symmetric = |main: Ipv4Addr| {
            let found = neighbours.binary_search_by_key(&main, |neighbour| neighbour.main);
            found.is_ok_and(|at| neighbours[at].via.is_some())
        };
        let strict = |main: Ipv4Addr| main != own && !symmetric(main);
        let willing =
            |neighbour: &&Neighbour| neighbour.via.is_some() && neighbour.willingness > Willingness::NEVER;
        // Powers of two: temporary allocations of few sizes are reused.
        let room = two_hops.len().next_power_of_two();
        // First the addresses, then the indices of the targets with these addresses.
        let mut edges = Vec::with_capacity(room);
        let mut candidates = Vec::with_capacity(neighbours.len().next_power_of_two());
        for &Neighbour { main, willingness, .. } in neighbours.iter().filter(willing) {
            let start = edges.len();
            edges.extend(two_hops.of(main).filter(|&to| strict(to)).map(Ipv4Addr::to_bits));
            candidates.push(Candidate { main, willingness, edges: start..edges.len(), chosen: false });
        }
        let mut addresses = Vec::with_capacity(room);
        addresses.extend_from_slice(&edges);
        addresses.sort_unstable();
        addresses.dedup();
        let mut targets = Vec::with_capacity(addresses.len().next_power_of_two());
        targets.resize(addresses.len(), Target::default());
        for edge in &mut edges {
            let target = addresses.binary_search(edge).expect("every edge ends at a target");
            targets[target].providers += 1;
            *edge = u32::try_from(target).expect("addresses have 32 bits");
        }
        Self { coverage, candidates, targets, edges }
    }

    fn targets_of(&self, at: usize) -> impl Iterator<Item = &Target> {
        self.edges[self.candidates[at].edges.clone()].iter().map(|&target| &self.targets[target as usize])
    }

    fn choose(&mut self, at: usize) {
        if core::mem::replace(&mut self.candidates[at].chosen, true) {
            return;
        }
        for &target in &self.edges[self.candidates[at].edges.clone()] {
            self.targets[target as usize].covered += 1;
        }
    }

    /// The next candidate to select: by willingness, then reachability, then degree, then the
    /// lowest address, which the RFC leaves open. `None` if all targets are covered.
    fn best(&self) -> Option<usize> {
        let open = |target: &Target| target.covered < self.coverage.min(target.providers);
        let rank = |at: usize| {
            let Candidate { willingness, edges, .. } = &self.candidates[at];
            let reach = self.targets_of(at).filter(|target| open(target)).count();
            (reach > 0).then_some((*willingness, reach, edges.len(), Reverse(at)))
        };
        let unchosen = (0..self.candidates.len()).filter(|&at| !self.candidates[at].chosen);
        unchosen.filter_map(rank).max().map(|(_, _, _, Reverse(at))| at)
    }
}

#[cfg(test)]
mod tests;
