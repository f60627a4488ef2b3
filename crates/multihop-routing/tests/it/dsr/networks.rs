use std::collections::VecDeque;

use super::*;

/// Nodes at random places of the unit square, linked below a distance.
pub(super) fn random_links(count: usize, reach: f64, seed: u64) -> Vec<(usize, usize)> {
    let mut rng = Rng::stream(seed, "places", 0);
    let places: Vec<(f64, f64)> = (0..count).map(|_| (rng.unit(), rng.unit())).collect();
    let near = |a: usize, b: usize| {
        let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
        dx * dx + dy * dy < reach * reach
    };
    (0..count).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| near(a, b)).collect()
}

/// Hops from `source` to each node.
fn distances(mesh: &TestNetwork<Air>, source: usize) -> Vec<Option<u8>> {
    let mut hops = vec![None; mesh.machines.len()];
    hops[source] = Some(0);
    let mut queue = VecDeque::from([source]);
    while let Some(node) = queue.pop_front() {
        for next in mesh.neighbours(node) {
            if hops[next].is_none() {
                hops[next] = hops[node].map(|n| n + 1);
                queue.push_back(next);
            }
        }
    }
    hops
}

#[test]
fn every_connected_pair_of_50_nodes_is_reached() {
    for (seed, config) in [
        (1, Config::default()),
        (2, Config { cache_replies: false, ring0: false, ..Config::default() }),
        (3, Config { snoop: false, gratuitous: false, ..Config::default() }),
    ] {
        let mut mesh = network(50, &random_links(50, 0.25, seed), config);
        mesh.logging = false;
        let (mut taken, mut shortest) = (0, 0);
        for source in 0..50 {
            let distances = distances(&mesh, source);
            for destination in (0..50).filter(|&node| node != source) {
                let hops = deliver(&mut mesh, source, destination);
                assert_eq!(hops.is_some(), distances[destination].is_some(), "{source} to {destination}");
                taken += u32::from(hops.unwrap_or(0));
                shortest += u32::from(distances[destination].unwrap_or(0));
            }
        }
        let stretch = f64::from(taken) / f64::from(shortest);
        println!("seed {seed}: {stretch:.3} times the shortest paths");
        assert!(stretch < 1.25, "seed {seed}: {stretch}");
    }
}
