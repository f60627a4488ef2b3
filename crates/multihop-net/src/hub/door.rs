use std::fmt;

use multihop_core::Instant;
use multihop_wire::tpa::Segment;

use super::armour::Armour;
use super::plain::{Plain, PlainDoor};
use super::{Datagram, Entropy};
use crate::config::Security;
use crate::error::Error;

/// What a hub does with strangers, and with those that its applications call.
pub(super) enum Door {
    /// Lets everybody in.
    Plain(PlainDoor),
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
    /// A connection begins with this segment.
    Enter(Armour, Segment),
}

impl Door {
    pub(super) fn new(security: &Security, entropy: &mut Entropy) -> Result<Self, Error> {
        let mut key = [0; 32];
        entropy(&mut key);
        match security {
            Security::Plain => Ok(Self::Plain(PlainDoor::new(key))),
            Security::Token(_) | Security::Keys { .. } => Err(Error::Unsupported),
        }
    }

    /// The armour of a connection that begins here.
    pub(super) fn leave(&self) -> Result<Armour, Error> {
        match self {
            Self::Plain(_) => Ok(Armour::Plain(Plain::default())),
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
        }
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain"),
        }
    }
}
