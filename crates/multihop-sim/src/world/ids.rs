//! Indices of the objects that the parts of a network own.

use multihop_core::{FlowId, Interface, NodeId};

/// A neighbour as one of a node's interfaces reaches it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Neighbour {
    pub(super) interface: Interface,
    pub(super) node: NodeId,
}

impl Neighbour {
    /// A neighbour that the first interface reaches.
    pub(super) fn on_first(node: NodeId) -> Self {
        Self { interface: Interface(0), node }
    }
}

/// An index into the table of ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EndId(pub(super) u32);

/// An index into the table of flights.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlightId(pub(super) u32);

impl EndId {
    pub(super) fn sender(flow: FlowId) -> Self {
        Self(2 * flow.0)
    }

    pub(super) fn receiver(flow: FlowId) -> Self {
        Self(2 * flow.0 + 1)
    }

    pub(super) fn flow(self) -> FlowId {
        FlowId(self.0 / 2)
    }

    pub(super) fn is_sender(self) -> bool {
        self.0.is_multiple_of(2)
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl FlightId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
