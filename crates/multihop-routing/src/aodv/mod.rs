//! AODV (RFC 3561): routes are discovered when packets need them, and maintained while they are
//! used.
//!
//! The agent follows two implementations used in published simulations, each a [`Preset`]: ns-2's AODV, and
//! AODV-UU. `docs/models/aodv.md` describes both.

mod buffer;
mod config;
mod discovery;
mod error;
mod forward;
mod host;
mod limit;
mod neighbours;
mod notices;
mod repair;
mod reply;
mod seen;
mod table;
mod timers;

pub use config::{Config, LinkFailure, LocalRepair, Preset};
pub use table::{Route, RouteState};

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::slice;

use multihop_core::{Instant, Interface, Machine, Rng, prefetch_at};
use multihop_wire::aodv::{Message, Sequence};

use self::buffer::Buffer;
use self::discovery::{Discovery, Latencies};
use self::limit::RateLimit;
use self::neighbours::Neighbours;
use self::repair::Repair;
use self::seen::Seen;
use self::table::Table;
use self::timers::Delayed;
use crate::agent::{Input, Output, RoutingAgent};
use crate::message::Message as RoutingMessage;
use crate::network::{AgentConfig, AgentTable, Network, STREAM};
use crate::peers::Peers;

/// AODV agent (RFC 3561) of one node. The order of fields matters: the handling of a duplicate request, as
/// most requests are, accesses only the first cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Agent {
    config: Arc<Config>,
    seen: Seen,
    address: Ipv4Addr,
    sequence: Sequence,
    table: Table,
    last_request: u32,
    buffer: Buffer,
    discoveries: BTreeMap<Ipv4Addr, Discovery>,
    latencies: BTreeMap<Ipv4Addr, Latencies>,
    repairs: BTreeMap<Ipv4Addr, Repair>,
    neighbours: Neighbours,
    peers: Peers,
    request_limit: RateLimit,
    error_limit: RateLimit,
    delayed: Delayed,
    last_broadcast: Option<Instant>,
    /// Further addresses of this node.
    aliases: Vec<Ipv4Addr>,
    /// Numbers and addresses of the interfaces; empty if there is one interface with the main address.
    interfaces: Vec<(Interface, Ipv4Addr)>,
    rng: Rng,
    out: VecDeque<Output>,
}

impl Agent {
    /// Creates an agent with an empty table. `start` is the instant of the first HELLO; `rng` draws jitter.
    pub fn new(config: impl Into<Arc<Config>>, address: Ipv4Addr, start: Instant, rng: Rng) -> Self {
        let config = config.into();
        Self {
            address,
            sequence: Sequence(0),
            last_request: 0,
            table: Table::new(config.delete_period, config.local_repair == LocalRepair::Ns2),
            seen: Seen::new(),
            buffer: Buffer::new(config.buffer_packets, config.buffer_life),
            discoveries: BTreeMap::new(),
            latencies: BTreeMap::new(),
            repairs: BTreeMap::new(),
            neighbours: Neighbours::new((config.link_failure == LinkFailure::Hello).then_some(start)),
            peers: Peers::default(),
            request_limit: RateLimit::new(config.rate_limit),
            error_limit: RateLimit::new(config.rate_limit),
            delayed: Delayed::default(),
            last_broadcast: None,
            aliases: Vec::new(),
            interfaces: Vec::new(),
            rng,
            out: VecDeque::new(),
            config,
        }
    }

    /// Configures the agent for several interfaces with these addresses, the main address first.
    ///
    /// Requests and errors leave over all interfaces. Each interface sends HELLOs with its own address, so that neighbours are
    /// known by the addresses from which they send, and a route leads over the interface of its next hop.
    #[must_use]
    pub fn with_interfaces(mut self, addresses: Vec<Ipv4Addr>) -> Self {
        if addresses.len() > 1 {
            self.aliases = addresses[1..].to_vec();
            self.set_interfaces((0..).map(Interface).zip(addresses).collect());
        }
        self
    }

    /// Replaces the interfaces: their numbers and addresses, one of which is the main address.
    pub fn set_interfaces(&mut self, list: Vec<(Interface, Ipv4Addr)>) {
        self.interfaces = if list.len() > 1 { list } else { Vec::new() };
    }

    /// Parameters with which the agent was created.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The next hop of a valid route.
    pub fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        self.table.valid(destination).map(|route| route.next_hop)
    }

    /// All entries of the table, valid or not, in the order of addresses.
    pub fn routes(&self) -> impl Iterator<Item = (Ipv4Addr, &Route)> {
        self.table.iter()
    }

    /// Processes a message that arrived at `at`, at the latest `now`: lifetimes of routes and neighbours count from
    /// `at`. Returns false if nothing has changed, as after most requests, which are duplicates.
    fn hear(&mut self, now: Instant, at: Instant, from: Ipv4Addr, ttl: u8, message: &Message) -> bool {
        if let Message::Reply(hello) = message
            && ttl == 1
            && hello.hop_count == 0
            && hello.destination == from
        {
            self.on_hello(now, at, from, hello.destination_sequence);
            return true;
        }
        let shows_neighbour = self.config.preset == Preset::Uu;
        if shows_neighbour {
            self.on_neighbour(now, at, from);
        }
        let concerns_us = match message {
            Message::Request(request) => self.on_request(now, at, from, ttl, *request),
            Message::Reply(reply) => {
                self.on_reply(now, at, from, ttl, *reply);
                true
            }
            Message::Error(error) => self.on_error(now, from, error),
            Message::ReplyAck => false,
        };
        shows_neighbour || concerns_us
    }

    /// Prefetches the whole agent. Among thousands of nodes it is rarely in the cache, and its cache lines would be fetched one
    /// after the other.
    fn prefetch(&self) {
        prefetch_at(slice::from_ref(self), 0);
    }

    /// Sends a message, now or after jitter.
    fn send(&mut self, now: Instant, outgoing: Outgoing) {
        let Outgoing { to, interface, ttl, message, forwarded } = outgoing;
        let message = Output::Message { to, interface, ttl, message: RoutingMessage::Aodv(message) };
        if to.is_none() {
            self.last_broadcast = Some(now);
            if forwarded || self.config.preset == Preset::Uu {
                let at = now + self.rng.duration_below(self.config.jitter);
                return self.delayed.send_at(at, message);
            }
        }
        self.out.push_back(message);
    }
}

/// A message to be sent.
struct Outgoing {
    /// Neighbour that receives the message; `None`: all neighbours.
    to: Option<Ipv4Addr>,
    /// Interface over which the message leaves, as in [`Output::Message`].
    interface: Option<Interface>,
    ttl: u8,
    message: Message,
    /// Whether the message is forwarded, or caused by a message of another node.
    forwarded: bool,
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Self::Input) {
        match input {
            Input::Packet(packet) => self.on_packet(now, packet),
            Input::Message { interface, from, ttl, message } => {
                self.receive(now, interface, from, ttl, &message);
            }
            Input::LinkFailed { next_hop, packet, .. } | Input::Purged { next_hop, packet } => {
                self.on_link_failed(now, next_hop, packet);
            }
            // DEVIATION aodv-3: Only failed data breaks a link, as in ns-2 and AODV-UU. In RFC 3561 (6.11) any failed
            // unicast does. After a lost reply the originator requests the route again.
            Input::MessageLost { .. } | Input::MessagePurged { .. } => {}
            Input::Overheard { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.prefetch();
        self.run_timers(now);
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Self::Output> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline()
    }
}

impl RoutingAgent for Agent {
    fn receive(
        &mut self,
        now: Instant,
        _interface: Interface,
        from: Ipv4Addr,
        ttl: u8,
        message: &RoutingMessage,
    ) -> bool {
        let RoutingMessage::Aodv(message) = message else { return false };
        self.hear(now, now, from, ttl, message)
    }

    fn accounted_len(&self, message: &RoutingMessage) -> usize {
        match message {
            RoutingMessage::Aodv(message) => self.config.preset.accounted_len(message),
            other => other.packet_len(),
        }
    }
}

impl AgentConfig for Config {
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable> {
        let config = Arc::new(self.clone());
        network.agents(STREAM, |address, rng| {
            let agent = Agent::new(Arc::clone(&config), address, network.start, rng);
            agent.with_interfaces(network.interfaces_of(address))
        })
    }

    fn has_interfaces(&self) -> bool {
        true
    }
}
