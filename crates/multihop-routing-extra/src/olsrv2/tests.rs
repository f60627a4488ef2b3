//! Tests of one OLSRv2 node, driven step by step.

use alloc::vec;

use multihop_core::{BitRate, Notice};
use multihop_routing::agent::{NO_FLOW, Ticket};

use super::wire::{Advertised, Hello, LinkStatus, Metric, Metrics, Neighbour, TimeCode, Willingness};
use super::*;

mod flooding;
mod interfaces;
mod links;
mod relays;
mod routing;

const OWN: u8 = 1;
const HEARD: LinkStatus = LinkStatus::Heard;
const SYM: LinkStatus = LinkStatus::Symmetric;
const LOST: LinkStatus = LinkStatus::Lost;

/// Node 10.0.0.1, without jitter by default, and its outputs.
struct Bench {
    agent: Agent,
    now: Instant,
    /// Sequence number of the latest packet of each neighbour.
    sequences: [u16; 256],
    packets: Vec<Packet>,
    rest: Vec<Output>,
}

impl Bench {
    /// Creates a bench whose links all cost 1.
    fn of_hops() -> Self {
        Self::new(Config { metric: LinkMetric::Hops, ..Config::default() })
    }

    fn of_airtime() -> Self {
        Self::new(Config::default())
    }

    fn new(config: Config) -> Self {
        Self::with_jitter(Config { max_jitter: Duration::ZERO, ..config })
    }

    fn with_jitter(config: Config) -> Self {
        let agent = Agent::new(Instant::ZERO, node(OWN), config, Rng::stream(1, "olsrv2", 0));
        Self { agent, now: Instant::ZERO, sequences: [0; 256], packets: Vec::new(), rest: Vec::new() }
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
        let sequence = &mut self.sequences[usize::from(from)];
        *sequence += 1;
        let packet = Packet { sequence: Some(*sequence), messages };
        let message = RoutingMessage::custom(packet);
        self.give(Input::Message { interface: Interface(0), from: node(from), ttl: 1, message })
    }

    /// Receives a HELLO from a neighbour, with an interval of 2 s and a validity of 6 s.
    fn hello(&mut self, from: u8, neighbours: &[Neighbour]) -> &mut Self {
        self.gets(from, vec![hello(from, neighbours)])
    }

    /// Reports the bit rate of data from a neighbour to the agent.
    fn rate(&mut self, from: u8, bits_per_second: u64) -> &mut Self {
        let incoming = BitRate(bits_per_second);
        self.agent.note_rates(node(from), LinkRates { incoming, outgoing: BitRate(1) });
        self
    }

    /// Hands a data packet of this node, or of another node, to the agent.
    fn packet(&mut self, previous_hop: Option<u8>, to: u8) -> &mut Self {
        let packet = data(previous_hop, to);
        self.give(Input::Packet(packet))
    }

    fn drain(&mut self) {
        while let Some(output) = self.agent.poll_output(self.now) {
            match output {
                Output::Message { to, ttl, message, .. } => {
                    assert_eq!((to, ttl), (None, 1));
                    let packet = message.content::<Packet>().expect("a packet of the protocol");
                    self.packets.push(packet.clone());
                }
                other => self.rest.push(other),
            }
        }
    }

    /// The messages sent since the last call.
    fn sent(&mut self) -> Vec<Message> {
        self.packets.drain(..).flat_map(|packet| packet.messages).collect()
    }

    /// The neighbours in the last HELLO since the last call.
    #[track_caller]
    fn declared(&mut self) -> Vec<Neighbour> {
        let mut hellos = self.sent().into_iter().rev().filter_map(|message| match message {
            Message::Hello(hello) => Some(hello),
            Message::Tc(_) => None,
        });
        hellos.next().expect("a HELLO was sent").neighbours
    }

    /// The link states in the last HELLO since the last call.
    #[track_caller]
    fn states(&mut self) -> Vec<(u8, LinkStatus)> {
        let declared = self.declared();
        declared.iter().map(|one| (last(one.address), one.link.expect("every link has a state"))).collect()
    }

    /// The TCs of a node that were sent since the last call.
    fn tcs(&mut self, originator: u8) -> Vec<Tc> {
        let tcs = self.sent().into_iter().filter_map(|message| match message {
            Message::Tc(tc) if tc.originator == node(originator) => Some(tc),
            Message::Tc(_) | Message::Hello(_) => None,
        });
        tcs.collect()
    }

    /// The outputs since the last call, without messages.
    fn outputs(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.rest)
    }

    /// Routes: destination, next hop, hops, cost.
    fn routes(&mut self) -> Vec<(u8, u8, u8, u64)> {
        let routes = self.agent.routes().iter();
        routes.map(|route| (last(route.destination), last(route.next_hop), route.hops, route.cost)).collect()
    }

    fn neighbours(&self) -> Vec<u8> {
        self.agent.neighbours().map(last).collect()
    }

    /// The relays for flooding and those for routing.
    fn relays(&mut self) -> [Vec<u8>; 2] {
        let lasts = |list: &[Ipv4Addr]| list.iter().copied().map(last).collect();
        [lasts(self.agent.flooding_mprs()), lasts(self.agent.routing_mprs())]
    }
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn last(address: Ipv4Addr) -> u8 {
    address.octets()[3]
}

/// A cost that has a code of its own.
#[track_caller]
fn cost(value: u32) -> Metric {
    let metric = Metric::at_least(value);
    assert_eq!(metric.value(), value, "a cost between two codes");
    metric
}

/// Entry of a HELLO for a node whose links cost 1.
fn says(n: u8, status: LinkStatus) -> Neighbour {
    says_cost(n, status, 1, 1)
}

/// Entry of a HELLO for a node, with the costs of packets from it and to it.
fn says_cost(n: u8, status: LinkStatus, incoming: u32, outgoing: u32) -> Neighbour {
    let metrics = Metrics { incoming: Some(cost(incoming)), outgoing: Some(cost(outgoing)) };
    let known = if status == SYM { metrics } else { Metrics::default() };
    Neighbour { link: Some(status), link_metrics: metrics, metrics: known, ..Neighbour::new(node(n)) }
}

/// Entry of a HELLO for a node that is a relay for both purposes.
fn relay(n: u8) -> Neighbour {
    Neighbour { floods: true, routes: true, ..says(n, SYM) }
}

fn hello(from: u8, neighbours: &[Neighbour]) -> Message {
    hello_of(from, neighbours, Willingness::default())
}

fn hello_of(from: u8, neighbours: &[Neighbour], willingness: Willingness) -> Message {
    Message::Hello(Hello {
        originator: node(from),
        validity: TimeCode::at_least(Duration::from_secs(6)),
        interval: Some(TimeCode::at_least(Duration::from_secs(2))),
        willingness,
        addresses: vec![node(from)],
        further: Vec::new(),
        neighbours: neighbours.to_vec(),
    })
}

/// A TC with a validity of 15 s: message sequence number, content sequence number, and neighbours with their
/// costs.
fn tc(originator: u8, sequence: u16, ansn: u16, links: &[(u8, u32)]) -> Tc {
    let links = links.iter().map(|&(to, value)| (node(to), Some(cost(value)))).collect();
    Tc {
        originator: node(originator),
        hop_limit: 255,
        hop_count: 0,
        sequence,
        validity: TimeCode::at_least(Duration::from_secs(15)),
        interval: None,
        advertised: Arc::new(Advertised { sequence: ansn, complete: true, links, networks: Vec::new() }),
    }
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
