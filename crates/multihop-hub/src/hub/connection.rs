//! One connection of a hub: its endpoint, its owner, and how it ended.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use core::mem;
use core::net::{IpAddr, SocketAddr};

use multihop_core::{Duration, Instant, Notice};
use multihop_transport::connection::{self as transport, Data, Event, Segment, State};

use super::local::LocalAddress;
use super::paths::Paths;
use super::recent::RecentDatagrams;
use super::second::SecondPath;
use crate::datagram::{DeliveryFailure, FailureCause, IncomingDatagram, LocalAddressTo};
use crate::error::Error;
use crate::protection::{Challenge, Freshness, Protection};
use crate::segment::{Kind, is_opening, kind, lost};
use crate::stats::{HubStats, Stats, Traffic};
use crate::transport::TransportName;

#[derive(Debug)]
pub(super) struct HubConnection {
    pub(super) paths: Paths,
    pub(super) end: Box<dyn transport::Connection>,
    /// Name under which this end opened the connection to the listener; empty at the listener.
    pub(super) name: String,
    pub(super) protection: Protection,
    /// The transport of the data; `None` until the peer has chosen.
    transport: Option<TransportName>,
    pub(super) holder: Holder,
    /// Whether the connection is in the hub's list of connections that may have something to send.
    pub(super) is_ready: bool,
    /// The deadline of the endpoint.
    pub(super) deadline: Option<Instant>,
    /// Number of the connection among lingering connections.
    pub(super) lingering: Option<u64>,
    /// The local address to which the peer sent; answers must have it as source.
    pub(super) source: Option<IpAddr>,
    /// The local address of a second path that the application has requested; `None` once the path is open.
    pub(super) wanted: Option<IpAddr>,
    pub(super) second: Option<SecondPath>,
    /// Tracks the local address that the system chooses, used if `source` is not set.
    local: LocalAddress,
    /// Number of links between this host and the peer.
    pub(super) hops: Option<u8>,
    recent: RecentDatagrams,
    pub(super) traffic: Traffic,
    life: Life,
    sending: Sending,
    /// Whether the peer has closed its side, so that no data follows the unread data.
    peer_closed: bool,
    /// First report that the peer's port is closed, if no datagram has arrived from the peer since.
    port_closed: Option<PortClosed>,
}

/// Holder of a connection: the hub, or an application.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Holder {
    /// No owner yet: a peer opened the connection and has not completed the handshake. The number is the key
    /// in the table of half-open connections.
    HalfOpen(u64),
    /// An application owns the connection, or the backlog from which one will accept it.
    Application,
    /// The connection has no owner and closes in the background.
    Released,
}

/// Stage of a connection's life, from the handshake to the end.
#[derive(Clone, Copy, Debug)]
enum Life {
    /// The handshake is in progress. `unreachable`: a report stated that there is no route to the peer.
    Opening {
        unreachable: bool,
    },
    Open,
    /// The peer has all data of this end and has closed its side. Only its last ACK is missing, and the peer
    /// may be gone.
    LastAck,
    /// The connection was aborted or reset, or has timed out.
    Failed {
        error: Error,
        was_open: bool,
    },
}

/// State of the sending side of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sending {
    Open,
    /// The application has closed the connection; the peer may not have all data yet.
    Closing,
    /// The peer has all data, and the application has been notified.
    Closed,
}

#[derive(Clone, Copy, Debug)]
struct PortClosed {
    since: Instant,
    /// Number of unanswered datagrams sent since the report.
    unanswered: u32,
}

impl HubConnection {
    /// A connection that an application opens.
    pub(super) fn outgoing(
        name: &str,
        peer: SocketAddr,
        end: Box<dyn transport::Connection>,
        protection: Protection,
    ) -> Self {
        Self {
            transport: None,
            paths: Paths::new(peer),
            name: name.to_owned(),
            end,
            protection,
            holder: Holder::Application,
            is_ready: false,
            deadline: None,
            lingering: None,
            source: None,
            wanted: None,
            second: None,
            local: LocalAddress::default(),
            hops: None,
            recent: RecentDatagrams::default(),
            traffic: Traffic::default(),
            life: Life::Opening { unreachable: false },
            sending: Sending::Open,
            peer_closed: false,
            port_closed: None,
        }
    }

    /// A connection that the peer opens with `datagram`.
    pub(super) fn incoming(
        datagram: &IncomingDatagram<'_>,
        end: Box<dyn transport::Connection>,
        protection: Protection,
    ) -> Self {
        Self {
            transport: Some(protection.transport()),
            holder: Holder::Released,
            source: datagram.local,
            ..Self::outgoing("", datagram.from, end, protection)
        }
    }

    /// Sets the transport that the peer uses.
    pub(super) fn agree_on(&mut self, name: TransportName) {
        self.transport = Some(name);
    }

    /// Opens the connection once more, by another transport.
    pub(super) fn reopen(&mut self, end: Box<dyn transport::Connection>, protection: Protection) {
        let earlier = mem::replace(&mut self.protection, protection);
        self.protection.take_cookie(&earlier);
        self.end = end;
    }

    /// Handles the arrival of an authentic datagram. Once it is certain whether the peer has moved, later
    /// datagrams use another connection index, because the other address may have seen the current one.
    pub(super) fn on_authentic(
        &mut self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        freshness: Freshness,
    ) {
        if freshness == Freshness::Newest {
            self.port_closed = None;
        }
        if self.protection.is_on_second() {
            let second = self.second.get_or_insert_with(|| SecondPath::of(datagram));
            second.paths.on_authentic(now, datagram.from, datagram.bytes.len(), freshness);
        } else if self.paths.on_authentic(now, datagram.from, datagram.bytes.len(), freshness) {
            self.protection.use_spare_index();
        }
    }

    /// Handles the peer's response to a challenge, sent from this address.
    pub(super) fn on_response(&mut self, from: SocketAddr, number: &Challenge) {
        match &mut self.second {
            Some(second) if self.protection.is_on_second() => second.paths.on_response(from, number),
            _ => self.paths.on_response(from, number),
        }
    }

    /// The peer's address on the path of the newest authentic datagram.
    pub(super) fn peer_there(&self) -> SocketAddr {
        match &self.second {
            Some(second) if self.protection.is_on_second() => second.paths.current(),
            _ => self.peer(),
        }
    }

    /// Whether a datagram of this length may leave on a path. The second path must have been validated;
    /// before that, at most three times the bytes received over it may be sent.
    pub(super) fn may_send(&mut self, on_second: bool, len: usize) -> bool {
        match &mut self.second {
            Some(second) if on_second => second.paths.may_send(len),
            None if on_second => false,
            _ => true,
        }
    }

    /// Whether datagrams to this address may belong to the connection.
    pub(super) fn sends_to(&self, address: SocketAddr) -> bool {
        self.peer() == address || self.second.as_ref().is_some_and(|second| second.paths.current() == address)
    }

    /// Switches to another connection index if the local address has changed.
    pub(super) fn follow_local_address(&mut self, now: Instant, local_address: &mut LocalAddressTo) {
        let peer = self.paths.current();
        if self.source.is_none() && self.local.has_changed(now, || local_address(peer)) {
            self.protection.use_spare_index();
        }
    }

    /// Statistics of the connection since it began.
    pub(super) fn stats(&self) -> Stats {
        let hub = HubStats {
            transport: self.transport.unwrap_or_else(|| self.protection.transport()),
            traffic: self.traffic,
            hops: self.hops,
            key_changes: self.protection.key_changes(),
        };
        Stats::of(&*self.end, hub)
    }

    pub(super) fn on_segment(&mut self, now: Instant, ttl: Option<u8>, segment: Segment) {
        self.port_closed = None;
        self.end.receive(now, segment, None);
        self.measure_path(now, ttl);
    }

    /// Whether a segment opens a new connection in place of this one, which is lingering.
    pub(super) fn gives_way_to(&self, segment: &Segment) -> bool {
        let is_tpa = self.protection.transport() == TransportName::TPA;
        if matches!(segment, Segment::Tpa(_)) == is_tpa {
            return self.end.gives_way_to(segment);
        }
        kind(segment) == Kind::Syn && self.end.state() == State::Linger
    }

    /// Computes the hop count from the TTL of a received datagram and the peer's initial TTL, which its SYN
    /// contains.
    fn measure_path(&mut self, now: Instant, ttl: Option<u8>) {
        let hops = ttl.and_then(|ttl| {
            let routers = self.end.peer_ttl()?.checked_sub(ttl)?;
            routers.checked_add(1)
        });
        if let Some(hops) = hops
            && self.hops != Some(hops)
        {
            self.hops = Some(hops);
            self.end.notice(now, Notice::PathInfo { hops });
        }
    }

    /// Records a datagram that is sent.
    pub(super) fn on_sent(&mut self, port: u16, segment: Option<&Segment>, datagram: &[u8]) {
        self.traffic.datagrams_sent += 1;
        self.traffic.bytes_sent += datagram.len() as u64;
        let ports = (port, self.peer().port());
        self.recent.push(segment.and_then(|segment| lost(segment, ports)), datagram);
        if let Some(closed) = &mut self.port_closed {
            closed.unanswered = closed.unanswered.saturating_add(1);
        }
    }

    /// Handles a report that a datagram was not delivered; returns whether that ends the connection.
    pub(super) fn on_delivery_failure(&mut self, now: Instant, failure: &DeliveryFailure<'_>) -> bool {
        self.traffic.notices += 1;
        let closed = failure.cause == FailureCause::PortClosed;
        if self.end.state() == State::SynSent {
            return self.on_syn_failure(closed);
        }
        if let Some(Some(lost)) = self.recent.find(failure.quoted) {
            self.end.notice(now, Notice::LinkFailed(lost));
        }
        self.update_life();
        closed && (self.abort_last_ack() || self.is_peer_gone(now))
    }

    fn on_syn_failure(&mut self, port_closed: bool) -> bool {
        if port_closed {
            self.fail(Error::Refused);
        } else if let Life::Opening { unreachable } = &mut self.life {
            *unreachable = true;
        }
        port_closed
    }

    fn abort_last_ack(&mut self) -> bool {
        let is_last_ack = matches!(self.life, Life::LastAck);
        if is_last_ack {
            self.end.abort();
        }
        is_last_ack
    }

    /// Whether reports prove that the peer is gone. Reports can be forged, but a live peer answers: reports
    /// must continue while nothing is received.
    fn is_peer_gone(&mut self, now: Instant) -> bool {
        let closed = *self.port_closed.get_or_insert(PortClosed { since: now, unanswered: 0 });
        let is_gone =
            now.saturating_since(closed.since) >= PEER_GONE && closed.unanswered >= PEER_GONE_DATAGRAMS;
        if is_gone {
            self.fail(Error::Reset);
        }
        is_gone
    }

    /// Whether a datagram that starts with these bytes was sent recently.
    pub(super) fn has_sent(&self, start: &[u8]) -> bool {
        self.recent.find(start).is_some()
    }

    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => self.on_connected(),
            Event::PeerClosed => self.peer_closed = true,
            Event::Reset => self.on_lost(|connection| connection.reset_error()),
            Event::TimedOut => self.on_lost(|connection| match connection.life {
                Life::Opening { unreachable: true } => Error::Unreachable,
                _ => Error::TimedOut,
            }),
            Event::Delivered(_) | Event::Acked(_) | Event::Channels | Event::Closed => {}
        }
    }

    fn on_connected(&mut self) {
        match &mut self.life {
            Life::Failed { was_open, .. } => *was_open = true,
            life => *life = Life::Open,
        }
    }

    /// Ends the connection because the endpoint has lost its peer.
    fn on_lost(&mut self, error: impl FnOnce(&Self) -> Error) {
        if !matches!(self.life, Life::LastAck) {
            self.life = Life::Failed { error: error(self), was_open: self.was_open() };
        }
    }

    fn reset_error(&self) -> Error {
        if self.was_open() { Error::Reset } else { Error::NotPlain }
    }

    /// Current address of the peer.
    pub(super) const fn peer(&self) -> SocketAddr {
        self.paths.current()
    }

    /// Ends the connection for this reason.
    pub(super) fn fail(&mut self, error: Error) {
        self.end.abort();
        if !matches!(self.life, Life::Failed { .. }) {
            self.life = Life::Failed { error, was_open: self.was_open() };
        }
    }

    /// Ends the connection because the peer has proved that it no longer has the connection's state.
    pub(super) fn on_forgotten(&mut self) {
        self.on_lost(|_| Error::Reset);
        self.end.abort();
    }

    /// Ends the connection if the listener has refused it, and returns whether it has. Called before `segment` is sent, a
    /// retransmitted SYN.
    pub(super) fn fail_if_refused(&mut self, segment: &Segment) -> bool {
        let refusal = self.protection.refusal().filter(|_| is_opening(segment));
        if let Some(error) = refusal {
            self.fail(error);
        }
        refusal.is_some()
    }

    /// Whether the connection has been established; its error if it failed before.
    pub(super) fn is_connected(&self) -> Result<bool, Error> {
        match self.life {
            Life::Failed { error, was_open: false } => Err(error),
            _ => Ok(self.was_open()),
        }
    }

    /// Queues at most `room` bytes of `data` to send; returns the number of queued bytes.
    pub(super) fn write(&mut self, now: Instant, data: &[u8], room: usize) -> Result<usize, Error> {
        self.check()?;
        if self.sending != Sending::Open {
            return Err(Error::Closed);
        }
        // The transport that will take the data is not chosen yet.
        if self.transport.is_none() {
            return Ok(0);
        }
        let waiting = usize::try_from(self.end.unacked()).unwrap_or(usize::MAX);
        let len = data.len().min(room.saturating_sub(waiting));
        if len > 0 {
            self.end.send(now, Data::Bytes(data[..len].to_vec())).map_err(|_| Error::Closed)?;
            self.traffic.bytes_written += len as u64;
        }
        Ok(len)
    }

    /// Moves received data into the start of `into`; `None` if nothing has arrived yet, 0 at the end of the stream.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Error> {
        if self.end.unread() > 0 {
            let taken = self.end.read_into(into);
            self.traffic.bytes_read += taken as u64;
            return Ok(Some(taken));
        }
        Ok(self.is_closed_by_peer()?.then_some(0))
    }

    /// Whether the peer has closed its side; its error if the connection has failed before.
    pub(super) fn is_closed_by_peer(&self) -> Result<bool, Error> {
        if self.peer_closed {
            return Ok(true);
        }
        self.check().map(|()| false)
    }

    /// Closes the sending side, and returns whether the peer has acknowledged all data.
    pub(super) fn shutdown(&mut self, now: Instant) -> Result<bool, Error> {
        self.check()?;
        if self.sending == Sending::Open {
            self.sending = Sending::Closing;
        }
        self.end.shutdown(now);
        Ok(self.peer_has_all())
    }

    /// Updates the stage of the connection when the endpoint enters or leaves LAST-ACK.
    pub(super) fn update_life(&mut self) {
        if let Life::Open | Life::LastAck = self.life {
            let is_last_ack = self.end.state() == State::LastAck && self.end.unacked() == 0;
            self.life = if is_last_ack { Life::LastAck } else { Life::Open };
        }
    }

    /// Returns true once, when the peer has acknowledged all data and the FIN of this end.
    pub(super) fn has_just_closed(&mut self) -> bool {
        let has_just_closed = self.sending == Sending::Closing && self.peer_has_all();
        if has_just_closed {
            self.sending = Sending::Closed;
        }
        has_just_closed
    }

    fn peer_has_all(&self) -> bool {
        matches!(self.end.state(), State::HalfClosed | State::Linger | State::Closed)
    }

    /// Ends the connection at once, with a reset to the peer.
    pub(super) fn abort(&mut self) {
        self.fail(Error::Aborted);
    }

    fn check(&self) -> Result<(), Error> {
        match self.life {
            Life::Failed { error, .. } => Err(error),
            _ => Ok(()),
        }
    }

    fn was_open(&self) -> bool {
        match self.life {
            Life::Opening { .. } => false,
            Life::Open | Life::LastAck => true,
            Life::Failed { was_open, .. } => was_open,
        }
    }
}

/// Time for which port-unreachable errors must continue until the peer counts as gone.
const PEER_GONE: Duration = Duration::from_secs(3);
/// Smallest number of unanswered datagrams with which reports prove that the peer is gone.
const PEER_GONE_DATAGRAMS: u32 = 3;
