//! Stale routes: TCP has almost no goodput although a path exists most of the time.

use crate::support::{Event, events, ran, result};

/// A run of Holland and Vaidya (1999): 30 nodes at 30 m/s in 1500 m x 300 m, and one connection.
fn fast(seed: u64) -> String {
    format!(
        "duration = 120.0\nseed = {seed}\n[routing]\nprotocol = \"dsr\"\nip_extra = 20\n[mac]\narp = \"ns2\"\n\
         [topology]\nkind = \"random\"\nnodes = 30\narea = [1500.0, 300.0]\n\
         [mobility]\nkind = \"random-waypoint\"\nspeed = 30.0\n\
         [[flow]]\nfrom = 1\nto = 2\n\
         transport = {{ kind = \"reno+da\", preset = \"ns2-1999\", window_max = 8 }}\n"
    )
}

/// The relevant events: what both ends send and receive, and every drop.
fn condensed(trace: &str) -> Vec<Event<'_>> {
    let ends = [1, 2];
    events(trace)
        .filter(|event| ["tcp", "ack"].contains(&event.kind))
        .filter(|event| event.what == "D" || event.what != "f" && ends.contains(&event.node))
        .collect()
}

/// Seed for which connections starve, found by `search_for_starving_connections`.
const STARVING: u64 = 1186;

/// Section 5.1 and Table 1 of the paper: no segment is acknowledged in 120 s, although there is nearly always a path.
/// Packets for nodes that have moved away wait for ARP until the end.
#[test]
fn a_connection_starves_on_stale_routes() {
    let ran = ran(&fast(STARVING));
    let flow = &ran.result.flows[0];
    let share = 1.0 - flow.partitioned.unwrap();
    let table = condensed(&ran.trace);
    println!("seed {STARVING}: a path exists for {:.1}% of the time", 100.0 * share);
    println!("Evt  Time (secs)  Node  SeqNo  Pkt  Resn");
    for event in &table {
        let Event { what, at, node, number, kind, reason, .. } = event;
        println!("{what:<3}  {at:>11.3}  {node:>4}  {number:>5}  {kind}  {reason}");
    }
    assert!(share > 0.95, "{share}");
    assert_eq!(flow.acked_kbps, Some(0.0));
    // The retransmission timeout doubles from 6 s on.
    let sent: Vec<f64> = table.iter().filter(|e| e.what == "s" && e.kind == "tcp").map(|e| e.at).collect();
    assert_eq!(sent, [0.0, 6.0, 18.0, 42.0, 90.0]);
    let dropped = |reason: &str| table.iter().filter(|e| e.reason == reason).count();
    assert!(dropped("NRTE") + dropped("STAL") > 0, "a stale route was detected");
    let held = table.iter().filter(|e| e.reason == "END" && e.node > 2).count();
    assert!(held >= 1, "a packet of the connection is still at a node that should forward it");
    // If all addresses are known, the connection does not starve: ARP is the cause.
    let known = result(&fast(STARVING).replace("arp = \"ns2\"", "arp = \"oracle\""));
    assert!(known.flows[0].acked_kbps > Some(10.0), "{:?}", known.flows[0]);
}

#[test]
#[ignore = "takes minutes: prints seeds whose runs starve"]
fn search_for_starving_connections() {
    let mut starving = Vec::new();
    for seed in 1..=3_000 {
        let found = result(&fast(seed));
        let flow = &found.flows[0];
        let stale = found.drops.contains_key("no-route") || found.drops.contains_key("stale");
        if flow.acked_kbps == Some(0.0) && flow.partitioned < Some(0.05) && stale {
            println!("seed {seed}: no path for {:?} of the time, {:?}", flow.partitioned, found.drops);
            starving.push(seed);
        }
    }
    assert!(starving.contains(&STARVING), "the seed of the test above is one of {starving:?}");
}
