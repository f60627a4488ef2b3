//! The interface of a routing agent, whatever its protocol: inputs, outputs and [`RoutingAgent`].

use alloc::sync::Arc;
use core::iter::Sum;
use core::net::Ipv4Addr;

use multihop_core::{BitRate, DropReason, Instant, Interface, Machine, Notice};
use multihop_wire::Quoted;
use multihop_wire::dsr::SourceRoute;

use crate::message::Message;

/// One node's routing agent.
///
/// Data packets stay with the driver. The agent gets a [`Ticket`] for each packet and returns the ticket in
/// exactly one [`Output::Forward`] or [`Output::Drop`], at once or later. The driver delivers packets
/// addressed to this node itself, and decrements the TTL of those that it forwards.
///
/// A node may have several interfaces, each with an address; the address of the first is the main address.
/// Neighbours are known by the addresses of their interfaces. Such an address is reached over one interface,
/// over which its messages arrive. A next hop therefore determines an interface.
pub trait RoutingAgent: Machine<Input = Input, Output = Output> {
    /// Handles a message like [`Input::Message`], without a copy of the message. Returns false if nothing has
    /// changed: the driver then need not poll outputs or the deadline. Broadcasts reach many agents that
    /// ignore them; the return value saves most of their cost.
    fn receive(
        &mut self,
        now: Instant,
        interface: Interface,
        from: Ipv4Addr,
        ttl: u8,
        message: &Message,
    ) -> bool {
        self.handle(now, Input::Message { interface, from, ttl, message: message.clone() });
        true
    }

    /// Whether the driver is to report overheard packets.
    fn wants_overheard(&self) -> bool {
        false
    }

    /// Handles a packet like [`Input::Overheard`], without a copy of the packet. False if nothing has
    /// changed, as in [`receive`](Self::receive).
    fn overhear(&mut self, now: Instant, id: u32, packet: &Overheard) -> bool {
        self.handle(now, Input::Overheard { id, packet: packet.clone() });
        true
    }

    /// Whether the driver is to report the bit rates of links.
    fn wants_rates(&self) -> bool {
        false
    }

    /// Receives the bit rates of the link to a neighbour before each message from it. Only called if the
    /// agent [wants them](Self::wants_rates).
    fn note_rates(&mut self, _from: Ipv4Addr, _rates: LinkRates) {}

    /// Length in bytes, as a simulation accounts for it, of the IP packet with a message.
    fn accounted_len(&self, message: &Message) -> usize {
        message.packet_len()
    }

    /// Whether a message of this agent overtakes data in the interface queue.
    fn overtakes_data(&self, _message: &Message) -> bool {
        true
    }

    /// Number of changes of the routes in use, if the agent counts them.
    fn route_changes(&self) -> Option<RouteChanges> {
        None
    }
}

/// The bit rates of data on a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkRates {
    /// Rate of frames that arrive from the neighbour.
    pub incoming: BitRate,
    /// Rate of frames sent to the neighbour.
    pub outgoing: BitRate,
}

/// A data packet that needs a next hop.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Routable {
    /// Ticket of the packet that the driver stores; an agent returns each ticket exactly once.
    pub ticket: Ticket,
    /// IP address of the node that sent the packet.
    pub source: Ipv4Addr,
    /// IP address of the packet's final destination.
    pub destination: Ipv4Addr,
    /// Neighbour from which the packet came; `None` if this node originated it.
    pub previous_hop: Option<Ipv4Addr>,
    /// Number of links that the packet has crossed.
    pub hops: u8,
    /// Label that distinguishes flows with the same source and destination. Packets without ports have the
    /// label [`NO_FLOW`].
    pub flow: u32,
    /// Source route that the packet carries.
    pub route: Option<Arc<SourceRoute>>,
}

/// The driver's identifier of a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(pub u32);

/// The flow label of packets without ports.
pub const NO_FLOW: u32 = u32::MAX;

/// Input of a routing agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Input {
    /// A packet that this node originates or forwards needs a next hop.
    Packet(Routable),
    /// A message of the protocol arrived: for this node, for all nodes, or to be forwarded.
    Message {
        /// Interface of this node over which the message came.
        interface: Interface,
        /// Address of the neighbour's interface that sent the message.
        from: Ipv4Addr,
        /// IP TTL with which the message arrived.
        ttl: u8,
        /// Message as it arrived, with the fields of its protocol.
        message: Message,
    },
    /// The MAC, or address resolution, could not deliver this data packet to a neighbour.
    LinkFailed {
        /// Address of the neighbour that did not answer.
        next_hop: Ipv4Addr,
        /// The packet, with the source route with which it was sent.
        packet: Routable,
        /// The start of the packet, as route errors quote it.
        quoted: Option<Quoted>,
    },
    /// The MAC, or address resolution, could not deliver a message of the protocol to a neighbour.
    MessageLost {
        /// Address of the neighbour that did not answer.
        next_hop: Ipv4Addr,
        /// The message as it was sent.
        message: Message,
    },
    /// A data packet returns from the interface queue after [`Output::Purge`].
    Purged {
        /// Neighbour for which the packet was queued.
        next_hop: Ipv4Addr,
        /// The returned data packet.
        packet: Routable,
    },
    /// A message of the protocol returns from the interface queue after [`Output::Purge`].
    MessagePurged {
        /// Neighbour for which the message was queued.
        next_hop: Ipv4Addr,
        /// The returned message of the protocol.
        message: Message,
    },
    /// Reports that a unicast packet for another station was received. Only if the agent [wants
    /// it](RoutingAgent::wants_overheard).
    Overheard {
        /// Identifier of the packet on all of its hops: in real networks a hash of the IP source and
        /// identification.
        id: u32,
        /// Contents that concern routing: a data packet or a message.
        packet: Overheard,
    },
}

/// A packet addressed to another station.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Overheard {
    /// Data packet on its way between two other nodes.
    Data {
        /// IP address of the node that sent the packet.
        source: Ipv4Addr,
        /// IP address of the packet's final destination.
        destination: Ipv4Addr,
        /// Source route that the packet carries.
        route: Option<Arc<SourceRoute>>,
    },
    /// A message of the protocol.
    Message(Message),
}

/// Output of a routing agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output {
    /// The packet leaves for a neighbour.
    Forward {
        /// Ticket of the forwarded packet.
        ticket: Ticket,
        /// Address of the neighbour that receives the packet next.
        next_hop: Ipv4Addr,
        /// Source route of the packet from this node on.
        route: Option<Arc<SourceRoute>>,
    },
    /// Removes a packet that the agent cannot forward.
    Drop {
        /// Ticket of the dropped packet.
        ticket: Ticket,
        /// Reason that traces and counters give for the drop.
        reason: DropReason,
        /// Whether the packet's source receives an ICMP host-unreachable message that quotes the packet.
        tell_source: bool,
    },
    /// A message of the protocol.
    Message {
        /// Neighbour to which the message goes; `None` for all neighbours.
        to: Option<Ipv4Addr>,
        /// Interface over which the message leaves. `None` means all interfaces, or with `to` the interface over
        /// which the neighbour is reached.
        interface: Option<Interface>,
        /// IP TTL with which the message leaves.
        ttl: u8,
        /// Message to encode and transmit.
        message: Message,
    },
    /// All packets in the interface queue for this neighbour return as [`Input::Purged`] or
    /// [`Input::MessagePurged`].
    Purge {
        /// Address of the neighbour whose packets return.
        next_hop: Ipv4Addr,
    },
    /// Data packets in the interface queue for this neighbour are dropped because it has no route. They do
    /// not return.
    Discard {
        /// Address of the neighbour whose packets are dropped.
        next_hop: Ipv4Addr,
        /// Destination whose packets are dropped; `None` for all destinations.
        destination: Option<Ipv4Addr>,
    },
    /// A notice for this host's connections with a peer.
    Notice {
        /// Address of the host at the other end of the connections.
        peer: Ipv4Addr,
        /// Event to report to the connections, such as a lost route.
        notice: Notice,
    },
}

/// Changes of the routes in use.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RouteChanges {
    /// Packets that took another route than the previous packet to the same destination.
    pub changes: u64,
    /// Number of packets whose route changed back to the one in use before the latest change.
    pub oscillations: u64,
}

impl RouteChanges {
    /// The changes since the earlier count `before`.
    pub const fn since(self, before: Self) -> Self {
        Self { changes: self.changes - before.changes, oscillations: self.oscillations - before.oscillations }
    }
}

impl Sum for RouteChanges {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            changes: sum.changes + one.changes,
            oscillations: sum.oscillations + one.oscillations,
        })
    }
}
