//! The user-defined transport of examples/my_protocols.rs between two ends on a network.

use std::net::{SocketAddr, UdpSocket};
use std::thread;

use multihop_core::{Duration, Instant, Machine, Rng, earliest};
use multihop_net::hub::{Environment, Hub, Id, IncomingDatagram};
use multihop_net::{Config, CustomTransport, Error, Identity, Peers, Security, Token, TransportName};
use multihop_scenario::set_transport;
use multihop_testkit::{Link, LinkConfig};

use super::Folder;
use crate::extension::{my_protocols, run};

const LISTENER: usize = 0;
const INITIATOR: usize = 1;

/// A hub at each end of a lossy path, in virtual time.
struct Ends {
    now: Instant,
    hubs: [Hub; 2],
    /// From each end to the other.
    links: [Link<Vec<u8>>; 2],
    /// The datagrams of both ends.
    sent: Vec<Vec<u8>>,
    /// Whether nothing arrives any more.
    cut: bool,
    initiated: Id,
    accepted: Option<Id>,
}

impl Ends {
    fn new(configs: [Config; 2], faults: LinkConfig) -> Self {
        let [mut listener, mut initiator] = [0, 1].map(|end| {
            let mut rng = Rng::stream(1, "test/entropy", end as u64);
            let entropy =
                Box::new(move |bytes: &mut [u8]| bytes.fill_with(|| rng.next_u64().to_be_bytes()[0]));
            let environment = Environment {
                entropy,
                path_mtu: Box::new(|_| Some(1500)),
                local_address: Box::new(|_| None),
            };
            Hub::new(&configs[end], address(end).port(), environment).unwrap()
        });
        listener.listen();
        let initiated = initiator.connect(address(LISTENER)).unwrap();
        let links = [0, 1].map(|end| Link::new(faults, Rng::stream(1, "test/link", end)));
        let (now, hubs) = (Instant::ZERO, [listener, initiator]);
        Self { now, hubs, links, sent: Vec::new(), cut: false, initiated, accepted: None }
    }

    /// Everything that happens now, and then time up to the next deadline. False if there is none.
    fn step(&mut self) -> bool {
        for end in [LISTENER, INITIATOR] {
            let mut bytes = Vec::new();
            while self.hubs[end].poll_transmit(self.now, &mut bytes).is_some() {
                self.sent.push(bytes.clone());
                self.links[end].handle(self.now, std::mem::take(&mut bytes));
            }
            while self.hubs[end].poll_event().is_some() {}
        }
        self.accepted = self.accepted.or_else(|| self.hubs[LISTENER].accept());
        let hubs = self.hubs.iter().map(Hub::poll_timeout);
        let next = self.links.iter().map(Link::poll_timeout).chain(hubs).fold(None, earliest);
        self.now = next.unwrap_or(self.now).max(self.now);
        for end in [LISTENER, INITIATOR] {
            self.links[end].handle_timeout(self.now);
            while let Some(bytes) = self.links[end].poll_output(self.now) {
                let from = address(end);
                let datagram = IncomingDatagram { from, local: None, ttl: Some(64), bytes: &bytes };
                if !self.cut {
                    self.hubs[1 - end].receive(self.now, datagram);
                }
            }
            self.hubs[end].handle_timeout(self.now);
        }
        next.is_some()
    }

    /// The error of an attempt to connect.
    fn refusal(&mut self) -> Error {
        loop {
            if let Err(error) = self.hubs[INITIATOR].is_connected(self.initiated) {
                return error;
            }
            assert!(self.step(), "nothing happens any more");
        }
    }

    /// Waits until data can flow.
    fn connect(&mut self) {
        while self.accepted.is_none() || self.hubs[INITIATOR].is_connected(self.initiated) != Ok(true) {
            assert!(self.step(), "nothing happens any more");
        }
    }

    /// Sends `data` and closes; returns what arrives before the end of the stream.
    fn transfer(&mut self, data: &[u8]) -> Vec<u8> {
        let (mut sent, mut received) = (0, Vec::new());
        let mut buffer = [0; 10_000];
        loop {
            let [listener, initiator] = &mut self.hubs;
            if initiator.is_connected(self.initiated) == Ok(true) && sent < data.len() {
                sent += initiator.write(self.now, self.initiated, &data[sent..]).unwrap();
                if sent == data.len() {
                    initiator.shutdown(self.now, self.initiated).unwrap();
                }
            }
            while let Some(id) = self.accepted
                && let Some(n) = listener.read(id, &mut buffer).unwrap()
            {
                if n == 0 {
                    return received;
                }
                received.extend_from_slice(&buffer[..n]);
            }
            assert!(self.step(), "{sent} bytes sent, {} received", received.len());
        }
    }
}

fn address(end: usize) -> SocketAddr {
    [SocketAddr::from(([10, 0, 0, 1], 7000)), SocketAddr::from(([10, 0, 0, 2], 4000))][end]
}

/// The transport of the example, as a program with these arguments chooses it.
fn stop_and_wait() -> CustomTransport {
    let kind = [("kind".to_owned(), "stop-and-wait".to_owned())];
    let mut tpa = Config::new(Security::Plain).transport;
    let custom = set_transport(&mut tpa, &[], &kind, &my_protocols::extensions()).unwrap().unwrap();
    CustomTransport { name: TransportName::new("stop-and-wait/1").unwrap(), config: custom.config }
}

fn securities() -> [Security; 3] {
    [
        Security::Plain,
        Security::Token(Token::from_bytes([1; 15])),
        Security::Keys { identity: Identity::from_secret([1; 32]), peers: Peers::Any },
    ]
}

fn config(security: Security, custom: Option<CustomTransport>) -> Config {
    Config { custom, ..Config::new(security) }
}

fn megabyte() -> Vec<u8> {
    let mut rng = Rng::stream(1, "test/data", 0);
    (0..125_000).flat_map(|_| rng.next_u64().to_be_bytes()).collect()
}

/// A path with faults of every kind.
const BAD: LinkConfig = LinkConfig {
    delay: Duration::from_millis(5),
    loss: 0.1,
    duplication: 0.05,
    reordering: 0.1,
    hold: Duration::from_millis(20),
};

const GOOD: LinkConfig =
    LinkConfig { loss: 0.0, duplication: 0.0, reordering: 0.0, hold: Duration::ZERO, ..BAD };

#[test]
fn a_megabyte_crosses_a_lossy_path_in_every_security_mode() {
    let data = megabyte();
    for security in securities() {
        let configs = [0, 1].map(|_| config(security.clone(), Some(stop_and_wait())));
        let mut ends = Ends::new(configs, BAD);
        assert!(ends.transfer(&data) == data, "{security:?}");
        let stats = ends.hubs[INITIATOR].stats(ends.initiated).unwrap();
        assert!(stats.counters.retransmitted > 50, "{stats:?}");
        assert_eq!((stats.counters.bytes_acked, stats.unacked), (1_000_000, 0));
    }
}

#[test]
fn datagrams_fit_the_path_and_reveal_nothing_unless_the_connection_is_plain() {
    let data = vec![b'x'; 50_000];
    for security in securities() {
        let configs = [0, 1].map(|_| config(security.clone(), Some(stop_and_wait())));
        let mut ends = Ends::new(configs, GOOD);
        assert_eq!(ends.transfer(&data), data);
        let longest = ends.sent.iter().map(Vec::len).max();
        assert_eq!(longest, Some(1500 - 20 - 8), "{security:?}");
        let reveals = ends.sent.iter().any(|bytes| bytes.windows(20).any(|part| part == [b'x'; 20]));
        assert_eq!(reveals, matches!(security, Security::Plain));
    }
}

#[test]
fn two_ends_with_different_transports_learn_both_names() {
    let longest = TransportName::new(&"n".repeat(TransportName::MAX)).unwrap();
    let long = CustomTransport { name: longest, ..stop_and_wait() };
    let pairs = [(None, Some(stop_and_wait())), (Some(stop_and_wait()), None), (Some(long), None)];
    for security in securities() {
        for (theirs, ours) in pairs.clone() {
            let name = |custom: &Option<CustomTransport>| {
                custom.as_ref().map_or(TransportName::TPA, |custom| custom.name)
            };
            let error = Error::WrongTransport { ours: name(&ours), theirs: name(&theirs) };
            let mut ends = Ends::new([theirs, ours].map(|custom| config(security.clone(), custom)), GOOD);
            assert_eq!(ends.refusal(), error, "{security:?}");
            ends.hubs[INITIATOR].release(ends.now, ends.initiated);
            while !ends.hubs[LISTENER].is_empty() && ends.now < Instant::ZERO + Duration::from_secs(1) {
                ends.step();
            }
            assert!(ends.hubs[LISTENER].is_empty(), "{security:?}: the listener is reset at once");
        }
    }
}

#[test]
fn a_peer_that_is_gone_is_noticed_with_and_without_data_in_flight() {
    for data in [&b""[..], b"data"] {
        let configs = [0, 1].map(|_| config(Security::Plain, Some(stop_and_wait())));
        let limit = configs[0].transport.user_timeout.unwrap() + configs[0].transport.keepalive.unwrap();
        let mut ends = Ends::new(configs, GOOD);
        ends.connect();
        ends.cut = true;
        ends.hubs[INITIATOR].write(ends.now, ends.initiated, data).unwrap();
        let end = ends.now + limit + Duration::from_secs(1);
        while ends.now < end && ends.step() {}
        let read = ends.hubs[INITIATOR].read(ends.initiated, &mut [0; 9]);
        assert_eq!(read, Err(Error::TimedOut), "{} bytes in flight", data.len());
    }
}

#[test]
fn an_abort_resets_the_peer() {
    let configs = [0, 1].map(|_| config(Security::Plain, Some(stop_and_wait())));
    let mut ends = Ends::new(configs, GOOD);
    ends.connect();
    ends.hubs[INITIATOR].abort(ends.initiated);
    while ends.step() {}
    let read = ends.hubs[LISTENER].read(ends.accepted.unwrap(), &mut [0; 9]);
    assert_eq!(read, Err(Error::Reset));
}

#[test]
fn data_that_nobody_reads_is_bounded() {
    let custom = || Some(stop_and_wait());
    let configs = [0, 1].map(|_| config(Security::Plain, custom()));
    let capacity = u64::from(configs[0].transport.mss) * 64;
    let mut ends = Ends::new(configs, GOOD);
    let data = megabyte();
    let mut sent = 0;
    while ends.now < Instant::ZERO + Duration::from_secs(60) {
        if ends.hubs[INITIATOR].is_connected(ends.initiated) == Ok(true) {
            sent += ends.hubs[INITIATOR].write(ends.now, ends.initiated, &data[sent..]).unwrap();
        }
        ends.step();
    }
    let unread = ends.hubs[LISTENER].stats(ends.accepted.unwrap()).unwrap().unread;
    assert!((capacity..capacity + 1460).contains(&unread), "{unread} of {capacity}");
}

#[test]
fn the_commands_transfer_a_file() {
    let folder = Folder::new("transport");
    let (file, inbox) = (folder.path().join("megabyte"), folder.path().join("inbox"));
    std::fs::write(&file, megabyte()).unwrap();
    let at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let to = at.to_string();
    let token = Token::generate().unwrap().to_string();
    let shared = ["--transport", "stop-and-wait", "--set", "segment=1000", "--token", &token, "--quiet"];
    let receive = ["recv", "--once", "--listen", &to, "--to", inbox.to_str().unwrap()];
    let send = ["send", file.to_str().unwrap(), &to];
    thread::scope(|scope| {
        let receiver = scope.spawn(|| run(&[&receive[..], &shared].concat()));
        while UdpSocket::bind(at).is_ok() && !receiver.is_finished() {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(run(&[&send[..], &shared].concat()), 0);
        assert_eq!(receiver.join().unwrap(), 0);
    });
    assert!(std::fs::read(inbox.join("megabyte")).unwrap() == megabyte());
}
