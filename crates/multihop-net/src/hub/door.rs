use multihop_core::Instant;
use multihop_wire::tpa::{Body, Segment};

use super::Datagram;
use super::armour::Armour;
use crate::config::Security;
use crate::error::Error;

/// What a hub does with strangers, and with what its applications call strangers.
#[derive(Debug)]
pub(super) enum Door {
    /// Lets everybody in.
    Plain,
}

/// What becomes of a datagram that belongs to no connection.
#[derive(Debug)]
pub(super) enum Knock {
    /// Nothing.
    Nothing,
    /// This datagram goes back.
    #[expect(dead_code, reason = "cookies come next")]
    Answer(Vec<u8>),
    /// It gets a reset, unless it has just had one.
    Refuse(Segment),
    /// A connection begins with this segment.
    Enter(Armour, Segment),
}

#[expect(clippy::needless_pass_by_ref_mut, reason = "a door that is more than plain counts who knocks")]
impl Door {
    pub(super) fn new(security: &Security) -> Result<Self, Error> {
        match security {
            Security::Plain => Ok(Self::Plain),
            Security::Token(_) | Security::Keys { .. } => Err(Error::Unsupported),
        }
    }

    /// The armour of a connection that begins here.
    pub(super) fn leave(&self) -> Result<Armour, Error> {
        match self {
            Self::Plain => Ok(Armour::Plain),
        }
    }

    /// A datagram between these ports, the peer's first, that belongs to no connection.
    pub(super) fn knock(
        &mut self,
        _now: Instant,
        datagram: &Datagram<'_>,
        (from, to): (u16, u16),
        is_open: bool,
    ) -> Knock {
        let Ok(segment) = Segment::parse_in_udp(datagram.bytes, from, to) else { return Knock::Nothing };
        match segment.body {
            Body::Syn(_) if segment.ack.is_none() && is_open => Knock::Enter(Armour::Plain, segment),
            _ => Knock::Refuse(segment),
        }
    }
}
