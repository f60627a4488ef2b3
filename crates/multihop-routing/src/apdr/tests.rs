//! Tests of one node with reserved paths, driven step by step.

use std::vec;
use std::vec::Vec;

use multihop_core::{Duration, Rng};
use multihop_wire::olsr::{
    self as olsr_wire, Body, Costs, Hello, HelloLink, LinkCode, Packet, Report, Tc, TimeCode, Willingness,
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
        let agent = Agent::new(
            node(OWN),
            olsr,
            Reservation {
                on_break,
                max_delay: max_cost.map(Duration::from_micros),
                ..Reservation::default()
            },
        );
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

    /// Receives HELLOs in which nodes 2 and 3 report the delays of the links to them.
    fn costs(&mut self, to_2: u32, to_3: u32) -> &mut Self {
        self.hears(2, to_2).hears(3, to_3)
    }

    fn hears(&mut self, from: u8, cost: u32) -> &mut Self {
        self.sequence += 10;
        let symmetric = LinkCode::Symmetric { mpr: false };
        let links = [OWN, 4].map(|n| HelloLink { code: symmetric, address: node(n) }).to_vec();
        let heard = vec![(node(OWN), cost)];
        let (number, quantity) = (self.sequence, olsr::DELAY.quantity);
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
        self.agent.handle(
            self.now,
            Input::Message { interface: multihop_core::Interface(0), from: node(from), ttl: 1, message },
        );
        self
    }

    fn gives(&mut self, packet: Routable, flow: u32, route: Option<SourceRoute>) -> Vec<Output> {
        let packet = Routable { flow, route: route.map(Arc::new), ..packet };
        self.agent.handle(self.now, Input::Packet(packet));
        let mut outputs = Vec::new();
        while let Some(output) = self.agent.poll_output(self.now) {
            if !matches!(output, Output::Notice { .. } | Output::Message { .. }) {
                outputs.push(output);
            }
        }
        outputs
    }

    /// Sends a packet of a flow to node 4; returns the next hop, or `None` if the packet was dropped.
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
    assert_eq!(
        (b.sends(1), b.sends(2)),
        (Some(2), Some(3)),
        "a later flow reserves the path that is best then"
    );
    assert_eq!(b.agent.counters(), Counters { reserved: 2, reselected: 0 });
}

#[test]
fn a_broken_path_is_held_or_replaced() {
    for (on_break, after) in [(OnBreak::Hold, Some(2)), (OnBreak::Reselect, Some(3))] {
        let mut b = Bench::new(on_break, None);
        assert_eq!(b.sends(1), Some(2));
        // No HELLO of node 2 has arrived since.
        b.at(5).hears(3, 2_000);
        assert_eq!(b.sends(1), Some(2));
        b.at(7);
        assert_eq!(b.sends(1), after, "{on_break:?}");
        b.at(30);
        let nobody = if on_break == OnBreak::Hold { Some(2) } else { Some(3) };
        assert_eq!((b.sends(1), b.sends(2)), (nobody, None), "kept if there is no other");
    }
}

#[test]
fn a_path_is_kept_below_its_maximum_cost() {
    let mut b = Bench::new(OnBreak::Hold, Some(4_000));
    assert_eq!(b.sends(1), Some(2));
    b.costs(3_500, 2_000);
    assert_eq!(b.sends(1), Some(2), "4 ms");
    b.costs(3_501, 2_000);
    assert_eq!(b.sends(1), Some(3));
    b.costs(3_501, 9_000);
    assert_eq!(b.sends(1), Some(2), "the best path, although above the limit");
    assert_eq!(b.agent.counters().reselected, 2);
}

#[test]
fn packets_follow_their_source_route() {
    let mut b = Bench::new(OnBreak::Hold, None);
    let route = |nodes: &[u8], segments_left| SourceRoute {
        segments_left,
        route: Addresses::collect(nodes.iter().map(|&n| node(n))).unwrap(),
        ..source_route(&[node(4)])
    };
    let forward = |next: u8, route| {
        [Output::Forward { ticket: Ticket(7), next_hop: node(next), route: Some(Arc::new(route)) }]
    };
    // The next hop is no neighbour: the MAC will report the failure.
    assert_eq!(b.gives(data(Some(9)), 1, Some(route(&[OWN, 8], 2))), forward(8, route(&[OWN, 8], 1)));
    assert_eq!(b.gives(data(Some(9)), 1, Some(route(&[8, OWN], 1))), forward(4, route(&[8, OWN], 0)));
    // This node is not at this position of the route, or `segments_left` is wrong.
    for (nodes, left) in [(&[OWN, 8][..], 1), (&[8, OWN], 0), (&[], 0), (&[8], 9)] {
        let outputs = b.gives(data(Some(9)), 1, Some(route(nodes, left)));
        let [Output::Drop { reason, .. }] = outputs[..] else { panic!("{outputs:?}") };
        assert_eq!(reason, DropReason::NoRoute);
    }
    let outputs = b.gives(data(Some(9)), 1, None);
    assert!(
        matches!(outputs[..], [Output::Forward { route: None, .. }]),
        "packets without source route use the table: {outputs:?}"
    );
}

#[test]
fn inactive_flows_are_forgotten() {
    let mut b = Bench::new(OnBreak::Hold, None);
    for flow in 0..50 {
        b.sends(flow);
    }
    b.at(310).costs(1, 1);
    b.sends(99);
    assert_eq!(b.agent.reservations.len(), 1);
}

#[test]
fn a_path_is_released_when_its_flow_is_silent() {
    let mut b = Bench::new(OnBreak::Hold, None);
    b.sends(1);
    b.at(100).sends(1);
    let due = Instant::ZERO + Duration::from_secs(400);
    assert_eq!(b.agent.reservations.due(), Some(due), "300 s after the last packet");
    let just_before = Instant::ZERO + Duration::from_millis(399_999);
    b.agent.reservations.release(just_before);
    let paths: Vec<_> = b.agent.reservations.paths().map(|(flow, path, _)| (flow.1, path.to_vec())).collect();
    assert_eq!(paths, [(1, vec![node(2), node(4)])]);
    b.agent.reservations.release(due);
    assert!(b.agent.reservations.is_empty());
}
