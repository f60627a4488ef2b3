//! A node with two interfaces, 10.0.0.1 on channel 1 and 10.0.1.1 on channel 11. Neighbour n has 10.0.0.n and 10.0.1.n.

use super::super::wire::Channels;
use super::*;

const CHANNELS: [u8; 2] = [1, 11];

fn at(interface: u8, n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, interface, n)
}

struct Two {
    agent: Agent,
    now: Instant,
}

impl Two {
    /// A node with neighbour 2 on both interfaces and neighbour 3 on the second one; all links are symmetric.
    fn new(config: Config) -> Self {
        let agent = Agent::new(Instant::ZERO, node(OWN), config, Rng::stream(1, "babel", 0));
        let agent = agent.with_interfaces(vec![at(0, OWN), at(1, OWN)], &CHANNELS);
        let mut two = Self { agent, now: Instant::ZERO + Duration::from_secs(5) };
        for seqno in [1, 2] {
            for (interface, n) in [(0, 2), (1, 2), (1, 3)] {
                let hello =
                    Hello { unicast: false, seqno: Seqno(seqno), interval: Centis(6000), timestamp: None };
                let address = Some(at(interface, OWN).into());
                let ihu = Ihu { address, rxcost: LINK, interval: Centis(1200), echo: None };
                two.gets(interface, n, vec![Tlv::Hello(hello), Tlv::Ihu(ihu)]);
            }
        }
        two.sent();
        two
    }

    fn gets(&mut self, interface: u8, from: u8, tlvs: Vec<Tlv>) {
        let message = Message::custom(Packet { tlvs });
        let (interface, from) = (Interface(interface), at(interface, from));
        self.agent.handle(self.now, Input::Message { interface, from, ttl: 1, message });
    }

    /// The TLVs that leave over each interface in the next five seconds.
    fn sent(&mut self) -> Vec<(Option<Interface>, Tlv)> {
        let end = self.now + Duration::from_secs(5);
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            self.agent.handle_timeout(self.now);
        }
        self.now = end;
        let mut sent = Vec::new();
        while let Some(output) = self.agent.poll_output(end) {
            if let Output::Message { interface, message, .. } = output {
                let packet = message.content::<Packet>().expect("a packet of the protocol");
                sent.extend(packet.tlvs.iter().map(|tlv| (interface, *tlv)));
            }
        }
        sent
    }

    /// An update for node 9 over both interfaces of neighbour 2, whose own link is on channel 1.
    fn learns(&mut self) {
        let Tlv::Update(update) = update(9, 1, Some(LINK)) else { unreachable!("made above") };
        let update = Update { channels: Some(Channels::new([1])), ..update };
        for interface in [0, 1] {
            self.gets(interface, 2, vec![Tlv::Update(update)]);
        }
    }
}

#[test]
fn each_interface_greets_its_own_neighbours_and_all_announce_routes() {
    let mut two = Two::new(plain());
    two.learns();
    let sent = two.sent();
    for interface in [0, 1] {
        let here = sent.iter().filter(|(over, _)| *over == Some(Interface(interface)));
        let here: Vec<_> = here.map(|(_, tlv)| *tlv).collect();
        let mut heard =
            here.iter().filter_map(|tlv| if let Tlv::Ihu(ihu) = tlv { ihu.address } else { None });
        let neighbours: &[u8] = if interface == 0 { &[2] } else { &[2, 3] };
        assert!(
            neighbours.iter().all(|&n| heard.next() == Some(at(interface, n).into()))
                && heard.next().is_none()
        );
        assert_eq!(here.iter().filter(|tlv| matches!(tlv, Tlv::Hello(_))).count(), 1);
        let to_9 = |tlv: &Tlv| matches!(tlv, Tlv::Update(update) if update.prefix == Prefix::host(node(9)));
        assert!(here.iter().any(to_9), "over {interface}");
    }
}

#[test]
fn the_next_hop_is_on_another_channel_than_the_hop_after_it() {
    let mut two = Two::new(plain());
    two.learns();
    let route = two.agent.route(node(9)).expect("a route");
    assert_eq!((route.next_hop, route.metric), (at(1, 2).into(), LINK + LINK / 2));
    let updates = two.sent().into_iter().filter_map(|(_, tlv)| match tlv {
        Tlv::Update(update) if update.prefix == Prefix::host(node(9)) => update.channels,
        _ => None,
    });
    assert!(updates.into_iter().all(|channels| channels == Channels::new([11, 1])));
}

#[test]
fn channels_do_not_count_if_they_are_not_to() {
    let mut two = Two::new(Config { diversity: None, ..plain() });
    two.learns();
    let route = two.agent.route(node(9)).expect("a route");
    assert_eq!((route.next_hop, route.metric), (at(0, 2).into(), 2 * LINK));
    assert!(two.sent().iter().all(|(_, tlv)| !matches!(tlv, Tlv::Update(Update { channels: Some(_), .. }))));
}

#[test]
fn other_channels_of_a_route_are_announced() {
    let mut two = Two::new(plain());
    two.learns();
    two.sent();
    let Tlv::Update(update) = update(9, 1, Some(LINK)) else { unreachable!("made above") };
    let update = Update { channels: Some(Channels::new([1, 36])), ..update };
    two.gets(1, 2, vec![Tlv::Update(update)]);
    two.agent.handle_timeout(two.now + Duration::from_millis(1));
    let outputs = core::iter::from_fn(|| two.agent.poll_output(two.now));
    let named = outputs.filter_map(|output| match output {
        Output::Message { message, .. } => message
            .content::<Packet>()
            .expect("a packet of the protocol")
            .tlvs
            .iter()
            .find_map(|tlv| if let Tlv::Update(update) = tlv { update.channels } else { None }),
        _ => None,
    });
    assert_eq!(named.collect::<Vec<_>>(), [Channels::new([11, 1, 36]); 2], "over both interfaces, at once");
}
