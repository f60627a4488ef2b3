//! Sequence variables of received data (RFC 9293 §3.3.1).

use multihop_wire::tcp::SeqNumber;

use super::config::Config;
use super::recvq::RecvQueue;

/// Sequence variables of the peer's data.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub(super) irs: SeqNumber,
    pub(super) queue: RecvQueue,
    /// Right edge of the window that this end has offered.
    pub(super) edge: u64,
    pub(super) capacity: u32,
    /// Shift of the windows that this end offers (window scale option).
    pub(super) scale: u8,
    /// Position that the last ACK acknowledged (RFC 7323 §4.3, `Last.ACK.sent`).
    pub(super) last_ack: u64,
    /// Start and end of data that arrived twice, until an ACK reports it (RFC 2883).
    pub(super) duplicate: Option<(u64, u64)>,
}

impl Receiver {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            irs: SeqNumber(0),
            queue: RecvQueue::new(config.sink),
            edge: 0,
            capacity: config.recv_capacity(),
            scale: 0,
            last_ack: 0,
            duplicate: None,
        }
    }
}
