use std::net::{IpAddr, SocketAddr};

use multihop_core::{Duration, Instant, Machine, Notice, Payload};
use multihop_transport::tpa::{Endpoint, Event, Input, State};
use multihop_wire::tpa::{Body, Segment};

use super::armour::Armour;
use super::paths::Paths;
use super::recent::Recent;
use super::{Cause, Datagram, Failure};
use crate::error::Error;
use crate::stats::Traffic;

/// One connection of a hub.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) paths: Paths,
    pub(super) endpoint: Endpoint,
    pub(super) armour: Armour,
    /// Whether an application holds it, or will accept it.
    pub(super) is_held: bool,
    /// Whether the peer has begun it, and not shown that it is where it says.
    pub(super) is_half_open: bool,
    /// Whether it is in the list of those that may have something to send.
    pub(super) is_ready: bool,
    /// When the hub will come back to it.
    pub(super) deadline: Option<Instant>,
    /// Its place among the closed ones.
    pub(super) closed: Option<u64>,
    /// The address that the peer has called, and that answers must come from.
    pub(super) source: Option<IpAddr>,
    /// Links between here and the peer.
    pub(super) hops: Option<u8>,
    recent: Recent,
    pub(super) traffic: Traffic,
    is_connected: bool,
    /// The peer's side is closed: nothing follows what waits to be read.
    is_at_end: bool,
    /// Our side is closed.
    is_shut: bool,
    /// The peer knows, and whoever waits for that has been told.
    is_shut_known: bool,
    /// The peer has all our data and has closed its side: it only has not said that it knows that we have
    /// closed ours, and may be gone.
    is_all_but_over: bool,
    /// Why it is over, if it did not close in order.
    error: Option<Error>,
    /// Since when the peer's host has said that nobody is at its port, with nothing heard of the peer, and how
    /// many datagrams it has had to answer since.
    deserted: Option<(Instant, u32)>,
    /// Whether somebody had no route to the peer when it was called.
    unreachable: bool,
}

impl Connection {
    /// One that an application opens.
    pub(super) fn to(peer: SocketAddr, endpoint: Endpoint, armour: Armour) -> Self {
        Self {
            paths: Paths::new(peer),
            endpoint,
            armour,
            is_held: true,
            is_half_open: false,
            is_ready: false,
            deadline: None,
            closed: None,
            source: None,
            hops: None,
            recent: Recent::default(),
            traffic: Traffic::default(),
            is_connected: false,
            is_at_end: false,
            is_shut: false,
            is_shut_known: false,
            is_all_but_over: false,
            error: None,
            deserted: None,
            unreachable: false,
        }
    }

    /// One that the peer opens.
    pub(super) fn from(datagram: &Datagram<'_>, endpoint: Endpoint, armour: Armour) -> Self {
        let source = datagram.local;
        Self { is_held: false, is_half_open: true, source, ..Self::to(datagram.from, endpoint, armour) }
    }

    pub(super) fn on_segment(&mut self, now: Instant, ttl: Option<u8>, segment: Segment) {
        self.deserted = None;
        self.endpoint.handle(now, Input::Segment(segment));
        self.measure_path(now, ttl);
    }

    /// By how much the TTL has shrunk on the way from the peer, which has said where it starts.
    fn measure_path(&mut self, now: Instant, ttl: Option<u8>) {
        let knows_peer = !matches!(self.endpoint.state(), State::SynSent | State::Listen | State::Closed);
        let hops = ttl.filter(|_| knows_peer).and_then(|ttl| {
            let routers = self.endpoint.peer().initial_ttl.checked_sub(ttl)?;
            routers.checked_add(1)
        });
        if let Some(hops) = hops
            && self.hops != Some(hops)
        {
            self.hops = Some(hops);
            self.endpoint.handle(now, Input::Notice(Notice::PathInfo { hops }));
        }
    }

    /// Notes what has left.
    pub(super) fn on_sent(&mut self, segment: Option<&Segment>, datagram: &[u8]) {
        self.traffic.datagrams_sent += 1;
        self.traffic.bytes_sent += datagram.len() as u64;
        self.recent.push(segment, datagram);
        if let Some((_, unanswered)) = &mut self.deserted {
            *unanswered = unanswered.saturating_add(1);
        }
    }

    /// A datagram did not get through; returns whether that ends the connection.
    pub(super) fn on_failure(&mut self, now: Instant, failure: &Failure<'_>) -> bool {
        self.traffic.notices += 1;
        let closed = failure.cause == Cause::PortClosed;
        if self.endpoint.state() == State::SynSent {
            self.unreachable |= !closed;
            if closed {
                self.fail(Error::Refused);
            }
            return closed;
        }
        if let Some(Some(lost)) = self.recent.find(failure.quoted) {
            self.endpoint.handle(now, Input::Notice(Notice::LinkFailed(lost)));
        }
        self.settle();
        if closed && self.is_all_but_over {
            self.endpoint.abort();
            return true;
        }
        // A peer that is there answers what it gets, whatever somebody says of its port; one that gets
        // nothing is silent.
        let is_gone = closed && {
            let (since, unanswered) = *self.deserted.get_or_insert((now, 0));
            now.saturating_since(since) >= DESERTED && unanswered >= UNANSWERED
        };
        if is_gone {
            self.fail(Error::Reset);
        }
        is_gone
    }

    /// Whether a datagram that began so was sent of late.
    pub(super) fn has_sent(&self, start: &[u8]) -> bool {
        self.recent.find(start).is_some()
    }

    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => self.is_connected = true,
            Event::PeerClosed => self.is_at_end = true,
            // RFC 9293 section 3.10.7.4 on LAST-ACK: nothing is lost by it.
            Event::Reset | Event::TimedOut if self.is_all_but_over => {}
            Event::Reset if self.armour.is_turned_away() => self.error = Some(Error::TurnedAway),
            Event::Reset if self.is_connected => self.error = Some(Error::Reset),
            Event::Reset => self.error = Some(Error::NotPlain),
            Event::TimedOut if self.unreachable => self.error = Some(Error::Unreachable),
            Event::TimedOut => self.error = Some(Error::TimedOut),
            Event::Delivered(_) | Event::Acked(_) | Event::Closed => {}
        }
    }

    /// Where the peer is.
    pub(super) const fn peer(&self) -> SocketAddr {
        self.paths.home()
    }

    /// Ends it for this reason.
    pub(super) fn fail(&mut self, error: Error) {
        self.endpoint.abort();
        self.error.get_or_insert(error);
    }

    /// Whether the listener has said that it will not answer, and has not done so either.
    pub(super) fn is_declined(&mut self, segment: &Segment) -> bool {
        match self.armour.refusal().filter(|_| matches!(segment.body, Body::Syn(_))) {
            Some(reason) => {
                self.fail(Error::Declined(reason));
                true
            }
            None => false,
        }
    }

    /// See [`Hub::is_connected`](super::Hub::is_connected).
    pub(super) fn is_connected(&self) -> Result<bool, Error> {
        match self.error {
            Some(error) if !self.is_connected => Err(error),
            _ => Ok(self.is_connected),
        }
    }

    /// See [`Hub::write`](super::Hub::write).
    pub(super) fn write(&mut self, data: &[u8], room: usize) -> Result<usize, Error> {
        self.check()?;
        if self.is_shut {
            return Err(Error::Closed);
        }
        let waiting = usize::try_from(self.endpoint.unacked()).unwrap_or(usize::MAX);
        let len = data.len().min(room.saturating_sub(waiting));
        if len > 0 {
            self.endpoint.send(Payload::Bytes(data[..len].to_vec())).map_err(|_| Error::Closed)?;
        }
        Ok(len)
    }

    /// See [`Hub::read`](super::Hub::read).
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Error> {
        if self.endpoint.unread() > 0 {
            return Ok(Some(self.endpoint.read_into(into)));
        }
        if self.is_at_end {
            return Ok(Some(0));
        }
        self.check().map(|()| None)
    }

    /// See [`Hub::shutdown`](super::Hub::shutdown).
    pub(super) fn shutdown(&mut self) -> Result<bool, Error> {
        self.check()?;
        self.is_shut = true;
        self.endpoint.shutdown();
        Ok(self.peer_has_all())
    }

    /// Looks where the endpoint has come to.
    pub(super) fn settle(&mut self) {
        self.is_all_but_over = self.endpoint.state() == State::LastAck && self.endpoint.unacked() == 0;
    }

    /// True once when the peer has everything, and knows that nothing follows.
    pub(super) fn has_just_shut(&mut self) -> bool {
        self.is_shut && !self.is_shut_known && {
            self.is_shut_known = self.peer_has_all();
            self.is_shut_known
        }
    }

    fn peer_has_all(&self) -> bool {
        matches!(self.endpoint.state(), State::HalfClosed | State::Linger | State::Closed)
    }

    /// Ends it now.
    pub(super) fn abort(&mut self) {
        self.fail(Error::Aborted);
    }

    fn check(&self) -> Result<(), Error> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Nobody at the peer's port for so long is nobody.
const DESERTED: Duration = Duration::from_secs(3);
/// As long as it has had so many datagrams to answer.
const UNANSWERED: u32 = 3;
