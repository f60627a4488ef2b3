//! What a real host has and a node of a simulation has not: several interfaces, networks behind it (RFC 3626 §5 and §12),
//! sequence numbers that go on after a restart, and limits against neighbours that fill its memory.
//!
//! An agent has one interface, that of its main address. Who drives it for a host with several sends each packet from
//! all of them; see [`Agent::on_host`].

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Interface};
use multihop_wire::olsr::{
    Body, Hello, HelloLink, Hna, LinkCode, Message, Mid, NeighbourType, Packet, TimeCode,
};

use super::Agent;
use super::gauge::micros;
use super::room::Senders;
use crate::agent::{NO_FLOW, Routable, Ticket};
use crate::duplicates::Duplicates;
use crate::table::Table;

/// What a host announces besides its links.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Announced {
    /// Addresses of its interfaces other than the main address.
    pub interfaces: Vec<Ipv4Addr>,
    /// Networks to which it is a gateway: address and mask.
    pub networks: Vec<(Ipv4Addr, Ipv4Addr)>,
}

/// A network behind a gateway.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Network {
    /// The gateway's main address.
    pub gateway: Ipv4Addr,
    /// The network's address.
    pub address: Ipv4Addr,
    /// Its mask.
    pub mask: Ipv4Addr,
}

/// The part of an agent that only hosts have.
#[derive(Clone, Debug)]
pub(super) struct Host {
    announced: Announced,
    pub(super) networks: Table<Network>,
    pub(super) senders: Senders,
    /// Messages that were forwarded. With several interfaces, a message that came over one from a node that is not a
    /// selector is forwarded when it comes over another from one that is (RFC 3626 §3.4.1).
    forwarded: Duplicates,
    /// Flooded messages for which there was no room.
    pub(super) refused: u64,
}

impl Agent {
    /// The same agent as that of a real host. Its sequence numbers begin where `seconds`, of a clock that goes on between
    /// two starts, says, so that other nodes take its messages for newer than those before the start.
    #[must_use]
    pub fn on_host(mut self, seconds: u64) -> Self {
        let [.., a, b] = seconds.to_be_bytes();
        let seconds = u16::from_be_bytes([a, b]);
        // A node sends fewer TCs and messages than this in a second.
        self.advertisement.begin(seconds.wrapping_mul(8));
        self.message_sequence = seconds.wrapping_mul(32);
        self.host = Some(Box::new(Host {
            announced: Announced::default(),
            networks: Table::new(),
            senders: Table::new(),
            forwarded: Duplicates::default(),
            refused: 0,
        }));
        self
    }

    /// Processes a packet that arrived before now, such as one that waited until the host had time. What its messages say
    /// is valid from the arrival on. Messages that are no longer valid are left out by the driver.
    pub fn receive_late(&mut self, now: Instant, arrived: Instant, from: Ipv4Addr, packet: &Packet) {
        self.expire(now);
        self.hear(now, arrived.min(now), (Interface(0), from), packet);
        self.schedule_early(now);
        self.settle(now, false);
    }

    /// Announces these interfaces and networks with every TC interval from now on. Only for hosts.
    pub fn announce(&mut self, now: Instant, announced: Announced) {
        if let Some(host) = &mut self.host
            && host.announced != announced
        {
            host.announced = announced;
            self.hasten_tc(now);
        }
    }

    /// Ends the links to all interfaces of neighbours but these, because an interface of this host has gone.
    pub fn keep_links(&mut self, now: Instant, counts: impl Fn(Ipv4Addr) -> bool) {
        self.links.keep(now, counts);
        self.review_links(now);
        self.schedule_early(now);
    }

    /// A packet that ends all links of this host, for neighbours over an interface that it gives up: its HELLO declares them
    /// lost. `None` if there are no links.
    pub fn farewell(&mut self, now: Instant) -> Option<Arc<Packet>> {
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
        self.outbox.take(1, micros(now))
    }

    /// Whether this node announces interfaces or networks.
    pub(super) fn announces_outside(&self) -> bool {
        !self.own.is_empty() || self.host.as_ref().is_some_and(|host| host.announced != Announced::default())
    }

    /// The next hop of packets to a destination from now on, as the options of the metric keep it, for those who forward
    /// packets themselves. Counts changes like a packet.
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
        self.count_turn(now, destination, next_hop);
        Some(next_hop)
    }

    /// Networks that other hosts announce, sorted by gateway.
    pub fn networks(&self) -> &[Network] {
        self.host.as_ref().map_or(&[], |host| host.networks.keys())
    }

    /// Interfaces that nodes have besides that of their main address, and the main addresses; sorted by interface.
    pub fn aliases(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr)> {
        self.interfaces.keys().iter().copied().zip(self.interfaces.values().iter().copied())
    }

    /// Flooded messages that a host had no room for.
    pub fn refused(&self) -> u64 {
        self.host.as_ref().map_or(0, |host| host.refused)
    }

    /// Queues the announcements of interfaces and networks; returns whether there are any.
    pub(super) fn put_announced(&mut self) -> bool {
        let Announced { mut interfaces, networks } =
            self.host.as_ref().map(|host| host.announced.clone()).unwrap_or_default();
        interfaces.extend(self.own.iter().skip(1));
        let mid = (!interfaces.is_empty()).then_some(Body::Mid(Mid { interfaces }));
        let hna = (!networks.is_empty()).then_some(Body::Hna(Hna { networks }));
        let hold = self.config.topology_hold;
        let bodies = [mid, hna].into_iter().flatten();
        bodies.map(|body| self.put_own(body, u8::MAX, hold)).count() > 0
    }

    /// Processes an HNA message (RFC 3626 §12.5).
    // DEVIATION olsr-2: only hosts use networks behind gateways; nodes of a simulation forward the messages.
    pub(super) fn learn_networks(&mut self, gateway: Ipv4Addr, hna: &Hna, until: Instant) {
        let Some(host) = &mut self.host else { return };
        for &(address, mask) in &hna.networks {
            host.networks.put(Network { gateway, address, mask }, (), until);
        }
    }

    /// Whether a message is to be forwarded as far as earlier ones decide; `is_new` if it has not come before.
    pub(super) fn may_forward(&mut self, now: Instant, message: &Message, is_new: bool) -> bool {
        match &mut self.host {
            // DEVIATION olsr-6: whether a message came again over the same interface does not matter.
            Some(host) if !host.announced.interfaces.is_empty() => {
                host.forwarded.expire(now);
                host.forwarded.admit(message.originator, message.sequence, now + self.config.duplicate_hold)
            }
            _ => is_new,
        }
    }

    /// Removes expired networks.
    pub(super) fn expire_host(&mut self, now: Instant) {
        if let Some(host) = &mut self.host {
            host.networks.expire(now);
        }
    }

    /// When the next network expires.
    pub(super) fn host_due(&self) -> Option<Instant> {
        self.host.as_ref().and_then(|host| host.networks.due())
    }
}
