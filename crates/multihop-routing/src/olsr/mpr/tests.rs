use multihop_core::{Instant, Rng};

use super::*;
use multihop_wire::olsr::NeighbourType;

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// A node's neighbours, with the neighbours of each.
struct Around {
    neighbours: Vec<Neighbour>,
    two_hops: TwoHops,
}

impl Around {
    /// Neighbours with their willingness, and pairs of neighbour and 2-hop neighbour.
    fn new(neighbours: &[(u8, Willingness)], pairs: &[(u8, u8)]) -> Self {
        let neighbours = neighbours
            .iter()
            .map(|&(n, willingness)| Neighbour { main: node(n), willingness, via: Some(node(n)) })
            .collect();
        let mut two_hops = TwoHops::new();
        for &(neighbour, of) in pairs {
            let reached = two_hops.of(node(neighbour)).chain([node(of)]).collect::<Vec<_>>();
            let links = reached.into_iter().map(|to| (to, NeighbourType::Symmetric));
            two_hops.learn(node(neighbour), links, Instant::FAR_FUTURE);
        }
        Self { neighbours, two_hops }
    }

    fn plain(neighbours: &[u8], pairs: &[(u8, u8)]) -> Self {
        let neighbours: Vec<_> = neighbours.iter().map(|&n| (n, Willingness::DEFAULT)).collect();
        Self::new(&neighbours, pairs)
    }

    /// Draws a node with up to `n` neighbours. Each neighbour reaches a random share of the nodes below
    /// `end`; some of these are also neighbours, or the node itself.
    fn random(rng: &mut Rng, n: u8, willingness: &[Willingness], end: u8, share: f64) -> Self {
        let mut below = |bound: usize| rng.below(u32::try_from(bound).unwrap()) as usize;
        let last = 2 + below(n.into());
        let neighbours: Vec<(u8, Willingness)> =
            (2..=last).map(|at| (u8::try_from(at).unwrap(), willingness[below(willingness.len())])).collect();
        let mut pairs = Vec::new();
        for &(neighbour, _) in &neighbours {
            pairs.extend((1..end).filter(|_| rng.chance(share)).map(|of| (neighbour, of)));
        }
        Self::new(&neighbours, &pairs)
    }

    fn elect(&self, coverage: u8) -> Vec<u8> {
        let elected = elect(OWN, &self.neighbours, &self.two_hops, coverage);
        elected.iter().map(|address| address.octets()[3]).collect()
    }

    /// Strict 2-hop neighbours that can be covered, each with the neighbours that cover it.
    fn to_cover(&self) -> Vec<Vec<u8>> {
        let known: Vec<Ipv4Addr> = self.neighbours.iter().map(|neighbour| neighbour.main).collect();
        let mut targets: Vec<Ipv4Addr> = self.two_hops.pairs().map(|(_, to, _)| to).collect();
        targets.sort_unstable();
        targets.dedup();
        let willing = |main: &Ipv4Addr| {
            self.neighbours.iter().any(|n| n.main == *main && n.willingness > Willingness::NEVER)
        };
        let providers = |target| {
            let by = self.two_hops.pairs().filter(move |pair| pair.1 == target).map(|pair| pair.0);
            by.filter(willing).map(|address| address.octets()[3]).collect::<Vec<u8>>()
        };
        let strict = targets.into_iter().filter(|target| *target != OWN && !known.contains(target));
        strict.map(providers).filter(|providers| !providers.is_empty()).collect()
    }

    /// The size of the smallest set that covers all targets once.
    fn optimum(&self) -> usize {
        let to_cover: Vec<u32> =
            self.to_cover().iter().map(|by| by.iter().fold(0, |mask, &n| mask | 1 << n)).collect();
        let all = (0_u32..1 << self.neighbours.len()).map(|set| set << 2);
        let covering = all.filter(|set| to_cover.iter().all(|by| by & set != 0));
        covering.map(|set| set.count_ones() as usize).min().expect("all neighbours together cover")
    }
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

#[test]
fn a_square_needs_one_relay() {
    assert_eq!(Around::plain(&[2, 3], &[(2, 1), (2, 4), (3, 1), (3, 4)]).elect(1), [2]);
}

#[test]
fn without_two_hop_neighbours_there_is_no_relay() {
    assert_eq!(Around::plain(&[2, 3], &[(2, 1), (2, 3), (3, 1), (3, 2)]).elect(1), [0_u8; 0]);
}

#[test]
fn sole_providers_come_first() {
    // Only node 2 covers 10. Then node 3 covers as many as node 4, which is not needed.
    let pairs = [(2, 10), (2, 11), (3, 11), (3, 12), (4, 12), (4, 13), (4, 14)];
    assert_eq!(Around::plain(&[2, 3, 4], &pairs).elect(1), [2, 4]);
    // Node 3 covers more than the others, but only targets that the others must cover anyway.
    let pairs = [(2, 10), (2, 11), (2, 12), (3, 11), (3, 12), (3, 14), (3, 15), (4, 13), (4, 14), (4, 15)];
    assert_eq!(Around::plain(&[2, 3, 4], &pairs).elect(1), [2, 4]);
}

#[test]
fn reachability_then_degree_then_address() {
    // Node 3 covers three targets, the other nodes two.
    let pairs = [(2, 10), (2, 11), (3, 10), (3, 11), (3, 12), (4, 12), (4, 11)];
    assert_eq!(Around::plain(&[2, 3, 4], &pairs).elect(1), [3]);
    // After node 2, which alone covers 10, both others cover one more; node 4 has the higher degree.
    let pairs = [(2, 10), (2, 11), (3, 12), (4, 11), (4, 12)];
    assert_eq!(Around::plain(&[2, 3, 4], &pairs).elect(1), [2, 4]);
}

#[test]
fn willingness_takes_precedence_over_reachability() {
    let pairs = [(2, 10), (2, 11), (3, 10), (4, 11)];
    let with = |w3, w4| {
        let neighbours = [(2, Willingness::DEFAULT), (3, w3), (4, w4)];
        Around::new(&neighbours, &pairs).elect(1)
    };
    assert_eq!(with(Willingness::DEFAULT, Willingness::DEFAULT), [2]);
    assert_eq!(with(Willingness::HIGH, Willingness::HIGH), [3, 4]);
    assert_eq!(with(Willingness::NEVER, Willingness::ALWAYS), [2, 4]);
    assert_eq!(with(Willingness::LOW, Willingness::NEVER), [2]);
}

#[test]
fn will_always_is_always_selected_and_will_never_never() {
    let neighbours = [(2, Willingness::ALWAYS), (3, Willingness::NEVER)];
    assert_eq!(Around::new(&neighbours, &[(3, 10)]).elect(1), [2]);
}

#[test]
fn asymmetric_neighbours_are_not_selected() {
    let mut around = Around::plain(&[2, 3], &[(2, 10), (2, 11), (3, 10)]);
    around.neighbours[0].via = None;
    assert_eq!(around.elect(1), [3]);
}

#[test]
fn everybody_is_covered_and_sole_providers_are_chosen() {
    let willingness = [Willingness::NEVER, Willingness::LOW, Willingness::DEFAULT, Willingness::ALWAYS];
    let mut rng = Rng::stream(1, "olsr/mpr", 0);
    for _ in 0..2_000 {
        let around = Around::random(&mut rng, 14, &willingness, 50, 0.15);
        for coverage in 1..4 {
            let chosen = around.elect(coverage);
            for providers in around.to_cover() {
                let covered = providers.iter().filter(|by| chosen.contains(by)).count();
                let needed = providers.len().min(coverage.into());
                assert!(covered >= needed, "{providers:?} by {chosen:?}");
            }
            for &(n, level) in &[(2, Willingness::ALWAYS), (3, Willingness::NEVER)] {
                let is = around.neighbours.iter().any(|x| x.main == node(n) && x.willingness == level);
                assert!(!is || chosen.contains(&n) == (level == Willingness::ALWAYS));
            }
        }
    }
}

#[test]
fn the_number_of_relays_is_nearly_minimal() {
    let mut rng = Rng::stream(2, "olsr/mpr", 0);
    let (mut chosen, mut optimal, mut worst) = (0, 0, 0);
    for _ in 0..500 {
        let around = Around::random(&mut rng, 12, &[Willingness::DEFAULT], 40, 0.3);
        let (elected, optimum) = (around.elect(1).len(), around.optimum());
        assert!(elected >= optimum);
        chosen += elected;
        optimal += optimum;
        worst = worst.max(elected - optimum);
    }
    println!("{chosen} relays chosen where {optimal} are enough, at worst {worst} too many");
    assert!(chosen * 100 <= optimal * 105, "{chosen} where {optimal} are enough");
    assert!(worst <= 2, "{worst} too many");
}
