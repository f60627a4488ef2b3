use std::net::SocketAddr;

use multihop_core::{Instant, Machine, Payload};
use multihop_transport::tpa::{Endpoint, Event, Input, State};
use multihop_wire::tpa::{Body, Segment};

use super::armour::Armour;
use crate::error::Error;
use crate::stats::Traffic;

/// One connection of a hub.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
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
    pub(super) hops: Option<u8>,
    pub(super) traffic: Traffic,
    /// Where the peer was before it moved, and how many copies still go there.
    former: Option<(SocketAddr, u8)>,
    is_connected: bool,
    /// The peer's side is closed: nothing follows what waits to be read.
    is_at_end: bool,
    /// Our side is closed.
    is_shut: bool,
    /// The peer knows, and whoever waits for that has been told.
    is_shut_known: bool,
    /// Why it is over, if it did not close in order.
    error: Option<Error>,
}

impl Connection {
    /// One that an application opens.
    pub(super) fn to(peer: SocketAddr, endpoint: Endpoint, armour: Armour) -> Self {
        Self {
            peer,
            endpoint,
            armour,
            is_held: true,
            is_half_open: false,
            is_ready: false,
            deadline: None,
            closed: None,
            hops: None,
            traffic: Traffic::default(),
            former: None,
            is_connected: false,
            is_at_end: false,
            is_shut: false,
            is_shut_known: false,
            error: None,
        }
    }

    /// One that the peer opens.
    pub(super) fn from(peer: SocketAddr, endpoint: Endpoint, armour: Armour) -> Self {
        Self { is_held: false, is_half_open: true, ..Self::to(peer, endpoint, armour) }
    }

    pub(super) fn on_segment(&mut self, now: Instant, _ttl: Option<u8>, segment: Segment) {
        self.endpoint.handle(now, Input::Segment(segment));
    }

    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => self.is_connected = true,
            Event::PeerClosed => self.is_at_end = true,
            Event::Reset if self.is_connected => self.error = Some(Error::Reset),
            Event::Reset => self.error = Some(Error::Refused),
            Event::TimedOut => self.error = Some(Error::TimedOut),
            Event::Delivered(_) | Event::Acked(_) | Event::Closed => {}
        }
    }

    /// A datagram that nobody can have made or kept back has come from here.
    pub(super) fn seen_at(&mut self, from: SocketAddr) {
        self.former = (from != self.peer).then_some((self.peer, COPIES));
        self.peer = from;
    }

    /// Where a copy of what leaves now is to go.
    pub(super) fn take_former(&mut self) -> Option<SocketAddr> {
        let (former, left) = self.former.take()?;
        self.former = left.checked_sub(1).filter(|left| *left > 0).map(|left| (former, left));
        Some(former)
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
            let most = u32::try_from(into.len()).unwrap_or(u32::MAX);
            let Payload::Bytes(bytes) = self.endpoint.read(most) else { return Ok(None) };
            into[..bytes.len()].copy_from_slice(&bytes);
            return Ok(Some(bytes.len()));
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
        self.endpoint.abort();
        self.error.get_or_insert(Error::Aborted);
    }

    fn check(&self) -> Result<(), Error> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Datagrams that also go to where a peer was before it moved: whoever sends a datagram on from elsewhere
/// must not take the connection away.
const COPIES: u8 = 16;
