//! Originators: for every node the quality of the paths through each neighbour, and the best one.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use super::wire::{Ogm, Seqno};

/// Paths to all known nodes, by originator.
#[derive(Clone, Debug, Default)]
pub(super) struct Originators {
    map: BTreeMap<Ipv4Addr, Originator>,
}

#[derive(Clone, Debug)]
struct Originator {
    latest: Seqno,
    heard: Instant,
    /// TTL of the first copy of the latest message.
    ttl: u8,
    ways: Vec<Way>,
    /// Neighbour with the best path to the originator.
    router: Option<Ipv4Addr>,
    /// Sequence number of the latest forwarded message.
    forwarded: Option<Seqno>,
}

/// The path to an originator through one neighbour.
#[derive(Clone, Debug)]
struct Way {
    neighbour: Ipv4Addr,
    /// Path qualities in the latest messages; 0 for a message that did not arrive over this path.
    ring: [u8; GLOBAL_WINDOW],
    next: usize,
    ttl: u8,
    heard: Instant,
}

/// The best path to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// The neighbour that receives the packets.
    pub next_hop: Ipv4Addr,
    /// Quality of the path, 255 for one without losses and penalties.
    pub tq: u8,
    /// Number of links of the path.
    pub hops: u8,
}

impl Originators {
    pub(super) fn route(&self, originator: Ipv4Addr) -> Option<Route> {
        let known = self.map.get(&originator)?;
        let way = known.way(known.router?)?;
        let hops = (INITIAL_TTL + 1).saturating_sub(way.ttl).max(1);
        Some(Route { next_hop: way.neighbour, tq: way.quality(), hops })
    }

    pub(super) fn destinations(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.map.keys().copied()
    }

    /// Records the quality of the path through the neighbour that sent a message, and selects the best
    /// neighbour.
    pub(super) fn rank(&mut self, now: Instant, from: Ipv4Addr, ogm: &Ogm, tq: u8) {
        if self.map.len() >= MAX_ORIGINATORS && !self.map.contains_key(&ogm.originator) {
            return;
        }
        let new = || Originator {
            latest: Seqno(ogm.seqno.0.wrapping_sub(1)),
            heard: now,
            ttl: 0,
            ways: Vec::new(),
            router: None,
            forwarded: None,
        };
        self.map.entry(ogm.originator).or_insert_with(new).rank(now, from, ogm, tq);
    }

    /// Whether to forward a message: it arrived from the best neighbour, and no equally new or newer message
    /// was forwarded before.
    pub(super) fn should_forward(&mut self, from: Ipv4Addr, ogm: &Ogm) -> bool {
        let Some(known) = self.map.get_mut(&ogm.originator) else { return false };
        let is_new = known.forwarded.is_none_or(|last| {
            let ahead = ogm.seqno.since(last);
            !(-OLDEST..=0).contains(&ahead)
        });
        let forwards = is_new && known.router == Some(from);
        if forwards {
            known.forwarded = Some(ogm.seqno);
        }
        forwards
    }

    /// Forgets nodes and paths from which no message arrived for some time.
    pub(super) fn expire(&mut self, now: Instant, timeout: Duration) {
        self.map.retain(|_, known| {
            known.ways.retain(|way| now.saturating_since(way.heard) < timeout);
            if known.router.is_some_and(|router| known.way(router).is_none()) {
                known.router = known.ways.iter().max_by_key(|way| way.quality()).map(|way| way.neighbour);
            }
            now.saturating_since(known.heard) < timeout
        });
    }
}

impl Originator {
    fn way(&self, neighbour: Ipv4Addr) -> Option<&Way> {
        self.ways.iter().find(|way| way.neighbour == neighbour)
    }

    fn rank(&mut self, now: Instant, from: Ipv4Addr, ogm: &Ogm, tq: u8) {
        let ahead = ogm.seqno.since(self.latest);
        if (-OLDEST..0).contains(&ahead) {
            return;
        }
        let is_new = ahead != 0;
        // A further copy of a message rates another path, unless that path is much longer.
        if !is_new && ogm.ttl.saturating_add(LONGER) < self.ttl {
            return;
        }
        let at = self.ways.iter().position(|way| way.neighbour == from).unwrap_or_else(|| {
            let ring = [0; GLOBAL_WINDOW];
            self.ways.push(Way { neighbour: from, ring, next: 0, ttl: ogm.ttl, heard: now });
            self.ways.len() - 1
        });
        if is_new {
            (self.latest, self.ttl) = (ogm.seqno, ogm.ttl);
            self.ways.iter_mut().for_each(Way::shift);
        }
        let way = &mut self.ways[at];
        way.ring[way.next] = tq;
        (way.ttl, way.heard, self.heard) = (ogm.ttl, now, now);
        let quality = way.quality();
        let best = self.router.and_then(|router| self.way(router)).map_or(0, Way::quality);
        if quality > best {
            self.router = Some(from);
        }
    }
}

impl Way {
    /// Shifts the ring by one sequence number, with quality 0 until its message arrives over this path.
    fn shift(&mut self) {
        self.next = (self.next + 1) % GLOBAL_WINDOW;
        self.ring[self.next] = 0;
    }

    /// Mean quality of the latest messages that arrived over this path; 0 if none of them did.
    fn quality(&self) -> u8 {
        let sum: u32 = self.ring.iter().map(|&tq| u32::from(tq)).sum();
        let count = self.ring.iter().filter(|&&tq| tq > 0).count();
        u32::try_from(count)
            .ok()
            .and_then(|count| sum.checked_div(count))
            .map_or(0, |mean| u8::try_from(mean).expect("a mean of bytes"))
    }
}

/// Initial TTL of a node's own messages.
pub(super) const INITIAL_TTL: u8 = 50;
/// Number of messages over which the quality of a path is averaged.
const GLOBAL_WINDOW: usize = 5;
/// Number of links by which a path may be longer than the path of a message's first copy.
const LONGER: u8 = 3;
/// Largest plausible age of a message in sequence numbers; an older one comes from a restarted node.
const OLDEST: i16 = 64;
/// Largest number of originators, a limit of memory.
const MAX_ORIGINATORS: usize = 65_536;
