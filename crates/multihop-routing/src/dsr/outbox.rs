//! Outputs of the agent, some of them delayed by jitter (RFC 4728 §9, BroadcastJitter).

use alloc::collections::{BTreeMap, VecDeque};
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Instant, Notice};

use super::Carried;
use crate::agent::Output;

/// Queue of immediate and delayed outputs.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    ready: VecDeque<Output>,
    later: BTreeMap<(Instant, u64), Output>,
    count: u64,
}

impl Outbox {
    pub(super) fn push(&mut self, output: Output) {
        self.ready.push_back(output);
    }

    /// Delays an output until `at`.
    pub(super) fn push_at(&mut self, now: Instant, at: Instant, output: Output) {
        if at <= now {
            return self.push(output);
        }
        self.later.insert((at, self.count), output);
        self.count += 1;
    }

    pub(super) fn discard(&mut self, carried: &Carried, reason: DropReason) {
        if let Carried::Data(packet) = carried {
            // The source receives a route error instead of an ICMP error.
            self.push(Output::Drop { ticket: packet.ticket, reason, tell_source: false });
        }
    }

    pub(super) fn notice(&mut self, peer: Ipv4Addr, notice: Notice) {
        self.push(Output::Notice { peer, notice });
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first_key_value().map(|(&(at, _), _)| at)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            self.ready.push_back(entry.remove());
        }
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        self.ready.pop_front()
    }
}
