//! Who is in range of whom.

use std::collections::BTreeMap;

use multihop_scenario::{Layout, Topology};

use super::load;

/// Decode and sense range, m.
const DECODE: f64 = 250.0;
const SENSE: f64 = 550.0;

fn layout(kind: &str, keys: &str) -> Layout {
    let flow = "[[flow]]\nfrom = 0\nto = 1\ntransport = \"reno\"\n";
    let text = format!("duration = 1\n[topology]\nkind = \"{kind}\"\n{keys}\n{flow}");
    load(&text).topology.place(1).unwrap()
}

fn distance(layout: &Layout, a: usize, b: usize) -> f64 {
    let ([ax, ay], [bx, by]) = (layout.positions[a], layout.positions[b]);
    ((ax - bx).powi(2) + (ay - by).powi(2)).sqrt()
}

/// Pairs of nodes in decode range, the lower number first.
fn links(layout: &Layout) -> Vec<(usize, usize)> {
    let n = layout.positions.len();
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
    pairs.filter(|&(a, b)| distance(layout, a, b) <= DECODE).collect()
}

fn pairs(layout: &Layout) -> Vec<(u32, u32)> {
    layout.pairs.iter().map(|(from, to)| (from.0, to.0)).collect()
}

/// Hops of the shortest route, and how many routes are as short.
fn shortest(layout: &Layout, from: u32, to: u32) -> (u32, u32) {
    let mut frontier = BTreeMap::from([(from as usize, 1)]);
    let mut seen = vec![false; layout.positions.len()];
    for hops in 0.. {
        if let Some(routes) = frontier.get(&(to as usize)) {
            return (hops, *routes);
        }
        frontier.keys().for_each(|&node| seen[node] = true);
        let mut next = BTreeMap::new();
        for (&node, routes) in &frontier {
            for other in (0..seen.len()).filter(|&other| !seen[other]) {
                if distance(layout, node, other) <= DECODE {
                    *next.entry(other).or_insert(0) += routes;
                }
            }
        }
        assert!(!next.is_empty(), "no route from {from} to {to}");
        frontier = next;
    }
    unreachable!()
}

#[test]
fn chain() {
    let chain = layout("chain", "hops = 6");
    assert_eq!(links(&chain), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]);
    assert_eq!(pairs(&chain), [(0, 6)]);
    // Two hops away are sensed, three are not: the hidden terminals of TCP-AP Figure 6.
    assert!(distance(&chain, 0, 2) <= SENSE && distance(&chain, 0, 3) > SENSE);
    assert_eq!(layout("chain", "hops = 1\nspacing = 90.5").positions, [[0.0, 0.0], [90.5, 0.0]]);
}

#[test]
fn cross() {
    let cross = layout("cross", "");
    assert_eq!(links(&cross), [(0, 1), (1, 2), (2, 3), (2, 6), (2, 7), (3, 4), (5, 6), (7, 8)]);
    assert_eq!(pairs(&cross), [(0, 4), (5, 8)]);
    assert_eq!(cross.positions.len(), 9);
}

#[test]
fn parallel_chains_sense_each_other_and_decode_nothing() {
    let parallel = layout("parallel", "");
    let chain = |first: usize| (first..first + 4).map(|n| (n, n + 1));
    assert_eq!(links(&parallel), chain(0).chain(chain(5)).collect::<Vec<_>>());
    assert_eq!(pairs(&parallel), [(0, 4), (5, 9)]);
    for n in 0..5 {
        assert_eq!(distance(&parallel, n, n + 5), 400.0);
    }
    assert_eq!(distance(&layout("parallel", "gap = 500"), 0, 5), 500.0);
}

#[test]
fn the_upper_asymmetric_chain_is_three_hops_longer_at_each_end() {
    let layout = layout("asymmetric-parallel", "");
    assert_eq!(pairs(&layout), [(0, 4), (5, 15)]);
    assert_eq!((shortest(&layout, 0, 4), shortest(&layout, 5, 15)), ((4, 1), (10, 1)));
    for n in 0..5 {
        assert_eq!(distance(&layout, n, n + 8), 400.0, "the middle of the long chain faces the short one");
    }
    assert!(layout.positions[5][1] < layout.positions[0][1], "the long one is the upper one");
}

#[test]
fn grid() {
    let grid = layout("grid", "");
    assert_eq!(grid.positions.len(), 25);
    assert_eq!(links(&grid).len(), 40);
    let place = |n: u32| grid.positions[n as usize].map(|metres| metres / 200.0);
    let flows: Vec<_> = pairs(&grid).iter().map(|&(from, to)| (place(from), place(to))).collect();
    let rows = [1.0, 2.0, 3.0].map(|y| ([0.0, y], [4.0, y]));
    let columns = [1.0, 2.0, 3.0].map(|x| ([x, 4.0], [x, 0.0]));
    assert_eq!(flows, [rows, columns].concat());
    // The receiver of FTP 1 is farthest from the senders of FTP 4 to 6, that of FTP 6 from those of FTP 1 to
    // 3.
    let sum = |flow: usize, senders: core::ops::Range<usize>| -> f64 {
        senders
            .map(|other| {
                let sender = grid.pairs[other].0.index();
                let (from, to) = (grid.pairs[flow].0.index(), grid.pairs[flow].1.index());
                distance(&grid, from, sender) + distance(&grid, to, sender)
            })
            .sum()
    };
    assert!(sum(0, 3..6) > sum(1, 3..6) && sum(1, 3..6) > sum(2, 3..6));
    assert!(sum(5, 0..3) > sum(4, 0..3) && sum(4, 0..3) > sum(3, 0..3));
}

#[test]
fn grids_have_any_number_of_rows_and_columns() {
    let grid = layout("grid", "rows = 3\ncolumns = 4\nspacing = 100");
    assert_eq!(grid.positions.len(), 12);
    assert_eq!((grid.positions[3], grid.positions[4]), ([300.0, 0.0], [0.0, 100.0]));
    // The first pair is an inner row to the right, the others are inner columns to the top.
    assert_eq!(pairs(&grid), [(4, 7), (9, 1), (10, 2)]);
    assert_eq!(pairs(&layout("grid", "rows = 3\ncolumns = 3")), [(3, 5), (7, 1)]);
    assert_eq!(pairs(&layout("grid", "rows = 2\ncolumns = 2")), [(0, 1), (2, 3), (2, 0), (3, 1)]);
    assert_eq!(pairs(&layout("grid", "rows = 1\ncolumns = 4")), [(0, 3)]);
    assert_eq!(pairs(&layout("grid", "rows = 4\ncolumns = 1")), [(3, 0)]);
    assert_eq!(layout("grid", "rows = 5\ncolumns = 5"), layout("grid", ""));
}

#[test]
fn every_flow_of_the_symmetric_grid_sees_the_same_network() {
    let layout = layout("grid-symmetric", "");
    assert_eq!((layout.positions.len(), layout.pairs.len()), (24, 6));
    let seen_from = |flow: usize| {
        // Distances from sender and receiver to every node and to every flow's ends, in metres.
        let (from, to) = (layout.pairs[flow].0.index(), layout.pairs[flow].1.index());
        let mut nodes: Vec<_> =
            (0..24).map(|n| [distance(&layout, from, n).round(), distance(&layout, to, n).round()]).collect();
        let mut flows: Vec<_> = layout
            .pairs
            .iter()
            .map(|(a, b)| {
                [(from, a), (from, b), (to, a), (to, b)].map(|(n, m)| distance(&layout, n, m.index()).round())
            })
            .collect();
        nodes.sort_by(|a, b| a.partial_cmp(b).unwrap());
        flows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        (nodes, flows)
    };
    for flow in 0..6 {
        assert_eq!(seen_from(flow), seen_from(0), "flow {flow}");
        let (from, to) = pairs(&layout)[flow];
        assert_eq!(shortest(&layout, from, to), (4, 1));
    }
    assert!(links(&layout).iter().all(|&(a, b)| (distance(&layout, a, b) - 200.0).abs() < 1e-6));
}

#[test]
fn the_testbed_cross_has_ends_out_of_reach() {
    let layout = layout("cross-testbed", "");
    let names: Vec<_> = layout.names.iter().flatten().map(String::as_str).collect();
    assert_eq!(names, ["N1", "N2", "N3", "N4", "N5", "N6", "N7", "N8"]);
    assert_eq!(pairs(&layout), [(0, 3), (7, 4)]);
    for (from, to) in pairs(&layout) {
        assert_eq!(shortest(&layout, from, to), (3, 1));
    }
    for (a, b) in [(0, 7), (3, 4), (0, 4), (3, 7)] {
        assert!(distance(&layout, a, b) > DECODE);
    }
    // The middle links cross.
    assert_eq!(distance(&layout, 1, 2), 200.0);
    assert!((distance(&layout, 1, 5) - 141.421).abs() < 0.001);
}

#[test]
fn the_diamond_has_two_routes_and_no_other_link() {
    let layout = layout("diamond", "");
    let names: String = layout.names.iter().flatten().map(String::as_str).collect();
    assert_eq!(names, "SABCDEFG");
    assert_eq!(links(&layout), [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 7), (5, 6), (6, 7)]);
    assert_eq!(pairs(&layout), [(0, 4)]);
    assert_eq!(shortest(&layout, 0, 4), (4, 2));
    let ys = layout.positions.iter().map(|position| position[1]);
    assert_eq!(ys.clone().fold(f64::MIN, f64::max) - ys.fold(f64::MAX, f64::min), 400.0);
}

#[test]
fn random_nodes_are_connected_and_belong_to_their_seed() {
    let text = "duration = 1\n[topology]\nkind = \"random\"\nnodes = 50\narea = [1500, 300]\n\
                [[flow]]\nfrom = 0\nto = 1\ntransport = \"reno\"\n";
    let topology = load(text).topology;
    for seed in 0..20 {
        let layout = topology.place(seed).unwrap();
        assert_eq!(layout.positions.len(), 50);
        assert!(
            layout.positions.iter().all(|&[x, y]| (0.0..1500.0).contains(&x) && (0.0..300.0).contains(&y))
        );
        assert!((1..50).all(|node| shortest(&layout, 0, node).0 >= 1));
        assert_eq!(topology.place(seed).unwrap(), layout);
        assert_ne!(topology.place(seed + 1).unwrap(), layout);
    }
}

#[test]
fn connectivity_is_required_only_where_it_is_asked_for() {
    let topology = Topology::Random { nodes: 10, area: [1e5, 1e5], connected_at: None };
    assert_eq!(topology.place(1).unwrap().positions.len(), 10);
    let apart = Topology::Random { nodes: 10, area: [1e5, 1e5], connected_at: Some(DECODE) };
    assert!(apart.place(1).is_err());
    let together = Topology::Random { nodes: 10, area: [100.0, 100.0], connected_at: Some(DECODE) };
    assert_eq!(together.place(1).unwrap().positions.len(), 10);
}
