use std::io;
use std::net::SocketAddr;

use multihop_core::Duration;
use multihop_transport::tpa;

use crate::error::Error;
use crate::keys::{Identity, KnownPeers, PublicKey, Token, Verdict};

/// How a listener or a stream works.
#[derive(Clone, Debug)]
pub struct Config {
    /// The protocol: the profile for real networks unless it is changed.
    pub transport: tpa::Config,
    /// Who may talk to us, and whether others can listen.
    pub security: Security,
    /// What a listener takes on at most.
    pub limits: Limits,
    /// The UDP socket.
    pub socket: SocketOptions,
}

/// Who may talk to us, and whether others can listen.
#[derive(Clone, Debug)]
pub enum Security {
    /// The bare protocol: anybody may connect, read along and interfere.
    Plain,
    /// Whoever knows the token.
    Token(Token),
    /// Whoever has the right key.
    Keys {
        /// Our own.
        identity: Identity,
        /// What to think of theirs.
        peers: Peers,
    },
}

/// What to think of a peer's key.
#[derive(Clone, Debug)]
pub enum Peers {
    /// Who calls: it must be the one that the listener at this address had before; the first one is
    /// remembered. Who listens: it must be in the file, under whatever name.
    Known(KnownPeers),
    /// Everybody's will do.
    Any,
    /// This one and no other.
    Exactly(PublicKey),
}

/// What one socket takes on at most. What comes beyond is not answered.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections that a listener has at one time, those not yet accepted included.
    pub connections: usize,
    /// Connections that stand and wait to be accepted.
    pub backlog: usize,
    /// Connections that are not established yet; one address (with IPv6, one /64) has at most half of them.
    pub half_open: usize,
    /// Strangers that are heard in a second once they have proved their address.
    pub handshakes: usize,
    /// Closed connections that still answer what is late; beyond, the oldest are forgotten.
    pub lingering: usize,
    /// Bytes of one connection that wait to be sent or acknowledged.
    pub send_buffer: usize,
    /// Bytes that the buffers of all connections of a listener may come to hold.
    pub memory: usize,
}

/// The UDP socket.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// Bytes that the kernel keeps of what has arrived; it may take less.
    pub receive_buffer: usize,
    /// Bytes that the kernel keeps of what is to leave; it may take less.
    pub send_buffer: usize,
}

impl Config {
    /// The defaults, but for security, of which there is none.
    pub fn new(security: Security) -> Self {
        let transport = tpa::Config { keepalive: Some(KEEPALIVE), ..tpa::Config::net() };
        Self { transport, security, limits: Limits::default(), socket: SocketOptions::default() }
    }
}

impl Security {
    /// The error of a connection to `peer` that came to nothing: one about its key says where that is known from.
    pub(crate) fn explain(&self, peer: SocketAddr, error: Error) -> io::Error {
        if let (Self::Keys { peers: Peers::Known(known), .. }, Error::WrongKey(found)) = (self, error)
            && let Verdict::Changed { line, known: old } = known.check(&peer.to_string(), found)
        {
            return known.changed(&peer.to_string(), found, line, old);
        }
        error.into()
    }

    /// Remembers the key of a peer that was met for the first time.
    pub(crate) fn remember(&self, peer: SocketAddr, key: Option<PublicKey>) -> io::Result<()> {
        match (self, key) {
            (Self::Keys { peers: Peers::Known(known), .. }, Some(key)) => {
                known.remember(&peer.to_string(), key)
            }
            _ => Ok(()),
        }
    }
}

/// A listener would wait for ever for a caller that is gone, and many NATs forget UDP after 30 s.
const KEEPALIVE: Duration = Duration::from_secs(25);

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            backlog: 128,
            half_open: 256,
            // One with keys costs a listener 0.3 ms of a processor (unoptimised), so a seventh of it.
            handshakes: 500,
            lingering: 4096,
            send_buffer: 128 * 1024,
            memory: 512 * 1024 * 1024,
        }
    }
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { receive_buffer: 1024 * 1024, send_buffer: 1024 * 1024 }
    }
}
