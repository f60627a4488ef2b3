//! HELLOs and the neighbours that send them (RFC 3561, sections 6.9 and 6.10).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant, earliest};
use multihop_wire::aodv::{Message, Sequence};

use super::reply::new_reply;
use super::{Agent, LinkFailure, Outgoing, Preset};

/// Neighbours whose HELLOs were received.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    /// Instant at which each neighbour is considered lost.
    lost_at: BTreeMap<Ipv4Addr, Instant>,
    /// Instant of the next HELLO; `None` if HELLOs are neither sent nor expected.
    next_hello: Option<Instant>,
}

impl Neighbours {
    pub(super) const fn new(first_hello: Option<Instant>) -> Self {
        Self { lost_at: BTreeMap::new(), next_hello: first_hello }
    }

    pub(super) fn knows(&self, neighbour: Ipv4Addr) -> bool {
        self.lost_at.contains_key(&neighbour)
    }

    pub(super) fn forget(&mut self, neighbour: Ipv4Addr) {
        self.lost_at.remove(&neighbour);
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        earliest(self.next_hello, self.lost_at.values().min().copied())
    }

    fn pop_lost(&mut self, now: Instant) -> Option<Ipv4Addr> {
        let (&lost, _) = self.lost_at.iter().find(|(_, at)| **at <= now)?;
        self.lost_at.remove(&lost);
        Some(lost)
    }
}

impl Agent {
    pub(super) fn on_hello(&mut self, now: Instant, at: Instant, from: Ipv4Addr, sequence: Sequence) {
        if self.neighbours.next_hello.is_some() {
            self.neighbours.lost_at.insert(from, at + self.config.neighbour_life);
        }
        // In ns-2 a HELLO creates no route.
        if self.config.preset == Preset::Uu
            && self.table.meet(from, Some(sequence), true, at + HELLO_ROUTE_LIFE)
        {
            self.on_route(now, from);
        }
    }

    /// Records that the sender of any message is a neighbour, as AODV-UU does.
    pub(super) fn on_neighbour(&mut self, now: Instant, at: Instant, from: Ipv4Addr) {
        if let Some(lost_at) = self.neighbours.lost_at.get_mut(&from) {
            *lost_at = at + self.config.neighbour_life;
        }
        // DEVIATION aodv-5: The increase of a sequence number at a link failure is undone by the neighbour's next
        // message (with HELLOs, only by a HELLO). In AODV-UU it stays until a HELLO, and requests of the neighbour
        // would be refused.
        let take_back = self.config.link_failure == LinkFailure::Mac;
        if self.table.meet(from, None, take_back, at + self.config.active_route_timeout) {
            self.on_route(now, from);
        }
    }

    pub(super) fn expire_neighbours(&mut self, now: Instant) {
        while let Some(lost) = self.neighbours.pop_lost(now) {
            self.break_link(now, lost);
        }
    }

    pub(super) fn send_hello(&mut self, now: Instant) {
        if self.neighbours.next_hello.is_none_or(|at| at > now) {
            return;
        }
        // RFC 3561 §6.9 and AODV-UU, but not ns-2: any broadcast replaces a HELLO.
        let last = self.last_broadcast.filter(|_| self.config.preset == Preset::Uu);
        let quiet_until = last.map(|last| last + self.config.hello_interval).filter(|&until| until > now);
        if quiet_until.is_none() {
            let life = self.config.hello_interval * ALLOWED_HELLO_LOSS;
            let hello = |address| Message::Reply(new_reply(address, 0, self.sequence, address, life));
            let over = |interface, address| Outgoing {
                to: None,
                interface,
                ttl: 1,
                message: hello(address),
                forwarded: false,
            };
            let all: Vec<_> = match &self.interfaces[..] {
                [] => Vec::from([over(None, self.address)]),
                own => own.iter().map(|&(interface, address)| over(Some(interface), address)).collect(),
            };
            for hello in all {
                self.send(now, hello);
            }
        }
        let interval = self.hello_interval();
        self.neighbours.next_hello = quiet_until.or(Some(now + interval));
    }

    fn hello_interval(&mut self) -> Duration {
        let config = &self.config;
        let shortest = config.hello_interval.saturating_sub(config.hello_jitter);
        shortest + self.rng.duration_below(config.hello_jitter * 2)
    }
}

/// Lifetime of a route that a HELLO proves, as in AODV-UU: two HELLO intervals and a slack of 100 ms.
const HELLO_ROUTE_LIFE: Duration = Duration::from_millis(2100);

/// Number of intervals that the lifetime in a HELLO covers.
const ALLOWED_HELLO_LOSS: u64 = 2;
