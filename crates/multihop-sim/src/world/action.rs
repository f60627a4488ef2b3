//! Actions that one part of a network requests from the others.

use multihop_core::{DropReason, FlowId, Interface, NodeId, Notice};
use multihop_radio::frame::{Outgoing, PacketHandle};

use super::agenda::Direction;
use super::ids::{EndId, Neighbour};

/// Applied by [`World::act`](super::World::act) after the requesting part has returned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    // Of the air:
    /// A transmission of this radio that has just begun reaches the stations of other radios.
    Leak(Interface),
    /// A station's MAC takes its next packet.
    Serve { interface: Interface, node: NodeId },
    /// A station passes the packet of a data frame to the layer above.
    Deliver { node: NodeId, from: Neighbour, is_unicast: bool, packet: PacketHandle },
    /// Moves a packet to a node's IP or MAC.
    Arrive { node: NodeId, packet: PacketHandle, direction: Direction },
    /// A station's MAC has given up on a packet.
    LinkFailed { node: NodeId, interface: Interface, out: Outgoing },

    // Of IP:
    /// A packet arrives from a neighbour.
    ReceiveIp { node: NodeId, from: Neighbour, packet: PacketHandle },
    /// A packet could not be delivered to a neighbour.
    Unreachable { node: NodeId, next_hop: Neighbour, packet: PacketHandle, reason: DropReason },
    /// Returns packets that wait for a lost neighbour to the agent.
    Purge { node: NodeId, next_hop: Neighbour },
    /// Drops packets that wait for a neighbour and have this destination, or any destination if `None`.
    Discard { node: NodeId, next_hop: Neighbour, destination: Option<NodeId> },
    /// Notifies the source of a packet that it cannot be forwarded.
    TellSource { node: NodeId, packet: PacketHandle },
    /// Takes the outputs of a routing agent.
    DrainRouter(NodeId),

    // Of the ends:
    /// Delivers a notice to a node's connections with a peer.
    Notify { node: NodeId, peer: NodeId, notice: Notice },
    /// Delivers a notice to one end.
    NotifyEnd { end: EndId, notice: Notice },
    /// Takes the outputs of an end.
    DrainEnd(EndId),
    /// Forwards data that arrived on a flow.
    Relay(FlowId),
    /// Ends a relay if no more data will arrive.
    EndRelay(FlowId),

    // Of the monitor of losses:
    /// A packet of a flow has been dropped; requested only if [`Context::reports_losses`].
    ///
    /// [`Context::reports_losses`]: super::context::Context::reports_losses
    Lost(Loss),
    /// The routing protocol has handled the packet that a MAC gave up on.
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
