//! Two hubs, a lossy network and an attacker: no sequence of events makes a hub panic or exceed its limits.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::{Duration, Instant, Rng};
use multihop_hub::{Config, Identity, Limits, Peers, Security, Token, Transport, TransportName};
use multihop_hub::{DeliveryFailure, Environment, FailureCause, Hub, Id, IncomingDatagram};
use multihop_transport::mesh;

pub fn fuzz(data: &[u8]) {
    let Some((&first, mut rest)) = data.split_first() else { return };
    let mut net = Net::new(first);
    while let Some((&[operation, argument], after)) = rest.split_first_chunk() {
        rest = after;
        net.step(operation, argument, &mut rest);
        net.collect();
    }
}

struct Net {
    now: Instant,
    hubs: [Hub; 2],
    ids: [Vec<Id>; 2],
    under_way: VecDeque<(usize, Vec<u8>)>,
}

impl Net {
    fn new(first: u8) -> Self {
        let mut config = Config::new(match first % 3 {
            0 => Security::Plain,
            1 => Security::Token(Token::from_bytes([1; 15])),
            _ => Security::Keys { identity: Identity::from_secret([1; 32]), peers: Peers::Any },
        });
        config.limits = Limits {
            connections: 6,
            half_open: 4,
            backlog: 3,
            lingering: 2,
            send_buffer: 5000,
            ..config.limits
        };
        if first >= 128 {
            let name = TransportName::new("mesh/3").expect("visible characters");
            config.transport = Transport { name, config: Arc::new(mesh::Config::net()) };
        }
        config.lifecycle.linger = Duration::from_secs(9);
        let hub = |n: usize| {
            let mut rng = Rng::stream(n as u64, "fuzz", 0);
            let entropy =
                Box::new(move |bytes: &mut [u8]| bytes.fill_with(|| rng.next_u64().to_be_bytes()[0]));
            let outside =
                Environment { entropy, path_mtu: Box::new(|_, _| None), local_address: Box::new(|_| None) };
            Hub::new(&config, PLACES[n].port(), outside).expect("the settings are good")
        };
        let mut hubs = [hub(0), hub(1)];
        hubs[0].listen();
        let mut net = Self { now: Instant::ZERO, hubs, ids: [vec![], vec![]], under_way: VecDeque::new() };
        net.connect();
        net.collect();
        net
    }

    fn connect(&mut self) {
        if self.ids[1].len() < 8 {
            self.ids[1].extend(self.hubs[1].connect(PLACES[0]));
        }
    }

    fn step(&mut self, operation: u8, argument: u8, rest: &mut &[u8]) {
        let end = usize::from(operation >> 7);
        let id = self.ids[end].get(usize::from(argument) % self.ids[end].len().max(1)).copied();
        match (operation % 16, id) {
            (0..=4, _) => self.deliver(PLACES, |_| ()),
            (5, _) => self.deliver(PLACES, |bytes| {
                let at = usize::from(argument) % bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << (operation >> 4 & 7);
                }
            }),
            // From another address, and again from its own.
            (6, _) => {
                self.under_way.extend(self.under_way.front().cloned());
                self.deliver([SocketAddr::from(([203, 0, 113, argument], 1)); 2], |_| ());
            }
            (7, _) => drop(self.under_way.pop_front()),
            (8, _) => {
                self.now += Duration::from_millis(u64::from(argument) * u64::from(argument));
                self.hubs.iter_mut().for_each(|hub| hub.handle_timeout(self.now));
            }
            (9, _) => {
                let (bytes, after) = rest.split_at(usize::from(argument).min(rest.len()));
                *rest = after;
                let datagram =
                    IncomingDatagram { from: PLACES[1 - end], local: None, ttl: Some(argument), bytes };
                self.hubs[end].receive(self.now, datagram);
            }
            (10, _) if end == 0 => self.ids[0].extend(self.hubs[0].accept()),
            (10, _) => self.connect(),
            (11, Some(id)) => {
                _ = self.hubs[end].write(self.now, id, &vec![argument; usize::from(argument) * 20]);
            }
            (12, Some(id)) => drop(self.hubs[end].read(id, &mut [0; 1000])),
            (13, Some(id)) => drop(self.hubs[end].shutdown(self.now, id)),
            (14, Some(id)) if argument < 64 => self.hubs[end].abort(id),
            (14, Some(id)) if argument < 128 => {
                self.ids[end].retain(|kept| *kept != id);
                self.hubs[end].release(self.now, id);
            }
            (15, _) => self.fail(end, argument),
            _ => {}
        }
    }

    fn deliver(&mut self, from: [SocketAddr; 2], change: impl FnOnce(&mut Vec<u8>)) {
        let Some((end, mut bytes)) = self.under_way.pop_front() else { return };
        change(&mut bytes);
        let datagram = IncomingDatagram { from: from[end], local: None, ttl: None, bytes: &bytes };
        self.hubs[1 - end].receive(self.now, datagram);
    }

    fn fail(&mut self, end: usize, argument: u8) {
        let cause = match argument % 3 {
            0 => FailureCause::Unreachable,
            1 => FailureCause::PortClosed,
            _ => FailureCause::TooLong(u16::from(argument) * 9),
        };
        let quoted =
            self.under_way.iter().rfind(|(from, _)| *from == end).map_or(&[][..], |(_, bytes)| bytes);
        let failure = DeliveryFailure { to: PLACES[1 - end], reporter: None, cause, quoted };
        self.hubs[end].on_delivery_failure(self.now, &failure);
    }

    /// Drains the output of the hubs; it must end.
    fn collect(&mut self) {
        for (end, hub) in self.hubs.iter_mut().enumerate() {
            let mut said = 0;
            let mut bytes = Vec::new();
            while let Some(transmit) = hub.poll_transmit(self.now, &mut bytes) {
                assert!(transmit.len > 0 && transmit.len == bytes.len());
                said += 1;
                assert!(said < 1000, "the output does not end");
                let bytes = std::mem::take(&mut bytes);
                if transmit.to == PLACES[1 - end] && self.under_way.len() < 200 {
                    self.under_way.push_back((end, bytes));
                }
            }
            while hub.poll_event().is_some() {}
            assert!(hub.poll_timeout().is_none_or(|at| at > self.now), "a timer is due again");
        }
        // Connections that are open, waiting or beginning, and lingering.
        assert!(self.hubs[0].len() <= self.ids[0].len() + 6 + 3);
    }
}

const PLACES: [SocketAddr; 2] = [
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 7000),
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 4000),
];
