//! Number of memory allocations of a warm connection between two hubs for each segment. This test is the only
//! one of its program, so that no other test's allocations are counted.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::{Duration, Instant, Rng};
use multihop_hub::{Config, Security, Token, Transport, TransportName};
use multihop_hub::{Environment, Hub, Id, IncomingDatagram};
use multihop_testkit::CountingAllocator;
use multihop_transport::mesh;

#[test]
fn a_segment_costs_few_allocations() {
    let token = || Config::new(Security::Token(Token::from_bytes([7; 15])));
    let mesh = Transport { name: TransportName::new("mesh").unwrap(), config: Arc::new(mesh::Config::net()) };
    // One copy of the data is made at the sender, and one at the receiver. Other allocations occur once in
    // several segments.
    check("plain", Config::new(Security::Plain), 2.5);
    check("encrypted", token(), 2.5);
    // Only writes allocate memory.
    check("mesh, plain", Config { transport: mesh.clone(), ..Config::new(Security::Plain) }, 0.1);
    check("mesh, encrypted", Config { transport: mesh, ..token() }, 0.1);
}

fn check(name: &str, config: Config, most: f64) {
    let mut ends = HubPair::new(&config);
    (0..2000).for_each(|_| ends.round());
    let (before, segments) = (ALLOCATOR.count(), ends.segments);
    (0..2000).for_each(|_| ends.round());
    let segments = ends.segments - segments;
    assert!(segments > 2000, "{name}: {segments} segments");
    let each = (ALLOCATOR.count() - before) as f64 / segments as f64;
    assert!(each < most, "{name}: {each:.2} allocations for a segment");
}

/// A hub that sends without pause, and one that receives.
struct HubPair {
    now: Instant,
    hubs: [Hub; 2],
    sender: Id,
    receiver: Option<Id>,
    datagram: Vec<u8>,
    buffer: Vec<u8>,
    /// Datagrams with a full segment.
    segments: u64,
}

impl HubPair {
    fn new(config: &Config) -> Self {
        let mut hubs = [0, 1].map(|at| Hub::new(config, port(at), environment(at)).unwrap());
        hubs[1].listen();
        let sender = hubs[0].connect(address(1)).unwrap();
        let (datagram, buffer) = (Vec::new(), vec![7; 1 << 16]);
        Self { now: Instant::ZERO, hubs, sender, receiver: None, datagram, buffer, segments: 0 }
    }

    /// Advances time by a millisecond.
    fn round(&mut self) {
        self.now += Duration::from_millis(1);
        let now = self.now;
        self.hubs.iter_mut().for_each(|hub| hub.handle_timeout(now));
        if self.hubs[0].is_connected(self.sender).unwrap() {
            self.hubs[0].write(now, self.sender, &self.buffer).unwrap();
        }
        self.carry(0);
        self.receiver = self.receiver.or_else(|| self.hubs[1].accept());
        if let Some(receiver) = self.receiver {
            while self.hubs[1].read(receiver, &mut self.buffer).unwrap().is_some() {}
        }
        self.carry(1);
    }

    /// Passes on what this hub sends.
    fn carry(&mut self, from: usize) {
        self.datagram.clear();
        while self.hubs[from].poll_transmit(self.now, &mut self.datagram).is_some() {
            self.segments += u64::from(self.datagram.len() > 1400);
            let (from, bytes) = (address(from), &self.datagram[..]);
            let datagram = IncomingDatagram { from, local: None, ttl: None, bytes };
            self.hubs[usize::from(from == address(0))].receive(self.now, datagram);
            self.datagram.clear();
        }
        while self.hubs[from].poll_event().is_some() {}
    }
}

fn environment(at: usize) -> Environment {
    let mut rng = Rng::stream(1, "test/allocations", at as u64);
    Environment {
        entropy: Box::new(move |bytes| bytes.fill_with(|| rng.next_u64().to_le_bytes()[0])),
        path_mtu: Box::new(|_, _| Some(1500)),
        local_address: Box::new(move |_| Some(address(at).ip())),
    }
}

fn address(at: usize) -> SocketAddr {
    SocketAddr::new([10, 0, 0, 1].into(), port(at))
}

fn port(at: usize) -> u16 {
    [1000, 2000][at]
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
