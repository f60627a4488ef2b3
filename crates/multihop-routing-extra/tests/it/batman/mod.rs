//! Tests of B.A.T.M.A.N. IV in whole networks.

use multihop_core::{Duration, Instant, NodeId, Rng};
use multihop_routing::agent::{Input, Output};
use multihop_routing::message::Message;
use multihop_routing_extra::batman::{Agent, Config};
use multihop_testkit::{Action, Adapter, TestLink, TestNetwork};

/// Links that carry routing messages only.
struct Air;

impl Adapter for Air {
    type Machine = Agent;
    type Packet = Message;

    fn output(&mut self, _now: Instant, _node: usize, output: Output) -> Action<Message> {
        match output {
            Output::Message { to: None, message, .. } => Action::Broadcast(message),
            _ => Action::Done,
        }
    }

    fn arrived(&mut self, _now: Instant, _node: usize, from: usize, message: Message) -> Option<Input> {
        Some(Input::Message { interface: multihop_core::Interface(0), from: address(from), ttl: 1, message })
    }

    fn failed(&mut self, _now: Instant, _node: usize, _to: usize, _message: Message) -> Option<Input> {
        None
    }

    fn text(&self, message: &Message) -> String {
        format!("{message:?}")
    }
}

fn address(node: usize) -> std::net::Ipv4Addr {
    NodeId(u32::try_from(node).expect("few nodes")).addr()
}

fn number(address: std::net::Ipv4Addr) -> usize {
    NodeId::from_addr(address).expect("an address of a node").index()
}

fn network(nodes: usize, seed: u64) -> TestNetwork<Air> {
    let agent = |node: usize| {
        let rng = Rng::stream(seed, "batman", node as u64);
        Agent::new(Instant::ZERO, address(node), Config::default(), rng)
    };
    let mut mesh = TestNetwork::new((0..nodes).map(agent).collect(), Air, seed);
    mesh.logging = false;
    mesh
}

/// Number of links of the path that a packet takes by the nodes' routes; `None` if it does not arrive.
fn walk(mesh: &TestNetwork<Air>, from: usize, to: usize) -> Option<u8> {
    let mut at = from;
    for hops in 0..50 {
        if at == to {
            return Some(hops);
        }
        at = number(mesh.machines[at].route(address(to))?.next_hop);
    }
    None
}

#[test]
fn every_node_is_reached_in_random_networks() {
    for seed in [1, 2] {
        let mut rng = Rng::stream(seed, "places", 0);
        let places: Vec<(f64, f64)> = (0..30).map(|_| (rng.unit(), rng.unit())).collect();
        let mut mesh = network(30, seed);
        for a in 0..30 {
            for b in 0..a {
                let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                if x * x + y * y <= 0.35 * 0.35 {
                    mesh.connect(a, b, TestLink::GOOD);
                }
            }
        }
        mesh.run_for(Duration::from_secs(120));
        for from in 0..30 {
            for to in reachable(&mesh, from) {
                assert!(walk(&mesh, from, to).is_some(), "from {from} to {to}");
            }
        }
    }
}

/// The nodes that a node has a path to, itself included.
fn reachable(mesh: &TestNetwork<Air>, from: usize) -> Vec<usize> {
    let mut found = vec![from];
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        let new: Vec<usize> = mesh.neighbours(node).into_iter().filter(|to| !found.contains(to)).collect();
        found.extend(new);
        next += 1;
    }
    found
}

#[test]
fn lossy_links_are_avoided() {
    // 0 reaches 2 through 1 or through 3; the links of one of them lose messages.
    for (lossy, way) in [(1, 3), (3, 1)] {
        let mut mesh = network(4, 6);
        for (a, b) in [(0, 1), (1, 2), (0, 3), (3, 2)] {
            let loss = if a == lossy || b == lossy { 0.3 } else { 0.0 };
            mesh.connect(a, b, TestLink { loss, ..TestLink::GOOD });
        }
        mesh.run_for(Duration::from_secs(120));
        let route = mesh.machines[0].route(address(2)).expect("a route");
        assert_eq!((number(route.next_hop), route.hops), (way, 2));
        assert!(route.tq > 200, "{}: one hop penalty of 30", route.tq);
    }
}
