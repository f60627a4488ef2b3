//! Small networks end to end: the effect of each key of a scenario.

use std::collections::BTreeMap;

use multihop_sim::results::RunResult;

use crate::support::{Kind, ran, result};

/// A chain with one flow; `tables` is inserted before `[topology]`, and `flow` into `[[flow]]`.
fn chain(hops: u32, seconds: f64, tables: &str, flow: &str) -> String {
    format!(
        "duration = {seconds:?}\n{tables}\n[topology]\nkind = \"chain\"\nhops = {hops}\n[[flow]]\n{flow}\n"
    )
}

fn drops(result: &RunResult, reason: &str) -> u64 {
    result.drops.get(reason).copied().unwrap_or(0)
}

#[test]
fn a_file_ends_when_its_last_byte_is_acknowledged() {
    let flow = "app = \"file\"\nbytes = 200000\nstart = 2.0\ntransport = \"newreno\"";
    let flow = &result(&chain(2, 60.0, "", flow)).flows[0];
    assert_eq!(flow.start, 2.0);
    // 137 segments at some 600 kb/s.
    assert!((3.0..10.0).contains(&flow.stop), "{}", flow.stop);
    let bytes = |kbps: f64| kbps * (flow.stop - flow.start) / 8e-3;
    assert!((bytes(flow.goodput_kbps) - 200_000.0).abs() < 1e-3);
    assert!((bytes(flow.acked_kbps.unwrap()) - 200_000.0).abs() < 1e-3);
    assert_eq!(flow.segments_delivered, 137);
}

#[test]
fn goodput_of_pareto_files_excludes_pauses() {
    let goodput = |pause: f64| {
        let flow = format!(
            "app = \"pareto\"\nmean_bytes = 60000.0\nshape = 2.5\nmean_pause = {pause:?}\ntransport = \"newreno\""
        );
        let flow = result(&chain(1, 200.0, "", &flow)).flows.remove(0);
        let over_the_run = flow.segments_delivered as f64 * 1460.0 * 8e-3 / 200.0;
        (flow.goodput_kbps, over_the_run)
    };
    let (busy, _) = goodput(0.0);
    let (idle, idle_over_the_run) = goodput(5.0);
    assert!((idle / busy - 1.0).abs() < 0.2, "{idle} with pauses, {busy} without");
    assert!(idle_over_the_run < idle / 5.0, "pauses of 5 s between transfers of half a second");
}

/// Duration of a datagram over one hop, computed from the goodput, microseconds.
fn cycle(tables: &str) -> f64 {
    let flow = "app = \"cbr\"\nrate_kbps = 3000.0\nsize = 1460";
    8e3 * 1460.0 / result(&chain(1, 40.0, tables, flow)).totals.goodput_kbps
}

#[test]
fn each_additional_byte_takes_its_airtime() {
    let plain = cycle("");
    // The same seed draws the same backoffs; at 2 Mb/s a byte lasts 4 us.
    for (tables, bytes) in
        [("[routing]\nip_extra = 20", 20.0), ("[mac]\nllc = true", 8.0), ("[routing]\nip_extra = 8", 8.0)]
    {
        let longer = cycle(tables) - plain;
        assert!((longer - 4.0 * bytes).abs() < 2.5, "{tables}: {longer} us");
    }
}

#[test]
fn the_mac_repairs_damaged_frames() {
    let flow = "app = \"cbr\"\nrate_kbps = 100.0\nsize = 500";
    let run = |loss: f64, flavour: &str| {
        let tables = format!("[radio]\nframe_loss = {loss:?}\n[mac]\nflavour = \"{flavour}\"");
        result(&chain(1, 100.0, &tables, flow))
    };
    let standard = run(0.1, "standard");
    // One frame in ten is damaged: data with its ACK needs 1/0.81 attempts, and so does each RTS with
    // its CTS. The standard deviation of the sum over 2500 datagrams is 3%.
    let tries = 1.0 / 0.81;
    let expected = 2500.0 * (tries * tries - 1.0);
    let retries = standard.mac.retries as f64;
    assert!((retries / expected - 1.0).abs() < 0.12, "{retries} retries, expected {expected}");
    // In ns-2 a station that has sent a CTS ignores another RTS until the data is overdue.
    assert!(run(0.1, "ns2").mac.retries as f64 > 1.1 * expected);
    assert!(standard.flows[0].segments_delivered as f64 > 0.99 * 2500.0);
    assert_eq!(run(0.0, "standard").mac.retries, 0);
}

#[test]
fn packets_lost_after_the_mac_are_left_to_the_transport() {
    let flow = "app = \"cbr\"\nrate_kbps = 400.0\nsize = 500";
    let lossy = result(&chain(1, 50.0, "[radio]\nloss = 0.1", flow));
    assert_eq!(lossy.mac.retries, 0);
    let share = drops(&lossy, "channel-error") as f64 / lossy.flows[0].segments_sent as f64;
    assert!((share - 0.1).abs() < 0.02, "{share} of 5000");

    let tcp = result(&chain(1, 50.0, "[radio]\nloss = 0.02", "transport = \"newreno\""));
    assert!(tcp.flows[0].segments_retransmitted > 10);
    assert!(drops(&tcp, "channel-error") > 10);
}

/// Node 3 is 600 m away from node 0.
const TOO_FAR: &str = "[routing]\nnext_hops = [[0, 3, 3]]";

#[test]
fn an_unreachable_next_hop_costs_seven_rts_per_packet() {
    let flow = "app = \"cbr\"\nrate_kbps = 10.0\nsize = 500";
    let ran = ran(&chain(3, 10.0, &format!("[mac]\narp = \"oracle\"\n{TOO_FAR}"), flow));
    assert_eq!(ran.result.totals.goodput_kbps, 0.0);
    // One packet is dropped every 0.4 s.
    assert_eq!((drops(&ran.result, "retry-limit"), ran.result.mac.drops), (25, 25));
    assert_eq!((ran.result.mac.frames["rts"], ran.result.mac.retries), (7 * 25, 6 * 25));
    assert!(ran.sent().iter().all(|frame| frame.kind == Kind::Rts && frame.node == 0));
    assert_eq!(
        ran.trace.lines().filter(|line| line.starts_with('D') && line.contains("\tRET\t")).count(),
        25
    );
}

#[test]
fn address_resolution_of_an_unknown_address_fails() {
    let flow = "app = \"cbr\"\nrate_kbps = 10.0\nsize = 500";
    for arp in ["ns2", "queueing"] {
        let result = result(&chain(3, 10.0, &format!("[mac]\narp = \"{arp}\"\n{TOO_FAR}"), flow));
        assert!(drops(&result, "arp") >= 10, "{arp}: {:?}", result.drops);
        assert_eq!(result.mac.frames["rts"], 0, "{arp}");
        assert!(result.mac.frames["broadcast"] > 5, "{arp}");
    }
}

#[test]
fn packets_in_a_routing_loop_are_dropped_by_ttl() {
    // This rate is that of a single datagram.
    let flow = "app = \"cbr\"\nrate_kbps = 1.0\nsize = 500";
    let ran = ran(&chain(3, 3.9, "[routing]\nnext_hops = [[0, 3, 1], [1, 3, 0]]", flow));
    assert_eq!(ran.result.drops, BTreeMap::from([("ttl".to_owned(), 1)]));
    let line = ran.trace.lines().find(|line| line.starts_with('D')).unwrap();
    assert_eq!(line.split('\t').nth(9), Some("64"), "after 64 links");
    assert_eq!(ran.trace.lines().filter(|line| line.starts_with('f')).count(), 63);
}

#[test]
fn kinds_of_address_resolution_differ_as_documented() {
    // Three datagrams in the time that a request and its reply take, some 3 ms; 10 more while `queueing` delays the
    // request.
    let flow = "app = \"cbr\"\nrate_kbps = 2000.0\nsize = 250\nstop = 0.1";
    let run = |arp: &str| result(&chain(1, 1.0, &format!("[mac]\nqueue = 500\narp = \"{arp}\""), flow));
    let [ns2, queueing, oracle] = [run("ns2"), run("queueing"), run("oracle")];
    assert!(drops(&ns2, "arp") > 0, "a newer packet displaces the one held");
    assert_eq!(ns2.flows[0].segments_delivered + drops(&ns2, "arp"), ns2.flows[0].segments_sent);
    assert!(ns2.mac.frames["broadcast"] > 1, "each packet causes a request");
    assert_eq!(queueing.mac.frames["broadcast"], 1);
    assert_eq!(oracle.mac.frames["broadcast"], 0);
    for other in [queueing, oracle] {
        assert!(other.drops.is_empty(), "{:?}", other.drops);
        assert_eq!(other.flows[0].segments_delivered, other.flows[0].segments_sent);
    }
}

/// Stations of the standard transmit at once on an idle medium. Requests of stations that start at the same instant would
/// all collide, again at each packet, if they were not delayed at random.
#[test]
fn saturated_stations_that_start_together_resolve_their_addresses() {
    let positions: Vec<_> = (0..10).map(|node| format!("[{}.0, 0.0]", 10 * node)).collect();
    let mut text = format!(
        "duration = 10.0\n[mac]\nflavour = \"standard\"\n\
         [topology]\nkind = \"list\"\npositions = [{}]\n",
        positions.join(", ")
    );
    for node in 0..10 {
        let to = (node + 1) % 10;
        text +=
            &format!("[[flow]]\nfrom = {node}\nto = {to}\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1000\n");
    }
    let result = result(&text);
    let silent = result.flows.iter().filter(|flow| flow.segments_delivered == 0).count();
    assert_eq!(silent, 0, "of 10 flows");
    assert!(result.totals.goodput_kbps > 1000.0, "{:?}", result.totals);
}

/// ns-3 3.37 with its table-based DSSS error model, nodes 200 m apart, RTS before every frame: newreno with an ACK for
/// each segment, and the best paced UDP, kb/s over 1 to 8 hops. In ns-3, ACK frames use 2 Mb/s, which makes one hop 1%
/// faster.
const NS3_TCP: [f64; 8] = [1268.0, 636.0, 411.0, 336.0, 302.0, 290.0, 285.0, 282.0];
const NS3_UDP: [f64; 8] = [1538.0, 782.0, 523.0, 480.0, 492.0, 457.0, 454.0, 434.0];

#[test]
fn chains_under_the_sinr_model_are_near_those_of_ns3() {
    let tables = "warmup = 5.0\n[radio]\nmodel = \"sinr\"\n\
                  [mac]\nflavour = \"standard\"\nllc = true\narp = \"oracle\"";
    for (hops, (tcp, udp)) in (1..).zip(NS3_TCP.into_iter().zip(NS3_UDP)) {
        let found = result(&chain(hops, 60.0, tables, "transport = \"newreno\"")).totals.goodput_kbps;
        assert!((0.93..1.15).contains(&(found / tcp)), "TCP, {hops} hops: {found} kb/s, ns-3 {tcp}");
        // At 97% of ns-3's best rate, all datagrams arrive here too.
        let flow = format!("app = \"cbr\"\nrate_kbps = {:?}\nsize = 1460", 0.97 * udp);
        let found = result(&chain(hops, 30.0, tables, &flow)).totals.goodput_kbps;
        assert!(found / udp > 0.96, "UDP, {hops} hops: {found} kb/s, ns-3 {udp}");
    }
}

#[test]
fn energy_is_power_times_time() {
    let flow = "app = \"cbr\"\nrate_kbps = 300.0\nsize = 1460";
    let energy = |powers: &str| {
        let text =
            chain(1, 22.0, &format!("warmup = 2.0\n[mac]\narp = \"oracle\"\n[energy]\n{powers}"), flow);
        let result = result(&text);
        let energy = result.energy.clone().unwrap();
        (result, energy)
    };
    let (_, all) = energy("transmit = 1.0\nreceive = 1.0\nidle = 1.0");
    for joules in all.node_joules {
        assert!((joules - 20.0).abs() < 1e-9, "1 W for 20 s: {joules}");
    }
    let (result, sending) = energy("transmit = 1.0\nreceive = 0.0\nidle = 0.0");
    let on_air: f64 = sending.node_joules.iter().sum();
    assert!((on_air - 20.0 * result.mac.airtime_share).abs() < 1e-9);
    let delivered_mb = result.totals.goodput_kbps * 20.0 / 8e3;
    assert!((sending.joules_per_mb.unwrap() - on_air / delivered_mb).abs() < 1e-6);
    // Each node receives what the other transmits, except frames at the borders of the measured time.
    let (_, receiving) = energy("transmit = 0.0\nreceive = 1.0\nidle = 0.0");
    for node in 0..2 {
        let difference = sending.node_joules[node] - receiving.node_joules[1 - node];
        assert!(difference.abs() < 0.007, "{difference} J at node {node}");
    }
}

#[test]
fn counts_of_warm_up_and_measurement_add_up_to_the_whole_run() {
    let run = |warmup: f64, seconds: f64| {
        result(&chain(3, seconds, &format!("warmup = {warmup:?}"), "transport = \"newreno\""))
    };
    let [whole, first, rest] = [run(0.0, 20.0), run(0.0, 5.0), run(5.0, 20.0)];
    for (kind, n) in &whole.mac.frames {
        assert_eq!(*n, first.mac.frames[kind] + rest.mac.frames[kind], "{kind}");
    }
    let counts = |result: &RunResult| {
        let flow = &result.flows[0];
        [flow.segments_sent, flow.segments_retransmitted, flow.segments_delivered, flow.out_of_order]
    };
    for (whole, (first, rest)) in counts(&whole).iter().zip(counts(&first).iter().zip(counts(&rest))) {
        assert_eq!(*whole, first + rest);
    }
    let kilobits = |result: &RunResult, seconds: f64| result.flows[0].goodput_kbps * seconds;
    let sum = kilobits(&first, 5.0) + kilobits(&rest, 15.0);
    assert!((kilobits(&whole, 20.0) - sum).abs() < 1e-6);
    // A flow that ended during the warm-up has no results.
    let over = result(&chain(1, 10.0, "warmup = 5.0", "transport = \"newreno\"\nstop = 4.0"));
    assert_eq!((over.flows[0].goodput_kbps, over.flows[0].segments_sent), (0.0, 0));
    assert_eq!(over.mac.frames.values().sum::<u64>(), 0);
}

#[test]
fn recorded_series_agree_with_the_totals() {
    let record = |every: f64| {
        let tables = format!(
            "[record]\nevery = {every:?}\nwhat = [\"cwnd\", \"rtt\", \"hops\", \"queue\", \"goodput\"]"
        );
        ran(&chain(2, 10.0, &tables, "transport = \"newreno\"\nstop = 8.0"))
    };
    let values = |record: &str, series: &str| -> Vec<(f64, f64)> {
        let rows = record.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
        rows.filter(|row| row[3] == series)
            .map(|row| (row[0].parse().unwrap(), row[4].parse().unwrap()))
            .collect()
    };
    let sampled = record(0.5);
    assert!(sampled.record.starts_with("time,subject,id,series,value\n"));
    let goodput = values(&sampled.record, "goodput_kbps");
    assert_eq!(goodput.len(), 19, "every 0.5 s, the end excluded");
    let flow = &sampled.result.flows[0];
    let kilobits: f64 = goodput.iter().map(|(_, kbps)| kbps * 0.5).sum();
    // Data in transit when the application stops arrives later, and counts.
    assert!((kilobits - flow.goodput_kbps * 8.0).abs() < 1e-6, "{kilobits} kb");
    assert!(values(&sampled.record, "hops").iter().all(|&(_, hops)| hops == 2.0));

    let changes = record(0.0);
    let rtt: Vec<_> = values(&changes.record, "rtt_ms");
    let mean = rtt.iter().map(|(_, ms)| ms).sum::<f64>() / rtt.len() as f64;
    assert!((mean / changes.result.flows[0].rtt_ms.unwrap().mean - 1.0).abs() < 1e-9);
    let queue = values(&changes.record, "queue");
    assert!(queue.iter().all(|&(_, packets)| (0.0..50.0).contains(&packets)) && queue.len() > 100);
    let cwnd = values(&changes.record, "cwnd");
    assert!(cwnd.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 != pair[1].1));
}
