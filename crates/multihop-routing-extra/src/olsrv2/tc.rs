//! TCs: generation, processing and forwarding (RFC 7181, sections 14 and 16).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;

use super::wire::{Advertised, Attached, MAX_ADDRESSES, Message, Tc, TimeCode};
use super::{Agent, DUPLICATE_HOLD, HOP_LIMIT, Timer, forwarded};

/// Links that this node announced last, and the instant at which other nodes forget them.
#[derive(Clone, Debug, Default)]
pub(super) struct Announcement {
    last: Arc<Advertised>,
    /// Instant at which the last non-empty TC expires at the other nodes.
    forgotten_at: Instant,
}

impl Announcement {
    /// Begins with a sequence number, so that other nodes accept the TCs of a node that has restarted.
    pub(super) fn begin(&mut self, sequence: u16) {
        self.last = Arc::new(Advertised { sequence, complete: true, ..Advertised::default() });
    }
}

impl Agent {
    /// Sends the TC that is due. Nothing is sent if there is nothing to announce and all earlier
    /// announcements have expired.
    // DEVIATION olsrv2-3: HELLOs and TCs leave at regular times only. In RFC 7181 (15.1, 16.1) early ones follow a
    // change, up to 2 s (HELLO) or 5 s (TC) sooner.
    pub(super) fn send_tc(&mut self, now: Instant) {
        self.repeat(now, Timer::Tc, self.config.tc_interval);
        let neighbours = self.links.neighbours().into_iter();
        let reached = neighbours.filter(|one| one.routes && one.metrics.outgoing.is_some());
        let links = reached.map(|one| (one.main, one.metrics.outgoing));
        let links: Vec<_> = links.take(MAX_ADDRESSES - self.networks.len()).collect();
        let has_content = !links.is_empty() || !self.networks.is_empty();
        if !has_content && now >= self.announcement.forgotten_at {
            return;
        }
        if has_content {
            self.announcement.forgotten_at = now + self.config.topology_hold;
        }
        let last = &self.announcement.last;
        if links != last.links || self.networks != last.networks || !last.complete {
            let (sequence, networks) = (last.sequence.wrapping_add(1), self.networks.clone());
            self.announcement.last = Arc::new(Advertised { sequence, complete: true, links, networks });
        }
        let sequence = self.message_sequence;
        self.message_sequence = sequence.wrapping_add(1);
        self.counters.tcs += 1;
        self.waiting.push(Message::Tc(Tc {
            originator: self.address,
            hop_limit: HOP_LIMIT,
            hop_count: 0,
            sequence,
            validity: TimeCode::at_least(self.config.topology_hold),
            interval: Some(TimeCode::at_least(self.config.tc_interval)),
            advertised: self.announcement.last.clone(),
        }));
        self.flush(Vec::new());
    }

    pub(super) fn hear_tc(&mut self, now: Instant, from: Ipv4Addr, tc: &Tc) {
        if tc.originator == self.address || tc.hop_limit == 0 {
            return;
        }
        let Some(sender) = self.links.get(from).filter(|link| link.symmetric) else {
            self.counters.strangers += 1;
            return;
        };
        let is_relay = sender.floods;
        self.duplicates.expire(now);
        if !self.duplicates.has_room(tc.originator, MAX_NODES) || !self.has_room(now, from, tc) {
            self.counters.refused += 1;
            return;
        }
        let is_new = self.duplicates.admit(tc.originator, tc.sequence, now + DUPLICATE_HOLD);
        if is_new {
            self.learn(now, tc);
        } else {
            self.counters.duplicates += 1;
        }
        if is_relay
            && self.may_forward(now, tc, is_new)
            && let Some(tc) = forwarded(tc)
            && self.is_spaced(now, tc.originator)
        {
            self.waiting.push(Message::Tc(tc));
            self.counters.forwarded += 1;
            self.flush_later(now);
        }
    }

    fn learn(&mut self, now: Instant, tc: &Tc) {
        let before = self.topology.get(tc.originator);
        if before.is_some_and(|before| newer(before.sequence, tc.advertised.sequence)) {
            self.counters.outdated += 1;
            return;
        }
        let learned = match before {
            Some(before) if !tc.advertised.complete => merged(before, &tc.advertised),
            _ => tc.advertised.clone(),
        };
        self.stale.routes |=
            before.is_none_or(|before| before.links != learned.links || before.networks != learned.networks);
        self.topology.put(tc.originator, learned, now + tc.validity.time());
    }
}

/// Known links of an originator, merged with the links in an incomplete TC.
fn merged(known: &Advertised, added: &Advertised) -> Arc<Advertised> {
    let is_listed = |to: Ipv4Addr| added.links.iter().any(|&(listed, _)| listed == to);
    let rest = known.links.iter().copied().filter(|&(to, _)| !is_listed(to));
    let links = rest.chain(added.links.iter().copied()).take(MAX_ADDRESSES).collect();
    let is_replaced = |one: &Attached| {
        added.networks.iter().any(|new| (new.network, new.prefix) == (one.network, one.prefix))
    };
    let rest = known.networks.iter().filter(|one| !is_replaced(one));
    let networks = rest.chain(&added.networks).copied();
    let networks = networks.take(MAX_ADDRESSES).collect();
    Arc::new(Advertised { sequence: added.sequence, complete: known.complete, links, networks })
}

/// Largest number of originators for which a node stores sequence numbers of TCs. A TC of a further originator is
/// refused.
const MAX_NODES: usize = u16::MAX as usize;

/// Whether `a` is newer than `b`, with wrap-around (RFC 7181, section 21).
fn newer(a: u16, b: u16) -> bool {
    a != b && a.wrapping_sub(b) <= 0x8000
}
