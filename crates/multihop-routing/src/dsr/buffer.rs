//! The send buffer (RFC 4728 §4.2): packets that wait for a way.

use alloc::collections::VecDeque;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use super::{Carried, Config};

/// Packets in the order in which they came.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    waiting: VecDeque<Waiting>,
    size: usize,
    time: Duration,
}

/// A packet without a way.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) carried: Carried,
    /// Salvage count that it will leave with; 0 for a packet of this node's own.
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

    /// Adds a packet; returns the oldest if there are now too many.
    pub(super) fn push(&mut self, now: Instant, carried: Carried, salvage: u8) -> Option<Waiting> {
        self.waiting.push_back(Waiting { carried, salvage, until: now + self.time });
        if self.waiting.len() > self.size { self.waiting.pop_front() } else { None }
    }

    /// Takes the next packet that has waited for too long.
    pub(super) fn pop_expired(&mut self, now: Instant) -> Option<Waiting> {
        self.waiting.pop_front_if(|first| first.until <= now)
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.until)
    }

    /// Takes the first packet from place `from` on that `wanted` chooses; also returns its place.
    pub(super) fn take(
        &mut self,
        from: usize,
        wanted: impl FnMut(&Waiting) -> bool,
    ) -> Option<(usize, Waiting)> {
        let at = from + self.waiting.iter().skip(from).position(wanted)?;
        self.waiting.remove(at).map(|waiting| (at, waiting))
    }

    /// Whether packets wait for a way to `target`, and whether one of them is this node's own.
    pub(super) fn wait_for(&self, target: Ipv4Addr) -> (bool, bool) {
        self.waiting
            .iter()
            .filter(|waiting| waiting.carried.destination() == target)
            .fold((false, false), |(_, own), waiting| (true, own || waiting.salvage == 0))
    }
}
