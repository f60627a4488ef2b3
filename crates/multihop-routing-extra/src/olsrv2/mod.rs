//! OLSRv2 (RFC 7181) with its neighbourhood discovery (NHDP, RFC 6130): like OLSR, with costs of links in
//! both directions and separate relays for flooding and for routing. The metric is directional airtime (RFC
//! 7779), or hops.
//!
//! One file for each information set of the RFCs.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Duration, Instant, Interface, Machine, Rng, Timers, earliest};
use multihop_routing::agent::{Input, LinkRates, Output, Routable, RouteChanges, RoutingAgent};
use multihop_routing::forwarder::Forwarder;
use multihop_routing::host::HostConfig;
use multihop_routing::link_state::duplicates::Duplicates;
use multihop_routing::link_state::interfaces::OwnInterfaces;
use multihop_routing::link_state::table::Table;
use multihop_routing::message::Message as RoutingMessage;
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_routing::olsr::LinkFailure;
use multihop_routing::watch::Reach;

use crate::STREAM;
use links::{Changes, NeighbourLinks};
use mpr::Purpose;
use room::Senders;
use routes::{Known, Routes, Topology};
use tc::Announcement;
use two_hops::TwoHops;
use wire::{Attached, Message, Packet, Tc};

mod airtime;
mod config;
mod hello;
mod host;
mod interfaces;
mod links;
mod mac;
mod mpr;
mod names;
mod room;
mod routes;
mod tc;
mod two_hops;
pub mod wire;

pub use config::{Config, LinkMetric};
pub use routes::Route;

/// The OLSRv2 agent of a node, with one interface unless [`with_interfaces`](Agent::with_interfaces) adds others.
///
/// Packets are broadcast in UDP datagrams from and to port 269.
#[derive(Clone, Debug)]
pub struct Agent {
    config: Arc<Config>,
    address: Ipv4Addr,
    /// Interfaces of the node; `None` for one interface with the main address.
    own: Option<Box<OwnInterfaces>>,
    rng: Rng,
    links: NeighbourLinks,
    two_hops: TwoHops,
    topology: Topology,
    duplicates: Duplicates,
    relays: Relays,
    routes: Routes,
    stale: Changes,
    announcement: Announcement,
    /// Senders of TCs, only on real hosts.
    senders: Option<Senders>,
    /// Originators whose TC was forwarded a moment ago, only on real hosts.
    recently_forwarded: Table<Ipv4Addr>,
    /// Networks behind this node, only on real hosts.
    networks: Vec<Attached>,
    /// Numbers of the interfaces, only on real hosts.
    numbers: Vec<Interface>,
    /// Sequence number of this node's next TC.
    message_sequence: u16,
    /// Sequence number of the next packet over each interface.
    packet_sequences: Vec<u16>,
    waiting: Vec<Message>,
    timers: Timers<Timer, 4>,
    forwarder: Forwarder,
    counters: Counters,
}

/// The relays of a node, sorted by address.
#[derive(Clone, Debug, Default)]
struct Relays {
    flooding: Vec<Ipv4Addr>,
    routing: Vec<Ipv4Addr>,
}

/// Counters of an OLSRv2 agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Number of HELLOs originated.
    pub hellos: u64,
    /// Number of TCs originated.
    pub tcs: u64,
    /// Number of TCs of other nodes forwarded.
    pub forwarded: u64,
    /// Number of packets sent.
    pub packets: u64,
    /// Number of TCs received again.
    pub duplicates: u64,
    /// Number of TCs from nodes that are not symmetric neighbours, and of HELLOs from other addresses than
    /// those listed in them.
    pub strangers: u64,
    /// Number of TCs with an outdated sequence number.
    pub outdated: u64,
    /// Number of TCs with more information than a node stores.
    pub refused: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Timer {
    /// A HELLO is due.
    Hello,
    /// A TC is due.
    Tc,
    /// The first of the queued messages has waited long enough.
    Flush,
    /// Links are due to be measured.
    Measure,
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
        assert!(shortest > Duration::ZERO, "an OLSRv2 interval is zero");
        let mut timers = Timers::new([Timer::Hello, Timer::Tc, Timer::Flush, Timer::Measure]);
        for timer in [Timer::Hello, Timer::Tc] {
            timers.set(timer, now + rng.duration_below(config.max_jitter));
        }
        if config.metric == LinkMetric::Airtime {
            timers.set(Timer::Measure, now + airtime::REFRESH);
        }
        Self {
            links: NeighbourLinks::new(&config),
            config,
            address,
            own: None,
            rng,
            two_hops: TwoHops::new(),
            topology: Topology::new(),
            duplicates: Duplicates::default(),
            relays: Relays::default(),
            routes: Routes::default(),
            stale: Changes::default(),
            announcement: Announcement::default(),
            senders: None,
            recently_forwarded: Table::new(),
            networks: Vec::new(),
            numbers: Vec::new(),
            message_sequence: 0,
            packet_sequences: Vec::from([0]),
            waiting: Vec::new(),
            timers,
            forwarder: Forwarder::default(),
            counters: Counters::default(),
        }
    }

    /// Routes to all known nodes, sorted by address.
    pub fn routes(&mut self) -> &[Route] {
        self.find_routes();
        self.routes.list()
    }

    /// The route to an address; `None` without one.
    pub fn route(&mut self, destination: Ipv4Addr) -> Option<Route> {
        self.find_routes();
        self.routes.get(destination)
    }

    /// Symmetric neighbours, sorted by address.
    pub fn neighbours(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.links.neighbours().into_iter().map(|neighbour| neighbour.main)
    }

    /// The relays that forward this node's messages (flooding MPRs), sorted by address.
    pub fn flooding_mprs(&mut self) -> &[Ipv4Addr] {
        self.elect();
        &self.relays.flooding
    }

    /// The relays that announce this node (routing MPRs), sorted by address.
    pub fn routing_mprs(&mut self) -> &[Ipv4Addr] {
        self.elect();
        &self.relays.routing
    }

    /// Counters since the start of the agent.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    fn process(&mut self, now: Instant, interface: Interface, from: Ipv4Addr, packet: &Packet) {
        if let Some(sequence) = packet.sequence {
            self.links.packet(now, from, sequence);
            self.review_links(now);
        }
        for message in &packet.messages {
            match message {
                Message::Hello(hello) => {
                    self.hear_hello(now, (interface, from), packet.sequence, hello);
                }
                Message::Tc(tc) => self.hear_tc(now, from, tc),
            }
        }
    }

    /// Restarts the timer of a periodic message. Jitter shortens the interval (RFC 5148).
    fn repeat(&mut self, now: Instant, timer: Timer, interval: Duration) {
        let jitter = self.rng.duration_below(self.config.max_jitter.min(interval / 2));
        self.timers.set(timer, now + (interval - jitter));
    }

    /// Schedules the departure of all queued messages for the instant at which the first one has waited long
    /// enough.
    fn flush_later(&mut self, now: Instant) {
        let at = now + self.rng.duration_below(self.config.max_jitter);
        self.timers.set(Timer::Flush, self.timers.at(Timer::Flush).map_or(at, |before| before.min(at)));
    }

    /// Sends waiting messages over each interface, and the interface's HELLO if there is one.
    fn flush(&mut self, hellos: Vec<Message>) {
        self.timers.stop(Timer::Flush);
        let waiting = core::mem::take(&mut self.waiting);
        let mut hellos = hellos.into_iter();
        for interface in self.interfaces() {
            self.send_all(interface, waiting.iter().cloned().chain(hellos.next()));
        }
    }

    fn send_all(&mut self, interface: Option<Interface>, all: impl Iterator<Item = Message>) {
        let mut messages = Vec::new();
        let mut len = 0;
        for message in all {
            let more = message.wire_len();
            if len + more > PACKET_BYTES && len > 0 {
                self.send(interface, core::mem::take(&mut messages));
                len = 0;
            }
            len += more;
            messages.push(message);
        }
        if !messages.is_empty() {
            self.send(interface, messages);
        }
    }

    fn send(&mut self, interface: Option<Interface>, messages: Vec<Message>) {
        let sequence = Some(self.next_sequence(interface));
        self.counters.packets += 1;
        let message = RoutingMessage::custom(Packet { sequence, messages });
        self.forwarder.send(None, interface, message);
    }

    /// Removes all information whose time has expired.
    fn expire(&mut self, now: Instant) {
        self.review_links(now);
        if self.two_hops.expire(now) {
            self.stale = Changes::ALL;
        }
        self.stale.routes |= self.topology.expire(now);
    }

    fn review_links(&mut self, now: Instant) {
        if self.links.review(now) {
            let Self { two_hops, links, .. } = self;
            let gone = |(_, link): &(_, Ipv4Addr)| !links.get(*link).is_some_and(|link| link.symmetric);
            let lost: Vec<_> = two_hops.keys().iter().copied().filter(gone).collect();
            for link in lost {
                two_hops.remove(link);
            }
            self.stale = Changes::ALL;
        }
    }

    fn measure(&mut self, now: Instant) {
        if self.links.refresh(now) {
            self.stale.relays = true;
        }
        self.timers.set(Timer::Measure, now + airtime::REFRESH);
    }

    fn elect(&mut self) {
        if core::mem::take(&mut self.stale.relays) {
            let elect = |purpose| mpr::elect(self.address, &self.links, &self.two_hops, purpose);
            self.relays = Relays { flooding: elect(Purpose::Flooding), routing: elect(Purpose::Routing) };
        }
    }

    fn find_routes(&mut self) -> bool {
        let stale = core::mem::take(&mut self.stale.routes);
        if stale {
            let Self { address: own, links, two_hops, topology, .. } = self;
            self.routes.find(&Known { own: *own, links, two_hops, topology });
        }
        stale
    }

    /// Recomputes the routes if notices depend on them, or if `needed`.
    fn settle(&mut self, now: Instant, needed: bool) {
        if (needed || self.forwarder.is_watching()) && self.find_routes() {
            let Self { forwarder, routes, .. } = self;
            forwarder.compare(now, |peer| reach(routes.get(peer)));
        }
    }

    fn route_packet(&mut self, now: Instant, packet: &Routable) {
        self.settle(now, true);
        let route = self.routes.get(packet.destination);
        self.forwarder.watch(now, packet, reach(route));
        match route {
            Some(Route { next_hop, .. }) => {
                let next_hop = self.over_another_interface(next_hop, packet.previous_hop);
                self.forwarder.forward(now, packet, next_hop);
            }
            None => self.forwarder.drop(packet, DropReason::NoRoute, self.config.tell_source),
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
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        self.expire(now);
        match input {
            Input::Packet(packet) => self.route_packet(now, &packet),
            Input::Message { interface, from, message, .. } => {
                if let Some(packet) = message.content() {
                    self.process(now, interface, from, packet);
                }
            }
            Input::LinkFailed { next_hop, packet, .. } | Input::Purged { next_hop, packet } => {
                self.link_failed(now, next_hop, &packet);
            }
            // Messages are broadcast, which the MAC does not acknowledge.
            Input::MessageLost { .. } | Input::MessagePurged { .. } => {}
            Input::Overheard { .. } => {}
        }
        self.settle(now, false);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        while let Some(timer) = self.timers.pop_expired(now) {
            match timer {
                Timer::Hello => self.send_hello(now),
                Timer::Tc => self.send_tc(now),
                Timer::Flush => self.flush(Vec::new()),
                Timer::Measure => self.measure(now),
            }
        }
        self.settle(now, false);
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.forwarder.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let sets = [self.links.due(), self.two_hops.due(), self.topology.due()];
        earliest(self.timers.next(), sets.into_iter().flatten().min())
    }
}

impl RoutingAgent for Agent {
    fn receive(
        &mut self,
        now: Instant,
        interface: Interface,
        from: Ipv4Addr,
        _ttl: u8,
        message: &RoutingMessage,
    ) -> bool {
        if let Some(packet) = message.content() {
            self.expire(now);
            self.process(now, interface, from, packet);
            self.settle(now, false);
        }
        true
    }

    fn wants_rates(&self) -> bool {
        self.config.metric == LinkMetric::Airtime
    }

    fn note_rates(&mut self, from: Ipv4Addr, rates: LinkRates) {
        self.links.set_rate(from, rates.incoming);
    }

    fn route_changes(&self) -> Option<RouteChanges> {
        Some(self.forwarder.changes())
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
        true
    }

    fn on_host(&self) -> Option<&dyn HostConfig> {
        Some(self)
    }
}

/// Length up to which messages share a packet, which then fits into 1500 bytes with all headers.
const PACKET_BYTES: usize = 1400;
/// Time for which a TC is recognised as a duplicate (RFC 7181, section 5.4.2).
const DUPLICATE_HOLD: Duration = Duration::from_secs(30);
/// Initial hop limit of a TC.
const HOP_LIMIT: u8 = 255;

/// A TC with its hop limit reduced by one; `None` if the limit is reached.
fn forwarded(tc: &Tc) -> Option<Tc> {
    let hop_limit = tc.hop_limit.checked_sub(1).filter(|&left| left > 0)?;
    Some(Tc { hop_limit, hop_count: tc.hop_count.saturating_add(1), ..tc.clone() })
}

fn reach(route: Option<Route>) -> Reach {
    route.map_or(Reach::Lost, |route| Reach::Hops(route.hops))
}

#[cfg(test)]
mod tests;
