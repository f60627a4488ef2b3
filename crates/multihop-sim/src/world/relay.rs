//! Connections in two parts: an application that passes on what one flow delivers over another.

use multihop_core::FlowId;

use super::World;
use super::ends::EndId;

/// Between the receiver of one flow and the sender of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    /// The flow that carries it on.
    onto: FlowId,
    buffer: u64,
    /// Bytes taken from the receiver, and not yet acknowledged to the sender.
    held: u64,
    /// Bytes that wait at the receiver.
    waiting: u64,
    /// Nothing more will come.
    ended: bool,
}

impl Relay {
    pub(super) fn new(onto: FlowId, buffer: u64) -> Self {
        Self { onto, buffer, held: 0, waiting: 0, ended: false }
    }

    /// Takes as much as there is room for.
    fn take(&mut self) -> u32 {
        let bytes = self.waiting.min(self.buffer.saturating_sub(self.held));
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.waiting -= u64::from(bytes);
        self.held += u64::from(bytes);
        bytes
    }
}

impl World<'_> {
    /// So much more has arrived on a flow: it goes on, if there is somebody to pass it on.
    pub(super) fn relay(&mut self, from: FlowId, arrived: u64) {
        let Some(relay) = &mut self.ends.flows[from.index()].relay else { return };
        relay.waiting += arrived;
        let onto = relay.onto;
        if !self.ends.flows[onto.index()].running {
            return;
        }
        let bytes = self.ends.flows[from.index()].relay.as_mut().map_or(0, Relay::take);
        if bytes > 0 {
            let (receiver, sender) = (EndId::receiver(from), EndId::sender(onto));
            self.ends.ends[receiver.index()].read(bytes);
            let taken = self.ends.ends[sender.index()].send(self.now, Some(bytes.into()), false);
            debug_assert!(taken, "a relay that runs is open");
            self.drain_end(sender);
            self.drain_end(receiver);
        }
        self.end_relay(from);
    }

    /// The flow that carries it on has delivered so much of it.
    pub(super) fn relayed(&mut self, from: FlowId, bytes: u64) {
        if let Some(relay) = &mut self.ends.flows[from.index()].relay {
            relay.held = relay.held.saturating_sub(bytes);
        }
        self.relay(from, 0);
    }

    pub(super) fn nothing_more_to_relay(&mut self, from: FlowId) {
        if let Some(relay) = &mut self.ends.flows[from.index()].relay {
            relay.ended = true;
            self.end_relay(from);
        }
    }

    /// What is left to acknowledge is known once nothing more comes.
    fn end_relay(&mut self, from: FlowId) {
        let Some(relay) = self.ends.flows[from.index()].relay else { return };
        if !relay.ended || relay.waiting > 0 || !self.ends.flows[relay.onto.index()].running {
            return;
        }
        self.ends.flows[relay.onto.index()].unacked = relay.held;
        if relay.held == 0 {
            self.stop_application(relay.onto);
            self.arm_application(relay.onto);
        }
    }
}
