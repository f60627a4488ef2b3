//! Transfers between nodes drawn at random.

use std::collections::BTreeSet;

use crate::support::{result, scenario};

/// Two transfers at a time in a chain of six nodes.
fn transfers(seconds: u32, seed: u64, bytes: &str) -> String {
    format!(
        "duration = {seconds}.0\nseed = {seed}\ntopology = {{ kind = \"chain\", hops = 5 }}\n\
         [traffic]\ncount = 2\ntransport = \"newreno\"\nbytes = {bytes}\nfirst = 5.0\n\
         gap = [1.0, 2.0]\nrestart = 4.0\n"
    )
}

#[test]
fn each_transfer_begins_a_pause_after_the_end_of_the_previous_one() {
    let flows = result(&transfers(60, 1, "50_000")).flows;
    assert!(flows.len() > 10, "{} transfers", flows.len());
    let (first, second) = (flows[0].start, flows[1].start);
    assert!(first == 5.0 && (6.0..7.0).contains(&second), "{first} {second}");
    for pair in [0, 1].map(|slot| flows.iter().skip(slot).step_by(2).collect::<Vec<_>>()) {
        for two in pair.windows(2) {
            assert!((two[0].stop + 4.0 - two[1].start).abs() < 1e-6, "{two:?}");
        }
        let (last, rest) = pair.split_last().unwrap();
        assert!(rest.iter().all(|flow| flow.goodput_kbps > 0.0) && last.start < 60.0);
    }
    let at_once = |at: f64| flows.iter().filter(|flow| flow.start <= at && at < flow.stop).count();
    assert!((5..60).all(|second| at_once(f64::from(second)) <= 2));
}

#[test]
fn pairs_and_sizes_depend_only_on_the_seed() {
    let drawn = |seconds, seed| {
        let text = transfers(seconds, seed, "{ pareto = { mean = 50_000, shape = 2.0 } }");
        let flows = scenario(&text).flows;
        flows.into_iter().map(|flow| (flow.from, flow.to, format!("{:?}", flow.app))).collect::<Vec<_>>()
    };
    let (short, long) = (drawn(60, 1), drawn(200, 1));
    assert_eq!((short.len(), long.len()), (28, 98));
    assert_eq!(short[..], long[..28]);
    assert_ne!(short, drawn(60, 2));
    assert!(long.iter().all(|(from, to, _)| from != to));
    let sizes: BTreeSet<_> = long.iter().map(|(_, _, app)| app).collect();
    assert!(sizes.len() > 90);
}
