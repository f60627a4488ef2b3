//! HWMP in whole networks.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use multihop_core::{BitRate, Duration, Instant, NodeId, Rng};
use multihop_routing::agent::{Input, LinkRates, NO_FLOW, Output, Routable, RoutingAgent, Ticket};
use multihop_routing::message::Message;
use multihop_routing_extra::hwmp::{Agent, Config};
use multihop_testkit::{Action, Adapter, TestLink, TestNetwork};

/// Links that carry routing messages only and all have one bit rate.
struct Air;

impl Adapter for Air {
    type Machine = Agent;
    type Packet = Message;

    fn output(&mut self, _now: Instant, _node: usize, output: Output) -> Action<Self::Packet> {
        match output {
            Output::Message { to: None, message, .. } => Action::Broadcast(message),
            Output::Message { to: Some(to), message, .. } => {
                Action::Unicast { to: number(to), packet: message }
            }
            _ => Action::Done,
        }
    }

    fn arrived(&mut self, _now: Instant, _node: usize, from: usize, message: Self::Packet) -> Option<Input> {
        Some(Input::Message { interface: multihop_core::Interface(0), from: address(from), ttl: 1, message })
    }

    fn failed(&mut self, _now: Instant, _node: usize, to: usize, message: Self::Packet) -> Option<Input> {
        Some(Input::MessageLost { next_hop: address(to), message })
    }

    fn text(&self, message: &Self::Packet) -> String {
        format!("{message:?}")
    }
}

fn address(node: usize) -> Ipv4Addr {
    NodeId(u32::try_from(node).expect("few nodes")).addr()
}

fn number(address: Ipv4Addr) -> usize {
    NodeId::from_addr(address).expect("an address of a node").index()
}

fn packet(from: usize, to: usize) -> Input {
    Input::Packet(Routable {
        ticket: Ticket(0),
        source: address(from),
        destination: address(to),
        previous_hop: None,
        hops: 0,
        flow: NO_FLOW,
        route: None,
    })
}

/// Nodes whose links have the bit rates of a seed.
struct Network {
    mesh: TestNetwork<Air>,
    /// Cost of each existing link.
    costs: Vec<Vec<Option<u32>>>,
}

impl Network {
    fn random(nodes: usize, seed: u64) -> Self {
        let agent = |node: usize| {
            Agent::new(address(node), Config::default(), Rng::stream(seed, "hwmp", node as u64))
        };
        let mut mesh = TestNetwork::new((0..nodes).map(agent).collect(), Air, seed);
        mesh.logging = false;
        let mut rng = Rng::stream(seed, "places", 0);
        let places: Vec<(f64, f64)> = (0..nodes).map(|_| (rng.unit(), rng.unit())).collect();
        let mut costs = vec![vec![None; nodes]; nodes];
        for a in 0..nodes {
            for b in 0..a {
                let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                let squared = x * x + y * y;
                if squared <= 0.4 * 0.4 {
                    mesh.connect(a, b, TestLink::GOOD);
                    // Costs of 180 us and 8192 bits, in units of 10.24 us.
                    let (rate, cost) =
                        if squared <= 0.25 * 0.25 { (54_000_000, 33) } else { (6_000_000, 151) };
                    let rates = LinkRates { incoming: BitRate(rate), outgoing: BitRate(rate) };
                    for (at, from) in [(a, b), (b, a)] {
                        mesh.call(at, |agent, _| agent.note_rates(address(from), rates));
                        costs[at][from] = Some(cost);
                    }
                }
            }
        }
        Self { mesh, costs }
    }

    /// The least cost of a path.
    fn cheapest(&self, from: usize, to: usize) -> Option<u32> {
        let mut least = vec![None; self.costs.len()];
        least[from] = Some(0);
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for (next, cost) in self.costs[at].iter().enumerate() {
                let Some(cost) = cost.and_then(|cost| Some(least[at]? + cost)) else { continue };
                if least[next].is_none_or(|known| cost < known) {
                    least[next] = Some(cost);
                    queue.push_back(next);
                }
            }
        }
        least[to]
    }

    /// The cost of the path that packets take; `None` if they do not arrive.
    fn walk(&self, from: usize, to: usize) -> Option<u32> {
        let (mut at, mut cost) = (from, 0);
        for _ in 0..self.costs.len() {
            if at == to {
                return Some(cost);
            }
            let next = number(self.mesh.machines[at].path(self.mesh.now(), address(to))?.next_hop);
            cost += self.costs[at][next].expect("next hops are neighbours");
            at = next;
        }
        None
    }
}

#[test]
fn a_discovery_finds_the_path_of_least_airtime_in_random_networks() {
    for seed in 1..=20 {
        let mut network = Network::random(25, seed);
        for (from, to) in [(0, 24), (1, 23), (2, 22)] {
            network.mesh.input(from, packet(from, to));
            network.mesh.run_for(Duration::from_secs(1));
            let least = network.cheapest(from, to);
            assert_eq!(network.walk(from, to), least, "seed {seed}, from {from} to {to}");
            let path = network.mesh.machines[from].path(network.mesh.now(), address(to));
            assert_eq!(path.map(|path| path.metric), least, "seed {seed}, from {from} to {to}");
            // All paths expire, so that the next search begins without any.
            network.mesh.run_for(Duration::from_secs(9));
        }
    }
}
