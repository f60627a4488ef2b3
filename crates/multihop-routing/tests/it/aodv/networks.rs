//! Static networks of fifty nodes.

use std::collections::VecDeque;

use super::*;

/// Fifty nodes on 1000 m by 1000 m, with a range of 220 m.
fn network(config: &Config, seed: u64) -> AodvMesh {
    let mut rng = Rng::stream(seed, "places", 0);
    let places: Vec<(f64, f64)> = (0..50).map(|_| (rng.range(0.0, 1000.0), rng.range(0.0, 1000.0))).collect();
    let mut mesh = TestNetwork::new(agents(50, config, seed), Net::default(), seed);
    mesh.logging = false;
    for a in 0..50 {
        for b in 0..a {
            let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            if dx * dx + dy * dy < 220.0 * 220.0 {
                mesh.connect(a, b, TestLink::GOOD);
            }
        }
    }
    mesh
}

/// Number of hops of the shortest paths from one node to all others.
fn distances(mesh: &AodvMesh, from: usize) -> Vec<Option<u8>> {
    let mut distances = vec![None; mesh.machines.len()];
    distances[from] = Some(0);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for next in mesh.neighbours(node) {
            if distances[next].is_none() {
                distances[next] = distances[node].map(|hops: u8| hops + 1);
                queue.push_back(next);
            }
        }
    }
    distances
}

fn check(config: &Config) {
    let (mut walked, mut shortest) = (0, 0);
    for seed in 0..3 {
        let mut mesh = network(config, seed);
        for from in 0..50 {
            let distances = distances(&mesh, from);
            // One seventh of all pairs are tested.
            for to in (0..50).filter(|to| (from + to) % 7 == 0 && *to != from) {
                let id = send(&mut mesh, from, to);
                mesh.run_for(Duration::from_secs(8));
                let arrived = mesh.adapter.delivered.iter().find(|data| data.id == id);
                let hops = arrived.map(|data| data.hops);
                assert_eq!(hops.is_some(), distances[to].is_some(), "seed {seed}: {from} to {to}");
                walked += u32::from(hops.unwrap_or(0));
                shortest += u32::from(distances[to].unwrap_or(0));
            }
            mesh.adapter.delivered.clear();
        }
    }
    assert!(walked >= shortest && walked * 10 < shortest * 11, "{walked} hops, shortest paths {shortest}");
}

#[test]
fn every_connected_pair_is_reached_in_ns2() {
    check(&Config::new(Preset::Ns2, LinkFailure::Mac));
}

#[test]
fn every_connected_pair_is_reached_in_uu() {
    check(&Config::new(Preset::Uu, LinkFailure::Mac));
}

#[test]
fn every_connected_pair_is_reached_in_uu_with_hellos() {
    check(&Config::new(Preset::Uu, LinkFailure::Hello));
}
