//! Hubs in virtual time on a lossy network, with an attacker that can eavesdrop and send.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use multihop_core::{Duration, Instant, Machine, Rng, earliest};
use multihop_hub::{Config, Error, Identity, Peers, Security, Token};
use multihop_hub::{DeliveryFailure, Entropy, Environment, FailureCause, Hub, Id, IncomingDatagram};
use multihop_testkit::{LinkConfig, LossyLink};

mod attacks;
mod failures;
mod floods;
mod indices;
mod many;
mod moves;
mod rekey;
mod restarts;
mod routes;
mod second;
mod silence;
mod transfers;
mod transports;
mod versions;
mod windows;

/// A datagram in flight.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Packet {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// Hubs, and the network between them.
struct Net {
    now: Instant,
    hubs: BTreeMap<SocketAddr, Hub>,
    link: LossyLink<Packet>,
    rng: Rng,
    /// Share of datagrams of which a bit is changed.
    corruption: f64,
    /// Whether a datagram is lost.
    is_lost: fn(&Packet) -> bool,
    /// All datagrams sent, while an eavesdropper records them.
    heard: Option<Vec<Packet>>,
    /// Bytes sent to each address that does not belong to a hub.
    astray: BTreeMap<SocketAddr, u64>,
    /// Two addresses: datagrams from the first one arrive from the second one, and datagrams to the second
    /// one arrive at the first one.
    moved: Option<(SocketAddr, SocketAddr)>,
    /// Further addresses of hubs, with the hub that has each.
    further: BTreeMap<SocketAddr, SocketAddr>,
    local: Arc<Mutex<Option<OtherHost>>>,
    /// The TTL with which all datagrams arrive.
    ttl: Option<u8>,
    /// The failure of all datagrams to this address, and when it was last reported.
    broken: Option<(SocketAddr, FailureCause, Option<Instant>)>,
    /// The path MTU that the system reports.
    path_mtu: Arc<AtomicU16>,
    /// The time that a byte needs in the queue of its sender's host, and when each queue is empty.
    byte_time: Duration,
    queues: BTreeMap<SocketAddr, Instant>,
}

/// A hub, and the address of its host if that differs from the hub's own; `None` if it has no route.
type OtherHost = (SocketAddr, Option<IpAddr>);

/// A transfer through a connection.
struct Transfer {
    from: (SocketAddr, Id),
    to: Option<(SocketAddr, Id)>,
    len: usize,
    sent: usize,
    received: usize,
}

impl Net {
    fn new(seed: u64, config: LinkConfig) -> Self {
        let link = LossyLink::new(config, Rng::stream(seed, "test/link", 0));
        let rng = Rng::stream(seed, "test/net", 0);
        let (now, hubs) = (Instant::ZERO, BTreeMap::new());
        let path_mtu = Arc::new(AtomicU16::new(1500));
        let (astray, heard, moved, ttl, broken) = (BTreeMap::new(), None, None, None, None);
        let (is_lost, local) = (|_: &Packet| false, Arc::default());
        Self {
            now,
            hubs,
            link,
            rng,
            corruption: 0.0,
            is_lost,
            heard,
            astray,
            moved,
            further: BTreeMap::new(),
            local,
            ttl,
            broken,
            path_mtu,
            byte_time: Duration::ZERO,
            queues: BTreeMap::new(),
        }
    }

    fn quiet(seed: u64) -> Self {
        Self::new(seed, LinkConfig { delay: Duration::from_millis(5), ..LinkConfig::default() })
    }

    fn add(&mut self, at: SocketAddr, config: &Config) {
        let mtu = Arc::clone(&self.path_mtu);
        let path_mtu = Box::new(move |_, _| Some(mtu.load(Ordering::Relaxed)));
        let local = Arc::clone(&self.local);
        let local_address = Box::new(move |_| match *local.lock().unwrap() {
            Some((whose, address)) if whose == at => address,
            _ => Some(at.ip()),
        });
        let outside = Environment { entropy: entropy(self.rng.next_u64()), path_mtu, local_address };
        self.hubs.insert(at, Hub::new(config, at.port(), outside).unwrap());
    }

    fn listen(&mut self, at: SocketAddr, config: &Config) {
        self.add(at, config);
        self.hub(at).listen();
    }

    fn hub(&mut self, at: SocketAddr) -> &mut Hub {
        self.hubs.get_mut(&at).expect("a hub's address")
    }

    fn write(&mut self, at: SocketAddr, id: Id, data: &[u8]) -> Result<usize, Error> {
        let now = self.now;
        self.hub(at).write(now, id, data)
    }

    fn shutdown(&mut self, at: SocketAddr, id: Id) -> Result<bool, Error> {
        let now = self.now;
        self.hub(at).shutdown(now, id)
    }

    fn release(&mut self, at: SocketAddr, id: Id) {
        let now = self.now;
        self.hub(at).release(now, id);
    }

    /// Creates a caller at `from`, which begins to send to the listener at `to`.
    fn call(&mut self, from: SocketAddr, config: &Config, to: SocketAddr, len: usize) -> Transfer {
        self.add(from, config);
        let id = self.hub(from).connect(to).unwrap();
        Transfer { from: (from, id), to: None, len, sent: 0, received: 0 }
    }

    /// Gives the host of the hub at `from` another address, of which the hub can know.
    fn move_host(&mut self, from: SocketAddr, to: SocketAddr) {
        self.moved = Some((from, to));
        *self.local.lock().unwrap() = Some((from, Some(to.ip())));
    }

    /// Passes a datagram to a hub without the link, if the hub exists.
    fn inject(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if let Some(hub) = self.hubs.get_mut(&to) {
            hub.receive(self.now, IncomingDatagram { from, local: None, ttl: None, bytes });
        }
    }

    /// Processes everything that is due now; returns the next deadline.
    fn settle(&mut self) -> Option<Instant> {
        self.collect();
        self.link.handle_timeout(self.now);
        while let Some(packet) = self.link.poll_output(self.now) {
            let (from, to) = match self.moved {
                Some((old, new)) if packet.from == old => (new, packet.to),
                Some((old, new)) if packet.to == new => (packet.from, old),
                Some((old, _)) if packet.to == old => continue,
                _ => (packet.from, packet.to),
            };
            let mut bytes = packet.bytes;
            if self.rng.chance(self.corruption) {
                let bit = self.rng.below(u32::try_from(bytes.len() * 8).unwrap()) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            let (at, local) = self.further.get(&to).map_or((to, None), |&at| (at, Some(to.ip())));
            match self.hubs.get_mut(&at) {
                Some(hub) => {
                    hub.receive(self.now, IncomingDatagram { from, local, ttl: self.ttl, bytes: &bytes });
                }
                None => *self.astray.entry(to).or_default() += bytes.len() as u64,
            }
            self.collect();
        }
        let hubs = self.hubs.values().map(Hub::poll_timeout);
        hubs.fold(self.link.poll_timeout(), earliest)
    }

    /// Puts the output of the hubs on the link.
    fn collect(&mut self) {
        for (&at, hub) in &mut self.hubs {
            loop {
                let mut bytes = Vec::new();
                let Some(transmit) = hub.poll_transmit(self.now, &mut bytes) else { break };
                assert_eq!(transmit.len, bytes.len());
                let from = transmit.source.map_or(at, |ip| SocketAddr::new(ip, at.port()));
                let packet = Packet { from, to: transmit.to, bytes };
                if let Some(heard) = &mut self.heard {
                    heard.push(packet.clone());
                }
                if let Some((_, cause, told)) = self.broken.as_mut().filter(|(whose, ..)| *whose == at) {
                    // Routers report one failure per second (`net.ipv4.icmp_ratelimit`).
                    if told.is_none_or(|told| self.now >= told + seconds(1)) {
                        *told = Some(self.now);
                        // Linux routers quote 576 bytes, others 8 bytes of UDP.
                        let quoted = &packet.bytes[..packet.bytes.len().min(64)];
                        let failure =
                            DeliveryFailure { to: packet.to, reporter: None, cause: *cause, quoted };
                        hub.on_delivery_failure(self.now, &failure);
                    }
                    continue;
                }
                if !(self.is_lost)(&packet) {
                    let free = self.queues.entry(packet.from).or_default();
                    *free = (*free).max(self.now) + self.byte_time * packet.bytes.len() as u64;
                    self.link.handle(*free, packet);
                }
            }
            while hub.poll_event().is_some() {}
        }
    }

    /// Advances time until the condition holds, at most for this long. Returns whether it holds.
    fn run(
        &mut self,
        limit: Duration,
        transfers: &mut [Transfer],
        done: impl Fn(&[Transfer]) -> bool,
    ) -> bool {
        let end = self.now + limit;
        loop {
            for transfer in transfers.iter_mut() {
                transfer.pump(self);
            }
            let next = self.settle();
            if done(transfers) {
                return true;
            }
            match next.filter(|next| *next <= end) {
                Some(next) => {
                    self.now = self.now.max(next);
                    for hub in self.hubs.values_mut() {
                        hub.handle_timeout(self.now);
                    }
                }
                None => {
                    self.now = end;
                    return false;
                }
            }
        }
    }

    /// Runs until every byte has arrived.
    fn finish(&mut self, limit: Duration, transfers: &mut [Transfer]) {
        let done = self.run(limit, transfers, |all| all.iter().all(Transfer::is_done));
        let states: Vec<_> = transfers.iter().map(|t| (t.from.0, t.sent, t.received, t.len)).collect();
        assert!(done, "after {limit}: {states:?}");
    }

    fn wait(&mut self, time: Duration) {
        self.run(time, &mut [], |_| false);
    }
}

impl Transfer {
    /// The transfer in the other direction of the same connection.
    fn back(&self, len: usize) -> Self {
        Self { from: self.to.unwrap(), to: Some(self.from), len, sent: 0, received: 0 }
    }

    fn is_done(&self) -> bool {
        self.received == self.len
    }

    /// Writes and reads as much as possible; checks every byte.
    fn pump(&mut self, net: &mut Net) {
        let (at, id) = self.from;
        if net.hub(at).is_connected(id) == Ok(true) && self.sent < self.len {
            let end = self.len.min(self.sent + 4096);
            let data: Vec<u8> = (self.sent..end).map(byte).collect();
            self.sent += net.write(at, id, &data).unwrap();
        }
        if self.to.is_none() {
            let listener = net.hub(at).peer(id).unwrap();
            self.to = net.hub(listener).accept().map(|id| (listener, id));
        }
        let Some((at, id)) = self.to else { return };
        let mut data = [0; 4096];
        while let Some(n @ 1..) = net.hub(at).read(id, &mut data).unwrap() {
            for &found in &data[..n] {
                assert_eq!(found, byte(self.received), "byte {}", self.received);
                self.received += 1;
            }
        }
    }
}

fn byte(place: usize) -> u8 {
    u8::try_from((place * 31 + place / 251) % 256).unwrap()
}

fn entropy(seed: u64) -> Entropy {
    let mut rng = Rng::stream(seed, "test/entropy", 0);
    Box::new(move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&rng.next_u64().to_be_bytes()[..chunk.len()]);
        }
    })
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn host(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 4000 + u16::from(n)))
}

fn listener() -> SocketAddr {
    address("10.0.0.100:7000")
}

fn plain() -> Config {
    Config::new(Security::Plain)
}

fn token() -> Config {
    Config::new(Security::Token(Token::from_bytes([1; 15])))
}

fn keys() -> Config {
    Config::new(Security::Keys { identity: Identity::from_secret([1; 32]), peers: Peers::Any })
}

/// Configurations of all security modes.
fn all() -> [(&'static str, Config); 3] {
    [("plain", plain()), ("token", token()), ("keys", keys())]
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
