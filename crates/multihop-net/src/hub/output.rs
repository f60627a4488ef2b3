//! What leaves, and what becomes of a connection that has nothing more to say.

use multihop_core::{Instant, Machine};
use multihop_transport::tpa::{self, State};
use multihop_wire::tpa::Segment;

use super::{Event, Hub, Id, Transmit};

impl Hub {
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

    /// Something may have to leave.
    pub(super) fn wake(&mut self, id: Id) {
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
    pub(super) fn detach(&mut self, id: Id) {
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
