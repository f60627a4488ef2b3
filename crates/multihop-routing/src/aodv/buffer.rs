//! Data packets that wait for a route (RFC 3561, section 6.3).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use crate::agent::Routable;

/// Packets that wait for a route, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    limit: usize,
    life: Duration,
    packets: VecDeque<(Instant, Routable)>,
}

impl Buffer {
    pub(super) const fn new(limit: usize, life: Duration) -> Self {
        Self { limit, life, packets: VecDeque::new() }
    }

    /// Adds a packet; returns the oldest one if the buffer was full.
    pub(super) fn push(&mut self, now: Instant, packet: Routable) -> Option<Routable> {
        self.packets.push_back((now + self.life, packet));
        (self.packets.len() > self.limit).then(|| self.packets.pop_front())?.map(|(_, packet)| packet)
    }

    pub(super) fn holds(&self, destination: Ipv4Addr) -> bool {
        self.packets.iter().any(|(_, packet)| packet.destination == destination)
    }

    /// Removes all packets to a destination.
    pub(super) fn take(&mut self, destination: Ipv4Addr) -> Vec<Routable> {
        let mut taken = Vec::new();
        self.packets.retain(|(_, packet)| {
            let goes = packet.destination == destination;
            if goes {
                taken.push(packet.clone());
            }
            !goes
        });
        taken
    }

    /// Removes the oldest packet if it has timed out.
    pub(super) fn pop_expired(&mut self, due: impl Fn(Instant) -> bool) -> Option<Routable> {
        self.packets.pop_front_if(|(until, _)| due(*until)).map(|(_, packet)| packet)
    }

    /// Instant at which the oldest packet times out.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.packets.front().map(|(until, _)| *until)
    }
}
