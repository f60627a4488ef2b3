//! The configuration of listeners and streams: transport, security, limits, socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use multihop_hub::{Error, Identity, Limits, PublicKey, SharedKey, Token, Transport};
use multihop_transport::{lifecycle, tpa};

use crate::keys::{AuthorizedKeys, KeyCheck, KnownPeers};

/// The configuration of a listener or a stream.
#[derive(Clone, Debug)]
pub struct Config {
    /// The transport of connections: TPA with its profile for real networks unless it is changed.
    pub transport: Transport,
    /// TPA with these parameters takes the place of `transport` if the peer has only TPA.
    pub or_tpa: Option<tpa::Config>,
    /// Whether connections may have [channels](crate::Channel), if their transport has any.
    pub channels: bool,
    /// Whether datagrams with messages of a [channel](crate::Channel) have a DSCP by its priority: 0 EF, 1 and 2 AF41, 3 and
    /// 4 best effort, 5 to 7 CS1. Radios with EDCA then send some before others, at every hop. Linux only.
    pub marks: bool,
    /// Opening, watching and closing of connections, whatever their transport.
    pub lifecycle: lifecycle::Config,
    /// The TTL with which packets leave.
    pub initial_ttl: u8,
    /// Who may connect, and whether traffic is encrypted.
    pub security: Security,
    /// Secret that both ends have in addition to their keys.
    pub shared_key: Option<SharedKey>,
    /// Whether a listener is silent: it answers only callers that prove possession of the token or of an authorised
    /// key.
    pub silent: bool,
    /// Whether this host answers late datagrams with resets after a restart, from which peers learn of the restart.
    /// With a token that many hosts have, a reset does not prove its sender.
    pub resets: bool,
    /// Limits of a listener.
    pub limits: Limits,
    /// Buffers of the UDP socket.
    pub socket: SocketOptions,
    /// Local addresses of a caller: it sends from the first one, and on a second path of the connection from the second one.
    /// Without them the system chooses the address. Two need Linux, encryption and the transport `mesh`.
    pub local: Vec<IpAddr>,
}

/// Who may connect, and whether traffic is encrypted.
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
        /// Keys of peers that are accepted.
        peers: Peers,
    },
}

/// Which keys of peers are accepted.
#[derive(Clone, Debug)]
pub enum Peers {
    /// For an initiator: the listener must have the key stored for its name. At first contact any key is accepted and
    /// stored.
    Known(KnownPeers),
    /// For a listener: callers whose keys are in the file of authorized keys may connect.
    Authorized(AuthorizedKeys),
    /// A peer with any key may connect.
    Any,
    /// Only the peer with this key may connect.
    Exactly(PublicKey),
}

impl Peers {
    fn for_hub(&self) -> multihop_hub::Peers {
        match self {
            Self::Known(known) => multihop_hub::Peers::Listed(Arc::new(known.clone())),
            Self::Authorized(keys) => multihop_hub::Peers::Listed(Arc::new(keys.clone())),
            Self::Any => multihop_hub::Peers::Any,
            Self::Exactly(key) => multihop_hub::Peers::Exactly(*key),
        }
    }
}

/// Buffers of the UDP socket below a hub.
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
        let hub = multihop_hub::Config::new(multihop_hub::Security::Plain);
        Self {
            transport: hub.transport,
            or_tpa: hub.or_tpa,
            channels: hub.channels,
            marks: hub.marks,
            lifecycle: hub.lifecycle,
            initial_ttl: hub.initial_ttl,
            security,
            shared_key: hub.shared_key,
            silent: hub.silent,
            resets: hub.resets,
            limits: hub.limits,
            socket: SocketOptions::default(),
            local: Vec::new(),
        }
    }

    /// Refuses local addresses from which the peer cannot be reached.
    pub(crate) fn check_local(&self, peer: SocketAddr) -> io::Result<()> {
        let refuse = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        if self.local.len() > 2 {
            return refuse(format!("{} local addresses, allowed: 2", self.local.len()));
        }
        if self.local.len() == 2 && self.local[0] == self.local[1] {
            return refuse(format!("two paths need two local addresses, and both are {}", self.local[0]));
        }
        if self.local.len() == 2 && matches!(self.security, Security::Plain) {
            return refuse(
                "two local addresses need a token or keys: a plain connection has one path".to_owned(),
            );
        }
        match self.local.iter().find(|local| local.is_ipv4() != peer.is_ipv4()) {
            Some(local) => refuse(format!("{local} and {peer} are addresses of different IP versions")),
            None => Ok(()),
        }
    }

    /// The configuration of the hub behind a socket.
    pub(crate) fn for_hub(&self) -> multihop_hub::Config {
        multihop_hub::Config {
            transport: self.transport.clone(),
            or_tpa: self.or_tpa.clone(),
            channels: self.channels,
            marks: self.marks,
            lifecycle: self.lifecycle,
            initial_ttl: self.initial_ttl,
            security: self.security.for_hub(),
            shared_key: self.shared_key.clone(),
            silent: self.silent,
            resets: self.resets,
            limits: self.limits.clone(),
        }
    }
}

impl Security {
    fn for_hub(&self) -> multihop_hub::Security {
        match self {
            Self::Plain => multihop_hub::Security::Plain,
            Self::Token(token) => multihop_hub::Security::Token(token.clone()),
            Self::Keys { identity, peers } => {
                multihop_hub::Security::Keys { identity: identity.clone(), peers: peers.for_hub() }
            }
        }
    }

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
                "first contact with {name}: its key, {key}, was stored in {file}; ask its owner whether this is the right key"
            );
        }
        Ok(())
    }
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { receive_buffer: 1024 * 1024, send_buffer: 1024 * 1024 }
    }
}
