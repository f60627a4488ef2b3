//! Many connections on one socket, without the socket.
//!
//! A driver passes in datagrams ([`Hub::receive`]) and time ([`Hub::handle_timeout`]). After either, and
//! after every call of an application, it drains [`Hub::poll_transmit`] and [`Hub::poll_event`], then asks
//! [`Hub::poll_timeout`] when to come back. The hub has no clock, no socket and no randomness of its own.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

use multihop_core::{BitRate, Instant, Rng, earliest};
use multihop_transport::Pool;
use multihop_transport::connection::{self as transport, FlowSetup, Opened, OpenedConfig};
use multihop_transport::refusals::Refusals;
use multihop_transport::tpa::{self, Ports};
use multihop_wire::tpa::{BlockSeq, MAX_BLOCK};

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
use crate::transport::{CustomTransport, TransportName, Transports};
use connection::{Holder, HubConnection};
use demux::Demux;
use half_open::HalfOpen;
use limit::{RateLimit, Warnings};
use slots::Slots;
use turns::Turns;

/// Many connections on one socket.
pub struct Hub {
    config: tpa::Config,
    custom: Option<CustomTransport>,
    transports: Transports,
    limits: Limits,
    /// What the buffers of all connections do not need at their usual size.
    pool: Pool,
    /// The port of the socket.
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
    /// Connections closed so far.
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

/// What a hub needs from its environment.
pub struct Environment {
    /// Randomness.
    pub entropy: Entropy,
    /// MTUs of paths.
    pub path_mtu: PathMtu,
    /// Addresses of this host.
    pub local_address: LocalAddressTo,
}

/// What an application may be waiting for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HubEvent {
    /// A connection is ready to be accepted.
    Incoming,
    /// This connection is established, has data to read or room to write, or has ended.
    Changed(Id),
}

impl Hub {
    /// A hub without connections, for a socket with this port.
    pub fn new(config: &Config, port: u16, environment: Environment) -> Result<Self, Error> {
        let Environment { mut entropy, path_mtu, local_address } = environment;
        let acceptor = protection::acceptor(config, port, &mut entropy);
        let mut transport = config.transport.clone();
        transport.mss = transport.mss.saturating_sub(acceptor.overhead());
        // The driver tells of this host's routes.
        transport.probe_restored = true;
        Ok(Self {
            pool: pool(&transport, &config.limits),
            config: transport,
            custom: config.custom.clone(),
            transports: config.transports(),
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

    /// Lets new peers connect from now on.
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

    /// The next established connection.
    pub fn accept(&mut self) -> Option<Id> {
        let id = self.backlog.pop_front();
        if !self.backlog.is_empty() {
            self.events.push_back(HubEvent::Incoming);
        }
        id
    }

    /// Opens a connection to a listener that is known by its address. The application must
    /// [release](Self::release) it.
    pub fn connect(&mut self, peer: SocketAddr) -> Result<Id, Error> {
        self.connect_as(&peer.to_string(), peer)
    }

    /// Opens a connection to a listener that is known by this name. The application must
    /// [release](Self::release) it.
    pub fn connect_as(&mut self, name: &str, peer: SocketAddr) -> Result<Id, Error> {
        let (end, protection) = self.initiate(name, peer, self.transports.preferred);
        let id = self.insert(HubConnection::outgoing(name, peer, end, protection));
        self.wake(id);
        Ok(id)
    }

    /// An end that opens a connection of this transport, and its protection.
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

    /// Closes our side after everything written. True when the peer has all of it.
    pub fn shutdown(&mut self, now: Instant, id: Id) -> Result<bool, Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let done = connection.shutdown(now)?;
        self.wake(id);
        Ok(done)
    }

    /// Ends a connection now, with a reset to the peer.
    pub fn abort(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.abort();
            self.wake(id);
        }
    }

    /// Replaces who may connect, with the security mode that the socket has. Connections to peers whose key is no longer accepted
    /// are aborted; returns how many there were.
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

    /// The application releases a connection, which then closes in the background.
    pub fn release(&mut self, now: Instant, id: Id) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.holder = Holder::Released;
            connection.end.close(now);
            self.wake(id);
        }
    }

    /// Whether a connection was established; the error if it never will be.
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

    /// What distinguishes an encrypted connection from all others; the same at both ends.
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

    /// Connections, lingering ones included.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Connections that are closed and only answer late segments.
    pub fn lingering(&self) -> usize {
        self.lingering.len()
    }

    /// This host's end of a connection of the transport that its protection names.
    fn end(
        &mut self,
        peer: SocketAddr,
        protection: &Protection,
        role: Role,
    ) -> Box<dyn transport::Connection> {
        let custom = self.custom.clone().filter(|custom| custom.name == protection.transport());
        // TPA has a setting for paths of which the MTU is not known.
        let (mut end, usual_mtu) = match custom {
            None => (self.tpa_end(peer), None),
            Some(custom) => (self.custom_end(&custom, role), Some(USUAL_MTU)),
        };
        if let Some(mtu) = (self.path_mtu)(peer).or(usual_mtu) {
            end.set_mss(mss_of(self.transports, mtu, peer, protection));
        }
        end
    }

    fn tpa_end(&mut self, peer: SocketAddr) -> Box<dyn transport::Connection> {
        let mut iss = [0; 2];
        (self.entropy)(&mut iss);
        let ports = Ports { local: self.port, remote: peer.port() };
        Box::new(tpa::TpaEnd::new(self.config.clone(), ports, BlockSeq(u16::from_be_bytes(iss))))
    }

    fn custom_end(&mut self, custom: &CustomTransport, role: Role) -> Box<dyn transport::Connection> {
        let mut seed = [0; 8];
        (self.entropy)(&mut seed);
        let seed = u64::from_be_bytes(seed);
        let [initiator, listener] = custom.config.ends(&mut FlowSetup {
            port: self.port,
            sink: false,
            pool: Some(self.pool.clone()),
            bandwidth: BANDWIDTH,
            initial_ttl: self.config.initial_ttl,
            lifecycle: Some(self.config.lifecycle()),
            hops: &mut || None,
            rng: &|purpose, end| Rng::stream(seed, purpose, end.into()),
        });
        let end = match role {
            Role::Initiator => initiator,
            Role::Listener => listener,
        };
        match custom.format() {
            Format::Tpa | Format::Mesh => end,
            Format::Custom => {
                let config = OpenedConfig {
                    lifecycle: self.config.lifecycle(),
                    initial_ttl: self.config.initial_ttl,
                    capacity: receive_buffer(&self.config).into(),
                };
                let number = Rng::stream(seed, "connection", 0).below(u32::MAX);
                Box::new(Opened::new(end, config, number))
            }
        }
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

/// Bytes that the buffers of one connection hold at their usual size: unsent data, unread data, and one block in flight.
fn buffers(transport: &tpa::Config, limits: &Limits) -> usize {
    let mss = u32::from(transport.mss);
    let received = receive_buffer(transport).saturating_add(mss * u32::from(MAX_BLOCK));
    limits.send_buffer.saturating_add(received as usize)
}

/// Bytes of one connection that may wait to be read.
fn receive_buffer(transport: &tpa::Config) -> u32 {
    transport.recv_buffer.unwrap_or(tpa::Config::DEFAULT_BUFFER * u32::from(transport.mss))
}

/// What is left of the memory if there are as many connections as possible.
fn pool(transport: &tpa::Config, limits: &Limits) -> Pool {
    let all = limits.connections.saturating_mul(buffers(transport, limits));
    Pool::new(limits.memory.saturating_sub(all) as u64)
}

/// The longest segment in an IP packet of this length, as its end counts it.
fn mss_of(ours: Transports, mtu: u16, peer: SocketAddr, protection: &Protection) -> u16 {
    let (min, ip) = match peer {
        SocketAddr::V4(_) => (MIN_MTU_4, 20),
        SocketAddr::V6(_) => (MIN_MTU_6, 40),
    };
    let uncounted = ours.format_of(protection.transport()).uncounted_header();
    mtu.max(min).saturating_sub(ip + UDP_HEADER + protection.overhead() + uncounted)
}

/// Who opens a connection.
#[derive(Clone, Copy, Debug)]
enum Role {
    Initiator,
    Listener,
}

/// The default of TPA's pacing, because the bandwidth of a real path is unknown.
const BANDWIDTH: BitRate = BitRate(2_000_000);
/// Resets per second of connections that this host has forgotten.
const MAX_RESETS: usize = 1000;
/// The MTU of most paths: that of Ethernet.
const USUAL_MTU: u16 = 1500;
const UDP_HEADER: u16 = 8;
/// The smallest path MTU that Linux accepts (`net.ipv4.route.min_pmtu`).
const MIN_MTU_4: u16 = 552;
/// The smallest MTU of an IPv6 link (RFC 8200 section 5).
const MIN_MTU_6: u16 = 1280;
