//! HELLOs: generation (RFC 3626 §6.2) and processing (§7.1, §8.1, §8.2, §8.4).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::{Body, Hello, HelloLink, LinkCode, Message, NeighbourType, TimeCode};

use super::links::{SensedLink, State};
use super::timers::Timer;
use super::{Agent, Arrival};

impl Agent {
    pub(super) fn send_hello(&mut self, now: Instant) {
        self.elect();
        if self.stale.routes || self.stale.costs {
            self.routes.forget();
        }
        let links = self.declared_links(now);
        if let Some(early) = &mut self.early {
            early.on_hello(now, &links, &mut self.rng);
        }
        let hello = Hello {
            interval: TimeCode::at_least(self.config.hello_interval),
            willingness: self.config.willingness,
            links,
            report: self.pricing.as_mut().map(|pricing| Box::new(pricing.report())),
        };
        self.counters.hellos += 1;
        self.put_own(Body::Hello(hello), 1, self.config.neighbour_hold);
        self.send_own(now);
        self.repeat(now, Timer::Hello, self.config.hello_interval);
    }

    /// Links for a HELLO, grouped by link code.
    pub(super) fn declared_links(&self, now: Instant) -> Vec<HelloLink> {
        let declared = self.links.iter().filter_map(|link| {
            let neighbour = self.neighbour_type(link.main);
            let code = match link.state(now) {
                State::Symmetric => LinkCode::Symmetric { mpr: neighbour == NeighbourType::Mpr },
                State::Asymmetric => LinkCode::Asymmetric(neighbour),
                State::Lost => LinkCode::Lost(neighbour),
                State::Pending => return None,
            };
            Some(HelloLink { code, address: link.address })
        });
        let mut links = Vec::with_capacity(self.links.len());
        links.extend(declared);
        links.sort_unstable_by_key(|link| (link.code, link.address));
        links
    }

    fn neighbour_type(&self, main: Ipv4Addr) -> NeighbourType {
        if self.mprs.binary_search(&main).is_ok() {
            NeighbourType::Mpr
        } else if self.neighbours.is_symmetric(main) {
            NeighbourType::Symmetric
        } else {
            NeighbourType::Not
        }
    }

    pub(super) fn hear_hello(&mut self, now: Instant, arrival: Arrival, message: &Message, hello: &Hello) {
        let main = message.originator;
        let validity = message.validity.time();
        let reported = self.reported(arrival.interface, hello);
        let until = arrival.at + validity;
        let before = self.links.get(arrival.from).map(|link| link.main);
        let is_unheard = self.links.hello(
            arrival.at,
            &SensedLink {
                from: arrival.from,
                main,
                interface: arrival.interface,
                validity,
                interval: hello.interval.time(),
                reported,
                sequence: arrival.sequence,
            },
        );
        if is_unheard {
            self.hasten_hello(now);
        }
        if let Some(report) = &hello.report {
            self.hear_report(arrival, report, until);
        }
        self.review_links(now);
        self.review_neighbour(now, main);
        if let Some(other) = before.filter(|&before| before != main) {
            self.review_neighbour(now, other);
        }
        if self.neighbours.set_willingness(main, hello.willingness) {
            self.stale.mprs = true;
            self.stale.routes = true;
        }
        if self.links.get(arrival.from).is_some_and(|link| link.symmetric) {
            self.learn_two_hops(main, hello, until);
        }
        if reported.is_some_and(|code| code.neighbour() == NeighbourType::Mpr) {
            self.stale.tc |= self.selectors.put(main, (), until);
        }
    }

    fn learn_two_hops(&mut self, neighbour: Ipv4Addr, hello: &Hello, until: Instant) {
        let Self { two_hops, interfaces, address, own, .. } = self;
        let is_own = |of: Ipv4Addr| own.as_ref().is_some_and(|own| own.has(of));
        let others = hello.links.iter().filter(|link| !is_own(link.address));
        let links = others.map(|link| (interfaces.main(link.address), link.code.neighbour()));
        let changed = two_hops.learn(neighbour, links.filter(|(of, _)| of != address), until);
        if self.host.is_some() {
            self.two_hops.limit(neighbour, MAX_NODES_OF_NEIGHBOUR, MAX_HELLOS_OF_NEIGHBOUR);
        }
        if changed {
            self.stale.mprs = true;
            self.stale.routes = true;
        }
    }
}

/// Largest number of 2-hop neighbours that a host stores for one neighbour: twice as many as one HELLO lists.
const MAX_NODES_OF_NEIGHBOUR: usize = 1_024;
/// Largest number of HELLOs of one neighbour with different lists that a host remembers. Six are valid with the RFC's
/// values.
const MAX_HELLOS_OF_NEIGHBOUR: usize = 16;
