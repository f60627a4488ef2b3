//! A node with two interfaces, 10.0.0.1 and 10.0.1.1. Neighbour n has 10.0.0.n, its main address, and 10.0.1.n.

use super::*;

fn at(interface: u8, n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, interface, n)
}

struct Two {
    agent: Agent,
    now: Instant,
}

impl Two {
    fn new(config: Config) -> Self {
        let config = Config { max_jitter: Duration::ZERO, ..config };
        let agent = Agent::new(Instant::ZERO, node(OWN), config, Rng::stream(1, "olsr", 0)).on_host(0);
        let mut two = Self { agent, now: Instant::ZERO };
        two.set(&[0, 1]);
        two
    }

    /// Sets the numbers of the interfaces that are up.
    fn set(&mut self, up: &[u8]) {
        let list = up.iter().map(|&interface| (Interface(interface), at(interface, OWN))).collect();
        self.agent.set_interfaces(self.now, list);
    }

    /// Receives a HELLO from a neighbour's interface that lists this node's interface.
    fn hello(&mut self, interface: u8, from: u8) {
        let mut message = reporting(from, 1, 0, &[], &[]);
        let Body::Hello(hello) = &mut message.body else { unreachable!("made above") };
        hello.links = vec![HelloLink { code: SYM, address: at(interface, OWN) }];
        let packet = Packet { sequence: 1, messages: vec![message] };
        self.agent.receive_late(self.now, self.now, (Interface(interface), at(interface, from)), &packet);
    }

    /// Runs the bench for some seconds, and returns the messages with the interface over which each left.
    fn run(&mut self, seconds: u64) -> Vec<(Option<Interface>, Message)> {
        let end = self.now + Duration::from_secs(seconds);
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= end) {
            self.now = due;
            self.agent.handle_timeout(due);
        }
        self.now = end;
        let mut sent = Vec::new();
        while let Some(output) = self.agent.poll_output(end) {
            if let Output::Message { interface, message: RoutingMessage::Olsr(packet), .. } = output {
                sent.extend(packet.messages.iter().map(|message| (interface, message.clone())));
            }
        }
        sent
    }

    fn neighbours(&self) -> Vec<u8> {
        lasts(self.agent.neighbours())
    }
}

/// The interfaces that a node announces.
fn mids(sent: &[(Option<Interface>, Message)]) -> Vec<Vec<Ipv4Addr>> {
    let mid = |(_, message): &(_, Message)| match &message.body {
        Body::Mid(mid) => Some(mid.interfaces.clone()),
        _ => None,
    };
    sent.iter().filter_map(mid).collect()
}

#[test]
fn links_over_an_interface_that_goes_end_and_its_address_is_announced_no_longer() {
    let mut two = Two::new(Config::rfc());
    for (interface, n) in [(0, 2), (0, 3), (1, 3), (1, 4)] {
        two.hello(interface, n);
    }
    assert_eq!(two.neighbours(), [2, 3, 4]);
    assert!(mids(&two.run(5)).iter().all(|interfaces| interfaces == &[at(1, OWN)]));
    for (interface, n) in [(0, 2), (0, 3), (1, 3), (1, 4)] {
        two.hello(interface, n);
    }
    two.set(&[0]);
    assert_eq!(two.neighbours(), [2, 3]);
    let sent = two.run(5);
    assert!(mids(&sent).is_empty());
    assert!(sent.iter().all(|(interface, _)| interface.is_none()), "the only interface");
}

#[test]
fn an_interface_that_comes_is_announced() {
    let mut two = Two::new(Config::rfc());
    two.set(&[0]);
    two.run(5);
    two.set(&[0, 7]);
    let announced = mids(&two.run(6));
    assert!(announced.contains(&vec![at(7, OWN)]), "{announced:?}");
}

#[test]
fn each_interface_reports_what_it_has_measured() {
    let mut two = Two::new(Config::rfc().with_metric(Metric::default()));
    for (interface, n) in [(0, 2), (1, 3), (1, 2)] {
        two.hello(interface, n);
    }
    let sent = two.run(3);
    for (interface, neighbours) in [(0, vec![2]), (1, vec![2, 3])] {
        let report = sent.iter().rev().find_map(|(over, message)| match &message.body {
            Body::Hello(hello) if *over == Some(Interface(interface)) => hello.report.clone(),
            _ => None,
        });
        let heard: Vec<_> = report.expect("a HELLO").heard.iter().map(|(of, _)| *of).collect();
        assert_eq!(heard, neighbours.into_iter().map(|n| at(interface, n)).collect::<Vec<_>>());
    }
}

#[test]
fn a_farewell_ends_the_links_over_one_interface() {
    let mut two = Two::new(Config::rfc());
    for (interface, n) in [(0, 2), (1, 2), (1, 3)] {
        two.hello(interface, n);
    }
    let packet = two.agent.farewell(two.now, Interface(1)).expect("it has links");
    let Body::Hello(hello) = &packet.messages[0].body else { panic!("a HELLO") };
    let lost: Vec<_> = hello.links.iter().map(|link| (link.code, link.address)).collect();
    assert_eq!(lost, [(LOST, at(1, 2)), (LOST, at(1, 3))]);
}
