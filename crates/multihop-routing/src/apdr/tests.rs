//! One node with reserved paths, driven by hand.

use std::vec;
use std::vec::Vec;

use multihop_core::Rng;
use multihop_wire::olsr::{
    self as olsr_wire, Body, Costs, Hello, Link, LinkCode, Packet, Quantity, Report, Tc, TimeCode,
    Willingness,
};

use super::*;

const OWN: u8 = 1;

struct Bench {
    agent: Agent,
    now: Instant,
    sequence: u16,
}

impl Bench {
    /// Node 10.0.0.1; 2 and 3 are neighbours, and both have the neighbour 4.
    fn new(on_break: OnBreak, max_cost: Option<u64>) -> Self {
        let config = olsr::Config { max_jitter: Duration::ZERO, ..olsr::Config::rfc() };
        let config = config.with_metric(olsr::Metric { weight: 1_000_000, ..olsr::Metric::default() });
        let olsr = olsr::Agent::new(Instant::ZERO, node(OWN), config, Rng::stream(1, "olsr", 0));
        let agent = Agent::new(node(OWN), olsr, Reservation { on_break, max_cost });
        let mut bench = Self { agent, now: Instant::ZERO, sequence: 0 };
        bench.costs(1_000, 2_000);
        bench
    }

    fn at(&mut self, seconds: u64) -> &mut Self {
        self.now = Instant::ZERO + Duration::from_secs(seconds);
        while self.agent.poll_timeout().is_some_and(|due| due <= self.now) {
            self.agent.handle_timeout(self.now);
            while self.agent.poll_output(self.now).is_some() {}
        }
        self
    }

    /// 2 and 3 say what the way to them costs.
    fn costs(&mut self, to_2: u32, to_3: u32) -> &mut Self {
        self.hears(2, to_2).hears(3, to_3)
    }

    fn hears(&mut self, from: u8, cost: u32) -> &mut Self {
        self.sequence += 10;
        let symmetric = LinkCode::Symmetric { mpr: false };
        let links = [OWN, 4].map(|n| Link { code: symmetric, address: node(n) }).to_vec();
        let heard = vec![(node(OWN), cost)];
        let (number, quantity) = (self.sequence, Quantity::Delay);
        let report = Report { number, quantity, stamp: 0, heard, echoes: Vec::new() };
        let interval = TimeCode::at_least(Duration::from_secs(2));
        let report = Some(Box::new(report));
        let hello = Hello { interval, willingness: Willingness::DEFAULT, links, report };
        let tc = Tc { sequence: 1, neighbours: vec![node(OWN), node(4)] };
        let costs = Costs { sequence: 1, quantity, costs: vec![500, 500] };
        let bodies = [Body::Hello(hello), Body::Tc(Arc::new(tc)), Body::Costs(Arc::new(costs))];
        let message = |(n, body)| olsr_wire::Message {
            validity: TimeCode::at_least(Duration::from_secs(6)),
            originator: node(from),
            ttl: 1,
            hop_count: 0,
            sequence: self.sequence + n,
            body,
        };
        let messages = (0..).zip(bodies).map(message).collect();
        let message = Message::Olsr(Arc::new(Packet { sequence: self.sequence, messages }));
        self.agent.handle(self.now, Input::Message { from: node(from), ttl: 1, message });
        self
    }

    fn gives(&mut self, packet: Routable, flow: u32, route: Option<SourceRoute>) -> Vec<Output> {
        let packet = Routable { flow, route: route.map(Arc::new), ..packet };
        self.agent.handle(self.now, Input::Packet(packet));
        let mut said = Vec::new();
        while let Some(output) = self.agent.poll_output(self.now) {
            if !matches!(output, Output::Notice { .. } | Output::Message { .. }) {
                said.push(output);
            }
        }
        said
    }

    /// The first hop of a packet of a flow to 4, none if it was dropped.
    fn sends(&mut self, flow: u32) -> Option<u8> {
        match &self.gives(data(None), flow, None)[..] {
            [Output::Forward { next_hop, route: Some(route), .. }] => {
                assert_eq!((&route.route[..], route.segments_left), (&[*next_hop][..], 1));
                Some(next_hop.octets()[3])
            }
            [Output::Drop { reason: DropReason::NoRoute, .. }] => None,
            other => panic!("{other:?}"),
        }
    }
}

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn data(previous_hop: Option<u8>) -> Routable {
    let source = node(previous_hop.map_or(OWN, |_| 9));
    let previous_hop = previous_hop.map(node);
    Routable { ticket: Ticket(7), source, destination: node(4), previous_hop, hops: 0, flow: 0, route: None }
}

#[test]
fn a_flow_keeps_the_path_of_its_first_packet() {
    let mut b = Bench::new(OnBreak::Hold, None);
    assert_eq!(b.sends(1), Some(2));
    b.costs(3_000, 2_000);
    assert_eq!((b.sends(1), b.sends(2)), (Some(2), Some(3)), "a later flow takes the best of its time");
    assert_eq!(b.agent.counters(), Counters { reserved: 2, reselected: 0 });
}

#[test]
fn a_path_that_is_gone_is_held_or_replaced() {
    for (on_break, after) in [(OnBreak::Hold, Some(2)), (OnBreak::Reselect, Some(3))] {
        let mut b = Bench::new(on_break, None);
        assert_eq!(b.sends(1), Some(2));
        // Nothing was heard of 2 since.
        b.at(5).hears(3, 2_000);
        assert_eq!(b.sends(1), Some(2));
        b.at(7);
        assert_eq!(b.sends(1), after, "{on_break:?}");
        b.at(30);
        let nobody = if on_break == OnBreak::Hold { Some(2) } else { Some(3) };
        assert_eq!((b.sends(1), b.sends(2)), (nobody, None), "without a better one it stays");
    }
}

#[test]
fn a_path_stays_while_it_is_good_enough() {
    let mut b = Bench::new(OnBreak::Hold, Some(4_000));
    assert_eq!(b.sends(1), Some(2));
    b.costs(3_500, 2_000);
    assert_eq!(b.sends(1), Some(2), "4 ms");
    b.costs(3_501, 2_000);
    assert_eq!(b.sends(1), Some(3));
    b.costs(3_501, 9_000);
    assert_eq!(b.sends(1), Some(2), "the best there is, good or not");
    assert_eq!(b.agent.counters().reselected, 2);
}

#[test]
fn packets_go_on_as_they_say() {
    let mut b = Bench::new(OnBreak::Hold, None);
    let route = |nodes: &[u8], segments_left| SourceRoute {
        segments_left,
        route: Addresses::collect(nodes.iter().map(|&n| node(n))).unwrap(),
        ..source_route(&[node(4)])
    };
    let forward = |next: u8, route| {
        [Output::Forward { ticket: Ticket(7), next_hop: node(next), route: Some(Arc::new(route)) }]
    };
    // Not even a neighbour: the MAC will say so.
    assert_eq!(b.gives(data(Some(9)), 1, Some(route(&[OWN, 8], 2))), forward(8, route(&[OWN, 8], 1)));
    assert_eq!(b.gives(data(Some(9)), 1, Some(route(&[8, OWN], 1))), forward(4, route(&[8, OWN], 0)));
    // This node is not where the route says, or the count is wrong.
    for (nodes, left) in [(&[OWN, 8][..], 1), (&[8, OWN], 0), (&[], 0), (&[8], 9)] {
        let said = b.gives(data(Some(9)), 1, Some(route(nodes, left)));
        let [Output::Drop { reason, .. }] = said[..] else { panic!("{said:?}") };
        assert_eq!(reason, DropReason::NoRoute);
    }
    let said = b.gives(data(Some(9)), 1, None);
    assert!(matches!(said[..], [Output::Forward { route: None, .. }]), "plain packets too: {said:?}");
}

#[test]
fn flows_that_have_ended_are_forgotten() {
    let mut b = Bench::new(OnBreak::Hold, None);
    for flow in 0..50 {
        b.sends(flow);
    }
    b.at(310).costs(1, 1);
    b.sends(99);
    assert_eq!(b.agent.paths.len(), 1);
}
