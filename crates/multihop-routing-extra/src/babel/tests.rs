//! Tests of one Babel node, driven step by step. Every link costs 96 unless a test sets another cost.

use std::collections::BTreeMap;

use multihop_core::Notice;
use multihop_routing::agent::{NO_FLOW, Ticket};

use super::wire::Offer;
use super::*;

mod interfaces;
mod links;
mod requests;
mod routes;

const OWN: u8 = 1;
const LINK: u16 = 96;

/// Node 10.0.0.1 without jitter, and its outputs.
struct Bench {
    agent: Agent,
    now: Instant,
    /// Sequence number of the latest Hello of each neighbour.
    hellos: BTreeMap<u8, u16>,
    sent: Vec<(Option<Ipv4Addr>, Tlv)>,
    rest: Vec<Output>,
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn last(address: impl Into<IpAddr>) -> u8 {
    match address.into() {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(address) => panic!("an address of IPv4, not {address}"),
    }
}

fn plain() -> Config {
    Config {
        max_jitter: Duration::ZERO,
        link_cost: LinkCost::Hops,
        hysteresis: Duration::ZERO,
        ..Config::default()
    }
}

fn ihu(rxcost: u16) -> Tlv {
    Tlv::Ihu(Ihu { address: Some(node(OWN).into()), rxcost, interval: Centis(1200), echo: None })
}

/// An update for a node, with the metric of the sender; `None`: a retraction.
fn update(destination: u8, seqno: u16, metric: Option<u16>) -> Tlv {
    let router_id = RouterId::of(node(destination));
    Tlv::Update(Update {
        prefix: Prefix::host(node(destination)),
        next_hop: None,
        interval: Centis(1600),
        seqno: Seqno(seqno),
        offer: metric.map(|metric| Offer { router_id, metric }),
        channels: None,
    })
}

fn request(destination: u8, seqno: u16, hop_count: u8) -> Tlv {
    let router_id = RouterId::of(node(destination));
    Tlv::SeqnoRequest(SeqnoRequest {
        prefix: Prefix::host(node(destination)),
        seqno: Seqno(seqno),
        hop_count,
        router_id,
    })
}

/// A line for each TLV but Hellos and IHUs: its receiver and its content.
fn text(to: Option<Ipv4Addr>, tlv: &Tlv) -> Option<String> {
    let host = |prefix: Prefix| prefix.as_host().map_or("?".into(), |host| last(host).to_string());
    let content = match tlv {
        Tlv::Hello(_) | Tlv::Ihu(_) => return None,
        Tlv::Update(Update { prefix, offer: None, .. }) => format!("{} lost", host(*prefix)),
        Tlv::Update(Update { prefix, seqno, offer: Some(offer), .. }) => {
            format!("{} at {} #{}", host(*prefix), offer.metric, seqno.0)
        }
        Tlv::SeqnoRequest(request) => {
            format!("{}? #{} hops {}", host(request.prefix), request.seqno.0, request.hop_count)
        }
        Tlv::RouteRequest(None) => "all?".into(),
        other => format!("{other:?}"),
    };
    Some(to.map_or(content.clone(), |to| format!("to {}: {content}", last(to))))
}

impl Bench {
    fn new(config: Config) -> Self {
        let rng = Rng::stream(1, "babel", 0);
        let agent = Agent::new(Instant::ZERO, node(OWN), config, rng);
        Self { agent, now: Instant::ZERO, hellos: BTreeMap::new(), sent: Vec::new(), rest: Vec::new() }
    }

    /// A node with these neighbours and symmetric links, at 5 s.
    fn among(config: Config, neighbours: &[u8]) -> Self {
        let mut bench = Self::new(config);
        bench.at(4_000);
        for round in 0..2 {
            neighbours.iter().for_each(|&neighbour| bench.hears(neighbour, round > 0));
        }
        bench.at(5_000);
        bench.news();
        bench
    }

    /// Advances to a time in ms and handles the timers that are due.
    fn at(&mut self, ms: u64) -> &mut Self {
        let target = Instant::ZERO + Duration::from_millis(ms);
        assert!(target >= self.now);
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= target) {
            self.now = self.now.max(due);
            self.agent.handle_timeout(self.now);
            self.drain();
            assert!(self.agent.poll_timeout().is_none_or(|next| next > self.now), "due again at {due}");
        }
        self.now = target;
        self
    }

    /// Receives a packet, and handles the timers that are due at once.
    fn gets(&mut self, from: u8, tlvs: Vec<Tlv>) -> &mut Self {
        let message = Message::custom(Packet { tlvs });
        self.give(Input::Message { interface: Interface(0), from: node(from), ttl: 1, message })
    }

    fn give(&mut self, input: Input) -> &mut Self {
        self.agent.handle(self.now, input);
        self.drain();
        let now = self.now.as_nanos() / 1_000_000;
        self.at(now)
    }

    /// Receives the next Hello of a neighbour, valid for a minute, and an IHU if `with_ihu`.
    fn hears(&mut self, from: u8, with_ihu: bool) {
        let seqno = self.hellos.entry(from).or_default();
        *seqno += 1;
        let hello = Hello { unicast: false, seqno: Seqno(*seqno), interval: Centis(6000), timestamp: None };
        let tlvs = [Tlv::Hello(hello)].into_iter().chain(with_ihu.then(|| ihu(LINK)));
        self.gets(from, tlvs.collect());
    }

    fn drain(&mut self) {
        while let Some(output) = self.agent.poll_output(self.now) {
            match output {
                Output::Message { to, ttl: 1, message, .. } => {
                    let packet = message.content::<Packet>().expect("a packet of the protocol");
                    self.sent.extend(packet.tlvs.iter().map(|tlv| (to, *tlv)));
                }
                other => self.rest.push(other),
            }
        }
    }

    /// Removes and returns the texts of all TLVs sent since the last call, without Hellos and IHUs.
    fn news(&mut self) -> Vec<String> {
        self.sent.drain(..).filter_map(|(to, tlv)| text(to, &tlv)).collect()
    }

    /// Next hop and metric of the route to a node.
    fn route(&self, destination: u8) -> Option<(u8, u16)> {
        self.agent.route(node(destination)).map(|route| (last(route.next_hop), route.metric))
    }

    /// Hands a data packet of this node to the agent.
    fn packet(&mut self, to: u8) -> Output {
        self.give(Input::Packet(data(to)));
        self.rest.pop().expect("packets are forwarded or dropped")
    }
}

fn data(to: u8) -> Routable {
    Routable {
        ticket: Ticket(7),
        source: node(OWN),
        destination: node(to),
        previous_hop: None,
        hops: 0,
        flow: NO_FLOW,
        route: None,
    }
}
