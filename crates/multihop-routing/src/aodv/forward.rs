//! Handling of data packets: forwarded, buffered or dropped (RFC 3561, sections 6.2 and 6.11).

use core::net::Ipv4Addr;

use multihop_core::{DropReason, Instant};

use super::table::RouteState;
use super::{Agent, LinkFailure, Preset};
use crate::agent::{Output, Routable};

impl Agent {
    pub(super) fn on_packet(&mut self, now: Instant, packet: Routable) {
        if packet.previous_hop.is_none() {
            self.watch(packet.destination);
        }
        self.route(now, packet);
    }

    /// Forwards a packet, or buffers it while a route is searched for.
    pub(super) fn route(&mut self, now: Instant, packet: Routable) {
        if let Some(next_hop) = self.next_hop(packet.destination) {
            let source = packet.previous_hop.map(|_| packet.source);
            self.refresh(now, source, packet.destination, next_hop);
            self.out.push_back(Output::Forward { ticket: packet.ticket, next_hop, route: None });
        } else if packet.previous_hop.is_none() || self.is_repairing(packet.destination) {
            let destination = packet.destination;
            self.wait(now, packet);
            self.seek(now, destination);
        } else {
            self.report_no_route(now, &packet);
            self.drop(&packet, DropReason::NoRoute);
        }
    }

    /// Handles a packet that the MAC could not deliver, itself or because of an earlier packet to the same
    /// neighbour.
    pub(super) fn on_link_failed(&mut self, now: Instant, next_hop: Ipv4Addr, packet: Routable) {
        if self.is_repairing(packet.destination) {
            self.wait(now, packet);
        } else if !self.table.uses(next_hop) {
            self.drop(&packet, DropReason::NoRoute);
        } else if self.config.link_failure == LinkFailure::Hello {
            let (ticket, reason) = (packet.ticket, DropReason::RetryLimit);
            self.out.push_back(Output::Drop { ticket, reason, tell_source: false });
        } else if self.can_repair(next_hop, &packet) {
            self.repair(now, next_hop, packet);
        } else {
            self.drop(&packet, DropReason::RetryLimit);
            self.out.push_back(Output::Purge { next_hop });
            self.break_link(now, next_hop);
        }
    }

    pub(super) fn is_repairing(&self, destination: Ipv4Addr) -> bool {
        self.table.get(destination).is_some_and(|route| route.state == RouteState::Repairing)
    }

    pub(super) fn wait(&mut self, now: Instant, packet: Routable) {
        if let Some(oldest) = self.buffer.push(now, packet) {
            self.drop_waiting(&oldest, DropReason::BufferTimeout);
        }
    }

    /// Forwards the packets that waited for a route.
    // DEVIATION aodv-6: The next hop of a waiting packet is looked up when the packet is sent. ns-2 and AODV-UU fix
    // it at the reply. In multihop packets wait again if the route breaks.
    pub(super) fn release(&mut self, now: Instant, destination: Ipv4Addr) {
        let mut at = now;
        for packet in self.buffer.take(destination) {
            if at == now {
                self.route(now, packet);
            } else {
                self.delayed.route_at(at, packet);
            }
            at += self.config.release_spacing;
        }
    }

    pub(super) fn drop_all_waiting(&mut self, destination: Ipv4Addr) {
        for packet in self.buffer.take(destination) {
            self.drop_waiting(&packet, DropReason::NoRoute);
        }
    }

    pub(super) fn expire_packets(&mut self, now: Instant) {
        let config = &self.config;
        while let Some(packet) = self.buffer.pop_expired(|at| config.on_tick(at) <= now) {
            // `drop_waiting` would borrow all of `self`.
            let (ticket, tell_source) = (packet.ticket, packet.previous_hop.is_some());
            self.out.push_back(Output::Drop { ticket, reason: DropReason::BufferTimeout, tell_source });
        }
    }

    /// Drops a packet that waited for a route. A local source gets a route-lost notice instead of
    /// an ICMP error.
    fn drop_waiting(&mut self, packet: &Routable, reason: DropReason) {
        let tell_source = packet.previous_hop.is_some();
        self.out.push_back(Output::Drop { ticket: packet.ticket, reason, tell_source });
    }

    /// Drops a packet because of a link failure or a missing route.
    fn drop(&mut self, packet: &Routable, reason: DropReason) {
        self.out.push_back(Output::Drop { ticket: packet.ticket, reason, tell_source: true });
    }

    /// Extends the lifetime of used routes: in `ns2` of the forward route, in `uu` also of the reverse route
    /// and of the routes to both neighbours. `source` is the source of a packet of another node.
    pub(super) fn refresh(
        &mut self,
        now: Instant,
        source: Option<Ipv4Addr>,
        destination: Ipv4Addr,
        next_hop: Ipv4Addr,
    ) {
        let until = now + self.config.active_route_timeout;
        match self.config.preset {
            Preset::Ns2 => self.table.extend(destination, until),
            Preset::Uu => {
                self.refresh_route(destination, next_hop, until);
                if let Some(source) = source
                    && let Some(back) = self.next_hop(source)
                {
                    self.refresh_route(source, back, until);
                }
            }
        }
    }

    fn refresh_route(&mut self, end: Ipv4Addr, neighbour: Ipv4Addr, until: Instant) {
        if end != neighbour {
            self.table.extend(end, until);
        }
        // AODV-UU: if HELLOs detect failures, use does not extend the route to a silent neighbour.
        if self.config.link_failure == LinkFailure::Mac || self.neighbours.knows(neighbour) {
            self.table.extend(neighbour, until);
        }
    }
}
