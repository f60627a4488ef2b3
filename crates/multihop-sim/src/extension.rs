//! User-defined protocols: what a transport must be to run in the simulator, and where a routing
//! protocol goes.
//!
//! docs/extending.md walks through a complete example of each.

use multihop_core::FlowId;
use multihop_routing::network::AgentConfig;
use multihop_transport::connection::Connection;

/// Protocols that take the place of the scenario's.
#[derive(Default)]
pub struct Extensions<'a> {
    /// Makes both ends of a flow, or `None` to leave the flow its transport. Flows of datagrams
    /// (`cbr`, `paced`) are not asked about.
    pub transport: Option<&'a dyn Fn(FlowId) -> Option<TransportEnds>>,
    /// Takes the place of the scenario's routing protocol.
    pub routing: Option<&'a dyn AgentConfig>,
}

/// The two ends of a flow.
pub struct TransportEnds {
    /// What results call the transport.
    pub name: String,
    /// The end at the flow's source.
    pub sender: Box<dyn Connection>,
    /// The end at its destination.
    pub receiver: Box<dyn Connection>,
}
