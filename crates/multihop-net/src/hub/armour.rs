use multihop_core::Instant;
use multihop_wire::tpa::Segment;

/// How the segments of one connection become datagrams, and datagrams segments.
#[derive(Debug)]
pub(super) enum Armour {
    /// As they are.
    Plain,
}

/// What a datagram was.
#[derive(Debug)]
pub(super) enum Opened {
    /// A segment of this connection.
    Segment(Segment),
    /// Nothing that this connection takes.
    Nothing,
}

#[expect(clippy::needless_pass_by_ref_mut, reason = "armour that is more than plain counts what it seals")]
impl Armour {
    /// Appends the datagram that carries `segment`.
    pub(super) fn seal(&mut self, _now: Instant, segment: &Segment, out: &mut Vec<u8>) {
        match self {
            Self::Plain => segment.emit_in_udp(out),
        }
    }

    /// The segment in a datagram between these ports, the peer's first.
    pub(super) fn open(&mut self, _now: Instant, bytes: &[u8], (from, to): (u16, u16)) -> Opened {
        match self {
            Self::Plain => Segment::parse_in_udp(bytes, from, to).map_or(Opened::Nothing, Opened::Segment),
        }
    }
}
