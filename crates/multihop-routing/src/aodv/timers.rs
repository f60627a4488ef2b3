//! Timers of AODV: expiry, retries, HELLOs and delayed messages.

use alloc::collections::BTreeMap;

use multihop_core::{Instant, earliest};

use super::Agent;
use crate::agent::{Output, Routable};

/// Messages delayed by jitter, and buffered packets that leave at intervals.
#[derive(Clone, Debug, Default)]
pub(super) struct Delayed {
    items: BTreeMap<(Instant, u64), Item>,
    count: u64,
}

#[derive(Clone, Debug)]
enum Item {
    Send(Output),
    Route(Routable),
}

impl Delayed {
    pub(super) fn send_at(&mut self, at: Instant, message: Output) {
        self.put(at, Item::Send(message));
    }

    pub(super) fn route_at(&mut self, at: Instant, packet: Routable) {
        self.put(at, Item::Route(packet));
    }

    fn put(&mut self, at: Instant, item: Item) {
        self.items.insert((at, self.count), item);
        self.count += 1;
    }

    fn pop_due(&mut self, now: Instant) -> Option<Item> {
        self.items.first_entry().filter(|first| first.key().0 <= now).map(|first| first.remove())
    }

    fn next(&self) -> Option<Instant> {
        self.items.first_key_value().map(|(&(at, _), _)| at)
    }
}

impl Agent {
    /// Handles expired timers: expiry first, then transmissions.
    pub(super) fn run_timers(&mut self, now: Instant) {
        self.expire_routes(now);
        self.expire_packets(now);
        self.expire_neighbours(now);
        self.expire_repairs(now);
        self.expire_discoveries(now);
        self.send_hello(now);
        while let Some(item) = self.delayed.pop_due(now) {
            match item {
                Item::Send(message) => self.out.push_back(message),
                Item::Route(packet) => self.route(now, packet),
            }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let expiry = self.table.next_expiry();
        let expiry = (expiry < Instant::FAR_FUTURE).then(|| self.config.on_tick(expiry));
        let packet = self.buffer.next_expiry().map(|at| self.config.on_tick(at));
        [
            expiry,
            packet,
            self.neighbours.next_deadline(),
            self.next_repair_end(),
            self.next_discovery(),
            self.delayed.next(),
        ]
        .into_iter()
        .fold(None, earliest)
    }

    fn expire_routes(&mut self, now: Instant) {
        if self.config.on_tick(self.table.next_expiry()) > now {
            return;
        }
        let config = &self.config;
        let expired = self.table.expire(|at| config.on_tick(at) <= now);
        for destination in expired {
            self.route_expired(now, destination);
        }
        self.table.find_next_expiry();
    }
}
