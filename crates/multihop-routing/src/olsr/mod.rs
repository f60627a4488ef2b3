//! OLSR (RFC 3626): every node has routes to all nodes, computed from the links that HELLOs
//! announce to neighbours and TCs announce to the whole network.
//!
//! One file for each information set of the RFC. [`Config`] selects the RFC or UM-OLSR, the
//! implementation for ns-2.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Duration, Instant, Interface, Machine, Rng, Timers, earliest};
use multihop_wire::olsr::{Body, Message, Packet, TimeCode};

use crate::agent::{Input, Output, Routable, RouteChanges, RoutingAgent};
use crate::forwarder::Forwarder;
use crate::link_state::duplicates::Duplicates;
use crate::link_state::interfaces::OwnInterfaces;
use crate::message::Message as RoutingMessage;
use crate::network::{AgentConfig, AgentTable, Network, STREAM};
use crate::watch::Reach;

use early::Early;
use forwarding::Outbox;
use gauge::micros;
use links::LinkSet;
use mid::Interfaces;
use neighbours::{Change, Neighbours, Selectors};
use pricing::Pricing;
use routes::{Known, Routes};
use tc::Advertisement;
use timers::Timer;
use topology::{News, Topology};
use two_hops::TwoHops;

mod cheapest;
mod config;
mod early;
mod forwarding;
mod gauge;
mod gauges;
mod held;
mod hello;
mod host;
mod interfaces;
mod links;
mod metric;
mod mid;
mod mpr;
mod neighbours;
mod pricing;
mod room;
mod routes;
mod tc;
mod timers;
mod topology;
mod two_hops;

pub use crate::link_state::hysteresis::Hysteresis;
pub use config::{Advertised, Clocks, Config, LinkFailure, Metric, Preset, Switching, Triggered};
pub use host::Network as BehindGateway;
pub use metric::{DELAY, ETX, LinkMetric, METRICS};
pub use routes::Route;

/// The OLSR agent of a node, with one interface unless [`with_interfaces`](Agent::with_interfaces) adds others.
///
/// Messages are packets of RFC 3626, broadcast in UDP datagrams from and to port 698. They are
/// shared because many nodes receive the same packet.
#[derive(Clone, Debug)]
pub struct Agent {
    config: Arc<Config>,
    address: Ipv4Addr,
    /// Interfaces of the node; `None` if it has one interface with the main address.
    own: Option<Box<OwnInterfaces>>,
    rng: Rng,
    links: LinkSet,
    neighbours: Neighbours,
    two_hops: TwoHops,
    selectors: Selectors,
    topology: Topology,
    interfaces: Interfaces,
    duplicates: Duplicates,
    mprs: Vec<Ipv4Addr>,
    /// Costs of links and the search by cost; `None` if routes are chosen by hop count.
    pricing: Option<Box<Pricing>>,
    routes: Routes,
    stale: Stale,
    advertisement: Advertisement,
    /// Sequence number of this node's next message.
    message_sequence: u16,
    outbox: Outbox,
    /// State of an agent on a real host; `None` in simulations.
    host: Option<Box<host::Host>>,
    /// State of early messages; `None` if messages leave at their intervals only.
    early: Option<Box<Early>>,
    forwarder: Forwarder,
    timers: Timers<Timer, 3>,
    counters: Counters,
}

/// Counters of an OLSR agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Number of HELLOs originated.
    pub hellos: u64,
    /// Number of TCs originated.
    pub tcs: u64,
    /// Number of HELLOs and TCs that left early.
    pub early: u64,
    /// Number of messages of other nodes forwarded.
    pub forwarded: u64,
    /// Number of packets sent.
    pub packets: u64,
    /// Bytes of packets sent, without UDP and IP.
    pub bytes: u64,
    /// Number of flooded messages received more than once.
    pub duplicates: u64,
    /// Number of flooded messages received from nodes that are not symmetric neighbours.
    pub strangers: u64,
    /// Number of TCs received with an outdated sequence number.
    pub outdated: u64,
    /// Number of times that MPRs were selected.
    pub elections: u64,
    /// Number of times that routes were computed.
    pub computations: u64,
}

/// Flags of results that must be recomputed before their next use.
#[derive(Clone, Copy, Debug, Default)]
struct Stale {
    mprs: bool,
    routes: bool,
    /// Whether routes are stale because costs of links have changed.
    costs: bool,
    /// Whether links have changed since the last HELLO.
    hello: bool,
    /// Whether neighbours or selectors have changed since the last TC.
    tc: bool,
}

/// Origin and time of arrival of a message.
#[derive(Clone, Copy)]
struct Arrival {
    /// Interface over which the packet arrived.
    interface: Interface,
    /// Interface address of the previous hop.
    from: Ipv4Addr,
    /// Sequence number of the packet.
    sequence: u16,
    /// Instant of the packet's arrival: now in a simulation, possibly earlier at a busy host.
    at: Instant,
}

impl Agent {
    /// Creates the agent of a node that starts at `now`. `rng` draws jitter. Nodes may share their
    /// configuration.
    ///
    /// # Panics
    ///
    /// If an interval of `config` is zero.
    pub fn new(now: Instant, address: Ipv4Addr, config: impl Into<Arc<Config>>, mut rng: Rng) -> Self {
        let config = config.into();
        let shortest = config.hello_interval.min(config.tc_interval);
        assert!(shortest > Duration::ZERO, "an OLSR interval is zero");
        let mut timers = timers::stopped();
        for timer in [Timer::Hello, Timer::Tc] {
            // UM-OLSR adds the jitter later.
            let wait = if config.own_messages_wait { Duration::ZERO } else { config.max_jitter };
            timers.set(timer, now + rng.duration_below(wait));
        }
        let early = config.triggered.map(|settings| Box::new(Early::new(now, &config, settings, &mut rng)));
        Self {
            links: LinkSet::new(&config),
            pricing: config.metric.map(|metric| Box::new(Pricing::new(metric))),
            config,
            address,
            own: None,
            rng,
            neighbours: Neighbours::default(),
            two_hops: TwoHops::new(),
            selectors: Selectors::new(),
            topology: Topology::new(),
            interfaces: Interfaces::new(),
            duplicates: Duplicates::default(),
            mprs: Vec::new(),
            routes: Routes::default(),
            stale: Stale::default(),
            advertisement: Advertisement::default(),
            message_sequence: 0,
            outbox: Outbox::default(),
            host: None,
            early,
            forwarder: Forwarder::default(),
            timers,
            counters: Counters::default(),
        }
    }

    /// Routes to all known nodes, sorted by address.
    pub fn routes(&mut self) -> &[Route] {
        self.find_routes();
        self.routes.list()
    }

    /// The route to an address.
    pub fn route(&mut self, destination: Ipv4Addr) -> Option<Route> {
        self.find_routes();
        self.routes.get(self.interfaces.main(destination))
    }

    /// The path to an address from the first hop on; `None` unless routes are chosen by cost.
    pub fn path(&mut self, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        self.find_routes();
        self.routes.path(self.interfaces.main(destination))
    }

    /// The cost of the path to an address; `None` unless routes are chosen by cost.
    pub fn cost(&mut self, destination: Ipv4Addr) -> Option<u64> {
        self.find_routes();
        self.routes.cost(self.interfaces.main(destination))
    }

    /// The MPRs of this node, sorted by address.
    pub fn mprs(&mut self) -> &[Ipv4Addr] {
        self.elect();
        &self.mprs
    }

    /// Symmetric neighbours, sorted by address.
    pub fn neighbours(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.neighbours.symmetric()
    }

    /// MPR selectors: the neighbours that have selected this node, sorted by address.
    pub fn selectors(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.selectors.keys().iter().copied()
    }

    /// Whether changes of the routes in use are counted.
    pub fn counts_changes(&self) -> bool {
        self.config.count_changes || self.config.metric.is_some()
    }

    /// Counters since the start of the agent.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Processes a packet that arrived at `at`, which is not later than `now`. Validity times in the packet
    /// count from `at`.
    fn hear(&mut self, now: Instant, at: Instant, (interface, from): (Interface, Ipv4Addr), packet: &Packet) {
        let arrival = Arrival { interface, from, sequence: packet.sequence, at };
        self.links.packet(at, from, packet.sequence);
        self.review_links(now);
        for message in &packet.messages {
            if message.ttl == 0 || message.originator == self.address {
                continue;
            }
            match &message.body {
                Body::Hello(hello) => self.hear_hello(now, arrival, message, hello),
                _ => self.hear_flooded(now, arrival, message),
            }
        }
    }

    /// Processes and forwards a flooded message if it comes from a symmetric neighbour (RFC 3626 §3.4).
    fn hear_flooded(&mut self, now: Instant, arrival: Arrival, message: &Message) {
        let Some(sender) = self.links.get(arrival.from).filter(|link| link.symmetric).map(|link| link.main)
        else {
            self.counters.strangers += 1;
            return;
        };
        self.duplicates.expire(now);
        if !self.has_room(now, sender, message) {
            return;
        }
        let is_new =
            self.duplicates.admit(message.originator, message.sequence, now + self.config.duplicate_hold);
        if is_new {
            self.learn(now, arrival.at, message);
        } else {
            self.counters.duplicates += 1;
        }
        self.forward(now, sender, message, is_new);
    }

    fn learn(&mut self, now: Instant, at: Instant, message: &Message) {
        let until = at + message.validity.time();
        match &message.body {
            Body::Tc(tc) => match self.topology.learn(message.originator, tc, until) {
                News::Outdated => self.counters.outdated += 1,
                news => {
                    self.stale.routes |= news == News::Changed;
                    self.welcome(now, message.originator, tc);
                    self.learn_order(message.originator, tc, until);
                }
            },
            Body::Mid(mid) => self.stale.routes |= self.interfaces.learn(message.originator, mid, until),
            Body::Costs(costs) => self.learn_costs(message, costs, until),
            Body::Hna(hna) => self.learn_networks(message.originator, hna, until),
            Body::Opaque(_) | Body::Hello(_) => {}
        }
    }

    /// The default forwarding algorithm (RFC 3626 §3.4.1, from step 4).
    fn forward(&mut self, now: Instant, sender: Ipv4Addr, message: &Message, is_new: bool) {
        let is_relay = message.ttl > 1 && self.selectors.get(sender).is_some();
        if is_relay && self.may_forward(now, message, is_new) {
            let (ttl, hop_count) = (message.ttl - 1, message.hop_count.saturating_add(1));
            self.outbox.put(Message { ttl, hop_count, ..message.clone() });
            self.counters.forwarded += 1;
            self.flush_later(now);
        }
    }

    /// Queues a message of this node until [`send_own`](Self::send_own).
    fn put_own(&mut self, body: Body, ttl: u8, validity: Duration) {
        let sequence = self.message_sequence;
        self.message_sequence = sequence.wrapping_add(1);
        let (originator, validity) = (self.address, TimeCode::at_least(validity));
        self.outbox.put(Message { validity, originator, ttl, hop_count: 0, sequence, body });
    }

    /// Sends this node's queued messages, at once or after jitter, as configured.
    fn send_own(&mut self, now: Instant) {
        if self.config.own_messages_wait {
            self.flush_later(now);
        } else {
            self.flush(now);
        }
    }

    /// Schedules the departure of all queued messages for the instant at which the first one has waited long
    /// enough.
    fn flush_later(&mut self, now: Instant) {
        let max_jitter = match self.config.triggered {
            None => self.config.max_jitter,
            Some(triggered) => self.config.max_jitter.min(triggered.min_interval),
        };
        let at = now + self.rng.duration_below(max_jitter);
        self.timers.set(Timer::Flush, self.timers.at(Timer::Flush).map_or(at, |before| before.min(at)));
    }

    fn flush(&mut self, now: Instant) {
        self.timers.stop(Timer::Flush);
        while let Some(packet) = self.outbox.take(self.config.messages_per_packet, micros(now)) {
            let Some(own) = &self.own else {
                self.broadcast(None, packet);
                continue;
            };
            let interfaces: Vec<_> = own.list().iter().map(|(interface, _)| *interface).collect();
            for interface in interfaces {
                let packet = self.packet_over(interface, &packet);
                self.broadcast(Some(interface), packet);
            }
        }
    }

    /// Sends a packet to all neighbours of an interface, or of all interfaces.
    fn broadcast(&mut self, interface: Option<Interface>, packet: Arc<Packet>) {
        self.counters.packets += 1;
        self.counters.bytes += packet.len() as u64;
        let message = RoutingMessage::Olsr(packet);
        self.forwarder.send(None, interface, message);
    }

    /// Restarts the timer of a periodic message. Jitter shortens the interval (RFC 3626 §18.1).
    fn repeat(&mut self, now: Instant, timer: Timer, interval: Duration) {
        let jitter = self.rng.duration_below(self.config.max_jitter.min(interval / 2));
        self.timers.set(timer, now + (interval - jitter));
    }

    /// Prepares for packets of this host to a destination whose path may differ from the routing table:
    /// updates the routes and sends notices to the host's connections.
    pub(crate) fn expect_use(&mut self, now: Instant, destination: Ipv4Addr) {
        self.expire(now);
        self.settle(now, true);
        let route = self.routes.get(self.interfaces.main(destination));
        self.forwarder.watch_peer(now, destination, reach(route));
    }

    fn route_packet(&mut self, now: Instant, packet: &Routable) {
        self.settle(now, true);
        let route = self.routes.get(self.interfaces.main(packet.destination));
        self.forwarder.watch(now, packet, reach(route));
        let Some(Route { next_hop, .. }) = route else {
            return self.forwarder.drop(packet, DropReason::NoRoute, self.config.tell_source);
        };
        let next_hop = self.kept_next_hop(now, packet).unwrap_or(next_hop);
        let next_hop = self.over_another_interface(next_hop, packet.previous_hop);
        self.count(now, packet.destination, next_hop);
        self.forwarder.forward_uncounted(packet, next_hop);
    }

    fn count(&mut self, now: Instant, destination: Ipv4Addr, next_hop: Ipv4Addr) {
        if self.counts_changes() {
            self.forwarder.count(now, destination, next_hop);
        }
    }

    fn link_failed(&mut self, now: Instant, next_hop: Ipv4Addr, packet: &Routable) {
        let listens = self.config.link_failure == LinkFailure::Mac;
        if listens {
            self.links.fail(now, next_hop);
            self.review_links(now);
        }
        self.forwarder.drop(packet, DropReason::RetryLimit, listens && self.config.tell_source);
    }

    /// Removes all information whose time has expired.
    fn expire(&mut self, now: Instant) {
        self.review_links(now);
        if self.two_hops.expire(now) {
            self.stale.mprs = true;
            self.stale.routes = true;
        }
        self.stale.tc |= self.selectors.expire(now);
        self.stale.routes |= self.topology.expire(now);
        self.stale.routes |= self.interfaces.expire(now);
        self.stale.costs |= self.pricing.as_mut().is_some_and(|pricing| pricing.expire(now));
        self.expire_host(now);
    }

    fn review_links(&mut self, now: Instant) {
        while let Some(main) = self.links.next_change(now) {
            self.stale.hello = true;
            self.review_neighbour(now, main);
        }
    }

    /// Updates the state that depends on a neighbour whose links have changed (RFC 3626, section 8.5).
    fn review_neighbour(&mut self, now: Instant, main: Ipv4Addr) {
        match self.neighbours.review(main, &self.links) {
            Change::None => return,
            Change::Gained if self.announces_outside() => self.hasten_tc(now),
            Change::Gained => {}
            Change::Lost => {
                self.two_hops.forget(main);
                self.selectors.remove(main);
            }
        }
        self.stale.tc = true;
        self.stale.mprs = true;
        self.stale.routes = true;
    }

    fn elect(&mut self) {
        if core::mem::take(&mut self.stale.mprs) {
            let neighbours = self.neighbours.list();
            self.mprs = mpr::elect(self.address, neighbours, &self.two_hops, self.config.mpr_coverage);
            self.counters.elections += 1;
        }
    }

    fn find_routes(&mut self) -> bool {
        if core::mem::take(&mut self.stale.routes) {
            self.count_change();
            self.stale.costs = true;
        }
        let stale = core::mem::take(&mut self.stale.costs);
        if stale {
            let Self { address: own, neighbours, two_hops, topology, .. } = self;
            let known = Known { own: *own, neighbours, two_hops, topology };
            match &mut self.pricing {
                None => self.routes.find(&known),
                Some(pricing) => pricing.find(&known, &mut self.routes),
            }
            self.counters.computations += 1;
        }
        stale
    }

    /// Recomputes the routes if notices depend on them, or if `needed`.
    fn settle(&mut self, now: Instant, needed: bool) {
        if (needed || self.forwarder.is_watching()) && self.find_routes() {
            let Self { forwarder, routes, interfaces, .. } = self;
            forwarder.compare(now, |peer| reach(routes.get(interfaces.main(peer))));
        }
    }
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Self::Input) {
        self.expire(now);
        match input {
            Input::Packet(packet) => self.route_packet(now, &packet),
            Input::Message { interface, from, message: RoutingMessage::Olsr(message), .. } => {
                self.hear(now, now, (interface, from), &message);
            }
            Input::LinkFailed { next_hop, packet, .. } | Input::Purged { next_hop, packet } => {
                self.link_failed(now, next_hop, &packet);
            }
            // OLSR messages are broadcast, which the MAC does not acknowledge.
            Input::MessageLost { .. } | Input::MessagePurged { .. } => {}
            Input::Message { .. } | Input::Overheard { .. } => {}
        }
        self.schedule_early(now);
        self.settle(now, false);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        while let Some(timer) = self.timers.pop_expired(now) {
            match timer {
                Timer::Hello => self.send_hello(now),
                Timer::Tc => self.send_tc(now, false),
                Timer::Flush => self.flush(now),
            }
        }
        self.schedule_early(now);
        self.send_early(now);
        self.settle(now, false);
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Self::Output> {
        self.forwarder.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let sets = [
            self.links.due(),
            self.two_hops.due(),
            self.selectors.due(),
            self.topology.due(),
            self.interfaces.due(),
            self.pricing.as_ref().and_then(|pricing| pricing.due()),
            self.host_due(),
            self.early.as_ref().and_then(|early| early.due()),
        ];
        earliest(self.timers.next(), sets.into_iter().flatten().min())
    }
}

impl RoutingAgent for Agent {
    fn overtakes_data(&self, message: &RoutingMessage) -> bool {
        let RoutingMessage::Olsr(packet) = message else { return true };
        let is_hello = |message: &Message| matches!(message.body, Body::Hello(_));
        let hellos_wait = self.config.metric.is_some_and(|metric| metric.hellos_wait);
        !hellos_wait || !packet.messages.iter().any(is_hello)
    }

    fn route_changes(&self) -> Option<RouteChanges> {
        self.counts_changes().then(|| self.forwarder.changes())
    }
}

impl AgentConfig for Config {
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable> {
        let config = Arc::new(self.clone());
        network.agents(STREAM, |address, rng| {
            let agent = Agent::new(network.start, address, config.clone(), rng);
            agent.with_interfaces(network.interfaces_of(address))
        })
    }

    fn has_interfaces(&self) -> bool {
        // Metrics measure links over a single interface only.
        self.metric.is_none()
    }
}

fn reach(route: Option<Route>) -> Reach {
    route.map_or(Reach::Lost, |route| Reach::Hops(route.hops))
}

#[cfg(test)]
mod tests;
