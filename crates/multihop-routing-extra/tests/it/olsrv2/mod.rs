//! OLSRv2 in whole networks: routes of least cost in both directions, recovery, floods by relays.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use multihop_core::{BitRate, Duration, Instant, NodeId, Rng};
use multihop_routing::agent::{Input, LinkRates, Output, RoutingAgent};
use multihop_routing::message::Message;
use multihop_routing_extra::olsrv2::wire::Metric;
use multihop_routing_extra::olsrv2::{Agent, Config, LinkMetric};
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

fn address(node: usize) -> Ipv4Addr {
    NodeId(u32::try_from(node).expect("few nodes")).addr()
}

fn number(address: Ipv4Addr) -> usize {
    NodeId::from_addr(address).expect("an address of a node").index()
}

/// Nodes at random places of the unit square, and links between those within range, each direction with a cost.
struct Field {
    mesh: TestNetwork<Air>,
    costs: BTreeMap<(usize, usize), u64>,
}

impl Field {
    fn new(nodes: usize, range: f64, metric: LinkMetric, seed: u64) -> Self {
        let config = Config { metric, ..Config::default() };
        let agent = |node: usize| {
            let rng = Rng::stream(seed, "olsrv2", node as u64);
            Agent::new(Instant::ZERO, address(node), config.clone(), rng)
        };
        let mut mesh = TestNetwork::new((0..nodes).map(agent).collect(), Air, seed);
        mesh.logging = false;
        let mut rng = Rng::stream(seed, "places", 0);
        let places: Vec<(f64, f64)> = (0..nodes).map(|_| (rng.unit(), rng.unit())).collect();
        let mut costs = BTreeMap::new();
        for a in 0..nodes {
            for b in 0..a {
                let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                if x * x + y * y <= range * range {
                    mesh.connect(a, b, TestLink::GOOD);
                    costs.extend([((a, b), 1), ((b, a), 1)]);
                }
            }
        }
        Self { mesh, costs }
    }

    /// Gives every link, in each direction, one of the bit rates of 802.11a.
    fn set_rates(&mut self, seed: u64) {
        let mut rng = Rng::stream(seed, "rates", 0);
        for (&(from, to), cost) in &mut self.costs {
            let rate = [6, 9, 12, 18, 24, 36, 48, 54][rng.below(8) as usize] * 1_000_000_u32;
            let rates = LinkRates { incoming: BitRate(rate.into()), outgoing: BitRate(1) };
            self.mesh.call(to, |agent, _| agent.note_rates(address(from), rates));
            *cost = Metric::at_least((1_u32 << 21).div_ceil(rate / 1000)).value().into();
        }
    }

    /// The least cost from each node to each node that it can reach, computed by relaxation until nothing
    /// changes.
    fn least_costs(&self) -> BTreeMap<(usize, usize), u64> {
        let mut least = self.costs.clone();
        loop {
            let before = least.clone();
            for (&(from, via), first) in &self.costs {
                for (&(_, to), rest) in
                    before.range((via, 0)..(via + 1, 0)).filter(|((_, to), _)| *to != from)
                {
                    let known = least.entry((from, to)).or_insert(u64::MAX);
                    *known = (*known).min(first + rest);
                }
            }
            if least == before {
                return least;
            }
        }
    }

    /// Every node has a route of least cost to every node that it can reach, and to no other; the next hops along it lead
    /// there at that cost.
    #[track_caller]
    fn expect_cheapest(&mut self) {
        let expected = self.least_costs();
        let mut found = BTreeMap::new();
        let mut next_hops = BTreeMap::new();
        for (from, agent) in self.mesh.machines.iter_mut().enumerate() {
            for route in agent.routes() {
                found.insert((from, number(route.destination)), route.cost);
                next_hops.insert((from, number(route.destination)), number(route.next_hop));
            }
        }
        assert_eq!(found, expected);
        for (&(from, to), &cost) in &expected {
            let (mut at, mut paid) = (from, 0);
            while at != to && paid <= cost {
                let next = next_hops[&(at, to)];
                paid += self.costs[&(at, next)];
                at = next;
            }
            assert_eq!((at, paid), (to, cost), "from {from}");
        }
    }
}

#[test]
fn routes_are_cheapest_in_random_networks() {
    for seed in [1, 2] {
        let mut field = Field::new(30, 0.3, LinkMetric::Airtime, seed);
        field.mesh.run_for(Duration::from_secs(10));
        field.set_rates(seed);
        field.mesh.run_for(Duration::from_secs(30));
        field.expect_cheapest();
    }
}

#[test]
fn routes_recover_after_failures() {
    let mut field = Field::new(30, 0.35, LinkMetric::Hops, 5);
    field.mesh.run_for(Duration::from_secs(30));
    field.expect_cheapest();
    let mut rng = Rng::stream(5, "failures", 0);
    for (a, b) in field.costs.keys().copied().collect::<Vec<_>>() {
        if a < b && rng.chance(0.2) {
            field.mesh.disconnect(a, b);
            field.costs.retain(|link, _| *link != (a, b) && *link != (b, a));
        }
    }
    // Links expire after 6 s, what TCs said of them after 15 s.
    field.mesh.run_for(Duration::from_secs(30));
    field.expect_cheapest();
}

#[test]
fn lossy_links_are_avoided() {
    // 0 reaches 2 through 1 or through 3; packets from 0 towards 2 are lost over one of them, and none in the other direction.
    for (lossy, way) in [(1, 3), (3, 1)] {
        let mut field = Field::new(4, 0.0, LinkMetric::Airtime, 6);
        for (a, b) in [(0, 1), (1, 2), (0, 3), (3, 2)] {
            field.mesh.connect(a, b, TestLink::GOOD);
        }
        field.mesh.connect_one_way(0, lossy, TestLink { loss: 0.3, ..TestLink::GOOD });
        field.mesh.run_for(Duration::from_secs(60));
        let next_hop =
            |agent: &mut Agent, to: usize| number(agent.route(address(to)).expect("a route").next_hop);
        assert_eq!(next_hop(&mut field.mesh.machines[0], 2), way);
        assert_eq!(next_hop(&mut field.mesh.machines[2], 0), 1, "the way back is as good over either");
    }
}

#[test]
fn only_relays_forward_floods() {
    let nodes = 30;
    let mut field = Field::new(nodes, 0.4, LinkMetric::Hops, 7);
    field.mesh.run_for(Duration::from_secs(60));
    field.expect_cheapest();
    let sum = |count: fn(&Agent) -> u64| field.mesh.machines.iter().map(count).sum::<u64>();
    let (sent, forwarded) = (sum(|agent| agent.counters().tcs), sum(|agent| agent.counters().forwarded));
    assert!(sent > 100, "{sent} TCs");
    assert!(
        forwarded < sent * nodes as u64 / 2,
        "{forwarded} forwarded of {sent}, by half of the nodes at most"
    );
}
