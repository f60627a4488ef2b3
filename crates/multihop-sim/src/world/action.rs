//! Actions that one part of a network requests from the others, and the queue in which they wait.

use multihop_core::{DropReason, Duration, FlowId, Instant, Interface, NodeId, Notice};
use multihop_radio::frame::PacketHandle;

use super::agenda::Direction;
use super::ids::{EndId, Neighbour};

/// A request of one part of a network. [`World::act`](super::World::act) passes it to the part that applies
/// it, after the requesting part has returned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    // The air applies these actions:
    /// A transmission of this radio that has just begun reaches the stations of other radios.
    Leak(Interface),
    /// A station's MAC takes the next packet from its queue.
    Serve { interface: Interface, node: NodeId },
    /// A station passes the packet of a received data frame to the layer above.
    Deliver { node: NodeId, from: Neighbour, is_unicast: bool, packet: PacketHandle },
    /// Drops packets that wait for a neighbour and have this destination, or any destination if `None`.
    Discard { node: NodeId, next_hop: Neighbour, destination: Option<NodeId> },
    /// Moves the packets that wait for a lost neighbour from the interface queue to the routing agent.
    Purge { node: NodeId, next_hop: Neighbour },

    // The layer that receives the packet applies this action:
    /// Moves a packet from a node's MAC to IP, or from IP to the MAC.
    Arrive { node: NodeId, packet: PacketHandle, direction: Direction },

    // IP applies these actions:
    /// Reports that a packet could not be delivered to a neighbour.
    Unreachable { node: NodeId, next_hop: Neighbour, packet: PacketHandle, reason: DropReason },
    /// Takes the outputs of a routing agent.
    DrainRouter(NodeId),

    // The ends apply these actions:
    /// Notifies the source of a packet that cannot be forwarded.
    NotifySource { node: NodeId, packet: PacketHandle },
    /// Delivers a notice to a node's connections with a peer.
    Notify { node: NodeId, peer: NodeId, notice: Notice },
    /// Delivers a notice to one end.
    NotifyEnd { end: EndId, notice: Notice },
    /// Takes the outputs of an end.
    DrainEnd(EndId),
    /// Forwards data that arrived on a flow.
    Relay(FlowId),
    /// Measures a loss; only requested if [`Context::reports_losses`](super::context::Context::reports_losses).
    Lost(Loss),

    // Applied by spread:
    /// Offers the file of a flow to every node.
    Offer(FlowId),
    /// A packet has left one radio of its node after this airtime, or was dropped (zero). The action holds the packet.
    SpreadLeft { node: NodeId, packet: PacketHandle, airtime: Duration },
}

/// A packet of a flow that has been dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub(super) flow: FlowId,
    pub(super) source: NodeId,
    pub(super) carries_data: bool,
    pub(super) reason: DropReason,
    /// Sender and receiver of the link on which a MAC gave up on the packet at the instant of the drop.
    pub(super) failed_link: Option<[NodeId; 2]>,
}

/// A packet that a MAC has given up on.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenUp {
    pub(super) at: Instant,
    /// Number of the packet.
    pub(super) uid: u64,
    /// Sender and receiver of the link.
    pub(super) link: [NodeId; 2],
}

/// Queue of requested actions.
///
/// Actions that a part requests in one call are applied in the order of the requests. Actions that result
/// from applying an action precede all earlier requests: an action and its consequences are complete before
/// the next action. Nested calls would have this order, but would recurse.
#[derive(Debug, Default)]
pub(super) struct Actions {
    /// Earlier requests in reverse order, followed from index `reversed` on by new requests in their order.
    waiting: Vec<Action>,
    reversed: usize,
}

impl Actions {
    /// Adds an action after all others requested since the last call of [`next`](Self::next).
    pub(super) fn request(&mut self, action: Action) {
        self.waiting.push(action);
    }

    /// Whether an action has been requested since the last call of [`next`](Self::next).
    #[inline]
    pub(super) fn has_new(&self) -> bool {
        self.waiting.len() > self.reversed
    }

    /// Removes the next action.
    pub(super) fn next(&mut self) -> Option<Action> {
        self.waiting[self.reversed..].reverse();
        let action = self.waiting.pop();
        self.reversed = self.waiting.len();
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_and_its_consequences_precede_the_next_action() {
        let mut actions = Actions::default();
        let mut order = Vec::new();
        let request = |actions: &mut Actions, nodes: [u32; 2]| {
            nodes.into_iter().for_each(|node| actions.request(Action::DrainRouter(NodeId(node))));
        };
        request(&mut actions, [1, 2]);
        while let Some(Action::DrainRouter(NodeId(node))) = actions.next() {
            order.push(node);
            assert!(!actions.has_new());
            if node < 10 {
                request(&mut actions, [10 * node, 10 * node + 1]);
                assert!(actions.has_new());
            }
        }
        assert_eq!(order, [1, 10, 11, 2, 20, 21]);
    }
}
