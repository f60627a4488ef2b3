//! OLSR with 50 nodes: routes compared with shortest paths, relays, flooding, recovery.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use multihop_core::{Duration, Instant, NodeId, Rng};
use multihop_routing::agent::{Input, NO_FLOW, Output, Routable, Ticket};
use multihop_routing::message::Message;
use multihop_routing::olsr::{Agent, Config};
use multihop_testkit::{Action, Adapter, TestLink, TestNetwork};
use multihop_wire::olsr::{Body, Packet};

mod costs;
mod floods;
mod loops;
mod routes;

/// Frame on a link: a message or a data packet.
#[derive(Clone)]
enum Frame {
    Control(Arc<Packet>),
    Data(usize),
}

/// Stores the data packets and all transmissions.
#[derive(Default)]
struct Air {
    packets: Vec<Routable>,
    /// The node that delivered or dropped each packet.
    delivered: BTreeMap<usize, u8>,
    dropped: BTreeSet<usize>,
    /// The nodes that each packet visited.
    ways: BTreeMap<usize, Vec<usize>>,
    /// Control packets with their senders.
    sent: Vec<(Instant, usize, Arc<Packet>)>,
}

impl Adapter for Air {
    type Machine = Agent;
    type Packet = Frame;

    fn output(&mut self, now: Instant, node: usize, output: Output) -> Action<Frame> {
        match output {
            Output::Message { message: Message::Olsr(message), .. } => {
                self.sent.push((now, node, message.clone()));
                Action::Broadcast(Frame::Control(message))
            }
            Output::Forward { ticket, next_hop, .. } => {
                Action::Unicast { to: number(next_hop), packet: Frame::Data(ticket.0 as usize) }
            }
            Output::Drop { ticket, .. } => {
                self.dropped.insert(ticket.0 as usize);
                Action::Done
            }
            _ => Action::Done,
        }
    }

    fn arrived(&mut self, _now: Instant, node: usize, from: usize, frame: Frame) -> Option<Input> {
        match frame {
            Frame::Control(message) => Some(Input::Message {
                interface: multihop_core::Interface(0),
                from: address(from),
                ttl: 1,
                message: Message::Olsr(message),
            }),
            Frame::Data(at) => {
                let way = self.ways.entry(at).or_default();
                way.push(node);
                assert!(way.len() < 64, "packet {at} loops: {way:?}");
                let packet = &mut self.packets[at];
                packet.hops += 1;
                packet.previous_hop = Some(address(from));
                if packet.destination == address(node) {
                    self.delivered.insert(at, packet.hops);
                    return None;
                }
                Some(Input::Packet(packet.clone()))
            }
        }
    }

    fn failed(&mut self, _now: Instant, _node: usize, to: usize, frame: Frame) -> Option<Input> {
        let Frame::Data(at) = frame else { return None };
        let packet = self.packets[at].clone();
        Some(Input::LinkFailed { next_hop: address(to), packet, quoted: None })
    }

    fn text(&self, frame: &Frame) -> String {
        match frame {
            Frame::Control(packet) => format!("{packet:?}"),
            Frame::Data(at) => format!("data {at}"),
        }
    }
}

fn address(node: usize) -> std::net::Ipv4Addr {
    NodeId(u32::try_from(node).expect("few nodes")).addr()
}

fn number(address: std::net::Ipv4Addr) -> usize {
    NodeId::from_addr(address).expect("an address of a node").index()
}

/// Nodes at random places of the unit square.
struct Field {
    places: Vec<(f64, f64)>,
    mesh: TestNetwork<Air>,
}

impl Field {
    fn new(nodes: usize, range: f64, seed: u64, config: &Config) -> Self {
        Self::mixed(nodes, range, seed, |_| config.clone())
    }

    fn mixed(nodes: usize, range: f64, seed: u64, config: impl Fn(usize) -> Config) -> Self {
        let mut rng = Rng::stream(seed, "places", 0);
        let places = (0..nodes).map(|_| (rng.unit(), rng.unit())).collect();
        let agent = |node: usize| {
            let rng = Rng::stream(seed, "olsr", node as u64);
            Agent::new(Instant::ZERO, address(node), config(node), rng)
        };
        let mut mesh = TestNetwork::new((0..nodes).map(agent).collect(), Air::default(), seed);
        mesh.logging = false;
        let mut field = Self { places, mesh };
        field.link(range);
        field
    }

    /// Links exactly the nodes within range.
    fn link(&mut self, range: f64) {
        for a in 0..self.places.len() {
            for b in 0..a {
                let (x, y) = (self.places[a].0 - self.places[b].0, self.places[a].1 - self.places[b].1);
                if x * x + y * y <= range * range {
                    self.mesh.connect(a, b, TestLink::GOOD);
                } else {
                    self.mesh.disconnect(a, b);
                }
            }
        }
    }

    fn run(&mut self, seconds: u64) {
        self.mesh.run_for(Duration::from_secs(seconds));
    }

    /// Hops from a node to each reachable node.
    fn distances(&self, from: usize) -> BTreeMap<usize, u8> {
        let mut distances = BTreeMap::from([(from, 0)]);
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for next in self.mesh.neighbours(node) {
                if !distances.contains_key(&next) {
                    distances.insert(next, distances[&node] + 1);
                    queue.push_back(next);
                }
            }
        }
        distances.remove(&from);
        distances
    }

    /// Hops of the routes of a node.
    fn routes(&mut self, from: usize) -> BTreeMap<usize, u8> {
        let routes = self.mesh.machines[from].routes().iter();
        routes.map(|route| (number(route.destination), route.hops)).collect()
    }

    fn send(&mut self, from: usize, to: usize) -> usize {
        let at = self.mesh.adapter.packets.len();
        let packet = Routable {
            ticket: Ticket(u32::try_from(at).expect("few packets")),
            source: address(from),
            destination: address(to),
            previous_hop: None,
            hops: 0,
            flow: NO_FLOW,
            route: None,
        };
        self.mesh.adapter.packets.push(packet.clone());
        self.mesh.input(from, Input::Packet(packet));
        at
    }
}

/// Originator and sequence number of each flooded message in a packet.
fn flooded(packet: &Packet) -> impl Iterator<Item = (usize, u16)> {
    let messages = packet.messages.iter().filter(|message| !matches!(message.body, Body::Hello(_)));
    messages.map(|message| (number(message.originator), message.sequence))
}
