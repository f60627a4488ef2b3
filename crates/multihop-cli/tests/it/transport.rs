//! `mesh`, and the user-defined transport of examples/my_protocols.rs, between two ends on a network.

use std::net::{SocketAddr, UdpSocket};
use std::thread;

use multihop_core::{Duration, Instant, Machine, Rng, earliest};
use multihop_hub::{Config, Error, Identity, Peers, Security, Token, Transport, TransportName};
use multihop_hub::{DeliveryFailure, Environment, FailureCause, Hub, Id, IncomingDatagram};
use multihop_scenario::set_transport;
use multihop_testkit::{LinkConfig, LossyLink};
use multihop_transport::tpa;

use super::Folder;
use crate::extension::{my_protocols, run};

const LISTENER: usize = 0;
const INITIATOR: usize = 1;

/// A hub at each end of a lossy path, in virtual time.
struct HubPair {
    now: Instant,
    hubs: [Hub; 2],
    /// The link from each end to the other.
    links: [LossyLink<Vec<u8>>; 2],
    /// The datagrams of both ends.
    sent: Vec<Vec<u8>>,
    /// Whether nothing arrives any more.
    cut: bool,
    /// Index of a byte that an attacker changes in every hello.
    changed: Option<usize>,
    initiated: Id,
    accepted: Option<Id>,
}

impl HubPair {
    fn new(configs: [Config; 2], faults: LinkConfig) -> Self {
        let [mut listener, mut initiator] = [0, 1].map(|end| {
            let mut rng = Rng::stream(1, "test/entropy", end as u64);
            let entropy =
                Box::new(move |bytes: &mut [u8]| bytes.fill_with(|| rng.next_u64().to_be_bytes()[0]));
            let environment = Environment {
                entropy,
                path_mtu: Box::new(|_, _| Some(1500)),
                local_address: Box::new(|_| None),
            };
            Hub::new(&configs[end], address(end).port(), environment).unwrap()
        });
        listener.listen();
        let initiated = initiator.connect(address(LISTENER)).unwrap();
        let links = [0, 1].map(|end| LossyLink::new(faults, Rng::stream(1, "test/link", end)));
        let (now, hubs) = (Instant::ZERO, [listener, initiator]);
        Self { now, hubs, links, sent: Vec::new(), cut: false, changed: None, initiated, accepted: None }
    }

    /// Handles everything that is due now, and advances time to the next deadline. False if there is none.
    fn step(&mut self) -> bool {
        for end in [LISTENER, INITIATOR] {
            let mut bytes = Vec::new();
            while self.hubs[end].poll_transmit(self.now, &mut bytes).is_some() {
                self.sent.push(bytes.clone());
                let is_hello = bytes[0] == 1 && bytes[2..4] == [255; 2];
                if let Some(at) = self.changed.filter(|_| is_hello)
                    && let Some(byte) = bytes.get_mut(at)
                {
                    *byte ^= 4;
                }
                self.links[end].handle(self.now, std::mem::take(&mut bytes));
            }
            while self.hubs[end].poll_event().is_some() {}
        }
        self.accepted = self.accepted.or_else(|| self.hubs[LISTENER].accept());
        let hubs = self.hubs.iter().map(Hub::poll_timeout);
        let next = self.links.iter().map(LossyLink::poll_timeout).chain(hubs).fold(None, earliest);
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

    /// Waits until everything that was sent is acknowledged: the last data may arrive long before its ACK.
    fn wait_for_acks(&mut self) {
        while self.hubs[INITIATOR].stats(self.initiated).unwrap().unacked > 0 {
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

/// A configuration as programs make it if their arguments name this transport.
fn config(security: Security, transport: &str) -> Config {
    let mut config = Config::new(security);
    let kind = [("kind".to_owned(), transport.to_owned())];
    let custom = set_transport(&mut tpa::Config::net(), &[], &kind, &my_protocols::extensions()).unwrap();
    if let Some(custom) = custom {
        let name = TransportName::new(&format!("{}/1", custom.extension.name)).unwrap();
        config.transport = Transport { name, config: custom.config };
    }
    config
}

/// A configuration as programs make it if their arguments name no transport.
fn or_tpa(config: Config) -> Config {
    Config { or_tpa: Some(tpa::Config::net()), ..config }
}

/// Two ends with this transport.
fn ends(security: &Security, transport: &str, faults: LinkConfig) -> HubPair {
    HubPair::new([0, 1].map(|_| config(security.clone(), transport)), faults)
}

fn securities() -> [Security; 3] {
    [
        Security::Plain,
        Security::Token(Token::from_bytes([1; 15])),
        Security::Keys { identity: Identity::from_secret([1; 32]), peers: Peers::Any },
    ]
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

const NAMES: [&str; 4] = ["stop-and-wait", "mesh", "elfn", "tcp-ap"];

/// Each transport in each security mode.
fn cases() -> impl Iterator<Item = (&'static str, Security)> {
    NAMES.into_iter().flat_map(|name| securities().map(|security| (name, security)))
}

#[test]
fn a_megabyte_crosses_a_lossy_path_in_every_security_mode() {
    let data = megabyte();
    for (name, security) in cases() {
        let mut ends = ends(&security, name, BAD);
        assert!(ends.transfer(&data) == data, "{name}, {security:?}");
        ends.wait_for_acks();
        let stats = ends.hubs[INITIATOR].stats(ends.initiated).unwrap();
        assert!(stats.counters.retransmitted > 50, "{name}: {stats:?}");
        assert_eq!((stats.counters.bytes_acked, stats.unacked), (1_000_000, 0));
    }
}

#[test]
fn datagrams_fit_the_path_and_reveal_nothing_unless_the_connection_is_plain() {
    let data = vec![b'x'; 50_000];
    for (name, security) in cases() {
        let mut ends = ends(&security, name, GOOD);
        assert_eq!(ends.transfer(&data), data);
        let longest = ends.sent.iter().map(Vec::len).max();
        // TCP keeps room for its longest options.
        let room = if name == "elfn" || name == "tcp-ap" { 40 } else { 0 };
        assert_eq!(longest, Some(1500 - 20 - 8 - room), "{name}, {security:?}");
        let reveals = ends.sent.iter().any(|bytes| bytes.windows(20).any(|part| part == [b'x'; 20]));
        assert_eq!(reveals, matches!(security, Security::Plain));
    }
}

#[test]
fn two_ends_with_different_transports_learn_both_names() {
    for security in securities() {
        let with = |name: &str| config(security.clone(), name);
        let mut long = with("mesh");
        let longest = TransportName::new(&"n".repeat(TransportName::MAX)).unwrap();
        long.transport.name = longest;
        let pairs = [
            [with("tpa"), with("mesh")],
            [with("mesh"), with("tpa")],
            [with("stop-and-wait"), with("mesh")],
            [long, with("tpa")],
        ];
        for configs in pairs {
            let name = |config: &Config| config.transport.name;
            let error = Error::WrongTransport { ours: name(&configs[1]), theirs: name(&configs[0]) };
            let mut ends = HubPair::new(configs, GOOD);
            assert_eq!(ends.refusal(), error, "{security:?}");
            ends.hubs[INITIATOR].release(ends.now, ends.initiated);
            while !ends.hubs[LISTENER].is_empty() && ends.now < Instant::ZERO + Duration::from_secs(1) {
                ends.step();
            }
            assert!(ends.hubs[LISTENER].is_empty(), "{security:?}: the listener is reset at once");
        }
    }
}

/// The ends use `mesh` if they prefer it, or use nothing else. A peer of an earlier version has only TPA: for
/// it, a SYN that offers `mesh` is one of TPA, and it answers as if the offer was not there.
#[test]
fn the_ends_use_mesh_unless_one_has_only_tpa() {
    let data = vec![7; 100_000];
    for security in securities() {
        let prefers = |name: &str| or_tpa(config(security.clone(), name));
        let only = |name: &str| config(security.clone(), name);
        for (listener, caller, agreed) in [
            (prefers("mesh"), prefers("mesh"), "mesh/1"),
            (prefers("mesh"), only("tpa"), "tpa"),
            (only("tpa"), prefers("mesh"), "tpa"),
            (prefers("mesh"), only("mesh"), "mesh/1"),
            (only("mesh"), prefers("mesh"), "mesh/1"),
            (prefers("stop-and-wait"), prefers("mesh"), "tpa"),
        ] {
            let mut ends = HubPair::new([listener, caller], BAD);
            let early = ends.hubs[INITIATOR].write(ends.now, ends.initiated, b"early");
            assert_eq!(early, Ok(0), "{security:?}");
            assert!(ends.transfer(&data) == data, "{agreed}, {security:?}");
            let ids = [ends.accepted.unwrap(), ends.initiated];
            for (hub, id) in ends.hubs.iter().zip(ids) {
                assert_eq!(hub.stats(id).unwrap().transport.to_string(), agreed, "{security:?}");
            }
        }
        let mut ends = HubPair::new([only("stop-and-wait"), prefers("mesh")], GOOD);
        let name = |name| TransportName::new(name).unwrap();
        let error = Error::WrongTransport { ours: name("mesh/1"), theirs: name("stop-and-wait/1") };
        assert_eq!(ends.refusal(), error, "{security:?}");
    }
}

#[test]
fn nobody_on_an_encrypted_path_can_make_two_ends_with_mesh_use_tpa() {
    for security in securities().into_iter().skip(1) {
        let config = or_tpa(config(security, "mesh"));
        let mut connected = 0;
        for at in 0..200 {
            let mut ends = HubPair::new([config.clone(), config.clone()], GOOD);
            ends.changed = Some(at);
            let until = Instant::ZERO + Duration::from_secs(3);
            while ends.now < until && ends.accepted.is_none() && ends.step() {}
            let stats = ends.accepted.map(|id| ends.hubs[LISTENER].stats(id).unwrap());
            connected += u32::from(stats.is_some());
            assert!(stats.is_none_or(|stats| stats.transport.to_string() == "mesh/1"), "byte {at}");
        }
        assert!((1..50).contains(&connected), "{connected} of 200, where the change is beyond the hello");
    }
}

#[test]
fn a_peer_that_is_gone_is_noticed_with_and_without_data_in_flight() {
    for (name, data) in NAMES.into_iter().flat_map(|name| [(name, &b""[..]), (name, b"data")]) {
        let config = config(Security::Plain, name);
        let limit = config.lifecycle.user_timeout.unwrap() + config.lifecycle.keepalive.unwrap();
        let mut ends = HubPair::new([config.clone(), config], GOOD);
        ends.connect();
        ends.cut = true;
        ends.hubs[INITIATOR].write(ends.now, ends.initiated, data).unwrap();
        let end = ends.now + limit + Duration::from_secs(1);
        while ends.now < end && ends.step() {}
        let read = ends.hubs[INITIATOR].read(ends.initiated, &mut [0; 9]);
        assert_eq!(read, Err(Error::TimedOut), "{name}, {} bytes in flight", data.len());
    }
}

#[test]
fn an_abort_resets_the_peer() {
    for name in NAMES {
        let mut ends = ends(&Security::Plain, name, GOOD);
        ends.connect();
        ends.hubs[INITIATOR].abort(ends.initiated);
        while ends.step() {}
        let read = ends.hubs[LISTENER].read(ends.accepted.unwrap(), &mut [0; 9]);
        assert_eq!(read, Err(Error::Reset), "{name}");
    }
}

#[test]
fn data_that_nobody_reads_is_bounded_and_is_not_lost() {
    for (name, capacity) in [("stop-and-wait", 64 * 1460), ("mesh", 64 * 1460)] {
        let mut ends = ends(&Security::Plain, name, GOOD);
        let data = megabyte();
        let (mut sent, mut received) = (0, Vec::new());
        while ends.now < Instant::ZERO + Duration::from_secs(60) {
            if ends.hubs[INITIATOR].is_connected(ends.initiated) == Ok(true) {
                sent += ends.hubs[INITIATOR].write(ends.now, ends.initiated, &data[sent..]).unwrap();
            }
            ends.step();
        }
        let accepted = ends.accepted.unwrap();
        let unread = ends.hubs[LISTENER].stats(accepted).unwrap().unread;
        assert!(unread.abs_diff(capacity) < 1460, "{name}: {unread} of {capacity}");
        let mut buffer = [0; 1000];
        while received.len() < sent {
            let read = ends.hubs[LISTENER].read(accepted, &mut buffer).unwrap().unwrap_or(0);
            received.extend_from_slice(&buffer[..read]);
            assert!(read > 0 || ends.step(), "{name}: {} of {sent} bytes", received.len());
        }
        assert!(received == data[..sent], "{name}");
    }
}

#[test]
fn a_report_of_a_lost_route_freezes_a_sender_until_the_peer_answers() {
    let cases = || [("mesh", "freeze"), ("elfn", "stand-by")].into_iter();
    for (security, (name, frozen)) in
        securities().into_iter().flat_map(|security| cases().map(move |case| (security.clone(), case)))
    {
        let mut ends = ends(&security, name, GOOD);
        ends.connect();
        ends.hubs[INITIATOR].write(ends.now, ends.initiated, &[1; 20_000]).unwrap();
        while ends.sent.last().is_none_or(|bytes| bytes.len() < 1000) {
            ends.step();
        }
        let quoted = &ends.sent.last().unwrap()[..28];
        let failure = DeliveryFailure {
            to: address(LISTENER),
            reporter: None,
            cause: FailureCause::Unreachable,
            quoted,
        };
        let phase = |ends: &HubPair| ends.hubs[INITIATOR].stats(ends.initiated).unwrap().phase;
        assert_ne!(phase(&ends), frozen, "{name}, {security:?}");
        ends.hubs[INITIATOR].on_delivery_failure(ends.now, &failure);
        assert_eq!(phase(&ends), frozen, "{name}, {security:?}");
        while ends.hubs[INITIATOR].stats(ends.initiated).unwrap().unacked > 0 {
            assert!(ends.step(), "nothing happens any more");
        }
        assert_ne!(phase(&ends), frozen, "{name}, {security:?}");
        if name == "mesh" {
            let counters = ends.hubs[INITIATOR].stats(ends.initiated).unwrap().counters;
            assert_eq!((counters.freezes, counters.notices), (1, 1), "{security:?}");
            let counters = ends.hubs[LISTENER].stats(ends.accepted.unwrap()).unwrap().counters;
            assert!(counters.acks_sent > 1 && counters.data_received >= counters.delivered, "{counters:?}");
        }
    }
}

#[test]
fn the_ends_of_tcp_may_differ_in_their_congestion_control() {
    let data = megabyte();
    for (initiator, listener) in
        [("adtcp", "adtcp"), ("adtcp", "newreno"), ("cubic", "tcp-uc"), ("few", "bbr")]
    {
        let configs = [listener, initiator].map(|name| config(Security::Plain, name));
        let mut ends = HubPair::new(configs, BAD);
        assert!(ends.transfer(&data) == data, "{initiator}, {listener}");
    }
}

#[test]
fn pacing_begins_once_the_length_of_the_path_is_known() {
    let time = |name| {
        let mut ends = ends(&Security::Plain, name, GOOD);
        ends.transfer(&[7; 100_000]);
        ends.now.saturating_since(Instant::ZERO)
    };
    // By section 4.3 of the paper, 69 segments over one hop are at least half the time of a segment at 2 Mb/s apart.
    let least = Duration::from_micros(69 * 5_840 / 2);
    assert!(time("newreno") < least, "{:?}", time("newreno"));
    assert!(time("tcp-ap") > least, "{:?}", time("tcp-ap"));
}

/// Without protection, somebody who sees the datagrams can send others in the name of each end.
#[test]
fn forged_messages_fill_no_memory_and_cause_no_storm() {
    let connected = || {
        let mut ends = ends(&Security::Plain, "mesh", GOOD);
        ends.connect();
        ends
    };
    let mut ends = connected();
    let mut rng = Rng::stream(1, "test/forger", 0);
    let (mut buffer, mut forged, mut taken) = ([0; 1000], 0, 0);
    while forged < 30_000 {
        // Forged acknowledgements may end the connection. In this case another one is opened.
        if ends.hubs[INITIATOR].write(ends.now, ends.initiated, &[1; 5000]).is_err() {
            ends = connected();
        }
        let before = ends.sent.len();
        ends.step();
        let fresh = ends.sent[before..].to_vec();
        assert!(fresh.len() < 500, "{} datagrams at once", fresh.len());
        for bytes in fresh.iter().cycle().take(10 * fresh.len()) {
            let mut bytes = bytes.clone();
            for _ in 0..rng.below(4) {
                // The byte is in the header, but not the first one: whoever sees a plain connection can forge
                // a reset.
                let at = 1 + rng.below(23) as usize;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = rng.next_u64().to_be_bytes()[0];
                }
            }
            let end = usize::from(rng.below(2) == 1);
            let from = address(1 - end);
            let datagram = IncomingDatagram { from, local: None, ttl: Some(64), bytes: &bytes };
            ends.hubs[end].receive(ends.now, datagram);
            forged += 1;
        }
        let stats = ends.hubs[LISTENER].stats(ends.accepted.unwrap()).unwrap();
        assert!(stats.unread <= 64 * 1460, "{}", stats.unread);
        taken = stats.counters.out_of_order.max(taken);
        let _ = ends.hubs[LISTENER].read(ends.accepted.unwrap(), &mut buffer);
    }
    assert!(taken > 0, "nothing forged was taken");
}

/// Whether a program reads from this port: otherwise, the host soon reports an error.
fn is_read(port: SocketAddr) -> bool {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(port).unwrap();
    socket.send(b"nonsense").unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    socket.recv(&mut [0]).unwrap_err().kind() != std::io::ErrorKind::ConnectionRefused
}

#[test]
fn the_commands_transfer_a_file() {
    for (name, parameter) in
        [("stop-and-wait", "segment=1000"), ("few", "growth=0.5"), ("mesh", "backlog=0.5")]
    {
        let folder = Folder::new("transport");
        let (file, inbox) = (folder.path().join("megabyte"), folder.path().join("inbox"));
        std::fs::write(&file, megabyte()).unwrap();
        let at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let to = at.to_string();
        let token = Token::generate().unwrap().to_string();
        let shared = ["--transport", name, "--set", parameter, "--token", &token, "--quiet"];
        let receive = ["recv", "--once", "--listen", &to, "--to", inbox.to_str().unwrap()];
        let send = ["send", file.to_str().unwrap(), &to];
        thread::scope(|scope| {
            let receiver = scope.spawn(|| run(&[&receive[..], &shared].concat()));
            while !is_read(at) && !receiver.is_finished() {
                thread::sleep(std::time::Duration::from_millis(5));
            }
            assert_eq!(run(&[&send[..], &shared].concat()), 0, "{name}");
            assert_eq!(receiver.join().unwrap(), 0, "{name}");
        });
        assert!(std::fs::read(inbox.join("megabyte")).unwrap() == megabyte(), "{name}");
    }
}
