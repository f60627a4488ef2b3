use multihop_core::{Duration, Instant};

use super::{Event, TpaEnd};
use crate::lifecycle::Ending;

/// The timers of an endpoint, by purpose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Timer {
    /// A segment in flight has waited one timeout.
    Retransmit,
    /// A delayed ACK is due.
    Ack,
    /// The fill timer: data has waited long enough for more data to fill a segment or block.
    Fill,
    /// The gap after the last data segment is over.
    Pace,
    /// A window probe is due.
    Persist,
    /// The silence timer: a sender whose route is lost sends a probe although no notice has arrived.
    Silence,
}

impl Timer {
    pub(super) const ALL: [Self; 6] =
        [Self::Retransmit, Self::Ack, Self::Fill, Self::Pace, Self::Persist, Self::Silence];
}

impl TpaEnd {
    pub(super) fn on_timer(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Retransmit => self.on_segments_due(now),
            Timer::Ack => self.acks.on_interval(),
            Timer::Fill => self.send.flush = true,
            Timer::Pace => {}
            Timer::Persist => {
                self.send.probe_due = true;
                self.send.probes = self.send.probes.saturating_add(1);
            }
            Timer::Silence => self.phases.ask = true,
        }
    }

    /// Sets the timers once no more segments can leave now.
    pub(super) fn rearm(&mut self, now: Instant) {
        if !self.state().is_connected() {
            return;
        }
        self.set(Timer::Retransmit, self.send.block.first_due().map(|(due, _)| due));
        if !self.is_short() {
            self.timers.stop(Timer::Fill);
        } else if self.timers.at(Timer::Fill).is_none() {
            self.timers.set(Timer::Fill, now + self.config.block_fill);
        }
        if self.is_blocked() {
            self.start_persist_timer(now);
        } else {
            self.timers.stop(Timer::Persist);
            self.send.probes = 0;
        }
        let is_waiting = self.awaits_answer();
        self.life.set_waiting(now, is_waiting);
    }

    /// Runs the timer of the lifecycle that is due.
    pub(super) fn on_lifecycle_timeout(&mut self, now: Instant) {
        match self.life.handle_timeout(now) {
            None => self.send.probe_due |= self.life.take_keepalive(),
            Some(Ending::TimedOut) => self.finish(Event::TimedOut),
            Some(Ending::Closed) => self.finish(Event::Closed),
        }
    }

    fn start_persist_timer(&mut self, now: Instant) {
        if self.timers.at(Timer::Persist).is_none() {
            let factor = 1_u64 << self.send.probes.min(16);
            let wait = self.rtt.rto().saturating_mul(factor).min(self.config.rto.max);
            self.timers.set(Timer::Persist, now + wait.max(MIN_WAIT));
        }
    }

    fn set(&mut self, timer: Timer, at: Option<Instant>) {
        match at {
            Some(at) => self.timers.set(timer, at),
            None => self.timers.stop(timer),
        }
    }
}

/// Shortest wait: a timer of zero would expire endlessly at one instant.
const MIN_WAIT: Duration = Duration::from_micros(1);
