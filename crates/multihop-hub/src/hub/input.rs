//! Input: datagrams for a connection, datagrams from new peers, and reports of failed deliveries.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use multihop_core::Instant;
use multihop_transport::connection::Segment;

use super::connection::{Holder, HubConnection};
use super::limit::Limit;
use super::paths::CHALLENGE_LEN;
use super::second::is_on_its_path;
use super::{Hub, HubEvent, Id, Role, buffers, mss_of};
use crate::config::Limits;
use crate::datagram::{DeliveryFailure, FailureCause, IncomingDatagram};
use crate::error::Error;
use crate::protection::{
    Destination, FirstContact, Freshness, Path, Protection, Refusal, ResetToken, Unprotected,
};
use crate::transport::TransportName;
use crate::version::VERSION;

impl Hub {
    /// Takes a datagram that has arrived.
    pub fn receive(&mut self, now: Instant, datagram: IncomingDatagram<'_>) {
        if let Some(reset) = self.acceptor.reset_in(&datagram) {
            return self.on_forgotten(datagram.from, reset);
        }
        match self.acceptor.destination(now, &datagram).and_then(|to| self.demux.get(to)) {
            Some(id) => self.receive_for(now, id, datagram),
            None => self.receive_first_contact(now, datagram),
        }
    }

    fn receive_for(&mut self, now: Instant, id: Id, datagram: IncomingDatagram<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let had_second = connection.second.is_some();
        connection.traffic.datagrams_received += 1;
        connection.traffic.bytes_received += datagram.bytes.len() as u64;
        let ports = (datagram.from.port(), self.port);
        match connection.protection.unprotect(now, &datagram, connection.peer(), ports, &mut self.entropy) {
            Unprotected::Segment(segment, _) if connection.gives_way_to(&segment) => {
                return self.receive_first_contact(now, datagram);
            }
            Unprotected::Segment(segment, freshness) => {
                let on_second = connection.protection.is_on_second();
                if !is_on_its_path(&segment, freshness, on_second) {
                    return;
                }
                if let Some(freshness) = freshness {
                    connection.on_authentic(now, &datagram, freshness);
                }
                connection.on_segment(now, datagram.ttl.filter(|_| !on_second), segment);
                if let Some(memory) = connection.end.spare() {
                    connection.protection.reuse(memory);
                }
            }
            Unprotected::Processed(freshness) => connection.on_authentic(now, &datagram, freshness),
            Unprotected::Duplicate => connection.on_authentic(now, &datagram, Freshness::Duplicate),
            Unprotected::Request(number, freshness) => {
                connection.on_authentic(now, &datagram, freshness);
                if datagram.from == connection.peer_there() {
                    self.give_index(now, id, number);
                }
            }
            Unprotected::Challenge(number) => {
                let response = connection.protection.respond(now, &number);
                self.reply_if_any(&datagram, response);
            }
            Unprotected::Response(number, freshness) => {
                connection.on_response(datagram.from, &number);
                connection.on_authentic(now, &datagram, freshness);
            }
            Unprotected::Answer(answer, name) => self.on_answer(now, id, &datagram, answer, name),
            Unprotected::Refused(refusal) => self.on_refused(id, &refusal),
            Unprotected::NewCookie => connection.end.connect_again(),
            Unprotected::Ignored => {}
        }
        let has_second = self.connections.get(id).is_some_and(|connection| connection.second.is_some());
        if has_second && !had_second {
            self.bound_mss(id);
        }
        self.challenge(now, id, datagram.local);
        self.challenge_second(now, id);
        // Even a datagram without new data may cause an answer.
        self.wake(id);
    }

    /// Handles a reset that reports a forgotten connection. The connection ends if the token proves that the
    /// reset comes from the peer.
    fn on_forgotten(&mut self, from: SocketAddr, (index, token): (u32, ResetToken)) {
        let is_meant = |connection: &HubConnection| {
            connection.peer() == from && connection.protection.is_reset_by(index, &token)
        };
        let Some(id) = self.connections.find(is_meant) else { return };
        if let Some(connection) = self.connections.get_mut(id) {
            connection.on_forgotten();
        }
        self.events.push_back(HubEvent::Changed(id));
        self.wake(id);
    }

    /// Handles the peer's answer to the SYN of this end.
    fn on_answer(
        &mut self,
        now: Instant,
        id: Id,
        datagram: &IncomingDatagram<'_>,
        answer: Segment,
        name: TransportName,
    ) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if name == connection.protection.transport() {
            connection.agree_on(name);
            return connection.on_segment(now, datagram.ttl, answer);
        }
        self.on_other_transports(id, &[name]);
    }

    /// Handles the listener's refusal of this end's SYN.
    fn on_refused(&mut self, id: Id, refusal: &Refusal) {
        match refusal {
            Refusal::Transports(theirs) => self.on_other_transports(id, theirs),
            Refusal::Version(theirs) => self.fail(id, Error::OtherVersion { ours: VERSION, theirs: *theirs }),
            Refusal::NotPlain => self.fail(id, Error::NotPlain),
            Refusal::Other => self.fail(id, Error::Refused),
        }
    }

    /// Opens the connection again with the first of the listener's transports that this end has not tried.
    fn on_other_transports(&mut self, id: Id, theirs: &[TransportName]) {
        let Some(connection) = self.connections.get(id) else { return };
        let Some(next) = self.transports.after(connection.protection.transport(), theirs) else {
            let theirs = theirs.first().copied().unwrap_or(TransportName::UNKNOWN);
            return self.fail(id, Error::WrongTransport { ours: self.transports.preferred, theirs });
        };
        let (peer, name) = (connection.peer(), connection.name.clone());
        self.demux.remove(connection.protection.destinations(peer), id);
        let (end, protection) = self.initiate(&name, peer, next);
        self.demux.insert(protection.destinations(peer), id);
        if let Some(connection) = self.connections.get_mut(id) {
            connection.reopen(end, protection);
        }
    }

    fn fail(&mut self, id: Id, error: Error) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.fail(error);
            self.events.push_back(HubEvent::Changed(id));
        }
    }

    /// Answers the peer's request for the connection index after the one with this number.
    fn give_index(&mut self, now: Instant, id: Id, number: u64) {
        let fresh = self.demux.draw_index(&mut self.entropy);
        let Some(connection) = self.connections.get_mut(id) else { return };
        let change = connection.protection.on_request(now, number, fresh);
        self.demux.remove(change.retired.map(Destination::Index), id);
        self.demux.insert(change.added.map(Destination::Index), id);
    }

    /// Sends a challenge to an address from which the peer seems to send.
    fn challenge(&mut self, now: Instant, id: Id, source: Option<IpAddr>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let mut random = || {
            let mut number = [0; 8];
            (self.entropy)(&mut number);
            number
        };
        let Some((to, number)) = connection.paths.take_challenge(now, &mut random) else { return };
        if let Some(bytes) = connection.protection.challenge(now, Path::New, &number) {
            debug_assert_eq!(bytes.len(), CHALLENGE_LEN);
            self.reply(to, source, bytes);
        }
    }

    fn receive_first_contact(&mut self, now: Instant, datagram: IncomingDatagram<'_>) {
        let ports = (datagram.from.port(), self.port);
        match self.acceptor.first_contact(now, &datagram, ports, self.listening) {
            FirstContact::Ignore => {}
            FirstContact::Reply(bytes) => self.reply(datagram.from, datagram.local, bytes),
            FirstContact::Refuse(bytes) => self.refuse(now, &datagram, bytes),
            FirstContact::Forgotten(bytes) if bytes.len() >= datagram.bytes.len() => {}
            FirstContact::Forgotten(bytes) => {
                if !self.resets.is_exceeded(now) {
                    self.reply(datagram.from, datagram.local, bytes);
                }
            }
            FirstContact::Stranger => self.answer_stranger(now, &datagram),
            FirstContact::AddressProved => self.admit(now, datagram),
        }
    }

    /// Answers the first datagram of a peer without a connection. A listener in silent mode answers only peers that
    /// prove their identity.
    fn answer_stranger(&mut self, now: Instant, datagram: &IncomingDatagram<'_>) {
        if self.acceptor.may_be_genuine(datagram) {
            let has_turn = !self.acceptor.verifies_cheaply() && self.turns.take(now);
            let cookie = self.acceptor.cookie_for_stranger(now, datagram, has_turn, &mut self.entropy);
            self.reply_if_any(datagram, cookie);
        }
    }

    /// Handles a hello or SYN of a peer that has proved its address: begins the handshake at once, or queues
    /// the datagram for one.
    fn admit(&mut self, now: Instant, datagram: IncomingDatagram<'_>) {
        let ports = (datagram.from.port(), self.port);
        if !self.has_room(now) {
            return;
        }
        // Handshakes are reserved for callers that know the token, or at least this listener's key.
        let is_cheap = self.acceptor.verifies_cheaply() || !self.acceptor.may_be_genuine(&datagram);
        if is_cheap && let Err(reply) = self.acceptor.accept(now, &datagram, ports, &mut self.entropy) {
            return self.reply_if_any(&datagram, reply);
        }
        if self.turns.take(now) {
            return self.accept_from(now, datagram);
        }
        if !self.turns.wait(&datagram) {
            self.warnings.warn(now, Limit::Handshakes, self.limits.handshakes);
        }
    }

    /// Handles a queued datagram whose handshake may begin now. The datagram may be a retransmission, and its
    /// connection may be open already.
    pub(super) fn receive_in_turn(&mut self, now: Instant, datagram: IncomingDatagram<'_>) {
        match self.acceptor.destination(now, &datagram).and_then(|to| self.demux.get(to)) {
            Some(id) => self.receive_for(now, id, datagram),
            None if self.listening && self.has_room(now) => self.accept_from(now, datagram),
            None => {}
        }
    }

    fn accept_from(&mut self, now: Instant, datagram: IncomingDatagram<'_>) {
        let ports = (datagram.from.port(), self.port);
        match self.acceptor.accept(now, &datagram, ports, &mut self.entropy) {
            Ok((protection, syn)) => self.open_for(now, protection, syn, datagram),
            Err(reply) => self.reply_if_any(&datagram, reply),
        }
    }

    fn reply_if_any(&mut self, datagram: &IncomingDatagram<'_>, reply: Option<Vec<u8>>) {
        if let Some(bytes) = reply {
            self.reply(datagram.from, datagram.local, bytes);
        }
    }

    /// Whether one more peer can be accepted. If not, its datagram is ignored.
    fn has_room(&mut self, now: Instant) -> bool {
        let Limits { connections, backlog, memory, .. } = self.limits;
        let live = self.connections.len() - self.lingering.len();
        let reached = if live >= connections {
            (Limit::Connections, connections)
        } else if (live + 1).saturating_mul(buffers(&self.choices, self.channels, &self.limits)) > memory {
            (Limit::Memory, memory)
        } else if self.backlog.len() >= backlog {
            (Limit::Backlog, backlog)
        } else {
            return true;
        };
        self.warnings.warn(now, reached.0, reached.1);
        false
    }

    /// Removes half-open connections beyond the limit.
    fn bound_half_open(&mut self, now: Instant) {
        while self.half_open.len() > self.limits.half_open
            && let Some(id) = self.half_open.most_crowded()
        {
            self.warnings.warn(now, Limit::HalfOpen, self.limits.half_open);
            self.detach(id);
            if let Some(HubConnection { holder: Holder::HalfOpen(number), .. }) = self.connections.remove(id)
            {
                self.half_open.remove(number);
            }
        }
    }

    fn open_for(
        &mut self,
        now: Instant,
        protection: Protection,
        segment: Segment,
        datagram: IncomingDatagram<'_>,
    ) {
        // A collision is very rare: the initiator retransmits its hello, and another index is drawn.
        if self.demux.collides(protection.destinations(datagram.from)) {
            return;
        }
        for before in protection.destinations(datagram.from) {
            if let Some(before) = self.demux.get(before) {
                self.detach(before);
                self.wake(before);
            }
        }
        let mut end = self.end(datagram.from, &protection, Role::Listener);
        end.listen();
        let mut connection = HubConnection::incoming(&datagram, end, protection);
        connection.on_segment(now, datagram.ttl, segment);
        let id = self.insert(connection);
        let number = self.half_open.insert(id, datagram.from);
        if let Some(connection) = self.connections.get_mut(id) {
            connection.holder = Holder::HalfOpen(number);
        }
        self.bound_half_open(now);
        self.wake(id);
    }

    /// Answers a datagram with a reset, which is never longer than the datagram. A rate limit for each peer applies.
    fn refuse(&mut self, now: Instant, datagram: &IncomingDatagram<'_>, reset: Vec<u8>) {
        if reset.len() <= datagram.bytes.len() && self.refusals.allow(now, datagram.from) {
            self.reply(datagram.from, datagram.local, reset);
        }
    }

    pub(super) fn reply(&mut self, to: SocketAddr, source: Option<IpAddr>, bytes: Vec<u8>) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back((to, source, bytes));
        }
    }

    /// Handles a report that a datagram was not delivered. Reports that quote no recently sent datagram are
    /// ignored.
    pub fn on_delivery_failure(&mut self, now: Instant, failure: &DeliveryFailure<'_>) {
        // Routers quote at least eight bytes of the datagram, which a stranger cannot guess. A report of this
        // system may quote less.
        if failure.reporter.is_some() && failure.quoted.len() < MIN_QUOTED {
            return;
        }
        // The kernel limits such reports, so a search is fast enough.
        let to = |connection: &HubConnection| {
            connection.sends_to(failure.to) && connection.has_sent(failure.quoted)
        };
        let Some(id) = self.connections.find(to) else { return };
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let FailureCause::TooLong(mtu) = failure.cause {
            // The system has validated the report, and applies its own minimum.
            let known = (self.path_mtu)(failure.to, connection.source).unwrap_or(mtu);
            let mtu = if connection.second.is_some() { known.min(mtu) } else { known };
            let mss = mss_of(self.transports, mtu, failure.to, &connection.protection);
            connection.end.set_mss(mss);
        } else if connection.on_delivery_failure(now, failure) {
            self.events.push_back(HubEvent::Changed(id));
        }
        self.wake(id);
    }
}

/// Smallest number of bytes that a router's report must quote, by RFC 792. In an encrypted datagram they
/// contain the index of the connection.
const MIN_QUOTED: usize = 8;
/// Largest number of queued replies to new peers; further ones are dropped.
const MAX_REPLIES: usize = 4096;
