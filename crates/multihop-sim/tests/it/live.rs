//! Runs with packets of real programs.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use multihop_core::{Duration, Instant, Interface, Machine as _, NodeId, Payload, Rng};
use multihop_routing::agent::{Input, Output};
use multihop_routing::message::Message;
use multihop_routing::olsr;
use multihop_scenario::{Extensions, Request, Scenario, Source};
use multihop_sim::live::{Change, Exit, Live, LossKind, Recording, identity, replay};
use multihop_sim::{Outputs, RunError, unattended};
use multihop_wire::checksum::Checksum;
use multihop_wire::{arp, icmp, ipv4, udp};

use crate::support::{Shared, events};

fn source(text: &str) -> Source {
    Source::Toml { text: text.to_owned(), name: "x.toml".to_owned() }
}

fn network(text: &str) -> Scenario {
    Scenario::load_network(&source(text), &[], &Extensions::default()).unwrap()
}

const FIRST: Interface = Interface(0);

fn chain(hops: u32, rest: &str) -> String {
    format!("duration = 60.0\n{rest}\n[topology]\nkind = \"chain\"\nhops = {hops}\n")
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A UDP datagram without a UDP header: nothing in the network looks into it.
fn packet(from: NodeId, to: Ipv4Addr, ttl: u8, length: usize) -> Vec<u8> {
    let (source, destination) = (from.addr(), to);
    let header = ipv4::Header { tos: 0, id: 0, dont_fragment: true, ttl, protocol: 17, source, destination };
    let mut out = Vec::new();
    header.emit(&vec![0xa5; length - ipv4::Header::LEN], &mut out);
    out
}

fn exits(live: &mut Live<'_>) -> Vec<Exit> {
    std::iter::from_fn(|| live.poll_exit()).collect()
}

/// When OLSR has found its routes.
const ENTRY: Instant = Instant::from_nanos(12_000_000_000);

/// Packets that leave a network after node 0 sent one packet.
fn after_one(text: &str, to: Ipv4Addr, ttl: u8) -> Vec<Exit> {
    after(text, NodeId(0), &packet(NodeId(0), to, ttl, 500))
}

/// Packets that leave a network after a node sent this packet.
fn after(text: &str, node: NodeId, packet: &[u8]) -> Vec<Exit> {
    let scenario = network(text);
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    live.advance(ENTRY);
    live.enter(node, FIRST, packet).unwrap();
    live.advance(at(50_000));
    exits(&mut live)
}

/// A UDP datagram over IPv6, without a UDP header.
fn packet6(from: Ipv6Addr, to: Ipv6Addr, hop_limit: u8, length: u16) -> Vec<u8> {
    let payload = length - 40;
    let [high, low] = payload.to_be_bytes();
    let start = [0x60, 0, 0, 0, high, low, 17, hop_limit];
    [&start[..], &from.octets(), &to.octets(), &vec![0xa5; payload.into()]].concat()
}

fn set_checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum = Checksum::default().over(&packet[..20]).finish();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// An Ethernet frame of IPv4's type.
fn ethernet(from: NodeId, to: [u8; 6]) -> Vec<u8> {
    [&to[..], &from.mac(), &[8, 0], &[0xa5; 100]].concat()
}

#[test]
fn a_packet_crosses_the_chain_unchanged_but_for_its_ttl() {
    for routing in ["static", "aodv", "dsr", "olsr"] {
        let rest = format!("routing.protocol = \"{routing}\"");
        let exits = after_one(&chain(3, &rest), NodeId(3).addr(), 64);
        let [exit] = &exits[..] else { panic!("{routing}: {exits:?}") };
        assert_eq!(exit.node, NodeId(3), "{routing}");
        assert_eq!(exit.bytes, packet(NodeId(0), NodeId(3).addr(), 62, 500), "{routing}");
    }
}

/// With EDCA the radios put packets of programs into the access category of their DSCP.
#[test]
fn an_urgent_packet_overtakes_others_only_with_edca() {
    let marked = |dscp: u8, length| {
        let mut packet = packet(NodeId(0), NodeId(2).addr(), 64, length);
        packet[1] = dscp << 2;
        set_checksum(&mut packet);
        packet
    };
    let place = |edca: bool, usual: u8, urgent: u8| {
        let mac = format!("mac = {{ flavour = \"standard\", arp = \"oracle\", edca = {edca} }}");
        let scenario = network(&chain(2, &mac));
        let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
        live.advance(ENTRY);
        for _ in 0..20 {
            live.enter(NodeId(0), FIRST, &marked(usual, 1000)).unwrap();
        }
        live.enter(NodeId(0), FIRST, &marked(urgent, 100)).unwrap();
        live.advance(at(50_000));
        let exits = exits(&mut live);
        assert_eq!(exits.len(), 21);
        exits.iter().position(|exit| exit.bytes.len() == 100)
    };
    assert_eq!(place(false, 0, 46), Some(20), "one queue");
    assert_eq!(place(true, 0, 0), Some(20), "one category");
    for (usual, urgent) in [(0, 46), (8, 0), (0, 34), (34, 48)] {
        let place = place(true, usual, urgent).unwrap();
        assert!(place <= 4, "DSCP {urgent} behind {usual}: {place}");
    }
}

#[test]
fn one_hop_takes_as_long_as_the_exchange_of_its_frames() {
    let text = chain(1, "mac = { arp = \"oracle\", link_delay = 0 }");
    let exits = after_one(&text, NodeId(1).addr(), 64);
    // At 2 Mb/s, with the preamble of 192 us; control frames at 1 Mb/s; 667 ns of propagation over 200 m. The medium
    // is idle: DIFS, RTS of 20 bytes, CTS of 14, data with a MAC header and FCS of 28 bytes.
    let (difs, sifs, plcp, propagation) = (50_000, 10_000, 192_000, 667);
    let frames = [20 * 8_000, 14 * 8_000, (28 + 500) * 4_000].map(|payload| plcp + payload);
    let expected: u64 = difs + frames.iter().sum::<u64>() + 2 * sifs + 3 * propagation;
    let took = (exits[0].at - ENTRY).as_nanos();
    // A station that has just become idle may have to back off: up to 31 slots of 20 us.
    assert!(
        (expected..=expected + 31 * 20_000).contains(&took),
        "{took} ns, expected {expected} and backoff"
    );
}

#[test]
fn routers_say_that_the_ttl_has_expired() {
    for (ttl, router) in [(1, 1), (2, 2), (3, 3)] {
        let exits = after_one(&chain(4, ""), NodeId(4).addr(), ttl);
        let [exit] = &exits[..] else { panic!("{exits:?}") };
        let (header, payload) = ipv4::Header::parse(&exit.bytes).unwrap();
        assert_eq!((exit.node, header.source), (NodeId(0), NodeId(router).addr()));
        assert!(matches!(icmp::Message::parse(payload), Ok(icmp::Message::TimeExceeded { .. })));
    }
}

#[test]
fn routers_say_that_a_host_is_unreachable() {
    let apart = "[topology]\nkind = \"list\"\npositions = [[0, 0], [200, 0], [900, 0]]\n";
    let cases = [("static", NodeId(2).addr()), ("aodv", NodeId(2).addr()), ("static", [10, 0, 0, 77].into())];
    for (routing, destination) in cases {
        let text = format!("duration = 60.0\nrouting.protocol = \"{routing}\"\n{apart}");
        let exits = after_one(&text, destination, 64);
        let [exit] = &exits[..] else { panic!("{routing}: {exits:?}") };
        let (header, payload) = ipv4::Header::parse(&exit.bytes).unwrap();
        assert_eq!((exit.node, header.source), (NodeId(0), NodeId(0).addr()), "the node itself");
        let Ok(icmp::Message::Unreachable { code, quote }) = icmp::Message::parse(payload) else {
            panic!("{routing}: not unreachable")
        };
        assert_eq!((code, quote.header.destination), (icmp::HOST_UNREACHABLE, destination));
    }
}

#[test]
fn broadcasts_reach_the_neighbours_and_no_one_else() {
    let grid = "duration = 60.0\n[topology]\nkind = \"list\"\n\
                positions = [[0, 0], [200, 0], [0, 200], [400, 0]]\n";
    for group in [Ipv4Addr::BROADCAST, [10, 0, 0, 255].into(), [224, 0, 0, 5].into()] {
        let mut nodes: Vec<_> = after_one(grid, group, 1).iter().map(|exit| exit.node.0).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, [1, 2], "{group}");
    }
}

#[test]
fn packets_of_ipv6_are_routed_like_those_of_ipv4() {
    let to = NodeId(3).addr6();
    for routing in ["static", "aodv", "dsr", "olsr"] {
        let text = chain(3, &format!("routing.protocol = \"{routing}\""));
        let exits = after(&text, NodeId(0), &packet6(NodeId(0).addr6(), to, 64, 500));
        let [exit] = &exits[..] else { panic!("{routing}: {exits:?}") };
        assert_eq!(exit.node, NodeId(3), "{routing}");
        assert_eq!(exit.bytes, packet6(NodeId(0).addr6(), to, 62, 500), "{routing}");
    }
}

#[test]
fn routers_answer_packets_of_ipv6() {
    let nowhere = "fd00::99".parse().unwrap();
    // The type and the code are those of "time exceeded" at the second router and of "no such node".
    for (to, hop_limit, router, error) in [(NodeId(4).addr6(), 2, 2, [3, 0]), (nowhere, 64, 0, [1, 3])] {
        let exits = after(&chain(4, ""), NodeId(0), &packet6(NodeId(0).addr6(), to, hop_limit, 500));
        let [exit] = &exits[..] else { panic!("{exits:?}") };
        assert_eq!(exit.node, NodeId(0));
        assert_eq!(exit.bytes[8..24], NodeId(router).addr6().octets());
        assert_eq!(exit.bytes[40..42], error);
    }
}

#[test]
fn what_is_for_the_link_reaches_neighbours_only() {
    let from = NodeId(1).link_local();
    for (to, expected) in [("ff02::5", vec![0, 2]), ("fe80::1", vec![0]), ("fe80::4", vec![])] {
        let exits = after(&chain(3, ""), NodeId(1), &packet6(from, to.parse().unwrap(), 1, 100));
        let mut nodes: Vec<_> = exits.iter().filter(|exit| exit.bytes[6] == 17).map(|e| e.node.0).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, expected, "{to}");
    }
}

const WIRED: &str = "duration = 60.0\nemulation.mtu = 1300\nmac.arp = \"queueing\"\n[topology]\nkind = \"chain\"\nhops = 2\n\
                     [[host]]\ngateway = 0\n[[host]]\ngateway = 0\n";

#[test]
fn a_gateway_fragments_what_is_too_long_for_the_radio() {
    let mut long = packet(NodeId(3), NodeId(2).addr(), 64, 1500);
    // This removes the flag that forbids fragmentation.
    long[6] = 0;
    set_checksum(&mut long);
    let (header, payload) = ipv4::Header::parse(&long).unwrap();
    assert!(!header.dont_fragment);
    let exits = after(WIRED, NodeId(3), &long);
    let lengths: Vec<_> = exits.iter().map(|exit| (exit.node.0, exit.bytes.len(), exit.bytes[8])).collect();
    assert_eq!(lengths, [(2, 1300, 62), (2, 220, 62)]);
    let data: Vec<u8> = exits.iter().flat_map(|exit| exit.bytes[20..].to_vec()).collect();
    assert_eq!(data, payload);
    let to_a_host = packet(NodeId(3), NodeId(4).addr(), 64, 1500);
    assert_eq!(after(WIRED, NodeId(3), &to_a_host)[0].bytes.len(), 1500, "over wires only");
}

#[test]
fn a_gateway_says_that_a_packet_is_too_long_for_the_radio() {
    let exits = after(WIRED, NodeId(3), &packet(NodeId(3), NodeId(2).addr(), 64, 1500));
    let [exit] = &exits[..] else { panic!("{exits:?}") };
    assert_eq!(exit.node, NodeId(3));
    assert_eq!(exit.bytes[12..16], NodeId(0).addr().octets());
    assert_eq!(exit.bytes[20..28][..2], [3, 4], "fragmentation needed");
    assert_eq!(exit.bytes[26..28], 1300_u16.to_be_bytes());
    let exits = after(WIRED, NodeId(3), &packet6(NodeId(3).addr6(), NodeId(2).addr6(), 64, 1500));
    let [exit] = &exits[..] else { panic!("{exits:?}") };
    assert_eq!((exit.node, exit.bytes[40], &exit.bytes[44..48]), (NodeId(3), 2, &[0, 0, 5, 20][..]));
}

#[test]
fn packets_to_other_networks_go_to_the_gateway() {
    let elsewhere = Ipv4Addr::new(192, 0, 2, 9);
    let with = chain(3, "emulation.gateway = 3");
    let exits = after_one(&with, elsewhere, 64);
    let [exit] = &exits[..] else { panic!("{exits:?}") };
    assert_eq!((exit.node, &exit.bytes[16..20]), (NodeId(3), &elsewhere.octets()[..]));
    let far: Ipv6Addr = "2001:db8::9".parse().unwrap();
    let exits = after(&with, NodeId(0), &packet6(NodeId(0).addr6(), far, 64, 100));
    assert_eq!(exits.iter().map(|exit| exit.node).collect::<Vec<_>>(), [NodeId(3)]);
    // The packet is an answer whose source is no node; then an error about it goes back through the gateway.
    let mut answer = packet(NodeId(3), NodeId(0).addr(), 2, 100);
    answer[12..16].copy_from_slice(&elsewhere.octets());
    set_checksum(&mut answer);
    let exits = after(&with, NodeId(3), &answer);
    let [exit] = &exits[..] else { panic!("{exits:?}") };
    assert_eq!((exit.node, &exit.bytes[16..20]), (NodeId(3), &elsewhere.octets()[..]));
    assert_eq!(exit.bytes[20], 11, "time exceeded");
    // Without a gateway, and at the gateway itself, no such network exists.
    for text in [chain(3, ""), chain(3, "emulation.gateway = 0")] {
        let exits = after_one(&text, elsewhere, 64);
        assert_eq!((exits[0].node, exits[0].bytes[20]), (NodeId(0), 3));
    }
}

#[test]
fn ethernet_frames_reach_neighbours_and_need_no_address_resolution() {
    let text = chain(3, "emulation.interface = \"tap\"");
    let groups = [([0xff; 6], vec![0, 2]), ([1, 0, 0x5e, 0, 0, 5], vec![0, 2])];
    let single = [(NodeId(2).mac(), vec![2]), (NodeId(3).mac(), vec![]), (NodeId(77).mac(), vec![])];
    for (to, expected) in groups.into_iter().chain(single) {
        let trace = Shared::default();
        let scenario = network(&text);
        let outputs = Outputs { trace: Some(Box::new(trace.clone())), ..Outputs::default() };
        let mut live = Live::new(&scenario, outputs, None).unwrap();
        let frame = ethernet(NodeId(1), to);
        live.enter(NodeId(1), FIRST, &frame).unwrap();
        live.advance(at(1_000));
        let mut exits = exits(&mut live);
        exits.sort_by_key(|exit| exit.node);
        assert_eq!(exits.iter().map(|exit| exit.node.0).collect::<Vec<_>>(), expected, "{to:?}");
        assert!(exits.iter().all(|exit| exit.bytes == frame));
        live.finish().unwrap();
        assert!(
            trace.text().contains("\tethernet\t") && !trace.text().contains("\tarp-"),
            "{}",
            trace.text()
        );
    }
    let scenario = network(&text);
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let refused = live.enter(NodeId(0), FIRST, &ethernet(NodeId(1), [0xff; 6])).unwrap_err().to_string();
    let message = "not a valid packet of the network: source is 1, allowed: the interface's own MAC address";
    assert_eq!(refused, message);
}

#[test]
fn what_is_not_an_ip_packet_does_not_enter() {
    let scenario = network(&chain(1, ""));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let refused = live.enter(NodeId(0), FIRST, &[0x50; 40]).unwrap_err().to_string();
    assert_eq!(refused, "not a valid packet of the network: version is 5, allowed: 4 or 6");
}

#[test]
fn a_node_has_room_until_its_interface_queue_is_full() {
    for (text, limit) in [(chain(1, "mac = { queue = 10, arp = \"oracle\" }"), 10), (WIRED.to_owned(), 50)] {
        let scenario = network(&text);
        let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
        let node = if scenario.hosts.is_empty() { NodeId(0) } else { NodeId(3) };
        let mut entered = 0;
        while live.has_room(node, FIRST) {
            live.enter(node, FIRST, &packet(node, NodeId(1).addr(), 64, 1000)).unwrap();
            live.advance(live.now() + Duration::from_nanos(1));
            entered += 1;
        }
        // Besides the queue, which under ns-2 is one shorter than its length, the MAC and the wire each hold
        // a packet.
        assert!((limit - 1..=limit + 1).contains(&entered), "{entered}");
        live.advance(at(40_000));
        assert!(live.has_room(node, FIRST));
        let result = live.finish().unwrap();
        assert_eq!(result.drops.get("queue-full"), None, "{:?}", result.drops);
    }
}

#[test]
fn simulated_flows_run_beside_real_programs() {
    let flow = "[[flow]]\ntransport = \"newreno\"\n";
    let scenario = network(&(chain(2, "") + flow));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let mut left = 0;
    for n in 0..100 {
        live.advance(at(100 * n));
        live.enter(NodeId(0), FIRST, &packet(NodeId(0), NodeId(2).addr(), 64, 200)).unwrap();
        left += exits(&mut live).len();
    }
    live.advance(at(20_000));
    left += exits(&mut live).len();
    let goodput = live.finish().unwrap().totals.goodput_kbps;
    assert!(left > 90, "{left} of 100");
    assert!(goodput > 500.0, "{goodput} kb/s");
}

/// A busy run over moving nodes that is advanced in steps of this length: its recording and its packet trace.
fn recorded(text: &str, step: Duration) -> (Vec<u8>, String) {
    let (recording, trace) = (Shared::default(), Shared::default());
    let scenario = network(text);
    let identity = identity(&source(text), &[], &scenario).unwrap();
    let recorder =
        Recording::new(Box::new(recording.clone()), &identity, &Request::new(&source(text), &[])).unwrap();
    let outputs = Outputs { trace: Some(Box::new(trace.clone())), ..Outputs::default() };
    let mut live = Live::new(&scenario, outputs, Some(recorder)).unwrap();
    for n in 0..400_u32 {
        let due = at(u64::from(n) * 37);
        while live.now() < due {
            live.advance((live.now() + step).min(due));
        }
        let from = NodeId(n % 10);
        let length = 100 + 3 * n as usize;
        live.enter(from, FIRST, &packet(from, NodeId((n * 7 + 3) % 10).addr(), 64, length)).unwrap();
    }
    // The programs end before the scenario does.
    live.advance(at(16_000));
    live.finish().unwrap();
    (recording.take(), trace.text())
}

fn replayed(text: &str, recording: &[u8]) -> Result<String, RunError> {
    let trace = Shared::default();
    let scenario = network(text);
    let identity = identity(&source(text), &[], &scenario).unwrap();
    let outputs = Outputs { trace: Some(Box::new(trace.clone())), ..Outputs::default() };
    replay(&scenario, &identity, &mut &*recording, outputs, &mut unattended)?;
    Ok(trace.text())
}

const MOVING: &str = "\
duration = 20.0
warmup = 3.0
routing.protocol = \"aodv\"
[topology]
kind = \"random\"
nodes = 10
area = [600, 600]
[mobility]
kind = \"random-waypoint\"
area = [600, 600]
speed = [1, 10]
pause = 0
";

#[test]
fn a_replay_has_the_same_packet_trace() {
    let (recording, trace) = recorded(MOVING, Duration::from_micros(731));
    assert!(events(&trace).count() > 1000);
    assert_eq!(replayed(MOVING, &recording).unwrap(), trace);
    let (_, other_steps) = recorded(MOVING, Duration::from_secs(1));
    assert_eq!(other_steps, trace, "the steps do not matter");
}

/// The recording in format 2, which lacks the number of an interface in each entry.
fn in_format_2(recording: &[u8]) -> Vec<u8> {
    let head: usize = recording.split_inclusive(|&byte| byte == b'\n').take(2).map(<[u8]>::len).sum();
    let (mut old, mut rest) = (recording[..head].to_vec(), &recording[head..]);
    old[19] = b'2';
    while !rest.is_empty() {
        let length = usize::from(u16::from_le_bytes([rest[13], rest[14]]));
        old.extend_from_slice(&rest[..12]);
        old.extend_from_slice(&rest[13..15 + length]);
        rest = &rest[15 + length..];
    }
    old
}

#[test]
fn recordings_of_the_older_format_are_replayed() {
    let (recording, trace) = recorded(MOVING, Duration::from_secs(1));
    assert_eq!(replayed(MOVING, &in_format_2(&recording)).unwrap(), trace);
}

#[test]
fn recordings_that_do_not_fit_are_refused() {
    let (recording, _) = recorded(MOVING, Duration::from_secs(1));
    let refused = |text: &str, recording: &[u8]| match replayed(text, recording) {
        Err(RunError::Recording(message)) => message,
        other => panic!("{other:?}"),
    };
    let other = MOVING.replace("600, 600", "500, 500");
    assert_eq!(refused(&other, &recording), "was made with another scenario, seed or --set");
    assert_eq!(refused(MOVING, b"PNG"), "is not a recording of multihop emulate");
    let mut old = recording.clone();
    old[19] = b'1';
    assert_eq!(refused(MOVING, &old), "has format 1, allowed: 2, 3, 4");
    let cut = &recording[..recording.len() - 1];
    assert_eq!(refused(MOVING, cut), "is incomplete: the run was killed before its end");
    let head: usize = recording.split_inclusive(|&byte| byte == b'\n').take(2).map(<[u8]>::len).sum();
    let mut strange = recording.clone();
    strange[head + 8] = 99;
    assert_eq!(
        refused(MOVING, &strange),
        "has a packet of interface 0 of node 99, which the scenario has not"
    );
    let mut strange = recording.clone();
    strange[head + 12] = 3;
    assert!(refused(MOVING, &strange).starts_with("has a packet of interface 3 of node "));
    let mut late = recording.clone();
    late[head + 6] = 1;
    assert_eq!(refused(MOVING, &late), "has packets outside the time of the run");
    let mut damaged = recording.clone();
    damaged[head + 15] = 0x51;
    let expected = "has a damaged entry: not a valid packet of the network: version is 5, allowed: 4 or 6";
    assert_eq!(refused(MOVING, &damaged), expected);
}

/// A writer that takes so many bytes and then fails.
struct Narrow(Shared, usize);

impl std::io::Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.1);
        self.1 -= taken;
        if taken == 0 { Err(std::io::ErrorKind::WouldBlock.into()) } else { self.0.write(&bytes[..taken]) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn readers_of_frames_come_and_go_during_a_run() {
    let scenario = network(&chain(1, ""));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let (early, late, slow) = (Shared::default(), Shared::default(), Shared::default());
    live.add_reader(Box::new(early.clone())).unwrap();
    live.add_reader(Box::new(Narrow(slow.clone(), 500))).unwrap();
    let exchange = |live: &mut Live<'_>, end| {
        live.enter(NodeId(0), FIRST, &packet(NodeId(0), NodeId(1).addr(), 64, 500)).unwrap();
        live.advance(at(end));
    };
    exchange(&mut live, 1_000);
    live.add_reader(Box::new(late.clone())).unwrap();
    exchange(&mut live, 2_000);
    live.finish().unwrap();
    let (early, late) = (early.take(), late.take());
    assert_eq!(early[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    assert_eq!(late[..4], early[..4], "the head of the file, for everyone");
    assert!(late.len() < early.len() && late.len() > 1000);
    assert!(slow.take().len() <= 500);
}

/// Sends a packet from node 0 to node 2 every 100 ms, with a change at the beginning of each second; returns how many packets
/// arrived in each second, and the recording.
fn changed(text: &str, changes: &[Change]) -> (Vec<usize>, Vec<u8>) {
    let (scenario, out) = (network(text), Shared::default());
    let identity = identity(&source(text), &[], &scenario).unwrap();
    let recording =
        Recording::new(Box::new(out.clone()), &identity, &Request::new(&source(text), &[])).unwrap();
    let mut live = Live::new(&scenario, Outputs::default(), Some(recording)).unwrap();
    let mut arrived = Vec::new();
    for (second, change) in (1..).zip(changes) {
        live.advance(at(1000 * second));
        live.change(change).unwrap();
        exits(&mut live);
        for step in 0..9 {
            live.advance(at(1000 * second + 100 * step));
            live.enter(NodeId(0), FIRST, &packet(NodeId(0), NodeId(2).addr(), 64, 500)).unwrap();
        }
        live.advance(at(1000 * second + 999));
        arrived.push(exits(&mut live).iter().filter(|exit| exit.node == NodeId(2)).count());
    }
    let counters = live.counters(NodeId(0)).unwrap();
    assert_eq!((counters.queue, counters.links[0].to), (0, 1));
    live.finish().unwrap();
    (arrived, out.take())
}

#[test]
fn a_running_network_changes_and_its_replay_changes_at_the_same_instants() {
    let everywhere = |of, chance| Change::Loss { of, chance, link: None };
    let changes = [
        (Change::Cut([2, 1]), 0),
        (Change::Mend([1, 2]), 9),
        (Change::Freeze(1), 0),
        // A node remains frozen once, however often it is frozen.
        (Change::Freeze(1), 0),
        (Change::Thaw(1), 9),
        (Change::Thaw(1), 9),
        (Change::Move { node: 2, to: [800.0, 0.0] }, 0),
        (Change::Move { node: 2, to: [400.0, 50.0] }, 9),
        (everywhere(LossKind::Frames, 1.0), 0),
        (everywhere(LossKind::Frames, 0.0), 9),
        (Change::Loss { of: LossKind::Packets, chance: 1.0, link: Some([2, 1]) }, 0),
        (everywhere(LossKind::Packets, 0.0), 9),
    ];
    let (changes, expected): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
    let text = chain(2, "");
    let (arrived, recording) = changed(&text, &changes);
    assert_eq!(arrived, expected);
    let trace = replayed(&text, &recording).unwrap();
    let received =
        events(&trace).filter(|event| (event.what, event.kind, event.node) == ("r", "real", 2)).count();
    assert_eq!(received, expected.iter().sum::<usize>(), "{trace}");
    let mut damaged = recording;
    let place = damaged.windows(3).rposition(|bytes| bytes == b"1.0").unwrap();
    damaged[place] = b'7';
    let error = replayed(&text, &damaged).unwrap_err().to_string();
    assert!(error.contains("damaged entry: found a chance of 7, allowed: 0 to 1"), "{error}");
}

#[test]
fn changes_that_a_scenario_does_not_allow_are_refused() {
    let scenario = network(&chain(2, ""));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    for (change, message) in [
        (Change::Freeze(3), "found node 3, allowed: 0 to 2"),
        (Change::Cut([0, 9]), "found node 9, allowed: 0 to 2"),
        (Change::Cut([1, 1]), "found a link from node 1 to itself, allowed: two different nodes"),
        (
            Change::Loss { of: LossKind::Frames, chance: 1.5, link: None },
            "found a chance of 1.5, allowed: 0 to 1",
        ),
        (
            Change::Move { node: 0, to: [1e9, 0.0] },
            "found the position [1000000000, 0], allowed: -10000000 to 10000000 m",
        ),
    ] {
        assert_eq!(live.change(&change).unwrap_err().to_string(), message);
    }
}

#[test]
fn counters_of_a_node_count_retries_and_the_longest_queue() {
    let scenario = network(&chain(2, "mac.arp = \"oracle\""));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    live.advance(at(1));
    live.change(&Change::Loss { of: LossKind::Frames, chance: 0.2, link: None }).unwrap();
    for _ in 0..30 {
        live.enter(NodeId(0), FIRST, &packet(NodeId(0), NodeId(2).addr(), 64, 500)).unwrap();
    }
    live.advance(at(5_000));
    let [first, relay, last] = [0, 1, 2].map(|node| live.counters(NodeId(node)).unwrap());
    assert!((25..=30).contains(&first.longest_queue), "{first:?}");
    assert!(relay.longest_queue < first.longest_queue, "{relay:?}");
    let [link] = &first.links[..] else { panic!("{first:?}") };
    assert_eq!((link.to, link.delivered + link.dropped, first.queue), (1, 30, 0));
    assert!(link.retries > 5 && link.frames >= 30, "{link:?}");
    assert_eq!((last.longest_queue, last.links.len()), (0, 0));
}

/// The interfaces of the packets in a capture file.
fn interfaces_of_packets(capture: &[u8]) -> BTreeSet<u32> {
    let number = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut found, mut at) = (BTreeSet::new(), 0);
    while at < capture.len() {
        if number(at) == 6 {
            found.insert(number(at + 8));
        }
        at += usize::try_from(number(at + 4)).unwrap();
    }
    found
}

#[test]
fn readers_get_the_frames_of_all_radios() {
    let radios = "[[radio]]\nchannel = 1\nnodes = [0, 1]\n[[radio]]\nchannel = 11\nnodes = [1, 2]\n";
    let scenario = network(&chain(2, &format!("{radios}[routing]\nprotocol = \"static\"\n")));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let reader = Shared::default();
    live.add_reader(Box::new(reader.clone())).unwrap();
    live.enter(NodeId(0), FIRST, &packet(NodeId(0), NodeId(2).addr(), 64, 500)).unwrap();
    live.advance(at(1_000));
    assert_eq!(exits(&mut live).len(), 1, "over both radios");
    live.finish().unwrap();
    // Radio 0 of nodes 0 and 1, radio 1 of nodes 1 and 2.
    assert_eq!(interfaces_of_packets(&reader.take()), [0, 1, 2, 3].into());
}

/// A node whose kernel routes, with an agent on top of it, as the simulated network sees them.
struct RealNode {
    node: NodeId,
    agent: olsr::Agent,
}

impl RealNode {
    fn new(node: NodeId) -> Self {
        let config = Arc::new(olsr::Config { max_jitter: Duration::from_millis(100), ..olsr::Config::rfc() });
        let agent =
            olsr::Agent::new(Instant::ZERO, node.addr(), config, Rng::stream(7, "real", node.0.into()));
        Self { node, agent }
    }

    /// The frames that the node sends to its radio now.
    fn frames(&mut self, now: Instant) -> Vec<Vec<u8>> {
        if self.agent.poll_timeout().is_some_and(|due| due <= now) {
            self.agent.handle_timeout(now);
        }
        let mut frames = Vec::new();
        while let Some(output) = self.agent.poll_output(now) {
            let Output::Message { message, .. } = output else { continue };
            let (source, destination) = (self.node.addr(), Ipv4Addr::BROADCAST);
            let (protocol, payload) = message.ip_payload(source, destination);
            let header =
                ipv4::Header { tos: 0, id: 0, dont_fragment: false, ttl: 1, protocol, source, destination };
            let mut packet = Vec::new();
            header.emit(&payload, &mut packet);
            frames.push([&[0xff; 6][..], &self.node.mac(), &[8, 0], &packet].concat());
        }
        frames
    }

    /// Gives a frame to the node; returns the answer of the kernel, if it has one.
    fn hear(&mut self, now: Instant, frame: &[u8]) -> Option<Vec<u8>> {
        let payload = &frame[14..];
        if frame[12..14] == arp::ETHERTYPE.to_be_bytes() {
            let asked = arp::Packet::parse(payload).unwrap();
            let own = asked.operation == arp::Operation::Request && asked.target == self.node.addr();
            let answer = arp::Packet {
                operation: arp::Operation::Reply,
                sender_mac: self.node.mac(),
                sender: self.node.addr(),
                target_mac: asked.sender_mac,
                target: asked.sender,
            };
            let mut bytes = [&asked.sender_mac[..], &self.node.mac(), &arp::ETHERTYPE.to_be_bytes()].concat();
            answer.emit(&mut bytes);
            return own.then_some(bytes);
        }
        let (header, payload) = ipv4::Header::parse(payload).unwrap();
        let datagram = udp::Datagram::parse(payload, header.source, header.destination).unwrap();
        let Payload::Bytes(bytes) = datagram.payload else { panic!("bytes") };
        let message = Message::Olsr(Arc::new(multihop_wire::olsr::Packet::parse(&bytes).unwrap()));
        self.agent
            .handle(now, Input::Message { interface: FIRST, from: header.source, ttl: header.ttl, message });
        None
    }
}

#[test]
fn agents_of_the_simulator_and_real_ones_route_together() {
    let rest = "emulation = { interface = \"tap\", simulated = [1, 2] }\nrouting.protocol = \"olsr\"\n\
                mac.arp = \"queueing\"";
    let scenario = network(&chain(3, rest));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let mut ends = [NodeId(0), NodeId(3)].map(RealNode::new);
    let (mut data, mut first) = (Vec::new(), None::<Vec<u8>>);
    let ip = packet(NodeId(0), NodeId(3).addr(), 64, 500);
    for millis in (0..40_000).step_by(10) {
        live.advance(at(millis));
        for end in &mut ends {
            for frame in end.frames(at(millis)) {
                live.enter(end.node, FIRST, &frame).unwrap();
                if end.node == NodeId(0) {
                    first.get_or_insert(frame);
                }
            }
        }
        if millis == 30_000 {
            // The frame comes from a node that does not exist: the agents of the simulator must not route to
            // it.
            let mut strange = first.clone().expect("a HELLO has been sent");
            strange[14 + 20 + 8 + 4 + 4..][..4].copy_from_slice(&[10, 9, 9, 9]);
            strange[14 + 20 + 6..][..2].fill(0);
            live.enter(NodeId(0), FIRST, &strange).unwrap();
            live.enter(NodeId(0), FIRST, &[&NodeId(1).mac()[..], &NodeId(0).mac(), &[8, 0], &ip].concat())
                .unwrap();
        }
        for exit in exits(&mut live) {
            if exit.bytes.len() == 14 + 500 {
                data.push((exit.node, exit.bytes));
                continue;
            }
            let end = ends.iter_mut().find(|end| end.node == exit.node).expect("only kernels get frames");
            if let Some(answer) = end.hear(at(millis), &exit.bytes) {
                live.enter(end.node, FIRST, &answer).unwrap();
            }
        }
    }
    let [near, last] = &mut ends;
    let route = |agent: &mut olsr::Agent, to: NodeId| {
        agent.route(to.addr()).map(|route| (NodeId::from_addr(route.next_hop).unwrap(), route.hops))
    };
    assert_eq!(route(&mut near.agent, NodeId(3)), Some((NodeId(1), 3)));
    assert_eq!(route(&mut near.agent, NodeId(2)), Some((NodeId(1), 2)));
    assert_eq!(route(&mut last.agent, NodeId(0)), Some((NodeId(2), 3)));
    let [(node, bytes)] = &data[..] else { panic!("{data:?}") };
    assert_eq!((*node, &bytes[..12]), (NodeId(3), &[NodeId(3).mac(), NodeId(2).mac()].concat()[..]));
    assert_eq!(bytes[14..], packet(NodeId(0), NodeId(3).addr(), 62, 500), "two nodes have forwarded it");
}
