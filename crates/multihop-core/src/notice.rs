//! Cross-layer notices, as typed values.

/// A notice from the layers below, which a transport may use or ignore. The driver delivers it to the connections with
/// the peer that it concerns, so that routing and transport do not depend on each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Notice {
    /// A segment was dropped because of a link failure.
    LinkFailed(LostSegment),
    /// This host has no route to the peer any more.
    RouteLost,
    /// This host has a route to the peer again.
    RouteRestored,
    /// The path to the peer is this many hops long.
    PathInfo {
        /// Links between here and the peer.
        hops: u8,
    },
}

/// A segment that was dropped because of a link failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LostSegment {
    /// Source port in the transport header of the lost segment.
    pub source: u16,
    /// Destination port in the transport header of the lost segment.
    pub destination: u16,
    /// The transport protocol, and the identity of the segment.
    pub segment: SegmentId,
}

/// Identity of a segment within its connection, by transport protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SegmentId {
    /// A TCP segment with this sequence number.
    Tcp(u32),
    /// A TPA segment with data or FIN.
    Tpa {
        /// Number of the segment's block.
        block: u16,
        /// Position of the segment in its block.
        position: u8,
    },
    /// The start of the header of a user-defined transport, padded with zeros.
    Custom([u8; 16]),
    /// No identifiable segment: an ACK of TPA, or a segment of a protocol without notices.
    Other,
}
