//! Tests of one B.A.T.M.A.N. node, driven step by step.

use multihop_core::Notice;
use multihop_routing::agent::{NO_FLOW, Ticket};

use super::*;

const OWN: u8 = 1;

/// Node 10.0.0.1 without jitter, and its outputs.
struct Bench {
    agent: Agent,
    now: Instant,
    sent: Vec<Ogm>,
    rest: Vec<Output>,
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

/// A message from a neighbour; the neighbour's own message if the neighbour is the originator.
fn ogm(originator: u8, seqno: u16, previous: u8, ttl: u8, tq: u8) -> Ogm {
    Ogm {
        unidirectional: false,
        direct_link: false,
        ttl,
        seqno: Seqno(seqno),
        originator: node(originator),
        previous: node(previous),
        tq,
    }
}

impl Bench {
    fn new() -> Self {
        let config = Config { max_jitter: Duration::ZERO, ..Config::default() };
        let agent = Agent::new(Instant::ZERO, node(OWN), config, Rng::stream(1, "batman", 0));
        Self { agent, now: Instant::ZERO, sent: Vec::new(), rest: Vec::new() }
    }

    /// A node whose links to these neighbours lost none of the last 64 messages.
    fn among(neighbours: &[u8]) -> Self {
        let mut bench = Self::new();
        for n in 1..=64 {
            bench.at(1000 * u64::from(n));
            for &from in neighbours {
                let echo = ogm(OWN, bench.agent.seqno.0, OWN, 49, 225);
                bench.gets(from, Ogm { direct_link: true, ..echo });
                bench.gets(from, ogm(from, n, from, 50, 255));
            }
        }
        bench.sent.clear();
        bench
    }

    fn at(&mut self, ms: u64) -> &mut Self {
        let target = Instant::ZERO + Duration::from_millis(ms);
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= target) {
            self.now = self.now.max(due);
            self.agent.handle_timeout(self.now);
            self.drain();
            assert!(self.agent.poll_timeout().is_none_or(|next| next > self.now), "due again at {due}");
        }
        self.now = target;
        self
    }

    fn gets(&mut self, from: u8, ogm: Ogm) -> &mut Self {
        let message = Message::custom(Packet { ogms: vec![ogm] });
        self.give(Input::Message { interface: Interface(0), from: node(from), ttl: 1, message })
    }

    fn give(&mut self, input: Input) -> &mut Self {
        self.agent.handle(self.now, input);
        self.drain();
        self.at(self.now.as_nanos() / 1_000_000)
    }

    fn drain(&mut self) {
        while let Some(output) = self.agent.poll_output(self.now) {
            match output {
                Output::Message { to: None, ttl: 1, message, .. } => {
                    self.sent.extend(&message.content::<Packet>().expect("a packet of the protocol").ogms);
                }
                other => self.rest.push(other),
            }
        }
    }

    /// Next hop, quality and hops of the route to a node.
    fn route(&self, destination: u8) -> Option<(u8, u8, u8)> {
        let route = self.agent.route(node(destination))?;
        Some((route.next_hop.octets()[3], route.tq, route.hops))
    }
}

#[test]
fn a_node_announces_itself() {
    let mut bench = Bench::new();
    bench.at(1_999);
    let seqnos: Vec<u16> = bench.sent.iter().map(|ogm| ogm.seqno.0).collect();
    assert_eq!(seqnos, [1, 2]);
    assert_eq!(bench.sent[0], ogm(OWN, 1, OWN, 50, 255));
}

#[test]
fn a_neighbours_message_returns_to_it_before_the_link_is_known_to_work() {
    let mut bench = Bench::new();
    bench.at(500).sent.clear();
    bench.gets(2, ogm(2, 1, 2, 50, 255));
    let back = Ogm { unidirectional: true, direct_link: true, ..ogm(2, 1, 2, 49, 0) };
    assert_eq!((bench.sent.last(), bench.route(2)), (Some(&back), None));
    bench.at(1_500);
    let echo = ogm(OWN, bench.agent.seqno.0, OWN, 49, 225);
    bench.gets(2, echo);
    bench.gets(2, ogm(2, 2, 2, 50, 255));
    assert_eq!(bench.route(2), None, "the neighbour did not hear it itself");
    bench.gets(2, Ogm { direct_link: true, ..echo });
    bench.gets(2, ogm(2, 3, 2, 50, 255));
    let (next, tq, hops) = bench.route(2).expect("messages cross the link both ways");
    assert_eq!((next, hops), (2, 1));
    assert!((1..20).contains(&tq), "{tq}: three of 64 messages are known");
}

#[test]
fn messages_go_on_with_less_quality_along_the_best_way_and_once() {
    let mut bench = Bench::among(&[2, 3]);
    assert_eq!(bench.route(2), Some((2, 255, 1)));
    bench.gets(2, ogm(9, 1, 8, 40, 200));
    assert_eq!(
        (bench.route(9), &bench.sent[..]),
        (Some((2, 200, 11)), &[ogm(9, 1, 2, 39, 176)][..]),
        "200 * 225 / 255"
    );
    bench.gets(3, ogm(9, 1, 7, 40, 220));
    assert_eq!(bench.route(9), Some((3, 220, 11)), "the same message ranks another way");
    assert_eq!(bench.sent.len(), 1, "it was forwarded");
    bench.gets(2, ogm(9, 2, 8, 40, 200));
    assert_eq!((bench.route(9).unwrap().0, bench.sent.len()), (3, 1), "not the best way");
    bench.gets(3, ogm(9, 2, 7, 40, 220));
    assert_eq!(bench.sent.last(), Some(&ogm(9, 2, 3, 39, 194)));
    bench.gets(3, ogm(9, 2, 7, 40, 220));
    assert_eq!(bench.sent.len(), 2, "once");
    bench.gets(3, ogm(9, 3, 7, 1, 220));
    assert_eq!(bench.sent.len(), 2, "its TTL has ended");
}

#[test]
fn a_way_without_messages_loses_to_another() {
    let mut bench = Bench::among(&[2, 3]);
    for n in 1..=5 {
        bench.gets(2, ogm(9, n, 8, 40, 200));
        bench.gets(3, ogm(9, n, 7, 40, 100));
    }
    assert_eq!(bench.route(9), Some((2, 200, 11)));
    for n in 6..=10 {
        assert_eq!(bench.route(9).unwrap().0, 2, "message {n}: what is left of the window is still better");
        bench.gets(3, ogm(9, n, 7, 40, 100));
    }
    assert_eq!(bench.route(9), Some((3, 100, 11)));
}

#[test]
fn echoes_old_messages_and_bad_links_are_ignored() {
    let mut bench = Bench::among(&[2]);
    bench.gets(2, ogm(9, 100, OWN, 40, 255));
    bench.gets(2, Ogm { unidirectional: true, ..ogm(9, 100, 8, 40, 255) });
    bench.gets(2, ogm(9, 100, 8, 40, 0));
    bench.gets(4, ogm(9, 100, 8, 40, 255));
    assert_eq!((bench.route(9), bench.sent.len()), (None, 0));
    bench.gets(2, ogm(9, 100, 8, 40, 200));
    bench.gets(2, ogm(9, 99, 8, 40, 255));
    assert_eq!(bench.route(9), Some((2, 200, 11)));
    bench.gets(2, ogm(9, 1, 8, 40, 100));
    assert_eq!(bench.route(9), Some((2, 150, 11)), "a restarted node");
}

#[test]
fn nodes_that_were_not_heard_of_are_forgotten() {
    let mut bench = Bench::among(&[2]);
    let packet = Routable {
        ticket: Ticket(7),
        source: node(OWN),
        destination: node(9),
        previous_hop: None,
        hops: 0,
        flow: NO_FLOW,
        route: None,
    };
    bench.gets(2, ogm(9, 1, 8, 49, 200)).give(Input::Packet(packet.clone()));
    let info = Output::Notice { peer: node(9), notice: Notice::PathInfo { hops: 2 } };
    let forward = Output::Forward { ticket: Ticket(7), next_hop: node(2), route: None };
    assert_eq!(bench.rest, [info, forward]);
    bench.at(263_000);
    assert!(bench.route(9).is_some());
    bench.at(266_000);
    assert_eq!((bench.route(9), bench.agent.destinations().count()), (None, 0));
    assert_eq!(bench.rest.pop(), Some(Output::Notice { peer: node(9), notice: Notice::RouteLost }));
    bench.give(Input::Packet(packet));
    let drop = Output::Drop { ticket: Ticket(7), reason: DropReason::NoRoute, tell_source: true };
    assert_eq!(bench.rest.pop(), Some(drop));
}
