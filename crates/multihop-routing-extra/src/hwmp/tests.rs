//! Tests of one HWMP node, driven message by message.

use multihop_core::{Duration, Notice};
use multihop_routing::agent::{NO_FLOW, Ticket};

use super::wire::{Error, Reason, Reply, Unreachable};
use super::*;

const OWN: u8 = 1;

/// Node 10.0.0.1 without jitter, and its outputs. Every link costs 1.
struct Bench {
    agent: Agent,
    now: Instant,
    /// Messages with their receivers, 0 for all.
    sent: Vec<(u8, Message)>,
    rest: Vec<Output>,
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

/// A request that has crossed two links at a cost of 20.
fn request(originator: u8, sequence: u32, target: u8) -> Request {
    Request {
        hop_count: 2,
        ttl: 29,
        id: sequence,
        originator: node(originator),
        originator_sequence: Sequence(sequence),
        lifetime: 5000,
        metric: 20,
        target_only: true,
        target: node(target),
        target_sequence: None,
    }
}

/// A reply that has crossed two links at a cost of 20.
fn reply(target: u8, sequence: u32, originator: u8) -> Reply {
    Reply {
        hop_count: 2,
        ttl: 29,
        target: node(target),
        target_sequence: Sequence(sequence),
        lifetime: 5000,
        metric: 20,
        originator: node(originator),
        originator_sequence: Sequence(1),
    }
}

fn error(ttl: u8, destination: u8, sequence: u32) -> Message {
    let (destination, sequence) = (node(destination), Sequence(sequence));
    let reason = Reason::DestinationUnreachable;
    Message::Error(Error { ttl, unreachable: vec![Unreachable { destination, sequence, reason }] })
}

fn packet(ticket: u32, previous_hop: Option<u8>, destination: u8) -> Routable {
    Routable {
        ticket: Ticket(ticket),
        source: node(previous_hop.unwrap_or(OWN)),
        destination: node(destination),
        previous_hop: previous_hop.map(node),
        hops: 0,
        flow: NO_FLOW,
        route: None,
    }
}

const fn forward(ticket: u32, next_hop: u8) -> Output {
    Output::Forward { ticket: Ticket(ticket), next_hop: Ipv4Addr::new(10, 0, 0, next_hop), route: None }
}

const fn dropped(ticket: u32, reason: DropReason, tell_source: bool) -> Output {
    Output::Drop { ticket: Ticket(ticket), reason, tell_source }
}

const fn notice(peer: u8, notice: Notice) -> Output {
    Output::Notice { peer: Ipv4Addr::new(10, 0, 0, peer), notice }
}

impl Bench {
    fn new(config: Config) -> Self {
        let config = Config { metric: LinkMetric::Hops, max_jitter: Duration::ZERO, ..config };
        let agent = Agent::new(node(OWN), config, Rng::stream(1, "hwmp", 0));
        Self { agent, now: Instant::ZERO, sent: Vec::new(), rest: Vec::new() }
    }

    /// A bench at ten seconds after the start.
    fn late(config: Config) -> Self {
        let mut bench = Self::new(config);
        bench.at(10_000);
        bench
    }

    /// A bench whose node is between node 8, reached over 2, and node 9, reached over 3.
    fn between(config: Config) -> Self {
        let mut bench = Self::late(config);
        bench.hears(2, Message::Request(request(8, 5, 9)));
        bench.hears(3, Message::Reply(reply(9, 7, 8)));
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

    fn hears(&mut self, from: u8, message: Message) -> &mut Self {
        let message = RoutingMessage::custom(message);
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
                Output::Message { to, ttl: 1, message, .. } => {
                    let message = message.content::<Message>().expect("a message of the protocol");
                    self.sent.push((to.map_or(0, |to| to.octets()[3]), message.clone()));
                }
                other => self.rest.push(other),
            }
        }
    }

    /// Removes and returns the messages sent since the last call, with their TTL.
    fn sent(&mut self) -> Vec<(u8, Message)> {
        core::mem::take(&mut self.sent)
    }

    fn rest(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.rest)
    }

    /// Next hop, links and cost of the path to a node.
    fn path(&self, destination: u8) -> Option<(u8, u8, u32)> {
        let path = self.agent.path(self.now, node(destination))?;
        Some((path.next_hop.octets()[3], path.hops, path.metric))
    }
}

/// The forwarded form of a request of this test.
fn onward(request: Request) -> Message {
    Message::Request(Request {
        hop_count: request.hop_count + 1,
        ttl: request.ttl - 1,
        metric: request.metric + 1,
        ..request
    })
}

#[test]
fn packets_wait_for_a_path_and_leave_when_it_is_found() {
    let mut bench = Bench::late(Config::default());
    bench.give(Input::Packet(packet(1, None, 9))).give(Input::Packet(packet(2, None, 9)));
    let first = Request { hop_count: 0, ttl: 31, id: 1, metric: 0, ..request(OWN, 1, 9) };
    assert_eq!(bench.sent(), [(0, Message::Request(first))]);
    assert_eq!(bench.rest(), []);
    bench.hears(3, Message::Reply(reply(9, 7, OWN)));
    assert_eq!(bench.path(9), Some((3, 3, 21)));
    assert_eq!(bench.path(3), Some((3, 1, 1)));
    assert_eq!(bench.rest(), [notice(9, Notice::PathInfo { hops: 3 }), forward(1, 3), forward(2, 3)]);
    assert_eq!(bench.sent(), [], "the reply has arrived");
}

#[test]
fn a_request_is_repeated_three_times_and_then_the_packets_are_dropped() {
    let mut bench = Bench::late(Config { buffer_packets: 2, ..Config::default() });
    for ticket in 1..=3 {
        bench.give(Input::Packet(packet(ticket, None, 9)));
    }
    assert_eq!(bench.rest(), [dropped(1, DropReason::BufferTimeout, false)], "two may wait");
    assert_eq!(bench.sent().len(), 1);
    bench.at(11_023);
    assert_eq!(bench.sent().len(), 0);
    bench.at(14_095);
    let numbers = bench.sent().into_iter().map(|(_, message)| match message {
        Message::Request(Request { id, originator_sequence, .. }) => (id, originator_sequence.0),
        other => panic!("{other:?}"),
    });
    assert_eq!(numbers.collect::<Vec<_>>(), [(2, 2), (3, 3), (4, 4)], "every 1.024 s");
    bench.at(14_096);
    let lost = notice(9, Notice::RouteLost);
    let drop = |ticket| dropped(ticket, DropReason::NoRoute, false);
    assert_eq!(bench.rest(), [drop(2), drop(3), lost]);
    assert_eq!(bench.agent.poll_timeout(), None);
}

#[test]
fn requests_for_several_targets_keep_their_distance() {
    let mut bench = Bench::late(Config::default());
    for target in 7..=9 {
        bench.give(Input::Packet(packet(target.into(), None, target)));
    }
    let mut counts = Vec::new();
    for ms in [10_000, 10_102, 10_103, 10_204, 10_205] {
        bench.at(ms);
        counts.push(bench.sent.len());
    }
    assert_eq!(counts, [1, 1, 2, 2, 3], "every 102.4 ms");
}

#[test]
fn a_path_in_use_is_looked_for_again_before_it_ends() {
    let mut bench = Bench::late(Config { target_only: false, ..Config::default() });
    bench.hears(3, Message::Reply(reply(9, 7, OWN)));
    bench.at(14_119).give(Input::Packet(packet(1, None, 9)));
    assert_eq!(bench.sent(), [], "more than a second before its end");
    bench.at(14_121).give(Input::Packet(packet(2, Some(2), 9)));
    assert_eq!(bench.sent(), [], "the packet of another node");
    bench.give(Input::Packet(packet(3, None, 9))).give(Input::Packet(packet(4, None, 9)));
    let [(0, Message::Request(request))] = bench.sent()[..] else { panic!("one request") };
    assert_eq!((request.target_only, request.target_sequence), (true, Some(Sequence(7))));
    bench.at(15_119);
    assert!(bench.path(9).is_some());
    bench.at(15_120);
    assert_eq!(bench.path(9), None, "5000 time units are over");
}

#[test]
fn newer_requests_and_cheaper_ones_of_the_same_age_are_taken_and_forwarded() {
    let mut bench = Bench::late(Config::default());
    let mut hear = |from, sequence, metric| {
        let request = Request { metric, ..request(8, sequence, 9) };
        bench.hears(from, Message::Request(request));
        let forwarded = bench.sent().first().map(|sent| *sent == (0, onward(request)));
        (forwarded, bench.path(8).expect("a path").0)
    };
    assert_eq!(hear(2, 5, 20), (Some(true), 2));
    assert_eq!(hear(3, 5, 20), (None, 2), "not cheaper");
    assert_eq!(hear(3, 5, 19), (Some(true), 3));
    assert_eq!(hear(2, 4, 1), (None, 3), "older");
    assert_eq!(hear(2, 6, 90), (Some(true), 2), "newer");
    assert_eq!(hear(4, 6_u32.wrapping_sub(1 << 31).wrapping_sub(1), 95), (Some(true), 4), "numbers wrap");
}

#[test]
fn a_request_ends_with_its_ttl() {
    let mut bench = Bench::late(Config::default());
    bench.hears(2, Message::Request(Request { ttl: 1, ..request(8, 5, 9) }));
    assert_eq!((bench.sent(), bench.path(8)), (vec![], Some((2, 3, 21))));
    bench.hears(2, Message::Request(Request { ttl: 2, ..request(8, 6, 9) }));
    assert_eq!(bench.sent().len(), 1);
    bench.hears(2, Message::Request(request(OWN, 9, 9)));
    assert_eq!(bench.sent(), [], "its own request comes back");
}

#[test]
fn the_target_replies_with_a_newer_number_and_again_over_a_cheaper_path() {
    let mut bench = Bench::late(Config::default());
    let asked = Request { target_sequence: Some(Sequence(40)), ..request(8, 5, OWN) };
    bench.hears(2, Message::Request(asked));
    let first =
        Reply { hop_count: 0, ttl: 31, metric: 0, originator_sequence: Sequence(5), ..reply(OWN, 41, 8) };
    assert_eq!(bench.sent(), [(2, Message::Reply(first))]);
    bench.hears(3, Message::Request(Request { metric: 21, ..asked }));
    assert_eq!(bench.sent(), [], "dearer");
    bench.hears(3, Message::Request(Request { metric: 19, ..asked }));
    let second = Reply { target_sequence: Sequence(42), ..first };
    assert_eq!(bench.sent(), [(3, Message::Reply(second))]);
}

#[test]
fn a_node_with_a_path_replies_if_it_may_and_forwards_the_request_for_the_target_only() {
    let ask = |target_only, target_sequence: Option<u32>| {
        let mut bench = Bench::between(Config::default());
        bench.at(11_024);
        let asked =
            Request { target_only, target_sequence: target_sequence.map(Sequence), ..request(6, 1, 9) };
        bench.hears(4, Message::Request(asked));
        (bench.sent(), onward(Request { target_only: true, ..asked }), onward(asked))
    };
    for known in [None, Some(6), Some(7)] {
        let (sent, for_target, _) = ask(false, known);
        // The remaining lifetime is 5000 time units less 1000.
        let answer = Reply { hop_count: 3, ttl: 31, metric: 21, lifetime: 4000, ..reply(9, 7, 6) };
        assert_eq!(sent, [(4, Message::Reply(answer)), (0, for_target)]);
    }
    let (sent, for_target, _) = ask(true, None);
    assert_eq!(sent, [(0, for_target)], "the originator wants the target's word");
    let (sent, _, unchanged) = ask(false, Some(8));
    assert_eq!(sent, [(0, unchanged)], "the path is older than what the originator knows");
}

#[test]
fn replies_travel_back_over_the_path_of_the_request() {
    let mut bench = Bench::late(Config::default());
    bench.hears(2, Message::Request(request(8, 5, 9))).sent.clear();
    bench.hears(3, Message::Reply(reply(9, 7, 8)));
    let onward =
        |reply: Reply| Message::Reply(Reply { hop_count: 3, ttl: 28, metric: reply.metric + 1, ..reply });
    assert_eq!(bench.sent(), [(2, onward(reply(9, 7, 8)))]);
    bench.hears(4, Message::Reply(reply(9, 7, 8)));
    assert_eq!(bench.sent(), [], "not better");
    let better = Reply { metric: 10, ..reply(9, 7, 8) };
    bench.hears(4, Message::Reply(better));
    assert_eq!((bench.sent(), bench.path(9)), (vec![(2, onward(better))], Some((4, 3, 11))));
    bench.hears(4, Message::Reply(Reply { ttl: 1, ..reply(9, 8, 8) }));
    bench.hears(4, Message::Reply(reply(9, 9, 5)));
    assert_eq!(bench.sent(), [], "the TTL is used up; no path to the originator");
}

#[test]
fn a_broken_link_is_reported_to_those_who_use_it_with_newer_numbers() {
    let mut bench = Bench::between(Config::default());
    bench.give(Input::Packet(packet(1, Some(2), 9)));
    bench.give(Input::LinkFailed { next_hop: node(3), packet: packet(1, Some(2), 9), quoted: None });
    assert_eq!(bench.sent(), [(2, error(31, 9, 8))], "nobody uses the path to 3 itself");
    let purge = Output::Purge { next_hop: node(3) };
    assert_eq!(bench.rest(), [forward(1, 3), dropped(1, DropReason::RetryLimit, true), purge]);
    assert_eq!((bench.path(9), bench.path(3), bench.path(8)), (None, None, Some((2, 3, 21))));
    bench.give(Input::Purged { next_hop: node(3), packet: packet(2, None, 9) });
    let [(0, Message::Request(request))] = bench.sent()[..] else { panic!("one request") };
    assert!(request.target_sequence.is_some_and(|asked| asked.newer_than(Sequence(7))));
    bench.hears(4, Message::Reply(reply(9, 7, OWN)));
    assert_eq!(bench.path(9), None, "the old path");
    bench.hears(4, Message::Reply(reply(9, 9, OWN)));
    assert_eq!(bench.rest(), [notice(9, Notice::PathInfo { hops: 3 }), forward(2, 4)]);
}

#[test]
fn an_error_ends_paths_through_its_sender_and_travels_on() {
    let mut bench = Bench::between(Config::default());
    bench.hears(4, error(31, 9, 8)).hears(3, error(31, 9, 7)).hears(3, error(31, 8, 9));
    assert_eq!(bench.sent(), [], "not the next hop, not newer, not this path");
    assert!(bench.path(9).is_some());
    bench.hears(3, error(31, 9, 8));
    assert_eq!((bench.sent(), bench.path(9)), (vec![(2, error(30, 9, 8))], None));
    for (ttl, sequence, errors) in [(1, 8, 0), (2, 8, 1), (31, 0, 1)] {
        let mut bench = Bench::between(Config::default());
        bench.hears(3, error(ttl, 9, sequence));
        assert_eq!((bench.sent().len(), bench.path(9)), (errors, None), "TTL {ttl}, number {sequence}");
    }
}

#[test]
fn several_users_of_a_path_get_one_error_together() {
    let mut bench = Bench::between(Config { target_only: false, ..Config::default() });
    bench.hears(4, Message::Request(Request { target_only: false, ..request(6, 1, 9) })).sent.clear();
    bench.hears(3, error(31, 9, 8));
    assert_eq!(bench.sent(), [(0, error(30, 9, 8))]);
}

#[test]
fn packets_of_others_without_a_path_are_dropped_and_refused_at_a_limited_rate() {
    let mut bench = Bench::between(Config::default());
    bench.at(15_120);
    bench.give(Input::Packet(packet(1, Some(2), 9))).give(Input::Packet(packet(2, Some(2), 9)));
    bench.at(15_223).give(Input::Packet(packet(3, Some(4), 77)));
    let refusal = |destination, sequence| {
        let (destination, sequence) = (node(destination), Sequence(sequence));
        let reason = Reason::NoForwardingInformation;
        Message::Error(Error { ttl: 31, unreachable: vec![Unreachable { destination, sequence, reason }] })
    };
    assert_eq!(bench.sent(), [(2, refusal(9, 8)), (4, refusal(77, 0))]);
    assert_eq!(bench.rest(), [1, 2, 3].map(|ticket| dropped(ticket, DropReason::NoRoute, true)));
}

#[test]
fn connections_hear_of_lost_and_restored_paths() {
    let mut bench = Bench::late(Config::default());
    bench.hears(3, Message::Reply(reply(9, 7, OWN))).give(Input::Packet(packet(1, None, 9)));
    bench.hears(3, error(31, 9, 8)).hears(4, Message::Reply(Reply { hop_count: 4, ..reply(9, 9, OWN) }));
    let expected = [
        forward(1, 3),
        notice(9, Notice::PathInfo { hops: 3 }),
        notice(9, Notice::RouteLost),
        notice(9, Notice::RouteRestored),
        notice(9, Notice::PathInfo { hops: 5 }),
    ];
    assert_eq!(bench.rest(), expected);
}

#[test]
fn a_cheaper_copy_replaces_a_request_that_waits_to_be_forwarded() {
    let mut bench = Bench::late(Config::default());
    bench.agent.config =
        Arc::new(Config { max_jitter: Duration::from_millis(10), ..(*bench.agent.config).clone() });
    bench.hears(2, Message::Request(request(8, 5, 9)));
    let cheaper = Request { metric: 10, ..request(8, 5, 9) };
    bench.hears(3, Message::Request(cheaper));
    assert_eq!(bench.sent(), []);
    bench.at(10_010);
    assert_eq!(bench.sent(), [(0, onward(cheaper))]);
}
