//! `mesh` in the simulator.

use std::collections::BTreeSet;

use multihop_wire::{dot11, ipv4, mesh, radiotap};

use crate::support::{events, packets, ran, result};

fn chain(hops: u32, transport: &str, tables: &str) -> String {
    format!(
        "duration = 40.0\nwarmup = 10.0\n{tables}\n[topology]\nkind = \"chain\"\nhops = {hops}\n\
         [[flow]]\ntransport = {transport:?}\n"
    )
}

#[test]
fn it_carries_more_than_newreno_over_any_chain() {
    for (hops, percent) in [(1, 110), (4, 110), (8, 125)] {
        let goodput = |transport: &str| result(&chain(hops, transport, "")).totals.goodput_kbps;
        let (mesh, newreno) = (goodput("mesh"), goodput("newreno"));
        assert!(mesh * 100.0 > newreno * f64::from(percent), "{hops} hops: {mesh}, newreno {newreno}");
    }
}

const AGGREGATING: &str = "[radio]\nphy = \"802.11n-20\"\nbudget = \"ns-2\"\nrate = \"MCS7\"\nbasic_rate = \"6M\"\nmodel = \"sinr\"\n\
                           detection_db = 4.0\n[mac]\nflavour = \"standard\"\nrts_threshold = \"off\"\nampdu = 64\n\
                           [routing]\nprotocol = \"static\"";

/// Evenly paced segments deliver 10.9 Mb/s, NewReno 12.5. With one train under way no station has two frames to choose from.
#[test]
fn one_train_at_a_time_fills_four_aggregating_hops() {
    let text = chain(4, "mesh", AGGREGATING);
    let found = result(&text).totals;
    let newreno = result(&text.replace("\"mesh\"", "\"newreno\"")).totals.goodput_kbps;
    let goodput = found.goodput_kbps;
    assert!(goodput > 14_300.0 && goodput > 1.1 * newreno, "{goodput} and {newreno} kb/s");
    let delay = found.delay_ms.as_ref().expect("segments arrived").p95;
    assert!(delay < 25.0, "{delay} ms");
}

/// One train at a time delivers 6.5 Mb/s over nine hops.
#[test]
fn two_trains_at_a_time_use_the_air_of_nine_aggregating_hops() {
    let goodput = result(&chain(9, "mesh", AGGREGATING)).totals.goodput_kbps;
    assert!(goodput > 7_300.0, "{goodput} kb/s");
}

/// With a wire of 40 ms each way trains deliver 15 Mb/s: between two of them the radio is idle.
#[test]
fn trains_end_where_most_of_a_round_trip_passes_on_a_wire() {
    let text = chain(2, "mesh", AGGREGATING)
        .replace("[[flow]]", "[[host]]\nname = \"server\"\ngateway = 2\ndelay = 0.04\nrate_kbps = 100000.0\n[[flow]]\nfrom = \"server\"\nto = 0");
    let goodput = result(&text).totals.goodput_kbps;
    assert!(goodput > 24_000.0, "{goodput} kb/s");
}

#[test]
fn a_file_arrives_completely_and_the_flow_ends() {
    let text = "duration = 200.0\n[radio]\nloss = 0.05\n[topology]\nkind = \"chain\"\nhops = 3\n\
                [[flow]]\napp = \"file\"\nbytes = 300001\ntransport = \"mesh\"\n";
    let flow = &result(text).flows[0];
    assert!((2.0..60.0).contains(&flow.stop), "{} s", flow.stop);
    // 205 full segments and a last one.
    assert_eq!(flow.segments_delivered, 206);
    assert!(flow.segments_retransmitted > 0, "one packet in twenty is lost on each hop");
}

/// Counts from the trace equal those of the result, and the capture has the segments.
#[test]
fn counters_agree_with_trace_and_capture() {
    let text = chain(3, "mesh", "[radio]\nloss = 0.05").replace("warmup = 10.0\n", "");
    let ran = ran(&text);
    let data = || events(&ran.trace).filter(|event| event.kind == "mesh");
    let sent: Vec<&str> = data().filter(|e| (e.what, e.node) == ("s", 0)).map(|e| e.number).collect();
    let distinct: BTreeSet<&str> = sent.iter().copied().collect();
    let arrived: BTreeSet<&str> = data().filter(|e| (e.what, e.node) == ("r", 3)).map(|e| e.number).collect();
    let flow = &ran.result.flows[0];
    assert_eq!(flow.segments_sent, sent.len() as u64);
    assert_eq!(flow.segments_retransmitted, (sent.len() - distinct.len()) as u64);
    assert_eq!(flow.segments_delivered, arrived.len() as u64);
    assert!(flow.segments_retransmitted > 10 && flow.out_of_order > 10, "{flow:?}");
    let acks = events(&ran.trace).filter(|e| (e.what, e.node, e.kind) == ("s", 3, "ack")).count();
    assert!(acks * 3 < sent.len(), "{acks} ACKs for {} segments", sent.len());
    let captured: BTreeSet<u32> = packets(&ran.pcap).filter_map(|packet| number_in(packet.bytes)).collect();
    assert!(arrived.iter().all(|number| captured.contains(&number.parse().unwrap())));
}

/// Opening, keepalives and closing are in the trace and in the capture, byte by byte.
#[test]
fn connections_open_and_close_on_the_air() {
    let text = "duration = 8.0\nsleep = [{ node = 1, from = 1.0, until = 1.9 }]\n\
                [topology]\nkind = \"chain\"\nhops = 1\n\
                [[flow]]\nstop = 3.0\ntransport = { kind = \"mesh\", keepalive = 0.4 }\n\
                [[flow]]\nfrom = 0\nto = 1\nstart = 0.5\napp = \"file\"\nbytes = 5000\ntransport = \"mesh\"\n";
    let ran = ran(text);
    let sent = |kind: &str| -> Vec<(u32, u64)> {
        events(&ran.trace)
            .filter(|event| (event.what, event.kind) == ("s", kind))
            .map(|event| (event.node, event.number.parse().unwrap()))
            .collect()
    };
    let syns = sent("syn");
    assert_eq!(syns.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [0, 1, 0, 1], "{syns:?}");
    let fins = sent("fin");
    assert_eq!(fins.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [0, 1, 0, 1], "{fins:?}");
    let first = |kind: &str, node: u32| {
        events(&ran.trace).find(|event| (event.what, event.kind, event.node) == ("s", kind, node))
    };
    let data: u64 = first("mesh", 0).unwrap().number.parse().unwrap();
    assert!(
        syns.iter().any(|&(node, number)| node == 0 && (number + 1) % (1 << 32) == data),
        "{data}: {syns:?}"
    );
    assert!(sent("keepalive").len() >= 2, "node 1 is silent while it sleeps");
    // The first byte is the kind; the fourth byte of a SYN shows that it is not one of TPA.
    let starts: Vec<[u8; 4]> = packets(&ran.pcap)
        .filter_map(|packet| Some(*carried(packet.bytes)?.first_chunk().unwrap()))
        .collect();
    let count = |kind: u8, mask: u8| starts.iter().filter(|start| start[0] & mask == kind).count();
    // Each frame is captured at its sender and at its receiver.
    assert_eq!((count(0x30, 0xff), count(0x31, 0xff)), (4, 4));
    assert!(starts.iter().filter(|start| start[0] & 0xfe == 0x30).all(|start| start[3] == 7));
    assert_eq!(count(0x14, 0xfc), 2 * fins.len());
}

/// Nodes that are out of range at first open their connection when they meet.
#[test]
fn a_connection_opens_when_its_ends_meet() {
    let text = "duration = 60.0\n[topology]\nkind = \"chain\"\nhops = 1\n[routing]\nprotocol = \"aodv\"\n\
                [[mobility.node]]\nnode = 1\nkind = \"waypoints\"\nwaypoints = [[0.0, 2000.0, 0.0], [40.0, 100.0, 0.0]]\n\
                [[flow]]\ntransport = \"mesh\"\n";
    let flow = &result(text).flows[0];
    assert!(flow.segments_delivered > 1000, "{flow:?}");
}

/// Number of the data segment in a captured frame.
fn number_in(frame: &[u8]) -> Option<u32> {
    match mesh::Segment::parse(&carried(frame)?).unwrap() {
        mesh::Segment::Data(data) => Some(data.number),
        mesh::Segment::Ack(_) | mesh::Segment::Control(_) => None,
    }
}

/// The segment of `mesh` in a captured frame.
fn carried(frame: &[u8]) -> Option<Vec<u8>> {
    let (_, frame) = radiotap::Header::parse(frame).unwrap();
    let dot11::Frame::Data(data) = dot11::Frame::parse(frame).unwrap() else { return None };
    let (snap, packet) = dot11::Snap::parse(&data.body).unwrap();
    if snap.ethertype != ipv4::ETHERTYPE {
        return None;
    }
    let (_, carried) = ipv4::Header::parse(packet).unwrap();
    // The ports precede the segment.
    Some(carried[4..].to_vec())
}

/// Notices of failed links freeze the sender, which resumes over the new route.
#[test]
fn it_survives_broken_routes() {
    for routing in ["aodv", "dsr", "olsr"] {
        let text = format!(
            "duration = 60.0\n[topology]\nkind = \"random\"\nnodes = 30\narea = [1500.0, 300.0]\n\
             [mobility]\nkind = \"random-waypoint\"\nspeed = 20.0\n[routing]\nprotocol = {routing:?}\n\
             [[flow]]\nfrom = 0\nto = 1\ntransport = \"mesh\"\n[record]\nwhat = [\"state\"]\nevery = 0.0\n"
        );
        let ran = ran(&text);
        let flow = &ran.result.flows[0];
        assert!(flow.goodput_kbps > 50.0, "{routing}: {} kb/s", flow.goodput_kbps);
        assert!(flow.retransmission_index < Some(0.2), "{routing}: {:?}", flow.retransmission_index);
    }
}
