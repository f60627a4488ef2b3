//! Route replies (RFC 3561, sections 6.6 and 6.7).

use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::aodv::{Message, Reply, Request, Sequence};

use super::table::{Offer, Route};
use super::{Agent, Outgoing, Preset};

impl Agent {
    pub(super) fn reply_as_destination(&mut self, now: Instant, request: &Request) {
        let asked = request.destination_sequence.unwrap_or(self.sequence);
        let is_asked_for = request.destination_sequence == Some(self.sequence);
        self.sequence = self.sequence.newest(asked);
        // RFC 3561 §6.6.1 raises the number only to the requested one. Both implementations exceed
        // it, so that nodes whose routes have the requested number forward the reply.
        if self.config.preset == Preset::Ns2 || is_asked_for {
            self.sequence = self.sequence.next();
        }
        let (sequence, lifetime) = (self.sequence, self.config.my_route_timeout);
        self.send_reply(
            now,
            request.originator,
            new_reply(request.destination, 0, sequence, request.originator, lifetime),
        );
    }

    /// Whether this node has a route that is fresh enough (section 6.6).
    pub(super) fn can_reply(&self, request: &Request) -> bool {
        let known = self.table.standing(request.destination).and_then(|route| route.sequence);
        let fresh =
            |known| request.destination_sequence.is_none_or(|asked: Sequence| !asked.newer_than(known));
        !request.destination_only && known.is_some_and(fresh)
    }

    pub(super) fn reply_from_table(&mut self, now: Instant, request: &Request) {
        let (Some(ahead), Some(back)) =
            (self.table.standing(request.destination), self.table.valid(request.originator))
        else {
            return;
        };
        let reply = as_reply(now, request.destination, ahead, request.originator);
        let gratuitous = as_reply(now, request.originator, back, request.destination);
        let (ahead, back) = (ahead.next_hop, back.next_hop);
        self.join(request.destination, ahead, request.originator, back);
        self.send_reply(now, request.originator, reply);
        if request.gratuitous {
            self.send_reply(now, request.destination, gratuitous);
        }
    }

    pub(super) fn on_reply(&mut self, now: Instant, at: Instant, from: Ipv4Addr, ttl: u8, reply: Reply) {
        if reply.ack_required {
            let message = Message::ReplyAck;
            self.send(now, Outgoing { to: Some(from), interface: None, ttl: 1, message, forwarded: false });
        }
        if self.has(reply.destination) || reply.hop_count == u8::MAX {
            return;
        }
        let hops = reply.hop_count + 1;
        let expires = at + Duration::from_millis(reply.lifetime_ms.into());
        let offer = Offer { next_hop: from, hops, sequence: reply.destination_sequence, expires };
        if !self.table.offer(reply.destination, offer) {
            return;
        }
        if reply.originator == self.address {
            self.measure(now, reply.destination, hops);
        }
        self.on_route(now, reply.destination);
        if reply.originator != self.address && ttl > 1 {
            let reply = Reply { hop_count: hops, ack_required: false, ..reply };
            self.forward_reply(now, ttl - 1, from, reply);
        }
    }

    fn forward_reply(&mut self, now: Instant, ttl: u8, ahead: Ipv4Addr, reply: Reply) {
        let Some(back) = self.next_hop(reply.originator) else { return };
        self.join(reply.destination, ahead, reply.originator, back);
        self.table.extend(reply.originator, now + self.config.active_route_timeout);
        let message = Message::Reply(reply);
        self.send(now, Outgoing { to: Some(back), interface: None, ttl, message, forwarded: true });
    }

    /// Completes the precursors of a reply from the table, because the nodes on both sides use this node.
    fn join(&mut self, destination: Ipv4Addr, ahead: Ipv4Addr, originator: Ipv4Addr, back: Ipv4Addr) {
        self.table.add_precursor(destination, back);
        self.table.add_precursor(originator, ahead);
    }

    fn send_reply(&mut self, now: Instant, to: Ipv4Addr, reply: Reply) {
        if let Some(next_hop) = self.next_hop(to) {
            let (ttl, message) = (self.config.reply_ttl, Message::Reply(reply));
            self.send(now, Outgoing { to: Some(next_hop), interface: None, ttl, message, forwarded: false });
        }
    }
}

/// A reply to `originator` from an entry of the table.
fn as_reply(now: Instant, destination: Ipv4Addr, route: &Route, originator: Ipv4Addr) -> Reply {
    let lifetime = route.expires.saturating_since(now);
    new_reply(destination, route.hops, route.sequence.unwrap_or_default(), originator, lifetime)
}

pub(super) fn new_reply(
    destination: Ipv4Addr,
    hop_count: u8,
    destination_sequence: Sequence,
    originator: Ipv4Addr,
    lifetime: Duration,
) -> Reply {
    Reply {
        repair: false,
        ack_required: false,
        prefix_size: 0,
        hop_count,
        destination,
        destination_sequence,
        originator,
        lifetime_ms: u32::try_from(lifetime.as_micros() / 1_000).unwrap_or(u32::MAX),
    }
}
