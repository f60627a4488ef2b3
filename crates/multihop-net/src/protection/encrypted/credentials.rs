//! The identity of a socket, and which keys of peers it accepts.

use std::net::SocketAddr;

use super::noise::Proof;
use super::traffic::Rotation;
use crate::config::Peers;
use crate::keys::{KeyCheck, PublicKey};
use crate::transport::TransportName;

/// How the connections of a socket prove their identity, and which peers they accept.
pub(crate) struct Credentials {
    pub(crate) transport: TransportName,
    pub(crate) proof: Proof,
    /// Peers whose keys are accepted; with a token there are none.
    pub(crate) peers: Peers,
    pub(crate) rotation: Rotation,
}

impl Credentials {
    /// Whether an initiator accepts this key of the listener at `peer`.
    pub(super) fn accepts_listener(&self, key: PublicKey, peer: SocketAddr) -> bool {
        match &self.peers {
            Peers::Any => true,
            Peers::Exactly(wanted) => *wanted == key,
            Peers::Known(known) => !matches!(known.check(&peer.to_string(), key), KeyCheck::Changed { .. }),
            Peers::Authorized(_) => false,
        }
    }

    /// Whether a listener accepts this key of an initiator.
    pub(super) fn accepts_initiator(&self, key: PublicKey) -> bool {
        match &self.peers {
            Peers::Any => true,
            Peers::Exactly(wanted) => *wanted == key,
            Peers::Authorized(keys) => keys.contains(key),
            // A key learnt at first contact gives no right to connect.
            Peers::Known(_) => false,
        }
    }
}
