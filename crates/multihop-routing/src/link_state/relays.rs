//! The election of relays (multipoint relays, MPRs) by the heuristic of RFC 3626 §8.3.1, which RFC 7181 appendix B shares.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::Ipv4Addr;
use core::ops::Range;

use crate::steps;

/// A neighbour that is willing to be a relay.
pub struct Relay<I> {
    /// Address that names the neighbour.
    pub address: Ipv4Addr,
    /// Willingness of the neighbour: higher values are elected first.
    pub willingness: u8,
    /// Whether the candidate is elected in any case.
    pub always: bool,
    /// Nodes that the neighbour covers, among those that relays must cover.
    pub covers: I,
}

/// Elects relays so that each node is covered by `coverage` of them, or by as many as possible. The result
/// has the order of the neighbours. `pairs` is an upper bound of the number of pairs of neighbour and covered
/// node.
pub fn elect<I: Iterator<Item = Ipv4Addr>>(
    neighbours: impl ExactSizeIterator<Item = Relay<I>>,
    pairs: usize,
    coverage: u8,
) -> Vec<Ipv4Addr> {
    let mut election = Election::new(neighbours, pairs, u32::from(coverage));
    for at in 0..election.candidates.len() {
        if election.candidates[at].always {
            election.choose(at);
        }
    }
    // For nodes that have no more candidates than they need, all candidates are elected.
    for at in 0..election.candidates.len() {
        if election.targets_of(at).any(|target| target.providers <= election.coverage) {
            election.choose(at);
        }
    }
    while let Some(best) = election.best() {
        election.choose(best);
    }
    let chosen = election.candidates.iter().filter(|candidate| candidate.chosen);
    chosen.map(|candidate| candidate.address).collect()
}

struct Election {
    coverage: u32,
    candidates: Vec<Candidate>,
    targets: Vec<Target>,
    /// Indices of the targets that each candidate covers, grouped by candidate.
    edges: Vec<u32>,
}

struct Candidate {
    address: Ipv4Addr,
    willingness: u8,
    always: bool,
    edges: Range<usize>,
    chosen: bool,
}

/// A node that some candidate covers.
#[derive(Clone, Copy, Default)]
struct Target {
    providers: u32,
    covered: u32,
}

impl Election {
    /// Prepares the election among neighbours; `pairs` is an upper bound of the number of pairs of neighbour
    /// and covered node.
    fn new<I: Iterator<Item = Ipv4Addr>>(
        neighbours: impl ExactSizeIterator<Item = Relay<I>>,
        pairs: usize,
        coverage: u32,
    ) -> Self {
        // Sizes are powers of two, so that temporary allocations of few sizes are reused.
        let room = pairs.next_power_of_two();
        // The list first contains addresses, then the indices of the targets with these addresses.
        let mut edges = Vec::with_capacity(room);
        let mut candidates = Vec::with_capacity(neighbours.len().next_power_of_two());
        for Relay { address, willingness, always, covers } in neighbours {
            let start = edges.len();
            edges.extend(covers.map(Ipv4Addr::to_bits));
            let edges = start..edges.len();
            candidates.push(Candidate { address, willingness, always, edges, chosen: false });
        }
        let mut addresses = Vec::with_capacity(room);
        addresses.extend_from_slice(&edges);
        addresses.sort_unstable();
        addresses.dedup();
        let mut targets = Vec::with_capacity(addresses.len().next_power_of_two());
        targets.resize(addresses.len(), Target::default());
        steps::count(edges.len());
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
        steps::count(self.edges.len());
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
