//! Split connections: an application that forwards the data of one flow over another.

use multihop_core::FlowId;

/// An application between the receiver of one flow and the sender of the next flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    /// Flow that transports the relayed bytes over the next part of the path.
    pub(super) onto: FlowId,
    buffer: u64,
    /// Number of bytes taken from the receiver that the next flow has not acknowledged.
    pub(super) held: u64,
    /// Number of bytes waiting at the receiver.
    pub(super) waiting: u64,
    /// Whether no more data will arrive.
    pub(super) ended: bool,
}

impl Relay {
    pub(super) fn new(onto: FlowId, buffer: u64) -> Self {
        Self { onto, buffer, held: 0, waiting: 0, ended: false }
    }

    /// Takes as many bytes as the buffer allows.
    pub(super) fn take(&mut self) -> u32 {
        let bytes = self.waiting.min(self.buffer.saturating_sub(self.held));
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.waiting -= u64::from(bytes);
        self.held += u64::from(bytes);
        bytes
    }
}
