//! The election of multipoint relays (RFC 3626 §8.3.1, and §16 for coverage).

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;
use core::ops::Range;

use multihop_wire::olsr::Willingness;

use super::neighbours::Neighbour;
use super::two_hops::TwoHops;

/// Chooses relays among the symmetric neighbours, so that each strict 2-hop neighbour is heard by
/// `coverage` of them, or by as many as there are. In the order of addresses.
pub(super) fn elect(
    own: Ipv4Addr,
    neighbours: &[Neighbour],
    two_hops: &TwoHops,
    coverage: u8,
) -> Vec<Ipv4Addr> {
    let mut election = Election::new(own, neighbours, two_hops, usize::from(coverage));
    for at in 0..election.candidates.len() {
        if election.candidates[at].willingness == Willingness::ALWAYS {
            election.choose(at);
        }
    }
    // Nodes with just as many providers as they need leave no choice.
    for edge in 0..election.edges.len() {
        let Edge { candidate, target } = election.edges[edge];
        if election.targets[target].providers <= election.coverage {
            election.choose(candidate);
        }
    }
    while let Some(best) = election.best() {
        election.choose(best);
    }
    election.candidates.iter().filter(|candidate| candidate.chosen).map(|candidate| candidate.main).collect()
}

struct Election {
    coverage: usize,
    candidates: Vec<Candidate>,
    /// N2 of the RFC.
    targets: Vec<Target>,
    /// Who reaches whom, candidate by candidate.
    edges: Vec<Edge>,
}

/// A symmetric neighbour that is willing.
struct Candidate {
    main: Ipv4Addr,
    willingness: Willingness,
    edges: Range<usize>,
    chosen: bool,
}

/// A strict 2-hop neighbour that some candidate reaches.
#[derive(Clone, Copy)]
struct Target {
    providers: usize,
    covered: usize,
}

struct Edge {
    candidate: usize,
    target: usize,
}

impl Election {
    fn new(own: Ipv4Addr, neighbours: &[Neighbour], two_hops: &TwoHops, coverage: usize) -> Self {
        let symmetric = |main: Ipv4Addr| {
            let found = neighbours.binary_search_by_key(&main, |neighbour| neighbour.main);
            found.is_ok_and(|at| neighbours[at].via.is_some())
        };
        let strict = |main: Ipv4Addr| main != own && !symmetric(main);
        let willing =
            |neighbour: &&Neighbour| neighbour.via.is_some() && neighbour.willingness > Willingness::NEVER;
        let mut pairs = Vec::new();
        let mut candidates = Vec::new();
        for &Neighbour { main, willingness, .. } in neighbours.iter().filter(willing) {
            let start = pairs.len();
            let at = candidates.len();
            pairs.extend(two_hops.of(main).filter(|&to| strict(to)).map(|to| (at, to)));
            candidates.push(Candidate { main, willingness, edges: start..pairs.len(), chosen: false });
        }
        let mut addresses: Vec<Ipv4Addr> = pairs.iter().map(|pair| pair.1).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let mut targets = vec![Target { providers: 0, covered: 0 }; addresses.len()];
        let edge = |(candidate, to): (usize, Ipv4Addr)| {
            let target = addresses.binary_search(&to).expect("every end of an edge is listed");
            targets[target].providers += 1;
            Edge { candidate, target }
        };
        let edges = pairs.into_iter().map(edge).collect();
        Self { coverage, candidates, targets, edges }
    }

    fn choose(&mut self, at: usize) {
        if core::mem::replace(&mut self.candidates[at].chosen, true) {
            return;
        }
        for edge in &self.edges[self.candidates[at].edges.clone()] {
            self.targets[edge.target].covered += 1;
        }
    }

    /// The candidate to be chosen next: willingness, then reachability, then degree, and the lowest
    /// address, on which the RFC is silent. None once everybody is covered.
    fn best(&self) -> Option<usize> {
        let open = |target: &Target| target.covered < self.coverage.min(target.providers);
        let rank = |at: usize| {
            let candidate = &self.candidates[at];
            let edges = &self.edges[candidate.edges.clone()];
            let reach = edges.iter().filter(|edge| open(&self.targets[edge.target])).count();
            (reach > 0).then_some((candidate.willingness, reach, edges.len(), Reverse(at)))
        };
        let unchosen = (0..self.candidates.len()).filter(|&at| !self.candidates[at].chosen);
        unchosen.filter_map(rank).max().map(|(_, _, _, Reverse(at))| at)
    }
}

#[cfg(test)]
mod tests;
