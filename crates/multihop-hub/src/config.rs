//! The configuration of a hub: transport, security, limits.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use multihop_core::Duration;
use multihop_transport::tpa;

use crate::keys::{Identity, PublicKey, SharedKey, Token};
use crate::segment::Format;
use crate::transport::{CustomTransport, TransportName, Transports};

/// The configuration of a hub.
#[derive(Clone, Debug)]
pub struct Config {
    /// The protocol: the profile for real networks unless it is changed.
    pub transport: tpa::Config,
    /// `mesh` or another transport in place of TPA. Its connections are opened, watched and closed by `transport.lifecycle`.
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
    /// Any key.
    Any,
    /// This key only.
    Exactly(PublicKey),
    /// The keys of a list, which may change while the hub runs.
    Listed(Arc<dyn PeerKeys>),
}

/// The keys of peers that the owner of a hub has listed, in a file for example.
pub trait PeerKeys: fmt::Debug + Send + Sync {
    /// Whether a listener accepts a caller with this key.
    fn accept_caller(&self, key: PublicKey) -> bool;

    /// The keys that the listener with this name may have; `None` for any key.
    fn of_listener(&self, name: &str) -> Option<Vec<PublicKey>>;
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

impl Config {
    /// The defaults with this security, for which there is no default.
    pub fn new(security: Security) -> Self {
        let mut transport = tpa::Config::net();
        transport.lifecycle.keepalive = Some(KEEPALIVE);
        Self {
            transport,
            custom: None,
            or_tpa: false,
            security,
            shared_key: None,
            silent: false,
            resets: true,
            limits: Limits::default(),
        }
    }

    /// The transports, one of which the peer must have as well.
    pub(crate) fn transports(&self) -> Transports {
        let preferred = self.custom.as_ref().map_or(TransportName::TPA, |custom| custom.name);
        let format = self.custom.as_ref().map_or(Format::Tpa, CustomTransport::format);
        Transports { preferred, format, or_tpa: self.or_tpa && self.custom.is_some() }
    }
}

impl Security {
    /// Whether a listener accepts a caller with this key.
    pub(crate) fn accepts(&self, key: PublicKey) -> bool {
        match self {
            Self::Keys { peers, .. } => peers.accept_caller(key),
            Self::Plain | Self::Token(_) => false,
        }
    }
}

impl Peers {
    /// Whether a listener accepts a caller with this key.
    pub(crate) fn accept_caller(&self, key: PublicKey) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(wanted) => *wanted == key,
            Self::Listed(keys) => keys.accept_caller(key),
        }
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
