//! Early HELLOs and TCs: messages that leave before their interval has passed, because of a change.
//!
//! RFC 3626 allows them (section 9.3 for TCs). Their rate is bounded as in RFC 6130 (`HELLO_MIN_INTERVAL`)
//! and RFC 7181 (`TC_MIN_INTERVAL`), and by a budget that grows by one message per interval, so that a
//! neighbour whose link flaps, or an attacker, at most doubles the messages of this node in the long run.
//! Each early message waits for a random time (RFC 5148).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant, Rng};
use multihop_wire::olsr::{HelloLink, Tc};

use super::Agent;
use super::config::{Config, Triggered};
use crate::link_state::table::Table;

/// State of early messages.
#[derive(Clone, Debug)]
pub(super) struct Early {
    hello: Pace,
    tc: Pace,
    /// The links that the last HELLO declared.
    declared: Vec<HelloLink>,
    /// Sequence numbers of the last TCs of other nodes.
    origins: Table<Ipv4Addr, u16>,
    /// Whether a TC has left since this node first had relays that flood it.
    presented: bool,
}

/// The rate limit of early messages of one kind.
#[derive(Clone, Copy, Debug)]
struct Pace {
    min_interval: Duration,
    /// Interval at which the budget grows by one message.
    refill: Duration,
    /// Size of the budget, as the time in which an empty budget becomes full. It is full after this time
    /// without early messages.
    capacity: Duration,
    /// Earliest instant of the next early message; `None` if none is scheduled.
    due: Option<Instant>,
    /// Whether the next early message leaves even if it repeats the last one.
    forced: bool,
    /// Number of further times that the latest early message is repeated.
    repeats: u8,
    /// Instant at which a message of this kind last left.
    sent: Option<Instant>,
    /// Instant at which the budget is full again.
    full_at: Instant,
}

impl Pace {
    fn new(settings: Triggered, refill: Duration) -> Self {
        Self {
            min_interval: settings.min_interval,
            refill,
            capacity: refill.saturating_mul(u64::from(settings.burst)),
            due: None,
            forced: false,
            repeats: 0,
            sent: None,
            full_at: Instant::ZERO,
        }
    }

    /// Schedules an early message as soon as the rate limit permits, plus jitter. A message that is scheduled earlier
    /// remains.
    fn schedule(&mut self, now: Instant, rng: &mut Rng) {
        self.schedule_after(now, Duration::ZERO, rng);
    }

    fn schedule_after(&mut self, now: Instant, wait: Duration, rng: &mut Rng) {
        let (at, max_jitter) = (now.max(self.allowed_at()) + wait, self.min_interval / 2);
        if self.due.is_none_or(|due| due > at + max_jitter) {
            self.due = Some(at + rng.duration_below(max_jitter));
        }
    }

    fn force(&mut self, now: Instant, wait: Duration, rng: &mut Rng) {
        self.forced = true;
        self.schedule_after(now, wait, rng);
    }

    /// Earliest instant that the shortest interval and the budget allow.
    fn allowed_at(&self) -> Instant {
        let spaced = self.sent.map_or(Instant::ZERO, |sent| sent + self.min_interval);
        let missing = self.full_at.saturating_since(Instant::ZERO) + self.refill;
        spaced.max(Instant::ZERO + missing.saturating_sub(self.capacity))
    }

    /// Whether the scheduled message leaves now. The message is postponed if only the rate limit prevents it.
    fn is_due(&mut self, now: Instant) -> bool {
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        let allowed = self.allowed_at();
        self.due = (allowed > now).then_some(allowed);
        self.due.is_none()
    }

    /// Decides whether an early message leaves, and counts it.
    fn decide(&mut self, now: Instant, is_new: bool, repeats: u8, rng: &mut Rng) -> bool {
        if core::mem::take(&mut self.forced) || is_new {
            self.repeats = repeats;
        } else if self.repeats > 0 {
            self.repeats -= 1;
        } else {
            return false;
        }
        self.full_at = self.full_at.max(now) + self.refill;
        self.sent = Some(now);
        if self.repeats > 0 {
            self.schedule_after(now, self.min_interval, rng);
        }
        true
    }
}

impl Early {
    pub(super) fn new(now: Instant, config: &Config, settings: Triggered, rng: &mut Rng) -> Self {
        let mut hello = Pace::new(settings, config.hello_interval);
        hello.force(now, Duration::ZERO, rng);
        Self {
            hello,
            tc: Pace::new(settings, config.tc_interval),
            declared: Vec::new(),
            origins: Table::new(),
            presented: false,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        [self.hello.due, self.tc.due].into_iter().flatten().min()
    }

    /// Records that a HELLO with these links leaves.
    pub(super) fn on_hello(&mut self, now: Instant, links: &[HelloLink], rng: &mut Rng) {
        self.hello.sent = Some(now);
        if self.declared != links {
            self.declared.clear();
            self.declared.extend_from_slice(links);
            self.tc.schedule(now, rng);
        }
    }

    /// Records that a TC leaves at `now`.
    pub(super) fn on_tc(&mut self, now: Instant) {
        self.tc.sent = Some(now);
    }
}

impl Agent {
    /// Schedules early messages after what has just happened.
    pub(super) fn schedule_early(&mut self, now: Instant) {
        let Some(early) = &mut self.early else { return };
        if core::mem::take(&mut self.stale.hello) || self.stale.mprs {
            early.hello.schedule(now, &mut self.rng);
        }
        if core::mem::take(&mut self.stale.tc) {
            early.tc.schedule(now, &mut self.rng);
        }
    }

    /// Schedules an early HELLO for a neighbour that is new or has listed this node before, and whose HELLO does not
    /// list this node.
    pub(super) fn hasten_hello(&mut self, now: Instant) {
        if let Some(early) = &mut self.early {
            early.hello.force(now, Duration::ZERO, &mut self.rng);
        }
    }

    /// Repeats this node's announcements for nodes that have not received them.
    pub(super) fn hasten_tc(&mut self, now: Instant) {
        if let Some(early) = &mut self.early {
            early.tc.force(now, early.tc.min_interval, &mut self.rng);
        }
    }

    /// Schedules an early TC after the TC of a node that is new, or whose sequence number shows a restart. Such a
    /// node has no information about the network.
    pub(super) fn welcome(&mut self, now: Instant, originator: Ipv4Addr, tc: &Tc) {
        let Some(early) = &mut self.early else { return };
        early.origins.expire(now);
        let before = early.origins.get(originator).copied();
        early.origins.put(originator, tc.sequence, now + self.config.topology_hold);
        let is_newcomer = before.is_none_or(|before| tc.sequence.wrapping_sub(before) > MAX_STEP);
        if is_newcomer && self.has_announcements() {
            self.hasten_tc(now);
        }
    }

    /// Whether other nodes need this node's announcements.
    fn has_announcements(&mut self) -> bool {
        self.announces_outside() || !self.advertised().is_empty()
    }

    /// Sends due early messages that contain changes or were forced.
    pub(super) fn send_early(&mut self, now: Instant) {
        let Some(early) = &mut self.early else { return };
        let (hello, tc) = (early.hello.is_due(now), early.tc.is_due(now));
        if hello {
            self.elect();
            let links = self.declared_links(now);
            let Some(early) = &mut self.early else { return };
            let is_new = early.declared != links;
            if early.hello.decide(now, is_new, HELLO_REPEATS, &mut self.rng) {
                self.counters.early += 1;
                self.send_hello(now);
            }
        }
        if tc {
            self.send_early_tc(now);
        }
    }

    fn send_early_tc(&mut self, now: Instant) {
        let advertised = self.advertised();
        let has_relays = !self.mprs.is_empty();
        let Some(early) = &mut self.early else { return };
        let presents = has_relays && !early.presented;
        let is_new = presents || advertised != self.advertisement.neighbours();
        if early.tc.decide(now, is_new, TC_REPEATS, &mut self.rng) {
            early.presented |= has_relays;
            self.counters.early += 1;
            self.send_tc(now, true);
        }
    }
}

/// Number of repetitions of an early HELLO that declares something new: broadcasts can be lost.
const HELLO_REPEATS: u8 = 2;
/// Number of repetitions of an early TC.
const TC_REPEATS: u8 = 1;
/// Largest plausible increase of a node's TC sequence number between two TCs that another node receives, while the
/// other node still stores the first one.
const MAX_STEP: u16 = 16;
