//! If all nodes know the same costs, no packet visits a node twice, whatever paths the nodes keep.

use multihop_routing::olsr::{Metric, Switching};

use super::*;

const NODES: usize = 20;
/// Seconds after which all nodes know the current delays, through HELLOs and TCs.
const SETTLED: u64 = 15;

/// Networks whose link delays change in every phase. Returns how many packets took a first hop
/// other than that of the cheapest route.
#[track_caller]
fn no_packet_loops(seed: u64, metric: Metric) -> usize {
    // Only the latest delay counts, so that all nodes soon know the same costs.
    let metric = Metric { weight: 1_000_000, ..metric };
    let mut field = Field::new(NODES, 0.4, seed, &Config::um_olsr().with_metric(metric));
    let mut rng = Rng::stream(seed, "delays", 0);
    let mut kept = 0;
    for _ in 0..5 {
        for a in 0..NODES {
            for b in field.mesh.neighbours(a).into_iter().filter(|&b| b < a).collect::<Vec<_>>() {
                let delay = Duration::from_millis(1 + u64::from(rng.below(30)));
                field.mesh.connect(a, b, TestLink { delay, ..TestLink::GOOD });
            }
        }
        field.run(SETTLED);
        // Over 4 s, because the load depends on rates over 2 s.
        for _ in 0..8 {
            let sent = everybody_sends(&mut field);
            field.mesh.run_for(Duration::from_millis(500));
            for (from, best, at) in sent {
                let way = &field.mesh.adapter.ways[&at];
                kept += usize::from(way[0] != best);
                let nodes: BTreeSet<_> = std::iter::once(&from).chain(way).collect();
                assert_eq!(nodes.len(), way.len() + 1, "from {from} by {way:?}");
            }
        }
    }
    kept
}

/// Sends a packet from each node to each other node; returns the sender, the first hop of the
/// cheapest route and the number of each packet.
fn everybody_sends(field: &mut Field) -> Vec<(usize, usize, usize)> {
    let mut sent = Vec::new();
    for from in 0..NODES {
        for to in field.distances(from).into_keys() {
            let best = field.mesh.machines[from].route(address(to)).expect("there are links").next_hop;
            sent.push((from, number(best), field.send(from, to)));
        }
    }
    sent
}

#[test]
fn kept_paths_are_downstream() {
    let hysteresis = Switching { hysteresis: 500_000, ..Switching::default() };
    let hold = Switching { hold: Duration::from_secs(30), ..Switching::default() };
    let own_load = Switching { own_load: true, ..Switching::default() };
    for switching in [hysteresis, hold, own_load, Switching { own_load: true, ..hysteresis }] {
        let metric = Metric { switching, ..Metric::default() };
        let kept: usize = (1..4).map(|seed| no_packet_loops(seed, metric)).sum();
        assert!(kept > 100, "{kept} packets left the cheapest route under {metric:?}");
    }
}
