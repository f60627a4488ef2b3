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
use multihop_transport::tpa::{self, Endpoint, Ports, Refusals, State};
use multihop_wire::tpa::{BlockSeq, MAX_BLOCK, Segment};

mod armour;
mod connection;
mod door;
mod limit;
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
use crate::seal::Freshness;
use crate::stats::Stats;
use armour::{Armour, Opened};
use connection::Connection;
use door::{Door, Knock};
use limit::{Limit, Rate, Warnings};
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

    /// Takes what has arrived.
    pub fn receive(&mut self, now: Instant, datagram: Datagram<'_>) {
        match self.door.route(now, &datagram).and_then(|route| self.routes.get(route)) {
            Some(id) => self.receive_for(now, id, datagram),
            None => self.receive_from_stranger(now, datagram),
        }
    }

    fn receive_for(&mut self, now: Instant, id: Id, datagram: Datagram<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.traffic.datagrams_received += 1;
        connection.traffic.bytes_received += datagram.bytes.len() as u64;
        let ports = (datagram.from.port(), self.port);
        match connection.armour.open(now, &datagram, connection.peer(), ports) {
            Opened::Segment(segment, _) if connection.endpoint.gives_way_to(&segment) => {
                return self.receive_from_stranger(now, datagram);
            }
            Opened::Segment(segment, freshness) => {
                if let Some(freshness) = freshness {
                    connection.paths.on_genuine(now, datagram.from, freshness);
                }
                connection.on_segment(now, datagram.ttl, segment);
            }
            Opened::Seen => connection.paths.on_genuine(now, datagram.from, Freshness::Again),
            Opened::Again => connection.endpoint.connect_again(),
            Opened::WrongKey(key) => {
                tracing::info!(from = %datagram.from, %key, "turned away: it is not a key that may connect");
                connection.fail(Error::WrongKey(key));
                self.events.push_back(Event::Changed(id));
            }
            Opened::Nothing => {}
        }
        // There may be an answer even to what was nothing new.
        self.wake(id);
    }

    fn receive_from_stranger(&mut self, now: Instant, datagram: Datagram<'_>) {
        let ports = (datagram.from.port(), self.port);
        let mut knock = self.door.knock(now, &datagram, ports, self.listening);
        if matches!(knock, Knock::Proved) && self.has_room(now, datagram.from) {
            knock = self.door.admit(&datagram, ports, &mut self.entropy);
        }
        match knock {
            Knock::Nothing | Knock::Proved => {}
            Knock::Answer(bytes) => self.answer(datagram.from, datagram.local, bytes),
            Knock::Refuse(segment) => self.refuse(now, &datagram, &segment),
            Knock::Enter(armour, segment) => self.open_for(now, armour, segment, datagram),
        }
    }

    /// Whether one more stranger can come in from there. If not, it is as if it had not been heard.
    fn has_room(&mut self, now: Instant, from: SocketAddr) -> bool {
        let Limits { connections, backlog, half_open, handshakes, memory, .. } = self.limits;
        let live = self.connections.len() - self.lingering.len();
        let place = limit::place(from);
        let here = || self.connections.count(|c| c.is_half_open && limit::place(c.peer()) == place);
        let reached = if live >= connections {
            (Limit::Connections, connections)
        } else if (live + 1).saturating_mul(self.buffers()) > memory {
            (Limit::Memory, memory)
        } else if self.half_open >= half_open {
            (Limit::HalfOpen, half_open)
        } else if self.half_open >= half_open / 2 && here() >= half_open / 2 {
            (Limit::HalfOpenHere, half_open / 2)
        } else if self.backlog.len() >= backlog {
            (Limit::Backlog, backlog)
        } else if self.handshakes.is_spent(now) {
            (Limit::Handshakes, handshakes)
        } else {
            return true;
        };
        self.warnings.warn(now, reached.0, reached.1);
        false
    }

    /// Bytes that the buffers of one connection hold at most: what waits to leave, what waits to be read, and
    /// a block that is under way.
    fn buffers(&self) -> usize {
        let mss = u32::from(self.config.mss);
        let waiting = self.config.recv_buffer.unwrap_or(tpa::Config::DEFAULT_BUFFER * mss);
        let received = waiting.saturating_add(mss * u32::from(MAX_BLOCK));
        self.limits.send_buffer.saturating_add(received as usize)
    }

    fn open_for(&mut self, now: Instant, armour: Armour, segment: Segment, datagram: Datagram<'_>) {
        // Once in millions: the caller calls again, and another index is drawn.
        if self.routes.collide(armour.routes(datagram.from)) {
            return;
        }
        for before in armour.routes(datagram.from).into_iter().flatten() {
            if let Some(before) = self.routes.get(before) {
                self.detach(before);
                self.wake(before);
            }
        }
        let mut endpoint = self.endpoint(datagram.from, &armour);
        endpoint.listen();
        let mut connection = Connection::from(&datagram, endpoint, armour);
        connection.on_segment(now, datagram.ttl, segment);
        self.half_open += 1;
        let id = self.insert(connection);
        self.wake(id);
    }

    fn refuse(&mut self, now: Instant, datagram: &Datagram<'_>, segment: &Segment) {
        if let Some(reset) = self.refusals.answer(now, datagram.from, segment) {
            let mut bytes = Vec::new();
            reset.emit_in_udp(&mut bytes);
            self.answer(datagram.from, datagram.local, bytes);
        }
    }

    fn answer(&mut self, to: SocketAddr, source: Option<IpAddr>, bytes: Vec<u8>) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back((to, source, bytes));
        }
    }

    /// A datagram did not get through. What quotes nothing that was sent of late is ignored.
    pub fn fail(&mut self, now: Instant, failure: &Failure<'_>) {
        // The kernel tells of few, so that they need no table of their own.
        let to =
            |connection: &Connection| connection.peer() == failure.to && connection.has_sent(failure.quoted);
        let Some(id) = self.connections.find(to) else { return };
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Cause::TooLong(mtu) = failure.cause {
            // The system has checked it, and knows a least length.
            let mtu = (self.path_mtu)(failure.to).unwrap_or(mtu);
            connection.endpoint.set_mss(mss_of(mtu, failure.to, &connection.armour));
        } else if connection.on_failure(now, failure) {
            self.events.push_back(Event::Changed(id));
        }
        self.wake(id);
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

    /// Appends the next datagram that is to leave to `out`.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        let start = out.len();
        if let Some((to, source, bytes)) = self.answers.pop_front() {
            out.extend_from_slice(&bytes);
            return Some(Transmit { to, source, len: bytes.len() });
        }
        while let Some(&id) = self.ready.front() {
            let Some(connection) = self.connections.get_mut(id) else {
                self.ready.pop_front();
                continue;
            };
            if let Some(bytes) = connection.armour.pop_pending() {
                out.extend_from_slice(&bytes);
                return Some(self.sent(id, None, &out[start..]));
            }
            match connection.endpoint.poll_output(now) {
                Some(tpa::Output::Segment(segment)) => {
                    if connection.is_declined(&segment) {
                        self.events.push_back(Event::Changed(id));
                        continue;
                    }
                    connection.armour.seal(now, &segment, out);
                    if out.len() > start {
                        return Some(self.sent(id, Some(&segment), &out[start..]));
                    }
                }
                Some(tpa::Output::Event(event)) => self.on_event(id, event),
                None => {
                    self.ready.pop_front();
                    self.settle(id);
                }
            }
        }
        None
    }

    /// Notes a datagram that leaves.
    fn sent(&mut self, id: Id, segment: Option<&Segment>, bytes: &[u8]) -> Transmit {
        let connection = self.connections.get_mut(id).expect("it has just said so");
        connection.on_sent(segment, bytes);
        let (to, source) = (connection.peer(), connection.source);
        if let Some(other) = connection.paths.take_copy() {
            self.answer(other, source, bytes.to_vec());
        }
        Transmit { to, source, len: bytes.len() }
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

    /// Something may have to leave.
    fn wake(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(id)
            && !connection.is_ready
        {
            connection.is_ready = true;
            self.ready.push_back(id);
        }
    }

    fn on_event(&mut self, id: Id, event: tpa::Event) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.on_event(event);
        if event == tpa::Event::Connected && std::mem::take(&mut connection.is_half_open) {
            self.half_open -= 1;
            connection.is_held = true;
            self.backlog.push_back(id);
            self.events.push_back(Event::Incoming);
        }
        self.events.push_back(Event::Changed(id));
    }

    /// Nothing more leaves now: when to come back, and whether it is over.
    fn settle(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.is_ready = false;
        connection.settle();
        let deadline = connection.endpoint.poll_timeout();
        let old = std::mem::replace(&mut connection.deadline, deadline);
        if deadline != old {
            if let Some(at) = old {
                self.due.remove(&(at, id));
            }
            if let Some(at) = deadline {
                self.due.insert((at, id));
            }
        }
        if connection.has_just_shut() {
            self.events.push_back(Event::Changed(id));
        }
        match connection.endpoint.state() {
            State::Linger if connection.closed.is_none() => {
                connection.closed = Some(self.closed);
                self.lingering.insert(self.closed, id);
                self.closed += 1;
                self.bound_lingering();
            }
            // A stranger whose SYN was not to our liking, or who has taken it back.
            State::Listen | State::Closed => self.on_gone(id),
            _ => {}
        }
    }

    fn bound_lingering(&mut self) {
        if self.lingering.len() > self.limits.lingering
            && let Some((_, &oldest)) = self.lingering.first_key_value()
            && let Some(connection) = self.connections.get_mut(oldest)
        {
            connection.endpoint.abort();
            self.wake(oldest);
        }
    }

    /// The endpoint has closed. What waits to be read stays until the application is done with it.
    fn on_gone(&mut self, id: Id) {
        self.detach(id);
        if let Some(connection) = self.connections.get_mut(id)
            && !connection.is_held
        {
            self.half_open -= usize::from(connection.is_half_open);
            self.connections.remove(id);
        }
    }

    /// What the peer sends is no longer for this connection.
    fn detach(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.endpoint.abort();
        if let Some(number) = connection.closed {
            self.lingering.remove(&number);
        }
        self.routes.remove(connection.armour.routes(connection.peer()), id);
        if let Some(at) = connection.deadline.take() {
            self.due.remove(&(at, id));
        }
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
/// Answers to strangers that wait to leave; what is beyond them is not answered.
const MAX_ANSWERS: usize = 256;
