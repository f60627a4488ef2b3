//! The send buffer (RFC 4728 §4.2): packets that wait for a route.

use alloc::collections::VecDeque;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use super::{Carried, Config};

/// Packets in the order of arrival.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    waiting: VecDeque<Waiting>,
    size: usize,
    time: Duration,
}

/// A packet that waits for a route.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) carried: Carried,
    /// Salvage count of the packet when it leaves; 0 for a packet of this node.
    pub(super) salvage: u8,
    until: Instant,
}

impl SendBuffer {
    pub(super) const fn new(config: &Config) -> Self {
        Self { waiting: VecDeque::new(), size: config.buffer_packets, time: config.buffer_time }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a packet; returns the oldest one if the buffer was full.
    pub(super) fn push(&mut self, now: Instant, carried: Carried, salvage: u8) -> Option<Waiting> {
        self.waiting.push_back(Waiting { carried, salvage, until: now + self.time });
        if self.waiting.len() > self.size { self.waiting.pop_front() } else { None }
    }

    /// Removes the oldest packet if it has timed out.
    pub(super) fn pop_expired(&mut self, now: Instant) -> Option<Waiting> {
        self.waiting.pop_front_if(|first| first.until <= now)
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.until)
    }

    /// Removes the first packet from index `from` on that `wanted` accepts; also returns its index.
    pub(super) fn take(
        &mut self,
        from: usize,
        wanted: impl FnMut(&Waiting) -> bool,
    ) -> Option<(usize, Waiting)> {
        let at = from + self.waiting.iter().skip(from).position(wanted)?;
        self.waiting.remove(at).map(|waiting| (at, waiting))
    }

    /// Whether packets to `target` wait in the buffer, and whether one of them originates at this node.
    pub(super) fn wait_for(&self, target: Ipv4Addr) -> (bool, bool) {
        self.waiting
            .iter()
            .filter(|waiting| waiting.carried.destination() == target)
            .fold((false, false), |(_, own), waiting| (true, own || waiting.salvage == 0))
    }
}
