//! Queue of messages that wait to share a packet with others.

use alloc::sync::Arc;
use alloc::vec::Vec;

use multihop_wire::olsr::{Body, Hello, Message, Packet};

/// Messages that wait to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    waiting: Vec<Message>,
    /// Sequence number of the next packet.
    sequence: u16,
}

impl Outbox {
    pub(super) fn put(&mut self, message: Message) {
        self.waiting.push(message);
    }

    /// Removes the next packet, with at most `most` messages. `stamp` is the time stamp of its HELLOs.
    pub(super) fn take(&mut self, most: usize, stamp: u32) -> Option<Arc<Packet>> {
        if self.waiting.is_empty() {
            return None;
        }
        let rest = self.waiting.split_off(most.clamp(1, self.waiting.len()));
        // The packet takes over the allocated memory, because most nodes rarely have waiting messages.
        let mut messages = core::mem::replace(&mut self.waiting, rest);
        // DEVIATION apdr-1: The measured delay of a HELLO begins when the HELLO leaves. In the report (section 3) it
        // begins when the HELLO is created, which adds the wait of UM-OLSR's messages.
        for message in &mut messages {
            if let Body::Hello(Hello { report: Some(report), .. }) = &mut message.body {
                report.stamp = stamp;
            }
        }
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        Some(Arc::new(Packet { sequence, messages }))
    }
}
