//! Routes by cost in whole networks.

use multihop_routing::olsr::{Clocks, DELAY, LinkMetric, METRICS, Metric};

use super::*;

fn by_cost(kind: &'static LinkMetric, clocks: Clocks) -> Config {
    Config::um_olsr().with_metric(Metric { kind, clocks, ..Metric::default() })
}

#[track_caller]
fn expect_all_reached(field: &mut Field) {
    for node in 0..field.places.len() {
        let (found, right) = (field.routes(node), field.distances(node));
        assert!(found.keys().eq(right.keys()), "from {node}");
    }
    let mut rng = Rng::stream(1, "pairs", 0);
    for _ in 0..50 {
        let (from, to) = (rng.below(40) as usize, rng.below(40) as usize);
        if field.distances(from).contains_key(&to) {
            let at = field.send(from, to);
            field.run(1);
            assert!(field.mesh.adapter.delivered.contains_key(&at), "{from} to {to}");
        }
    }
}

#[test]
fn every_metric_reaches_all_nodes() {
    let clocks = [Clocks::Synchronised, Clocks::Echoed];
    let all = METRICS.iter().flat_map(|&kind| clocks.map(|clocks| (kind, clocks)));
    for (seed, (kind, clocks)) in (1..).zip(all) {
        let mut field = Field::new(40, 0.27, seed, &by_cost(kind, clocks));
        field.run(60);
        expect_all_reached(&mut field);
    }
}

#[test]
fn plain_olsr_and_olsr_with_a_metric_interoperate() {
    for seed in [4, 5] {
        let config = |node: usize| {
            let plain = if node.is_multiple_of(4) { Config::rfc() } else { Config::um_olsr() };
            let delays = by_cost(&DELAY, Clocks::Synchronised);
            if node.is_multiple_of(2) { plain } else { delays }
        };
        let mut field = Field::mixed(40, 0.27, seed, config);
        field.run(60);
        expect_all_reached(&mut field);
        let priced = |node: &usize| node % 2 == 1 && field.mesh.machines[*node].counters().tcs > 0;
        assert!((0..40).filter(priced).count() > 10, "nodes with a metric announce costs");
    }
}

#[test]
fn slow_links_are_avoided() {
    // 0 reaches 2 through 1 or through 3; the links of one of them are slower.
    for (slow, way) in [(1, 3), (3, 1)] {
        let mut field = Field::new(4, 0.0, 6, &by_cost(&DELAY, Clocks::Synchronised));
        for (a, b) in [(0, 1), (1, 2), (0, 3), (3, 2)] {
            let delay = Duration::from_millis(if a == slow || b == slow { 8 } else { 2 });
            field.mesh.connect(a, b, TestLink { delay, ..TestLink::GOOD });
        }
        field.run(40);
        let agent = &mut field.mesh.machines[0];
        assert_eq!(agent.path(address(2)), Some(vec![address(way), address(2)]));
        assert_eq!(agent.cost(address(2)), Some(4_000));
    }
}
