use core::mem;

use multihop_core::{Duration, Instant};
use multihop_wire::tcp::{Segment, SeqNumber};

use super::ack::InOrder;
use super::recvq::Arrival;
use super::sender::Sender;
use super::sequence::position;
use super::state::State;
use super::timer::Timer;
use super::{Event, TcpEnd};

impl TcpEnd {
    /// Processes an arriving segment by the state of the connection (RFC 9293 §3.10.7).
    pub(super) fn handle_segment(&mut self, now: Instant, segment: Segment) {
        match self.state {
            State::Closed => self.refuse(&segment),
            State::Listen => self.in_listen(&segment),
            State::SynSent => self.in_syn_sent(now, segment),
            _ => self.in_connection(now, segment),
        }
    }

    /// Handles a segment that belongs to no connection: answers with a reset (§3.10.7.1).
    fn refuse(&mut self, segment: &Segment) {
        self.counters.dropped += 1;
        if segment.rst {
            return;
        }
        let occupied = segment.payload.len() as u64 + u64::from(segment.syn) + u64::from(segment.fin);
        let (seq, ack) = match segment.ack {
            Some(ack) => (ack, None),
            None => (SeqNumber(0), Some(super::sequence::at(segment.seq, occupied))),
        };
        self.emit_segment(Segment {
            source: segment.destination,
            destination: segment.source,
            seq,
            ack,
            rst: true,
            ..Segment::default()
        });
    }

    /// Processes a segment in state LISTEN (RFC 9293 §3.10.7.2).
    fn in_listen(&mut self, segment: &Segment) {
        if segment.rst {
            self.counters.dropped += 1;
        } else if segment.ack.is_some() {
            self.refuse(segment);
        } else if segment.syn {
            self.ports.remote = segment.source;
            self.on_syn(segment);
            self.state = State::SynReceived;
        } else {
            self.counters.dropped += 1;
        }
    }

    /// Processes a segment in state SYN-SENT (RFC 9293 §3.10.7.3).
    fn in_syn_sent(&mut self, now: Instant, segment: Segment) {
        let acked = segment.ack.map(|ack| position(self.send.iss, self.send.max, ack));
        // In SYN-SENT only the SYN, at position 0, can be acknowledged.
        if acked.is_some_and(|acked| acked != Some(1) || self.send.max == 0) {
            self.refuse(&segment);
            return;
        }
        if segment.rst {
            if acked.is_some() {
                self.finish(Event::Reset);
            } else {
                self.counters.dropped += 1;
            }
            return;
        }
        if !segment.syn {
            self.counters.dropped += 1;
            return;
        }
        self.on_syn(&segment);
        if acked.is_some() {
            self.on_syn_acked(now, &segment);
            self.ack.on_syn();
            self.take_data(now, segment, 1);
        } else {
            // Simultaneous open: answer with a SYN and an ACK.
            self.state = State::SynReceived;
            self.send.next = 0;
        }
    }

    /// Handles the first ACK of this end's SYN.
    fn on_syn_acked(&mut self, now: Instant, segment: &Segment) {
        self.send.una = 1;
        self.send.next = 1;
        let round_trip = self.sample_rtt(now, segment, 1);
        self.timed = None;
        self.establish();
        if let Some(round_trip) = round_trip.filter(|_| self.measures_all()) {
            self.note_handshake(now, round_trip);
        }
    }

    /// Processes a segment in the states in which the peer's sequence number is known (RFC 9293 §3.10.7.4).
    fn in_connection(&mut self, now: Instant, mut segment: Segment) {
        let Some(mut start) = position(self.recv.irs, self.recv.queue.next(), segment.seq) else {
            return if segment.rst { self.counters.dropped += 1 } else { self.challenge() };
        };
        if self.state == State::SynReceived && segment.syn && start == 0 && !segment.rst {
            // The segment is the peer's retransmitted SYN; it has an ACK if both ends opened at once.
            match segment.ack {
                Some(_) => (segment.syn, start) = (false, 1),
                None => return self.send.next = 0,
            }
        } else if self.fails_paws(&segment) || !self.is_acceptable(start, &segment) {
            if segment.rst {
                self.counters.dropped += 1;
            } else {
                self.note_timestamp(start, &segment);
                self.on_unacceptable(now, start, &segment);
            }
            return;
        }
        if segment.rst {
            return self.on_reset(start);
        }
        if segment.syn {
            // RFC 5961 §4.2
            return self.challenge();
        }
        self.note_timestamp(start, &segment);
        if self.process_ack(now, start, &segment) {
            self.take_data(now, segment, start);
        }
    }

    /// Whether any byte of the segment is inside the window, the first check of RFC 9293 §3.10.7.4.
    fn is_acceptable(&self, start: u64, segment: &Segment) -> bool {
        let next = self.recv.queue.next();
        let edge = self.recv.edge.max(next);
        let len = segment.payload.len() as u64 + u64::from(segment.syn) + u64::from(segment.fin);
        match (len, edge - next) {
            (0, 0) => start == next,
            (0, _) => (next..edge).contains(&start),
            (_, 0) => false,
            _ => (next..edge).contains(&start) || (next..edge).contains(&(start + len - 1)),
        }
    }

    fn on_unacceptable(&mut self, now: Instant, start: u64, segment: &Segment) {
        if !segment.payload.is_empty() {
            self.counters.data_received += 1;
            self.counters.duplicates += 1;
            self.note_twice(start, segment.payload.len());
            self.ack.on_duplicate();
            self.measure(now, segment.options.timestamps, false);
        }
        if self.state == State::TimeWait && segment.fin {
            self.start_time_wait(now);
        }
        // RFC 9293 §3.10.7.4: with a closed window, valid ACKs still count.
        if start == self.recv.queue.next() && !segment.syn && !self.process_ack(now, start, segment) {
            return;
        }
        self.ack.ask_bare();
    }

    /// Whether a segment is older than its timestamp allows (PAWS, RFC 7323 §5.3). Not applied to clocks faster than
    /// a millisecond, which wrap too soon.
    fn fails_paws(&self, segment: &Segment) -> bool {
        let usable = self.config.timestamps.is_some_and(|tick| tick >= Duration::from_millis(1));
        usable && !segment.rst && self.is_overtaken(segment)
    }

    /// Whether the segment's timestamp is older than the newest timestamp of the peer.
    pub(super) fn is_overtaken(&self, segment: &Segment) -> bool {
        let stamps = segment.options.timestamps.filter(|_| self.timestamps);
        stamps.is_some_and(|stamps| stamps.value.wrapping_sub(self.peer_timestamp).cast_signed() < 0)
    }

    /// Saves the timestamp to echo: that of the segment which the next ACK answers (RFC 7323 §4.3).
    fn note_timestamp(&mut self, start: u64, segment: &Segment) {
        if let Some(stamps) = segment.options.timestamps.filter(|_| self.timestamps)
            && start <= self.recv.last_ack
            && stamps.value.wrapping_sub(self.peer_timestamp).cast_signed() >= 0
        {
            self.peer_timestamp = stamps.value;
        }
    }

    /// Handles a reset (RFC 9293 §3.10.7.4, RFC 5961 §3.2): only the exact number resets; other numbers in the window
    /// cause a challenge ACK.
    fn on_reset(&mut self, start: u64) {
        if start != self.recv.queue.next() {
            return self.challenge();
        }
        match self.state {
            State::SynReceived if self.passive => self.listen_again(),
            State::Closing | State::LastAck | State::TimeWait => self.finish(Event::Closed),
            _ => self.finish(Event::Reset),
        }
    }

    /// Returns to the state LISTEN: discards the peer's state, but keeps the application's requests and the path.
    fn listen_again(&mut self) {
        let fresh = Self::new(self.config.clone(), self.ports, self.send.iss);
        let old = mem::replace(self, fresh);
        (self.counters, self.send.queue, self.pace) = (old.counters, old.send.queue, old.pace);
        self.listen();
        if old.closing {
            self.close();
        }
    }

    /// Sends a challenge ACK, whose sequence number only an honest peer can use (RFC 5961).
    fn challenge(&mut self) {
        self.counters.dropped += 1;
        self.ack.ask_bare();
    }

    /// Processes the ACK field of a segment. Returns whether to process the segment further.
    fn process_ack(&mut self, now: Instant, start: u64, segment: &Segment) -> bool {
        let Some(number) = segment.ack else {
            self.counters.dropped += 1;
            return false;
        };
        let acked = position(self.send.iss, self.send.una, number);
        if self.state == State::SynReceived {
            if acked != Some(1) || self.send.max == 0 {
                self.refuse(segment);
                return false;
            }
            self.on_syn_acked(now, segment);
            self.send.window_from = (0, 0);
        }
        let oldest = self.send.una.saturating_sub(u64::from(self.send.max_window));
        let Some(acked) = acked.filter(|acked| (oldest..=self.send.max).contains(acked)) else {
            // RFC 9293 §3.10.7.4 for data that was never sent; RFC 5961 §5.2 for ACKs that are too old.
            self.challenge();
            return false;
        };
        self.retries = 0;
        let sack_news = self.take_sack(segment);
        self.take_deliveries(now, segment, acked);
        let window = u32::from(segment.window) << self.send.scale;
        self.take_state(segment, acked);
        self.on_ack_in_standby(now, acked > self.send.una);
        let is_new = acked > self.send.una;
        let timed = if is_new { self.sample_rtt(now, segment, acked) } else { None };
        if !is_new {
            self.sample_rtt_of_sack();
        }
        self.feed_pacer(now, is_new, timed);
        self.take_echo(now, segment, acked);
        let mut kind = None;
        if is_new {
            let exact = self.transmissions.as_ref().and_then(|sent| sent.round_trip());
            kind = Some(self.on_new_ack(now, acked, exact.or(timed)));
        } else if acked == self.send.una && self.is_duplicate(segment, window, sack_news) {
            self.on_dup_ack(now);
        }
        self.undo_needless_reduction(now, segment, kind, sack_news);
        self.after_ack(now, kind);
        self.update_window(start, acked, window);
        self.advance_close(now);
        true
    }

    /// Whether an ACK counts as a duplicate (RFC 5681 §2; with SACK, RFC 6675 §2).
    fn is_duplicate(&self, segment: &Segment, window: u32, sack_news: bool) -> bool {
        let bare = segment.payload.is_empty() && !segment.fin;
        let outstanding = self.flight() > 0;
        outstanding && (sack_news || (bare && window == self.send.window))
    }

    /// Processes the SACK blocks. Returns whether they report new information.
    fn take_sack(&mut self, segment: &Segment) -> bool {
        if !self.sack {
            return false;
        }
        let mut news = false;
        for range in sack_ranges(&self.send, segment).into_iter().flatten() {
            if self.send.una <= range.0 {
                news |= self.recovery.board.add(range.0, range.1);
            }
        }
        news
    }

    /// Records in the list of transmissions what the cumulative ACK and SACK blocks of a segment deliver.
    fn take_deliveries(&mut self, now: Instant, segment: &Segment, acked: u64) {
        let Some(sent) = &mut self.transmissions else { return };
        sent.begin_ack();
        let ranges = if self.sack { sack_ranges(&self.send, segment) } else { [None; MAX_RANGES] };
        // RFC 2883 §4: a first range below the ACK, or inside of the second range, reports a duplicate.
        let twice = ranges[0].is_some_and(|(_, end)| end <= acked)
            || ranges[0]
                .zip(ranges[1])
                .is_some_and(|(first, second)| second.0 <= first.0 && first.1 <= second.1);
        self.note_deliveries(now, acked, ranges.iter().flatten().copied());
        if let Some(range) = ranges[0].filter(|_| twice) {
            self.note_duplicate(range);
        }
    }

    /// Whether every possible round trip is measured.
    fn measures_all(&self) -> bool {
        self.config.all_rtt && self.uses_rack()
    }

    fn note_handshake(&mut self, now: Instant, round_trip: Duration) {
        if let Some(sent) = &mut self.transmissions {
            sent.note_handshake(round_trip);
        }
        self.congestion.control_mut().on_handshake(now, round_trip);
    }

    /// Passes the round trip of segments that SACK has just reported to the retransmission timer.
    fn sample_rtt_of_sack(&mut self) {
        let sent = self.transmissions.as_ref().filter(|_| self.measures_all());
        if let Some(round_trip) = sent.and_then(|sent| sent.round_trip()) {
            self.rtt.sample(round_trip);
        }
    }

    /// Passes the round-trip sample of an ACK to the retransmission timer, and returns the sample.
    fn sample_rtt(&mut self, now: Instant, segment: &Segment, acked: u64) -> Option<Duration> {
        let round_trip = self.round_trip(now, segment, acked)?;
        self.rtt.sample(round_trip);
        Some(round_trip)
    }

    /// The round trip that an ACK of all data before `acked` completes.
    fn round_trip(&mut self, now: Instant, segment: &Segment, acked: u64) -> Option<Duration> {
        if self.timestamps
            && let Some(stamps) = segment.options.timestamps
            && let Some(tick) = self.config.timestamps
        {
            self.timed = None;
            // RFC 7323 §4.1: every ACK of new data is a sample.
            let ticks = self.timestamp(now).wrapping_sub(stamps.echo);
            return (ticks.cast_signed() >= 0).then(|| tick.saturating_mul(u64::from(ticks)));
        }
        let (_, sent) = self.timed.take_if(|(end, _)| *end <= acked)?;
        Some(now.saturating_since(sent))
    }

    fn update_window(&mut self, start: u64, acked: u64, window: u32) {
        let send = &mut self.send;
        let (last_start, last_ack) = send.window_from;
        let newer = last_start < start || (last_start == start && last_ack <= acked);
        if newer && acked >= send.una {
            send.window = window;
            send.max_window = send.max_window.max(window);
            send.window_from = (start, acked);
        }
    }

    /// Advances the closing states if this end's FIN has been acknowledged.
    fn advance_close(&mut self, now: Instant) {
        let fin_acked = self.closing && self.send.una > self.send.queue.end();
        match self.state {
            State::FinWait1 if fin_acked => self.state = State::FinWait2,
            State::Closing if fin_acked => self.start_time_wait(now),
            State::LastAck if fin_acked => self.finish(Event::Closed),
            _ => {}
        }
    }

    /// Takes the data and the FIN of a segment.
    fn take_data(&mut self, now: Instant, segment: Segment, start: u64) {
        if !self.state.receives() {
            return;
        }
        let len = segment.payload.len() as u64;
        if segment.fin && !self.recv.queue.set_fin(start + len) {
            return self.challenge();
        }
        if len > 0 {
            self.take_payload(now, segment, start);
        }
        if self.recv.queue.take_fin() {
            self.on_fin(now);
        } else if len == 0 && self.recv.queue.fin_waits() {
            self.ack.ask_bare();
        }
    }

    fn take_payload(&mut self, now: Instant, mut segment: Segment, start: u64) {
        let room = self.recv.edge.saturating_sub(start);
        super::recvq::cut_to(&mut segment.payload, room);
        self.counters.data_received += 1;
        self.note_mark(now, &segment);
        let stamps = segment.options.timestamps;
        let (len, pushed) = (segment.payload.len(), segment.psh);
        let is_furthest = start + segment.payload.len() as u64 > self.recv.queue.furthest();
        match self.recv.queue.insert(start, segment.payload) {
            Arrival::Duplicate => {
                self.counters.duplicates += 1;
                self.note_twice(start, len);
                self.ack.on_duplicate();
                self.ack.ask_bare();
            }
            Arrival::OutOfOrder => {
                self.counters.delivered += 1;
                self.counters.out_of_order += 1;
                // RFC 5681 §4.2: acknowledge at once, so that the sender can count duplicate ACKs.
                self.ack.ask_bare();
            }
            Arrival::InOrder { bytes, filled_hole } => {
                self.counters.delivered += 1;
                self.counters.bytes_delivered += bytes;
                self.emit(Event::Delivered(bytes));
                self.acknowledge_in_order(now, bytes, pushed, filled_hole);
            }
        }
        self.measure(now, stamps, is_furthest);
    }

    /// Records the range of a duplicate segment for the next ACK (D-SACK, RFC 2883). Only endpoints with RACK
    /// do so.
    fn note_twice(&mut self, start: u64, len: usize) {
        if self.config.rack && self.sack && len > 0 {
            self.recv.duplicate = Some((start, start + len as u64));
        }
    }

    fn acknowledge_in_order(&mut self, now: Instant, bytes: u64, pushed: bool, filled_hole: bool) {
        self.ack.on_arrival(now, &self.rtt);
        if filled_hole || self.recv.queue.has_holes() {
            // RFC 5681 §4.2: acknowledge at once if a gap is filled, in part or completely.
            self.ack.ask();
            return;
        }
        let number = (self.recv.queue.next() - 1).div_ceil(u64::from(self.mss));
        let pushed = pushed && self.recv.queue.unread() == 0;
        let segment = InOrder { number, bytes, mss: self.mss, pushed };
        if let Some(deadline) = self.ack.on_in_order(now, segment, &self.rtt) {
            self.timers.set(Timer::DelayedAck, deadline);
        }
    }

    fn on_fin(&mut self, now: Instant) {
        self.ack.ask();
        // The FIN needs no buffer space.
        self.recv.edge += 1;
        self.emit(Event::PeerClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.start_time_wait(now),
            _ => {}
        }
    }
}

/// The ranges of the SACK option that this end has sent.
fn sack_ranges(send: &Sender, segment: &Segment) -> [Option<(u64, u64)>; MAX_RANGES] {
    let mut ranges = [None; MAX_RANGES];
    for (range, &(left, right)) in ranges.iter_mut().zip(segment.options.sack.as_slice()) {
        let at = |number| position(send.iss, send.una, number);
        *range = at(left).zip(at(right)).filter(|&(start, end)| start < end && end <= send.max);
    }
    ranges
}

/// Maximum number of ranges that fit into a SACK option.
const MAX_RANGES: usize = 4;
