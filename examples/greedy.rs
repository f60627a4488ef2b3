//! A routing protocol of one's own: greedy geographic forwarding, beside the shortest routes.
//!
//!     cargo run --release -p multihop-sim --example greedy
//!
//! Every node knows its own place and says it to its neighbours about once a second. A packet goes to
//! the neighbour that is nearest to its destination, as long as that is nearer than the node itself;
//! where no neighbour is, the packet is dropped. This is the greedy mode of GPSR (Karp and Kung,
//! MobiCom 2000) without its perimeter mode, and with a location service that knows everything.
//! docs/extending.md explains the parts.
#![expect(clippy::print_stdout, reason = "a table is what this program is for")]

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::rc::Rc;

use multihop_core::{DropReason, Duration, Instant, Machine, NodeId, Rng};
use multihop_scenario::{Scenario, Source};
use multihop_sim::extension::{Extensions, Routable, RoutingAgent, RoutingInput, RoutingOutput};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run, run_with};

fn main() -> Result<(), Box<dyn Error>> {
    println!("Five NewReno flows among 50 nodes in 1000 x 1000 m, 60 s\n");
    println!(
        "{:>4}  {:>14}  {:>14}  {:>12}  {:>7}",
        "seed", "shortest, kb/s", "greedy, kb/s", "without way", "beacons"
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

/// The same network under both ways of routing.
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
    let scenario = Scenario::load(&Source::Toml { text, name: "random.toml".into() }, &[])?;
    let places: Rc<[[f64; 2]]> = scenario.topology.place(seed)?.positions.into();
    let agent = |node| -> Box<dyn RoutingAgent> { Box::new(Greedy::new(node, places.clone(), seed)) };
    let extensions = Extensions { routing: Some(&agent), ..Extensions::default() };
    Ok((
        run(&scenario, Outputs::default(), &mut |_| {})?,
        run_with(&scenario, &extensions, Outputs::default(), &mut |_| {})?,
    ))
}

/// One node's part.
pub(crate) struct Greedy {
    place: [f64; 2],
    /// The location service: where every destination is.
    places: Rc<[[f64; 2]]>,
    neighbours: BTreeMap<NodeId, Neighbour>,
    next_beacon: Instant,
    rng: Rng,
    out: VecDeque<RoutingOutput>,
}

/// What the last beacon of a neighbour said.
#[derive(Clone, Copy)]
struct Neighbour {
    place: [f64; 2],
    expires: Instant,
}

impl Greedy {
    pub(crate) fn new(node: NodeId, places: Rc<[[f64; 2]]>, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "greedy/beacon", u64::from(node.0));
        Self {
            place: places[node.index()],
            places,
            neighbours: BTreeMap::new(),
            next_beacon: Instant::ZERO + rng.duration_below(INTERVAL),
            rng,
            out: VecDeque::new(),
        }
    }

    fn route(&mut self, now: Instant, packet: Routable) {
        self.neighbours.retain(|_, neighbour| neighbour.expires > now);
        let goal = self.places[packet.destination.index()];
        let ahead = self.neighbours.iter().map(|(&node, neighbour)| (distance(neighbour.place, goal), node));
        let nearest = ahead.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let ticket = packet.ticket;
        self.out.push_back(match nearest.filter(|(metres, _)| *metres < distance(self.place, goal)) {
            Some((_, next_hop)) => RoutingOutput::Forward { ticket, next_hop },
            None => RoutingOutput::Drop { ticket, reason: DropReason::NoRoute },
        });
    }

    fn on_beacon(&mut self, now: Instant, from: NodeId, beacon: &[u8]) {
        // A message that is no beacon is ignored, as bad input from a network must be.
        let (Some(x), Some(y)) = (beacon.first_chunk::<8>(), beacon.last_chunk::<8>()) else { return };
        let place = [f64::from_be_bytes(*x), f64::from_be_bytes(*y)];
        self.neighbours.insert(from, Neighbour { place, expires: now + PATIENCE });
    }
}

impl Machine for Greedy {
    type Input = RoutingInput;
    type Output = RoutingOutput;

    fn handle(&mut self, now: Instant, input: RoutingInput) {
        match input {
            RoutingInput::Packet(packet) => self.route(now, packet),
            RoutingInput::Message { from, bytes } => self.on_beacon(now, from, &bytes),
            RoutingInput::LinkFailed { next_hop, packet } => {
                self.neighbours.remove(&next_hop);
                self.route(now, packet);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.next_beacon {
            return;
        }
        // Uniform in half to one and a half intervals, so that neighbours do not fall into step.
        self.next_beacon = now + INTERVAL / 2 + self.rng.duration_below(INTERVAL);
        let bytes = self.place.iter().flat_map(|metres| metres.to_be_bytes()).collect();
        self.out.push_back(RoutingOutput::Message { to: None, kind: "beacon", bytes });
    }

    fn poll_output(&mut self, _now: Instant) -> Option<RoutingOutput> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next_beacon)
    }
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (x, y) = (a[0] - b[0], a[1] - b[1]);
    (x * x + y * y).sqrt()
}

/// Mean time between beacons.
const INTERVAL: Duration = Duration::from_secs(1);
/// A neighbour that was silent for so long is gone: three intervals at their longest.
const PATIENCE: Duration = Duration::from_millis(4500);
