//! User-defined protocols: what a transport must be to run in the simulator, and where a routing
//! protocol goes.
//!
//! docs/extending.md walks through a complete example of each.

use multihop_core::{Duration, FlowId, Machine, Notice};
use multihop_routing::network::AgentConfig;

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
    pub sender: Box<dyn Transport>,
    /// The end at its destination.
    pub receiver: Box<dyn Transport>,
}

/// One end of a connection.
pub trait Transport: Machine<Input = TransportInput, Output = TransportOutput> {}

impl<T: Machine<Input = TransportInput, Output = TransportOutput>> Transport for T {}

/// What one end of a connection is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TransportInput {
    /// The application has this many more bytes to send; `None`: without end (told to the sender).
    Data(Option<u64>),
    /// The application has ended; what is not acknowledged need not arrive (told to the sender).
    Stop,
    /// A message from the other end.
    Message(Message),
    /// News from the layers below.
    Notice(Notice),
}

/// What one end of a connection says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TransportOutput {
    /// A message for the other end.
    Send(Message),
    /// This many more bytes have arrived in order.
    Delivered(u64),
    /// The other end has this many more bytes.
    Acked(u64),
    /// A round trip took this long; goes to the flow's `rtt_ms`.
    RoundTrip(Duration),
    /// The retransmission timer expired; goes to the flow's `timeouts`.
    TimedOut,
}

/// What a transport of one's own puts into an IP packet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Message {
    /// The header, byte by byte, behind four bytes of ports.
    pub header: Vec<u8>,
    /// Bytes of application data behind it, whose contents do not matter. A message with data
    /// counts as a segment.
    pub data: u32,
    /// Whether the data has been sent before; nobody but the statistics looks at this.
    pub again: bool,
}
