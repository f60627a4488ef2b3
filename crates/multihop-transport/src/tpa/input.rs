use multihop_core::{Duration, Instant, Payload};
use multihop_wire::tpa::{Ack, AckPolicy, Body, Segment};

use super::config::HoldIn;
use super::receiver::{Arrival, Piece};
use super::state::Phase;
use super::timers::Timer;
use super::{Event, State, TpaEnd};

impl TpaEnd {
    pub(super) fn handle_segment(&mut self, now: Instant, segment: Segment) {
        match self.state() {
            State::Closed => self.counters.dropped += 1,
            State::Listen => self.in_listen(&segment),
            State::SynSent => self.in_syn_sent(now, &segment),
            _ => self.in_connection(now, segment),
        }
    }

    /// Handles a segment in a state in which the peer's numbers are known.
    fn in_connection(&mut self, now: Instant, segment: Segment) {
        match segment.body {
            Body::Reset => return self.on_reset(&segment),
            Body::Syn(_) => return self.on_syn_again(now, &segment),
            _ => {}
        }
        if self.state() == State::SynReceived && !self.completes_handshake(now, &segment) {
            self.counters.dropped += 1;
            return;
        }
        if let Some(ack) = segment.ack
            && !self.process_ack(now, ack, segment.window)
        {
            self.counters.dropped += 1;
            return;
        }
        self.life.on_segment(now);
        self.process_body(now, segment);
        self.update_state(now);
    }

    fn process_body(&mut self, now: Instant, segment: Segment) {
        let (tx_seq, congested, delay) = (segment.tx_seq, segment.congested, segment.ack_delay);
        let distance = self.config.framing.distance(self.receiving(), segment.block);
        let piece = match segment.body {
            Body::Data { position, last, payload } => Piece { position, last, fin: false, payload },
            Body::Fin { position } => Piece { position, last: true, fin: true, payload: Payload::EMPTY },
            // A segment without body and ACK is a probe.
            Body::Empty if segment.ack.is_none() => return self.acks.ask_anyway(),
            _ => return,
        };
        let Some(number) = self.recv.number.checked_add_signed(i64::from(distance)).filter(|&n| n > 0) else {
            self.counters.dropped += 1;
            return;
        };
        self.counters.data_received += 1;
        let holds_data = !piece.payload.is_empty();
        let size = self.peer.block_size;
        let had_gap = self.recv.has_gap();
        let arrival = match distance {
            0 => self.recv.insert(piece, size),
            1 => self.recv.insert_next(piece, size),
            -1 => {
                self.counters.duplicates += 1;
                return self.acks.ask_again(tx_seq);
            }
            _ if number < self.recv.number => return self.counters.stale += 1,
            _ => Arrival::Impossible,
        };
        match arrival {
            Arrival::New { bytes, in_order } => {
                self.counters.delivered += u64::from(holds_data);
                self.counters.out_of_order += u64::from(holds_data && !in_order);
                let at_once = congested || (self.peer.ack_gaps && (had_gap || self.recv.has_gap()));
                self.acknowledge(now, tx_seq, at_once, delay);
                self.on_delivered(bytes);
            }
            Arrival::Duplicate => {
                self.counters.duplicates += 1;
                self.acks.ask(tx_seq);
            }
            Arrival::Impossible => self.counters.dropped += 1,
        }
    }

    fn on_delivered(&mut self, bytes: u64) {
        if bytes > 0 {
            self.counters.bytes_delivered += bytes;
            self.emit(Event::Delivered(bytes));
            if !self.reads && !self.config.sink {
                self.send_reset();
                return self.finish(Event::Reset);
            }
        }
        if self.recv.finished && self.state().receives() {
            self.emit(Event::PeerClosed);
        }
    }

    /// Acknowledges new data at once or together with later segments (§3.6).
    fn acknowledge(&mut self, now: Instant, tx_seq: u8, at_once: bool, delay: u8) {
        let every = match self.peer.ack_policy {
            AckPolicy::EveryTwo => 2,
            AckPolicy::EveryWindow => self.peer.cwnd_max,
        };
        let window = u8::try_from(self.recv.advertised).unwrap_or(u8::MAX);
        let at_once = at_once || (self.peer.ack_block_end && self.recv.is_complete());
        let limit = if at_once { 1 } else { every.min(self.peer.block_size).min(window) };
        if let Some(at) = self.acks.on_new(now, tx_seq, limit, self.ack_delay(delay)) {
            self.timers.set(Timer::Ack, at);
        }
    }

    /// Processes the acknowledgement in a segment. Returns whether they are valid.
    fn process_ack(&mut self, now: Instant, ack: Ack, window: u16) -> bool {
        let distance = self.config.framing.distance(self.sending(), ack.block);
        let number = self.send.block.number.checked_add_signed(i64::from(distance));
        let (Some(_), ..=0) = (number, distance) else { return false };
        if distance < 0 {
            self.counters.late_acks += 1;
            // The peer has no segment of the current block yet: only its window is new information.
            if distance == -1 && ack.bitmap == self.send.before && self.send.block.acked.is_empty() {
                self.send.window = window;
            }
            self.on_answer(now);
            return true;
        }
        if !self.send.block.sent().covers(ack.bitmap) {
            return false;
        }
        self.on_answer(now);
        if ack.bitmap.covers(self.send.block.acked) {
            self.send.window = window;
        }
        self.on_ack(now, ack);
        true
    }

    /// Ends probing if a probe has been answered.
    fn on_answer(&mut self, now: Instant) {
        if self.send.asked {
            self.send.asked = false;
            self.life.on_answer(now);
        }
    }

    /// An ACK of the current block.
    fn on_ack(&mut self, now: Instant, ack: Ack) {
        let named = self.send.transmissions.find(ack.tx_seq).map(|(number, transmission)| {
            // An outage may have delayed an ACK long after the timeout, so at most twice the timeout counts.
            let in_time = now < transmission.due || self.config.late_samples;
            let says = transmission.calm && in_time && !transmission.named;
            transmission.named = true;
            self.send.block.on_named(transmission.position, number);
            // The other segments of the first window wait behind this one.
            let most = (transmission.due - transmission.sent).saturating_mul(2);
            let round_trip = now.saturating_since(transmission.sent).min(most);
            let hold = if ack.held { transmission.hold } else { Duration::ZERO };
            let is_short = self.send.block.piece(transmission.position).len < self.mss / 2;
            (number, says.then_some((round_trip, hold, is_short)))
        });
        if let Some((_, Some((round_trip, hold, is_short)))) = named {
            let was_provisional = self.rtt.is_provisional();
            self.sample_rtt(round_trip, hold, is_short);
            if was_provisional && !self.rtt.is_provisional() && self.phases.phase == Phase::Normal {
                // The others of the first window wait behind this one.
                self.send.block.postpone(now + self.rtt.rto());
            }
        }
        let news = ack.bitmap - self.send.block.acked;
        if !news.is_empty() {
            let bytes = self.send.block.on_acked(news);
            self.send.acked += bytes;
            self.counters.bytes_acked += bytes;
            if bytes > 0 {
                self.emit(Event::Acked(bytes));
            }
            self.on_news();
            self.life.on_answer(now);
        }
        if let Some((number, _)) = named {
            self.on_named(number);
        }
        self.find_losses();
        if self.send.block.is_complete() {
            self.send.release_block();
        }
    }

    /// Passes a round-trip sample to the estimators. `hold` is the time for which the peer's interval timer
    /// delayed the ACK.
    fn sample_rtt(&mut self, round_trip: Duration, hold: Duration, is_short: bool) {
        let travel = round_trip.saturating_sub(hold);
        // With `covers_hold` the timeout contains the delay as a separate term.
        let kept = self.config.hold_in != HoldIn::Neither && !self.config.rto.covers_hold;
        let sample = if kept { round_trip } else { travel };
        if is_short {
            self.rtt.short_sample(sample)
        } else {
            self.rtt.sample(sample)
        }
        self.counters.route_changes = self.rtt.route_changes();
        if let Some(pacer) = &mut self.pacer {
            // DEVIATION tpa-1: Round-trip samples of the pacer exclude the receiver's delay unless `hold_in =
            // "both"`; with `rto_covers_hold` the timeout adds the largest delay. In TPA (3.4, 5.2) both samples
            // include the delay, by which the pacer has two states at 100 ms (tpa-hold, profile `net`).
            let kept = self.config.hold_in == HoldIn::Both;
            pacer.sample(self.mss, if kept { round_trip } else { travel }, None);
        }
    }

    /// Segments in flight that enough later transmissions have overtaken.
    fn find_losses(&mut self) {
        let Some(limit) = self.config.loss_by_txseq else { return };
        let block = &mut self.send.block;
        for position in block.in_flight.positions() {
            let sent = block.piece(position).transmission;
            // A segment sent several times may have arrived by an earlier transmission.
            let later = block.acked.positions().filter(|&other| block.piece(other).arrived > sent);
            if later.count() >= usize::from(limit.max(1)) {
                block.on_lost(position);
                self.counters.lost_by_txseq += 1;
            }
        }
    }
}
