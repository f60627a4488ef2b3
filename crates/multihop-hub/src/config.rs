//! The configuration of a hub: transport, security, limits.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use multihop_core::Duration;
use multihop_transport::{lifecycle, tpa};

use crate::keys::{Identity, PublicKey, SharedKey, Token};
use crate::transport::{Transport, Transports};

/// The configuration of a hub.
#[derive(Clone, Debug)]
pub struct Config {
    /// Transport of connections; by default TPA with its profile for real networks.
    pub transport: Transport,
    /// Parameters of TPA as a substitute for `transport` if the peer supports only TPA.
    pub or_tpa: Option<tpa::Config>,
    /// Whether connections may have channels of messages, if their transport has any.
    pub channels: bool,
    /// Whether datagrams with messages have the DSCP of their channel's priority. Radios then send some before others.
    pub marks: bool,
    /// Parameters for opening, watching and closing connections, whatever their transport.
    pub lifecycle: lifecycle::Config,
    /// IP TTL of sent packets.
    pub initial_ttl: u8,
    /// Security mode: which peers may connect, and whether traffic is encrypted.
    pub security: Security,
    /// Secret that both ends have in addition to their keys.
    pub shared_key: Option<SharedKey>,
    /// Whether a listener is silent: it answers only callers that prove possession of the token or of an authorised
    /// key.
    pub silent: bool,
    /// Whether this host, after a restart, answers late datagrams of old connections with resets, from which
    /// peers learn of the restart.
    pub resets: bool,
    /// Limits of a listener.
    pub limits: Limits,
}

/// Security mode: which peers may connect, and whether traffic is encrypted.
#[derive(Clone, Debug)]
pub enum Security {
    /// The plain protocol: anybody can connect, eavesdrop and interfere.
    Plain,
    /// Peers that have the same token.
    Token(Token),
    /// Peers with a key that is accepted.
    Keys {
        /// Key pair of this end.
        identity: Identity,
        /// Rule for which keys of peers are accepted.
        peers: Peers,
    },
}

/// Rule for which keys of peers are accepted.
#[derive(Clone, Debug)]
pub enum Peers {
    /// A peer with any key may connect.
    Any,
    /// Only the peer with this key may connect.
    Exactly(PublicKey),
    /// Peers whose keys are on a list, which may change while the hub runs.
    Listed(Arc<dyn PeerKeys>),
}

/// Keys of peers as listed by the owner of a hub, for example in a file.
pub trait PeerKeys: fmt::Debug + Send + Sync {
    /// Whether a listener accepts a caller with this key.
    fn accept_caller(&self, key: PublicKey) -> bool;

    /// The keys that the listener with this name may have; `None` if any key is accepted.
    fn of_listener(&self, name: &str) -> Option<Vec<PublicKey>>;
}

/// Limits of one socket. Peers beyond a limit get no answer.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest number of connections of a listener, including those not yet accepted; 1024 by default.
    pub connections: usize,
    /// Largest number of established connections that wait to be accepted; 128 by default.
    pub backlog: usize,
    /// Largest number of half-open connections, 256 by default. Beyond it, new ones displace the oldest of the most
    /// crowded address (under IPv6, /64).
    pub half_open: usize,
    /// Largest number of handshakes per second with peers that have proved their address, 500 by default. An equal
    /// number of peers may wait for up to 1 s.
    pub handshakes: usize,
    /// Largest number of closed connections that still answer late segments, 4096 by default; the oldest are dropped
    /// first.
    pub lingering: usize,
    /// Largest amount of unsent or unacknowledged data of one connection, bytes; 128 KiB by default.
    pub send_buffer: usize,
    /// Largest memory for the buffers of all connections of a listener, bytes, counted as if full; 512 MiB by
    /// default.
    pub memory: usize,
}

impl Config {
    /// The default configuration with this security mode, for which there is no default.
    pub fn new(security: Security) -> Self {
        Self {
            transport: Transport::tpa(tpa::Config::net()),
            or_tpa: None,
            channels: false,
            marks: false,
            lifecycle: lifecycle::Config {
                syn_wait_max: Some(MAX_SYN_WAIT),
                syn_retries: Some(SYN_RETRIES),
                keepalive: Some(KEEPALIVE),
                ..lifecycle::Config::USUAL
            },
            initial_ttl: 64,
            security,
            shared_key: None,
            silent: false,
            resets: true,
            limits: Limits::default(),
        }
    }

    /// The supported transports, of which the peer must support one.
    pub(crate) fn transports(&self) -> Transports {
        let Transport { name, .. } = self.transport;
        Transports { preferred: name, format: self.transport.format(), or_tpa: self.or_tpa.is_some() }
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

/// Upper bound of the time between two SYNs. Over several hops that lose packets many SYNs are lost, and seldom because of
/// congestion, so that longer times would only delay the connection.
const MAX_SYN_WAIT: Duration = Duration::from_secs(1);
/// Retransmissions of a SYN: opening fails after 25 s.
const SYN_RETRIES: u8 = 24;
/// Interval of keepalives on an idle connection. They detect a lost peer and keep NAT bindings alive, many of
/// which expire after 30 s without UDP.
const KEEPALIVE: Duration = Duration::from_secs(25);

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            backlog: 128,
            half_open: 256,
            // A handshake with keys costs a listener 0.3 ms of CPU time in an unoptimised build, so that this
            // many take about a seventh of a core.
            handshakes: 500,
            lingering: 4096,
            send_buffer: 128 * 1024,
            memory: 512 * 1024 * 1024,
        }
    }
}
