//! Adaptive pacing in networks, as in the experiment `pacing` but shorter: AODV, RTS/CTS before every data frame.

use multihop_sim::results::RunResult;

use crate::support::{ran, result};

/// By the rules of the paper's text.
const BY_TEXT: &str = "{ kind = \"tcp-ap\", rules = \"paper\" }";

fn flow(transport: &str, rest: &str) -> String {
    format!("[[flow]]\ntransport = {transport}\n{rest}")
}

fn network(topology: &str, routing: &str, seconds: u32, flows: &str) -> String {
    format!(
        "duration = {seconds}\nwarmup = 20\nmac = {{ rts_threshold = 0 }}\n\
         topology = {{ {topology} }}\nrouting = {{ protocol = \"{routing}\" }}\n{flows}"
    )
}

fn chain(hops: u32, transport: &str) -> String {
    network(&format!("kind = \"chain\", hops = {hops}"), "aodv", 120, &flow(transport, ""))
}

/// Two flows over the cross.
fn cross(transport: &str, seconds: u32) -> String {
    network("kind = \"cross\"", "aodv", seconds, &flow(transport, "").repeat(2))
}

fn recorded(text: &str, series: &str) -> String {
    format!("{text}[record]\nevery = 1.0\nwhat = [{series}]\n")
}

/// Values of one flow's series from one second to another.
fn values(record: &str, flow: &str, series: &str, (from, until): (f64, f64)) -> Vec<f64> {
    let rows = record.lines().skip(1).filter_map(|line| {
        let columns: Vec<_> = line.split(',').collect();
        let at: f64 = columns[0].parse().unwrap();
        let wanted = columns[1..4] == ["flow", flow, series] && (from..until).contains(&at);
        wanted.then(|| columns[4].parse().unwrap())
    });
    rows.collect()
}

fn mean(values: &[f64]) -> f64 {
    assert!(!values.is_empty());
    values.iter().sum::<f64>() / values.len() as f64
}

fn repeats(result: &RunResult) -> f64 {
    result.totals.retransmission_index.unwrap()
}

#[test]
fn a_paced_flow_has_more_goodput_than_newreno_and_few_retransmissions() {
    for hops in [4, 8, 12] {
        let [newreno, paced] = ["\"newreno\"", BY_TEXT].map(|name| result(&chain(hops, name)));
        let gain = paced.totals.goodput_kbps / newreno.totals.goodput_kbps;
        assert!(gain > 1.02, "{hops} hops: {gain} times as much");
        let (before, after) = (repeats(&newreno), repeats(&paced));
        assert!(
            after < 0.01 && before > 5.0 * after,
            "{hops} hops: retransmission index {before}, paced {after}"
        );
    }
}

#[test]
fn two_paced_flows_share_a_cross() {
    let [newreno, paced] = ["\"newreno\"", BY_TEXT].map(|name| result(&cross(name, 520)).totals);
    assert!(paced.jain.unwrap() > 0.99, "{:?} over 500 s", paced.jain);
    let (before, after) = (newreno.jain_instant.unwrap(), paced.jain_instant.unwrap());
    assert!(after > before + 0.1, "{before} and {after} over 2 s");
}

/// TCP-AP, Figure 10: flow 0 from 30 s on, flow 1 until 60 s.
#[test]
fn a_paced_flow_yields_to_another_and_recovers_its_rate() {
    let flows = flow(BY_TEXT, "start = 30\n") + &flow(BY_TEXT, "stop = 60\n");
    let text = network("kind = \"cross\"", "aodv", 90, &flows);
    let record = ran(&recorded(&text, "\"goodput\"")).record;
    let goodput = |flow, span| mean(&values(&record, flow, "goodput_kbps", span));
    let (alone, shared) = (goodput("1", (10.0, 30.0)), goodput("1", (35.0, 60.0)));
    let (second, left) = (goodput("0", (35.0, 60.0)), goodput("0", (65.0, 90.0)));
    assert!(shared < 0.75 * alone, "{alone} kb/s, then {shared}");
    assert!((0.5..2.0).contains(&(second / shared)), "{second} kb/s beside {shared}");
    assert!(left > 0.85 * alone, "{left} kb/s, {alone} for the earlier flow");
}

#[test]
fn the_pacer_knows_the_length_of_the_path_under_every_routing_protocol() {
    for routing in ["static", "aodv", "dsr", "olsr"] {
        let text = network("kind = \"chain\", hops = 4", routing, 40, &flow(BY_TEXT, ""));
        let record = ran(&recorded(&text, "\"rate\", \"cov\"")).record;
        let rates = values(&record, "0", "rate_kbps", (20.0, 40.0));
        // The rates would be above 400 with half or twice the hops.
        assert!((150.0..350.0).contains(&mean(&rates)), "{routing}: {rates:?}");
        let covs = values(&record, "0", "cov", (20.0, 40.0));
        assert!(covs.iter().all(|cov| (0.0..1.0).contains(cov)), "{routing}: {covs:?}");
    }
}

#[test]
fn flows_without_pacing_have_no_rate() {
    let record = ran(&recorded(&chain(2, "\"newreno\""), "\"rate\", \"cov\"")).record;
    assert_eq!(record.lines().count(), 1, "{record}");
}

/// Most ACKs are sent by the delay timer; the sender must not count its 100 ms as network delay.
#[test]
fn the_ack_delay_is_not_part_of_the_round_trip_for_pacing() {
    let rate = |ap_rtt: &str| {
        let transport = format!("{{ kind = \"tcp-ap+dyn\", rules = \"paper\", ap_rtt = \"{ap_rtt}\" }}");
        let ran = ran(&recorded(&chain(4, &transport), "\"rate\""));
        let rtt = ran.result.flows[0].rtt_ms.unwrap().mean;
        assert!(rtt > 100.0, "the connection's round trips include it: {rtt} ms");
        mean(&values(&ran.record, "0", "rate_kbps", (20.0, 120.0)))
    };
    let (net, timed) = (rate("net"), rate("timed"));
    assert!(net > 1.3 * timed, "{net} and {timed} kb/s");
}

#[test]
fn pacing_works_with_link_failure_notices_and_delayed_acks() {
    let text = network("kind = \"chain\", hops = 4", "dsr", 60, &flow("\"elfn+ap+da\"", ""));
    let ran = ran(&recorded(&text, "\"rate\""));
    assert!(ran.result.totals.goodput_kbps > 200.0);
    assert!(!values(&ran.record, "0", "rate_kbps", (20.0, 60.0)).is_empty());
}

#[test]
fn the_optimal_window_is_known_under_every_routing_protocol() {
    for routing in ["static", "aodv", "dsr", "olsr"] {
        let text = network("kind = \"chain\", hops = 6", routing, 40, &flow("\"tcp-cwl\"", ""));
        let record = ran(&recorded(&text, "\"cwnd\"")).record;
        let windows = values(&record, "0", "cwnd", (20.0, 40.0));
        let largest = windows.iter().copied().fold(0.0, f64::max);
        assert!((largest - 2.0).abs() < 1e-9, "{routing}: {largest} segments");
    }
}
