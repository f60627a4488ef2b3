//! When datagrams leave: Poisson arrivals, start jitter, and what is said of flows that cannot work.

use multihop_scenario::{Scenario, Source};
use multihop_sim::notes;

use crate::support::{events, ran, result, scenario};

fn one_hop(flow: &str) -> String {
    format!("duration = 200.0\n[topology]\nkind = \"chain\"\nhops = 1\n[[flow]]\n{flow}\n")
}

#[test]
fn datagrams_in_order_are_not_out_of_order_however_many_a_full_queue_drops() {
    let flow = &result(&one_hop("app = \"cbr\"\nrate_kbps = 3000.0\nsize = 1000")).flows[0];
    assert!(flow.segments_sent > 2 * flow.segments_delivered, "{flow:?}");
    assert_eq!(flow.out_of_order, 0);
}

#[test]
fn intervals_of_a_poisson_process_have_the_mean_and_the_deviation_of_an_exponential_distribution() {
    let ran = ran(&one_hop("app = \"poisson\"\nrate_kbps = 80.0\nsize = 100\nstart = 1.0"));
    let times: Vec<f64> = events(&ran.trace).filter(|e| e.what == "s" && e.node == 0).map(|e| e.at).collect();
    // With a mean interval of 10 ms there are 19,900 packets in 199 s. Three standard deviations of both
    // values are then within 1%.
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!((mean / 0.01 - 1.0).abs() < 0.03, "{mean}");
    assert!((deviation / 0.01 - 1.0).abs() < 0.05, "{deviation}");
    assert!(times[0] > 1.0, "the first interval begins at the start");
}

/// Two stations that offer a tenth of the capacity each.
fn pair(jitter: &str) -> String {
    let flow = |from, to| {
        format!(
            "[[flow]]\nfrom = {from}\nto = {to}\napp = \"cbr\"\nrate_kbps = 80.0\nsize = 1000\n{jitter}\n"
        )
    };
    let places = "[[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0]]";
    format!(
        "duration = 60.0\n[mac]\nflavour = \"standard\"\nrts_threshold = \"off\"\narp = \"oracle\"\n\
         [topology]\nkind = \"list\"\npositions = {places}\n{}{}",
        flow(0, 1),
        flow(2, 3)
    )
}

#[test]
fn start_jitter_ends_the_collisions_of_equal_flows() {
    let collisions = |text: &str| result(text).mac.collisions;
    let (together, apart) = (collisions(&pair("")), collisions(&pair("start_jitter = 0.1")));
    // 600 datagrams of each.
    assert!(together > 500 && apart < 20, "{together} collisions without start jitter, {apart} with it");
}

#[test]
fn start_jitter_depends_on_the_seed_alone() {
    let starts = |seed: &str| {
        let source =
            Source::Toml { text: pair("start = 5.0\nstart_jitter = 0.1"), name: "x.toml".to_owned() };
        let scenario = Scenario::load(&source, &[("seed".to_owned(), seed.to_owned())]).unwrap();
        scenario.flows.iter().map(|flow| flow.start.as_secs_f64()).collect::<Vec<_>>()
    };
    let first = starts("1");
    assert_eq!(first, starts("1"));
    assert_ne!(first, starts("2"));
    assert_ne!(first[0], first[1]);
    assert!(first.iter().all(|start| (5.0..5.1).contains(start)), "{first:?}");
}

#[test]
fn equal_flows_at_stations_that_sense_each_other_are_noted() {
    let said = notes(&scenario(&pair("")));
    let [note] = &said[..] else { panic!("{said:?}") };
    assert_eq!(
        note,
        "flows 0 and 1 send datagrams every 100 ms from 0 s on, at stations that sense each other: their frames may \
         collide for the whole run; start_jitter sets them apart"
    );
    assert_eq!(notes(&scenario(&pair("start_jitter = 0.1"))), [""; 0]);
    let saturated = pair("").replace("rate_kbps = 80.0", "rate_kbps = 1000.0");
    assert_eq!(notes(&scenario(&saturated)), [""; 0], "backoffs set saturated stations apart");
    assert_eq!(
        notes(&scenario(&pair("").replace("[0.0, 50.0], [50.0, 50.0]", "[0.0, 700.0], [50.0, 700.0]"))),
        [""; 0]
    );
}

/// Three nodes in a row, 150 m apart, with a range for each rate.
fn ranges(mac: &str) -> String {
    format!(
        "duration = 20.0\n[radio]\nrate = \"11M\"\nrange = {{ \"1M\" = 250, \"2M\" = 200, \"11M\" = 120 }}\n\
         [mac]\n{mac}\n[topology]\nkind = \"chain\"\nhops = 2\nspacing = 150.0\n\
         [[flow]]\ntransport = \"newreno\"\n"
    )
}

#[test]
fn static_routes_use_the_links_that_rate_control_has() {
    let run = result(&ranges("rate_control = \"arf\""));
    assert!(run.flows[0].goodput_kbps > 200.0, "{run:?}");
    assert_eq!(notes(&scenario(&ranges("rate_control = \"arf\""))), [""; 0]);
}

#[test]
fn a_flow_without_a_static_route_is_noted() {
    assert_eq!(
        notes(&scenario(&ranges(""))),
        [
            "flow 0 has no route: static routes use links up to 120 m, the range of \"11M\", between the first positions of the nodes"
        ]
    );
    assert_eq!(result(&ranges("")).flows[0].segments_delivered, 0);
}

#[test]
fn static_routes_use_the_links_that_the_rate_of_each_station_has() {
    let slower = |station| format!("[[data_rate]]\nfrom = {station}\nrate = \"2M\"\n");
    // Only the first station reaches its neighbour.
    let one = ranges("") + &slower(0);
    let note = "flow 0 has no route: static routes use links up to the ranges of the rates of data, between the first \
                positions of the nodes";
    assert_eq!(notes(&scenario(&one)), [note]);
    let all = one + &slower(1) + &slower(2);
    assert_eq!(notes(&scenario(&all)), [""; 0]);
    assert!(result(&all).flows[0].goodput_kbps > 200.0);
}

#[test]
fn static_routes_under_the_sinr_model_need_the_ratio_of_the_rate() {
    let text = |rate: &str| {
        format!(
            "duration = 5.0\n[radio]\nphy = \"802.11a\"\nbudget = \"ns-2\"\nrate = \"{rate}\"\nmodel = \"sinr\"\nsensitivity_dbm = -90\n\
             [mac]\nflavour = \"standard\"\n[topology]\nkind = \"chain\"\nhops = 1\nspacing = 500.0\n\
             [[flow]]\ntransport = \"newreno\"\n"
        )
    };
    // At 500 m the signal is 17 dB above the noise: enough for 6 Mb/s, too little for 54.
    assert_eq!(notes(&scenario(&text("6M"))), [""; 0]);
    assert!(result(&text("6M")).flows[0].goodput_kbps > 1000.0);
    assert_eq!(notes(&scenario(&text("54M"))).len(), 1);
}
