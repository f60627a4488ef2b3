//! AODV (RFC 3561): routes are looked for when they are needed, and kept while they are used.
//!
//! Two implementations that simulation studies ran on are followed, each a [`Preset`]: the agent
//! of ns-2, and AODV-UU. `docs/models/aodv.md` says what both do.

mod buffer;
mod config;
mod discovery;
mod error;
mod forward;
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
use core::net::Ipv4Addr;

use multihop_core::{Instant, Machine, Rng};
use multihop_wire::aodv::{Message, Sequence};

use self::buffer::Buffer;
use self::discovery::{Discovery, Latencies};
use self::limit::RateLimit;
use self::neighbours::Neighbours;
use self::notices::Peers;
use self::repair::Repair;
use self::seen::Seen;
use self::table::Table;
use self::timers::Delayed;
use crate::agent::{Input, Output, RoutingAgent};
use crate::message::Message as RoutingMessage;
use crate::network::{AgentConfig, AgentTable, Network};

/// An AODV agent.
///
/// In this order in memory: a request that was heard before, as most were, touches the first cache line.
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
    rng: Rng,
    out: VecDeque<Output>,
}

impl Agent {
    /// An agent with an empty table. HELLOs, if it sends any, begin at `start`; `rng` gives the
    /// jitter.
    pub fn new(config: impl Into<Arc<Config>>, address: Ipv4Addr, start: Instant, rng: Rng) -> Self {
        let config = config.into();
        Self {
            address,
            sequence: Sequence(0),
            last_request: 0,
            table: Table::new(config.delete_period),
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
            rng,
            out: VecDeque::new(),
            config,
        }
    }

    /// The parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The neighbour on a valid route.
    pub fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        self.table.valid(destination).map(|route| route.next_hop)
    }

    /// All entries of the table, in the order of addresses, valid or not.
    pub fn routes(&self) -> impl Iterator<Item = (Ipv4Addr, &Route)> {
        self.table.iter()
    }

    /// False if nothing has changed, as after most requests: they were heard before.
    fn hear(&mut self, now: Instant, from: Ipv4Addr, ttl: u8, message: &Message) -> bool {
        if let Message::Reply(hello) = message
            && ttl == 1
            && hello.hop_count == 0
            && hello.destination == from
        {
            self.on_hello(now, from, hello.destination_sequence);
            return true;
        }
        let shows_neighbour = self.config.preset == Preset::Uu;
        if shows_neighbour {
            self.on_neighbour(now, from);
        }
        let concerns_us = match message {
            Message::Request(request) => self.on_request(now, from, ttl, *request),
            Message::Reply(reply) => {
                self.on_reply(now, from, ttl, *reply);
                true
            }
            Message::Error(error) => self.on_error(now, from, error),
            Message::ReplyAck => false,
        };
        shows_neighbour || concerns_us
    }

    /// Sends a message, or soon will.
    fn send(&mut self, now: Instant, outgoing: Outgoing) {
        let Outgoing { to, ttl, message, forwarded } = outgoing;
        let message = Output::Message { to, ttl, message: RoutingMessage::Aodv(message) };
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

/// A message on its way out.
struct Outgoing {
    /// To one neighbour, or to all.
    to: Option<Ipv4Addr>,
    ttl: u8,
    message: Message,
    /// Whether it passes on what another node began.
    forwarded: bool,
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Self::Input) {
        match input {
            Input::Packet(packet) => self.on_packet(now, packet),
            Input::Message { from, ttl, message } => {
                self.receive(now, from, ttl, &message);
            }
            Input::LinkFailed { next_hop, packet, .. } | Input::Purged { next_hop, packet } => {
                self.on_link_failed(now, next_hop, packet);
            }
            // DEVIATION aodv-3: RFC 3561 §6.11 lets any unicast count; neither ns-2 nor AODV-UU
            // take the loss of a message of their own for a broken link.
            Input::MessageLost { .. } | Input::MessagePurged { .. } => {}
            Input::Overheard { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
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
    fn receive(&mut self, now: Instant, from: Ipv4Addr, ttl: u8, message: &RoutingMessage) -> bool {
        let RoutingMessage::Aodv(message) = message else { return false };
        self.hear(now, from, ttl, message)
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
        network.agents(|address, rng| Agent::new(Arc::clone(&config), address, network.start, rng))
    }
}
