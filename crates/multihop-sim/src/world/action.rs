//! What one part of a network asks of the others.

use multihop_core::{DropReason, FlowId, NodeId, Notice};
use multihop_radio::frame::{Outgoing, PacketHandle};

use super::agenda::Direction;
use super::flow::Arrival;
use super::ids::{EndId, FlightId};

/// Done by [`World::act`](super::World::act) when the part that asked has returned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    // Of the air:
    /// A frame goes on passing stations.
    ResumeFlight(FlightId),
    /// A station's MAC takes its next packet.
    Serve(NodeId),
    /// A station passes the packet of a data frame to the layer above.
    Deliver { node: NodeId, from: NodeId, is_unicast: bool, packet: PacketHandle },
    /// A packet arrives at a node's IP or MAC.
    Arrive { node: NodeId, packet: PacketHandle, direction: Direction },
    /// A station's MAC has given up on a packet.
    LinkFailed { node: NodeId, out: Outgoing },

    // Of IP:
    /// A packet arrives from a neighbour.
    ReceiveIp { node: NodeId, from: NodeId, packet: PacketHandle },
    /// A neighbour cannot be reached with this packet.
    Unreachable { node: NodeId, next_hop: NodeId, packet: PacketHandle, reason: DropReason },
    /// Packets that wait for a lost neighbour go back to the agent.
    Purge { node: NodeId, next_hop: NodeId },
    /// Packets that wait for a neighbour, and are for this destination or for any, are dropped.
    Discard { node: NodeId, next_hop: NodeId, destination: Option<NodeId> },
    /// A node tells the source of a packet that it cannot be forwarded.
    TellSource { node: NodeId, packet: PacketHandle },
    /// A routing agent has more to say.
    DrainRouter(NodeId),

    // Of the ends:
    /// A packet arrives at its destination.
    Receive { node: NodeId, packet: PacketHandle },
    /// News for a node's connections with a peer.
    Notify { node: NodeId, peer: NodeId, notice: Notice },
    /// News for one end.
    NotifyEnd { end: EndId, notice: Notice },
    /// An end has more to say.
    DrainEnd(EndId),
    /// A segment has been taken in; `delivered` is what the end had counted before.
    Arrived { end: EndId, arrival: Arrival, delivered: u64 },
    /// Data that arrived on a flow is passed on.
    Relay(FlowId),
    /// A relay ends if nothing more will come.
    EndRelay(FlowId),

    // Of the monitor of losses:
    /// A packet of a flow has been dropped; asked only if [`Context::reports_losses`].
    ///
    /// [`Context::reports_losses`]: super::context::Context::reports_losses
    Lost(Loss),
    /// The routing protocol knows of the packet that a MAC gave up on.
    ForgetGivenUp,
}

/// A packet of a flow that has been dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub(super) flow: FlowId,
    pub(super) uid: u64,
    pub(super) source: NodeId,
    pub(super) carries_data: bool,
    pub(super) reason: DropReason,
}
