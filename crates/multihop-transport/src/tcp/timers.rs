//! Timers of an endpoint: when each starts, and what the endpoint does when it expires.

use multihop_core::Instant;

use super::state::State;
use super::timer::Timer;
use super::{Event, TcpEnd};

impl TcpEnd {
    pub(super) fn on_timer(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Retransmit => self.on_retransmit_timer(now),
            Timer::Persist => self.on_persist_timer(),
            Timer::Probe => self.on_probe_timer(),
            Timer::DelayedAck => self.ack.on_expired(&self.rtt),
            Timer::Pace => self.on_pace_timer(now),
            Timer::TimeWait => self.finish(Event::Closed),
            Timer::Reorder => self.on_reorder_timer(now),
            Timer::Tail => self.rack.tail_due = true,
        }
    }

    fn on_retransmit_timer(&mut self, now: Instant) {
        if self.give_up() {
            return;
        }
        self.counters.timeouts += 1;
        self.timed = None;
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.rtt.back_off();
            self.syn_lost = true;
            self.send.next = 0;
            return;
        }
        self.note_outage();
        let flight = self.flight_at_timeout();
        let (was_whole, recovered) = (self.send.una >= self.recovery.recover, self.recovery.active);
        let again = self.recovery.on_timeout(self.send.una, self.send.max);
        self.lose_all(now);
        if self.marks_losses() {
            self.recovery.resend = true;
        } else {
            self.send.next = self.send.una;
        }
        if let Some(plan) = self.disconnection() {
            return self.stand_by(now, plan, None);
        }
        self.note_reduction_by_timeout(was_whole, recovered, again);
        // RFC 5681 §3.1: the window becomes the loss window before the timer is backed off.
        self.congestion.control_mut().on_timeout(now, flight, again);
        // RFC 6298 §5.4 to §5.6: the segment at `next` is retransmitted and starts the timer.
        if self.on_timeout_of_pace() {
            self.rtt.back_off();
        }
    }

    /// Bytes in flight for the threshold after a timeout. During fast recovery the bytes after the cumulative
    /// ACK include those that have left the network: duplicate ACKs or SACK have reported them. The bytes in
    /// flight are therefore bounded by the window without the share of duplicate ACKs.
    fn flight_at_timeout(&self) -> u32 {
        if self.recovery.active { self.flight().min(self.cwnd()) } else { self.flight() }
    }

    fn on_persist_timer(&mut self) {
        if !self.give_up() {
            self.send.probe_due = true;
            self.send.probes = self.send.probes.saturating_add(1);
        }
    }

    /// Counts one more unanswered retransmission; ends the connection after too many and returns whether it
    /// did.
    fn give_up(&mut self) -> bool {
        self.retries = self.retries.saturating_add(1);
        let over = self.config.max_retries.is_some_and(|limit| self.retries > limit);
        if over {
            self.finish(Event::TimedOut);
        }
        over
    }

    /// Restarts the retransmission timer.
    pub(super) fn restart_retransmit_timer(&mut self, now: Instant) {
        self.timers.set(Timer::Retransmit, now + self.rtt.rto());
    }

    /// Starts the retransmission timer unless it is running (RFC 6298 §5.1).
    pub(super) fn start_retransmit_timer(&mut self, now: Instant) {
        if self.timers.at(Timer::Retransmit).is_none() {
            self.restart_retransmit_timer(now);
        }
    }

    pub(super) fn start_persist_timer(&mut self, now: Instant) {
        if self.timers.at(Timer::Persist).is_none() {
            // RFC 9293 §3.8.6.1: the first probe after one timeout, the next ones at increasing intervals.
            let factor = 1_u64 << self.send.probes.min(16);
            let wait = self.rtt.rto().saturating_mul(factor);
            self.timers.set(Timer::Persist, now + wait.min(self.config.rto.max));
        }
    }

    pub(super) fn start_time_wait(&mut self, now: Instant) {
        for timer in Timer::ALL {
            self.timers.stop(timer);
        }
        self.state = State::TimeWait;
        self.timers.set(Timer::TimeWait, now + self.config.msl * 2);
    }
}
