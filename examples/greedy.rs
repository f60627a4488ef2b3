//! A user-defined routing protocol: greedy geographic forwarding, compared with shortest routes.
//!
//!     cargo run --release -p multihop-sim --example greedy
//!
//! Every node knows its own position and broadcasts it to its neighbours about once a second. A packet
//! goes to the neighbour that is nearest to its destination, if that is nearer than the node itself;
//! otherwise the packet is dropped. This is the greedy mode of GPSR (Karp and Kung,
//! MobiCom 2000) without its perimeter mode, and with a location service that knows everything.
//! docs/extending.md explains the parts.
#![expect(clippy::print_stdout, reason = "this program prints a table")]

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use multihop_core::settings::Settings;
use multihop_core::{DropReason, Duration, Instant, Machine, NodeId, Rng};
use multihop_routing::agent::{Input, Output, Routable, RoutingAgent};
use multihop_routing::message::{CustomMessage, Message};
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_scenario::{Extension, Extensions, Scenario, Source};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run, unattended};

fn main() -> Result<(), Box<dyn Error>> {
    println!("Five NewReno flows among 50 nodes in 1000 x 1000 m, 60 s\n");
    println!(
        "{:>4}  {:>14}  {:>14}  {:>12}  {:>7}",
        "seed", "shortest, kb/s", "greedy, kb/s", "no next hop", "beacons"
    );
    for seed in 1..=5 {
        let (shortest, greedy) = compare(seed, 60.0)?;
        println!(
            "{seed:>4}  {:>14.1}  {:>14.1}  {:>12}  {:>7}",
            shortest.totals.goodput_kbps,
            greedy.totals.goodput_kbps,
            greedy.drops.get("no-route").copied().unwrap_or(0),
            greedy.routing.packets["beacon"],
        );
    }
    Ok(())
}

/// The same network under both routing protocols.
pub(crate) fn compare(seed: u64, seconds: f64) -> Result<(RunResult, RunResult), Box<dyn Error>> {
    let flows: String = (0..5)
        .map(|n| {
            let (from, to) = (2 * n, 2 * n + 1);
            format!("[[flow]]\nfrom = {from}\nto = {to}\ntransport = \"newreno\"\nstart = 5.0\n")
        })
        .collect();
    let text = format!(
        "duration = {seconds:?}\nwarmup = 10.0\nseed = {seed}\n\
         topology = {{ kind = \"random\", nodes = 50, area = [1000.0, 1000.0] }}\n{flows}"
    );
    let source = Source::Toml { text, name: "random.toml".into() };
    let extensions = Extensions::default().routing::<GreedyConfig>(GREEDY);
    let result = |protocol: &str| -> Result<RunResult, Box<dyn Error>> {
        let protocol = [("routing.protocol".to_owned(), protocol.to_owned())];
        let scenario = Scenario::load_with(&source, &protocol, &extensions)?;
        Ok(run(&scenario, Outputs::default(), &mut unattended)?)
    };
    Ok((result("static")?, result("greedy")?))
}

/// The name of the protocol in scenarios.
pub(crate) const GREEDY: Extension =
    Extension { name: "greedy", version: "1", help: "Greedy geographic forwarding." };

/// The parameters of the protocol.
#[derive(Clone, Debug, Settings)]
pub(crate) struct GreedyConfig {
    /// Mean time between beacons, s.
    #[key(0.01..=100.0, default = Duration::from_secs(1))]
    interval: Duration,
}

impl AgentConfig for GreedyConfig {
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable> {
        let places: Arc<[[f64; 2]]> = network.positions.into();
        network.agents("greedy/beacon", |address, rng| {
            Greedy::new(index(address), places.clone(), self.interval, rng)
        })
    }
}

/// The only message: the position of its sender.
#[derive(Debug)]
struct Beacon {
    place: [f64; 2],
}

impl CustomMessage for Beacon {
    fn kind(&self) -> &'static str {
        "beacon"
    }

    fn wire_len(&self) -> usize {
        size_of_val(&self.place)
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.place.iter().flat_map(|metres| metres.to_be_bytes()));
    }
}

/// One node's agent.
pub(crate) struct Greedy {
    place: [f64; 2],
    /// The location service: positions of all nodes.
    places: Arc<[[f64; 2]]>,
    interval: Duration,
    neighbours: BTreeMap<Ipv4Addr, Neighbour>,
    next_beacon: Instant,
    rng: Rng,
    out: VecDeque<Output>,
}

/// The last beacon of a neighbour.
#[derive(Clone, Copy)]
struct Neighbour {
    place: [f64; 2],
    expires: Instant,
}

impl Greedy {
    fn new(node: usize, places: Arc<[[f64; 2]]>, interval: Duration, mut rng: Rng) -> Self {
        Self {
            place: places[node],
            places,
            interval,
            neighbours: BTreeMap::new(),
            next_beacon: Instant::ZERO + rng.duration_below(interval),
            rng,
            out: VecDeque::new(),
        }
    }

    fn route(&mut self, now: Instant, packet: &Routable) {
        self.neighbours.retain(|_, neighbour| neighbour.expires > now);
        let goal = self.places[index(packet.destination)];
        let ahead = self.neighbours.iter().map(|(&node, neighbour)| (distance(neighbour.place, goal), node));
        let nearest = ahead.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let ticket = packet.ticket;
        self.out.push_back(match nearest.filter(|(metres, _)| *metres < distance(self.place, goal)) {
            Some((_, next_hop)) => Output::Forward { ticket, next_hop, route: None },
            None => Output::Drop { ticket, reason: DropReason::NoRoute, tell_source: false },
        });
    }

    /// A neighbour expires after three intervals of the longest length without a beacon.
    fn patience(&self) -> Duration {
        self.interval * 9 / 2
    }
}

impl Machine for Greedy {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet(packet) => self.route(now, &packet),
            Input::Message { from, message, .. } => {
                if let Some(&Beacon { place }) = message.content() {
                    self.neighbours.insert(from, Neighbour { place, expires: now + self.patience() });
                }
            }
            Input::LinkFailed { next_hop, packet, .. } | Input::Purged { next_hop, packet } => {
                self.neighbours.remove(&next_hop);
                self.route(now, &packet);
            }
            // Beacons are broadcast, so that none is reported lost, and overheard packets do not matter.
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.next_beacon {
            return;
        }
        // Uniform in 0.5 to 1.5 intervals, so that neighbours do not synchronise.
        self.next_beacon = now + self.interval / 2 + self.rng.duration_below(self.interval);
        let message = Message::custom(Beacon { place: self.place });
        self.out.push_back(Output::Message { to: None, interface: None, ttl: 1, message });
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next_beacon)
    }
}

impl RoutingAgent for Greedy {}

fn index(address: Ipv4Addr) -> usize {
    NodeId::from_addr(address).expect("an address of the simulated network").index()
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (x, y) = (a[0] - b[0], a[1] - b[1]);
    (x * x + y * y).sqrt()
}
