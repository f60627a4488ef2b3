//! Many connections on one socket, without the socket.
//!
//! A driver hands in what arrives ([`Hub::receive`]) and the time ([`Hub::handle_timeout`]); after
//! either, and after every call of an application, it takes [`Hub::poll_transmit`] until that is
//! empty, then [`Hub::poll_event`], then asks [`Hub::poll_timeout`] when to come back. No clock, no
//! socket; randomness is handed in.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use multihop_core::{Instant, Machine};
use multihop_transport::tpa::{self, Endpoint, Ports, Refusals};
use multihop_wire::tpa::BlockSeq;

mod armour;
mod connection;
mod door;
mod input;
mod limit;
mod output;
mod paths;
mod plain;
mod recent;
mod routes;
mod sealed;
mod slots;

pub use slots::Id;

use crate::config::{Config, Limits};
use crate::error::Error;
use crate::keys::PublicKey;
use crate::stats::Stats;
use armour::Armour;
use connection::Connection;
use door::Door;
use limit::{Rate, Warnings};
use routes::Routes;
use slots::Slots;

/// Many connections on one socket.
pub struct Hub {
    config: tpa::Config,
    limits: Limits,
    /// The port of the socket.
    port: u16,
    /// Whether strangers may connect.
    listening: bool,
    entropy: Entropy,
    path_mtu: PathMtu,
    door: Door,
    connections: Slots<Connection>,
    routes: Routes,
    /// Connections that may have something to send, each at most once.
    ready: VecDeque<Id>,
    /// When to come back to which connection.
    due: BTreeSet<(Instant, Id)>,
    /// Established, and not accepted yet.
    backlog: VecDeque<Id>,
    /// Closed, in the order in which they were.
    lingering: BTreeMap<u64, Id>,
    /// How many have been closed.
    closed: u64,
    half_open: usize,
    handshakes: Rate,
    warnings: Warnings,
    refusals: Refusals<SocketAddr>,
    /// Answers to strangers.
    answers: VecDeque<(SocketAddr, Option<IpAddr>, Vec<u8>)>,
    events: VecDeque<Event>,
}

/// What a hub asks of the world.
pub struct Outside {
    /// Random numbers.
    pub entropy: Entropy,
    /// Lengths of paths.
    pub path_mtu: PathMtu,
}

/// Fills a slice with random bytes that nobody can guess.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// The longest IP packet that the path to a peer takes whole; `None` if nothing is known.
pub type PathMtu = Box<dyn FnMut(SocketAddr) -> Option<u16> + Send>;

/// What has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Who sent it, by its own account.
    pub from: SocketAddr,
    /// The address that it was sent to, if the system says.
    pub local: Option<IpAddr>,
    /// The TTL or hop limit that it had left, if the system says.
    pub ttl: Option<u8>,
    /// What was in it.
    pub bytes: &'a [u8],
}

/// What is to leave; its bytes have been appended to the buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// The address that it should leave from, if that matters.
    pub source: Option<IpAddr>,
    /// How many bytes.
    pub len: usize,
}

/// A datagram of ours that did not get through, as a router, the peer's host or our own system says.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// Where it was going.
    pub to: SocketAddr,
    /// Who says so; `None` for our own system.
    pub router: Option<IpAddr>,
    /// What went wrong.
    pub cause: Cause,
    /// How the datagram began, as far as it is quoted.
    pub quoted: &'a [u8],
}

/// Why a datagram did not get through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cause {
    /// Somebody on the way, or this host, has no route to the peer.
    Unreachable,
    /// The peer's host has nobody at this port.
    PortClosed,
    /// It is longer than a link on the way takes, which takes IP packets of so many bytes.
    TooLong(u16),
}

/// What the application of a connection may have waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A connection waits to be accepted.
    Incoming,
    /// This one is there, or has more to read, or more room to write, or is over.
    Changed(Id),
}

impl Hub {
    /// A hub without connections, for a socket with this port.
    pub fn new(config: &Config, port: u16, outside: Outside) -> Result<Self, Error> {
        let Outside { mut entropy, path_mtu } = outside;
        let door = Door::new(&config.security, &mut entropy);
        let mut transport = config.transport.clone();
        transport.mss = transport.mss.saturating_sub(door.overhead());
        Ok(Self {
            config: transport,
            limits: config.limits.clone(),
            port,
            listening: false,
            entropy,
            path_mtu,
            door,
            connections: Slots::new(),
            routes: Routes::default(),
            ready: VecDeque::new(),
            due: BTreeSet::new(),
            backlog: VecDeque::new(),
            lingering: BTreeMap::new(),
            closed: 0,
            half_open: 0,
            handshakes: Rate::new(config.limits.handshakes),
            warnings: Warnings::default(),
            refusals: Refusals::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    /// From now on strangers may connect.
    pub fn listen(&mut self) {
        self.listening = true;
    }

    /// No more strangers. Those that nobody has accepted are turned away.
    pub fn stop_listening(&mut self) {
        self.listening = false;
        for id in std::mem::take(&mut self.backlog) {
            self.abort(id);
            self.release(id);
        }
    }

    /// The next connection that stands.
    pub fn accept(&mut self) -> Option<Id> {
        let id = self.backlog.pop_front();
        if !self.backlog.is_empty() {
            self.events.push_back(Event::Incoming);
        }
        id
    }

    /// Opens a connection. It must be [released](Self::release) some day.
    pub fn connect(&mut self, peer: SocketAddr) -> Result<Id, Error> {
        let mut armour = self.door.leave(&mut self.entropy);
        while self.routes.collide(armour.routes(peer)) {
            armour = self.door.leave(&mut self.entropy);
        }
        let mut endpoint = self.endpoint(peer, &armour);
        endpoint.connect();
        let id = self.insert(Connection::to(peer, endpoint, armour));
        self.wake(id);
        Ok(id)
    }

    /// Runs every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, id));
            if let Some(connection) = self.connections.get_mut(id) {
                connection.deadline = None;
                connection.endpoint.handle_timeout(now);
                self.wake(id);
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The next thing that an application may have waited for.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes as much of `data` as there is room for; 0 if there is none now.
    pub fn write(&mut self, id: Id, data: &[u8]) -> Result<usize, Error> {
        let room = self.limits.send_buffer;
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let taken = connection.write(data, room)?;
        if taken > 0 {
            self.wake(id);
        }
        Ok(taken)
    }

    /// Copies what has arrived into `into`; `Some(0)` at the end, `None` if there is nothing yet.
    pub fn read(&mut self, id: Id, into: &mut [u8]) -> Result<Option<usize>, Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let taken = connection.read(into)?;
        if taken.is_some_and(|n| n > 0) {
            self.wake(id);
        }
        Ok(taken)
    }

    /// Closes our side once everything written has left. True when the peer has all of it.
    pub fn shutdown(&mut self, id: Id) -> Result<bool, Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Err(Error::Aborted) };
        let done = connection.shutdown()?;
        self.wake(id);
        Ok(done)
    }

    /// Ends a connection now, and tells the peer.
    pub fn abort(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.abort();
            self.wake(id);
        }
    }

    /// The application is done with a connection: it closes in the background.
    pub fn release(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.is_held = false;
            connection.endpoint.close();
            self.wake(id);
        }
    }

    /// Whether a connection stands; the reason, if it never will.
    pub fn is_connected(&self, id: Id) -> Result<bool, Error> {
        self.connections.get(id).map_or(Err(Error::Aborted), Connection::is_connected)
    }

    /// What a connection has seen and done.
    pub fn stats(&self, id: Id) -> Option<Stats> {
        let connection = self.connections.get(id)?;
        Some(Stats::of(&connection.endpoint, connection.traffic, connection.hops))
    }

    /// The peer of a connection.
    pub fn peer(&self, id: Id) -> Option<SocketAddr> {
        self.connections.get(id).map(Connection::peer)
    }

    /// The key that the peer of a connection has proved to have; `None` without keys.
    pub fn peer_key(&self, id: Id) -> Option<PublicKey> {
        self.connections.get(id).and_then(|connection| connection.armour.peer_key())
    }

    /// Whether nobody can need it any more: no connection is left, and none can come.
    pub fn is_finished(&self) -> bool {
        self.is_empty() && !self.listening
    }

    /// Whether there is nothing but closed connections that nobody holds, and no other can come.
    pub fn only_lingers(&self) -> bool {
        let held = |id: &Id| self.connections.get(*id).is_some_and(|connection| connection.is_held);
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

    /// Connections that are closed and only answer what is late.
    pub fn lingering(&self) -> usize {
        self.lingering.len()
    }

    fn endpoint(&mut self, peer: SocketAddr, armour: &Armour) -> Endpoint {
        let mut iss = [0; 2];
        (self.entropy)(&mut iss);
        let ports = Ports { local: self.port, remote: peer.port() };
        let mut endpoint = Endpoint::new(self.config.clone(), ports, BlockSeq(u16::from_be_bytes(iss)));
        if let Some(mtu) = (self.path_mtu)(peer) {
            endpoint.set_mss(mss_of(mtu, peer, armour));
        }
        endpoint
    }

    fn insert(&mut self, connection: Connection) -> Id {
        let routes = connection.armour.routes(connection.peer());
        let id = self.connections.insert(connection);
        self.routes.insert(routes, id);
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

/// The longest data of a segment in an IP packet of this length.
fn mss_of(mtu: u16, peer: SocketAddr, armour: &Armour) -> u16 {
    let (least, ip) = match peer {
        SocketAddr::V4(_) => (LEAST_MTU_4, 20),
        SocketAddr::V6(_) => (LEAST_MTU_6, 40),
    };
    let headers = ip + UDP_HEADER + TPA_HEADER + armour.overhead();
    mtu.max(least).saturating_sub(headers)
}

const UDP_HEADER: u16 = 8;
const TPA_HEADER: u16 = 12;
/// What Linux believes at least (`net.ipv4.route.min_pmtu`).
const LEAST_MTU_4: u16 = 552;
/// What every link takes (RFC 8200 section 5).
const LEAST_MTU_6: u16 = 1280;
