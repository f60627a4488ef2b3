//! Runs with packets of real programs.

use std::net::Ipv4Addr;

use multihop_core::{Duration, Instant, NodeId};
use multihop_scenario::{Extensions, Scenario, Source};
use multihop_sim::live::{Exit, Live, Recording, identity, replay};
use multihop_sim::{Outputs, RunError, unattended};
use multihop_wire::{icmp, ipv4};

use crate::support::{Shared, events};

fn source(text: &str) -> Source {
    Source::Toml { text: text.to_owned(), name: "x.toml".to_owned() }
}

fn network(text: &str) -> Scenario {
    Scenario::load_network(&source(text), &[], &Extensions::default()).unwrap()
}

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

/// What leaves a network after one packet of node 0.
fn after_one(text: &str, to: Ipv4Addr, ttl: u8) -> Vec<Exit> {
    let scenario = network(text);
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    live.advance(ENTRY);
    live.enter(NodeId(0), &packet(NodeId(0), to, ttl, 500)).unwrap();
    live.advance(at(50_000));
    exits(&mut live)
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
fn what_is_not_an_ipv4_packet_does_not_enter() {
    let scenario = network(&chain(1, ""));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let refused = live.enter(NodeId(0), &[0x60; 40]).unwrap_err().to_string();
    assert_eq!(refused, "not a packet that the network carries: version is 6, allowed: 4");
}

#[test]
fn simulated_flows_run_beside_real_programs() {
    let flow = "[[flow]]\ntransport = \"newreno\"\n";
    let scenario = network(&(chain(2, "") + flow));
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let mut left = 0;
    for n in 0..100 {
        live.advance(at(100 * n));
        live.enter(NodeId(0), &packet(NodeId(0), NodeId(2).addr(), 64, 200)).unwrap();
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
    let recorder = Recording::new(Box::new(recording.clone()), &identity).unwrap();
    let outputs = Outputs { trace: Some(Box::new(trace.clone())), ..Outputs::default() };
    let mut live = Live::new(&scenario, outputs, Some(recorder)).unwrap();
    for n in 0..400_u32 {
        let due = at(u64::from(n) * 37);
        while live.now() < due {
            live.advance((live.now() + step).min(due));
        }
        let from = NodeId(n % 10);
        let length = 100 + 3 * n as usize;
        live.enter(from, &packet(from, NodeId((n * 7 + 3) % 10).addr(), 64, length)).unwrap();
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
    let cut = &recording[..recording.len() - 1];
    assert_eq!(refused(MOVING, cut), "is incomplete: the run was killed before its end");
    let header = recording.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let mut strange = recording.clone();
    strange[header + 8] = 99;
    assert_eq!(refused(MOVING, &strange), "has a packet of node 99, which the scenario has not");
    let mut late = recording.clone();
    late[header + 6] = 1;
    assert_eq!(refused(MOVING, &late), "has packets outside the time of the run");
    let mut damaged = recording.clone();
    damaged[header + 14] = 0x61;
    let expected = "has a damaged packet: not a packet that the network carries: version is 6, allowed: 4";
    assert_eq!(refused(MOVING, &damaged), expected);
}
