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

/// How the connections of a socket prove their identity, and which peers they accept.
pub(crate) struct Credentials {
    pub(crate) transports: Transports,
    pub(crate) proof: Proof,
    /// Peers whose keys are accepted; with a token there are none.
    pub(crate) peers: Peers,
    pub(crate) rotation: Rotation,
    /// Key from which the tokens of resets are derived; `None` if this end sends no resets.
    pub(crate) resets: Option<ResetKey>,
}

/// The keys that a listener may have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ListenerKey {
    /// Any key is accepted, because the listener's key is unknown.
    Any,
    /// A key of this list.
    OneOf(Vec<PublicKey>),
}

impl Credentials {
    /// The token of an index that this end gives to a peer.
    pub(super) fn reset_token(&self, index: u32) -> ResetToken {
        self.resets.as_ref().map_or(NO_TOKEN, |key| key.token(index))
    }

    /// The keys that an initiator accepts of the listener with this name.
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

    /// The key with which to begin.
    pub(super) fn first(&self) -> Option<PublicKey> {
        match self {
            Self::Any => None,
            Self::OneOf(keys) => keys.first().copied(),
        }
    }
}
