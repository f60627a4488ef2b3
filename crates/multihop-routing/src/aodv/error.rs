//! Link failures and route errors (RFC 3561, section 6.11).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::aodv::{Error, Message, Sequence, Unreachable};

use super::table::Broken;
use super::{Agent, Outgoing, Preset};
use crate::agent::{Output, Routable};
use crate::steps;

/// Node that detected a link failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// A failed link of this node.
    Here,
    /// A route error of another node.
    Elsewhere,
}

impl Agent {
    /// Invalidates all routes through a neighbour.
    pub(super) fn break_link(&mut self, now: Instant, neighbour: Ipv4Addr) {
        // In AODV-UU a neighbour that is lost as a next hop remains a precursor of other routes.
        if self.config.preset == Preset::Ns2 {
            self.table.remove_precursor(neighbour);
        }
        let broken = self.table.break_link(now, neighbour);
        self.neighbours.forget(neighbour);
        for route in &broken {
            self.notify_lost(route.destination);
        }
        self.report(now, broken, Origin::Here, false);
    }

    pub(super) fn route_expired(&mut self, now: Instant, destination: Ipv4Addr) {
        let is_neighbour = self.next_hop(destination) == Some(destination);
        if self.config.preset == Preset::Uu && is_neighbour {
            self.break_link(now, destination);
        } else {
            self.table.invalidate(now, destination, None);
        }
    }

    /// Processes a route error. Returns false if the error affects no route of this node.
    pub(super) fn on_error(&mut self, now: Instant, from: Ipv4Addr, error: &Error) -> bool {
        steps::count(error.unreachable.len());
        let mut broken = Vec::new();
        for entry in &error.unreachable {
            if self.is_affected(from, entry) {
                broken.extend(self.take_error(now, entry, error.no_delete));
            }
        }
        if broken.is_empty() {
            return false;
        }
        if !error.no_delete {
            self.discard(from, &broken);
        }
        self.report(now, broken, Origin::Elsewhere, error.no_delete);
        true
    }

    fn is_affected(&self, from: Ipv4Addr, entry: &Unreachable) -> bool {
        let reported = (entry.sequence != Sequence::default()).then_some(entry.sequence);
        // DEVIATION aodv-11: Route errors with a lower sequence number than the route are ignored. AODV-UU applies
        // them, although they may be old.
        let is_old = |known: Sequence| reported.is_some_and(|reported| known.newer_than(reported));
        self.table
            .standing(entry.destination)
            .is_some_and(|route| route.next_hop == from && !route.sequence.is_some_and(is_old))
    }

    fn take_error(&mut self, now: Instant, entry: &Unreachable, no_delete: bool) -> Option<Broken> {
        let &Unreachable { destination, sequence } = entry;
        if no_delete {
            let precursors = self.table.get(destination)?.precursors.clone();
            return Some(Broken { destination, sequence, precursors });
        }
        let broken = self.table.invalidate(now, destination, Some(sequence));
        self.notify_lost(destination);
        broken
    }

    /// Discards packets in the interface queue that have lost their route: in `ns2` all packets for the
    /// neighbour that sent the error, in `uu` only packets to the destinations in the error.
    fn discard(&mut self, next_hop: Ipv4Addr, broken: &[Broken]) {
        match self.config.preset {
            Preset::Ns2 => self.out.push_back(Output::Discard { next_hop, destination: None }),
            Preset::Uu => self.out.extend(
                broken.iter().map(|route| Output::Discard { next_hop, destination: Some(route.destination) }),
            ),
        }
    }

    /// Sends a route error to the precursors; in `ns2`, for failures detected here, to all
    /// neighbours.
    pub(super) fn report(&mut self, now: Instant, mut broken: Vec<Broken>, origin: Origin, no_delete: bool) {
        if self.config.preset == Preset::Uu || origin == Origin::Elsewhere {
            broken.retain(|route| !route.precursors.is_empty());
        }
        let to = match &broken[..] {
            [one] if self.config.preset == Preset::Uu && one.precursors.len() == 1 => {
                one.precursors.first().copied()
            }
            _ => None,
        };
        for part in broken.chunks(Error::MAX_UNREACHABLE) {
            let unreachable = part
                .iter()
                .map(|route| Unreachable { destination: route.destination, sequence: route.sequence })
                .collect();
            self.send_error(now, to, Error { no_delete, unreachable }, origin);
        }
    }

    /// Reports to the source of a packet that this node has no route to its destination.
    pub(super) fn report_no_route(&mut self, now: Instant, packet: &Routable) {
        let destination = packet.destination;
        let sequence = self.table.sequence(destination).unwrap_or_default();
        let to = match self.config.preset {
            Preset::Ns2 => None,
            Preset::Uu => self.next_hop(packet.source),
        };
        let unreachable = alloc::vec![Unreachable { destination, sequence }];
        self.send_error(now, to, Error { no_delete: false, unreachable }, Origin::Here);
    }

    fn send_error(&mut self, now: Instant, to: Option<Ipv4Addr>, error: Error, origin: Origin) {
        if self.error_limit.allows(now) {
            let forwarded = origin == Origin::Elsewhere;
            self.send(
                now,
                Outgoing { to, interface: None, ttl: 1, message: Message::Error(error), forwarded },
            );
        }
    }
}
