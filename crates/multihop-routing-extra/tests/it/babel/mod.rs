//! Babel in whole networks: shortest routes, recovery, and no loops whatever happens to links and messages.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use multihop_core::{Duration, Instant, NodeId, Rng};
use multihop_routing::agent::{Input, Output};
use multihop_routing::message::Message;
use multihop_routing_extra::babel::{Agent, Config, LinkCost, RttCost};
use multihop_testkit::{Action, Adapter, TestLink, TestNetwork};

/// Links that carry routing messages only.
struct Air;

impl Adapter for Air {
    type Machine = Agent;
    type Packet = Message;

    fn output(&mut self, _now: Instant, _node: usize, output: Output) -> Action<Message> {
        match output {
            Output::Message { to: None, message, .. } => Action::Broadcast(message),
            Output::Message { to: Some(to), message, .. } => {
                Action::Unicast { to: number(to), packet: message }
            }
            _ => Action::Done,
        }
    }

    fn arrived(&mut self, _now: Instant, _node: usize, from: usize, message: Message) -> Option<Input> {
        Some(Input::Message { interface: multihop_core::Interface(0), from: address(from), ttl: 1, message })
    }

    fn failed(&mut self, _now: Instant, _node: usize, to: usize, message: Message) -> Option<Input> {
        Some(Input::MessageLost { next_hop: address(to), message })
    }

    fn text(&self, message: &Message) -> String {
        format!("{message:?}")
    }
}

fn address(node: usize) -> std::net::Ipv4Addr {
    NodeId(u32::try_from(node).expect("few nodes")).addr()
}

fn number(address: impl Into<IpAddr>) -> usize {
    let IpAddr::V4(address) = address.into() else { panic!("an address of IPv4") };
    NodeId::from_addr(address).expect("an address of a node").index()
}

fn network(nodes: usize, config: &Config, seed: u64) -> TestNetwork<Air> {
    let agent = |node: usize| {
        let rng = Rng::stream(seed, "babel", node as u64);
        Agent::new(Instant::ZERO, address(node), config.clone(), rng)
    };
    let mut mesh = TestNetwork::new((0..nodes).map(agent).collect(), Air, seed);
    mesh.logging = false;
    mesh
}

/// Nodes at random places of the unit square, and links between those within range.
fn field(nodes: usize, range: f64, config: &Config, seed: u64) -> TestNetwork<Air> {
    let mut rng = Rng::stream(seed, "places", 0);
    let places: Vec<(f64, f64)> = (0..nodes).map(|_| (rng.unit(), rng.unit())).collect();
    let mut mesh = network(nodes, config, seed);
    for a in 0..nodes {
        for b in 0..a {
            let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            if x * x + y * y <= range * range {
                mesh.connect(a, b, TestLink::GOOD);
            }
        }
    }
    mesh
}

/// Hops from a node to each reachable node.
fn distances(mesh: &TestNetwork<Air>, from: usize) -> BTreeMap<usize, u16> {
    let mut distances = BTreeMap::from([(from, 0)]);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for next in mesh.neighbours(node) {
            if !distances.contains_key(&next) {
                distances.insert(next, distances[&node] + 1);
                queue.push_back(next);
            }
        }
    }
    distances.remove(&from);
    distances
}

/// Every node has a route with the fewest hops to every node that it can reach, and none to others.
#[track_caller]
fn expect_shortest(mesh: &TestNetwork<Air>, link: u16) {
    for node in 0..mesh.machines.len() {
        let agent = &mesh.machines[node];
        let found = agent.destinations().map(|to| (number(to), agent.route(to).expect("in use").metric));
        let right = distances(mesh, node).into_iter().map(|(to, hops)| (to, hops * link));
        assert_eq!(found.collect::<Vec<_>>(), right.collect::<Vec<_>>(), "from {node}");
    }
}

fn hops() -> Config {
    Config { link_cost: LinkCost::Hops, ..Config::default() }
}

#[test]
fn routes_are_shortest_in_random_networks() {
    let rtt = Some(RttCost::default());
    for (seed, config) in [(1, hops()), (2, hops()), (3, Config { rtt, ..hops() })] {
        let mut mesh = field(40, 0.27, &config, seed);
        mesh.run_for(Duration::from_secs(60));
        expect_shortest(&mesh, 96);
    }
    let mut mesh = field(40, 0.27, &Config::default(), 4);
    // 16 Hellos until a link without losses costs what it should.
    mesh.run_for(Duration::from_secs(150));
    expect_shortest(&mesh, 256);
}

#[test]
fn routes_recover_after_failures() {
    let mut mesh = field(30, 0.35, &hops(), 5);
    mesh.run_for(Duration::from_secs(60));
    let mut rng = Rng::stream(5, "failures", 0);
    for a in 0..30 {
        for b in mesh.neighbours(a) {
            if rng.chance(0.15) {
                mesh.disconnect(a, b);
            }
        }
    }
    mesh.run_for(Duration::from_secs(120));
    expect_shortest(&mesh, 96);
    let requests: u64 = mesh.machines.iter().map(|agent| agent.counters().requests).sum();
    assert!(requests > 0, "some routes became longer");
}

#[test]
fn slow_links_are_avoided_with_round_trip_times() {
    // 0 reaches 2 through 1 or through 3; the links of one of them are slower.
    for (slow, way) in [(1, 3), (3, 1)] {
        let mut mesh = network(4, &Config { rtt: Some(RttCost::default()), ..hops() }, 6);
        for (a, b) in [(0, 1), (1, 2), (0, 3), (3, 2)] {
            let delay = Duration::from_millis(if a == slow || b == slow { 30 } else { 3 });
            mesh.connect(a, b, TestLink { delay, ..TestLink::GOOD });
        }
        mesh.run_for(Duration::from_secs(60));
        let route = mesh.machines[0].route(address(2)).expect("a route");
        assert_eq!((number(route.next_hop), route.metric), (way, 192), "no penalty below 10 ms");
    }
}

/// Fails if the next hops to some destination form a circle.
fn assert_no_loop(mesh: &TestNetwork<Air>) {
    let nodes = mesh.machines.len();
    for destination in 0..nodes {
        // The first walk that met each node; 0 for none.
        let mut met = vec![0; nodes];
        for start in 0..nodes {
            let mut at = start;
            while at != destination && met[at] == 0 {
                met[at] = start + 1;
                let Some(route) = mesh.machines[at].route(address(destination)) else { break };
                at = number(route.next_hop);
                assert!(met[at] != start + 1, "at {}: a loop through {at} to {destination}", mesh.now());
            }
        }
    }
}

/// A network whose links and losses change at random, checked after every event. Returns how many routes were in use
/// and how many updates were unfeasible.
fn chaos(config: &Config, seed: u64) -> (usize, u64) {
    let mut rng = Rng::stream(seed, "chaos", 0);
    let nodes = 6 + rng.below(9);
    let mut mesh = network(nodes as usize, config, seed);
    let loss = [0.0, 0.1, 0.4][rng.below(3) as usize];
    let mut routes = 0;
    for step in 0..300 {
        let a = rng.below(nodes);
        let b = (a + 1 + rng.below(nodes - 1)) % nodes;
        let (a, b) = (a as usize, b as usize);
        if step >= nodes * 2 && mesh.connected(a, b) {
            mesh.disconnect(a, b);
        } else {
            // Different delays let messages overtake each other along different paths.
            let delay = Duration::from_micros(200 + u64::from(rng.below(300_000)));
            mesh.connect(a, b, TestLink { delay, loss: rng.range(0.0, 2.0 * loss) });
        }
        let pause = if step < nodes * 2 { 0 } else { rng.next_u64() % 2_000_000_000 };
        let until = mesh.now() + Duration::from_nanos(pause);
        while mesh.next_event().is_some_and(|at| at <= until) {
            mesh.step();
            assert_no_loop(&mesh);
        }
        mesh.run_until(until);
        routes += mesh.machines.iter().map(|agent| agent.destinations().count()).sum::<usize>();
    }
    (routes, mesh.machines.iter().map(|agent| agent.counters().unfeasible).sum())
}

#[test]
fn no_loops_whatever_happens_to_links_and_messages() {
    let second = Duration::from_secs(1);
    let fast = Config { hello_interval: second, update_interval: second * 4, ..hops() };
    let rtt = Some(RttCost::default());
    let configs = [
        fast.clone(),
        Config { hysteresis: Duration::ZERO, ..fast.clone() },
        Config { rtt, ..fast.clone() },
        Config { rtt, link_cost: LinkCost::Etx, ..fast },
    ];
    let (mut routes, mut unfeasible) = (0, 0);
    for (seed, config) in (0..).zip(&configs) {
        let found = chaos(config, 3 * seed);
        routes += found.0;
        unfeasible += found.1;
    }
    assert!(routes > 10_000 && unfeasible > 50, "{routes} routes, {unfeasible} unfeasible updates");
}

/// Largest sizes of the tables of all nodes.
fn largest(mesh: &TestNetwork<Air>, sizes: &mut BTreeMap<&'static str, usize>) {
    for (table, size) in mesh.machines.iter().flat_map(Agent::table_sizes) {
        let most = sizes.entry(table).or_default();
        *most = size.max(*most);
    }
}

/// Resident memory of this process in kB; `None` on systems without `/proc`.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
}

/// A day of 16 nodes, of whose links one breaks or appears every ten seconds. `make validate` runs it in about a minute.
#[test]
#[ignore = "a day of virtual time takes long without optimisation"]
fn a_day_leaves_the_tables_as_large_as_the_second_hour() {
    let (nodes, mut rng) = (16, Rng::stream(1, "day", 0));
    let mut mesh = network(nodes as usize, &hops(), 1);
    let (mut early, mut late) = (BTreeMap::new(), BTreeMap::new());
    let mut memory = Vec::new();
    for step in 0..24 * 360 {
        let a = rng.below(nodes);
        let b = (a + 1 + rng.below(nodes - 1)) % nodes;
        if mesh.connected(a as usize, b as usize) {
            mesh.disconnect(a as usize, b as usize);
        } else if mesh.neighbours(a as usize).len() < 4 {
            mesh.connect(a as usize, b as usize, TestLink { loss: rng.range(0.0, 0.2), ..TestLink::GOOD });
        }
        mesh.run_for(Duration::from_secs(10));
        match step / 360 {
            0 => {}
            1 => largest(&mesh, &mut early),
            _ => largest(&mesh, &mut late),
        }
        if (step + 1) % 360 == 0 {
            memory.push(resident());
        }
    }
    println!("largest tables, second hour: {early:?}");
    println!("largest tables, later hours: {late:?}");
    println!("resident kB after hours 2 and 24: {:?}, {:?}", memory[1], memory[23]);
    // Chance makes the largest of 22 hours larger than the largest of one.
    for (table, size) in &late {
        assert!(*size <= 2 * early[table] + 16, "{table}: {size} entries after {}", early[table]);
    }
    if let (Some(before), Some(after)) = (memory[1], memory[23]) {
        assert!(after <= before + 1024, "{after} kB after {before} kB");
    }
}
