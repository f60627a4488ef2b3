//! The identity of a socket, and which keys of peers it accepts.

use super::message::ResetToken;
use super::noise::Proof;
use super::reset::{NO_TOKEN, ResetKey};
use super::traffic::Rotation;
use crate::config::Peers;
use crate::keys::PublicKey;
use crate::transport::Transports;
use alloc::vec;
use alloc::vec::Vec;

/// Credentials of a socket's connections: the proof of this end's identity, and the accepted peers.
pub(crate) struct Credentials {
    pub(crate) transports: Transports,
    pub(crate) proof: Proof,
    /// Peers whose keys are accepted; unused with a token.
    pub(crate) peers: Peers,
    pub(crate) rotation: Rotation,
    /// Key from which the tokens of resets are derived; `None` if this end sends no resets.
    pub(crate) resets: Option<ResetKey>,
}

/// The keys that an initiator accepts of a listener.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ListenerKey {
    /// Any key is accepted, because the listener's key is unknown.
    Any,
    /// A key of this list.
    OneOf(Vec<PublicKey>),
}

impl Credentials {
    /// Token for a reset of an index that this end gives to a peer.
    pub(super) fn reset_token(&self, index: u32) -> ResetToken {
        self.resets.as_ref().map_or(NO_TOKEN, |key| key.token(index))
    }

    /// Keys that an initiator accepts of the listener with this name.
    pub(crate) fn listener_key(&self, name: &str) -> ListenerKey {
        match &self.peers {
            Peers::Any => ListenerKey::Any,
            Peers::Exactly(wanted) => ListenerKey::OneOf(vec![*wanted]),
            Peers::Listed(keys) => keys.of_listener(name).map_or(ListenerKey::Any, ListenerKey::OneOf),
        }
    }
}

impl ListenerKey {
    pub(super) fn accepts(&self, key: PublicKey) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(keys) => keys.contains(&key),
        }
    }

    /// The key with which the initiator begins the handshake.
    pub(super) fn first(&self) -> Option<PublicKey> {
        match self {
            Self::Any => None,
            Self::OneOf(keys) => keys.first().copied(),
        }
    }
}
