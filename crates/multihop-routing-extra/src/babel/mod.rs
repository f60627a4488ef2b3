//! Babel (RFC 8966): a distance-vector protocol without routing loops, with the round-trip times of RFC 9616
//! in its metric as an option.
//!
//! One file for each table of the RFC. In simulations destinations are single hosts; `host.rs` runs the same agent on real
//! interfaces, with prefixes of both families.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use multihop_core::{DropReason, Duration, Instant, Interface, Machine, Rng, Timers, earliest};
use multihop_routing::agent::{Input, Output, Routable, RouteChanges, RoutingAgent};
use multihop_routing::forwarder::Forwarder;
use multihop_routing::host::HostConfig;
use multihop_routing::message::Message;
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_routing::olsr::LinkFailure;
use multihop_routing::watch::Reach;

use crate::STREAM;
use neighbours::{HelloOutcome, Neighbours};
use requests::Requests;
use routes::{Judge, Learned, Routes};
use sending::Waiting;
use sources::Sources;
use wire::{Centis, Echo, Hello, INFINITY, Ihu, Packet, Prefix, RouterId, Seqno, SeqnoRequest, Tlv, Update};

mod config;
mod diversity;
mod history;
mod host;
mod interfaces;
mod mac;
mod neighbours;
mod requests;
mod routes;
mod sending;
mod smoothed;
mod sources;
pub mod wire;

pub use config::{Config, Diversity, LinkCost, RttCost};
pub use routes::Route;

/// The Babel agent of a node, with one interface unless [`with_interfaces`](Agent::with_interfaces) adds others.
///
/// Packets are UDP datagrams from and to port 6696, for all neighbours or for one.
#[derive(Clone, Debug)]
pub struct Agent {
    config: Arc<Config>,
    /// Main address, or the address of the only interface.
    address: IpAddr,
    router_id: RouterId,
    /// Destinations that this node originates.
    originated: BTreeSet<Prefix>,
    /// The interfaces; empty if there is one, with the main address.
    own: Vec<interfaces::Own>,
    /// State on a real host; `None` in simulations.
    host: Option<Box<host::State>>,
    rng: Rng,
    neighbours: Neighbours,
    sources: Sources,
    routes: Routes,
    requests: Requests,
    waiting: Waiting,
    /// Sequence number of the route to this node.
    seqno: Seqno,
    /// Sequence number of the latest Hello.
    hello_seqno: Seqno,
    next_dump: Instant,
    timers: Timers<Timer, 2>,
    forwarder: Forwarder,
    counters: Counters,
}

/// Counters of a Babel agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Number of Hellos sent.
    pub hellos: u64,
    /// Number of updates sent.
    pub updates: u64,
    /// Number of announcements of all routes.
    pub dumps: u64,
    /// Number of sequence number requests sent.
    pub requests: u64,
    /// Number of packets sent.
    pub packets: u64,
    /// Bytes of packets sent, without UDP and IP.
    pub bytes: u64,
    /// Number of updates that violated the feasibility condition.
    pub unfeasible: u64,
    /// Number of routes lost without a replacement.
    pub lost: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Timer {
    /// A Hello is due.
    Hello,
    /// Deadline of the outgoing packet: TLVs that wait are sent.
    Flush,
}

impl Agent {
    /// Creates the agent of a node that starts at `now`. `rng` draws jitter. Nodes may share their
    /// configuration.
    ///
    /// # Panics
    ///
    /// If the interval of Hellos is zero.
    pub fn new(now: Instant, address: Ipv4Addr, config: impl Into<Arc<Config>>, mut rng: Rng) -> Self {
        let config = config.into();
        assert!(config.hello_interval > Duration::ZERO, "the interval of Hellos is zero");
        let mut timers = Timers::new([Timer::Hello, Timer::Flush]);
        timers.set(Timer::Hello, now + rng.duration_below(config.hello_interval / 4));
        Self {
            config,
            address: address.into(),
            router_id: RouterId::of(address),
            // DEVIATION babel-1: Simulated Babel uses packets over IPv4, and a route to the first IPv4 address of
            // each node. RFC 8966 (4) has both IP versions and prefixes, as multihop has on real hosts.
            originated: [Prefix::host(address)].into(),
            own: Vec::new(),
            host: None,
            rng,
            neighbours: Neighbours::default(),
            sources: Sources::default(),
            routes: Routes::default(),
            requests: Requests::default(),
            waiting: Waiting::default(),
            seqno: Seqno(0),
            hello_seqno: Seqno(0),
            next_dump: now,
            timers,
            forwarder: Forwarder::default(),
            counters: Counters::default(),
        }
    }

    /// The selected route to an address.
    pub fn route(&self, destination: Ipv4Addr) -> Option<Route> {
        self.routes.get(Prefix::host(destination))
    }

    /// The hosts with a selected route, sorted by address.
    pub fn destinations(&self) -> impl Iterator<Item = Ipv4Addr> {
        let used = self.routes.destinations().filter(|&destination| self.routes.get(destination).is_some());
        used.filter_map(|destination| destination.as_host())
    }

    /// Each neighbour, the cost of the link to it ([`INFINITY`] if the link is unused), and its average
    /// round-trip time.
    pub fn links(&self) -> impl Iterator<Item = (IpAddr, u16, Option<Duration>)> {
        self.neighbours.iter().map(|neighbour| {
            let cost = self.neighbours.cost(neighbour.address).unwrap_or(INFINITY);
            (neighbour.address, cost, neighbour.rtt())
        })
    }

    /// Numbers of entries in the agent's tables, by which tests bound its memory.
    pub fn table_sizes(&self) -> [(&'static str, usize); 6] {
        let [destinations, routes] = self.routes.sizes();
        [
            ("neighbours", self.neighbours.iter().count()),
            ("destinations", destinations),
            ("routes", routes),
            ("sources", self.sources.len()),
            ("requests", self.requests.len()),
            ("waiting", self.waiting.len()),
        ]
    }

    /// Counters since the start of the agent.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Routes of the node, with the state on which a choice among them depends.
    fn table(&mut self, now: Instant) -> (&mut Routes, Judge<'_>) {
        let Self { routes, sources, config, .. } = self;
        (routes, Judge { now, sources, half_life: config.hysteresis })
    }

    fn process(&mut self, now: Instant, interface: Interface, from: IpAddr, packet: &Packet) {
        if self.has(from) {
            return;
        }
        self.record_link(now, (interface, from), packet);
        for tlv in &packet.tlvs {
            match tlv {
                Tlv::Hello(_) | Tlv::Ihu(_) | Tlv::Ack { .. } => {}
                Tlv::AckRequest { opaque, .. } => self.queue_for(now, from, Tlv::Ack { opaque: *opaque }),
                Tlv::Update(update) => self.learn(now, from, update),
                Tlv::RetractAll => self.retract_all(now, from),
                Tlv::RouteRequest(None) => self.dump_soon(now),
                Tlv::RouteRequest(Some(prefix)) => self.answer(now, *prefix),
                Tlv::SeqnoRequest(request) => self.answer_request(now, from, request),
            }
        }
    }

    /// Records the measurements in a packet about the link over which it arrived.
    fn record_link(&mut self, now: Instant, (interface, from): (Interface, IpAddr), packet: &Packet) {
        let own = self.address_of(interface);
        let (mut hello, mut ihu) = (None, None);
        for tlv in &packet.tlvs {
            match tlv {
                Tlv::Hello(found) => hello = Some(found),
                Tlv::Ihu(found) if found.address.is_none_or(|to| to == own) => ihu = Some(found),
                _ => {}
            }
        }
        if hello.is_none() && ihu.is_none() {
            return;
        }
        let sensing = self.sensing_of(interface);
        let before = self.neighbours.get(from).map(|neighbour| (neighbour.is_heard(), neighbour.is_used()));
        let heard = hello.map(|hello| self.neighbours.record_hello(now, (interface, from), hello, sensing));
        self.measure(now, from, hello, ihu);
        self.review_link(now, from);
        self.follow_link_change(now, from, before.unwrap_or_default());
        if heard == Some(HelloOutcome::New) {
            // RFC 8966, 3.8.1.1: a new neighbour gets a request for its routes.
            self.queue_for(now, from, Tlv::RouteRequest(None));
            self.greet_soon(now);
        }
    }

    fn measure(&mut self, now: Instant, from: IpAddr, hello: Option<&Hello>, ihu: Option<&Ihu>) {
        let Some(neighbour) = self.neighbours.get_mut(from) else { return };
        if let Some(ihu) = ihu {
            neighbour.learn(now, ihu);
        }
        let echo: Option<Echo> = ihu.and_then(|ihu| ihu.echo);
        let sent = hello.and_then(|hello| hello.timestamp);
        if let (Some(echo), Some(sent), Some(config)) = (echo, sent, &self.config.rtt) {
            neighbour.round_trip(now, echo, sent, config);
        }
        neighbour.review(&self.config);
    }

    /// Gives the routes through a neighbour the current cost of the link, and chooses routes anew.
    fn review_link(&mut self, now: Instant, neighbour: IpAddr) {
        let Some(link) = self.link_to(neighbour) else { return };
        for destination in self.routes.through(neighbour) {
            let (routes, judge) = self.table(now);
            routes.set_cost(&judge, neighbour, destination, link);
            self.select(now, destination);
        }
    }

    fn learn(&mut self, now: Instant, from: IpAddr, update: &Update) {
        let (destination, Some(link)) = (update.prefix, self.link_to(from)) else { return };
        if self.originated.contains(&destination) || !self.accepts(destination) {
            return;
        }
        let Some(next_hop) = next_hop(from, update) else { return };
        let (routes, judge) = self.table(now);
        let learned = routes.learn(&judge, (from, next_hop), update, link);
        if learned == Learned::Ignored {
            return;
        }
        self.select(now, destination);
        if let Some(offer) = update.offer {
            if self.requests.answer(destination, offer.router_id, update.seqno) {
                self.announce_soon(now, destination);
            }
            if learned != Learned::Accepted {
                self.counters.unfeasible += 1;
                self.unlock(now, from, destination, offer.router_id, offer.metric.saturating_add(link.cost));
            }
        }
    }

    /// Requests a sequence number that makes an unfeasible route usable, if that route would be better than
    /// the selected one (RFC 8966, 3.8.2.2).
    fn unlock(&mut self, now: Instant, from: IpAddr, to: Prefix, router: RouterId, metric: u16) {
        let margin = self.margin();
        let used = self.routes.get(to).filter(|route| route.neighbour != from);
        if used.is_some_and(|route| metric.saturating_add(margin) > route.metric) {
            return;
        }
        self.request_next_seqno(now, to, router, Some(from));
    }

    fn request_next_seqno(&mut self, now: Instant, to: Prefix, router_id: RouterId, whom: Option<IpAddr>) {
        if let Some(seqno) = self.sources.next_seqno(to, router_id) {
            let request = SeqnoRequest { prefix: to, seqno, hop_count: MAX_HOPS, router_id };
            self.request_once(now, request, whom);
        }
    }

    fn retract_all(&mut self, now: Instant, from: IpAddr) {
        for destination in self.routes.through(from) {
            let (routes, judge) = self.table(now);
            routes.retract(&judge, from, destination);
            self.select(now, destination);
        }
    }

    /// Selects the route to a destination again, and announces a change.
    fn select(&mut self, now: Instant, destination: Prefix) {
        let router_before = self.routes.get(destination).map(|route| route.router_id);
        let (routes, judge) = self.table(now);
        let (before, after) = routes.select(&judge, destination);
        let router = self.routes.get(destination).map(|route| route.router_id);
        let (margin, channels) = (self.margin(), self.channels_to(destination));
        if self.routes.is_news(destination, margin, channels) || router != router_before {
            self.announce_soon(now, destination);
        }
        if let (Some(router), Some(_), None) = (router_before, before, after) {
            self.counters.lost += 1;
            self.request_next_seqno(now, destination, router, None);
        }
    }

    /// Answers a route request with an update (RFC 8966, section 3.8.1.1).
    fn answer(&mut self, now: Instant, prefix: Prefix) {
        self.announce_soon(now, prefix);
    }

    /// Answers a request for a sequence number (RFC 8966, section 3.8.1.2).
    fn answer_request(&mut self, now: Instant, from: IpAddr, request: &SeqnoRequest) {
        let destination = request.prefix;
        if self.originated.contains(&destination) {
            if request.router_id == self.router_id && request.seqno.newer_than(self.seqno) {
                self.seqno = self.seqno.next();
            }
            return self.announce_soon(now, destination);
        }
        if let Some(route) = self.routes.get(destination)
            && (route.router_id != request.router_id || !request.seqno.newer_than(route.seqno))
        {
            return self.announce_soon(now, destination);
        }
        if request.hop_count < 2 {
            return;
        }
        if let Some(next) = self.routes.successor(destination, from) {
            self.request_once(now, SeqnoRequest { hop_count: request.hop_count - 1, ..*request }, Some(next));
        }
    }

    /// Removes a neighbour and all routes through it.
    fn lose(&mut self, now: Instant, neighbour: IpAddr) {
        self.neighbours.remove(neighbour);
        for destination in self.routes.through(neighbour) {
            let (routes, judge) = self.table(now);
            routes.retract(&judge, neighbour, destination);
            self.select(now, destination);
            self.routes.forget(neighbour, destination);
        }
    }

    fn expire(&mut self, now: Instant) {
        if self.neighbours.due().is_some_and(|due| due <= now) {
            let (changed, lost) = self.neighbours.expire(now, &self.config);
            changed.into_iter().for_each(|neighbour| self.review_link(now, neighbour));
            lost.into_iter().for_each(|neighbour| self.lose(now, neighbour));
        }
        let (routes, judge) = self.table(now);
        let ended = routes.expire(&judge);
        for destination in ended {
            self.select(now, destination);
            self.routes.forget_if_empty(destination);
        }
        for (to, request) in self.requests.expire(now) {
            self.request_soon(now, request, to);
        }
    }

    fn route_packet(&mut self, now: Instant, packet: &Routable) {
        let route = self.route(packet.destination);
        self.forwarder.watch(now, packet, reach(route));
        match route {
            Some(Route { next_hop: IpAddr::V4(next_hop), .. }) => {
                self.forwarder.forward(now, packet, next_hop)
            }
            _ => self.forwarder.drop(packet, DropReason::NoRoute, self.config.tell_source),
        }
    }

    fn link_failed(&mut self, now: Instant, next_hop: Ipv4Addr, packet: &Routable) {
        let listens = self.config.link_failure == LinkFailure::Mac;
        if listens {
            self.lose(now, next_hop.into());
        }
        self.forwarder.drop(packet, DropReason::RetryLimit, listens && self.config.tell_source);
    }

    /// Reports changed routes to the connections of this host.
    fn notify(&mut self, now: Instant) {
        self.forwarder.compare(now, |peer| reach(self.routes.get(Prefix::host(peer))));
    }
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet(packet) => return self.route_packet(now, &packet),
            Input::Message { interface, from, message, .. } => {
                if let Some(packet) = message.content() {
                    self.process(now, interface, from.into(), packet);
                }
            }
            Input::LinkFailed { next_hop, packet, .. } | Input::Purged { next_hop, packet } => {
                self.link_failed(now, next_hop, &packet);
            }
            // Requests are repeated, and all other TLVs are announced again.
            Input::MessageLost { .. } | Input::MessagePurged { .. } => {}
            Input::Overheard { .. } => {}
        }
        self.notify(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        while let Some(timer) = self.timers.pop_expired(now) {
            match timer {
                Timer::Hello => self.send_hello(now),
                Timer::Flush => self.flush(now, None),
            }
        }
        self.notify(now);
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.forwarder.poll()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let tables = [self.neighbours.due(), self.routes.due(), self.requests.due()];
        earliest(self.timers.next(), tables.into_iter().flatten().min())
    }
}

impl RoutingAgent for Agent {
    fn receive(
        &mut self,
        now: Instant,
        interface: Interface,
        from: Ipv4Addr,
        _ttl: u8,
        message: &Message,
    ) -> bool {
        if let Some(packet) = message.content() {
            self.process(now, interface, from.into(), packet);
            self.notify(now);
        }
        true
    }

    fn overtakes_data(&self, message: &Message) -> bool {
        let Some(packet) = message.content::<Packet>() else { return true };
        !self.config.hellos_wait || !packet.tlvs.iter().any(|tlv| matches!(tlv, Tlv::Hello(_)))
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
            agent.with_interfaces(network.interfaces_of(address), network.channels)
        })
    }

    fn has_interfaces(&self) -> bool {
        true
    }

    fn on_host(&self) -> Option<&dyn HostConfig> {
        Some(self)
    }
}

/// The next hop of an update: its sender, unless the update contains another or belongs to the other family.
/// A retraction needs no next hop.
fn next_hop(from: IpAddr, update: &Update) -> Option<IpAddr> {
    let is_of_family = from.is_ipv6() == update.prefix.is_ipv6() || update.offer.is_none();
    update.next_hop.or_else(|| is_of_family.then_some(from))
}

fn reach(route: Option<Route>) -> Reach {
    route.map_or(Reach::Lost, |_| Reach::Somewhere)
}

fn time(interval: Centis) -> Duration {
    Duration::from_millis(10 * u64::from(interval.0))
}

/// Largest number of links that a request may cross, as in the reference implementation.
const MAX_HOPS: u8 = 127;

#[cfg(test)]
mod tests;
