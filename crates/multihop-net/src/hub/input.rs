//! Input: datagrams for a connection, datagrams from new peers, and reports of failed deliveries.

use std::net::{IpAddr, SocketAddr};

use multihop_core::Instant;
use multihop_transport::tpa;
use multihop_wire::tpa::{MAX_BLOCK, Segment};

use super::connection::{Connection, Holder};
use super::limit::{self, Limit};
use super::{Hub, HubEvent, Id, Role, mss_of};
use crate::config::Limits;
use crate::datagram::{DeliveryFailure, FailureCause, IncomingDatagram};
use crate::error::Error;
use crate::protection::{FirstContact, Freshness, Protection, Unprotected};

impl Hub {
    /// Takes a datagram that has arrived.
    pub fn receive(&mut self, now: Instant, datagram: IncomingDatagram<'_>) {
        match self.acceptor.destination(now, &datagram).and_then(|to| self.demux.get(to)) {
            Some(id) => self.receive_for(now, id, datagram),
            None => self.receive_first_contact(now, datagram),
        }
    }

    fn receive_for(&mut self, now: Instant, id: Id, datagram: IncomingDatagram<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.traffic.datagrams_received += 1;
        connection.traffic.bytes_received += datagram.bytes.len() as u64;
        let ports = (datagram.from.port(), self.port);
        match connection.protection.unprotect(now, &datagram, connection.peer(), ports) {
            Unprotected::Segment(segment, _) if connection.endpoint.gives_way_to(&segment) => {
                return self.receive_first_contact(now, datagram);
            }
            Unprotected::Segment(segment, freshness) => {
                if let Some(freshness) = freshness {
                    connection.paths.on_authentic(now, datagram.from, freshness);
                }
                connection.on_segment(now, datagram.ttl, segment);
            }
            Unprotected::Duplicate => {
                connection.paths.on_authentic(now, datagram.from, Freshness::Duplicate);
            }
            Unprotected::WrongTransport { answer, error } => {
                connection.fail(error);
                let reset = tpa::reset_for(&answer);
                let mut bytes = Vec::new();
                connection.protection.protect(now, &reset, &mut bytes);
                self.reply(datagram.from, datagram.local, bytes);
                self.events.push_back(HubEvent::Changed(id));
            }
            Unprotected::NewCookie => connection.endpoint.connect_again(),
            Unprotected::WrongKey(key) => {
                tracing::info!(from = %datagram.from, %key, "connection refused: the key is not authorised");
                connection.fail(Error::WrongKey(key));
                self.events.push_back(HubEvent::Changed(id));
            }
            Unprotected::Ignored => {}
        }
        // Even a datagram with nothing new may cause an answer.
        self.wake(id);
    }

    fn receive_first_contact(&mut self, now: Instant, datagram: IncomingDatagram<'_>) {
        let ports = (datagram.from.port(), self.port);
        match self.acceptor.first_contact(now, &datagram, ports, self.listening) {
            FirstContact::Ignore => {}
            FirstContact::Reply(bytes) => self.reply(datagram.from, datagram.local, bytes),
            FirstContact::Reset(segment) => self.reset(now, &datagram, &segment),
            FirstContact::AddressProved => self.accept_from(now, datagram, ports),
        }
    }

    fn accept_from(&mut self, now: Instant, datagram: IncomingDatagram<'_>, ports: (u16, u16)) {
        if !self.has_room(now, datagram.from) {
            return;
        }
        match self.acceptor.accept(&datagram, ports, &mut self.entropy) {
            Ok((protection, syn)) => self.open_for(now, protection, syn, datagram),
            Err(Some(bytes)) => self.reply(datagram.from, datagram.local, bytes),
            Err(None) => {}
        }
    }

    /// Whether one more peer can be accepted from there. If not, its datagram is ignored.
    fn has_room(&mut self, now: Instant, from: SocketAddr) -> bool {
        let Limits { connections, backlog, half_open, handshakes, memory, .. } = self.limits;
        let live = self.connections.len() - self.lingering.len();
        let place = limit::place(from);
        let is_here = |c: &Connection| c.holder == Holder::HalfOpen && limit::place(c.peer()) == place;
        let here = || self.connections.count(is_here);
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
        } else if self.handshakes.is_exceeded(now) {
            (Limit::Handshakes, handshakes)
        } else {
            return true;
        };
        self.warnings.warn(now, reached.0, reached.1);
        false
    }

    /// Bytes that the buffers of one connection hold at most: unsent data, unread data, and one block in
    /// flight.
    fn buffers(&self) -> usize {
        let mss = u32::from(self.config.mss);
        let waiting = self.config.recv_buffer.unwrap_or(tpa::Config::DEFAULT_BUFFER * mss);
        let received = waiting.saturating_add(mss * u32::from(MAX_BLOCK));
        self.limits.send_buffer.saturating_add(received as usize)
    }

    fn open_for(
        &mut self,
        now: Instant,
        protection: Protection,
        segment: Segment,
        datagram: IncomingDatagram<'_>,
    ) {
        // Very rare: the initiator retransmits its hello, and another index is drawn.
        if self.demux.collides(protection.destinations(datagram.from)) {
            return;
        }
        for before in protection.destinations(datagram.from).into_iter().flatten() {
            if let Some(before) = self.demux.get(before) {
                self.detach(before);
                self.wake(before);
            }
        }
        let mut endpoint = self.endpoint(datagram.from, &protection, Role::Listener);
        endpoint.listen();
        let mut connection = Connection::incoming(&datagram, endpoint, protection);
        connection.on_segment(now, datagram.ttl, segment);
        self.half_open += 1;
        let id = self.insert(connection);
        self.wake(id);
    }

    fn reset(&mut self, now: Instant, datagram: &IncomingDatagram<'_>, segment: &Segment) {
        if let Some(reset) = self.refusals.answer(now, datagram.from, segment) {
            let mut bytes = Vec::new();
            reset.emit_in_udp(&mut bytes);
            self.reply(datagram.from, datagram.local, bytes);
        }
    }

    pub(super) fn reply(&mut self, to: SocketAddr, source: Option<IpAddr>, bytes: Vec<u8>) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back((to, source, bytes));
        }
    }

    /// A datagram was not delivered. Reports that quote nothing sent recently are ignored.
    pub fn on_delivery_failure(&mut self, now: Instant, failure: &DeliveryFailure<'_>) {
        // The kernel limits such reports, so a search is fast enough.
        let to =
            |connection: &Connection| connection.peer() == failure.to && connection.has_sent(failure.quoted);
        let Some(id) = self.connections.find(to) else { return };
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let FailureCause::TooLong(mtu) = failure.cause {
            // The system has validated the report, and applies its own minimum.
            let mtu = (self.path_mtu)(failure.to).unwrap_or(mtu);
            connection.endpoint.set_mss(mss_of(mtu, failure.to, &connection.protection));
        } else if connection.on_delivery_failure(now, failure) {
            self.events.push_back(HubEvent::Changed(id));
        }
        self.wake(id);
    }
}

/// Queued replies to new peers; further ones are dropped.
const MAX_REPLIES: usize = 256;
