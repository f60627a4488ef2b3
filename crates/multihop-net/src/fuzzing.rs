//! What fuzz targets may see of the inside. Only there with `--cfg fuzzing`, as `tools/fuzz.sh` sets it.

use std::net::SocketAddr;
use std::sync::Arc;

use multihop_core::{Duration, Instant};
use multihop_wire::tpa::{self, Ack, Body, Segment};
use tokio::io::{join, sink};
use tokio::runtime::{Builder, Runtime};
use zeroize::Zeroizing;

use crate::config::Peers;
use crate::files::{self, Options, Sources, Target, receive, send};
use crate::keys::{Identity, Token};
use crate::protection::cookie::CookieKey;
use crate::protection::encrypted::credentials::Credentials;
use crate::protection::encrypted::session::{Hello, Session};
use crate::protection::encrypted::{Proof, Rotation, SecureDatagram};
use crate::{perf, tunnel};

/// What is read of a sealed datagram is all that there is in it.
pub fn message(bytes: &[u8]) {
    if let Some(message) = SecureDatagram::parse(bytes) {
        let mut out = Vec::new();
        message.emit(&mut out);
        assert_eq!(out, bytes);
        assert!(Segment::parse_in_udp(bytes, 1, 2).is_err(), "a plain segment as well");
    }
}

/// A cookie is good for the address and time that it was made for, and for no other.
pub fn cookie(key: [u8; 32], cookie: [u8; 16], addresses: [SocketAddr; 2], seconds: [u32; 2]) {
    let cookies = CookieKey::new(key);
    let [then, now] = seconds.map(|seconds| Instant::ZERO + Duration::from_secs(u64::from(seconds)));
    let made = cookies.make(then, addresses[0]);
    assert!(cookies.verify(then, addresses[0], &made));
    assert!(cookie == made || !cookies.verify(then, addresses[0], &cookie));
    let [one, other] = addresses.map(|address| (address.ip().to_canonical(), address.port()));
    let age = i64::from(seconds[1] / 60) - i64::from(seconds[0] / 60);
    assert_eq!(cookies.verify(now, addresses[1], &made), one == other && (0..=1).contains(&age));
}

/// A message about files, and both ends of a transfer whose other end says this.
pub fn files(bytes: &[u8]) {
    if let Some((&kind, body)) = bytes.split_first() {
        files::check(kind, body);
    }
    block_on(async {
        let target = Target::Stream(Box::new(sink()));
        let received = receive(join(bytes, sink()), target, Options::default(), &mut |_| ()).await;
        assert!(received.is_err() || bytes.len() > "multihop files".len(), "files out of nothing");
        let mut sources = Sources::new();
        sources.add_stream("a", Box::new(&b"text"[..])).expect("a name that will do");
        let sent = send(join(bytes, sink()), sources, Options::default(), &mut |_| ()).await;
        assert!(sent.is_err() || sent.is_ok_and(|sent| sent.moved == 4));
    });
}

/// A message of a measurement.
pub fn perf(bytes: &[u8]) {
    perf::check(bytes);
}

/// What the near end of a tunnel reads, and its gateway.
pub fn tunnel(bytes: &[u8]) {
    block_on(tunnel::check(bytes));
}

fn block_on(work: impl Future<Output = ()>) {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(work));
}

/// Both ends of a connection, between which datagrams are lost, changed and said again.
pub struct Ends {
    sessions: Vec<Session>,
    credentials: Arc<Credentials>,
    /// What each has said.
    said: [Vec<Vec<u8>>; 2],
    now: Instant,
}

impl Ends {
    /// A caller that has its cookie, and nobody who has heard it.
    pub fn new(with_keys: bool) -> Self {
        let proof = match with_keys {
            true => Proof::Keys(Identity::from_secret([1; 32])),
            false => Proof::of_token(&Token::from_bytes([1; 15])),
        };
        let rotation = Rotation { datagrams: 3, age: Duration::from_secs(5) };
        let credentials = Arc::new(Credentials { proof, peers: Peers::Any, rotation });
        let caller = Session::initiate(&credentials, 1, &Zeroizing::new([1; 32]));
        let mut ends =
            Self { sessions: vec![caller], credentials, said: [vec![], vec![]], now: Instant::ZERO };
        let mut reply = Vec::new();
        SecureDatagram::CookieReply { receiver: 1, cookie: [7; 16] }.emit(&mut reply);
        ends.say(0, 0);
        ends.hear(1, 0, |bytes| *bytes = reply);
        ends
    }

    /// Lets one end say a segment of this kind.
    pub fn say(&mut self, end: usize, kind: u8) {
        let Some(session) = self.sessions.get_mut(end) else { return };
        let ack = (end == 1 || kind % 2 == 1).then_some(Ack::default());
        let body = match kind % 4 {
            0 | 1 if kind < 128 => Body::Syn(tpa::Options::default()),
            2 => Body::Data { position: 0, last: false, payload: vec![kind; usize::from(kind)].into() },
            3 => Body::Reset,
            _ => Body::Empty,
        };
        let mut out = Vec::new();
        session.send(self.now, &Segment { body, ack, ..Segment::default() }, &mut out);
        let pending = std::iter::from_fn(|| session.pop_pending());
        let all = Some(out).filter(|out| !out.is_empty()).into_iter().chain(pending);
        self.said[end].extend(all);
        let excess = self.said[end].len().saturating_sub(64);
        self.said[end].drain(..excess);
    }

    /// The other end hears what this one has said, after `change`.
    pub fn hear(&mut self, end: usize, which: u8, change: impl FnOnce(&mut Vec<u8>)) {
        let said = &self.said[end];
        let mut bytes = said.get(usize::from(which) % said.len().max(1)).cloned().unwrap_or_default();
        change(&mut bytes);
        let Some(message) = SecureDatagram::parse(&bytes) else { return };
        let peer = SocketAddr::from(([10, 0, 0, 1], 1));
        let Some(session) = self.sessions.get_mut(1 - end) else {
            if let SecureDatagram::Hello { sender, noise, .. } = message {
                let hello = Hello { from: peer, sender, noise, len: bytes.len() };
                let answer = Session::respond(&self.credentials, 2, Zeroizing::new([2; 32]), hello, 2);
                self.sessions.extend(answer.map(|(session, _)| session));
            }
            return;
        };
        session.receive(self.now, message, peer, true, (1, 2));
    }

    /// Lets time pass.
    pub fn wait(&mut self, seconds: u8) {
        self.now += Duration::from_secs(u64::from(seconds));
    }
}
