//! What a routing agent is told and what it says, whatever its protocol.

use core::net::Ipv4Addr;

use multihop_core::{DropReason, Notice};

/// A data packet that needs a next hop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Routable {
    /// Hand it back in exactly one output ([`Output::Forward`] or [`Output::Drop`]).
    pub ticket: Ticket,
    /// Whose packet it is.
    pub source: Ipv4Addr,
    /// Where it goes.
    pub destination: Ipv4Addr,
    /// The neighbour it came from; `None` for this node's own packets.
    pub previous_hop: Option<Ipv4Addr>,
    /// Links it has crossed.
    pub hops: u8,
}

/// The driver's name for a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(pub u32);

/// What an agent is told; `M` is the protocol's message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Input<M> {
    /// A packet of this node's own, or one to be forwarded, needs a next hop.
    Packet(Routable),
    /// A message of the protocol arrived.
    Message {
        /// The neighbour that sent it (the IP source address: messages cross one link at a time).
        from: Ipv4Addr,
        /// The IP TTL it arrived with.
        ttl: u8,
        /// The message.
        message: M,
    },
    /// The MAC, or address resolution, gave up on a neighbour while sending this data packet.
    LinkFailed {
        /// The neighbour.
        next_hop: Ipv4Addr,
        /// The packet.
        packet: Routable,
    },
    /// The MAC gave up on a neighbour while sending a message of the protocol itself.
    MessageLost {
        /// The neighbour.
        next_hop: Ipv4Addr,
    },
}

/// What an agent says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output<M> {
    /// The packet leaves for a neighbour.
    Forward {
        /// Which packet.
        ticket: Ticket,
        /// The neighbour.
        next_hop: Ipv4Addr,
    },
    /// The packet goes no further.
    Drop {
        /// Which packet.
        ticket: Ticket,
        /// Why.
        reason: DropReason,
        /// Whether its source is to be told by an ICMP host-unreachable that quotes it.
        tell_source: bool,
    },
    /// A message of the protocol.
    Message {
        /// To one neighbour, or (`None`) to all.
        to: Option<Ipv4Addr>,
        /// The IP TTL it leaves with.
        ttl: u8,
        /// The message.
        message: M,
    },
    /// Every packet that waits in the interface queue for this neighbour comes back as
    /// [`Input::LinkFailed`].
    Purge {
        /// The neighbour.
        next_hop: Ipv4Addr,
    },
    /// Packets that wait in the interface queue for this neighbour are dropped, for want of a route
    /// beyond it. They do not come back.
    Discard {
        /// The neighbour.
        next_hop: Ipv4Addr,
        /// Only packets to this destination; `None`: all.
        destination: Option<Ipv4Addr>,
    },
    /// News for this host's connections with a peer.
    Notice {
        /// The peer.
        peer: Ipv4Addr,
        /// What happened.
        notice: Notice,
    },
}
