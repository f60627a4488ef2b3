//! Delay, jitter, delivery ratio and airtime of flows, nodes, links and queues, against arithmetic.

use multihop_sim::results::{AirtimeShares, LinkResult, NodeResult, RunResult};
use multihop_sim::{Outputs, run, unattended};

use crate::support::{ran, result, scenario};

/// Airtime of a datagram of 1460 bytes at 2 Mb/s and of its ACK, s: 192 us of preamble and PLCP header, and
/// 1460 + 28 + 28 or 14 bytes.
const DATA: f64 = 6256e-6;
const ACK: f64 = 304e-6;
/// Upper bound of the time between the start of a signal and its arrival, s.
const PROPAGATION: f64 = 1e-6;

/// A chain with constant traffic from end to end: datagrams of 1460 bytes, without RTS.
fn chain(hops: u32, rate_kbps: f64, seconds: f64, tables: &str) -> String {
    format!(
        "duration = {seconds:?}\nwarmup = 1.0\n[mac]\narp = \"oracle\"\nrts_threshold = \"off\"\n\
         [topology]\nkind = \"chain\"\nhops = {hops}\n[[flow]]\napp = \"cbr\"\nrate_kbps = {rate_kbps:?}\n\
         size = 1460\n{tables}\n"
    )
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got}, expected {want} ± {tolerance}");
}

fn sum(shares: &AirtimeShares) -> f64 {
    shares.transmit + shares.receive + shares.busy + shares.idle + shares.sleep
}

fn link(result: &RunResult, from: u32, to: u32) -> &LinkResult {
    result.links.iter().find(|link| (link.from, link.to) == (from, to)).unwrap()
}

#[test]
fn airtime_shares_over_one_hop_are_those_of_the_frames() {
    let result = result(&chain(1, 292.0, 21.0, ""));
    let frames = f64::from(25 * 20);
    let (data, ack) = (frames * DATA / 20.0, frames * ACK / 20.0);
    // There may be one frame more or less at either end, and the propagation delay of each frame.
    let tolerance = 2.0 * DATA / 20.0 + frames * PROPAGATION / 20.0;
    let [sender, receiver]: [NodeResult; 2] = result.nodes.clone().try_into().unwrap();
    for (shares, transmit, receive) in [(sender.airtime, data, ack), (receiver.airtime, ack, data)] {
        close(sum(&shares), 1.0, 1e-12);
        close(shares.transmit, transmit, tolerance);
        close(shares.receive, receive, tolerance);
        close(shares.busy, 0.0, tolerance);
        close(shares.sleep, 0.0, 0.0);
    }
    let [only] = &result.links[..] else { panic!("{:?}", result.links) };
    assert_eq!((only.from, only.to), (0, 1), "the ACKs are part of the exchanges of the data");
    close(only.airtime_share, data + ack, tolerance);
    close(only.airtime_share, result.mac.airtime_share, 1e-12);
}

#[test]
fn frames_for_others_occupy_a_station() {
    // Node 2 is 400 m from node 0: it hears the data of node 0, but decodes only what node 1 sends.
    let text = "duration = 21.0\nwarmup = 1.0\n[mac]\narp = \"oracle\"\nrts_threshold = \"off\"\n\
                [topology]\nkind = \"chain\"\nhops = 2\n\
                [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 292.0\nsize = 1460\n";
    let result = result(text);
    let third = result.nodes[2].airtime;
    let busy = 25.0 * (DATA + ACK);
    close(third.busy, busy, 2.0 * DATA / 20.0 + 1e-4);
    assert_eq!((third.transmit, third.receive), (0.0, 0.0));
    close(sum(&third), 1.0, 1e-12);
}

#[test]
fn shares_of_saturated_stations_add_up_to_1() {
    let text = "duration = 8.0\nwarmup = 1.0\n[topology]\nkind = \"chain\"\nhops = 4\n\
                [[flow]]\ntransport = \"newreno\"\n[[flow]]\nfrom = 4\nto = 0\ntransport = \"newreno\"\n";
    let result = result(text);
    for node in &result.nodes {
        let shares = node.airtime;
        close(sum(&shares), 1.0, 1e-12);
        assert!([shares.transmit, shares.receive, shares.busy, shares.idle].iter().all(|share| *share > 0.0));
    }
    let transmitting: f64 = result.nodes.iter().map(|node| node.airtime.transmit).sum();
    close(transmitting, result.mac.airtime_share, 1e-9);
    let of_links: f64 = result.links.iter().map(|link| link.airtime_share).sum();
    let broadcasts = result.mac.airtime_share - of_links;
    assert!((0.0..0.01).contains(&broadcasts), "{broadcasts}");
    let retries: u64 = result.links.iter().map(|link| link.retries).sum();
    // The retries of packets that are in service at the beginning or at the end of the measurement may be
    // missing.
    assert!(retries.abs_diff(result.mac.retries) < 10, "{retries} {}", result.mac.retries);
    let dropped: u64 = result.links.iter().map(|link| link.dropped).sum();
    assert_eq!(dropped, result.mac.drops);
}

#[test]
fn a_radio_that_sleeps_has_a_share_of_sleep() {
    let tables = "[[sleep]]\nnode = 1\nfrom = 0.5\nuntil = 6.0";
    let result = result(&chain(1, 292.0, 21.0, tables));
    close(result.nodes[1].airtime.sleep, 5.0 / 20.0, 1e-9);
    close(sum(&result.nodes[1].airtime), 1.0, 1e-12);
    assert_eq!(result.nodes[0].airtime.sleep, 0.0);
}

#[test]
fn the_delivery_ratio_of_a_lossy_hop_is_its_share_of_packets_that_arrive() {
    // The loss comes after the MAC's success. 4975 packets: the standard deviation of the share is 0.6%.
    let result = result(&chain(1, 292.0, 200.0, "[radio]\nloss = 0.25"));
    let flow = &result.flows[0];
    close(flow.delivery_ratio.unwrap(), 0.75, 0.02);
    let distinct = flow.segments_sent - flow.segments_retransmitted;
    assert_eq!(flow.delivery_ratio, Some(flow.segments_delivered as f64 / distinct as f64));
    assert_eq!(result.totals.delivery_ratio, flow.delivery_ratio);
    assert_eq!(link(&result, 0, 1).delivery_ratio, Some(1.0), "all were acknowledged");
}

#[test]
fn the_delivery_ratio_of_a_link_counts_packets_given_up() {
    // A packet is given up after three attempts, each of which fails unless data and ACK arrive: 0.75 of 1 - 0.5².
    let tables = "[radio]\nframe_loss = 0.5";
    let text = chain(1, 150.0, 200.0, tables).replace("[mac]\n", "[mac]\nshort_retry = 3\n");
    let result = result(&text);
    let link = link(&result, 0, 1);
    // Attempts fail with 1 - 0.25: 2,500 packets, standard deviation 1%.
    close(link.delivery_ratio.unwrap(), 1.0 - 0.75_f64.powi(3), 0.04);
    assert_eq!(link.frames - link.retries, link.delivered + link.dropped);
    assert_eq!(link.retries, result.mac.retries);
    let sender = &result.nodes[0];
    assert_eq!((sender.delivered, sender.dropped), (link.delivered, link.dropped));
    assert_eq!((sender.delay_ms, sender.jitter_ms), (link.delay_ms, link.jitter_ms), "it is the only link");
}

#[test]
fn a_packet_without_competition_waits_for_nothing() {
    let result = result(&chain(1, 292.0, 21.0, ""));
    let queue = &result.queues[0];
    assert_eq!((queue.node, queue.category.as_deref(), queue.dropped), (0, None, 0));
    assert_eq!((queue.delivery_ratio, queue.delay_ms.unwrap().mean), (Some(1.0), 0.0));
    let link = link(&result, 0, 1).delay_ms.unwrap();
    // DIFS, a backoff of at most 31 slots, data, SIFS, ACK.
    let least = 1e3 * (DATA + ACK) + 0.010;
    assert!(link.p50 > 0.99 * least && link.p99.unwrap() < 1.01 * (least + 0.050 + 31.0 * 0.020), "{link:?}");
    let (of_flow, of_link) = (result.flows[0].jitter_ms.unwrap(), result.nodes[0].jitter_ms.unwrap());
    // Both values result from the backoff alone.
    close(of_flow, of_link, 0.02 * of_link);
}

#[test]
fn a_full_queue_drops_and_delays() {
    let result = result(&chain(1, 4000.0, 21.0, ""));
    let queue = &result.queues[0];
    assert_eq!(queue.dropped, result.drops["queue-full"]);
    let ratio = (queue.packets - queue.dropped) as f64 / queue.packets as f64;
    assert_eq!(queue.delivery_ratio, Some(ratio));
    close(result.flows[0].delivery_ratio.unwrap(), ratio, 0.01);
    // 49 packets wait before one that is served, each for a cycle with a mean backoff of 15 slots.
    let cycle = 1e3 * (DATA + ACK) + 0.010 + 0.050 + 15.0 * 0.020;
    close(queue.delay_ms.unwrap().mean / (49.0 * cycle), 1.0, 0.02);
}

#[test]
fn delays_of_all_flows_are_pooled() {
    let text = "duration = 11.0\nwarmup = 1.0\n[mac]\narp = \"oracle\"\n[topology]\nkind = \"chain\"\nhops = 3\n\
                [[flow]]\napp = \"cbr\"\nrate_kbps = 100.0\nsize = 1000\n\
                [[flow]]\nfrom = 3\nto = 2\ntransport = \"newreno\"\napp = \"file\"\nbytes = 300000\nstart = 2.0\n";
    let result = result(text);
    let (totals, flows) = (&result.totals, &result.flows);
    let arrived = |flow: usize| flows[flow].segments_delivered as f64;
    let pooled =
        |value: [f64; 2]| (arrived(0) * value[0] + arrived(1) * value[1]) / (arrived(0) + arrived(1));
    let means = [0, 1].map(|flow: usize| flows[flow].delay_ms.unwrap().mean);
    close(totals.delay_ms.unwrap().mean / pooled(means), 1.0, 1e-9);
    let jitters = [0, 1].map(|flow: usize| flows[flow].jitter_ms.unwrap());
    close(totals.jitter_ms.unwrap() / pooled(jitters), 1.0, 0.01);
    let p99s = [0, 1].map(|flow: usize| flows[flow].delay_ms.unwrap().p99.unwrap());
    let p99 = totals.delay_ms.unwrap().p99.unwrap();
    assert!(p99 <= p99s[0].max(p99s[1]) && p99 >= p99s[0].min(p99s[1]), "{p99} of {p99s:?}");
}

#[test]
fn categories_have_queues_of_their_own() {
    let text = "duration = 6.0\nwarmup = 1.0\n[radio]\nphy = \"802.11a\"\nbudget = \"ns-2\"\nrate = \"6M\"\n[mac]\nflavour = \"standard\"\nedca = true\narp = \"oracle\"\n\
                [topology]\nkind = \"chain\"\nhops = 1\nspacing = 50.0\n\
                [[flow]]\napp = \"cbr\"\nrate_kbps = 200.0\nsize = 500\ncategory = \"voice\"\n\
                [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 9000.0\nsize = 1400\n";
    let result = result(text);
    let names: Vec<_> = result.queues.iter().map(|queue| queue.category.as_deref()).collect();
    assert_eq!(names, [Some("best-effort"), Some("voice")]);
    let [best_effort, voice] = [0, 1].map(|place: usize| result.queues[place].delay_ms.unwrap().mean);
    assert!(voice < 5.0 && best_effort > 20.0 * voice, "{voice} ms, {best_effort} ms");
}

#[test]
fn aggregates_count_their_packets() {
    let text = "duration = 4.0\nwarmup = 1.0\n[radio]\nphy = \"802.11n-20\"\nbudget = \"ns-2\"\nrate = \"MCS7\"\n[mac]\nflavour = \"standard\"\nrts_threshold = \"off\"\narp = \"oracle\"\nampdu = 64\n\
                [topology]\nkind = \"chain\"\nhops = 1\nspacing = 20.0\n\
                [[flow]]\napp = \"cbr\"\nrate_kbps = 90000.0\nsize = 1400\n";
    let result = result(text);
    let link = link(&result, 0, 1);
    assert_eq!(link.frames, result.mac.frames["data"]);
    assert!(link.delivered.abs_diff(result.flows[0].segments_delivered) <= 128);
    close(link.airtime_share, result.mac.airtime_share, 1e-12);
    assert!(result.queues[0].delay_ms.unwrap().mean > 0.0);
}

#[test]
fn outputs_do_not_change_the_measurements() {
    let text = format!("{}[record]\nevery = 0.5\nwhat = [\"cwnd\", \"queue\"]\n", chain(3, 292.0, 6.0, ""));
    let (with, without) = (ran(&text).result, result(&text));
    assert_eq!(with.nodes, without.nodes);
    assert_eq!((with.links, with.queues, with.totals), (without.links, without.queues, without.totals));
}

#[test]
fn very_large_networks_have_no_lists() {
    let result = result(&chain(1000, 10.0, 1.2, ""));
    assert!(result.nodes.is_empty() && result.links.is_empty() && result.queues.is_empty());
}

#[test]
fn a_result_without_its_lists_differs_in_nothing_else() {
    let scenario = scenario(&chain(3, 800.0, 6.0, "[routing]\nprotocol = \"aodv\"\n"));
    let outcome = |without_lists| {
        let outputs = Outputs { without_lists, ..Outputs::default() };
        run(&scenario, outputs, &mut unattended).unwrap().timeless()
    };
    let (full, brief) = (outcome(false), outcome(true));
    assert!(!full.nodes.is_empty() && !full.links.is_empty() && !full.queues.is_empty(), "{full:?}");
    assert_eq!(brief, RunResult { nodes: Vec::new(), links: Vec::new(), queues: Vec::new(), ..full });
}
