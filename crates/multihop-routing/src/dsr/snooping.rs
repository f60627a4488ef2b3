//! Learning from overheard packets (RFC 4728 §3.3.1), and automatic route shortening (§3.4.3).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::dsr::{Addresses, RouteReply, SourceRoute};

use super::Agent;
use super::cache::Part;
use super::path::{Trip, is_simple};
use crate::agent::{Overheard, RoutingAgent};
use crate::message::{DsrMessage, Message};

impl Agent {
    /// Handles an overheard packet; false if nothing was learned.
    pub(super) fn learn_from_others(&mut self, now: Instant, id: u32, packet: &Overheard) -> bool {
        let teaches = self.wants_overheard()
            && match packet {
                Overheard::Data { source, destination, route: Some(route) } => {
                    self.learn_from_data(now, id, *source, *destination, route)
                }
                Overheard::Message(Message::Dsr(message)) => self.learn_from_message(now, id, message),
                Overheard::Data { route: None, .. } | Overheard::Message(_) => false,
            };
        if teaches {
            self.peers.follow(now, &self.cache, &mut self.outbox);
        }
        teaches
    }

    fn learn_from_data(
        &mut self,
        now: Instant,
        id: u32,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        route: &SourceRoute,
    ) -> bool {
        let for_me = source == self.address || route.receiver(destination) == Some(self.address);
        if for_me || !self.overhearing.is_new(id) {
            return false;
        }
        let may_forget = self.config.cache_timeout.is_some();
        let version = self.cache.version();
        if !may_forget && self.overhearing.is_known(version, source, destination, route) {
            return false;
        }
        let Some(trip) = Trip::of(source, destination, route) else {
            self.counters.malformed += 1;
            return false;
        };
        self.learn_from(now, &trip);
        match trip.nodes[trip.receiver..].iter().position(|&node| node == self.address) {
            Some(later) => self.shorten(now, &trip, trip.receiver + later),
            None => {
                let version = self.cache.version();
                self.overhearing.keep(Lesson { version, source, destination, route: *route });
            }
        }
        true
    }

    fn learn_from_message(&mut self, now: Instant, id: u32, message: &DsrMessage) -> bool {
        let Some(route) = &message.header.source_route else { return false };
        let receiver = route.receiver(message.destination);
        let for_me = message.source == self.address || receiver == Some(self.address);
        if for_me || !self.config.snoop || !self.overhearing.is_new(id) {
            return false;
        }
        let Some(trip) = Trip::of(message.source, message.destination, route) else {
            self.counters.malformed += 1;
            return false;
        };
        self.note_broken(now, &message.header.errors);
        for reply in &message.header.replies {
            self.learn_own_part(now, message.destination, reply);
        }
        self.learn_from(now, &trip);
        true
    }

    /// Adds the part of an overheard packet's path after this node to the cache. If the path does not contain
    /// this node, adds the link to the transmitting node and the rest of the path from there.
    fn learn_from(&mut self, now: Instant, trip: &Trip) {
        if !self.config.snoop {
            return;
        }
        match trip.nodes.iter().position(|&node| node == self.address) {
            Some(here) => self.learn(now, Part::Secondary, &trip.nodes[here + 1..]),
            None => self.learn(now, Part::Secondary, &trip.nodes[trip.receiver - 1..]),
        }
    }

    /// Stores the part after this node of a path in an overheard reply, if this node can reach the other
    /// node.
    fn learn_own_part(&mut self, now: Instant, first: Ipv4Addr, reply: &RouteReply) {
        if !is_simple(&reply.route) || reply.route.contains(&first) {
            self.counters.malformed += 1;
        } else if let Some(here) = reply.route.iter().position(|&node| node == self.address) {
            self.learn(now, Part::Secondary, &reply.route[here + 1..]);
        }
    }

    /// Sends a gratuitous reply for an overheard packet that would reach this node later, at index `here` of its path.
    fn shorten(&mut self, now: Instant, trip: &Trip, here: usize) {
        if !self.config.gratuitous || !self.hold_down.may_reply(now, &trip.nodes) {
            return;
        }
        self.counters.gratuitous_replies += 1;
        let behind = &trip.nodes[here..];
        let list = |rest: &[Ipv4Addr]| {
            let nodes = trip.nodes[..trip.receiver].iter().chain(rest);
            Addresses::collect(nodes.copied()).expect("shorter than the trip")
        };
        self.reply(now, now, &list(&behind[..1]), &list(behind));
    }
}

/// Recently overheard packets, which are thus recognised on later hops.
#[derive(Clone, Debug, Default)]
pub(super) struct Overhearing {
    /// Hash table indexed by the low bits of the packet id. An entry contains the remaining bits plus one, or
    /// 0 if it is empty.
    ids: Vec<u32>,
    lessons: [Option<Lesson>; LESSONS],
    next: usize,
}

/// Source route that was already processed and adds nothing to the cache until the cache changes.
#[derive(Clone, Copy, Debug)]
struct Lesson {
    version: u32,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    route: SourceRoute,
}

impl Overhearing {
    /// Whether this packet has not been overheard yet.
    fn is_new(&mut self, id: u32) -> bool {
        if self.ids.is_empty() {
            self.ids.resize(1 << ID_BITS, 0);
        }
        let place = &mut self.ids[id as usize % (1 << ID_BITS)];
        let rest = (id >> ID_BITS) + 1;
        core::mem::replace(place, rest) != rest
    }

    fn is_known(&self, version: u32, source: Ipv4Addr, destination: Ipv4Addr, route: &SourceRoute) -> bool {
        self.lessons.iter().flatten().any(|known| {
            known.version == version
                && (known.source, known.destination) == (source, destination)
                && known.route == *route
        })
    }

    fn keep(&mut self, lesson: Lesson) {
        self.lessons[self.next] = Some(lesson);
        self.next = (self.next + 1) % LESSONS;
    }
}

/// The gratuitous route reply table (RFC 4728 §4.4).
#[derive(Clone, Debug, Default)]
pub(super) struct HoldDown {
    replies: VecDeque<(Addresses, Instant)>,
}

impl HoldDown {
    // DEVIATION dsr-4: The time of a gratuitous reply is stored with the route of the reply, which limits replies to
    // one per second and route. ns-2 stores the time with another route.
    /// Whether a gratuitous reply for this path may be sent now; if so, starts the hold-down.
    fn may_reply(&mut self, now: Instant, path: &Addresses) -> bool {
        if let Some((_, at)) = self.replies.iter_mut().find(|(known, _)| known == path) {
            let may = now.saturating_since(*at) >= HOLD_DOWN;
            if may {
                *at = now;
            }
            return may;
        }
        if self.replies.len() == HOLD_DOWN_SIZE {
            self.replies.pop_front();
        }
        self.replies.push_back((*path, now));
        true
    }
}

/// Number of bits by which a tapped packet is found: ns-2's table has 1024 entries.
const ID_BITS: u32 = 10;
/// Number of remembered source routes: enough for the flows nearby.
const LESSONS: usize = 4;

/// Shortest time between two gratuitous replies about one route (ns-2's `grat_hold_down_time`).
const HOLD_DOWN: Duration = Duration::from_secs(1);
/// Number of replies remembered for the hold-down (ns-2's `RTREP_HOLDOFF_SIZE`).
const HOLD_DOWN_SIZE: usize = 10;
