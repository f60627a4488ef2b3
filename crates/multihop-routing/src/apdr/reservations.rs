//! Reserved paths of flows: which path a flow keeps, when it gets another, and when it ends.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::dsr::Addresses;

use super::Counters;
use super::config::{OnBreak, Reservation};
use crate::olsr;

/// The reserved paths of a source of packets, by flow. `K` identifies a flow.
#[derive(Clone, Debug)]
pub struct Reservations<K> {
    config: Reservation,
    paths: BTreeMap<K, Reserved>,
    counters: Counters,
}

#[derive(Clone, Debug)]
struct Reserved {
    /// Nodes of the path from the first hop to the destination.
    path: Addresses,
    used: Instant,
}

impl<K: Copy + Ord> Reservations<K> {
    /// Creates an empty table.
    pub const fn new(config: Reservation) -> Self {
        let counters = Counters { reserved: 0, reselected: 0 };
        Self { config, paths: BTreeMap::new(), counters }
    }

    /// Replaces the rules for flows, also for those with a path.
    pub const fn configure(&mut self, config: Reservation) {
        self.config = config;
    }

    /// Counters since the table was created.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The path of a flow that sends a packet to a node; reserves a path for a flow without one. `None` if no path
    /// of at most 16 hops is known.
    pub fn use_path(
        &mut self,
        now: Instant,
        agent: &mut olsr::Agent,
        flow: K,
        destination: Ipv4Addr,
    ) -> Option<Addresses> {
        let before = self.paths.get_mut(&flow).map(|reserved| {
            reserved.used = now;
            reserved.path
        });
        if before.is_some_and(|path| self.stays(agent, &path)) {
            return before;
        }
        let Some(path) = agent.path(destination).and_then(Addresses::collect) else { return before };
        match before {
            None => {
                self.release(now);
                self.counters.reserved += 1;
            }
            Some(before) => self.counters.reselected += u64::from(before != path),
        }
        self.paths.insert(flow, Reserved { path, used: now });
        Some(path)
    }

    /// The path of a flow; `None` if it has none.
    pub fn path(&self, flow: &K) -> Option<Addresses> {
        self.paths.get(flow).map(|reserved| reserved.path)
    }

    /// Releases the paths of flows that have ended.
    pub fn release(&mut self, now: Instant) {
        self.paths.retain(|_, reserved| now.saturating_since(reserved.used) < self.config.silence);
    }

    /// Instant at which the next path is released, unless its flow sends a packet.
    pub fn due(&self) -> Option<Instant> {
        self.paths.values().map(|reserved| reserved.used + self.config.silence).min()
    }

    /// All flows with their paths, and the instant of the last packet.
    pub fn paths(&self) -> impl Iterator<Item = (K, &[Ipv4Addr], Instant)> {
        self.paths.iter().map(|(flow, reserved)| (*flow, &*reserved.path, reserved.used))
    }

    /// Number of flows with a path.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether no flow has a path.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    fn stays(&self, agent: &olsr::Agent, path: &[Ipv4Addr]) -> bool {
        match agent.cost_of(path) {
            None => self.config.on_break == OnBreak::Hold,
            Some(cost) => self.config.max_delay.is_none_or(|most| cost <= most.as_micros()),
        }
    }
}
