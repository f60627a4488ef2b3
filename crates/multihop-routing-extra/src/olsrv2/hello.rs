//! HELLOs: generation (RFC 6130, section 11, and RFC 7181, section 15.1) and processing (sections 12 and 15.3).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Interface};

use super::links::{Changes, Heard, NeighbourLink, SymmetricNeighbour};
use super::wire::{Hello, LinkStatus, MAX_ADDRESSES, Message, Metrics, Neighbour, TimeCode};
use super::{Agent, Timer, two_hops};

impl Agent {
    pub(super) fn send_hello(&mut self, now: Instant) {
        self.elect();
        let hellos = self.interfaces().into_iter().map(|interface| self.hello_over(now, interface)).collect();
        self.counters.hellos += 1;
        self.flush(hellos);
        self.repeat(now, Timer::Hello, self.config.hello_interval);
    }

    /// The HELLO for an interface: its own links, and the neighbours with a symmetric link over any interface
    /// by their main addresses.
    pub(super) fn hello_over(&self, now: Instant, interface: Option<Interface>) -> Message {
        let is_here = |link: &&NeighbourLink| interface.is_none_or(|interface| link.interface == interface);
        let all = self.links.neighbours();
        let here = self.links.iter().filter(is_here);
        let mut neighbours: Vec<_> = here.filter_map(|link| self.link_entry(now, link, &all)).collect();
        let (own, further) = self.addresses_over(interface);
        let links = neighbours.len();
        let elsewhere =
            all.iter().filter(|one| neighbours[..links].iter().all(|said| said.address != one.main));
        let elsewhere: Vec<_> = elsewhere.map(|one| self.other_entry(one)).collect();
        neighbours.extend(elsewhere);
        neighbours.truncate(MAX_ADDRESSES - 1 - further.len());
        Message::Hello(Hello {
            originator: self.address,
            validity: TimeCode::at_least(self.config.neighbour_hold),
            interval: Some(TimeCode::at_least(self.config.hello_interval)),
            willingness: self.config.willingness,
            addresses: alloc::vec![own],
            further,
            neighbours,
        })
    }

    /// The entry for a link in a HELLO. `all` lists the neighbours with symmetric links.
    fn link_entry(
        &self,
        now: Instant,
        link: &NeighbourLink,
        all: &[SymmetricNeighbour],
    ) -> Option<Neighbour> {
        let status = link.status(now)?;
        let best = all.binary_search_by_key(&link.main, |one| one.main).ok().map(|at| &all[at]);
        let named = match best.filter(|best| status != LinkStatus::Symmetric && best.main == link.address) {
            Some(elsewhere) => self.other_entry(elsewhere),
            None => Neighbour::new(link.address),
        };
        let named = Neighbour { link: Some(status), ..named };
        Some(match status {
            LinkStatus::Lost => named,
            LinkStatus::Heard => {
                let link_metrics = Metrics { outgoing: None, ..link.metrics };
                Neighbour { link_metrics, ..named }
            }
            LinkStatus::Symmetric => Neighbour {
                floods: self.relays.flooding.binary_search(&link.main).is_ok(),
                routes: self.relays.routing.binary_search(&link.main).is_ok(),
                link_metrics: link.metrics,
                metrics: best.map_or(link.metrics, |best| best.metrics),
                ..named
            },
        })
    }

    /// The entry in a HELLO for a neighbour whose main address is not the address of a link over the same
    /// interface.
    fn other_entry(&self, neighbour: &SymmetricNeighbour) -> Neighbour {
        Neighbour {
            symmetric: Some(true),
            routes: self.relays.routing.binary_search(&neighbour.main).is_ok(),
            metrics: neighbour.metrics,
            ..Neighbour::new(neighbour.main)
        }
    }

    // DEVIATION olsrv2-1: An interface has one address; RFC 6130 permits any number. Distant nodes have routes to
    // first addresses only.
    pub(super) fn hear_hello(
        &mut self,
        now: Instant,
        (interface, from): (Interface, Ipv4Addr),
        sequence: Option<u16>,
        hello: &Hello,
    ) {
        let is_named = hello.originator == from || hello.addresses.contains(&from);
        if !is_named || self.has(from) || self.has(hello.originator) {
            self.counters.strangers += 1;
            return;
        }
        let own = self.address_of(interface);
        let said = hello.neighbours.iter().find(|neighbour| neighbour.address == own);
        if let Some(before) =
            self.links.get(from).map(|link| link.main).filter(|main| *main != hello.originator)
        {
            self.two_hops.remove((before, from));
        }
        let changes = self.links.hello(now, hello, &Heard { interface, from, said, sequence });
        self.stale.add(changes);
        self.review_links(now);
        if self.links.get(from).is_some_and(|link| link.symmetric) {
            let place = (hello.originator, from);
            // The computation of routes and relays leaves out this node's own address.
            let listed = two_hops::listed(hello, |address| address != self.address && self.has(address));
            if self.two_hops.get(place) != Some(&listed) {
                self.stale = Changes::ALL;
            }
            self.two_hops.put(place, listed, now + hello.validity.time());
        }
    }
}
