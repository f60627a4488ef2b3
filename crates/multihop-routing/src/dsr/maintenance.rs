//! Route maintenance (RFC 4728 §3.2, §8.3) by link-layer feedback.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Instant, Notice};
use multihop_wire::Quoted;
use multihop_wire::dsr::{Addresses, Fault, RouteError};

use super::path::{Trip, reversed};
use super::requests::LOOK_GAP;
use super::{Agent, Carried};
use crate::agent::Output;
use crate::message::DsrMessage;

impl Agent {
    /// Handles a link failure: removes the link from the cache, salvages the packets for the
    /// neighbour, and sends a route error to the node that chose the packet's path.
    pub(super) fn link_failed(
        &mut self,
        now: Instant,
        next_hop: Ipv4Addr,
        carried: Carried,
        quoted: Option<Quoted>,
    ) {
        self.cache.link_broke(now, self.address, next_hop);
        let error = self.error(&carried, next_hop, quoted);
        self.undeliverable(now, next_hop, carried);
        self.outbox.push(Output::Purge { next_hop });
        if let Some((message, path)) = error {
            self.counters.errors += 1;
            self.dispatch(now, now, Carried::Message(Arc::new(message)), &path, 0);
        }
    }

    /// The route error for a packet, and the path back to the node that chose the packet's path; `None` if
    /// this node chose it, or the path back is unknown.
    fn error(
        &self,
        carried: &Carried,
        next_hop: Ipv4Addr,
        quoted: Option<Quoted>,
    ) -> Option<(DsrMessage, Addresses)> {
        let route = carried.route()?;
        let Trip { nodes, receiver } = Trip::of(carried.source(), carried.destination(), route)?;
        let here = receiver - 1;
        if nodes[here] != self.address || nodes[receiver] != next_hop || here == 0 {
            return None;
        }
        // A route error that cannot be delivered first returns to its source, inside the new route error.
        let mut errors = match carried {
            Carried::Data(_) => Vec::new(),
            Carried::Message(message) => message.header.errors.clone(),
        };
        if errors.len() >= ERRORS_MAX {
            return None;
        }
        let fault = Fault::NodeUnreachable(next_hop);
        let (source, destination) = (self.address, nodes[0]);
        errors.push(RouteError { salvage: route.salvage, source, destination, fault, quoted });
        let mut message = self.message(destination);
        message.header.errors = errors;
        Some((message, reversed(&nodes[..here])))
    }

    /// Sends a packet that did not reach `next_hop` along another path, if there is one.
    pub(super) fn undeliverable(&mut self, now: Instant, next_hop: Ipv4Addr, mut carried: Carried) {
        if carried.source() == self.address {
            return self.originate(now, carried);
        }
        let salvaged = carried.route().map_or(0, |route| route.salvage);
        if !self.config.salvage || carried.destination() == self.address {
            return self.outbox.discard(&carried, DropReason::NoRoute);
        }
        if salvaged >= self.config.salvage_limit.min(SALVAGE_MAX) {
            return self.outbox.discard(&carried, DropReason::Stale);
        }
        match self.cache.find(now, carried.destination()) {
            Some(path) if self.keep_usable_replies(&mut carried, next_hop) => {
                self.counters.salvaged += 1;
                self.dispatch(now, now, carried, &path, salvaged + 1);
            }
            Some(_) => {}
            None => {
                let destination = carried.destination();
                // DEVIATION dsr-6: Waiting for a new route counts as a salvage, so that the limit of 15 applies. In
                // ns-2 it does not count.
                self.store(now, carried, salvaged + 1);
                let at = now + self.rng.duration_below(LOOK_GAP);
                self.requests.look_by(destination, at);
            }
        }
    }

    /// Removes route replies whose path contains the broken link from an undeliverable message. Returns false if nothing
    /// remains that is worth salvaging.
    fn keep_usable_replies(&self, carried: &mut Carried, next_hop: Ipv4Addr) -> bool {
        let Carried::Message(message) = carried else { return true };
        let (first, here) = (message.destination, self.address);
        if message.header.replies.is_empty() {
            return !message.header.errors.is_empty();
        }
        let header = &mut Arc::make_mut(message).header;
        header.replies.retain(|reply| {
            let froms = core::iter::once(&first).chain(reply.route.iter());
            // The reply is useful only if it does not contain the broken link in either direction.
            !froms
                .zip(reply.route.iter())
                .any(|(&from, &to)| (from, to) == (here, next_hop) || (from, to) == (next_hop, here))
        });
        !header.replies.is_empty() || !header.errors.is_empty()
    }

    /// Handles route errors. The last one is for this node. Earlier ones are for other nodes and could not be
    /// delivered because of the link failure that the last one reports.
    pub(super) fn on_errors(&mut self, now: Instant, mut errors: &[RouteError]) {
        self.note_broken(now, errors);
        while let Some((error, inner)) = errors.split_last() {
            if error.destination != self.address {
                return;
            }
            if let Fault::NodeUnreachable(_) = error.fault {
                self.pass_on(now, error);
            }
            if let Some(quoted) = error.quoted.filter(|quoted| quoted.source == self.address) {
                self.outbox.notice(quoted.destination, Notice::LinkFailed(quoted.lost_segment()));
            }
            errors = inner;
            if let Some(next) = inner.last().filter(|next| next.destination != self.address) {
                let mut message = self.message(next.destination);
                message.header.errors = inner.to_vec();
                self.originate(now, Carried::Message(Arc::new(message)));
            }
        }
    }
}

/// Largest number of route errors in one message (ns-2's `MAX_ROUTE_ERRORS`).
const ERRORS_MAX: usize = 3;

/// The largest value of the salvage field.
const SALVAGE_MAX: u8 = 15;
