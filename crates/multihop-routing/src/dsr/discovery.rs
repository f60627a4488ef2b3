//! Route discovery (RFC 4728 §3.1, §8.2).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Duration, Instant};
use multihop_wire::dsr::{Addresses, RouteError, RouteReply, RouteRequest};

use super::cache::Part;
use super::path::{is_simple, reversed, without_loops};
use super::requests::Reach;
use super::{Agent, Carried};
use crate::agent::Output;
use crate::message::{DsrMessage, Message};

impl Agent {
    /// Takes the next step of the search for `target`, if packets wait for it and a step is due.
    pub(super) fn search(&mut self, now: Instant, target: Ipv4Addr) {
        let (waiting, own) = self.buffer.wait_for(target);
        if !waiting {
            return;
        }
        if let Some(reach) = self.requests.next(now, target, own, &self.config) {
            self.send_request(now, target, reach);
        }
        if self.requests.begins_again(now, target) {
            self.give_up_on_others(target);
        }
        self.requests.plan_look(now, target, own, &self.config, &mut self.rng);
    }

    // DEVIATION dsr-8: A forwarded packet is given up when its only search ends, after at most 2 s. In ns-2 the order
    // of the buffer decides which forwarded packets are given up.
    /// Drops the waiting packets of other nodes to `target`: such packets wait for a single search, which has ended.
    fn give_up_on_others(&mut self, target: Ipv4Addr) {
        let mut from = 0;
        while let Some((at, waiting)) =
            self.buffer.take(from, |waiting| waiting.salvage > 0 && waiting.carried.destination() == target)
        {
            self.outbox.discard(&waiting.carried, DropReason::NoRoute);
            from = at;
        }
    }

    fn send_request(&mut self, now: Instant, target: Ipv4Addr, reach: Reach) {
        let mut message = self.message(Ipv4Addr::BROADCAST);
        message.header.request = Some(RouteRequest { id: self.next_id, target, route: Addresses::EMPTY });
        self.next_id = self.next_id.wrapping_add(1);
        self.last_error.take_if(|(until, _)| *until <= now);
        message.header.errors.extend(self.last_error.map(|(_, error)| error));
        let ttl = match reach {
            Reach::Ring0 => {
                self.counters.ring0_requests += 1;
                1
            }
            Reach::Everyone => {
                self.counters.requests += 1;
                // The route error has now reached more nodes than the neighbours.
                self.last_error = None;
                REQUEST_TTL
            }
        };
        self.broadcast(now, ttl, Arc::new(message));
    }

    fn broadcast(&mut self, now: Instant, ttl: u8, message: Arc<DsrMessage>) {
        let at = now + self.rng.duration_below(self.config.broadcast_jitter);
        self.outbox.push_at(
            now,
            at,
            Output::Message { to: None, interface: None, ttl, message: Message::Dsr(message) },
        );
    }

    /// Handles a request that another node originated.
    pub(super) fn on_request(&mut self, now: Instant, ttl: u8, mut message: Arc<DsrMessage>) {
        let Some(request) = message.header.request else { return };
        let path = core::iter::once(message.source).chain(request.route.iter().copied());
        let Some(path) = Addresses::collect(path).filter(|path| is_simple(path)) else {
            self.counters.malformed += 1;
            return;
        };
        if self.config.snoop || request.target == self.address {
            self.note_broken(now, &message.header.errors);
        }
        let mut with_me = path;
        // Without space for this node in the route, the request could neither be forwarded nor
        // answered.
        if path.contains(&self.address) || !with_me.push(self.address) {
            return;
        }
        if request.target == self.address {
            self.requests.note_seen(now, message.source, request.id);
            self.reply_as_target(now, &with_me);
            return;
        }
        if self.requests.has_seen(message.source, request.id) {
            return;
        }
        self.requests.note_seen(now, message.source, request.id);
        if self.config.cache_replies && self.reply_from_cache(now, &path, request.target) {
            return;
        }
        if ttl > 1 {
            let route = Addresses::collect(with_me[1..].iter().copied()).expect("shorter than the path");
            Arc::make_mut(&mut message).header.request = Some(RouteRequest { route, ..request });
            self.broadcast(now, ttl - 1, message);
        }
    }

    /// The target replies to every copy of a request, so that the source learns several paths.
    fn reply_as_target(&mut self, now: Instant, path: &[Ipv4Addr]) {
        self.counters.replies += 1;
        let at = now + self.rng.duration_below(self.config.broadcast_jitter);
        self.reply(now, at, path, path);
    }

    /// Replies to a request with a path from the cache. Returns true if the cache contained a path to the target.
    fn reply_from_cache(&mut self, now: Instant, path: &[Ipv4Addr], target: Ipv4Addr) -> bool {
        let Some(rest) = self.cache.find(now, target) else { return false };
        let here = [self.address];
        let complete = path.iter().chain(&here).chain(rest.iter()).copied();
        let Some(complete) = Addresses::collect(complete) else { return false };
        let complete = without_loops(&complete);
        // RFC 4728 §8.2.3: a node replies only with paths through itself, so that it receives their
        // route errors.
        if !complete.contains(&self.address) {
            return false;
        }
        self.counters.cache_replies += 1;
        let travelled = Addresses::collect(path.iter().chain(&here).copied())
            .expect("part of a path that is not too long");
        self.reply(now, now, &travelled, &complete);
        true
    }

    /// Sends the path `found` to its first node, back along the nodes of `travelled`, the last of
    /// which is this node.
    pub(super) fn reply(&mut self, now: Instant, at: Instant, travelled: &[Ipv4Addr], found: &[Ipv4Addr]) {
        let (back, path) = (reversed(travelled), found[1..].iter().copied());
        let route = Addresses::collect(path).expect("paths fit an option");
        let mut message = self.message(found[0]);
        message.header.replies.push(RouteReply { last_hop_external: false, route });
        self.learn(now, Part::Primary, &back[1..]);
        self.dispatch(now, at, Carried::Message(Arc::new(message)), &back[1..], 0);
    }

    /// Handles replies to this node.
    pub(super) fn on_replies(&mut self, now: Instant, message: &DsrMessage) {
        for reply in &message.header.replies {
            let Some(&target) = reply.route.last() else { continue };
            if !is_simple(&reply.route) || reply.route.contains(&self.address) {
                self.counters.malformed += 1;
                continue;
            }
            self.cache.learn(now, Part::Primary, &reply.route);
            // The negative cache may have refused the path; then the search continues.
            if self.cache.find(now, target).is_some() {
                self.requests.found(target);
            }
        }
        self.release(now);
    }

    // DEVIATION dsr-5: Packets always leave 30 ms apart. ns-2 sends all at once after an overheard route, whereby ARP
    // loses more packets.
    /// Sends all buffered packets for which there is a path now.
    pub(super) fn release(&mut self, now: Instant) {
        let (mut from, mut at) = (0, now);
        let cache = &self.cache;
        let mut leaving = Vec::new();
        while let Some((place, waiting)) =
            self.buffer.take(from, |waiting| cache.find(now, waiting.carried.destination()).is_some())
        {
            from = place;
            leaving.push(waiting);
        }
        for waiting in leaving {
            let destination = waiting.carried.destination();
            let Some(path) = self.cache.find_for_use(now, destination) else {
                // The cache may not contain the path, because its primary part has size 0.
                self.store(now, waiting.carried, waiting.salvage);
                continue;
            };
            if waiting.salvage > 0 {
                self.counters.salvaged += 1;
            } else if waiting.carried.is_data() {
                self.peers.update(destination, Some(path.len()), &mut self.outbox);
            }
            self.dispatch(now, at, waiting.carried, &path, waiting.salvage);
            at += self.config.release_gap;
        }
    }

    /// Keeps the latest route error for this node's next request, which repeats it (RFC 4728 §3.4.4).
    pub(super) fn pass_on(&mut self, now: Instant, error: &RouteError) {
        let error = RouteError { salvage: 0, destination: Ipv4Addr::BROADCAST, quoted: None, ..*error };
        self.last_error = Some((now + ERROR_LIFE, error));
    }
}

/// TTL of network-wide requests. Longer paths would not fit into a header.
const REQUEST_TTL: u8 = 16;

/// Time within which this node's next request repeats a route error (ns-2's `max_err_hold`).
const ERROR_LIFE: Duration = Duration::from_secs(1);
