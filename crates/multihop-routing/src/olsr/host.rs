//! State of an agent on a real host: networks behind it (RFC 3626 §12), sequence numbers that continue after
//! a restart, and limits against neighbours that exhaust its memory. See [`Agent::on_host`].

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Interface};
use multihop_wire::olsr::{Body, Hello, HelloLink, Hna, LinkCode, Mid, NeighbourType, Packet, TimeCode};

use super::Agent;
use super::gauge::micros;
use super::room::Senders;
use crate::agent::{NO_FLOW, Routable, Ticket};
use crate::link_state::table::Table;

/// A network behind a gateway.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Network {
    /// The gateway's main address.
    pub gateway: Ipv4Addr,
    /// IP address of the announced network.
    pub address: Ipv4Addr,
    /// Mask of the announced network.
    pub mask: Ipv4Addr,
}

/// State that agents have only on real hosts.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// Networks to which this host is a gateway: address and mask.
    announced: Vec<(Ipv4Addr, Ipv4Addr)>,
    pub(super) networks: Table<Network>,
    pub(super) senders: Senders,
    /// Number of flooded messages for which the tables had no room.
    pub(super) refused: u64,
    /// Number of computations of routes after changes of links or networks.
    changes: u64,
}

impl Agent {
    /// Turns the agent into one of a real host. Sequence numbers start at `seconds` of a clock that continues
    /// across restarts, so that other nodes consider messages after a restart newer than earlier ones.
    #[must_use]
    pub fn on_host(mut self, seconds: u64) -> Self {
        let [.., a, b] = seconds.to_be_bytes();
        let seconds = u16::from_be_bytes([a, b]);
        // A node sends fewer TCs and messages per second than this.
        self.advertisement.begin(seconds.wrapping_mul(8));
        self.message_sequence = seconds.wrapping_mul(32);
        self.host = Some(Box::new(Host {
            announced: Vec::new(),
            networks: Table::new(),
            senders: Table::new(),
            refused: 0,
            changes: 0,
        }));
        self
    }

    /// Processes a packet that arrived earlier than now, for instance because the host was busy. `from` is
    /// the interface address of the neighbour. Validity times count from the arrival. The driver removes
    /// expired messages.
    pub fn receive_late(
        &mut self,
        now: Instant,
        arrived: Instant,
        (interface, from): (Interface, Ipv4Addr),
        packet: &Packet,
    ) {
        self.expire(now);
        self.hear(now, arrived.min(now), (interface, from), packet);
        self.schedule_early(now);
        self.settle(now, false);
    }

    /// Announces this host as a gateway to these networks, given by address and mask, with every TC interval from now on. Only
    /// for hosts.
    pub fn announce(&mut self, now: Instant, networks: Vec<(Ipv4Addr, Ipv4Addr)>) {
        if let Some(host) = &mut self.host
            && host.announced != networks
        {
            host.announced = networks;
            self.hasten_tc(now);
        }
    }

    /// Packet for an interface that this host stops using: a HELLO that declares all links over the interface
    /// lost. `None` if the host has no links.
    pub fn farewell(&mut self, now: Instant, interface: Interface) -> Option<Arc<Packet>> {
        let lost = |link: &super::links::LinkTuple| HelloLink {
            code: LinkCode::Lost(NeighbourType::Not),
            address: link.address,
        };
        let links: Vec<_> = self.links.iter().map(lost).collect();
        if links.is_empty() {
            return None;
        }
        let hello = Hello {
            interval: TimeCode::at_least(self.config.hello_interval),
            willingness: self.config.willingness,
            links,
            report: None,
        };
        self.flush(now);
        self.put_own(Body::Hello(hello), 1, self.config.neighbour_hold);
        let packet = self.outbox.take(1, micros(now))?;
        Some(if self.own.is_some() { self.packet_over(interface, &packet) } else { packet })
    }

    /// Whether this node announces further interfaces or networks.
    pub(super) fn announces_outside(&self) -> bool {
        self.own.is_some() || self.host.as_ref().is_some_and(|host| !host.announced.is_empty())
    }

    /// The next hop for packets to a destination, subject to the metric's options for keeping paths, for
    /// hosts that forward packets themselves. Counts changes like a packet.
    pub fn choose_next_hop(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        let next_hop = self.route(destination)?.next_hop;
        let packet = Routable {
            ticket: Ticket(0),
            source: self.address,
            destination,
            previous_hop: Some(self.address),
            hops: 0,
            flow: NO_FLOW,
            route: None,
        };
        let next_hop = self.kept_next_hop(now, &packet).unwrap_or(next_hop);
        self.count(now, destination, next_hop);
        Some(next_hop)
    }

    /// Number that grows when links or networks have changed, so that routes may differ. Routes by cost may change without
    /// it. Zero in simulations.
    pub fn revision(&self) -> u64 {
        self.host.as_ref().map_or(0, |host| host.changes + u64::from(self.stale.routes))
    }

    /// Counts a computation of routes after a change of links or networks.
    pub(super) fn count_change(&mut self) {
        if let Some(host) = &mut self.host {
            host.changes += 1;
        }
    }

    /// Networks that other hosts announce, sorted by gateway.
    pub fn networks(&self) -> &[Network] {
        self.host.as_ref().map_or(&[], |host| host.networks.keys())
    }

    /// Further interfaces of nodes, each with the main address of the node, sorted by interface.
    pub fn aliases(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr)> {
        self.interfaces.keys().iter().copied().zip(self.interfaces.values().iter().copied())
    }

    /// Number of flooded messages that were discarded because a limit of memory was reached.
    pub fn refused(&self) -> u64 {
        self.host.as_ref().map_or(0, |host| host.refused)
    }

    /// Queues the announcements of interfaces and networks; returns whether there are any.
    pub(super) fn put_announced(&mut self) -> bool {
        let networks = self.host.as_ref().map(|host| host.announced.clone()).unwrap_or_default();
        let interfaces = self.further_addresses();
        let mid = (!interfaces.is_empty()).then_some(Body::Mid(Mid { interfaces }));
        let hna = (!networks.is_empty()).then_some(Body::Hna(Hna { networks }));
        let hold = self.config.topology_hold;
        let bodies = [mid, hna].into_iter().flatten();
        bodies.map(|body| self.put_own(body, u8::MAX, hold)).count() > 0
    }

    /// Processes an HNA message (RFC 3626 §12.5).
    // DEVIATION olsr-2: Simulated nodes ignore the networks of gateways (HNA; RFC 3626, 12); only the daemon uses
    // them. No routes lead out of a simulated network.
    pub(super) fn learn_networks(&mut self, gateway: Ipv4Addr, hna: &Hna, until: Instant) {
        let Some(host) = &mut self.host else { return };
        for &(address, mask) in &hna.networks {
            self.stale.routes |= host.networks.put(Network { gateway, address, mask }, (), until);
        }
    }

    /// Removes networks of gateways whose announcements have expired.
    pub(super) fn expire_host(&mut self, now: Instant) {
        if let Some(host) = &mut self.host {
            self.stale.routes |= host.networks.expire(now);
        }
    }

    /// Instant at which the next network expires.
    pub(super) fn host_due(&self) -> Option<Instant> {
        self.host.as_ref().and_then(|host| host.networks.due())
    }
}
