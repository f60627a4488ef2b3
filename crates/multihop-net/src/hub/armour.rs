use multihop_core::Instant;
use multihop_wire::tpa::Segment;

use super::plain::Plain;

/// How the segments of one connection become datagrams, and datagrams segments.
#[derive(Debug)]
pub(super) enum Armour {
    /// As they are.
    Plain(Plain),
}

/// What a datagram was.
#[derive(Debug)]
pub(super) enum Opened {
    /// A segment of this connection.
    Segment(Segment),
    /// The SYN must leave again at once, for the armour has learnt what was missing in it.
    Again,
    /// Nothing that this connection takes.
    Nothing,
}

impl Armour {
    /// Appends the datagram that carries `segment`.
    pub(super) fn seal(&mut self, _now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        match self {
            Self::Plain(plain) => plain.seal(segment, out),
        }
    }

    /// The segment in a datagram between these ports, the peer's first.
    pub(super) fn open(&mut self, _now: Instant, bytes: &[u8], ports: (u16, u16)) -> Opened {
        match self {
            Self::Plain(plain) => plain.open(bytes, ports),
        }
    }
}
