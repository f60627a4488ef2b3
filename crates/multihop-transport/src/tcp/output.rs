use multihop_core::Instant;
use multihop_wire::tcp::{Options, Segment, Timestamps};

use super::ack::Due;
use super::sequence::at;
use super::state::State;
use super::timer::Timer;
use super::{Output, TcpEnd};

impl TcpEnd {
    /// The next segment to send, if there is one.
    pub(super) fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived if self.send.next == 0 => return Some(self.syn(now)),
            _ => {}
        }
        if self.ack.due() == Due::Bare {
            return Some(self.bare_ack(now));
        }
        if self.state.sends()
            && let Some(segment) = self.next_data(now)
        {
            return Some(segment);
        }
        (self.ack.due() != Due::No).then(|| self.bare_ack(now))
    }

    /// Limit of the flight apart from congestion: the sender's clamp and the peer's window.
    pub(super) fn bound(&self) -> u32 {
        let clamp = u32::from(self.config.window_max).saturating_mul(self.mss);
        clamp.min(self.send.window)
    }

    fn next_data(&mut self, now: Instant) -> Option<Segment> {
        if self.waiting.is_some() {
            return self.next_probe(now);
        }
        if self.send.probe_due {
            return Some(self.window_probe(now));
        }
        if self.rack.tail_due
            && let Some((position, len)) = self.choose_tail()
        {
            let segment = self.data(now, position, len);
            self.restart_retransmit_timer(now);
            return Some(segment);
        }
        self.note_idleness(now);
        let Some((position, len)) = self.choose() else {
            if self.flight() == 0 && self.has_unsent() {
                self.timers.stop(Timer::Retransmit);
                self.start_persist_timer(now);
            }
            self.note_lack_of_data();
            return None;
        };
        if self.wait_for_pace(now) {
            return None;
        }
        self.timers.stop(Timer::Persist);
        self.send.probes = 0;
        Some(self.data(now, position, len))
    }

    fn note_idleness(&mut self, now: Instant) {
        let idle = self.last_data.is_some_and(|last| now.saturating_since(last) > self.rtt.rto());
        if self.config.idle_restart && idle && self.send.una == self.send.max && self.has_unsent() {
            self.congestion.control_mut().on_idle(now);
        }
    }

    /// Whether data or the FIN waits at `next`.
    fn has_unsent(&self) -> bool {
        let end = self.send.queue.end();
        self.send.next < end || (self.closing && self.send.next == end)
    }

    /// Position and length of the segment to send now.
    fn choose(&self) -> Option<(u64, u32)> {
        if self.marks_losses() {
            return self.choose_lost_or_new();
        }
        if self.recovery.resend {
            let end = self.send.max.min(self.send.queue.end());
            let end = self.recovery.board.next_start(self.send.una).map_or(end, |start| start.min(end));
            return Some((self.send.una, self.up_to_mss(end - self.send.una)));
        }
        if !(self.sack && self.recovery.active) {
            return self.choose_next(self.window_now());
        }
        // RFC 6675 §5 step C
        let una = self.send.una;
        let pipe = self.recovery.board.pipe(una, self.send.next, self.mss);
        if pipe + u64::from(self.mss) > u64::from(self.cwnd()) {
            return None;
        }
        let hole = |(from, to): (u64, u64)| (from, self.up_to_mss(to - from));
        let lost = self.recovery.board.next_lost(una, self.mss).map(hole);
        lost.or_else(|| self.choose_next(self.bound()))
            .or_else(|| self.recovery.board.next_hole(una).map(hole))
            .or_else(|| self.choose_rescue())
    }

    /// Chooses the last outstanding segment that SACK has not reported, once per recovery (RFC 6675 §4,
    /// `NextSeg` rule 4).
    fn choose_rescue(&self) -> Option<(u64, u32)> {
        if self.recovery.rescued {
            return None;
        }
        let (from, to) =
            self.recovery.board.last_hole(self.send.una, self.send.max.min(self.send.queue.end()))?;
        let len = self.up_to_mss(to - from);
        Some((to - u64::from(len), len))
    }

    /// Window including the segments that limited transmit adds.
    fn window_now(&self) -> u32 {
        let mut window = self.congestion.control().window().total();
        let dup_acks = self.recovery.dup_acks;
        // RFC 3042 §2: new data only, at most two segments above the window.
        if self.config.limited_transmit && !self.recovery.active && self.send.next == self.send.max {
            window = window.saturating_add(dup_acks.min(2) * self.mss);
        }
        window.min(self.bound())
    }

    /// The segment at `next`, if `window` permits it.
    pub(super) fn choose_next(&self, window: u32) -> Option<(u64, u32)> {
        let send = &self.send;
        let position = self.recovery.board.skip(send.next);
        let usable = (send.una + u64::from(window)).saturating_sub(position);
        let end = send.queue.end();
        let is_new = position >= send.max;
        if usable == 0
            || (is_new && self.recovery.active && self.recovery.burst >= self.config.recovery_burst)
        {
            return None;
        }
        if position >= end {
            return (self.closing && position == end).then_some((position, 0));
        }
        let waiting = end - position;
        let len = self.up_to_mss(waiting.min(usable));
        let is_tail = u64::from(len) == waiting;
        if len < self.mss && !self.may_send_small(len, is_tail, is_new) {
            return None;
        }
        let gap = self.recovery.board.next_start(position).map_or(u64::MAX, |start| start - position);
        Some((position, len.min(u32::try_from(gap).unwrap_or(u32::MAX))))
    }

    /// Whether a segment shorter than the maximum may be sent: avoidance of silly windows (RFC 9293 §3.8.6.2.1).
    fn may_send_small(&self, len: u32, is_tail: bool, is_new: bool) -> bool {
        let idle = self.flight() == 0;
        if is_tail {
            !self.config.nagle || !is_new || idle || self.closing
        } else {
            idle && len >= self.send.max_window / 2
        }
    }

    /// Builds a window probe: one byte, or the FIN (RFC 9293 §3.8.6.1). `next` does not change.
    fn window_probe(&mut self, now: Instant) -> Segment {
        self.send.probe_due = false;
        let position = self.send.una;
        let len = u32::from(position < self.send.queue.end());
        let segment = self.transmit(now, position, len);
        self.timed = None;
        self.start_persist_timer(now);
        segment
    }

    /// A segment that the window allows, and for which the retransmission timer runs.
    fn data(&mut self, now: Instant, position: u64, len: u32) -> Segment {
        let is_retransmission = position < self.send.max;
        let segment = self.transmit(now, position, len);
        let to = position + u64::from(len) + u64::from(segment.fin);
        if self.recovery.active && is_retransmission {
            self.recovery.on_resent(position, to);
        }
        if let Some(prr) = &mut self.recovery.prr {
            prr.on_sent(len);
        }
        self.recovery.resend = false;
        self.send.next = self.send.next.max(to);
        self.start_retransmit_timer(now);
        self.start_tail_timer(now);
        segment
    }

    /// Builds a segment with data or FIN, regardless of windows; `next` does not change.
    pub(super) fn transmit(&mut self, now: Instant, position: u64, len: u32) -> Segment {
        let after = position + u64::from(len);
        let fin = self.closing && after == self.send.queue.end();
        let to = after + u64::from(fin);
        let again = position < self.send.max;
        if again {
            self.counters.retransmitted += 1;
            // RFC 6298 §3, Karn: no sample while a segment is being retransmitted.
            self.timed = None;
            self.note_resent(to);
            self.count_resent(now);
        } else {
            self.recovery.burst = self.recovery.burst.saturating_add(1);
            self.timed = self.timed.or(Some((to, now)));
        }
        self.note_departure(now, position, to);
        self.send.max = self.send.max.max(to);
        self.counters.segments_sent += 1;
        self.counters.data_sent += u64::from(len > 0);
        let mut segment = self.segment(now, position, len);
        segment.fin = fin;
        if len > 0 {
            self.last_data = Some(now);
            self.ack.on_data_sent(now);
            segment.payload = self.send.queue.payload(position, len);
            segment.psh = after == self.send.queue.end();
            if !again {
                self.allow_marks(&mut segment);
            }
        }
        segment
    }

    pub(super) fn bare_ack(&mut self, now: Instant) -> Segment {
        self.counters.segments_sent += 1;
        self.counters.acks_sent += 1;
        let mut segment = self.segment(now, self.send.max, 0);
        if self.sack {
            // RFC 2018 §3: with timestamps, an option of three ranges fits.
            let room = if self.timestamps { 3 } else { 4 };
            let twice = self.recv.duplicate.take();
            for (start, end) in twice.into_iter().chain(self.recv.queue.sack_blocks()).take(room) {
                segment.options.sack.push(at(self.recv.irs, start), at(self.recv.irs, end));
            }
        }
        segment
    }

    /// Builds a segment with `len` bytes of data that acknowledges everything in order.
    fn segment(&mut self, now: Instant, position: u64, len: u32) -> Segment {
        let window = self.advertise();
        self.on_ack_sent();
        let stamps = self.timestamps.then(|| self.stamps(now));
        Segment {
            source: self.ports.local,
            destination: self.ports.remote,
            seq: self.send.number(position),
            ack: Some(at(self.recv.irs, self.recv.queue.next())),
            window,
            ece: self.marks.echo,
            options: Options { timestamps: stamps, state: self.state_option(len), ..Options::default() },
            ..Segment::default()
        }
    }

    pub(super) fn on_ack_sent(&mut self) {
        self.ack.on_sent();
        self.recv.last_ack = self.recv.queue.next();
        self.timers.stop(Timer::DelayedAck);
    }

    pub(super) fn stamps(&self, now: Instant) -> Timestamps {
        Timestamps { value: self.timestamp(now), echo: self.peer_timestamp }
    }

    /// Time `now` in ticks of the timestamp clock; 0 without timestamps.
    #[expect(clippy::cast_possible_truncation, reason = "the clock wraps")]
    pub(super) fn timestamp(&self, now: Instant) -> u32 {
        self.config.timestamps.map_or(0, |tick| now.saturating_since(Instant::ZERO).whole(tick) as u32)
    }

    /// The window to advertise, scaled. Its right edge never moves left, and moves right only by at least a
    /// segment (RFC 9293 §3.8.6.2.2).
    fn advertise(&mut self) -> u16 {
        let edge = self.possible_edge();
        let step = self.recv.capacity.div_ceil(2).min(self.mss);
        if edge >= self.recv.edge + u64::from(step) {
            self.recv.edge = edge;
        }
        let window = self.recv.edge.saturating_sub(self.recv.queue.next()) >> self.recv.scale;
        u16::try_from(window).unwrap_or(u16::MAX)
    }

    /// Sends a window update if the peer may be waiting for one.
    pub(super) fn offer_window(&mut self) {
        if !self.state.receives() {
            return;
        }
        let opened = self.possible_edge().saturating_sub(self.recv.edge);
        let offered = self.recv.edge.saturating_sub(self.recv.queue.next());
        let half = u64::from(self.recv.capacity.div_ceil(2));
        let segment = u64::from(self.mss);
        if opened >= half || (offered < segment && opened >= segment.min(half)) {
            self.ack.ask();
        }
    }

    fn possible_edge(&self) -> u64 {
        let free = u64::from(self.recv.capacity).saturating_sub(self.recv.queue.unread());
        self.recv.queue.next() + free
    }

    pub(super) fn up_to_mss(&self, len: u64) -> u32 {
        u32::try_from(len).unwrap_or(u32::MAX).min(self.mss)
    }

    /// A RST that the peer accepts.
    pub(super) fn reset_segment(&self) -> Segment {
        Segment {
            source: self.ports.local,
            destination: self.ports.remote,
            seq: self.send.number(self.send.max),
            ack: Some(at(self.recv.irs, self.recv.queue.next())),
            rst: true,
            ..Segment::default()
        }
    }

    pub(super) fn emit_segment(&mut self, segment: Segment) {
        self.counters.segments_sent += 1;
        self.out.push_back(Output::Segment(segment));
    }
}
