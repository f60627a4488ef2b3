//! Internals for fuzz targets. Compiled only with `--cfg fuzzing`, which `tools/fuzz.sh` sets.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;

use multihop_core::{Duration, Instant};
use multihop_transport::connection::Segment;
use multihop_wire::tpa::{self, Ack, Body};
use zeroize::Zeroizing;

use crate::config::Peers;
use crate::datagram::Entropy;
use crate::keys::{Identity, Token};
use crate::protection::Path;
use crate::protection::cookie::CookieKey;
use crate::protection::encrypted::credentials::{Credentials, ListenerKey};
use crate::protection::encrypted::session::{Hello, Session};
use crate::protection::encrypted::{Proof, ResetKey, Rotation, SecureDatagram};
use crate::transport::{TransportName, Transports};

/// Checks that a parsed datagram of the encrypted protocol emits the same bytes.
pub fn message(bytes: &[u8]) {
    if let Some(message) = SecureDatagram::parse(bytes)
        && !matches!(
            message,
            SecureDatagram::OtherHello { .. }
                | SecureDatagram::VersionProbe { .. }
                | SecureDatagram::EarlierAnswer { .. }
        )
    {
        let mut out = Vec::new();
        message.emit(&mut out);
        assert_eq!(out, bytes);
        assert!(tpa::Segment::parse_in_udp(bytes, 1, 2).is_err(), "a plain segment as well");
    }
}

/// Checks that a cookie is valid for its address and time only.
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

fn entropy() -> Entropy {
    Box::new(|bytes| bytes.fill(3))
}

/// Both ends of a connection whose datagrams are lost, modified and replayed.
pub struct SessionPair {
    sessions: Vec<Session>,
    credentials: Arc<Credentials>,
    /// The datagrams that each end has sent.
    sent: [Vec<Vec<u8>>; 2],
    now: Instant,
}

impl SessionPair {
    /// An initiator that has its cookie, and no responder yet.
    pub fn new(with_keys: bool) -> Self {
        let proof = match with_keys {
            true => Proof::Keys(Identity::from_secret([1; 32]), None),
            false => Proof::of_token(&Token::from_bytes([1; 15])),
        };
        let rotation = Rotation { datagrams: 3, age: Duration::from_secs(5) };
        let resets = Some(ResetKey::new(&proof, 1));
        let transports = Transports::default();
        let credentials = Arc::new(Credentials { transports, proof, peers: Peers::Any, rotation, resets });
        let key = with_keys.then(|| Identity::from_secret([1; 32]).public());
        let caller =
            Session::initiate(&credentials, TransportName::TPA, ListenerKey::Any, 1, Zeroizing::new([1; 32]));
        let mut ends =
            Self { sessions: vec![caller], credentials, sent: [vec![], vec![]], now: Instant::ZERO };
        let mut reply = Vec::new();
        SecureDatagram::CookieReply { receiver: 1, cookie: [7; 16], key }.emit(&mut reply);
        ends.send(0, 0);
        ends.deliver(1, 0, |bytes| *bytes = reply);
        ends
    }

    /// Makes one end send a segment of this kind.
    pub fn send(&mut self, end: usize, kind: u8) {
        let Some(session) = self.sessions.get_mut(end) else { return };
        let ack = (end == 1 || kind % 2 == 1).then_some(Ack::default());
        let body = match kind % 4 {
            0 | 1 if kind < 128 => Body::Syn(tpa::Options::default()),
            2 => Body::Data { position: 0, last: false, payload: vec![kind; usize::from(kind)].into() },
            3 => Body::Reset,
            _ => Body::Empty,
        };
        session.refresh(self.now, &mut entropy());
        let mut out = Vec::new();
        let segment = tpa::Segment { body, ack, ..tpa::Segment::default() };
        session.send(self.now, &Segment::Tpa(segment), Path::Current, &mut out);
        let pending = core::iter::from_fn(|| session.pop_pending()).map(|pending| pending.bytes);
        let all = Some(out).filter(|out| !out.is_empty()).into_iter().chain(pending);
        self.sent[end].extend(all);
        let excess = self.sent[end].len().saturating_sub(64);
        self.sent[end].drain(..excess);
    }

    /// Delivers a datagram of this end to the other end, modified by `change`.
    pub fn deliver(&mut self, end: usize, which: u8, change: impl FnOnce(&mut Vec<u8>)) {
        let sent = &self.sent[end];
        let mut bytes = sent.get(usize::from(which) % sent.len().max(1)).cloned().unwrap_or_default();
        change(&mut bytes);
        let Some(message) = SecureDatagram::parse(&bytes) else { return };
        let peer = SocketAddr::from(([10, 0, 0, 1], 1));
        let Some(session) = self.sessions.get_mut(1 - end) else {
            if let SecureDatagram::Hello { sender, cookie, noise, .. } = message {
                let hello = Hello { from: peer, sender, cookie, noise, datagram: &bytes };
                let answer = Session::respond(&self.credentials, 2, &Zeroizing::new([2; 32]), hello, 2);
                self.sessions.extend(answer.map(|(session, _)| session).ok());
            }
            return;
        };
        session.receive(self.now, message, true, (1, 2), &mut entropy());
    }

    /// Advances the clock of both ends.
    pub fn wait(&mut self, seconds: u8) {
        self.now += Duration::from_secs(u64::from(seconds));
    }
}
