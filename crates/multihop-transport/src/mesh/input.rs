//! Handling of segments of the peer, and of notices of the layers below.

use core::mem;

use multihop_core::{Duration, Instant, LostSegment, Notice, Payload, SegmentId};
use multihop_wire::control::{Cause, Control, Reset};
use multihop_wire::mesh::{Ack, Chunk, Data, Segment};

use super::path::Timer;
use super::{MeshEnd, Report, is_recent};
use crate::channel::ChannelId;
use crate::event::Event;
use crate::lifecycle::State;

impl MeshEnd {
    /// Takes a segment of the peer.
    pub fn receive(&mut self, now: Instant, segment: Segment) {
        match (segment, self.state()) {
            (Segment::Control(control), state) => self.on_control(now, control, state),
            (_, State::Closed | State::Listen) => {}
            (segment, State::SynSent) => self.refuse_stray(now, &segment),
            (segment, State::SynReceived) if !self.completes_handshake(now, &segment) => {}
            (Segment::Data(data), _) => self.on_data(now, data),
            (Segment::Ack(ack), _) => self.on_ack(now, &ack),
        }
    }

    fn on_control(&mut self, now: Instant, control: Control, state: State) {
        match control {
            Control::Reset(reset) => self.on_reset(reset),
            Control::Syn(syn) => match state {
                State::Closed => {}
                State::Listen => self.in_listen(&syn),
                State::SynSent => self.in_syn_sent(now, &syn),
                _ => self.on_syn_again(now, &syn),
            },
            Control::KeepAlive(number) if state.is_synchronised() => {
                if self.recv.has_near(number) {
                    self.life.on_segment(now);
                    self.recv.request_ack();
                }
            }
            keepalive @ Control::KeepAlive(_) if state == State::SynSent => {
                self.refuse_stray(now, &Segment::Control(keepalive));
            }
            Control::KeepAlive(_) => {}
        }
    }

    /// Answers a segment of a connection that the peer still considers open.
    pub(super) fn refuse_stray(&mut self, now: Instant, segment: &Segment) {
        if let Some(reset) = reset_for(segment)
            && self.refusals.allow(now, ())
        {
            self.emit_control(Control::Reset(reset));
        }
    }

    /// Ends the connection if the reset contains a number that proves that it comes from the peer.
    fn on_reset(&mut self, reset: Reset) {
        let is_valid = match self.state() {
            State::Closed | State::Listen | State::Linger => false,
            State::SynSent | State::SynReceived => {
                let own = self.send.initial();
                !reset.is_expected && [own, own.wrapping_add(1)].contains(&reset.number)
            }
            _ if reset.is_expected => reset.number == self.recv.next(),
            _ => self.send.is_outstanding(reset.number),
        };
        if !is_valid {
            return;
        }
        if self.state() == State::SynReceived && self.life.is_passive() {
            self.listen_again();
        } else {
            self.reset = Some(reset);
            self.finish(Event::Reset);
        }
    }

    fn on_data(&mut self, now: Instant, mut data: Data) {
        if data.second_path && !self.add_path() {
            return;
        }
        let chunks = mem::take(&mut data.chunks);
        let has_chunks = !chunks.is_empty();
        let of_chunks = if has_chunks { mem::take(&mut data.payload) } else { Payload::EMPTY };
        let (number, path) = (data.number, usize::from(data.second_path));
        let (has_data, was_finished) = (has_chunks || !data.payload.is_empty(), self.recv.is_finished);
        let ack_waits = is_recent(self.urgent_arrival, now) && !self.ends_urgent(&chunks);
        let Some(arrival) = self.recv.take(now, data, has_chunks, ack_waits) else { return };
        self.life.on_segment(now);
        self.paths[path].on_peer();
        if has_data {
            self.counters.delivered += u64::from(arrival.is_new);
            self.counters.out_of_order += u64::from(arrival.out_of_order);
            self.counters.unwanted += u64::from(!arrival.is_new);
        }
        if arrival.delivered > 0 {
            self.emit(Event::Delivered(arrival.delivered));
            if !self.reads && !self.config.sink {
                self.send_reset();
                return self.finish(Event::Reset);
            }
        }
        if has_chunks && arrival.is_new {
            self.on_skips(number, &chunks);
            self.on_chunks(now, chunks, of_chunks, arrival.queueing);
            if self.state() == State::Closed {
                return;
            }
        }
        if self.recv.is_finished && !was_finished {
            self.emit(Event::PeerClosed);
            self.update_state(now);
        }
    }

    /// Whether one of the chunks of a segment of the peer ends an urgent message. An ACK that leaves then does not contend with
    /// later segments of the message.
    fn ends_urgent(&self, chunks: &[Chunk]) -> bool {
        let Some(channels) = &self.send.channels else { return false };
        chunks.iter().any(|chunk| match *chunk {
            Chunk::Data { channel, is_last, .. } => {
                is_last && channels.is_urgent(ChannelId(channel).at_peer().0)
            }
            _ => false,
        })
    }

    /// Takes segments that the peer does not retransmit as arrived.
    fn on_skips(&mut self, number: u32, chunks: &[Chunk]) {
        if !self.agrees_on_skips() {
            return;
        }
        let mut delivered = 0;
        for chunk in chunks {
            if let Chunk::Skip { distance, count } = *chunk {
                delivered += self.recv.skip(number, distance, count);
            }
        }
        if delivered > 0 {
            self.emit(Event::Delivered(delivered));
        }
    }

    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        let (path, other) = (usize::from(ack.second_path), usize::from(!ack.second_path));
        if path >= self.paths.len() {
            return;
        }
        // A path that is idle has no spare room if the peer lacks room, or if the other path takes the segments.
        let is_limited = self.send.can_send() && !self.waits_for_faster(now, path);
        let Some(news) = self.send.on_ack(now, ack) else { return };
        self.life.on_segment(now);
        self.life.on_answer(now);
        self.asked = false;
        if let Some(other) = self.paths.get_mut(other) {
            other.arrived += news.arrived[usize::from(!ack.second_path)];
        }
        let (is_only, yields) = (self.paths.len() == 1, self.yields(now));
        let one = &mut self.paths[path];
        let arrived = news.arrived[path] + mem::take(&mut one.arrived);
        if let Some(sample) = news.round_trip {
            one.rtt.sample(sample);
            one.control.on_round_trip(now, sample);
            one.trains.on_round_trip(now, sample, arrived);
        }
        let answered = one.frozen.is_some_and(|since| self.send.newest(path) >= since);
        if answered || (is_only && self.send.is_empty()) {
            one.frozen = None;
        }
        one.trains.on_ack(ack.together);
        one.control.set_train(one.trains.size());
        let queueing = Duration::from_micros(ack.delay.into());
        // Segments of one message that leave together queue behind each other, whatever the rate.
        let is_own = self.send.newest(path) < one.ahead;
        let queueing = if is_own { queueing.min(one.control.queueing()) } else { queueing };
        if !is_limited {
            one.control.note_idle();
        }
        one.control.set_yielding(yields);
        one.control.on_ack(now, Report { arrived, queueing, is_limited });
        one.timers.stop(Timer::Silence);
        one.on_answer();
        one.has_requested_ack = false;
        if news.round_trip.is_some() {
            self.update_one_way();
        }
        if news.freed > 0 {
            self.emit(Event::Acked(news.freed));
        }
        if news.has_freed_messages {
            self.emit(Event::Channels);
        }
        if answered {
            self.move_from_frozen_paths();
        }
        self.share_backlog();
        self.grow();
        self.find_losses(now, path);
        self.update_state(now);
    }

    /// Takes a notice from the layers below.
    pub fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::LinkFailed(lost) => self.on_link_failed(&lost),
            Notice::RouteLost => {
                for path in 0..self.paths.len() {
                    self.paths[path].control.exclude_wire();
                    self.freeze_and_probe(path);
                }
                self.repeat_syn_once();
            }
            Notice::RouteRestored => {
                self.paths.iter_mut().for_each(|path| path.probe_due = path.is_frozen());
                if self.is_syn_repeated {
                    self.life.repeat_syn();
                }
            }
            // The notice does not name a path, so that it counts for the first one.
            Notice::PathInfo { hops } => {
                let first = &mut self.paths[0];
                first.control.set_hops(hops);
                first.trains.on_new_path(hops);
                self.recv.on_new_path();
            }
        }
    }

    fn on_link_failed(&mut self, lost: &LostSegment) {
        let SegmentId::Custom(header) = lost.segment else { return };
        if lost.source != self.port {
            return;
        }
        if Control::quoted_syn(&header) == Some(self.send.initial()) {
            self.counters.notices += u64::from(!self.state().is_synchronised());
            self.repeat_syn_once();
        } else if let Some((second_path, number, transmission)) = Data::quoted(&header)
            && let path = usize::from(second_path)
            && path < self.paths.len()
            && self.send.on_link_failed(path, number, transmission)
        {
            self.counters.notices += 1;
            self.paths[path].control.exclude_wire();
            self.freeze_and_probe(path);
        }
    }

    /// Repeats the SYN after a notice, but only once until its timer expires: a routing protocol that searches on
    /// demand does so when there is a packet.
    fn repeat_syn_once(&mut self) {
        let is_opening = self.life.has_sent_syn() && !self.state().is_synchronised();
        if is_opening && !self.is_syn_repeated {
            self.is_syn_repeated = true;
            self.life.repeat_syn();
        }
    }
}

/// The reset for a segment that belongs to no connection; `None` for a reset.
pub fn reset_for(segment: &Segment) -> Option<Reset> {
    let (number, is_expected) = match segment {
        Segment::Data(data) => (data.number, false),
        Segment::Ack(ack) => (ack.next, true),
        Segment::Control(Control::Reset(_)) => return None,
        Segment::Control(Control::Syn(syn)) => (syn.number, false),
        Segment::Control(Control::KeepAlive(number)) => (*number, false),
    };
    Some(Reset { cause: Cause::UNKNOWN_CONNECTION, number, is_expected, ..Reset::default() })
}
