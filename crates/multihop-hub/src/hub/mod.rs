//! Many connections on one socket, without the socket.
//!
//! A driver passes in datagrams ([`Hub::receive`]) and time ([`Hub::handle_timeout`]). After either, and
//! after every call of an application, it drains [`Hub::poll_transmit`] and [`Hub::poll_event`], then reads
//! the next deadline from [`Hub::poll_timeout`]. The hub has no clock, no socket and no randomness of its
//! own.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

use multihop_core::{BitRate, Instant, Rng, earliest};
use multihop_transport::Pool;
use multihop_transport::channel::Channels;
use multihop_transport::connection::{self as transport, FlowSetup, Opened, OpenedConfig};
use multihop_transport::lifecycle;
use multihop_transport::refusals::Refusals;

mod connection;
mod crowd;
mod demux;
mod half_open;
mod input;
mod limit;
mod local;
mod output;
mod paths;
mod recent;
mod routes;
mod second;
mod slots;
mod turns;

pub use slots::Id;

use crate::config::{Config, Limits};
use crate::datagram::{Entropy, LocalAddressTo, PathMtu};
use crate::error::Error;
use crate::keys::PublicKey;
use crate::protection::{self, Acceptor, Protection};
use crate::segment::Format;
use crate::stats::Stats;
use crate::transport::{Transport, TransportName, Transports};
use connection::{Holder, HubConnection};
use demux::Demux;
use half_open::HalfOpen;
use limit::{RateLimit, Warnings};
use slots::Slots;
use turns::Turns;

/// State machine of many connections on one UDP socket.
pub struct Hub {
    /// Transports of the hub, the preferred one first.
    choices: Vec<Transport>,
    transports: Transports,
    /// Whether connections may have channels of messages.
    channels: bool,
    /// Whether datagrams have the DSCP of the priority of their messages.
    marks: bool,
    lifecycle: lifecycle::Config,
    initial_ttl: u8,
    limits: Limits,
    /// Pool of memory beyond the usual buffer sizes of all connections.
    pool: Pool,
    /// Local UDP port of the socket.
    port: u16,
    /// Whether new peers may connect.
    listening: bool,
    entropy: Entropy,
    path_mtu: PathMtu,
    local_address: LocalAddressTo,
    acceptor: Box<dyn Acceptor>,
    connections: Slots<HubConnection>,
    demux: Demux,
    /// Connections that may have something to send, each at most once.
    ready: VecDeque<Id>,
    /// The deadlines of the connections.
    due: BTreeSet<(Instant, Id)>,
    /// Established connections that no application has accepted.
    backlog: VecDeque<Id>,
    /// Closed connections that still answer late segments, oldest first.
    lingering: BTreeMap<u64, Id>,
    /// Number of connections closed so far.
    closed: u64,
    half_open: HalfOpen,
    turns: Turns,
    warnings: Warnings,
    refusals: Refusals<SocketAddr>,
    resets: RateLimit,
    /// Replies to peers without a connection: destination, source, bytes.
    replies: VecDeque<(SocketAddr, Option<IpAddr>, Vec<u8>)>,
    events: VecDeque<HubEvent>,
}

/// Functions of the environment that a hub calls.
pub struct Environment {
    /// Source of unpredictable random bytes.
    pub entropy: Entropy,
    /// Returns the MTU of the path to a peer.
    pub path_mtu: PathMtu,
    /// Returns the local address from which the system sends to a peer.
    pub local_address: LocalAddressTo,
}

/// Event of a hub for which an application may wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HubEvent {
    /// A connection is ready to be accepted.
    Incoming,
    /// This connection is established, has data to read or room to write, or has ended.
    Changed(Id),
}

impl Hub {
    /// Creates a hub without connections, for a socket with this port.
    pub fn new(config: &Config, port: u16, environment: Environment) -> Result<Self, Error> {
        let Environment { mut entropy, path_mtu, local_address } = environment;
        let acceptor = protection::acceptor(config, port, &mut entropy);
        let tpa = config.or_tpa.clone().map(Transport::tpa);
        let choices: Vec<_> = [config.transport.clone()].into_iter().chain(tpa).collect();
        Ok(Self {
            pool: pool(&choices, config.channels, &config.limits),
            choices,
            transports: config.transports(),
            channels: config.channels,
            marks: config.marks,
            lifecycle: config.lifecycle,
            initial_ttl: config.initial_ttl,
            limits: config.limits.clone(),
            port,
            listening: false,
            entropy,
            path_mtu,
            local_address,
            acceptor,
            connections: Slots::new(),
            demux: Demux::default(),
            ready: VecDeque::new(),
            due: BTreeSet::new(),
            backlog: VecDeque::new(),
            lingering: BTreeMap::new(),
            closed: 0,
            half_open: HalfOpen::default(),
            turns: Turns::new(config.limits.handshakes),
            warnings: Warnings::default(),
            refusals: Refusals::new(),
            resets: RateLimit::new(MAX_RESETS),
            replies: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    /// Accepts new peers from now on.
    pub fn listen(&mut self) {
        self.listening = true;
    }

    /// Accepts no more connections, and aborts those that no application has accepted.
    pub fn stop_listening(&mut self, now: Instant) {
        self.listening = false;
        for id in core::mem::take(&mut self.backlog) {
            self.abort(id);
            self.release(now, id);
        }
    }

    /// Takes the next established connection that a peer has opened.
    pub fn accept(&mut self) -> Option<Id> {
        let id = self.backlog.pop_front();
        if !self.backlog.is_empty() {
            self.events.push_back(HubEvent::Incoming);
        }
        id
    }

    /// Opens a connection to a listener known by its address. The application must [release](Self::release)
    /// the connection.
    pub fn connect(&mut self, peer: SocketAddr) -> Result<Id, Error> {
        self.connect_as(&peer.to_string(), peer)
    }

    /// Opens a connection to a listener known by this name. The application must [release](Self::release) the
    /// connection.
    pub fn connect_as(&mut self, name: &str, peer: SocketAddr) -> Result<Id, Error> {
        let (end, protection) = self.initiate(name, peer, self.transports.preferred);
        let id = self.insert(HubConnection::outgoing(name, peer, end, protection));
        self.wake(id);
        Ok(id)
    }

    /// Creates the initiating end of a connection with this transport, and its protection.
    fn initiate(
        &mut self,
        name: &str,
        peer: SocketAddr,
        transport: TransportName,
    ) -> (Box<dyn transport::Connection>, Protection) {
        let mut protection = self.acceptor.initiate(name, transport, &mut self.entropy);
        while self.demux.collides(protection.destinations(peer)) {
            protection = self.acceptor.initiate(name, transport, &mut self.entropy);
        }
        let mut end = self.end(peer, &protection, Role::Initiator);
        end.connect();
        (end, protection)
    }

    /// Runs every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, id));
            if let Some(connection) = self.connections.get_mut(id) {
                connection.deadline = None;
                connection.end.handle_timeout(now);
                self.wake(id);
            }
        }
        while let Some(waiting) = self.turns.next(now) {
            self.receive_in_turn(now, waiting.datagram());
        }
    }

    /// The next deadline for [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.due.first().map(|(at, _)| *at), self.turns.deadline())
    }

    /// The next event for the applications.
    pub fn poll_event(&mut self) -> Option<HubEvent> {
        self.events.pop_front()
    }

    /// Queues as much of `data` as fits into the buffer; returns the number of bytes.
    pub fn write(&mut self, now: Instant, id: Id, data: &[u8]) -> Result<usize, Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let grown = usize::try_from(connection.end.buffers().send).unwrap_or(usize::MAX);
        let room = self.limits.send_buffer.max(grown);
        let taken = connection.write(now, data, room)?;
        if taken > 0 {
            self.wake(id);
        }
        Ok(taken)
    }

    /// Copies received data into `into`; `Some(0)` at the end of the stream, `None` if no data has arrived yet.
    pub fn read(&mut self, id: Id, into: &mut [u8]) -> Result<Option<usize>, Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let taken = connection.read(into)?;
        if taken.is_some_and(|n| n > 0) {
            self.wake(id);
        }
        Ok(taken)
    }

    /// Uses the channels of a connection; `None` if its transport has no channels.
    pub fn with_channels<R>(
        &mut self,
        id: Id,
        action: impl FnOnce(&mut dyn Channels) -> R,
    ) -> Result<Option<R>, Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let result = connection.end.channels().map(action);
        self.wake(id);
        Ok(result)
    }

    /// Whether the peer has closed its side, so that no data and no messages follow those that have arrived.
    pub fn is_closed_by_peer(&self, id: Id) -> Result<bool, Error> {
        self.connections.get(id).map_or(Err(Error::Aborted), HubConnection::is_closed_by_peer)
    }

    /// Closes this end's side after all written data. Returns true once the peer has all of it.
    pub fn shutdown(&mut self, now: Instant, id: Id) -> Result<bool, Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let done = connection.shutdown(now)?;
        self.wake(id);
        Ok(done)
    }

    /// Ends a connection at once, with a reset to the peer.
    pub fn abort(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.abort();
            self.wake(id);
        }
    }

    /// Replaces the list of peers that may connect, in the security mode of the socket. Connections to peers
    /// whose key is no longer accepted are aborted; returns their number.
    pub fn set_security(&mut self, config: &Config) -> usize {
        self.acceptor = protection::acceptor(config, self.port, &mut self.entropy);
        let is_revoked = |connection: &HubConnection| {
            connection.protection.peer_key().is_some_and(|key| !config.security.accepts(key))
        };
        let revoked: Vec<Id> = self
            .connections
            .iter_mut()
            .filter_map(|(id, connection)| is_revoked(connection).then_some(id))
            .collect();
        for id in &revoked {
            self.abort(*id);
        }
        revoked.len()
    }

    /// Releases a connection on behalf of the application; it then closes in the background.
    pub fn release(&mut self, now: Instant, id: Id) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.holder = Holder::Released;
            connection.end.close(now);
            self.wake(id);
        }
    }

    /// Whether a connection was established; an error if it never will be.
    pub fn is_connected(&self, id: Id) -> Result<bool, Error> {
        self.connections.get(id).map_or(Err(Error::Aborted), HubConnection::is_connected)
    }

    /// The statistics of a connection.
    pub fn stats(&self, id: Id) -> Option<Stats> {
        let connection = self.connections.get(id)?;
        Some(connection.stats())
    }

    /// The peer of a connection.
    pub fn peer(&self, id: Id) -> Option<SocketAddr> {
        self.connections.get(id).map(HubConnection::peer)
    }

    /// The key that the peer of a connection has proved; `None` without keys.
    pub fn peer_key(&self, id: Id) -> Option<PublicKey> {
        self.connections.get(id).and_then(|connection| connection.protection.peer_key())
    }

    /// Identifier of an encrypted connection, equal at both ends and different for all other connections; `None` for a
    /// plain one.
    pub fn binding(&self, id: Id) -> Option<[u8; 32]> {
        self.connections.get(id).and_then(|connection| connection.protection.binding())
    }

    /// Whether no connection is left and none can be opened by a peer.
    pub fn is_finished(&self) -> bool {
        self.is_empty() && !self.listening
    }

    /// Whether all connections are lingering and released, and no peer can open one.
    pub fn only_lingers(&self) -> bool {
        let held = |id: &Id| {
            self.connections.get(*id).is_some_and(|connection| connection.holder == Holder::Application)
        };
        !self.listening && self.len() == self.lingering.len() && !self.lingering.values().any(held)
    }

    /// Number of connections, lingering ones included.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether the hub has no connection.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of closed connections that only answer late segments.
    pub fn lingering(&self) -> usize {
        self.lingering.len()
    }

    /// Creates this host's end of a connection with the transport that its protection names.
    fn end(
        &mut self,
        peer: SocketAddr,
        protection: &Protection,
        role: Role,
    ) -> Box<dyn transport::Connection> {
        let mut seed = [0; 8];
        (self.entropy)(&mut seed);
        let seed = u64::from_be_bytes(seed);
        let named = self.choices.iter().find(|transport| transport.name == protection.transport());
        let transport = named.unwrap_or(&self.choices[0]);
        let [initiator, listener] = transport.config.ends(&mut FlowSetup {
            channels: self.channels,
            port: self.port,
            sink: false,
            pool: Some(self.pool.clone()),
            bandwidth: BANDWIDTH,
            initial_ttl: self.initial_ttl,
            lifecycle: Some(self.lifecycle),
            hops: &mut || None,
            rng: &|purpose, end| Rng::stream(seed, purpose, end.into()),
        });
        let end = match role {
            Role::Initiator => initiator,
            Role::Listener => listener,
        };
        let mut end = match transport.format() {
            Format::Tpa | Format::Mesh => end,
            Format::Custom => {
                let config = OpenedConfig {
                    lifecycle: self.lifecycle,
                    initial_ttl: self.initial_ttl,
                    capacity: transport.config.receive_buffer(),
                };
                let number = Rng::stream(seed, "connection", 0).below(u32::MAX);
                Box::new(Opened::new(end, config, number))
            }
        };
        let mtu = (self.path_mtu)(peer, None).unwrap_or(USUAL_MTU);
        end.set_mss(mss_of(self.transports, mtu, peer, protection));
        end
    }

    fn insert(&mut self, connection: HubConnection) -> Id {
        let destinations = connection.protection.destinations(connection.peer());
        let id = self.connections.insert(connection);
        self.demux.insert(destinations, id);
        id
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("port", &self.port)
            .field("connections", &self.len())
            .finish_non_exhaustive()
    }
}

/// Total size of one connection's buffers at their usual size, those of its first channels included, bytes.
fn buffers(choices: &[Transport], has_channels: bool, limits: &Limits) -> usize {
    let of = |config: &dyn transport::ConnectionConfig| {
        config.receive_buffer() + config.channel_buffer(has_channels)
    };
    let received = choices.iter().map(|transport| of(&*transport.config)).max();
    limits.send_buffer.saturating_add(received.and_then(|bytes| bytes.try_into().ok()).unwrap_or(usize::MAX))
}

/// Pool of the memory that remains with the largest number of connections.
fn pool(choices: &[Transport], has_channels: bool, limits: &Limits) -> Pool {
    let all = limits.connections.saturating_mul(buffers(choices, has_channels, limits));
    Pool::new(limits.memory.saturating_sub(all) as u64)
}

/// Largest segment size in an IP packet of `mtu` bytes, by the rule of the transport.
fn mss_of(ours: Transports, mtu: u16, peer: SocketAddr, protection: &Protection) -> u16 {
    let (min, ip) = match peer {
        SocketAddr::V4(_) => (MIN_MTU_4, 20),
        SocketAddr::V6(_) => (MIN_MTU_6, 40),
    };
    let uncounted = ours.format_of(protection.transport()).uncounted_header();
    mtu.max(min).saturating_sub(ip + UDP_HEADER + protection.overhead() + uncounted)
}

/// Role of an end in opening a connection: caller or listener.
#[derive(Clone, Copy, Debug)]
enum Role {
    Initiator,
    Listener,
}

/// Bandwidth assumed for the first gap of adaptive pacing, because the bandwidth of a real path is unknown.
const BANDWIDTH: BitRate = BitRate(2_000_000);
/// Largest number of resets per second for connections whose state this host no longer has.
const MAX_RESETS: usize = 1000;
/// MTU of most paths, that of Ethernet.
const USUAL_MTU: u16 = 1500;
const UDP_HEADER: u16 = 8;
/// The smallest path MTU that Linux accepts (`net.ipv4.route.min_pmtu`).
const MIN_MTU_4: u16 = 552;
/// The smallest MTU of an IPv6 link (RFC 8200 section 5).
const MIN_MTU_6: u16 = 1280;
