use multihop_core::{Duration, Instant};

use super::state::State;
use super::{Endpoint, Event};

/// The timers of an endpoint, by purpose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Timer {
    /// A segment in flight, or the SYN, has waited one timeout.
    Retransmit,
    /// A delayed ACK is due.
    Ack,
    /// Data has waited long enough for more to join it.
    Fill,
    /// The gap after the last data segment is over.
    Pace,
    /// A window probe is due.
    Persist,
    /// A keepalive probe is due.
    KeepAlive,
    /// Time to probe for a route without any notice about it.
    Silence,
    /// The peer has not answered for too long.
    User,
    /// Late segments are no longer answered.
    Linger,
}

impl Timer {
    pub(super) const ALL: [Self; 9] = [
        Self::Retransmit,
        Self::Ack,
        Self::Fill,
        Self::Pace,
        Self::Persist,
        Self::KeepAlive,
        Self::Silence,
        Self::User,
        Self::Linger,
    ];
}

impl Endpoint {
    pub(super) fn on_timer(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Retransmit if self.state.is_synchronised() => self.on_segments_due(now),
            Timer::Retransmit => self.on_syn_due(),
            Timer::Ack => self.acks.on_interval(),
            Timer::Fill => self.send.flush = true,
            Timer::Pace => {}
            Timer::Persist => {
                self.send.probe_due = true;
                self.send.probes = self.send.probes.saturating_add(1);
            }
            Timer::KeepAlive => {
                self.send.probe_due = true;
                self.restart_keepalive_timer(now);
            }
            Timer::Silence => self.phases.ask = true,
            Timer::User => self.finish(Event::TimedOut),
            Timer::Linger => self.finish(Event::Closed),
        }
    }

    /// Nothing more can be sent now: sets the timers accordingly.
    pub(super) fn rearm(&mut self, now: Instant) {
        if !self.state.is_synchronised() || self.state == State::Linger {
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
        if !self.awaits_answer() {
            self.timers.stop(Timer::User);
        } else if self.timers.at(Timer::User).is_none() {
            self.restart_user_timer(now);
        }
    }

    /// The peer has answered.
    pub(super) fn restart_user_timer(&mut self, now: Instant) {
        self.set(Timer::User, self.config.user_timeout.map(|timeout| now + timeout));
    }

    /// A segment of the peer has arrived, or a keepalive probe was sent.
    pub(super) fn restart_keepalive_timer(&mut self, now: Instant) {
        let connected = self.state.is_synchronised() && self.state != State::Linger;
        self.set(Timer::KeepAlive, self.config.keepalive.filter(|_| connected).map(|wait| now + wait));
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

/// A timer of zero would expire again and again at one instant.
const MIN_WAIT: Duration = Duration::from_micros(1);
