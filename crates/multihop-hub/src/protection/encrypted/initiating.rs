//! State of an initiator until the listener answers. The initiator requests a cookie. Each hello proves the
//! initiator's identity once it has the listener's key.

use alloc::vec;
use alloc::vec::Vec;
use blake2::{Blake2s256, Digest};
use multihop_transport::connection::Segment;
use zeroize::Zeroizing;

use super::credentials::{Credentials, ListenerKey};
use super::message::{self, SecureDatagram};
use super::noise::{Ephemeral, NoiseHandshake, Proof, Ticket};
use super::seal;
use crate::error::Error;
use crate::keys::PublicKey;
use crate::protection::cookie::Cookie;
use crate::protection::opening;
use crate::protection::outcome::Unprotected;
use crate::reason::Reason;
use crate::segment;
use crate::version::VERSION;

/// An initiator that waits for an answer. A hello is a function of the cookie and the listener's key. The
/// same pair gives the same bytes, so that forged cookies in between are harmless; another pair gives another
/// ephemeral key.
pub(super) struct Initiating {
    expected: ListenerKey,
    index: u32,
    seed: Ephemeral,
    /// Cookie of the listener; zeros request a cookie.
    cookie: Cookie,
    /// The listener's key; at first contact the key that the listener claims.
    listener: Option<PublicKey>,
    /// Number of cookies taken from listeners.
    cookies: u8,
    /// Number of hellos sent.
    hellos: u8,
    /// Number of the SYN inside the hellos.
    number: Option<u32>,
    /// Payloads of hellos without and with a cookie, each created once.
    payloads: [Vec<u8>; 2],
    /// The hello with the current cookie and key.
    attempt: Option<Attempt>,
    /// Hello with the previous cookie: the listener may answer it although a newer cookie has arrived.
    previous: Option<Attempt>,
    /// Public key that arrived with the current cookie and differs from the expected one.
    unexpected: Option<PublicKey>,
    refusal: Option<Error>,
}

struct Attempt {
    handshake: NoiseHandshake,
    noise: Vec<u8>,
}

impl Initiating {
    pub(super) fn new(expected: ListenerKey, index: u32, seed: Ephemeral) -> Self {
        let listener = expected.first();
        Self {
            expected,
            index,
            seed,
            cookie: [0; 16],
            listener,
            cookies: 0,
            hellos: 0,
            number: None,
            payloads: [vec![], vec![]],
            attempt: None,
            previous: None,
            unexpected: None,
            refusal: None,
        }
    }

    /// Reason for which the listener refuses the connection; `None` while an answer is possible.
    pub(super) fn refusal(&self) -> Option<Error> {
        self.refusal
    }

    /// The number of the SYN in the hellos.
    pub(super) fn number(&self) -> Option<u32> {
        self.number
    }

    /// Appends the bytes of the hello with this SYN.
    pub(super) fn send_hello(&mut self, credentials: &Credentials, syn: &Segment, out: &mut Vec<u8>) {
        self.number = segment::number(syn);
        let is_ready = matches!(credentials.proof, Proof::Token(_)) || self.listener.is_some();
        if self.attempt.is_none() && is_ready {
            self.attempt = Some(self.attempt(credentials, syn));
        }
        let start = out.len();
        let noise = self.attempt.as_ref().map_or(&[0; SHORTEST][..], |attempt| &attempt.noise);
        let (pattern, cookie) = (credentials.proof.pattern(), self.cookie);
        SecureDatagram::Hello { pattern, sender: self.index, cookie, noise }.emit(out);
        if let Some(key) = &self.listener {
            let seal = seal::of(key, &out[start..]);
            out.extend_from_slice(&seal);
        }
        // The listener may have another key. If the cookie was forged, the listener answers this hello.
        if let Some(key) = self.unexpected.take() {
            self.refusal = Some(Error::WrongKey(key));
        }
    }

    fn attempt(&mut self, credentials: &Credentials, syn: &Segment) -> Attempt {
        let payload = &mut self.payloads[usize::from(self.cookies > 0)];
        if payload.is_empty() {
            payload.extend_from_slice(&credentials.reset_token(self.index));
            opening::emit(syn, &credentials.transports.names(), None, payload);
            // Padding options (type 0) make the hello as long as its answer.
            let added = match credentials.proof {
                Proof::Token(_) => 32 + 16,
                Proof::Keys(..) => 32 + 48 + 16 + seal::LEN,
            };
            payload.resize(payload.len().max(SHORTEST - added), 0);
        }
        let ticket = Ticket::Hello { initiator: self.index, cookie: self.cookie };
        let mut hash = Blake2s256::new().chain_update(&self.seed[..]).chain_update(self.cookie);
        if let Some(key) = &self.listener {
            hash.update(key.as_bytes());
        }
        let ephemeral = Zeroizing::new(hash.finalize().into());
        let mut handshake =
            NoiseHandshake::initiate(&credentials.proof, ticket, self.listener.as_ref(), &ephemeral);
        let noise = handshake.write(&self.payloads[usize::from(self.cookies > 0)]);
        Attempt { handshake, noise }
    }

    /// Handles a cookie, with the key that the listener claims to have.
    pub(super) fn on_cookie(&mut self, cookie: Cookie, key: Option<PublicKey>) -> Unprotected {
        let listener = key.filter(|key| self.expected.accepts(*key)).or(self.listener);
        // An attacker that forges cookies can prevent the connection, but cannot cause endless transmissions.
        if (cookie, listener) == (self.cookie, self.listener) || self.cookies >= MAX_COOKIES {
            return Unprotected::Ignored;
        }
        (self.cookie, self.listener, self.cookies) = (cookie, listener, self.cookies + 1);
        // The hello without a cookie gets no answer and is not kept.
        self.previous = self.attempt.take().filter(|_| self.cookies > 1);
        self.unexpected = key.filter(|key| !self.expected.accepts(*key));
        // The listener has answered, so the refusal was forged or is obsolete.
        self.refusal = None;
        Unprotected::NewCookie
    }

    /// Records a refusal of the listener. It is not authenticated and therefore counts only until an
    /// authentic answer arrives.
    pub(super) fn on_refusal(&mut self, reason: Reason, version: u8) {
        self.refusal = Some(match reason {
            Reason::OtherVersion => Error::OtherVersion { ours: VERSION, theirs: version },
            reason => Error::Declined(reason),
        });
    }

    /// Datagram that finds out whether the listener has the previous version, which would explain an unanswered hello.
    pub(super) fn version_probe(&mut self) -> Option<Vec<u8>> {
        self.hellos = self.hellos.saturating_add(1);
        (self.hellos > 1 && self.cookies == 0).then(|| {
            let mut probe = Vec::new();
            SecureDatagram::VersionProbe { sender: self.index }.emit(&mut probe);
            probe
        })
    }

    /// Handles the listener's answer; returns the completed handshake and the payload.
    pub(super) fn on_answer(&mut self, noise: &[u8]) -> Option<(NoiseHandshake, Vec<u8>)> {
        for attempt in [&mut self.attempt, &mut self.previous] {
            if let Some(payload) = attempt.as_mut().and_then(|attempt| attempt.handshake.read(noise)) {
                return Some((attempt.take()?.handshake, payload));
            }
        }
        None
    }
}

/// Largest number of cookies that an initiator tries: genuine cookies of two minutes, and a few forged ones.
pub(super) const MAX_COOKIES: u8 = 8;
/// Bytes of a first Noise message at least.
const SHORTEST: usize = message::MIN_HELLO - message::HELLO_HEADER;
