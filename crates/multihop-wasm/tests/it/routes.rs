//! Changes of routes, as records of the view contain them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use multihop_core::{Duration, Instant, Interface, NodeId};
use multihop_scenario::{Extensions, Request, Scenario, Source};
use multihop_sim::Outputs;
use multihop_sim::live::{Live, Recording, identity};
use multihop_sim::viewed::ViewedRun;
use multihop_wire::ipv4;

use crate::WORDS;

const ROUTE: u32 = 9;
const FIRST: Interface = Interface(0);

/// A grid with two ways from node 0 to node 2. Node 1, the relay of the shorter way, leaves after 15 s.
const LEAVES: &str = "\
duration = 40.0
[topology]
kind = \"grid\"
rows = 2
columns = 3
spacing = 200.0
[routing]
protocol = \"olsr\"
[[mobility.node]]
node = 1
kind = \"path\"
path = [[200, 0], [200, -2000]]
speed = 100.0
start = 15.0
";

#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no holder panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The recording of a program at node 0 that sends a packet to node 2 every half second.
fn recording(source: &Source, scenario: &Scenario) -> Vec<u8> {
    let (source_addr, destination) = (NodeId(0).addr(), NodeId(2).addr());
    let header = ipv4::Header {
        tos: 0,
        id: 0,
        dont_fragment: true,
        ttl: 64,
        protocol: 17,
        source: source_addr,
        destination,
    };
    let mut packet = Vec::new();
    header.emit(&[0; 200], &mut packet);
    let out = Bytes::default();
    let identity = identity(source, &[], scenario).expect("a scenario without other files");
    let recording =
        Recording::new(Box::new(out.clone()), &identity, &Request::new(source, &[])).expect("memory");
    let mut live = Live::new(scenario, Outputs::default(), Some(recording)).expect("a right scenario");
    for half_seconds in 24..78 {
        live.advance(Instant::ZERO + Duration::from_millis(500 * half_seconds));
        live.enter(NodeId(0), FIRST, &packet).expect("a packet of IPv4");
    }
    live.finish().expect("memory");
    let bytes = out.0.lock().expect("no holder panics");
    bytes.clone()
}

#[test]
fn packets_of_a_real_program_show_that_their_route_has_changed() {
    let source = Source::Toml { text: LEAVES.to_owned(), name: "leaves.toml".to_owned() };
    let scenario = Scenario::load_network(&source, &[], &Extensions::default()).unwrap();
    let mut run = ViewedRun::replay(&scenario, &recording(&source, &scenario)).unwrap();
    run.advance(run.end());
    let changes: Vec<(u32, u32, u32, u32)> = run
        .records()
        .chunks_exact(WORDS)
        .filter(|record| record[0] == ROUTE)
        .map(|record| (record[3], record[4], record[5], record[6]))
        .collect();
    assert_eq!(changes.first(), Some(&(0, 2, 1, 3)), "node 0 reaches node 2 over node 3, not over node 1");
}
