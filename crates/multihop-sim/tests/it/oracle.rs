//! Shortest-path metrics of results.

use std::collections::BTreeMap;

use multihop_sim::results::FlowResult;
use multihop_sim::{Outputs, run, unattended};

use crate::support::{ran, result, scenario};

/// Two stationary nodes 400 m apart; a third one moves between them at 10 m/s, and is 250 m from the first at 50 s and
/// 250 m from the second at 30 s.
fn ferry(tables: &str) -> String {
    format!(
        "duration = 80.0\nwarmup = 10.0\n{tables}\n[mac]\narp = \"oracle\"\n\
         [topology]\nkind = \"list\"\npositions = [[0.0, 0.0], [400.0, 0.0], [0.0, 0.0]]\n\
         [mobility]\nkind = \"waypoints\"\n\
         waypoints = [[], [], [[0.0, -150.0, 0.0], [10.0, -150.0, 0.0], [80.0, 550.0, 0.0]]]\n\
         [routing]\nprotocol = \"aodv\"\n\
         [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 40.0\nsize = 500\nstart = 20.0\n\
         [[flow]]\nfrom = 0\nto = 2\napp = \"cbr\"\nrate_kbps = 40.0\nsize = 500\nstop = 60.0\n"
    )
}

fn close(value: Option<f64>, expected: f64) {
    // A link breaks at the first whole nanosecond out of range.
    assert!((value.unwrap() / expected - 1.0).abs() < 1e-9, "found {value:?}, expected {expected}");
}

#[test]
fn paths_of_moving_nodes_agree_with_hand_computed_ones() {
    let mut ferry = scenario(&ferry(""));
    ferry.expected = Some(BTreeMap::from([(1, 1000.0), (2, 600.0)]));
    let found = run(&ferry, Outputs::default(), &mut unattended).unwrap();
    let [through, to_ferry] = &found.flows[..] else { panic!("two flows") };
    // From 20 to 80 s: two hops from 40 s (150 m from the first) to 50 s.
    close(through.shortest_hops, 2.0);
    close(through.partitioned, 50.0 / 60.0);
    close(through.expected_goodput_kbps, 600.0 / 6.0);
    assert_eq!((through.mean_hops, through.stretch), (Some(2.0), Some(1.0)));
    // The measurement lasts from 10 to 60 s; there is a path of one hop up to 50 s, and then none.
    close(to_ferry.shortest_hops, 1.0);
    close(to_ferry.partitioned, 10.0 / 50.0);
    close(to_ferry.expected_goodput_kbps, 800.0);
    close(found.totals.expected_goodput_kbps, 900.0);
    for flow in [through, to_ferry] {
        assert!(flow.segments_delivered > 50, "{flow:?}");
    }
}

#[test]
fn without_measured_chains_there_is_no_expected_goodput() {
    let found = result(&ferry(""));
    assert_eq!(found.totals.expected_goodput_kbps, None);
    assert!(found.flows.iter().all(|flow| flow.expected_goodput_kbps.is_none()));
    assert!(found.flows.iter().all(|flow| flow.shortest_hops.is_some()));
}

#[test]
fn shortest_paths_are_recorded_at_their_changes_and_at_intervals() {
    let rows = |every: &str| {
        let table = format!("record = {{ every = {every}, what = [\"shortest\", \"hops\"] }}");
        let ran = ran(&ferry(&table));
        let rows = ran.record.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let times: Vec<f64> =
            rows.iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
        assert!(times.is_sorted(), "{rows:?}");
        rows.into_iter().filter(|row| row.contains("shortest")).collect::<Vec<_>>()
    };
    let changes = [
        "0,flow,0,shortest,",
        "0,flow,1,shortest,1",
        "40,flow,0,shortest,2",
        "50.000000001,flow,0,shortest,",
        "50.000000001,flow,1,shortest,",
    ];
    assert_eq!(rows("0.0"), changes);
    let sampled = rows("20.0");
    let expected = ["20,flow,0,shortest,", "20,flow,1,shortest,1", "40,flow,0,shortest,2"];
    assert_eq!(sampled[..3], expected);
    assert_eq!(sampled.len(), 6, "at 20, 40 and 60 s");
}

#[test]
fn stretch_is_the_length_of_a_detour() {
    let flow = |next_hops: &str| -> FlowResult {
        let text = format!(
            "duration = 20.0\nwarmup = 1.0\n[mac]\narp = \"oracle\"\n\
             [topology]\nkind = \"list\"\npositions = [[0.0, 0.0], [100.0, 0.0], [200.0, 0.0], [400.0, 0.0]]\n\
             [routing]\n{next_hops}\n\
             [[flow]]\nfrom = 0\nto = 3\napp = \"cbr\"\nrate_kbps = 50.0\nsize = 500\n"
        );
        result(&text).flows[0].clone()
    };
    let direct = flow("");
    assert_eq!((direct.mean_hops, direct.stretch), (Some(2.0), Some(1.0)));
    assert_eq!((direct.shortest_hops, direct.partitioned), (Some(2.0), Some(0.0)));
    let detour = flow("next_hops = [[0, 3, 1], [1, 3, 2]]");
    assert_eq!((detour.mean_hops, detour.stretch), (Some(3.0), Some(1.5)));
    assert_eq!(detour.shortest_hops, Some(2.0));
}

#[test]
fn unconnected_nodes_have_no_path() {
    let mut apart = scenario(
        "duration = 5.0\n[topology]\nkind = \"list\"\npositions = [[0.0, 0.0], [251.0, 0.0]]\n\
         [[flow]]\nfrom = 0\nto = 1\ntransport = \"reno\"\n\
         [[flow]]\nfrom = 1\nto = 0\ntransport = \"reno\"\napp = \"file\"\nbytes = 1\n",
    );
    apart.expected = Some(BTreeMap::from([(1, 1000.0)]));
    let found = run(&apart, Outputs::default(), &mut unattended).unwrap();
    for flow in &found.flows {
        assert_eq!((flow.shortest_hops, flow.stretch, flow.partitioned), (None, None, Some(1.0)));
    }
    assert_eq!(found.totals.expected_goodput_kbps, Some(0.0));
}
