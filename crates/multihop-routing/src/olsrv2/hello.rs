//! HELLOs: generation (RFC 6130, section 11, and RFC 7181, section 15.1) and processing (sections 12 and 15.3).

use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsrv2::{Hello, LinkStatus, Message, Metrics, Neighbour, TimeCode};

use super::links::{Changes, NeighbourLink};
use super::{Agent, Timer, two_hops};

impl Agent {
    pub(super) fn send_hello(&mut self, now: Instant) {
        self.elect();
        let hello = Hello {
            originator: self.address,
            validity: TimeCode::at_least(self.config.neighbour_hold),
            interval: Some(TimeCode::at_least(self.config.hello_interval)),
            willingness: self.config.willingness,
            addresses: alloc::vec![self.address],
            neighbours: self.links.iter().filter_map(|link| self.said_of(now, link)).collect(),
        };
        self.counters.hellos += 1;
        self.waiting.push(Message::Hello(hello));
        self.flush();
        self.repeat(now, Timer::Hello, self.config.hello_interval);
    }

    /// What a HELLO says of a neighbour.
    fn said_of(&self, now: Instant, link: &NeighbourLink) -> Option<Neighbour> {
        let status = link.status(now)?;
        let named = Neighbour { link: Some(status), ..Neighbour::new(link.address) };
        Some(match status {
            LinkStatus::Lost => named,
            LinkStatus::Heard => {
                let link_metrics = Metrics { outgoing: None, ..link.metrics };
                Neighbour { link_metrics, ..named }
            }
            LinkStatus::Symmetric => Neighbour {
                floods: self.relays.flooding.binary_search(&link.address).is_ok(),
                routes: self.relays.routing.binary_search(&link.address).is_ok(),
                // With one interface the link is the best one.
                link_metrics: link.metrics,
                metrics: link.metrics,
                ..named
            },
        })
    }

    // DEVIATION olsrv2-1: nodes have one interface with one address. HELLOs of others are ignored.
    pub(super) fn hear_hello(&mut self, now: Instant, from: Ipv4Addr, sequence: Option<u16>, hello: &Hello) {
        if hello.originator != from || from == self.address {
            self.counters.strangers += 1;
            return;
        }
        let said = hello.neighbours.iter().find(|neighbour| neighbour.address == self.address);
        let changes = self.links.hello(now, hello, said, sequence);
        self.stale.add(changes);
        self.review_links(now);
        if self.links.get(from).is_some_and(|link| link.symmetric) {
            let listed = two_hops::listed(hello);
            if self.two_hops.get(from) != Some(&listed) {
                self.stale = Changes::ALL;
            }
            self.two_hops.put(from, listed, now + hello.validity.time());
        }
    }
}
