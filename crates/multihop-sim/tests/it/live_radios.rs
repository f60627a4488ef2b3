//! Ethernet frames of real programs at nodes with several radios.

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant, Interface, NodeId};
use multihop_scenario::{Extensions, Request, Scenario, Source};
use multihop_sim::live::{Exit, Live, Recording, identity, interfaces, replay};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, unattended};

use crate::support::Shared;

/// Nodes 0 and 1 have both radios, node 2 has the second one only.
const TWO_RADIOS: &str = "duration = 10.0\nemulation.interface = \"tap\"\n\
    [topology]\nkind = \"list\"\npositions = [[0, 0], [100, 0], [200, 0]]\n\
    [[radio]]\nchannel = 1\nnodes = [0, 1]\n[radio.mac]\nqueue = 5\n\
    [[radio]]\nchannel = 11\n";
const FIRST: Interface = Interface(0);
const SECOND: Interface = Interface(1);

fn source() -> Source {
    Source::Toml { text: TWO_RADIOS.to_owned(), name: "x.toml".to_owned() }
}

fn scenario() -> Scenario {
    Scenario::load_network(&source(), &[], &Extensions::default()).unwrap()
}

fn mac(scenario: &Scenario, node: u32, interface: Interface) -> [u8; 6] {
    let all = interfaces(scenario, NodeId(node));
    all.iter().find(|one| one.interface == interface).expect("the node has this radio").mac
}

fn frame(to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
    [&to[..], &from, &[8, 0], &[0xa5; 100]].concat()
}

fn exits(live: &mut Live<'_>) -> Vec<Exit> {
    std::iter::from_fn(|| live.poll_exit()).collect()
}

/// Where a frame of node 0 leaves.
fn after(scenario: &Scenario, interface: Interface, to: [u8; 6]) -> Vec<(u32, Interface)> {
    let mut live = Live::new(scenario, Outputs::default(), None).unwrap();
    let sent = frame(to, mac(scenario, 0, interface));
    live.enter(NodeId(0), interface, &sent).unwrap();
    live.advance(Instant::ZERO + Duration::from_secs(1));
    let found = exits(&mut live);
    assert!(found.iter().all(|exit| exit.bytes == sent));
    let mut places: Vec<_> = found.iter().map(|exit| (exit.node.0, exit.interface)).collect();
    places.sort_unstable();
    places
}

#[test]
fn each_radio_of_a_node_has_an_interface_in_a_subnet_of_its_own() {
    let scenario = scenario();
    let described = |node| {
        let all = interfaces(&scenario, NodeId(node)).into_iter();
        let text =
            all.map(|one| format!("{} {}/{} {}", one.interface.0, one.address, one.prefix, one.address6));
        text.collect::<Vec<_>>()
    };
    assert_eq!(described(1), ["0 10.0.0.2/24 fd00::2", "1 10.0.1.2/24 fd00:0:0:1::2"]);
    assert_eq!(described(2), ["1 10.0.1.3/24 fd00:0:0:1::3"]);
    assert_eq!(mac(&scenario, 1, FIRST), NodeId(1).mac());
    assert_eq!(mac(&scenario, 1, SECOND), [2, 0, 0, 0, 1, 1]);
}

#[test]
fn a_frame_reaches_the_stations_of_its_radio_alone() {
    let scenario = scenario();
    assert_eq!(after(&scenario, FIRST, [0xff; 6]), [(1, FIRST)]);
    assert_eq!(after(&scenario, SECOND, [0xff; 6]), [(1, SECOND), (2, SECOND)]);
    assert_eq!(after(&scenario, SECOND, mac(&scenario, 2, SECOND)), [(2, SECOND)]);
    assert_eq!(after(&scenario, FIRST, mac(&scenario, 1, SECOND)), [], "an address of the other radio");
    assert_eq!(after(&scenario, FIRST, NodeId(2).mac()), [], "node 2 has no first radio");
}

#[test]
fn a_frame_has_the_address_of_its_interface() {
    let scenario = scenario();
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let refused = live.enter(NodeId(0), SECOND, &frame([0xff; 6], NodeId(0).mac())).unwrap_err().to_string();
    assert!(refused.ends_with("source is 0, allowed: the interface's own MAC address"), "{refused}");
}

#[test]
fn a_full_queue_of_one_radio_leaves_room_in_that_of_the_other() {
    let scenario = scenario();
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let (to, from) = (mac(&scenario, 1, FIRST), mac(&scenario, 0, FIRST));
    let mut entered = 0;
    while live.has_room(NodeId(0), FIRST) {
        live.enter(NodeId(0), FIRST, &frame(to, from)).unwrap();
        live.advance(live.now() + Duration::from_nanos(1));
        entered += 1;
    }
    assert!((4..=6).contains(&entered), "{entered}");
    assert!(live.has_room(NodeId(0), SECOND));
    // All frames of the first radio are under way to its MAC.
    live.advance(Instant::ZERO + Duration::from_secs(1));
    assert!(live.has_room(NodeId(0), FIRST));
}

#[test]
fn a_replay_repeats_the_frames_of_both_radios() {
    let scenario = scenario();
    let name = identity(&source(), &[], &scenario).unwrap();
    let (recording, live_trace, replay_trace) = (Shared::default(), Shared::default(), Shared::default());
    let outputs = |trace: &Shared| Outputs { trace: Some(Box::new(trace.clone())), ..Outputs::default() };
    let writer = Recording::new(Box::new(recording.clone()), &name, &Request::new(&source(), &[])).unwrap();
    let mut live = Live::new(&scenario, outputs(&live_trace), Some(writer)).unwrap();
    for n in 0..30_u32 {
        let interface = if n % 3 == 0 { FIRST } else { SECOND };
        let sent = frame(mac(&scenario, 1, interface), mac(&scenario, 0, interface));
        live.enter(NodeId(0), interface, &sent).unwrap();
        live.advance(live.now() + Duration::from_millis(10));
    }
    live.advance(Instant::ZERO + Duration::from_secs(10));
    let mut left = BTreeMap::new();
    for exit in exits(&mut live) {
        *left.entry(exit.interface).or_insert(0) += 1;
    }
    assert_eq!(left, [(FIRST, 10), (SECOND, 20)].into());
    let result = live.finish().unwrap();
    let bytes = recording.take();
    let again = replay(&scenario, &name, &mut &bytes[..], outputs(&replay_trace), &mut unattended).unwrap();
    assert_eq!(replay_trace.text(), live_trace.text());
    let timeless = |result: RunResult| serde_json::to_value(result.timeless()).unwrap();
    assert_eq!(timeless(again), timeless(result));
}
