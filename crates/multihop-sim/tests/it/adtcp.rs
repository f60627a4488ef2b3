//! ADTCP in the simulator: the true causes of losses, and their identification.

use std::collections::BTreeMap;

use multihop_sim::results::{Identification, RunResult};

use crate::support::{events, ran, result};

/// A chain of nodes 200 m apart with further keys, and an ADTCP flow from the first node to the last.
fn chain(hops: u32, more: &str) -> String {
    format!(
        "duration = 60.0\n{more}\n[topology]\nkind = \"chain\"\nhops = {hops}\n[[flow]]\ntransport = \"adtcp\"\n"
    )
}

fn identification(result: &RunResult) -> &Identification {
    result.flows[0].identification.as_ref().expect("the flow is ADTCP")
}

/// Causes of losses that occurred, with their numbers.
fn causes(result: &RunResult) -> BTreeMap<&str, u64> {
    let losses = &identification(result).losses;
    losses.iter().filter(|(_, n)| **n > 0).map(|(cause, &n)| (cause.as_str(), n)).collect()
}

/// Node 1, in the middle, leaves after 20 s. Routes are fixed; a path through node 2 may exist.
fn leaving(other_path: bool) -> String {
    let aside = if other_path { 100.0 } else { 600.0 };
    format!(
        "duration = 60.0\n\
         [mac]\narp = \"oracle\"\n\
         [topology]\nkind = \"list\"\npositions = [[0, 0], [200, 0], [200, {aside:?}], [400, 0]]\n\
         [mobility]\nkind = \"waypoints\"\nwaypoints = [[], [[20, 200, 0], [22, 200, 2000]], [], []]\n\
         [routing]\nprotocol = \"static\"\nnext_hops = [[0, 3, 1], [3, 0, 1]]\n\
         [[flow]]\nfrom = 0\nto = 3\ntransport = {{ kind = \"adtcp\", window_max = 8 }}\n"
    )
}

#[test]
fn channel_errors_are_the_drops_of_data_that_the_trace_shows() {
    let ran = ran(&chain(3, "[radio]\nloss = 0.02\n[routing]\nprotocol = \"static\""));
    // ACKs have 56 bytes, probes 60.
    let is_data = |bytes: u64| bytes >= 60;
    let lost = events(&ran.trace).filter(|e| e.what == "D" && e.reason == "ERR" && is_data(e.bytes)).count();
    assert!(lost > 20);
    assert_eq!(causes(&ran.result), BTreeMap::from([("channel-error", lost as u64)]));
    let found = identification(&ran.result);
    assert_eq!(found.joint.losses, lost as u64);
    assert_eq!(found.joint.incompatible, Some(0.0));
    let states: u64 = found.states["channel-error"].values().sum();
    assert!(states >= lost as u64, "at least one state for each: {found:?}");
    let [joint, idd, stt] = [found.joint, found.idd, found.stt].map(|accuracy| accuracy.wrong.unwrap());
    assert!(joint <= idd && joint <= stt, "both metrics together are wrong less often: {found:?}");
    assert!(found.acted.losses > 0 && found.acted.losses <= found.joint.losses);
}

#[test]
fn a_queue_overflow_is_congestion() {
    let text = "duration = 30.0\n[mac]\nqueue = 5\n[topology]\nkind = \"chain\"\nhops = 2\n\
                [routing]\nprotocol = \"static\"\n\
                [[flow]]\ntransport = \"adtcp\"\n\
                [[flow]]\nfrom = 0\nto = 2\napp = \"cbr\"\nrate_kbps = 1000\nstart = 5.0\n";
    let result = result(text);
    assert_eq!(causes(&result).keys().collect::<Vec<_>>(), [&"congestion"]);
    let found = identification(&result);
    let missed = found.joint.incompatible.unwrap();
    // No other error can occur.
    assert!((found.joint.wrong.unwrap() - missed).abs() < 1e-9 && missed < 1.0);
    assert!(result.flows[1].identification.is_none());
}

#[test]
fn reaching_the_retry_limit_on_an_existing_link_is_a_channel_error() {
    let result = result(&chain(
        2,
        "[radio]\nframe_loss = 0.3\n[mac]\nshort_retry = 3\nlong_retry = 2\n[routing]\nprotocol = \"static\"",
    ));
    assert!(result.drops["retry-limit"] > 0);
    assert_eq!(causes(&result).keys().collect::<Vec<_>>(), [&"channel-error"]);
}

#[test]
fn a_link_failure_is_a_route_change_if_another_path_exists() {
    let with = result(&leaving(true));
    assert_eq!(causes(&with).keys().collect::<Vec<_>>(), [&"route-change"]);
    let without = result(&leaving(false));
    assert_eq!(causes(&without).keys().collect::<Vec<_>>(), [&"disconnection"]);
    // Timeouts without congestion: the sender probes with eight bytes every two seconds.
    let ran = ran(&leaving(false));
    let times: Vec<_> = events(&ran.trace)
        .filter(|e| e.what == "s" && e.node == 0 && e.at > 25.0)
        .map(|e| (e.at, e.bytes))
        .collect();
    // IP and TCP headers, timestamps, eight bytes.
    assert!(times.len() > 10 && times.iter().all(|&(_, bytes)| bytes == 20 + 20 + 12 + 8), "{times:?}");
    assert!(times.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 2.0).abs() < 1e-6), "{times:?}");
}

#[test]
fn receiver_metrics_are_recorded() {
    let what = ["idd", "iad", "stt", "por", "plr", "network"];
    let record = |every: f64| format!("[record]\nevery = {every:?}\nwhat = {what:?}\n[radio]\nloss = 0.02");
    let rows = |every: f64| -> BTreeMap<String, Vec<f64>> {
        let mut series = BTreeMap::<_, Vec<f64>>::new();
        for line in ran(&chain(3, &record(every))).record.lines().skip(1) {
            let columns: Vec<_> = line.split(',').collect();
            series.entry(columns[3].to_owned()).or_default().push(columns[4].parse().unwrap());
        }
        series
    };
    let each_second = rows(1.0);
    let names = ["iad_ms", "idd_ms", "network", "plr", "por", "stt"];
    assert_eq!(each_second.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    assert!(each_second.values().all(|values| (50..=60).contains(&values.len())));
    let changes = rows(0.0);
    assert!(changes["idd_ms"].len() > 1000 && changes["idd_ms"].iter().any(|&idd| idd < 0.0));
    assert!(changes["iad_ms"].iter().all(|&iad| iad >= 0.0));
    assert!(changes["network"].iter().all(|&bits| (0.0..16.0).contains(&bits)));
    assert!(changes["network"].contains(&1.0) && changes["network"].contains(&4.0));
    assert!(changes["plr"].iter().any(|&plr| plr > 0.0));
}

#[test]
fn losses_in_the_warm_up_do_not_count() {
    let lossy = "[radio]\nloss = 0.02\n[routing]\nprotocol = \"static\"";
    let all = identification(&result(&chain(3, lossy))).joint.losses;
    let late = identification(&result(&chain(3, &format!("warmup = 30.0\n{lossy}")))).joint.losses;
    assert!(0 < late && late < all);
}

#[test]
fn only_adtcp_has_identification() {
    let result = result(&chain(2, "").replace("adtcp", "newreno"));
    assert!(result.flows[0].identification.is_none());
    assert!(!serde_json::to_string(&result).unwrap().contains("identification"));
}
