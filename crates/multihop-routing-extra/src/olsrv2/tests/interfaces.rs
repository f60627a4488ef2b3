//! A node with two interfaces, 10.0.0.1 and 10.0.1.1. Neighbour n has the main address 10.0.0.n and the
//! address 10.0.1.n.

use super::*;

fn at(interface: u8, n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, interface, n)
}

struct Two {
    agent: Agent,
    now: Instant,
    sequences: u16,
}

impl Two {
    /// Neighbours 2 and 3 have symmetric links on both interfaces, neighbour 4 on the second one.
    fn new() -> Self {
        let config = Config { metric: LinkMetric::Hops, max_jitter: Duration::ZERO, ..Config::default() };
        let agent = Agent::new(Instant::ZERO, node(OWN), config, Rng::stream(1, "olsrv2", 0));
        let agent = agent.with_interfaces(vec![at(0, OWN), at(1, OWN)]);
        let mut two = Self { agent, now: Instant::ZERO, sequences: 0 };
        two.run(1);
        for (interface, n) in [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4)] {
            two.hello(interface, n, relay);
        }
        two
    }

    /// Receives a HELLO from a neighbour's interface that lists this node's interface.
    fn hello(&mut self, interface: u8, from: u8, says: impl Fn(u8) -> Neighbour) {
        let own = Neighbour { address: at(interface, OWN), ..says(OWN) };
        let Message::Hello(hello) = hello(from, &[own]) else { unreachable!("made above") };
        let addresses = vec![at(interface, from)];
        self.gets(interface, from, Message::Hello(Hello { addresses, ..hello }));
    }

    fn gets(&mut self, interface: u8, from: u8, message: Message) {
        self.sequences += 1;
        let packet = Packet { sequence: Some(self.sequences), messages: vec![message] };
        let message = RoutingMessage::custom(packet);
        let (interface, from) = (Interface(interface), at(interface, from));
        self.agent.handle(self.now, Input::Message { interface, from, ttl: 1, message });
    }

    /// The packets that leave over each interface within this many seconds.
    fn run(&mut self, seconds: u64) -> Vec<(u8, Packet)> {
        let end = self.now + Duration::from_secs(seconds);
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= end) {
            self.now = due;
            self.agent.handle_timeout(due);
        }
        self.now = end;
        let outputs = core::iter::from_fn(|| self.agent.poll_output(end));
        let sent = outputs.filter_map(|output| match output {
            Output::Message { interface, message, .. } => {
                let packet = message.content::<Packet>().expect("a packet of the protocol");
                Some((interface.expect("one of two interfaces").0, packet.clone()))
            }
            _ => None,
        });
        sent.collect()
    }

    fn next_hop(&mut self, previous_hop: Option<Ipv4Addr>, to: u8) -> Ipv4Addr {
        let packet = Routable { previous_hop, ..data(None, to) };
        self.agent.handle(self.now, Input::Packet(packet));
        while let Some(output) = self.agent.poll_output(self.now) {
            if let Output::Forward { next_hop, .. } = output {
                return next_hop;
            }
        }
        panic!("not forwarded")
    }
}

#[test]
fn each_interface_declares_its_links_and_all_neighbours_by_their_names() {
    let mut two = Two::new();
    let sent = two.run(2);
    let declared = |interface: u8| {
        let here =
            sent.iter().filter(|(over, _)| *over == interface).flat_map(|(_, packet)| &packet.messages);
        let mut hello =
            here.filter_map(|message| if let Message::Hello(hello) = message { Some(hello) } else { None });
        let hello = hello.next_back().expect("a HELLO");
        let own = (hello.originator, hello.addresses.clone(), hello.further.clone());
        assert_eq!(own, (at(0, OWN), vec![at(interface, OWN)], vec![at(1 - interface, OWN)]));
        hello.neighbours.iter().map(|one| (one.address, one.link, one.symmetric)).collect::<Vec<_>>()
    };
    let link = |interface, n| (at(interface, n), Some(SYM), None);
    let named = |n| (at(0, n), None, Some(true));
    assert_eq!(declared(0), [link(0, 2), link(0, 3), named(4)]);
    assert_eq!(declared(1), [link(1, 2), link(1, 3), link(1, 4), named(2), named(3), named(4)]);
    assert_eq!(two.agent.neighbours().map(last).collect::<Vec<_>>(), [2, 3, 4], "each once");
}

#[test]
fn packets_of_each_interface_are_numbered_without_gaps() {
    let sent = Two::new().run(20);
    for interface in [0, 1] {
        let numbers =
            sent.iter().filter(|(over, _)| *over == interface).map(|(_, packet)| packet.sequence.unwrap());
        let numbers: Vec<_> = numbers.collect();
        assert!(numbers.len() > 10 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    }
}

#[test]
fn a_packet_leaves_over_another_interface_than_it_came_if_the_next_hop_is_there() {
    let mut two = Two::new();
    assert_eq!(two.next_hop(None, 3), at(0, 3), "a packet of this node");
    assert_eq!(two.next_hop(Some(at(0, 2)), 3), at(1, 3));
    assert_eq!(two.next_hop(Some(at(1, 2)), 3), at(0, 3));
    assert_eq!(two.next_hop(Some(at(1, 2)), 4), at(1, 4), "the only link");
    let dear = |n| says_cost(n, SYM, 3, 1);
    two.hello(1, 3, dear);
    assert_eq!(
        two.next_hop(Some(at(0, 2)), 3),
        at(0, 3),
        "three times as dear as the link on the same interface"
    );
}

#[test]
fn routes_lead_over_the_cheaper_link_to_a_neighbour() {
    let mut two = Two::new();
    two.hello(0, 3, |n| says_cost(n, SYM, 2, 1));
    let route = two.agent.route(node(3)).expect("a neighbour");
    assert_eq!((route.next_hop, route.cost), (at(1, 3), 1));
}

#[test]
fn a_flood_is_forwarded_once_when_it_comes_from_a_selector_over_any_interface() {
    let mut two = Two::new();
    // Neighbour 3 has not chosen this node.
    two.hello(0, 3, |n| says(n, SYM));
    two.hello(1, 3, |n| says(n, SYM));
    let mut forwarded = |from| {
        two.gets(1, from, Message::Tc(tc(9, 1, 1, &[(8, 1)])));
        let is_of_9 = |message: &Message| matches!(message, Message::Tc(tc) if tc.originator == node(9));
        two.run(1).iter().filter(|(_, packet)| packet.messages.iter().any(is_of_9)).count()
    };
    assert_eq!([3, 2, 4].map(&mut forwarded), [0, 2, 0], "over both interfaces, once");
}

#[test]
fn a_hello_from_an_address_that_it_does_not_name_is_ignored() {
    let mut two = Two::new();
    let Message::Hello(hello) = hello(7, &[says(OWN, SYM)]) else { unreachable!("made above") };
    two.gets(1, 8, Message::Hello(hello));
    assert_eq!((two.agent.counters().strangers, two.agent.links.get(at(1, 8)).is_none()), (1, true));
}
