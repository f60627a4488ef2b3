//! Sequence variables of sent data (RFC 9293 §3.3.1).

use multihop_wire::tcp::SeqNumber;

use super::sequence;
use crate::sendq::SendQueue;

/// Sequence variables of sent data. Positions count from this end's SYN, which is at 0. The first byte is at
/// 1, and the FIN follows the last byte.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) iss: SeqNumber,
    /// First unacknowledged position (`SND.UNA`).
    pub(super) una: u64,
    /// Next position to send (`SND.NXT`); goes back after a timeout.
    pub(super) next: u64,
    /// Position after the highest one that was ever sent.
    pub(super) max: u64,
    /// The peer's window in bytes (`SND.WND`).
    pub(super) window: u32,
    /// The largest window the peer has offered.
    pub(super) max_window: u32,
    /// Start of the segment of the last window update, and the position that it acknowledged (`SND.WL1`, `SND.WL2`).
    pub(super) window_from: (u64, u64),
    /// Shift of the windows that the peer offers.
    pub(super) scale: u8,
    pub(super) queue: SendQueue,
    /// Whether a window probe must leave.
    pub(super) probe_due: bool,
    /// Number of probes since the window closed.
    pub(super) probes: u32,
}

impl Sender {
    pub(super) fn new(iss: SeqNumber) -> Self {
        Self {
            iss,
            una: 0,
            next: 0,
            max: 0,
            window: 0,
            max_window: 0,
            window_from: (0, 0),
            scale: 0,
            queue: SendQueue::new(),
            probe_due: false,
            probes: 0,
        }
    }

    /// Sequence number on the wire of a position.
    pub(super) fn number(&self, position: u64) -> SeqNumber {
        sequence::at(self.iss, position)
    }
}
