use multihop_core::Instant;
use multihop_wire::tpa::{Ack, Body, Segment};

use super::sender::Choice;
use super::state::Phase;
use super::timers::Timer;
use super::transmissions::Transmission;
use super::{Output, State, TpaEnd};

impl TpaEnd {
    /// The next segment to send, if there is one.
    pub(super) fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        match self.state() {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived => return self.life.poll_syn(now).map(|syn| self.syn(syn)),
            _ => {}
        }
        if let Some(tx_seq) = self.acks.take_again() {
            return Some(self.ack_of_block_before(tx_seq));
        }
        if self.state().sends()
            && let Some(segment) = self.next_data(now)
        {
            return Some(segment);
        }
        if let Some(due) = self.acks.due() {
            self.counters.acks_sent += 1;
            self.counters.acks_held += u64::from(due.held);
            return Some(self.segment(Body::Empty));
        }
        self.send.probe_due.then(|| self.probe())
    }

    fn next_data(&mut self, now: Instant) -> Option<Segment> {
        let choice = self.choose()?;
        let full = self.flight() >= self.allowed();
        if full || self.is_silent() || self.wait_for_pace(now) {
            return None;
        }
        let again = matches!(choice, Choice::Again(_));
        let position = self.place(choice);
        Some(self.transmit(now, position, again))
    }

    /// Whether the pacer delays the next segment.
    fn wait_for_pace(&mut self, now: Instant) -> bool {
        let last = self.send.last_data;
        let until = self.pacer.as_ref().and_then(|pacer| pacer.holds_until(now, last));
        if let Some(at) = until {
            self.timers.set(Timer::Pace, at);
        }
        until.is_some()
    }

    fn transmit(&mut self, now: Instant, position: u8, again: bool) -> Segment {
        let calm = self.phases.phase == Phase::Normal;
        let frozen = self.phases.phase == Phase::Freeze;
        let ack_delay = self.ack_delay_request();
        let hold = self.requested_delay(ack_delay);
        self.rtt.set_hold(hold);
        let due = now + if frozen { self.rtt.freeze_rto() } else { self.rtt.rto() };
        let send = &mut self.send;
        let (number, tx_seq) =
            send.transmissions.push(Transmission { position, sent: now, due, hold, calm, named: false });
        send.block.on_sent(position, number, due);
        send.last_data = Some(now);
        let piece = send.block.piece(position);
        let body = if piece.len == 0 {
            Body::Fin { position }
        } else {
            let payload = send.queue.payload(send.base + piece.offset, piece.len);
            Body::Data { position, last: send.block.is_last(position), payload }
        };
        self.counters.data_sent += u64::from(piece.len > 0);
        self.counters.retransmitted += u64::from(again);
        self.on_probe_of_route(now);
        Segment { tx_seq, ack_delay, ..self.segment(body) }
    }

    /// Makes a probe: a segment without data, which requests an ACK.
    fn probe(&mut self) -> Segment {
        self.send.probe_due = false;
        self.send.asked = true;
        self.counters.probes += 1;
        self.segment(Body::Empty)
    }

    /// Builds a segment with this body, and with the ACK if one is due.
    fn segment(&mut self, body: Body) -> Segment {
        let number = self.recv.number;
        let block = self.config.framing.block_after(self.recv.irs, number);
        let ack = self.acks.due().map(|due| Ack {
            block,
            bitmap: self.recv.arrived,
            tx_seq: due.tx_seq,
            held: due.held,
        });
        if ack.is_some() {
            self.acks.on_sent();
            self.timers.stop(Timer::Ack);
        }
        self.plain(body, ack)
    }

    fn ack_of_block_before(&mut self, tx_seq: u8) -> Segment {
        self.counters.acks_sent += 1;
        let block = self.config.framing.block_after(self.recv.irs, self.recv.number - 1);
        self.plain(Body::Empty, Some(Ack { block, bitmap: self.recv.before, tx_seq, held: false }))
    }

    pub(super) fn plain(&mut self, body: Body, ack: Option<Ack>) -> Segment {
        self.counters.segments_sent += 1;
        self.recv.advertised = self.recv.window().min(self.config.framing.max_window());
        Segment {
            source: self.ports.local,
            destination: self.ports.remote,
            block: self.config.framing.block_after(self.send.iss, self.send.block.number),
            tx_seq: 0,
            body,
            ack,
            ack_delay: 0,
            congested: self.cwnd() == 1,
            window: self.recv.advertised,
        }
    }

    pub(super) fn emit_segment(&mut self, segment: Segment) {
        self.out.push_back(Output::Segment(segment));
    }
}
