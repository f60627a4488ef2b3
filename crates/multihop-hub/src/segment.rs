//! Segments of all transports in datagrams: the only module that handles the bytes of each kind.

use alloc::vec::Vec;
use multihop_core::{LostSegment, SegmentId};
use multihop_transport::connection::Segment;
use multihop_transport::mesh::reset_for as mesh_reset_for;
use multihop_transport::tpa::reset_for as tpa_reset_for;
use multihop_wire::control::{Cause, Control, Reset};
use multihop_wire::tpa::{self, Body};
use multihop_wire::{custom, mesh};

/// Format of a transport's segments in datagrams.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Format {
    /// Segments with the header of TPA.
    #[default]
    Tpa,
    /// Segments in the format of `mesh`.
    Mesh,
    /// Messages of a user-defined transport.
    Custom,
}

/// Kind of a segment, as distinguished by the hub and the protection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// The first segment of a connection.
    Syn,
    /// The answer to a SYN, which opens the connection.
    SynAck,
    /// The abrupt end of a connection.
    Reset,
    /// Data, acknowledgements, probes and the end of a stream.
    Other,
}

impl Format {
    /// The format of the SYN in these bytes; `None` if they contain another segment. `other` is the format of
    /// this end's preferred transport.
    pub(crate) fn of_syn(bytes: &[u8], other: Self) -> Option<Self> {
        match (bytes.get(..8)?, other) {
            (&[_, _, 0, TPA_SYN, 0, 0, 0, 0], _) => Some(Self::Tpa),
            (&[_, _, _, mark, ..], _) if mark & CONTROL_MARK != CONTROL_MARK => None,
            // An end that supports only TPA parses the SYNs of all other transports like those of `mesh`.
            (_, Self::Tpa | Self::Mesh) => Some(Self::Mesh),
            (_, Self::Custom) => Some(Self::Custom),
        }
    }

    /// Parses a segment between these ports, of the peer and of this end. `memory` is reused for its data.
    pub(crate) fn parse(
        self,
        bytes: &[u8],
        (from, to): (u16, u16),
        memory: &mut Option<Vec<u8>>,
    ) -> Option<Segment> {
        match self {
            Self::Tpa => tpa::Segment::parse_in_udp_into(bytes, from, to, memory).ok().map(Segment::Tpa),
            Self::Mesh => mesh::Segment::parse_into(bytes, memory).ok().map(Segment::Mesh),
            Self::Custom => custom::Segment::parse_into(bytes, memory).ok().map(Segment::Opened),
        }
    }

    /// Length of a full segment's header, as far as the maximum segment size of the transport does not
    /// include it, bytes.
    pub(crate) const fn uncounted_header(self) -> u16 {
        match self {
            Self::Tpa => TPA_HEADER,
            Self::Mesh | Self::Custom => 0,
        }
    }

    /// Converts a control segment to a segment of this format; `None` for TPA, which defines its own control
    /// segments.
    pub(crate) fn control(self, control: Control) -> Option<Segment> {
        match self {
            Self::Tpa => None,
            Self::Mesh => Some(Segment::Mesh(mesh::Segment::Control(control))),
            Self::Custom => Some(Segment::Opened(custom::Segment::Control(control))),
        }
    }
}

/// The control segment in a segment.
pub(crate) fn control_of(segment: &Segment) -> Option<&Control> {
    match segment {
        Segment::Mesh(mesh::Segment::Control(control))
        | Segment::Opened(custom::Segment::Control(control)) => Some(control),
        _ => None,
    }
}

/// The kind of a segment.
pub(crate) fn kind(segment: &Segment) -> Kind {
    match (segment, control_of(segment)) {
        (Segment::Tpa(tpa::Segment { body: Body::Syn(_), ack, .. }), _) => {
            if ack.is_none() {
                Kind::Syn
            } else {
                Kind::SynAck
            }
        }
        (_, Some(Control::Syn(syn))) => {
            if syn.answers.is_none() {
                Kind::Syn
            } else {
                Kind::SynAck
            }
        }
        (Segment::Tpa(tpa::Segment { body: Body::Reset, .. }), _) | (_, Some(Control::Reset(_))) => {
            Kind::Reset
        }
        _ => Kind::Other,
    }
}

/// Whether a segment is the first one of a connection, or the answer to it.
pub(crate) fn is_opening(segment: &Segment) -> bool {
    matches!(kind(segment), Kind::Syn | Kind::SynAck)
}

/// The number of a SYN, which its answer contains.
pub(crate) fn number(segment: &Segment) -> Option<u32> {
    match (segment, control_of(segment)) {
        (Segment::Tpa(segment), _) => Some(segment.block.0.into()),
        (_, Some(Control::Syn(syn))) => Some(syn.number),
        _ => None,
    }
}

/// The number of the SYN that a SYN ACK answers.
pub(crate) fn answered(segment: &Segment) -> Option<u32> {
    match (segment, control_of(segment)) {
        (Segment::Tpa(segment), _) => segment.ack.map(|ack| ack.block.0.into()),
        (_, Some(Control::Syn(syn))) => syn.answers,
        _ => None,
    }
}

/// Appends the bytes of a segment.
pub(crate) fn emit(segment: &Segment, out: &mut Vec<u8>) {
    match segment {
        Segment::Tpa(segment) => segment.emit_in_udp(out),
        Segment::Mesh(segment) => segment.emit(out),
        Segment::Opened(segment) => segment.emit(out),
        // Segments of TCP, of UDP and of user-defined transports exist in simulations only.
        Segment::Tcp(_) | Segment::Datagram(_) | Segment::Custom(_) | Segment::Udp(_) => {}
    }
}

/// A reset that the sender of `segment` accepts, for a segment that belongs to no connection here; `None` for
/// a reset, which is never answered.
pub(crate) fn reset_of(segment: &Segment) -> Option<Segment> {
    match segment {
        Segment::Tpa(segment) if segment.body != Body::Reset => Some(Segment::Tpa(tpa_reset_for(segment))),
        Segment::Mesh(segment) => Format::Mesh.control(Control::Reset(mesh_reset_for(segment)?)),
        Segment::Opened(segment) => Format::Custom.control(Control::Reset(unknown_in_custom(segment)?)),
        _ => None,
    }
}

fn unknown_in_custom(segment: &custom::Segment) -> Option<Reset> {
    match segment {
        custom::Segment::Control(control) => unknown_in_control(control),
        custom::Segment::Ack(custom::Ack { number, .. })
        | custom::Segment::Close(number)
        | custom::Segment::Message(custom::Message { number, .. }) => Some(unknown(*number)),
    }
}

fn unknown_in_control(control: &Control) -> Option<Reset> {
    match control {
        Control::Syn(syn) => Some(unknown(syn.number)),
        Control::KeepAlive(number) => Some(unknown(*number)),
        Control::Reset(_) => None,
    }
}

fn unknown(number: u32) -> Reset {
    Reset { cause: Cause::UNKNOWN_CONNECTION, number, ..Reset::default() }
}

/// The identification, for notices, of a segment that this end sent between these ports; `None` unless it
/// contains data or FIN.
pub(crate) fn lost(segment: &Segment, (source, destination): (u16, u16)) -> Option<LostSegment> {
    let (source, destination, id) = match segment {
        Segment::Tpa(segment) => (segment.source, segment.destination, segment.id()),
        Segment::Mesh(segment @ mesh::Segment::Data(_)) => {
            (source, destination, SegmentId::Custom(segment.start()))
        }
        Segment::Opened(segment) => (source, destination, segment.id()),
        _ => return None,
    };
    Some(LostSegment { source, destination, segment: id }).filter(|lost| lost.segment != SegmentId::Other)
}

/// Recovers the buffer of a sent segment's data.
pub(crate) fn into_memory(segment: Segment) -> Option<Vec<u8>> {
    match segment {
        Segment::Tpa(tpa::Segment { body: Body::Data { payload, .. }, .. }) => payload.into_buffer(),
        Segment::Mesh(segment) => segment.into_payload().into_buffer(),
        Segment::Opened(custom::Segment::Message(message)) => message.data.into_buffer(),
        _ => None,
    }
}

/// Bits that are set in the fourth byte of a SYN of `mesh` or of a user-defined transport.
const CONTROL_MARK: u8 = 7;
/// Fourth byte of a SYN of TPA: the flag SYN and no position. AckBlockSeq and BitmapAck of such a SYN are
/// zero, while segments of other transports have a number there that begins at 32 random bits.
const TPA_SYN: u8 = 2;
/// Bytes of the header of TPA in UDP.
const TPA_HEADER: u16 = 12;
