//! News that crosses layers, as typed values. Only the wire formats know it as bytes.

/// Typed news from the layers below, which a transport may use or ignore. The driver delivers it to the
/// connections with the peer that it concerns, so that routing never names transport nor transport routing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Notice {
    /// A segment met a broken link.
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

/// A segment that was dropped at a broken link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LostSegment {
    /// Port of the end that transmitted it.
    pub source: u16,
    /// Port of the end that it was for.
    pub destination: u16,
    /// The transport protocol, and which of its segments.
    pub segment: SegmentId,
}

/// What identifies a segment within its connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SegmentId {
    /// A TCP segment with this sequence number.
    Tcp(u32),
    /// A TPA segment with data or FIN.
    Tpa {
        /// Number of its block.
        block: u16,
        /// Its place in the block.
        position: u8,
    },
    /// The start of the header of a user-defined transport, filled up with zeros.
    Custom([u8; 16]),
    /// No particular segment: an ACK of TPA, or a protocol without notices.
    Other,
}
