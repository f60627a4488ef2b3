//! Frames, and the packets that the MAC transmits in them.

use multihop_core::settings::Field;
use multihop_core::{Duration, Instant, NodeId};

use crate::phy_profile::RateIndex;

/// Receiver address of a broadcast frame.
pub const BROADCAST: NodeId = NodeId::BROADCAST;

/// A frame on the air. Its packet is named by a handle; the driver keeps the bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame {
    /// Kind of the frame, such as RTS or data.
    pub kind: FrameKind,
    /// Station that transmits the frame.
    pub from: NodeId,
    /// Receiving station, or [`BROADCAST`].
    pub to: NodeId,
    /// The duration field: remaining time of the exchange after this frame, whole microseconds.
    pub nav: Duration,
    /// Sequence number (data only), 12 bits.
    pub sequence: u16,
    /// Access category of a QoS data frame, of a block ACK, or of a block ACK request.
    pub category: Category,
    /// Rate of the bits after preamble and PLCP header.
    pub rate: RateIndex,
    /// The retry bit: whether this is a retransmission.
    pub retry: bool,
    /// Bytes of the MAC frame, checksum included.
    pub bytes: u32,
    /// Request of a starving station that others pause; `None` unless stations take turns.
    pub turn: Option<TurnRequest>,
    /// Packet in a data frame; [`PacketHandle::NONE`] in other frames.
    pub body: PacketHandle,
}

/// A request that other stations pause for a station that starves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TurnRequest {
    /// Whether the transmitter passes on the request of a station that it has heard.
    pub is_passed: bool,
    /// Airtime that the acknowledged data of the starving station had lately, us.
    pub airtime: u32,
}

impl Frame {
    /// Whether this is a unicast data frame for a station other than `node`.
    pub fn is_overheard_by(&self, node: NodeId) -> bool {
        matches!(self.kind, FrameKind::Data | FrameKind::Aggregate) && self.to != node && self.to != BROADCAST
    }
}

/// Kinds of 802.11 frames that the model distinguishes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameKind {
    /// Request to send, which reserves the medium for a data frame.
    Rts,
    /// Clear to send: the answer to an RTS, or a reservation that a station sends to itself.
    Cts,
    /// Acknowledgement of one unicast data frame.
    Ack,
    /// Data frame with one MPDU.
    Data,
    /// Data frame with several MPDUs (A-MPDU).
    Aggregate,
    /// Acknowledgement of several MPDUs.
    BlockAck,
    /// Request for a block ACK. Its `sequence` is the oldest sequence number that the transmitter may still
    /// send.
    BlockAckRequest,
}

/// Handle by which the driver identifies a packet.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct PacketHandle(pub u32);

impl PacketHandle {
    /// The handle in frames without a packet.
    pub const NONE: Self = Self(u32::MAX);
}

/// A packet handed to the MAC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outgoing {
    /// Handle by which the driver identifies the packet.
    pub packet: PacketHandle,
    /// The next hop, or [`BROADCAST`].
    pub to: NodeId,
    /// Bytes of the packet from the IP header on (or of the ARP message).
    pub bytes: u32,
    /// Whether the packet is a routing message, which goes to the head of the queue.
    pub urgent: bool,
    /// Access category of the packet, under EDCA.
    pub category: Category,
    /// Instant at which the packet entered the interface queue.
    pub queued: Instant,
}

/// Access categories of EDCA, the most urgent last.
#[derive(Clone, Copy, Debug, Default, Eq, Field, PartialEq)]
pub enum Category {
    /// Traffic that yields to all other categories (AC_BK).
    Background,
    /// Default for packets without a category of their own (AC_BE).
    #[default]
    BestEffort,
    /// Traffic of moving pictures (AC_VI).
    Video,
    /// Speech, and urgent routing messages.
    Voice,
}

impl Category {
    /// All categories in ascending order of urgency.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// Category of packets with this DSCP (RFC 8325, sections 4.2 and 4.3).
    pub const fn of_dscp(dscp: u8) -> Self {
        match dscp {
            // LE (RFC 8622) and CS1.
            1 | 8 => Self::Background,
            // CS3, AF3x, CS4, AF4x, CS5.
            24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => Self::Video,
            // VA, EF, CS6, CS7.
            44 | 46 | 48 | 56 => Self::Voice,
            _ => Self::BestEffort,
        }
    }

    /// Name of the kind in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::BestEffort => "best-effort",
            Self::Video => "video",
            Self::Voice => "voice",
        }
    }
}
