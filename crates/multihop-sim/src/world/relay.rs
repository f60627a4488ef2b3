//! Split connections: an application that forwards the data of one flow over another.

use multihop_core::FlowId;

/// A relay between the receiver of one flow and the sender of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    /// Flow that takes the relayed bytes to the next part of the path.
    pub(super) onto: FlowId,
    buffer: u64,
    /// Bytes taken from the receiver and not yet acknowledged to the sender.
    pub(super) held: u64,
    /// Bytes waiting at the receiver.
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
