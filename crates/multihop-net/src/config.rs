//! The configuration of listeners and streams: transport, security, limits, socket.

use std::io;

use multihop_core::Duration;
use multihop_transport::tpa;

use crate::error::Error;
use crate::keys::{AuthorizedKeys, Identity, KeyCheck, KnownPeers, PublicKey, SharedKey, Token};
use crate::segment::Format;
use crate::transport::{CustomTransport, TransportName, Transports};

/// The configuration of a listener or a stream.
#[derive(Clone, Debug)]
pub struct Config {
    /// The protocol: the profile for real networks unless it is changed.
    pub transport: tpa::Config,
    /// `mesh` or a user-defined transport for the data. `transport` then opens, watches and closes connections.
    pub custom: Option<CustomTransport>,
    /// Whether TPA takes the place of `custom` if the peer has only TPA.
    pub or_tpa: bool,
    /// Who may connect, and whether traffic is encrypted.
    pub security: Security,
    /// With keys: a secret that both ends have in addition.
    pub shared_key: Option<SharedKey>,
    /// A listener answers only callers that prove that they know the token, or that own an authorised key.
    pub silent: bool,
    /// Whether peers learn of a restart of this host from its answers to late datagrams. A token that everybody has does
    /// not prove such an answer.
    pub resets: bool,
    /// Limits of a listener.
    pub limits: Limits,
    /// The UDP socket.
    pub socket: SocketOptions,
}

/// Who may connect, and whether traffic is encrypted.
#[derive(Clone, Debug)]
pub enum Security {
    /// The plain protocol: anybody can connect, eavesdrop and interfere.
    Plain,
    /// Peers that know the token.
    Token(Token),
    /// Peers with an accepted key.
    Keys {
        /// This end's key pair.
        identity: Identity,
        /// Which keys of peers are accepted.
        peers: Peers,
    },
}

/// Which keys of peers are accepted.
#[derive(Clone, Debug)]
pub enum Peers {
    /// For initiators: the key that the listener had before, and at first contact any key, which is stored.
    Known(KnownPeers),
    /// For listeners: the keys of the file.
    Authorized(AuthorizedKeys),
    /// Any key.
    Any,
    /// This key only.
    Exactly(PublicKey),
}

impl Peers {
    /// Whether a listener accepts a caller with this key.
    pub(crate) fn accept_caller(&self, key: PublicKey) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(wanted) => *wanted == key,
            Self::Authorized(keys) => keys.contains(key),
            // A key learnt at first contact gives no right to connect.
            Self::Known(_) => false,
        }
    }
}

/// Limits of one socket. Peers beyond a limit get no answer.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections of a listener at a time, including those not yet accepted.
    pub connections: usize,
    /// Established connections that wait to be accepted.
    pub backlog: usize,
    /// Half-open connections; more displace the oldest of the most crowded address (under IPv6, /64).
    pub half_open: usize,
    /// Handshakes per second with peers that have proved their address; as many wait for their turn.
    pub handshakes: usize,
    /// Closed connections that still answer late segments; the oldest are dropped first.
    pub lingering: usize,
    /// Bytes of one connection that are unsent or unacknowledged.
    pub send_buffer: usize,
    /// Bytes of the buffers of all connections of a listener.
    pub memory: usize,
}

/// The UDP socket.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// The kernel's receive buffer in bytes; the kernel may grant less.
    pub receive_buffer: usize,
    /// The kernel's send buffer in bytes; the kernel may grant less.
    pub send_buffer: usize,
}

impl Config {
    /// The defaults with this security, for which there is no default.
    pub fn new(security: Security) -> Self {
        let transport = tpa::Config { keepalive: Some(KEEPALIVE), ..tpa::Config::net() };
        Self {
            transport,
            custom: None,
            or_tpa: false,
            security,
            shared_key: None,
            silent: false,
            resets: true,
            limits: Limits::default(),
            socket: SocketOptions::default(),
        }
    }
}

impl Config {
    /// The transports, one of which the peer must have as well.
    pub(crate) fn transports(&self) -> Transports {
        let preferred = self.custom.as_ref().map_or(TransportName::TPA, |custom| custom.name);
        let format = self.custom.as_ref().map_or(Format::Tpa, CustomTransport::format);
        Transports { preferred, format, or_tpa: self.or_tpa && self.custom.is_some() }
    }
}

impl Security {
    /// Rejects peers that say nothing about callers.
    pub(crate) fn check_listener(&self) -> io::Result<()> {
        self.check(
            |peers| matches!(peers, Peers::Known(_)),
            "a listener needs authorised keys, not known peers",
        )
    }

    /// Rejects peers that say nothing about listeners.
    pub(crate) fn check_initiator(&self) -> io::Result<()> {
        let text = "a caller needs known peers, not authorised keys";
        self.check(|peers| matches!(peers, Peers::Authorized(_)), text)
    }

    fn check(&self, is_wrong: fn(&Peers) -> bool, text: &str) -> io::Result<()> {
        match self {
            Self::Keys { peers, .. } if is_wrong(peers) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
            _ => Ok(()),
        }
    }

    /// Whether a listener accepts a caller with this key.
    pub(crate) fn accepts(&self, key: PublicKey) -> bool {
        match self {
            Self::Keys { peers, .. } => peers.accept_caller(key),
            Self::Plain | Self::Token(_) => false,
        }
    }

    /// The public key of this end.
    pub(crate) fn key(&self) -> Option<PublicKey> {
        match self {
            Self::Keys { identity, .. } => Some(identity.public()),
            Self::Plain | Self::Token(_) => None,
        }
    }

    /// Fails if a caller with this security would refuse a listener with this name before anything is sent.
    pub fn check_name(&self, name: &str) -> io::Result<()> {
        match self {
            Self::Keys { peers: Peers::Known(known), .. } => known.check_name(name),
            _ => Ok(()),
        }
    }

    /// The error of a failed connection to the listener with this name; one about a changed key names the file that
    /// has the old key.
    pub(crate) fn explain(&self, name: &str, error: Error) -> io::Error {
        if let (Self::Keys { peers: Peers::Known(known), .. }, Error::WrongKey(found)) = (self, error)
            && let KeyCheck::Changed { line, known: old } = known.check(name, found)
        {
            return known.changed(name, found, line, old);
        }
        error.into()
    }

    /// Stores the key of a listener that was not known, and reports it.
    pub(crate) fn remember(&self, name: &str, key: Option<PublicKey>) -> io::Result<()> {
        if let (Self::Keys { peers: Peers::Known(known), .. }, Some(key)) = (self, key)
            && known.remember(name, key)?
        {
            let file = known.file();
            tracing::warn!(
                "first contact with {name}: its key is {key}, now in {file}; compare it with its owner's"
            );
        }
        Ok(())
    }
}

/// Detects a peer that is gone, and keeps NAT bindings alive: many expire after 30 s without UDP.
const KEEPALIVE: Duration = Duration::from_secs(25);

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            backlog: 128,
            half_open: 256,
            // A handshake with keys costs a listener 0.3 ms of CPU time unoptimised: about a seventh of a core.
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
