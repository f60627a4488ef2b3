//! Output: datagrams to send, and the end of connections that have nothing more to send.

use alloc::vec::Vec;
use multihop_core::Instant;
use multihop_transport::connection::{Event, Output, Segment, State};
use multihop_wire::dscp_of_priority;

use super::connection::Holder;
use super::second::is_of_second;
use super::{Hub, HubEvent, Id};
use crate::datagram::Transmit;
use crate::protection::Path;
use crate::segment::into_memory;

impl Hub {
    /// Appends the next datagram to send to `out`.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        let start = out.len();
        if let Some((to, source, bytes)) = self.replies.pop_front() {
            out.extend_from_slice(&bytes);
            return Some(Transmit { to, source, dscp: 0, len: bytes.len() });
        }
        while let Some(&id) = self.ready.front() {
            let Some(connection) = self.connections.get_mut(id) else {
                self.ready.pop_front();
                continue;
            };
            connection.follow_local_address(now, &mut self.local_address);
            connection.protection.refresh(now, &mut self.entropy);
            if connection.wanted.is_some() {
                self.open_second(id);
            }
            let Some(connection) = self.connections.get_mut(id) else { continue };
            if let Some(pending) = connection.protection.pop_pending() {
                out.extend_from_slice(&pending.bytes);
                if connection.may_send(pending.on_second, out.len() - start) {
                    return Some(self.record_sent(id, pending.on_second, None, &out[start..]));
                }
                out.truncate(start);
                continue;
            }
            match connection.end.poll_output(now) {
                Some(Output::Segment(segment)) => {
                    if connection.fail_if_refused(&segment) {
                        self.events.push_back(HubEvent::Changed(id));
                        continue;
                    }
                    let heard = connection.second.is_some() && connection.protection.heard_on_second();
                    let on_second = is_of_second(&segment).unwrap_or(heard);
                    let path = if on_second { Path::Second } else { Path::First };
                    connection.protection.protect(now, &segment, path, out);
                    if !connection.may_send(on_second, out.len() - start) {
                        out.truncate(start);
                    }
                    if out.len() > start {
                        if !on_second {
                            self.copy(now, id, &segment, out.len() - start);
                        }
                        return Some(self.record_sent(id, on_second, Some(segment), &out[start..]));
                    }
                }
                Some(Output::Event(event)) => self.on_event(id, event),
                None => {
                    self.ready.pop_front();
                    self.settle(id);
                }
            }
        }
        None
    }

    /// Records a datagram that is sent.
    fn record_sent(&mut self, id: Id, on_second: bool, segment: Option<Segment>, bytes: &[u8]) -> Transmit {
        let connection = self.connections.get_mut(id).expect("it has just produced the datagram");
        let priority =
            segment.as_ref().filter(|_| self.marks).and_then(|_| connection.end.segment_priority());
        let dscp = priority.map_or(0, dscp_of_priority);
        connection.on_sent(self.port, segment.as_ref(), bytes);
        if let Some(memory) = segment.and_then(into_memory) {
            connection.end.reuse(memory);
        }
        let len = bytes.len();
        match connection.second.as_ref().filter(|_| on_second) {
            Some(second) => Transmit { to: second.paths.current(), source: second.source, dscp, len },
            None => Transmit { to: connection.peer(), source: connection.source, dscp, len },
        }
    }

    /// Sends a copy of a segment, a datagram of `len` bytes, to an address to which the peer may have moved.
    /// The copy is encrypted separately, so that an observer cannot link the two datagrams.
    fn copy(&mut self, now: Instant, id: Id, segment: &Segment, len: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(to) = connection.paths.take_copy(len) else { return };
        let (mut bytes, source) = (Vec::new(), connection.source);
        connection.protection.protect(now, segment, Path::New, &mut bytes);
        self.reply(to, source, bytes);
    }

    /// Marks a connection that may have something to send.
    pub(super) fn wake(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(id)
            && !connection.is_ready
        {
            connection.is_ready = true;
            self.ready.push_back(id);
        }
    }

    fn on_event(&mut self, id: Id, event: Event) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.on_event(event);
        if let (Event::Connected, Holder::HalfOpen(number)) = (event, connection.holder) {
            self.half_open.remove(number);
            connection.holder = Holder::Application;
            self.backlog.push_back(id);
            self.events.push_back(HubEvent::Incoming);
        }
        self.events.push_back(HubEvent::Changed(id));
    }

    /// Updates the deadline of a connection that has nothing more to send now, and ends a completed
    /// connection.
    fn settle(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.is_ready = false;
        connection.update_life();
        let deadline = connection.end.poll_timeout();
        let old = core::mem::replace(&mut connection.deadline, deadline);
        if deadline != old {
            if let Some(at) = old {
                self.due.remove(&(at, id));
            }
            if let Some(at) = deadline {
                self.due.insert((at, id));
            }
        }
        if connection.has_just_closed() {
            self.events.push_back(HubEvent::Changed(id));
        }
        match connection.end.state() {
            State::Linger if connection.lingering.is_none() => {
                connection.lingering = Some(self.closed);
                self.lingering.insert(self.closed, id);
                self.closed += 1;
                self.bound_lingering();
            }
            // LISTEN means that the peer's SYN was rejected, or that the peer has reset the connection.
            State::Listen | State::Closed => self.on_closed(id),
            _ => {}
        }
    }

    fn bound_lingering(&mut self) {
        if self.lingering.len() > self.limits.lingering
            && let Some((_, &oldest)) = self.lingering.first_key_value()
            && let Some(connection) = self.connections.get_mut(oldest)
        {
            connection.end.abort();
            self.wake(oldest);
        }
    }

    /// Handles the end of an endpoint. Unread data remains until the application releases the connection.
    fn on_closed(&mut self, id: Id) {
        self.detach(id);
        if let Some(connection) = self.connections.get_mut(id)
            && connection.holder != Holder::Application
        {
            if let Holder::HalfOpen(number) = connection.holder {
                self.half_open.remove(number);
            }
            self.connections.remove(id);
        }
    }

    /// Aborts a connection and removes it from the tables, so that datagrams from the peer no longer reach
    /// it.
    pub(super) fn detach(&mut self, id: Id) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.end.abort();
        if let Some(number) = connection.lingering {
            self.lingering.remove(&number);
        }
        self.demux.remove(connection.protection.destinations(connection.peer()), id);
        if let Some(at) = connection.deadline.take() {
            self.due.remove(&(at, id));
        }
    }
}
