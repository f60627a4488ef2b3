//! What arrives: for a connection, from a stranger, or about a datagram that did not get through.

use std::net::{IpAddr, SocketAddr};

use multihop_core::Instant;
use multihop_transport::tpa;
use multihop_wire::tpa::{MAX_BLOCK, Segment};

use super::armour::{Armour, Opened};
use super::connection::Connection;
use super::door::Knock;
use super::limit::{self, Limit};
use super::{Cause, Datagram, Event, Failure, Hub, Id, mss_of};
use crate::config::Limits;
use crate::error::Error;
use crate::seal::Freshness;

impl Hub {
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

    pub(super) fn answer(&mut self, to: SocketAddr, source: Option<IpAddr>, bytes: Vec<u8>) {
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
}

/// Answers to strangers that wait to leave; what is beyond them is not answered.
const MAX_ANSWERS: usize = 256;
