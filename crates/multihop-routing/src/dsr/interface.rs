//! What the agent is told and what it says.

use alloc::sync::Arc;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Notice};
use multihop_wire::Quoted;
use multihop_wire::dsr::{Header, SourceRoute};

#[cfg(doc)]
use super::Agent;
use crate::agent::{Routable, Ticket};

/// A packet of the protocol itself, with the addresses of its IP header.
///
/// The IP header carries [`multihop_wire::dsr::PROTOCOL`] and the header's bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// IP source address.
    pub source: Ipv4Addr,
    /// IP destination address; requests go to the broadcast address.
    pub destination: Ipv4Addr,
    /// The rest.
    pub header: Header,
}

/// What an agent is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Input {
    /// A packet of this node's own (without a route), or one to be forwarded.
    Packet {
        /// The packet.
        packet: Routable,
        /// The source route that it arrived with.
        route: Option<SourceRoute>,
    },
    /// A message of the protocol arrived, for this node, for all, or to be forwarded.
    Message {
        /// The IP TTL it arrived with.
        ttl: u8,
        /// The message.
        message: Arc<Message>,
    },
    /// The MAC, or address resolution, gave up on a neighbour while sending this data packet.
    LinkFailed {
        /// The neighbour.
        next_hop: Ipv4Addr,
        /// The packet.
        packet: Routable,
        /// The source route that it was sent with.
        route: SourceRoute,
        /// The start of the packet, for the route error to carry to the source's connections.
        quoted: Option<Quoted>,
    },
    /// The MAC gave up on a neighbour while sending a message of the protocol.
    MessageLost {
        /// The neighbour.
        next_hop: Ipv4Addr,
        /// The message as it was sent.
        message: Arc<Message>,
    },
    /// A data packet comes back from the interface queue after [`Output::Purge`].
    Purged {
        /// The neighbour that it was for.
        next_hop: Ipv4Addr,
        /// The packet.
        packet: Routable,
        /// The source route that it was to be sent with.
        route: SourceRoute,
    },
    /// A message of the protocol comes back from the interface queue after [`Output::Purge`].
    MessagePurged {
        /// The neighbour that it was for.
        next_hop: Ipv4Addr,
        /// The message.
        message: Arc<Message>,
    },
    /// The radio overheard a frame for another station. Useless unless [`Agent::wants_tap`].
    Tap {
        /// The packet, the same at each hop: in real networks a hash of the IP source and
        /// identification.
        id: u32,
        /// What it is.
        packet: Overheard,
    },
}

/// What the radio overheard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Overheard {
    /// A data packet.
    Data {
        /// IP source address.
        source: Ipv4Addr,
        /// IP destination address.
        destination: Ipv4Addr,
        /// Its source route, as on the air.
        route: SourceRoute,
    },
    /// A message of the protocol.
    Message(Arc<Message>),
}

/// What an agent says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output {
    /// The packet leaves for a neighbour.
    Forward {
        /// Which packet.
        ticket: Ticket,
        /// The neighbour.
        next_hop: Ipv4Addr,
        /// The source route that it leaves with.
        route: SourceRoute,
    },
    /// The packet goes no further. Its source, where it is another, hears of that by route errors.
    Drop {
        /// Which packet.
        ticket: Ticket,
        /// Why.
        reason: DropReason,
    },
    /// A message of the protocol.
    Message {
        /// To one neighbour, or (`None`) to all.
        to: Option<Ipv4Addr>,
        /// The IP TTL it leaves with.
        ttl: u8,
        /// The message.
        message: Arc<Message>,
    },
    /// Everything that waits in the interface queue for this neighbour comes back as
    /// [`Input::Purged`] or [`Input::MessagePurged`].
    Purge {
        /// The neighbour.
        next_hop: Ipv4Addr,
    },
    /// News for this host's connections with a peer.
    Notice {
        /// The peer.
        peer: Ipv4Addr,
        /// What happened.
        notice: Notice,
    },
}
