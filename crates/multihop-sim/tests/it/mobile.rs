//! Tests with nodes that move.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use multihop_core::{Duration, Instant};

use crate::routing::PROTOCOLS;
use crate::support::{Event, Ran, events, ran, scenario};

/// 50 nodes at 20 m/s, and ten flows of datagrams.
fn busy(seed: u64, routing: &str) -> String {
    let mut text = format!(
        "duration = 60.0\nseed = {seed}\nrouting = {routing}\n[mac]\narp = \"queueing\"\n\
         [topology]\nkind = \"random\"\nnodes = 50\narea = [1000.0, 1000.0]\n\
         [mobility]\nkind = \"random-waypoint\"\nspeed = 20.0\n"
    );
    for flow in 0..10 {
        let (from, to) = (2 * flow, 2 * flow + 1);
        write!(
            text,
            "[[flow]]\nfrom = {from}\nto = {to}\napp = \"cbr\"\nrate_kbps = 16.384\nsize = 512\n\
             start = {flow}.0\n"
        )
        .unwrap();
    }
    text
}

/// The fates of a run's datagrams.
#[derive(Debug, Default)]
struct Journeys {
    sent: usize,
    arrived: usize,
    /// Number of datagrams that returned to a node that they had left.
    revisits: usize,
    /// Datagrams dropped because their TTL expired.
    ttl: usize,
}

fn journeys(trace: &str) -> Journeys {
    let mut journeys = Journeys::default();
    let mut visits: BTreeMap<u64, Vec<Event<'_>>> = BTreeMap::new();
    for event in events(trace).filter(|event| event.kind == "cbr") {
        match event.what {
            "s" => journeys.sent += 1,
            "r" => journeys.arrived += 1,
            "D" => {
                journeys.ttl += usize::from(event.reason == "TTL");
                continue;
            }
            _ => {}
        }
        visits.entry(event.uid).or_default().push(event);
    }
    journeys.revisits = visits.values().filter(|visits| comes_back(visits)).count();
    journeys
}

/// Whether one copy of a packet was at the same node twice. If a MAC ACK is lost there are two copies, and both may pass
/// a node after the same number of hops.
fn comes_back(visits: &[Event<'_>]) -> bool {
    visits.iter().enumerate().any(|(n, later)| {
        visits[..n].iter().any(|earlier| earlier.node == later.node && earlier.hops < later.hops)
    })
}

/// Sequence numbers keep AODV's routes free of loops. With local repair, a packet may still return to a node that it has
/// left.
#[test]
fn under_aodv_no_packet_returns_to_a_node() {
    let [ns2, rest @ ..] = PROTOCOLS;
    let unrepaired = ("aodv ns2 mac, without repair", "{ protocol = \"aodv\", local_repair = \"off\" }");
    for (name, routing) in [unrepaired, rest[0], rest[1], rest[2]] {
        let found = journeys(&ran(&busy(1, routing)).trace);
        println!("{name}: {found:?}");
        assert!(2 * found.arrived > found.sent, "{name}: {found:?}");
        assert_eq!((found.revisits, found.ttl), (0, 0), "{name}");
    }
    for ((name, routing), most) in [(ns2, 0.01), (rest[3], 0.2), (rest[4], 0.01)] {
        let found = journeys(&ran(&busy(1, routing)).trace);
        println!("{name}: {found:?}");
        assert!(found.revisits as f64 <= most * found.sent as f64, "{name}: {found:?}");
        assert!(found.ttl <= 5, "{name}: {found:?}");
    }
}

#[test]
fn every_datagram_arrives_or_is_dropped_with_a_trace_line() {
    for (name, routing) in PROTOCOLS {
        let ran = ran(&busy(3, routing).replace("duration = 60.0", "duration = 30.0"));
        let over: BTreeSet<u64> =
            events(&ran.trace).filter(|e| ["r", "D"].contains(&e.what)).map(|e| e.uid).collect();
        let lost: Vec<_> = events(&ran.trace)
            .filter(|e| (e.what, e.kind) == ("s", "cbr") && !over.contains(&e.uid))
            .map(|e| (e.at, e.node))
            .collect();
        assert!(lost.is_empty(), "{name}: neither received nor dropped: {lost:?}");
    }
}

/// A short run with everything that draws random numbers.
fn everything(routing: &str, transport: &str) -> String {
    format!(
        "duration = 15.0\nseed = 7\nrouting = {routing}\n\
         [topology]\nkind = \"random\"\nnodes = 30\narea = [1500.0, 300.0]\n\
         [mobility]\nkind = \"random-waypoint\"\nspeed = [1.0, 20.0]\npause = 2.0\n\
         [[flow]]\nfrom = 0\nto = 1\ntransport = \"{transport}\"\n\
         [[flow]]\nfrom = 2\nto = 3\napp = \"cbr\"\nrate_kbps = 20.0\n"
    )
}

#[test]
fn two_mobile_runs_write_the_same_bytes() {
    for (name, routing) in PROTOCOLS {
        let text = everything(routing, "newreno");
        let [one, two]: [Ran; 2] = [ran(&text), ran(&text)];
        assert!(one.result.routing.packets.values().sum::<u64>() > 100, "{name}: {:?}", one.result.routing);
        assert!(one.trace == two.trace, "{name}: traces differ");
        assert!(one.pcap == two.pcap, "{name}: captures differ");
        assert_eq!((one.result.flows, one.result.drops), (two.result.flows, two.result.drops), "{name}");
    }
}

/// Positions, times of datagrams, and the first random numbers of the agents do not depend on the transports.
#[test]
fn another_transport_does_not_change_the_movement() {
    let olsr = PROTOCOLS[5].1;
    let texts = ["newreno", "tcp-2"].map(|transport| everything(olsr, transport));
    let [one, two] = texts.each_ref().map(|text| {
        let scenario = scenario(text);
        let layout = scenario.topology.place(scenario.seed).unwrap();
        let mut tracks = scenario.tracks(&layout);
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        (0..15)
            .map(|s| tracks.iter_mut().map(|track| track.at(at(s))).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    });
    assert!(one == two && one[0] != one[14]);
    let [one, two] = texts.map(|text| ran(&text));
    assert!(one.trace != two.trace);
    // Each node sends its HELLOs at the same times.
    let hellos = |trace: &str| -> Vec<String> {
        let sent = events(trace).filter(|e| (e.what, e.kind) == ("s", "hello"));
        sent.take(30).map(|e| format!("{} {}", e.node, e.at)).collect()
    };
    assert_eq!(hellos(&one.trace), hellos(&two.trace));
}

/// Two sources send to node 2 through node 1, more than that can forward; then node 2 leaves.
fn overloaded(routing: &str) -> String {
    format!(
        "duration = 40.0\nrouting = {routing}\n[mac]\narp = \"oracle\"\n\
         [topology]\nkind = \"list\"\npositions = [[0, 0], [200, 0], [400, 0], [0, 100]]\n\
         [mobility]\nkind = \"waypoints\"\nwaypoints = [[], [], [[30, 400, 0], [32, 400, 500]], []]\n\
         [[flow]]\nfrom = 0\nto = 2\napp = \"cbr\"\nrate_kbps = 600.0\nstart = 20.0\n\
         [[flow]]\nfrom = 3\nto = 2\napp = \"cbr\"\nrate_kbps = 600.0\nstart = 20.0\n"
    )
}

/// AODV removes packets for an unreachable neighbour from the queue; DSR takes them back. With HELLOs, AODV lets the MAC
/// try all of them, and so does OLSR.
#[test]
fn packets_queued_for_a_lost_neighbour_are_handled_as_in_each_protocol() {
    for (name, routing) in PROTOCOLS {
        let ran = ran(&overloaded(routing));
        for (reason, letters) in [("retry-limit", "RET"), ("no-route", "NRTE"), ("queue-full", "IFQ")] {
            let shown = events(&ran.trace).filter(|e| e.what == "D" && e.reason == letters).count() as u64;
            assert_eq!(ran.result.drops.get(reason).copied().unwrap_or(0), shown, "{name}: {reason}");
        }
        // Drops at the node before the link failure, by time.
        let lost: Vec<Event<'_>> =
            events(&ran.trace).filter(|e| e.what == "D" && e.node == 1 && e.reason != "IFQ").collect();
        let given_up: Vec<f64> = lost.iter().filter(|e| e.reason == "RET").map(|e| e.at).collect();
        let at_once = |at: f64| lost.iter().filter(|e| e.at == at && e.reason == "NRTE").count();
        match name {
            "aodv ns2 mac" | "aodv uu mac" => {
                assert_eq!(given_up.len(), 1, "{name}: {given_up:?}");
                assert!(at_once(given_up[0]) > 40, "{name}: {lost:?}");
            }
            "dsr" => assert!(given_up.is_empty() && lost.len() > 40, "{name}: {lost:?}"),
            "aodv ns2 hello" | "aodv uu hello" => {
                assert!(given_up.len() > 1, "{name}: {given_up:?}");
                // Packets without a route have just arrived, one after another.
                let routeless: Vec<_> = lost.iter().filter(|e| e.reason == "NRTE").collect();
                assert!(!routeless.is_empty(), "{name}: {lost:?}");
                assert!(routeless.iter().all(|e| at_once(e.at) == 1), "{name}: {lost:?}");
            }
            "olsr" => {
                assert!(given_up.len() > 40, "{name}: {given_up:?}");
                // Seven RTS with a growing window take longer than this.
                assert!(given_up.windows(2).all(|pair| pair[1] - pair[0] > 0.005), "{name}: {given_up:?}");
            }
            other => panic!("unknown protocol {other}"),
        }
    }
}
