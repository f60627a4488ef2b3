//! Routes of a whole network compared with breadth-first search.

use multihop_routing::olsr::Advertised;

use super::*;

#[track_caller]
fn expect_shortest_routes(field: &mut Field) {
    for node in 0..field.places.len() {
        let (found, right) = (field.routes(node), field.distances(node));
        assert_eq!(found, right, "routes of {node} (left), distances (right)");
    }
}

#[test]
fn every_connected_pair_has_a_shortest_route() {
    for (seed, range, config) in [
        (1, 0.2, Config::um_olsr()),
        (2, 0.25, Config::um_olsr()),
        (3, 0.3, Config::rfc()),
        (4, 0.2, Config { advertised: Advertised::Neighbours, ..Config::rfc() }),
        (5, 0.25, Config { mpr_coverage: 2, advertised: Advertised::SelectorsAndMprs, ..Config::um_olsr() }),
    ] {
        let mut field = Field::new(50, range, seed, &config);
        field.run(60);
        expect_shortest_routes(&mut field);
    }
}

#[test]
fn data_packets_take_the_hops_of_their_routes() {
    let mut field = Field::new(50, 0.22, 6, &Config::default());
    field.run(60);
    let mut rng = Rng::stream(6, "pairs", 0);
    let mut sent = Vec::new();
    for _ in 0..200 {
        let (from, to) = (rng.below(50) as usize, rng.below(50) as usize);
        if from != to {
            sent.push((field.send(from, to), field.distances(from).get(&to).copied()));
        }
    }
    field.run(1);
    for (at, distance) in sent {
        assert_eq!(field.mesh.adapter.delivered.get(&at).copied(), distance);
        assert_eq!(field.mesh.adapter.dropped.contains(&at), distance.is_none());
    }
}

#[test]
fn routes_are_shortest_again_after_nodes_have_moved() {
    for config in [Config::um_olsr(), Config::rfc()] {
        let mut field = Field::new(50, 0.25, 7, &config);
        let mut rng = Rng::stream(7, "moves", 0);
        for _ in 0..4 {
            field.run(10);
            for place in &mut field.places {
                *place = (place.0 + rng.range(-0.05, 0.05), place.1 + rng.range(-0.05, 0.05));
            }
            field.link(0.25);
        }
        // Link information is valid for 6 s and topology information for 15 s; the last TC may be
        // up to 5 s newer.
        field.run(60);
        expect_shortest_routes(&mut field);
    }
}

#[test]
fn the_same_seed_gives_the_same_network() {
    let run = |seed| {
        let mut field = Field::new(20, 0.35, seed, &Config::default());
        field.mesh.logging = true;
        field.run(20);
        field.mesh.take_log()
    };
    assert_eq!(run(8), run(8));
    assert_ne!(run(8), run(9));
}
