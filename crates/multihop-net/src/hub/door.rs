use std::fmt;

use multihop_core::Instant;
use multihop_wire::tpa::Segment;

use super::armour::Armour;
use super::plain::{Plain, PlainDoor};
use super::routes::Route;
use super::sealed::SealedDoor;
use super::{Datagram, Entropy};
use crate::config::Security;
use crate::seal::OVERHEAD;
use crate::seal::gate::Gate;

/// What a hub does with strangers, and with those that its applications call.
pub(super) enum Door {
    /// Lets everybody in.
    Plain(PlainDoor),
    /// Lets those in who prove who they are.
    Sealed(SealedDoor),
}

/// What becomes of a datagram that belongs to no connection.
#[derive(Debug)]
pub(super) enum Knock {
    /// Nothing.
    Nothing,
    /// This datagram goes back.
    Answer(Vec<u8>),
    /// It gets a reset, unless it has just had one.
    Refuse(Segment),
    /// Somebody calls, and is where it says.
    Proved,
    /// A connection begins with this segment.
    Enter(Armour, Segment),
}

impl Door {
    pub(super) fn new(security: &Security, entropy: &mut Entropy) -> Self {
        let mut secret = [0; 32];
        entropy(&mut secret);
        match security {
            Security::Plain => Self::Plain(PlainDoor::new(secret)),
            Security::Token(token) => Self::Sealed(SealedDoor::new(Gate::of_token(token, secret))),
            Security::Keys { identity, peers } => {
                Self::Sealed(SealedDoor::new(Gate::of_keys(identity, peers, secret)))
            }
        }
    }

    /// Bytes that armour adds to a segment.
    pub(super) fn overhead(&self) -> u16 {
        match self {
            Self::Plain(_) => 0,
            Self::Sealed(_) => OVERHEAD,
        }
    }

    /// The armour of a connection that begins here.
    pub(super) fn leave(&self, entropy: &mut Entropy) -> Armour {
        match self {
            Self::Plain(_) => Armour::Plain(Plain::default()),
            Self::Sealed(door) => door.leave(entropy),
        }
    }

    /// Whom a datagram is for; `None` if that is nobody.
    pub(super) fn route(&self, now: Instant, datagram: &Datagram<'_>) -> Option<Route> {
        match self {
            Self::Plain(_) => Some(Route::Peer(datagram.from)),
            Self::Sealed(door) => door.route(now, datagram),
        }
    }

    /// A datagram between these ports, the peer's first, that belongs to no connection.
    pub(super) fn knock(
        &self,
        now: Instant,
        datagram: &Datagram<'_>,
        ports: (u16, u16),
        open: bool,
    ) -> Knock {
        match self {
            Self::Plain(door) => door.knock(now, datagram, ports, open),
            Self::Sealed(door) => door.knock(now, datagram, ports, open),
        }
    }

    /// A connection for a caller that is where it says, if it will do.
    pub(super) fn admit(&self, datagram: &Datagram<'_>, ports: (u16, u16), entropy: &mut Entropy) -> Knock {
        match self {
            Self::Plain(_) => PlainDoor::admit(datagram, ports),
            Self::Sealed(door) => door.admit(datagram, ports.1, entropy),
        }
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain"),
            Self::Sealed(_) => f.write_str("Sealed"),
        }
    }
}
