//! Handling of received messages (IEEE 802.11-2020, 14.10.9 to 14.10.11).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;

use super::Agent;
use super::config::{time_units, whole_units};
use super::paths::{Broken, Path, UNKNOWN};
use super::wire::{Error, Message, Reason, Reply, Request, Unreachable};

impl Agent {
    /// Handles a path request that arrived. Returns false if nothing has changed, as after most requests,
    /// which are duplicates.
    pub(super) fn on_request(&mut self, now: Instant, from: Ipv4Addr, request: &Request) -> bool {
        let metric = request.metric.saturating_add(self.links.metric(&self.config, from));
        let hops = request.hop_count.saturating_add(1);
        let until = now + time_units(request.lifetime);
        let back = Path { next_hop: from, hops, metric, sequence: Some(request.originator_sequence), until };
        if request.originator == self.address || !self.learn(now, request.originator, back) {
            return false;
        }
        self.learn_neighbour(now, from, until);
        if request.target == self.address {
            self.reply_as_target(from, request);
            return true;
        }
        let answered = !request.target_only && self.reply_from_path(now, from, request);
        if let Some(ttl) = request.ttl.checked_sub(1).filter(|&ttl| ttl > 0) {
            // The target also learns the path, but no other node replies.
            let target_only = request.target_only || answered;
            self.forward_request(now, Request { hop_count: hops, ttl, metric, target_only, ..*request });
        }
        true
    }

    fn reply_as_target(&mut self, from: Ipv4Addr, request: &Request) {
        // A later copy over a cheaper path gets a newer reply, so that nodes on both paths forward it.
        self.sequence = self.sequence.newest(request.target_sequence.unwrap_or(self.sequence)).next();
        let (target, sequence) = (self.address, self.sequence);
        self.send(Some(from), Message::Reply(new_reply(request, self.config.element_ttl, target, sequence)));
    }

    /// Replies instead of the target, if this node's path to the target is at least as new as the sequence
    /// number in the request.
    fn reply_from_path(&mut self, now: Instant, from: Ipv4Addr, request: &Request) -> bool {
        let Some(path) = self.paths.valid(now, request.target) else { return false };
        let Some(sequence) = path.sequence else { return false };
        if request.target_sequence.is_some_and(|asked| asked.newer_than(sequence)) {
            return false;
        }
        let (ahead, hop_count, metric) = (path.next_hop, path.hops, path.metric);
        let lifetime = whole_units(path.until.saturating_since(now));
        let reply = new_reply(request, self.config.element_ttl, request.target, sequence);
        self.join(request.target, ahead, request.originator, from);
        self.send(Some(from), Message::Reply(Reply { hop_count, metric, lifetime, ..reply }));
        true
    }

    /// Forwards a request after a random delay. A cheaper copy replaces a waiting one.
    fn forward_request(&mut self, now: Instant, request: Request) {
        let same = |waiting: &&mut (Instant, Request)| {
            (waiting.1.originator, waiting.1.id) == (request.originator, request.id)
        };
        match self.waiting.iter_mut().find(same) {
            Some(waiting) => waiting.1 = request,
            None => {
                // DEVIATION hwmp-3: Requests are forwarded after up to 10 ms (`max_jitter`), so that requests of
                // neighbours do not collide. 802.11-2020 (14.10.9) forwards them at once.
                let at = now + self.rng.duration_below(self.config.max_jitter);
                self.waiting.push((at, request));
            }
        }
    }

    pub(super) fn on_reply(&mut self, now: Instant, from: Ipv4Addr, reply: &Reply) {
        let metric = reply.metric.saturating_add(self.links.metric(&self.config, from));
        let hops = reply.hop_count.saturating_add(1);
        let until = now + time_units(reply.lifetime);
        let ahead = Path { next_hop: from, hops, metric, sequence: Some(reply.target_sequence), until };
        if reply.target == self.address || !self.learn(now, reply.target, ahead) {
            return;
        }
        self.learn_neighbour(now, from, until);
        let Some(ttl) = reply.ttl.checked_sub(1).filter(|&ttl| ttl > 0) else { return };
        if reply.originator != self.address
            && let Some(back) = self.paths.valid(now, reply.originator).map(|path| path.next_hop)
        {
            self.join(reply.target, from, reply.originator, back);
            self.send(Some(back), Message::Reply(Reply { hop_count: hops, ttl, metric, ..*reply }));
        }
    }

    /// Records precursors for both directions of a path through this node: `back` for the path to `target`, `ahead`
    /// for the path to `originator`.
    fn join(&mut self, target: Ipv4Addr, ahead: Ipv4Addr, originator: Ipv4Addr, back: Ipv4Addr) {
        self.paths.add_precursor(target, back);
        self.paths.add_precursor(originator, ahead);
    }

    pub(super) fn on_error(&mut self, now: Instant, from: Ipv4Addr, error: &Error) {
        let mut onward = Vec::new();
        let mut precursors = BTreeSet::new();
        for entry in &error.unreachable {
            if let Some(broken) = self.paths.refute(now, from, entry.destination, entry.sequence) {
                self.notify_lost(entry.destination);
                if !broken.precursors.is_empty() {
                    onward.push(*entry);
                    precursors.extend(broken.precursors);
                }
            }
        }
        if error.ttl > 1 {
            self.send_error(now, &precursors, error.ttl - 1, &onward);
        }
    }

    /// Invalidates all paths through a neighbour; returns false if there were none.
    pub(super) fn break_link(&mut self, now: Instant, next_hop: Ipv4Addr) -> bool {
        let all = self.paths.break_link(now, next_hop);
        let reason = Reason::DestinationUnreachable;
        let used = all.iter().filter(|broken| !broken.precursors.is_empty());
        let unreachable: Vec<_> = used
            .map(|&Broken { destination, sequence, .. }| Unreachable { destination, sequence, reason })
            .collect();
        let precursors = all.iter().flat_map(|broken| &broken.precursors).copied().collect();
        all.iter().for_each(|broken| self.notify_lost(broken.destination));
        self.send_error(now, &precursors, self.config.element_ttl, &unreachable);
        !all.is_empty()
    }

    /// Sends a path error to a neighbour whose packet for `destination` cannot be forwarded.
    pub(super) fn refuse(&mut self, now: Instant, to: Ipv4Addr, destination: Ipv4Addr) {
        let sequence = self.paths.wanted(now, destination).unwrap_or(UNKNOWN);
        let reason = Reason::NoForwardingInformation;
        let unreachable = [Unreachable { destination, sequence, reason }];
        self.send_error(now, &BTreeSet::from([to]), self.config.element_ttl, &unreachable);
    }

    /// Sends a path error to one neighbour, or to all if several are concerned, limited by the least interval
    /// between two errors.
    fn send_error(&mut self, now: Instant, to: &BTreeSet<Ipv4Addr>, ttl: u8, unreachable: &[Unreachable]) {
        if to.is_empty() || now < self.next_error {
            return;
        }
        self.next_error = now + self.config.perr_min_interval;
        let to = to.first().copied().filter(|_| to.len() == 1);
        for part in unreachable.chunks(Error::MOST) {
            self.send(to, Message::Error(Error { ttl, unreachable: part.to_vec() }));
        }
    }

    /// Accepts a path if it is better than the known one; returns whether it did.
    fn learn(&mut self, now: Instant, destination: Ipv4Addr, path: Path) -> bool {
        let hops = path.hops;
        let taken = self.paths.offer(now, destination, path);
        if taken {
            self.notify_found(destination, hops);
            self.end_discovery(now, destination);
        }
        taken
    }

    fn learn_neighbour(&mut self, now: Instant, from: Ipv4Addr, until: Instant) {
        let metric = self.links.metric(&self.config, from);
        self.learn(now, from, Path { next_hop: from, hops: 1, metric, sequence: None, until });
    }
}

/// A reply of the target itself.
const fn new_reply(
    request: &Request,
    ttl: u8,
    target: Ipv4Addr,
    target_sequence: multihop_wire::aodv::Sequence,
) -> Reply {
    Reply {
        hop_count: 0,
        ttl,
        target,
        target_sequence,
        lifetime: request.lifetime,
        metric: 0,
        originator: request.originator,
        originator_sequence: request.originator_sequence,
    }
}
