//! Segments of all transports in datagrams: the one place that knows the bytes of each kind.

use multihop_transport::connection::Segment;
use multihop_transport::tpa::reset_for;
use multihop_wire::tpa::{self, Body};

/// What the hub and the protection distinguish.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// The first segment of a connection.
    Syn,
    /// The answer to it.
    SynAck,
    /// The abrupt end of a connection.
    Reset,
    /// Data, acknowledgements, probes and the end of a stream.
    Other,
}

/// The kind of a segment.
pub(crate) fn kind(segment: &Segment) -> Kind {
    match segment {
        Segment::Tpa(segment) => match segment.body {
            Body::Syn(_) if segment.ack.is_none() => Kind::Syn,
            Body::Syn(_) => Kind::SynAck,
            Body::Reset => Kind::Reset,
            Body::Data { .. } | Body::Fin { .. } | Body::Empty => Kind::Other,
        },
        Segment::Tcp(_) | Segment::Datagram(_) | Segment::Mesh(_) | Segment::Custom(_) => Kind::Other,
    }
}

/// The number of a SYN by which an answer names it.
pub(crate) fn number(segment: &Segment) -> Option<u32> {
    match segment {
        Segment::Tpa(segment) => Some(segment.block.0.into()),
        _ => None,
    }
}

/// The number of the SYN that a SYN ACK answers.
pub(crate) fn answered(segment: &Segment) -> Option<u32> {
    match segment {
        Segment::Tpa(segment) => segment.ack.map(|ack| ack.block.0.into()),
        _ => None,
    }
}

/// Whether a segment is the first one of a connection, or the answer to it.
pub(crate) fn is_opening(segment: &Segment) -> bool {
    matches!(kind(segment), Kind::Syn | Kind::SynAck)
}

/// Appends the bytes of a segment.
pub(crate) fn emit(segment: &Segment, out: &mut Vec<u8>) {
    if let Segment::Tpa(segment) = segment {
        segment.emit_in_udp(out);
    }
}

/// Reads a segment between these ports, of the peer and of this end. Its data takes this memory.
pub(crate) fn parse(bytes: &[u8], (from, to): (u16, u16), memory: &mut Option<Vec<u8>>) -> Option<Segment> {
    tpa::Segment::parse_in_udp_into(bytes, from, to, memory).ok().map(Segment::Tpa)
}

/// A reset that the sender of `segment` accepts; `None` for a reset, which is never answered.
pub(crate) fn reset_of(segment: &Segment) -> Option<Segment> {
    match segment {
        Segment::Tpa(segment) if segment.body != Body::Reset => Some(Segment::Tpa(reset_for(segment))),
        _ => None,
    }
}

/// The data of a segment, for its memory.
pub(crate) fn into_memory(segment: Segment) -> Option<Vec<u8>> {
    match segment {
        Segment::Tpa(tpa::Segment { body: Body::Data { payload, .. }, .. }) => payload.into_buffer(),
        _ => None,
    }
}
