//! What goes on the air.

use multihop_core::{Duration, NodeId};

/// The receiver address that means everybody.
pub const BROADCAST: NodeId = NodeId(u32::MAX);

/// A frame as stations exchange it. What it carries is named by a handle; the bytes stay with the
/// driver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame {
    /// What kind of frame.
    pub kind: FrameKind,
    /// Who sends it.
    pub from: NodeId,
    /// Whom it is for, or [`BROADCAST`].
    pub to: NodeId,
    /// How long the exchange goes on after this frame: the duration field, whole microseconds.
    pub nav: Duration,
    /// Sequence number (data only), 12 bits.
    pub sequence: u16,
    /// Whether it was sent before.
    pub retry: bool,
    /// Bytes of the MAC frame, checksum included.
    pub bytes: u32,
    /// What a data frame carries.
    pub body: PacketHandle,
}

impl Frame {
    /// Whether this is data for one station, and `node` is another.
    pub fn is_overheard_by(&self, node: NodeId) -> bool {
        self.kind == FrameKind::Data && self.to != node && self.to != BROADCAST
    }
}

/// Kinds of frames.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// Data.
    Data,
}

/// The driver's name for a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PacketHandle(pub u32);

impl PacketHandle {
    /// Of frames that carry no packet.
    pub const NONE: Self = Self(u32::MAX);
}

/// A packet handed to the MAC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outgoing {
    /// The driver's name for it.
    pub packet: PacketHandle,
    /// The next hop, or [`BROADCAST`].
    pub to: NodeId,
    /// Bytes of the packet from the IP header on (or of the ARP message).
    pub bytes: u32,
    /// Routing messages go to the head of the queue.
    pub urgent: bool,
}
