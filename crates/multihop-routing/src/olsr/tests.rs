//! Tests of one OLSR node, driven step by step.

use multihop_core::Notice;
use multihop_wire::olsr::{
    Costs, Hello, HelloLink, Hna, LinkCode, Mid, NeighbourType, Opaque, Report, Tc, Willingness,
};

use super::*;
use crate::agent::{NO_FLOW, Ticket};

mod costs;
mod early;
mod expiry;
mod flooding;
mod interfaces;
mod links;
mod news;
mod random;
mod sending;

const OWN: u8 = 1;
const SYM: LinkCode = LinkCode::Symmetric { mpr: false };
const MPR: LinkCode = LinkCode::Symmetric { mpr: true };
const ASYM: LinkCode = LinkCode::Asymmetric(NeighbourType::Not);
const LOST: LinkCode = LinkCode::Lost(NeighbourType::Not);

/// Node 10.0.0.1, without jitter by default, and its outputs.
struct Bench {
    agent: Agent,
    now: Instant,
    sequence: u16,
    packets: Vec<(Instant, Arc<Packet>)>,
    rest: Vec<Output>,
}

impl Bench {
    fn new(config: Config) -> Self {
        let config = Config { max_jitter: Duration::ZERO, ..config };
        Self::with_jitter(config)
    }

    fn with_jitter(config: Config) -> Self {
        let agent = Agent::new(Instant::ZERO, node(OWN), config, Rng::stream(1, "olsr", 0));
        Self { agent, now: Instant::ZERO, sequence: 0, packets: Vec::new(), rest: Vec::new() }
    }

    /// Advances to a time and handles the timers that are due.
    fn at_ms(&mut self, ms: u64) -> &mut Self {
        let target = Instant::ZERO + Duration::from_millis(ms);
        assert!(target >= self.now);
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= target) {
            assert!(due >= self.now, "a deadline in the past");
            self.now = due;
            self.agent.handle_timeout(due);
            self.drain();
            assert!(self.agent.poll_timeout().is_none_or(|next| next > due), "due again at {due}");
        }
        self.now = target;
        self
    }

    fn give(&mut self, input: Input) -> &mut Self {
        self.agent.handle(self.now, input);
        self.drain();
        self
    }

    /// Receives a packet from a neighbour.
    fn gets(&mut self, from: u8, messages: Vec<Message>) -> &mut Self {
        self.sequence += 1;
        let message = RoutingMessage::Olsr(Arc::new(Packet { sequence: self.sequence, messages }));
        self.give(Input::Message { interface: Interface(0), from: node(from), ttl: 1, message })
    }

    /// Receives a HELLO from a neighbour, with an interval of 2 s and a validity of 6 s.
    fn hello(&mut self, from: u8, links: &[(LinkCode, u8)]) -> &mut Self {
        let message = hello(from, links, Willingness::DEFAULT);
        self.gets(from, vec![message])
    }

    /// Hands a data packet of this node, or of another node, to the agent.
    fn packet(&mut self, previous_hop: Option<u8>, to: u8) -> &mut Self {
        let packet = data(previous_hop, to);
        self.give(Input::Packet(packet))
    }

    fn drain(&mut self) {
        while let Some(output) = self.agent.poll_output(self.now) {
            match output {
                Output::Message { to, ttl, message: RoutingMessage::Olsr(message), .. } => {
                    assert_eq!((to, ttl), (None, 1));
                    self.packets.push((self.now, message));
                }
                other => self.rest.push(other),
            }
        }
    }

    /// The messages sent since the last call.
    fn sent(&mut self) -> Vec<Message> {
        self.packets.drain(..).flat_map(|(_, packet)| packet.messages.clone()).collect()
    }

    /// The links in the last HELLO since the last call.
    #[track_caller]
    fn declared(&mut self) -> Vec<(LinkCode, u8)> {
        let bodies = self.sent().into_iter().rev().map(|message| message.body);
        let mut hellos =
            bodies.filter_map(|body| if let Body::Hello(hello) = body { Some(hello) } else { None });
        let links = hellos.next().expect("a HELLO was sent").links;
        links.iter().map(|link| (link.code, link.address.octets()[3])).collect()
    }

    /// The TCs sent since the last call: sequence number and neighbours.
    fn tcs(&mut self) -> Vec<(u16, Vec<u8>)> {
        let bodies = self.sent().into_iter().map(|message| message.body);
        let tcs = bodies.filter_map(|body| if let Body::Tc(tc) = body { Some(tc) } else { None });
        tcs.map(|tc| (tc.sequence, lasts(tc.neighbours.iter().copied()))).collect()
    }

    /// The outputs since the last call, without messages.
    fn outputs(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.rest)
    }

    /// Routes: destination, next hop, hops.
    fn routes(&mut self) -> Vec<(u8, u8, u8)> {
        let last = |address: Ipv4Addr| address.octets()[3];
        let routes = self.agent.routes().iter();
        routes.map(|route| (last(route.destination), last(route.next_hop), route.hops)).collect()
    }

    fn neighbours(&self) -> Vec<u8> {
        lasts(self.agent.neighbours())
    }

    fn selectors(&self) -> Vec<u8> {
        lasts(self.agent.selectors())
    }

    fn mprs(&mut self) -> Vec<u8> {
        lasts(self.agent.mprs().to_vec())
    }

    fn two_hops(&self) -> Vec<(u8, u8)> {
        let pairs = self.agent.two_hops.pairs().map(|(by, of, _)| (by.octets()[3], of.octets()[3]));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        pairs
    }
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn lasts(addresses: impl IntoIterator<Item = Ipv4Addr>) -> Vec<u8> {
    addresses.into_iter().map(|address| address.octets()[3]).collect()
}

fn nodes(numbers: &[u8]) -> Vec<Ipv4Addr> {
    numbers.iter().map(|&n| node(n)).collect()
}

fn hello(from: u8, links: &[(LinkCode, u8)], willingness: Willingness) -> Message {
    let links = links.iter().map(|&(code, n)| HelloLink { code, address: node(n) }).collect();
    let interval = TimeCode::at_least(Duration::from_secs(2));
    let body = Body::Hello(Hello { interval, willingness, links, report: None });
    Message { ttl: 1, validity: TimeCode::at_least(Duration::from_secs(6)), ..flooded(from, 0, body) }
}

/// A message with a validity of 15 s.
fn flooded(originator: u8, sequence: u16, body: Body) -> Message {
    let validity = TimeCode::at_least(Duration::from_secs(15));
    Message { validity, originator: node(originator), ttl: 255, hop_count: 0, sequence, body }
}

fn tc(originator: u8, sequence: u16, ansn: u16, neighbours: &[u8]) -> Message {
    flooded(originator, sequence, Body::Tc(Arc::new(Tc { sequence: ansn, neighbours: nodes(neighbours) })))
}

/// A HELLO with the measurements of its sender.
fn reporting(from: u8, number: u16, stamp: u32, links: &[(LinkCode, u8)], heard: &[(u8, u32)]) -> Message {
    let mut message = hello(from, links, Willingness::DEFAULT);
    let heard = heard.iter().map(|&(of, value)| (node(of), value)).collect();
    let Body::Hello(hello) = &mut message.body else { unreachable!("made above") };
    let report = Report { number, quantity: DELAY.quantity, stamp, heard, echoes: Vec::new() };
    hello.report = Some(Box::new(report));
    message
}

fn costs(originator: u8, sequence: u16, ansn: u16, costs: &[u32]) -> Message {
    let costs = Costs { sequence: ansn, quantity: DELAY.quantity, costs: costs.to_vec() };
    flooded(originator, sequence, Body::Costs(Arc::new(costs)))
}

fn data(previous_hop: Option<u8>, to: u8) -> Routable {
    Routable {
        ticket: Ticket(to.into()),
        source: node(previous_hop.unwrap_or(OWN)),
        destination: node(to),
        previous_hop: previous_hop.map(node),
        hops: u8::from(previous_hop.is_some()),
        flow: NO_FLOW,
        route: None,
    }
}

fn by_delay() -> Bench {
    Bench::new(Config::rfc().with_metric(Metric::default()))
}

fn rfc() -> Bench {
    Bench::new(Config::rfc())
}
