//! Routing by originator messages (B.A.T.M.A.N. IV). Every node floods originator messages, and routes to
//! each originator through the neighbour from which the originator's messages arrive best.
//!
//! The variant of the daemon: IP packets, and messages in UDP datagrams.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Duration, Instant, Interface, Machine, Rng, Timers};
use multihop_routing::agent::{Input, Output, Routable, RouteChanges, RoutingAgent};
use multihop_routing::forwarder::Forwarder;
use multihop_routing::message::Message;
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_routing::watch::Reach;

use crate::STREAM;

use links::{FULL, LinkHistories};
use originators::{INITIAL_TTL, Originators};
use wire::{Ogm, Packet, Seqno};

mod config;
mod links;
mod originators;
mod window;
pub mod wire;

pub use config::Config;
pub use originators::Route;

/// Routing agent of a node with one interface.
#[derive(Clone, Debug)]
pub struct Agent {
    config: Arc<Config>,
    address: Ipv4Addr,
    rng: Rng,
    links: LinkHistories,
    originators: Originators,
    /// Sequence number of the latest message that this node originated.
    seqno: Seqno,
    /// Messages of other nodes that wait to be forwarded together.
    waiting: Vec<Ogm>,
    timers: Timers<Timer, 2>,
    forwarder: Forwarder,
    counters: Counters,
}

/// Counters of a B.A.T.M.A.N. agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Number of messages that this node originated.
    pub originated: u64,
    /// Number of messages of others that were forwarded.
    pub forwarded: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Timer {
    /// A message of this node is due.
    Own,
    /// Deadline of the outgoing packet: messages to forward are sent.
    Forward,
}

impl Agent {
    /// Creates the agent of a node that starts at `now`. `rng` draws jitter. Nodes may share their
    /// configuration.
    ///
    /// # Panics
    ///
    /// If the interval of messages is zero.
    pub fn new(now: Instant, address: Ipv4Addr, config: impl Into<Arc<Config>>, mut rng: Rng) -> Self {
        let config = config.into();
        assert!(config.interval > Duration::ZERO, "the interval of originator messages is zero");
        let mut timers = Timers::new([Timer::Own, Timer::Forward]);
        timers.set(Timer::Own, now + rng.duration_below(config.interval));
        Self {
            config,
            address,
            rng,
            links: LinkHistories::default(),
            originators: Originators::default(),
            seqno: Seqno(0),
            waiting: Vec::new(),
            timers,
            forwarder: Forwarder::default(),
            counters: Counters::default(),
        }
    }

    /// The route to an address.
    pub fn route(&self, destination: Ipv4Addr) -> Option<Route> {
        self.originators.route(destination)
    }

    /// The nodes with a route, sorted by address.
    pub fn destinations(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.originators.destinations().filter(|&destination| self.route(destination).is_some())
    }

    /// Counters since the start of the agent.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    fn hear(&mut self, now: Instant, from: Ipv4Addr, packet: &Packet) {
        for ogm in &packet.ogms {
            self.hear_ogm(now, from, ogm);
        }
    }

    fn hear_ogm(&mut self, now: Instant, from: Ipv4Addr, ogm: &Ogm) {
        if ogm.originator == self.address {
            if ogm.direct_link {
                self.links.echo(from, ogm.seqno);
            }
            return;
        }
        // A neighbour that received this message from this node provides no other path.
        if from == self.address || ogm.previous == self.address || ogm.unidirectional || ogm.tq == 0 {
            return;
        }
        let is_neighbour = ogm.originator == from;
        if is_neighbour {
            self.links.hear(from, ogm.seqno);
        }
        let tq = u32::from(ogm.tq) * self.links.quality(from) / FULL;
        let tq = u8::try_from(tq).expect("at most 255");
        if tq > 0 {
            self.originators.rank(now, from, ogm, tq);
        }
        let forwards = tq > 0 && self.originators.should_forward(from, ogm);
        // A neighbour's own message is always sent back, because the neighbour measures the link by it.
        if (forwards || is_neighbour) && ogm.ttl > 1 {
            let tq = u32::from(tq) * (FULL - u32::from(self.config.hop_penalty)) / FULL;
            self.waiting.push(Ogm {
                unidirectional: !forwards,
                direct_link: is_neighbour,
                ttl: ogm.ttl - 1,
                previous: from,
                tq: u8::try_from(tq).expect("at most 255"),
                ..*ogm
            });
            self.counters.forwarded += 1;
            if self.timers.at(Timer::Forward).is_none() {
                let wait = self.rng.duration_below(self.config.max_jitter);
                self.timers.set(Timer::Forward, now + wait);
            }
        }
    }

    /// Originates a message of this node, and sends it with waiting messages.
    fn originate(&mut self, now: Instant) {
        self.originators.expire(now, self.config.timeout);
        self.seqno = self.seqno.next();
        self.links.advance(self.seqno);
        self.counters.originated += 1;
        let (originator, seqno) = (self.address, self.seqno);
        self.waiting.push(Ogm {
            unidirectional: false,
            direct_link: false,
            ttl: INITIAL_TTL,
            seqno,
            originator,
            previous: originator,
            tq: u8::MAX,
        });
        let jitter = self.rng.duration_below(self.config.max_jitter.min(self.config.interval / 2));
        self.timers.set(Timer::Own, now + (self.config.interval - jitter));
        self.flush();
    }

    fn flush(&mut self) {
        self.timers.stop(Timer::Forward);
        let ogms = core::mem::take(&mut self.waiting);
        for part in ogms.chunks(OGMS_PER_PACKET) {
            let message = Message::custom(Packet { ogms: part.to_vec() });
            self.forwarder.send(None, None, message);
        }
    }

    fn route_packet(&mut self, now: Instant, packet: &Routable) {
        let route = self.route(packet.destination);
        self.forwarder.watch(now, packet, reach(route));
        match route {
            Some(Route { next_hop, .. }) => self.forwarder.forward(now, packet, next_hop),
            None => self.forwarder.drop(packet, DropReason::NoRoute, self.config.tell_source),
        }
    }

    /// Sends notices to this host's connections about changed routes to their peers.
    fn notify(&mut self, now: Instant) {
        self.forwarder.compare(now, |peer| reach(self.originators.route(peer)));
    }
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet(packet) => return self.route_packet(now, &packet),
            Input::Message { from, message, .. } => {
                if let Some(packet) = message.content() {
                    self.hear(now, from, packet);
                }
            }
            Input::LinkFailed { packet, .. } | Input::Purged { packet, .. } => {
                self.forwarder.drop(&packet, DropReason::RetryLimit, false);
            }
            // Messages are broadcast, which the MAC does not acknowledge.
            Input::MessageLost { .. } | Input::MessagePurged { .. } => {}
            Input::Overheard { .. } => {}
        }
        self.notify(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.pop_expired(now) {
            match timer {
                Timer::Own => self.originate(now),
                Timer::Forward => self.flush(),
            }
        }
        self.notify(now);
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.forwarder.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }
}

impl RoutingAgent for Agent {
    fn receive(
        &mut self,
        now: Instant,
        _interface: Interface,
        from: Ipv4Addr,
        _ttl: u8,
        message: &Message,
    ) -> bool {
        if let Some(packet) = message.content() {
            self.hear(now, from, packet);
            self.notify(now);
        }
        true
    }

    fn route_changes(&self) -> Option<RouteChanges> {
        Some(self.forwarder.changes())
    }
}

impl AgentConfig for Config {
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable> {
        let config = Arc::new(self.clone());
        network.agents(STREAM, |address, rng| Agent::new(network.start, address, config.clone(), rng))
    }
}

fn reach(route: Option<Route>) -> Reach {
    route.map_or(Reach::Lost, |route| Reach::Hops(route.hops))
}

/// Largest number of OGMs in a packet: 80 messages of 18 bytes fit into 1500 bytes with all headers.
const OGMS_PER_PACKET: usize = 80;

#[cfg(test)]
mod tests;
